"""The engine ``accelforge``: search and evaluation by that package, in its own Python, one process a layer."""

import json
import os
import shutil
import sys
import tempfile
from collections.abc import Mapping as EnvironmentMapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from jouleloop.engines.accelforge import runner
from jouleloop.engines.accelforge.inputs import Specification, specification
from jouleloop.engines.accelforge.outputs import as_mapping, read_evaluation, read_nest
from jouleloop.engines.protocol import PROVEN, SEMANTICS, SearchOptions, Target
from jouleloop.engines.timeloop.process import ProgramRun, ProgramWatch, run_program
from jouleloop.errors import EngineError, Fault, InputError, MappingError, raise_all, unknown
from jouleloop.files import read_json, write_json, write_text
from jouleloop.mapping.mapping import Mapping
from jouleloop.model.evaluation import Evaluation
from jouleloop.optimum.result import SearchResult
from jouleloop.workload.problem import Problem

#: The Python that has accelforge, or the folder of its environment.
HOME_VARIABLE = "JOULELOOP_ACCELFORGE"
#: Settings as ``name=value``, separated by commas; see `AccelforgeOptions`.
OPTIONS_VARIABLE = "JOULELOOP_ACCELFORGE_OPTIONS"
_HOW = (
    f"an environment of Python 3.12 or later with accelforge (pip install accelforge), its Python or folder in "
    f"{HOME_VARIABLE}; see docs/engines-accelforge.md"
)
_OLDEST = (1, 0)
_PROBE_SECONDS = 60.0
_RUNNER = Path(runner.__file__)


@dataclass(frozen=True)
class AccelforgeOptions:
    """How the engine runs accelforge."""

    python: Path | None = None
    """Interpreter, or folder of its environment; None to look in the environment variable, then in this Python."""
    imperfect: bool = False
    """Whether factors need not divide; slower."""
    seconds: float = 600.0
    """Time limit of one layer."""
    keep_folders: Path | None = None
    """Where the folders of all runs are kept; None to delete them."""

    def __post_init__(self) -> None:
        if not self.seconds > 0:
            raise InputError(Fault("must be positive", field="seconds", value=self.seconds, allowed="> 0"))

    @property
    def label(self) -> str:
        """What of the options changes results."""
        return f"uneven, {'imperfect' if self.imperfect else 'perfect'} factors"


def options_from_environment(environment: EnvironmentMapping[str, str] | None = None) -> AccelforgeOptions:
    """Return the options that ``JOULELOOP_ACCELFORGE_OPTIONS`` sets, such as ``imperfect=yes,seconds=60``.

    Raises `InputError` where a name or value is none.
    """
    text = (os.environ if environment is None else environment).get(OPTIONS_VARIABLE, "")
    known = {"imperfect": ("no", "yes"), "seconds": ()}
    values: dict[str, Any] = {}
    faults: list[Fault] = []
    for part in filter(None, (part.strip() for part in text.split(","))):
        name, _, value = part.partition("=")
        if name not in known:
            faults.append(unknown(name, known, "option", source=OPTIONS_VARIABLE))
        elif name == "seconds":
            try:
                values[name] = float(value)
            except ValueError:
                faults.append(Fault("is no number of seconds", OPTIONS_VARIABLE, name, value))
        elif value not in known[name]:
            faults.append(Fault("is neither yes nor no", OPTIONS_VARIABLE, name, value, "yes, no"))
        else:
            values[name] = value == "yes"
    raise_all(faults, InputError)
    return AccelforgeOptions(**values)


@dataclass(frozen=True)
class AccelforgeProgram:
    """An installed accelforge, with the options that change what it finds."""

    python: Path
    version: str
    python_version: str
    options: str

    @property
    def label(self) -> str:
        """How results name it."""
        return f"accelforge {self.version} ({self.options})"

    @property
    def where(self) -> str:
        """The Python it runs in."""
        return f"Python {self.python_version}, {self.python}"


def find_accelforge(
    options: AccelforgeOptions, environment: EnvironmentMapping[str, str] | None = None
) -> AccelforgeProgram:
    """Return the installed accelforge.

    Raises `EngineError` where no Python with accelforge is found, or it does not answer.
    """
    python = _locate(options.python, os.environ if environment is None else environment)
    with tempfile.TemporaryDirectory(prefix="jouleloop-accelforge-") as folder:
        outcome = run_program(_command(python, "--version"), Path(folder), ProgramWatch(_PROBE_SECONDS))
    if not outcome.ok:
        raise EngineError(Fault(outcome.failure("accelforge").message, str(python), allowed=_HOW))
    try:
        found = json.loads(outcome.lines[-1])
        version, python_version = str(found["accelforge"]), str(found["python"])
        release = tuple(int(part) for part in version.split(".")[:2])
    except (ValueError, KeyError, IndexError, TypeError) as error:
        message = f"this Python does not answer with a version of accelforge: {error}"
        raise EngineError(Fault(message, str(python), allowed=_HOW)) from error
    if release < _OLDEST:
        oldest = ".".join(map(str, _OLDEST))
        raise EngineError(Fault("accelforge is too old", str(python), value=version, allowed=f"{oldest} or later"))
    return AccelforgeProgram(python, version, python_version, options.label)


def _locate(given: Path | None, environment: EnvironmentMapping[str, str]) -> Path:
    home = str(given) if given is not None else environment.get(HOME_VARIABLE, "")
    if not home:
        if find_spec("accelforge") is None:
            raise EngineError(Fault("accelforge not found", "engine accelforge", allowed=_HOW))
        return Path(sys.executable)
    folder = Path(home)
    # The path is kept as given: a link to the interpreter is what makes an environment of its own.
    candidates = [folder / "bin" / "python", folder / "Scripts" / "python.exe"] if folder.is_dir() else [folder]
    for candidate in candidates:
        found = shutil.which(str(candidate))
        if found is not None:
            return Path(found).absolute()
    raise EngineError(Fault("there is no Python that can be run", "engine accelforge", HOME_VARIABLE, home, _HOW))


def _command(python: Path, argument: str) -> list[str]:
    # Neither the variables nor the folder of this Python's modules are for the other Python.
    return [str(python), "-E", "-P", str(_RUNNER), argument]


@dataclass
class AccelforgeEngine:
    """accelforge behind the engine protocol: the energy of fully-connected layers and matrix products."""

    options: AccelforgeOptions = field(default_factory=options_from_environment)
    name: str = "accelforge"
    _program: AccelforgeProgram | None = field(default=None, init=False, repr=False)

    @property
    def programs(self) -> AccelforgeProgram:
        """The installed accelforge; raise `EngineError` where there is none."""
        if self._program is None:
            self._program = find_accelforge(self.options)
        return self._program

    def evaluate(self, problem: Problem, target: Target, mapping: Mapping) -> Evaluation:
        """Return what ``mapping`` costs according to accelforge, capacities not checked.

        Raises `InputError` where the problem is none that the engine takes; `MappingError` where the mapping is none of
        this problem and architecture; `EngineError` where accelforge is missing, crashes, hangs or answers nothing that
        can be read.
        """
        _check_semantics(target)
        answer, outcome = self._run(specification(problem, target, mapping), "evaluate")
        if answer is None:
            raise EngineError(Fault(outcome.failure("accelforge").message, "engine accelforge"))
        if answer.get("status") != "ok":
            raise MappingError(Fault(f"refused by accelforge: {answer.get('reason')}", target.arch.name))
        nest = read_nest(problem, target.arch, answer.get("nodes", []))
        return read_evaluation(problem, target.arch, nest, answer.get("numbers", {}))

    def search(self, problem: Problem, target: Target, options: SearchOptions = PROVEN) -> SearchResult:
        """Return the best mapping that accelforge finds, with its own counts.

        Whatever it does ends in a status. ``mapping`` is None for a nest that is no mapping of Timeloop's kind
        (uneven); the nest then stands in ``reason``.

        Raises `InputError` where another objective than energy is asked for, a seed, a budget, or factors that the
        options leave out; `EngineError` where accelforge is missing.
        """
        objective, faults = options.objective, []
        if objective != ("energy",):
            faults.append(Fault("accelforge is asked for energy alone", field="objective", value="+".join(objective)))
        if options.most_cycles is not None:
            fault = "accelforge's search cannot be limited in cycles"
            faults.append(Fault(fault, field="most_cycles", value=options.most_cycles))
        if options.seed:
            faults.append(Fault("accelforge takes no random decisions", field="seed", value=options.seed, allowed="0"))
        if options.budget is not None:
            faults.append(Fault("accelforge's search cannot be limited", field="budget", value=options.budget))
        if options.seconds is not None:
            faults.append(Fault("accelforge's search cannot be limited", field="seconds", value=options.seconds))
        if target.constraints.factors == "imperfect" and not self.options.imperfect:
            text = "accelforge is asked for perfect factors"
            allowed = f"perfect, or imperfect=yes in {OPTIONS_VARIABLE}"
            faults.append(Fault(text, field="factors", value="imperfect", allowed=allowed))
        if target.constraints.space != "timeloop":
            text = "accelforge searches a mapspace of its own"
            faults.append(Fault(text, field="space", value=target.constraints.space, allowed="timeloop"))
        raise_all(faults, InputError)
        _check_semantics(target)
        label = self.programs.label
        try:
            translated = specification(problem, target)
        except InputError as error:
            return SearchResult("invalid", "; ".join(map(str, error.faults)), objective=objective, engine=self.name)
        answer, outcome = self._run(translated, "search")
        common: dict[str, Any] = {"objective": objective, "seconds": outcome.seconds, "engine": self.name}
        if answer is None:
            return SearchResult("failed", outcome.failure(label).message, **common)
        if answer.get("status") != "ok":
            status: Any = "no_mapping" if answer.get("status") == "no_mapping" else "failed"
            return SearchResult(status, f"{label}: {answer.get('reason')}", **common)
        try:
            nest = read_nest(problem, target.arch, answer.get("nodes", []))
            evaluation = read_evaluation(problem, target.arch, nest, answer.get("numbers", {}))
        except EngineError as error:
            return SearchResult("failed", f"{label}: {error}", **common)
        mapping = as_mapping(problem, target.arch, nest)
        reason = "" if mapping is not None else f"no mapping of Timeloop's kind: {nest.compact(target.arch)}"
        return SearchResult(
            "ok",
            reason,
            mapping,
            evaluation,
            proof=_claim(label, translated),
            mapspace_size=_whole(answer.get("mapspace_size")),
            visited=_whole(answer.get("visited")),
            **common,
        )

    def _run(self, translated: Specification, action: str) -> tuple[dict[str, Any] | None, ProgramRun]:
        """Return what accelforge answers, None where it does not, and how the run ended."""
        python = self.programs.python
        parent = self.options.keep_folders
        if parent is not None:
            parent.mkdir(parents=True, exist_ok=True)
        folder = Path(tempfile.mkdtemp(prefix=f"jouleloop-accelforge-{action}-", dir=parent))
        try:
            request = {"action": action, "imperfect": self.options.imperfect}
            write_json(folder / "request.json", request)
            write_text(folder / "specification.yaml", translated.text)
            outcome = run_program(_command(python, str(folder)), folder, ProgramWatch(self.options.seconds))
            if not outcome.ok:
                return None, outcome
            try:
                answer = read_json(folder / "answer.json")
            except InputError as error:
                answer = {"status": "failed", "reason": f"left no answer: {error}"}
            return (answer if isinstance(answer, dict) else {"reason": "left no answer"}), outcome
        finally:
            if parent is None:
                shutil.rmtree(folder, ignore_errors=True)


def _check_semantics(target: Target) -> None:
    if target.semantics != SEMANTICS[0]:
        raise EngineError(
            Fault(
                "accelforge leaves out the first fills of outputs",
                "engine accelforge",
                "semantics",
                target.semantics,
                SEMANTICS[0],
            )
        )


def _claim(label: str, translated: Specification) -> str:
    text = f"{label}: the best of its own mapspace as it claims, counted by its own model"
    if translated.untranslated:
        text += f"; constraints it has no word for: {', '.join(translated.untranslated)}"
    return text


def _whole(value: object) -> int:
    return int(value) if isinstance(value, (int, float)) and not isinstance(value, bool) and value >= 0 else 0
