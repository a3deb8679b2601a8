"""The engine ``timeloop``: evaluation by ``timeloop-model``, search by ``timeloop-mapper``, one folder a run."""

import contextlib
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from jouleloop.engines.protocol import PROVEN, SearchOptions, Target
from jouleloop.engines.timeloop.frontend import front_end_runner
from jouleloop.engines.timeloop.inputs import write_evaluation, write_search
from jouleloop.engines.timeloop.options import NEVER, TimeloopOptions
from jouleloop.engines.timeloop.outputs import read_evaluation, read_mapping
from jouleloop.engines.timeloop.process import ProgramRun, ProgramWatch
from jouleloop.engines.timeloop.programs import PROGRAMS, TimeloopPrograms, ask_timeloop, find_timeloop
from jouleloop.engines.timeloop.runners import RecordedRuns, Runner, RunRequests, run_executable
from jouleloop.engines.timeloop.verdict import MapperLog, MapperProgress, explain, failed_level, is_unmappable
from jouleloop.errors import EngineError, Fault, InputError, MappingError, raise_all, unknown
from jouleloop.mapping.mapping import Mapping
from jouleloop.model.evaluation import Evaluation
from jouleloop.model.objective import OBJECTIVES
from jouleloop.model.semantics import rules_of
from jouleloop.optimum.result import SearchResult
from jouleloop.workload.problem import Problem

__all__ = ["TimeloopEngine", "TimeloopOptions"]

#: What runs elsewhere are called by.
_MODEL, _MAPPER = (Path(name) for name in PROGRAMS)
_EXHAUSTIVE = ("linear-pruned", "exhaustive")
#: Consecutive invalid mappings after which the search for a reason ends.
_DIAGNOSIS_MAPPINGS = 2000
_DIAGNOSIS_SECONDS = 60.0


@dataclass
class TimeloopEngine:
    """Real Timeloop behind the engine protocol."""

    options: TimeloopOptions = field(default_factory=TimeloopOptions)
    on_progress: Callable[[MapperProgress], None] | None = None
    """Called as the mapper reports valid mappings and improvements."""
    runner: Runner | None = None
    """What runs the programs; None to choose by the options."""
    name: str = "timeloop"
    _programs: TimeloopPrograms | None = field(default=None, init=False, repr=False)

    @property
    def programs(self) -> TimeloopPrograms:
        """The installed Timeloop; raise `EngineError` where there is none that works."""
        if self._elsewhere:
            return TimeloopPrograms(_MODEL, _MAPPER, "", "", self.options.where or str(self.options.runs))
        return self._answer

    @property
    def _elsewhere(self) -> bool:
        return self.options.runs is not None or isinstance(self.runner, RunRequests)

    @property
    def _answer(self) -> TimeloopPrograms:
        """How the programs count, which they are asked once."""
        if self._programs is None:
            if self._elsewhere:
                self._programs = ask_timeloop(_MODEL, _MAPPER, self._runner("model"))
            else:
                self._programs = find_timeloop(self.options.home)
        return self._programs

    def _runner(self, kind: Literal["model", "mapper"]) -> Runner:
        if self.runner is not None:
            return self.runner
        if self.options.runs is not None:
            return RecordedRuns(self.options.runs)
        return front_end_runner(self.options.front_end, kind) or run_executable

    def evaluate(self, problem: Problem, target: Target, mapping: Mapping) -> Evaluation:
        """Return what ``mapping`` costs according to ``timeloop-model``.

        Raises `MappingError` where the mapping is none of this problem and architecture; the reason is Timeloop's;
        `EngineError` where Timeloop is missing, counts by other rules than ``target.semantics``, crashes, hangs, writes
        nothing.
        """
        self.check(target.semantics, problem)
        with self._folder("model", problem) as folder:
            files = write_evaluation(folder, problem, target, mapping)
            run = self._runner("model")
            outcome = run(self.programs.model, files, folder, ProgramWatch(self.options.model_seconds))
            if reason := failed_level(outcome):
                raise MappingError(Fault(reason, target.arch.name, value=mapping.compact()))
            if not outcome.ok:
                raise EngineError(outcome.failure("timeloop-model"))
            return read_evaluation(folder, "timeloop-model", problem)

    def search(self, problem: Problem, target: Target, options: SearchOptions = PROVEN) -> SearchResult:
        """Return the best mapping that ``timeloop-mapper`` finds.

        Whatever the mapper does ends in a status: ``no_mapping`` with the level where candidates failed, ``invalid``
        where a constraint cannot be applied to the layer, ``failed`` where it crashed, hung or wrote nothing.

        Timeloop has no seed; only 0 is accepted. A budget is its ``search-size``: valid mappings, after which it stops.

        Raises `InputError` where an objective is unknown, or a seed is given; `EngineError` where Timeloop is missing
        or counts by other rules than ``target.semantics``.
        """
        objective, budget = options.objective, options.budget
        raise_all(_faults(options), InputError)
        self.check(target.semantics, problem)
        log = MapperLog(self.on_progress)
        with self._folder("mapper", problem) as folder:
            try:
                files = write_search(folder, problem, target, self._settings(objective, budget))
            except InputError as error:
                return SearchResult("invalid", str(error), objective=objective, engine=self.name)
            watch = ProgramWatch(self.options.mapper_seconds, log.take, self.options.interrupt_grace_s)
            outcome = self._runner("mapper")(self.programs.mapper, files, folder, watch)
            common: dict[str, Any] = {
                "objective": objective,
                "mapspace_size": log.mapspace_size,
                "index_factorizations": log.sizes.get("IndexFactorization", 0),
                "visited": log.valid,
                "pruned": {"invalid": log.tried - log.valid},
                "seconds": outcome.seconds,
                "engine": self.name,
            }
            try:
                mapping = read_mapping(folder, "timeloop-mapper")
                evaluation = read_evaluation(folder, "timeloop-mapper", problem)
            except EngineError as error:
                status, reason = self._no_result(problem, target, outcome, log, error)
                return SearchResult(status, reason, **common)
        proven, proof = self._proof(objective, budget, outcome, log)
        return SearchResult(
            "ok",
            mapping=mapping,
            evaluation=evaluation,
            lower_bound=OBJECTIVES[objective[0]].value(evaluation) if proven else 0.0,
            optimal=proven,
            proof=proof,
            **common,
        )

    @property
    def settings(self) -> str:
        """What results depend on besides inputs and programs."""
        return self.options.search_settings

    def check(self, semantics: str, problem: Problem | None = None) -> None:
        """Raise `EngineError` where Timeloop is missing or counts by other rules than ``semantics``.

        Later versions count as earlier ones, leakage aside, which is not stated to them then. Where ``problem`` has
        windows, those of the main branch since January 2025 do not.
        """
        if isinstance(self.runner, RunRequests):
            return  # whoever makes the runs will tell
        installed = self._answer.semantics
        source = str(self._answer.model)
        asked, known = rules_of(semantics), rules_of(installed)
        if known.contain(asked):
            alike = asked.zero_shift_keeps_last == known.zero_shift_keeps_last
            if alike or problem is None or not (problem.slides or problem.leaves_gaps):
                return
            message = f"what two windows share is moved otherwise than asked: set semantics to {installed}"
            raise EngineError(Fault(message, source, "semantics", semantics, installed))
        message = "the installed Timeloop counts fills by other rules than asked"
        raise EngineError(Fault(message, source, "semantics", semantics, installed))

    def request_probe(self) -> None:
        """Ask the programs how they count; with `RunRequests` that is written down, and `RunRequested` raised."""
        ask_timeloop(_MODEL, _MAPPER, self._runner("model"))

    def _settings(self, objective: tuple[str, ...], budget: int | None) -> dict[str, Any]:
        options = self.options
        settings: dict[str, Any] = {
            "optimization-metrics": list(objective),
            "algorithm": options.algorithm,
            "num-threads": options.threads,
            "timeout": options.timeout_mappings or NEVER,
            "victory-condition": options.victory_condition,
            # With a live status Timeloop waits for a key at the end; the log has all that is needed.
            "live-status": False,
            "log-stats": True,
        }
        if options.algorithm == "random-pruned":
            settings["max-permutations-per-if-visit"] = options.max_permutations
        if budget is not None:
            settings["search-size"] = budget
        return settings

    def _proof(
        self, objective: tuple[str, ...], budget: int | None, outcome: ProgramRun, log: MapperLog
    ) -> tuple[bool, str]:
        """Whether the result is claimed to be optimal, and why or why not."""
        what = f"{self.options.algorithm} search by {self.programs.label}"
        if outcome.timed_out:
            return False, f"{what}, interrupted after {outcome.seconds:.0f} s: the best mapping so far"
        if self.options.algorithm not in _EXHAUSTIVE:
            return False, f"{what}: a heuristic"
        stopped = budget is not None and log.valid >= budget
        if stopped or self.options.victory_condition or self.options.timeout_mappings or not log.exhausted:
            return False, f"{what}, ended before the mapspace was exhausted"
        if len(objective) > 1:
            return False, f"{what}, exhausted; values within 0.1 % count as equal where there is a second objective"
        return True, f"{what}, exhausted"

    def _no_result(
        self, problem: Problem, target: Target, outcome: ProgramRun, log: MapperLog, error: EngineError
    ) -> tuple[Any, str]:
        """Return status and reason of a run that left no mapping."""
        if outcome.timed_out:
            return "failed", outcome.failure("timeloop-mapper").message
        if outcome.return_code == 0 and log.no_mapping:
            return "no_mapping", explain(log, self._diagnose(problem, target))
        if reason := is_unmappable(outcome, target.constraints):
            return "invalid", reason
        if not outcome.ok:
            return "failed", outcome.failure("timeloop-mapper").message
        return "failed", f"timeloop-mapper ended with exit code 0 but {error}"

    def _diagnose(self, problem: Problem, target: Target) -> list[str]:
        """Run the mapper over some invalid mappings once more, for the levels at which they fail and why."""
        lines: list[str] = []

        def take(line: str) -> bool:
            lines.append(line.strip())
            return True

        settings = self._settings(("energy",), None) | {"log-stats": False, "diagnostics": True, "num-threads": 1}
        settings["timeout"] = _DIAGNOSIS_MAPPINGS
        with self._folder("diagnosis", problem) as folder:
            files = write_search(folder, problem, target, settings)
            with contextlib.suppress(EngineError):  # runs made elsewhere have no diagnosis
                run = self._runner("mapper")
                run(self.programs.mapper, files, folder, ProgramWatch(_DIAGNOSIS_SECONDS, take))
        return lines

    @contextlib.contextmanager
    def _folder(self, kind: str, problem: Problem) -> Iterator[Path]:
        """Yield a folder of this run's own, deleted afterwards unless folders are kept."""
        label = "".join(c if c.isalnum() else "-" for c in problem.name)[:40]
        prefix = f"timeloop-{kind}-{label}-"
        kept = self.options.keep_folders
        if kept is not None:
            try:
                kept.mkdir(parents=True, exist_ok=True)
                yield Path(tempfile.mkdtemp(prefix=prefix, dir=kept))
            except OSError as error:
                raise InputError(Fault(f"cannot be written: {error.strerror}", str(kept))) from error
            return
        with tempfile.TemporaryDirectory(prefix=prefix) as name:
            yield Path(name)


def _faults(options: SearchOptions) -> list[Fault]:
    """Return what Timeloop's mapper cannot be asked for."""
    objective, budget = options.objective, options.budget
    faults = [unknown(name, OBJECTIVES, "objective", field="objective") for name in objective if name not in OBJECTIVES]
    if not objective:
        faults.append(Fault("no objective", field="objective", allowed=", ".join(OBJECTIVES)))
    if options.most_cycles is not None:
        fault = "Timeloop's mapper cannot be limited in cycles"
        faults.append(Fault(fault, field="most_cycles", value=options.most_cycles))
    if options.seed:
        faults.append(Fault("Timeloop's mapper cannot be seeded", field="seed", value=options.seed, allowed="0"))
    if budget is not None and budget < 1:
        faults.append(Fault("must be positive", field="budget", value=budget))
    if options.seconds is not None:
        fault = "is for the native engine; here timeloop.timeout_seconds and a budget limit a search"
        faults.append(Fault(fault, field="seconds", value=options.seconds))
    return faults
