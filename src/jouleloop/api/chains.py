"""Chains of layers by name: what the command ``chain`` is built on."""

import itertools
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from jouleloop.api.hardware import Architecture
from jouleloop.api.layers import SweepLike, layer_of, sweeps_of
from jouleloop.api.project import named_file, names_in
from jouleloop.api.run import ArchitectureLike, architecture_of
from jouleloop.config.load import LAYERS
from jouleloop.errors import Fault, InputError, gather, unknown
from jouleloop.fusion.certificate import certify_chain, chain_subject
from jouleloop.fusion.chain import Chain, chain_of, read_chain
from jouleloop.fusion.hardware import Fusion
from jouleloop.fusion.result import ChainResult
from jouleloop.fusion.search import ChainSearch
from jouleloop.optimum.limit import Watch
from jouleloop.workload.layer import Layer

#: A chain: its name, the path of its file, or its layers in the order in which they run.
ChainLike = str | Path | Chain | Sequence[str | Layer]
_FOLDER = LAYERS / "chains"
_YAML = (".yaml", ".yml")


def chain(
    architecture: ArchitectureLike,
    layers: ChainLike,
    *,
    level: str | None = None,
    constraints: str | Path | None = None,
    seconds: float | None = None,
    recompute: bool = False,
    certified: bool = False,
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
    certified
        Whether a certificate is to be written: what none states is refused before it is searched.

    Raises
    ------
    InputError
        Where a name is unknown, layers do not follow each other, or the level cannot keep a shared tensor.
    """
    found = chain_named(layers)
    hardware = [architecture_of(architecture, problem, constraints) for problem in found.problems]
    return search_chain(found, hardware, level, None, seconds, recompute=recompute, certified=certified)


def search_chain(
    found: Chain,
    hardware: Sequence[Architecture],
    level: str | None,
    watch: Watch | None,
    seconds: float | None,
    *,
    recompute: bool = False,
    certified: bool = False,
) -> ChainResult:
    """Return the least energy of a chain; ``hardware`` by layer, since constraints hang on the shape of a layer."""
    fusions = [Fusion.at(one.target(p), level) for one, p in zip(hardware, found.problems, strict=True)]
    if certified:
        chain_subject(found, fusions, recompute=recompute)
    search = ChainSearch(found, tuple(fusions), seconds, watch, recompute)
    return replace(search.run(), argue=partial(certify_chain, search))


def chains_in(network: SweepLike) -> list[tuple[Chain, int]]:
    """Return the chains of a network, and how often it runs each.

    A chain is a run of layers that the file states, or else of layers in its order that the network runs equally
    often. Each can read what the one before it writes. Layers that stand alone are in none.
    """
    found: list[tuple[Chain, int]] = []
    for sweep in sweeps_of(network):
        named = {point.layer.label: point.layer for point in sweep.points}
        stated = sweep.chains
        if stated is None:
            groups = itertools.groupby(sweep.points, lambda point: point.count)
            stated = tuple((tuple(point.layer.label for point in points), count) for count, points in groups)
        for names, count in stated:
            runs = [[names[0]]]
            for name in names[1:]:
                if _follows(named[runs[-1][-1]], named[name]):
                    runs[-1].append(name)
                else:
                    runs.append([name])
            chained = [run for run in runs if len(run) > 1]
            found += [(chain_of("-".join(run), [named[name] for name in run], run), count) for run in chained]
    return found


def _follows(first: Layer, second: Layer) -> bool:
    try:
        chain_of("pair", [first, second])
    except InputError:
        return False
    return True


def chain_named(layers: ChainLike | object) -> Chain:
    """Return the chain of a name, path or list of layers; raise `InputError` with the nearest name."""
    if isinstance(layers, Chain):
        return layers
    if isinstance(layers, str) and ":" in layers:
        layers = [layers]
    if not isinstance(layers, (str, Path, Sequence)):
        raise InputError(Fault("is no chain", "layers", value=layers, allowed="a name, a path, or a list of layers"))
    if not isinstance(layers, (str, Path)):
        return chain_of("chain", gather(*(partial(layer_of, one, f"layers[{k}]") for k, one in enumerate(layers))))
    text = str(layers)
    path = Path(text) if text.endswith(_YAML) else named_file(text, _FOLDER)
    if path is None:
        raise InputError(unknown(text, names_in(_FOLDER), "chain", source="layers"))
    return read_chain(path)
