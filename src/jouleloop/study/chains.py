"""Sweeps of chains in a study: what is searched goes to the store, point by point."""

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from jouleloop.errors import Fault, InputError, JouleloopError, raise_all
from jouleloop.fusion.hardware import Fusion
from jouleloop.fusion.sweep import ChainPoint, ChainSweep
from jouleloop.mapping.formats import from_levels
from jouleloop.optimum.limit import INTERRUPT, Watch
from jouleloop.optimum.result import SearchResult
from jouleloop.signals import end_if_told
from jouleloop.study.compute import Job, SearchInterrupted
from jouleloop.study.keys import code_digest, digest
from jouleloop.study.store import ResultStore
from jouleloop.study.targets import TargetSet
from jouleloop.workload.problem import Problem
from jouleloop.workload.variants import variant_label

LOG = logging.getLogger("jouleloop.study")
#: The module whose code decides results.
SEARCH = "jouleloop.fusion.search"
Record = dict[str, Any]
#: What a stored result says of its search, besides its mapping.
_TOLD = (
    *("status", "engine", "lower_bound", "optimal", "proof", "mapspace_size"),
    *("index_factorizations", "visited", "pruned", "seconds"),
)


def check_chains(
    sweeps: Sequence[ChainSweep], engine: str, objective: Sequence[str], targets: Mapping[str, TargetSet]
) -> None:
    """Raise `InputError` where sweeps of chains cannot be run on an architecture, with the faults of all."""
    faults: list[Fault] = []
    if sweeps and engine != "native":
        faults.append(Fault("proves no chain: chains need the native engine", "config", "engine", engine, "native"))
    if sweeps and list(objective) != ["energy"]:
        faults.append(Fault("chains minimise energy", "config", "objective", ", ".join(objective), "energy"))
    for sweep in sweeps:
        shapes = dict.fromkeys(problem.shape for point in sweep.points for problem in point.chain.problems)
        for name in filter(sweep.runs_on, targets):
            try:
                for shape in shapes:
                    Fusion.at(targets[name].for_shape(shape), sweep.level)
            except JouleloopError as error:
                faults += [
                    replace(one, source=sweep.source, message=f"on {name}: {one.message}") for one in error.faults
                ]
    raise_all(faults)


def chain_records(
    job: Job,
    sweep: ChainSweep,
    store: ResultStore,
    watch: Watch | None = None,
    progress: Callable[[int, int], None] = lambda _found, _searched: None,
) -> Iterator[tuple[ChainPoint, Record]]:
    """Yield every point with the result of its chain, as `ChainResult.as_json`, or with the reason why it has none.

    What is stored is not searched. Every search is stored before the next one begins. One that a limit of seconds
    stopped is kept apart, until the limit is raised.

    Raises `SearchInterrupted` where somebody stopped a search through ``watch``; what was searched before is stored.

    Parameters
    ----------
    progress
        Called with the numbers of chains found in the store and searched since the last call.
    """
    from jouleloop.fusion.search import ChainSearch  # noqa: PLC0415 - slow to import, and rules only check chains

    store.check_writable()
    seconds = job.options.seconds
    made: list[tuple[ChainPoint, str, tuple[Fusion, ...] | Record]] = []
    for point in sweep.points:
        fusions = _fusions_of(job, sweep, point)
        made.append((point, "" if isinstance(fusions, dict) else _key(fusions, sweep, point), fusions))
    known = dict(store.read(store.keys(seconds) & {key for _, key, _ in made}))
    written = []
    for point, key, fusions in made:
        if isinstance(fusions, dict) or key in known:
            progress(1, 0)
            yield point, fusions if isinstance(fusions, dict) else known[key]
            continue
        alone = _alone(job.at(point.variant), point, fusions, store)
        record = ChainSearch(point.chain, fusions, seconds, watch, sweep.recompute, alone).run().as_json()
        end_if_told()
        if watch is not None and watch.asked() == INTERRUPT:
            raise SearchInterrupted(f"interrupted; {point.chain.name} is not stored")
        kept = store.stopped(seconds) if seconds is not None and record["stopped"] else store
        path = kept.write({key: record})
        written += [path] if path is not None and kept is store else []
        LOG.info("%s: %s searched", job.target.name, point.chain.name)
        progress(0, 1)
        yield point, record
    store.merge(written)


def _fusions_of(job: Job, sweep: ChainSweep, point: ChainPoint) -> tuple[Fusion, ...] | Record:
    """Return the hardware of a point, layer by layer, or why there is none."""
    changed = job.at(point.variant)
    if isinstance(changed, JouleloopError):
        return {"reason": f"{variant_label(point.variant)}: {changed}"}
    try:
        return tuple(Fusion.at(changed.target.for_layers(one.shape), sweep.level) for one in point.chain.problems)
    except InputError as error:
        return {"reason": str(error)}


def _alone(
    job: Job | JouleloopError, point: ChainPoint, fusions: tuple[Fusion, ...], store: ResultStore
) -> dict[Problem, SearchResult]:
    """Return the optima of a chain's layers that were searched and stored one by one, as `ChainSearch.known`."""
    if isinstance(job, JouleloopError) or job.options.most_cycles is not None:
        return {}
    layers = zip(point.chain.problems, fusions, strict=True)
    keys = {job.problem_key(one): (replace(one, name=""), fusion.target) for one, fusion in layers}
    found = {}
    for key, record in store.read(keys):
        problem, target = keys[key]
        if record["optimal"]:
            mapping = from_levels(record["mapping"], problem, target.arch)
            told = {name: record[name] for name in _TOLD}
            found[problem] = SearchResult(
                mapping=mapping, evaluation=job.engine.evaluate(problem, target, mapping), **told
            )
    return found


def _key(fusions: tuple[Fusion, ...], sweep: ChainSweep, point: ChainPoint) -> str:
    targets = [
        [one.target.arch.as_dict(), one.target.costs.as_dict(), one.target.constraints.as_dict(), one.target.semantics]
        for one in fusions
    ]
    layers = [[one.shape.name, one.bound, one.coefficient] for one in point.chain.problems]
    return digest([code_digest(SEARCH), targets, layers, point.chain.names, sweep.level, sweep.recompute])
