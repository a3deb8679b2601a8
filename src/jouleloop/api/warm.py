"""Search small layers, one of each kind of kernels, so that these are compiled: ``python -m jouleloop.api.warm``."""

import sys

from jouleloop.api.hardware import Architecture
from jouleloop.api.layers import problem_of
from jouleloop.api.run import evaluate, search, search_told
from jouleloop.engines.protocol import PROVEN, SearchOptions
from jouleloop.engines.registry import get_engine
from jouleloop.errors import JouleloopError

_LAYERS = ("fc:64x64", "conv:C4xM8xP4xQ4xR3xS3")


def main() -> None:
    """Search with each kind of factors that the command line names."""
    for factors in sys.argv[1:]:
        hardware = Architecture.read("simba", factors=factors)
        for layer in _LAYERS:
            # The second is stopped at once: what it answers comes from other kernels than a proof.
            for options in (PROVEN, SearchOptions(seconds=1e-6)):
                search_told(hardware, problem_of(layer), get_engine("native"), options)
        if factors == "imperfect":
            _evaluate()


def _evaluate() -> None:
    """Evaluate mappings whose loops end early: what Python calls by itself has an entry of its own."""
    for name, layer, counts in (
        ("simba", "fc:10x14", ("timeloop",)),  # its loops end early
        ("eyeriss", _LAYERS[1], ("timeloop", "exact")),  # neighbours hand words on elsewhere
    ):
        hardware = Architecture.read(name, factors="imperfect")
        mapping = search(hardware, layer).mapping
        if mapping is not None:
            for residuals in counts:
                evaluate(hardware, layer, mapping, residuals=residuals)


if __name__ == "__main__":
    try:
        main()
    except JouleloopError as error:
        sys.exit(str(error))
