"""Chains of layers by name: what the command ``chain`` is built on."""

from collections.abc import Sequence
from pathlib import Path

from jouleloop.api.hardware import Architecture
from jouleloop.api.layers import SweepLike, sweeps_of
from jouleloop.api.project import roots
from jouleloop.api.run import ArchitectureLike, architecture_of
from jouleloop.errors import Fault, InputError, gather, nearest
from jouleloop.files import is_file
from jouleloop.fusion.chain import Chain, chain_of, read_chain
from jouleloop.fusion.hardware import Fusion
from jouleloop.fusion.result import ChainResult
from jouleloop.fusion.search import ChainSearch
from jouleloop.optimum.limit import Watch
from jouleloop.workload.layer import Layer
from jouleloop.workload.sizes import parse_layer
from jouleloop.workload.sweep import SweepPoint

#: A chain: its name, the path of its file, or its layers in the order in which they run.
ChainLike = str | Path | Chain | Sequence[str | Layer]
_FOLDER = "layers/chains"
_YAML = (".yaml", ".yml")


def chain(
    architecture: ArchitectureLike,
    layers: ChainLike,
    *,
    level: str | None = None,
    constraints: str | Path | None = None,
    seconds: float | None = None,
    recompute: bool = False,
) -> ChainResult:
    """Return the least energy of layers that run one after the other, where shared tensors may stay on the chip.

    Parameters
    ----------
    architecture
        A name, a path, or an `Architecture`.
    layers
        The name of a chain in ``layers/chains/``, the path of its file, or a list of layers as texts.
    level
        Where shared tensors live; the outermost level on the chip without it.
    constraints
        ``full``, ``arch-only``, ``none``, or the path of a constraints file.
    seconds
        After so many seconds the search stops with the best that it has and a proven bound.
    recompute
        Whether overlaps of windows may be computed again instead of waiting on the chip.

    Raises
    ------
    InputError
        Where a name is unknown, layers do not follow each other, or the level cannot keep a shared tensor.
    """
    found = chain_named(layers)
    hardware = [architecture_of(architecture, problem, constraints) for problem in found.problems]
    return search_chain(found, hardware, level=level, watch=None, seconds=seconds, recompute=recompute)


def search_chain(
    found: Chain,
    hardware: Sequence[Architecture],
    *,
    level: str | None,
    watch: Watch | None,
    seconds: float | None,
    recompute: bool = False,
) -> ChainResult:
    """Return the least energy of a chain; ``hardware`` by layer, since constraints hang on the shape of a layer."""
    fusions = [Fusion.at(one.target(p), level) for one, p in zip(hardware, found.problems, strict=True)]
    return ChainSearch(found, tuple(fusions), seconds, watch, recompute).run()


def chains_in(network: SweepLike) -> list[tuple[Chain, int]]:
    """Return the chains of a network, and how often it runs each.

    A chain is a run of layers, in the order of the file, that the network runs equally often and of which each can
    read what the one before it writes. Layers that stand alone are in none.
    """
    found: list[tuple[Chain, int]] = []
    points = [point for sweep in sweeps_of(network) for point in sweep.points]
    run: list[SweepPoint] = []
    for point in [*points, None]:
        if point is not None and (not run or (point.count == run[-1].count and _follows(run[-1], point))):
            run.append(point)
            continue
        if len(run) > 1:
            names = [one.layer.label for one in run]
            found.append((chain_of("-".join(names), [one.layer for one in run], names), run[0].count))
        run = [] if point is None else [point]
    return found


def _follows(first: SweepPoint, second: SweepPoint) -> bool:
    try:
        chain_of("pair", [first.layer, second.layer])
    except InputError:
        return False
    return True


def chain_named(layers: ChainLike) -> Chain:
    """Return the chain of a name, path or list of layers; raise `InputError` with the nearest name."""
    if isinstance(layers, Chain):
        return layers
    if not isinstance(layers, (str, Path)):
        return chain_of("chain", gather(*(lambda one=one, k=k: _layer(one, k) for k, one in enumerate(layers))))
    text = str(layers)
    if text.endswith(_YAML):
        return read_chain(Path(text))
    for root in roots():
        path = root / _FOLDER / f"{text}.yaml"
        if "/" not in text and is_file(path):
            return read_chain(path)
    known = sorted({path.stem for root in roots() for path in (root / _FOLDER).glob("*.yaml")})
    raise InputError(
        Fault("unknown chain", "layers", value=text, allowed=", ".join(known) or None, nearest=nearest(text, known))
    )


def _layer(given: str | Layer, place: int) -> Layer:
    try:
        return given if isinstance(given, Layer) else parse_layer(str(given))
    except InputError as error:
        raise error.at(f"layers[{place}]") from error
