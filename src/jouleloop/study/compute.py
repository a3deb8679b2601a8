"""Search the layers of a chunk, except those whose result is stored already."""

import logging
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from jouleloop.engines.protocol import PROVEN, Engine, SearchOptions, Target
from jouleloop.errors import EngineError, InputError, JouleloopError
from jouleloop.files import remove_left_over
from jouleloop.model.objective import OBJECTIVES
from jouleloop.optimum.limit import INTERRUPT, SECONDS, Limit, Tell, Watch
from jouleloop.optimum.result import SearchResult
from jouleloop.signals import end_if_told
from jouleloop.study.keys import digest, result_key, target_identity
from jouleloop.study.progress import standing
from jouleloop.study.store import ResultStore
from jouleloop.study.targets import TargetSet
from jouleloop.units import energies_in, unit_of
from jouleloop.workload.layer import Layer
from jouleloop.workload.problem import Problem, ProblemShape
from jouleloop.workload.variants import UNCHANGED, Variant

LOG = logging.getLogger("jouleloop.study")

#: Layers of the first and of the greatest batch that is stored together, and the seconds it should take.
_FIRST_BATCH, _MOST_BATCH = 16, 1024
_BATCH_SECONDS = 10.0
#: Seconds between two calls of what is told how many layers are done.
_TOLD_SECONDS = 0.5

Record = dict[str, Any]


@dataclass(frozen=True)
class Job:
    """How every layer of a run is searched: target, engine and what the search is told."""

    target: TargetSet
    engine: Engine
    options: SearchOptions = PROVEN

    def key(self, layer: Layer) -> str:
        """Return the key of the result of ``layer``."""
        return self.problem_key(layer.problem())

    def problem_key(self, problem: Problem) -> str:
        """Return the key of the result of ``problem``."""
        return result_key(problem, self._digest(problem))

    def _digest(self, problem: Problem) -> str:
        digests, shape = self._known.digests, problem.shape
        if shape not in digests:
            target = self.target.for_layers(shape)
            digests[shape] = digest(target_identity(target, self.engine, self.options))
        return digests[shape]

    def at(self, variant: Variant) -> "Job | JouleloopError":
        """Return the job for ``variant``, its energies estimated anew, or the error that says why there is none."""
        if variant == UNCHANGED:
            return self
        jobs = self._known.jobs
        if variant not in jobs:
            files = self.target.files
            try:
                files = replace(files, changes=(*files.changes, *variant))
                changed = TargetSet(files, self.target.semantics, self.target.shapes)
                jobs[variant] = replace(self, target=changed)
            except JouleloopError as error:
                jobs[variant] = error
        return jobs[variant]

    def watched(self, tell: Tell) -> Watch | None:
        """Tell how every search goes; return what may stop it, None where the engine is watched by nobody."""
        if not hasattr(self.engine, "watch"):
            return None
        watch = Watch(Limit(self.options.seconds), tell)
        self.engine.watch = watch
        return watch

    @cached_property
    def _known(self) -> "_Known":
        """What follows from the job and was worked out before; no part of what the job is."""
        return _Known()


def energy_unit_of(jobs: Mapping[str, Job]) -> str:
    """Return what the energies of jobs are in."""
    return unit_of(job.target.costs.table for job in jobs.values())


@dataclass
class _Known:
    """Digests of the target by shape of problem, and the jobs on variants of the architecture."""

    digests: dict[ProblemShape, str] = field(default_factory=dict)
    jobs: dict[Variant, Job | JouleloopError] = field(default_factory=dict)


class SearchInterrupted(KeyboardInterrupt):
    """A search that was asked to stop; the message says how far it was. What was found before is stored."""


@dataclass(frozen=True)
class ChunkReport:
    """What became of a chunk."""

    keys: tuple[str, ...]
    """Key of every layer, in order."""
    computed: int
    cached: int
    """Layers searched now, and found in the store."""
    seconds: float


def run_chunk(
    job: Job, layers: Sequence[Layer], store: ResultStore, progress: Callable[[int, int], None] | None = None
) -> ChunkReport:
    """Search those ``layers`` whose result is not stored, store the results batch by batch.

    ``progress`` is called with the numbers of layers found in the store and searched since the last call.
    """
    started = time.monotonic()
    remove_left_over(store.folder)
    keys = [job.key(layer) for layer in layers]
    stored = store.keys(job.options.seconds)
    missing = {key: layer for key, layer in zip(keys, layers, strict=True) if key not in stored}
    if missing:
        store.check_writable()
    done = len(layers) - len(missing)
    if progress and done:
        progress(done, 0)
    LOG.info("%s: %d layers, %d stored already", job.target.name, len(layers), done)
    with energies_in(job.target.costs.unit):
        written = _search(job, list(missing.items()), store, progress)
    # Every later run opens every segment: one a chunk keeps that quick.
    store.merge(written)
    return ChunkReport(tuple(keys), len(missing), done, time.monotonic() - started)


def _search(
    job: Job, waiting: list[tuple[str, Layer]], store: ResultStore, progress: Callable[[int, int], None] | None
) -> list[Path]:
    """Search layers batch by batch; return the segments of the store that hold the results."""
    written: list[Path] = []
    size, last = _FIRST_BATCH, time.monotonic()
    while waiting:
        batch, waiting = waiting[:size], waiting[size:]
        before = time.monotonic()
        results: dict[int, SearchResult] = {}
        told = 0
        try:
            for index, result in _searched(job, [layer for _, layer in batch]):
                if result.stopped == INTERRUPT:
                    raise SearchInterrupted(_interrupted(batch[index][1], result))
                results[index] = result
                if progress and time.monotonic() - last > _TOLD_SECONDS:
                    progress(0, len(results) - told)
                    told, last = len(results), time.monotonic()
        finally:
            # An interrupt ends the batch, not what it has found.
            written += _store(job, store, {batch[index][0]: result for index, result in results.items()})
        LOG.info("%s: %d layers searched, %d to go", job.target.name, len(batch), len(waiting))
        for index, (key, layer) in enumerate(batch):
            result = results[index]
            outcome = "optimal" if result.optimal else result.reason or result.status
            LOG.debug("%s %s: %s, %.3f s", key[:12], layer.label, outcome, result.seconds)
        if progress:
            progress(0, len(batch) - told)
        # What a kill can lose is one batch: it grows only while it is quick.
        size = min(2 * size, _MOST_BATCH) if time.monotonic() - before < _BATCH_SECONDS else max(1, size // 2)
    return written


def _interrupted(layer: Layer, result: SearchResult) -> str:
    value = None if result.evaluation is None else OBJECTIVES[result.objective[0]].value(result.evaluation)
    unit = OBJECTIVES[result.objective[0]].unit
    return f"interrupted; {layer.label}: {standing(value, result.lower_bound, unit)}, not proven and not stored"


def _store(job: Job, store: ResultStore, results: dict[str, SearchResult]) -> list[Path]:
    """Store results by their keys; return the segments of those that count as done.

    What failed is kept apart: a table has its reason, and the next run tries again. So is what a limit of seconds
    stopped, until the limit is raised.
    """
    records = {key: result.as_json() for key, result in results.items() if result.stopped != INTERRUPT}
    failed = {key: record for key, record in records.items() if record["status"] == "failed"}
    stopped = {key: record for key, record in records.items() if record.get("stopped") == SECONDS}
    path = store.write({key: records[key] for key in records.keys() - failed.keys() - stopped.keys()})
    store.failed.write(failed)
    if job.options.seconds is not None:
        store.stopped(job.options.seconds).write(stopped)
    return [path] if path else []


def _searched(job: Job, layers: Sequence[Layer]) -> Iterator[tuple[int, SearchResult]]:
    """Yield the place and result of every layer as it is found.

    Engines with a ``search_many`` get all layers of one shape in one call.
    """
    problems = [layer.problem() for layer in layers]
    by_shape: dict[ProblemShape, list[int]] = {}
    for index, problem in enumerate(problems):
        by_shape.setdefault(problem.shape, []).append(index)
    for indices in by_shape.values():
        target = job.target.for_layers(problems[indices[0]].shape)
        if refused := target.constraints.refused:
            for index in indices:
                yield index, SearchResult("invalid", refused, engine=job.engine.name, objective=job.options.objective)
            continue
        many = getattr(job.engine, "search_many", None)
        if many is None:
            for index in indices:
                result = search_one(job, problems[index], target)
                end_if_told()
                yield index, result
            continue
        try:
            results = many([problems[index] for index in indices], target, job.options)
        except (EngineError, InputError) as error:
            LOG.warning("bulk search failed (%s), searching one by one", error)
            results = [search_one(job, problems[index], target) for index in indices]
        yield from zip(indices, results, strict=True)


def search_one(job: Job, problem: Problem, target: Target) -> SearchResult:
    """Return the result of one problem; an error of engine or input becomes its status."""
    try:
        return job.engine.search(problem, target, job.options)
    except (EngineError, MemoryError) as error:
        # What lacked memory may be had when less runs beside it.
        reason = "not enough memory" if isinstance(error, MemoryError) else str(error)
        return SearchResult("failed", reason, engine=job.engine.name, objective=job.options.objective)
    except InputError as error:
        return SearchResult("invalid", str(error), engine=job.engine.name, objective=job.options.objective)
