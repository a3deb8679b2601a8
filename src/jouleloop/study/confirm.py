"""Evaluate the optimum of every point again with another engine.

The evaluations of the other engine are stored like results of a search, under keys of their own, so a cross-check is as
resumable as the search, and a point that cannot be confirmed is a result with a reason.
"""

from collections.abc import Sequence
from typing import Any

import jouleloop
from jouleloop.config.load import Study
from jouleloop.engines.protocol import PROVEN, Engine, SearchOptions, Target
from jouleloop.engines.registry import installed_version
from jouleloop.errors import Fault, InputError, JouleloopError
from jouleloop.mapping.formats import from_levels
from jouleloop.mapping.mapping import Mapping as Nest
from jouleloop.model.evaluation import Evaluation
from jouleloop.optimum.result import SearchResult
from jouleloop.study.compute import ChunkReport, Job, Record, run_chunk
from jouleloop.study.engines import engine_of
from jouleloop.study.keys import code_digest, engine_identity
from jouleloop.study.plan import jobs_of
from jouleloop.study.store import ResultStore
from jouleloop.workload.layer import Layer
from jouleloop.workload.problem import Problem


class ConfirmingEngine:
    """Takes the stored optimum of a job for the answer of a search, and lets another engine evaluate it.

    Parameters
    ----------
    job
        Whose results are confirmed.
    engine
        Who evaluates them.
    store
        Where the results of ``job`` are.
    """

    name = "confirm"

    def __init__(self, job: Job, engine: Engine, store: ResultStore) -> None:
        self._job, self._engine, self._store = job, engine, store
        # Settings of a search have no influence on an evaluation.
        other = (
            f"{engine.name} {jouleloop.__version__}+{code_digest(type(engine).__module__)} {installed_version(engine)}"
        )
        self.version = f"{engine_identity(job.engine)} by {other}"

    def evaluate(self, problem: Problem, target: Target, mapping: Nest) -> Evaluation:
        """Return what ``mapping`` costs according to the other engine."""
        return self._engine.evaluate(problem, target, mapping)

    def search(self, problem: Problem, target: Target, options: SearchOptions = PROVEN) -> SearchResult:
        """Return the stored optimum with the evaluation of the other engine."""
        return self.search_many([problem], target, options)[0]

    def search_many(
        self, problems: Sequence[Problem], target: Target, options: SearchOptions = PROVEN
    ) -> list[SearchResult]:
        """Return the stored optima with the evaluations of the other engine; whatever it does ends in a status."""
        keys = [self._job.problem_key(problem) for problem in problems]
        found = dict(self._store.read(keys))
        return [
            self._confirm(problem, target, found.get(key), options.objective)
            for problem, key in zip(problems, keys, strict=True)
        ]

    def _confirm(
        self, problem: Problem, target: Target, record: Record | None, objective: tuple[str, ...]
    ) -> SearchResult:
        common: dict[str, Any] = {"objective": objective, "engine": self._engine.name}
        if record is None:
            return SearchResult("failed", "there is no result to confirm", **common)
        if record["status"] != "ok":
            return SearchResult(record["status"], record["reason"], **common)
        try:
            mapping = from_levels(record["mapping"], problem, target.arch)
            evaluation = self._engine.evaluate(problem, target, mapping)
        except JouleloopError as error:
            return SearchResult("failed", str(error).replace("\n", "; "), **common)
        return SearchResult("ok", mapping=mapping, evaluation=evaluation, **common)


def confirming_job(job: Job, engine: Engine, store: ResultStore) -> Job:
    """Return the job that confirms the results of ``job`` with ``engine``."""
    return Job(job.target, ConfirmingEngine(job, engine, store), job.options)


def run_confirmation(job: Job, engine: Engine, layers: Sequence[Layer], store: ResultStore) -> ChunkReport:
    """Search what of ``layers`` is not stored, and evaluate all optima with ``engine`` that are not confirmed yet."""
    run_chunk(job, layers, store)
    return run_chunk(confirming_job(job, engine, store), layers, store)


def confirming_engine(study: Study) -> Engine:
    """Return the engine that confirms; Timeloop where the configuration names none.

    Raises `InputError` where the optima are not those of the native engine; `EngineError` where the engine is not
    installed, or counts by other rules than configured.
    """
    if study.config.engine != "native":
        raise InputError(
            Fault(
                "a cross-check evaluates the optima of the native engine", None, "engine", study.config.engine, "native"
            )
        )
    return engine_of(study.config, study.config.confirm or "timeloop")


def confirm_chunk(study: Study, architecture: str, layers: Sequence[Layer], store: ResultStore) -> ChunkReport:
    """Evaluate the optima of the layers of one chunk on one architecture with the engine that confirms."""
    job = jobs_of(study, only=architecture)[architecture]
    return run_confirmation(job, confirming_engine(study), layers, store)


def confirm_parameters(study: Study) -> dict[str, Any]:
    """Return what the confirmation of a chunk depends on besides what its optima do, for Snakemake's rerun trigger."""
    return {"confirm": installed_version(confirming_engine(study))}
