"""Search, evaluate and sweep by name: what the commands ``map``, ``evaluate`` and ``sweep`` are built on."""

import signal
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jouleloop.api.hardware import Architecture
from jouleloop.api.layers import LayerLike, SweepLike, checked_sweeps, problem_of, sweeps_of
from jouleloop.api.results import Result
from jouleloop.engines.protocol import Engine, SearchOptions, Target
from jouleloop.engines.registry import get_engine
from jouleloop.errors import Fault, InputError, JouleloopError, MappingError, gather, raise_all, unknown
from jouleloop.files import read_json
from jouleloop.mapping.formats import from_levels, read_timeloop_mapping
from jouleloop.mapping.mapping import Mapping as Nest
from jouleloop.mapping.nest import read_map_txt
from jouleloop.model.exact_evaluation import evaluate_exactly
from jouleloop.model.objective import OBJECTIVES
from jouleloop.optimum.limit import INTERRUPT, Limit, Watch
from jouleloop.signals import asked_by_signals, interrupts_raise
from jouleloop.study.progress import long_searches
from jouleloop.units import energies_in, read, written
from jouleloop.workload.layer import CONV, GROUPED_CONV
from jouleloop.workload.problem import Problem
from jouleloop.workload.sweep import Sweep

if TYPE_CHECKING:
    import pandas as pd

    from jouleloop.api.curves import Curve
    from jouleloop.study.compute import Job

ArchitectureLike = str | Path | Architecture
#: A mapping: the path of a file, its content as data, or the thing itself.
MappingLike = str | Path | Sequence[Mapping[str, Any]] | Nest

#: How loops that end early are counted.
RESIDUALS = ("timeloop", "exact")
_NO_MAPPING = Fault("holds no mapping", allowed="a list of levels, or an object with the key 'mapping'")


class Interrupted(KeyboardInterrupt):
    """Ctrl-C stopped a search or a curve; ``result`` is what it had: a mapping, ``lower_bound`` and gap, or steps."""

    def __init__(self, result: "Result | Curve") -> None:
        super().__init__(repr(result))
        self.result = result


def search(
    architecture: ArchitectureLike,
    layer: LayerLike,
    *,
    objective: str | Sequence[str] = "energy",
    constraints: str | Path | None = None,
    engine: str | Engine = "native",
    budget: int | None = None,
    seconds: float | None = None,
) -> Result:
    """Return the best mapping of a layer and what proves it.

    Parameters
    ----------
    architecture
        A name, a path, or an `Architecture`.
    layer
        A text such as ``fc:1024x128`` or ``conv:C3xM64xP55xQ55xR11xS11/stride4``, the path of a Timeloop problem file,
        or a `Layer`.
    objective
        ``energy`` [pJ], ``delay`` [cycles] or ``edp`` [pJ x cycles]; or ``energy,delay``.
    constraints
        ``full``, ``arch-only``, ``none``, or the path of a constraints file; as the architecture has it without it.
    engine
        ``native``, ``timeloop`` or ``accelforge``.
    budget
        Most mappings to evaluate; without it the optimum is proven.
    seconds
        After so many seconds the search stops with its best mapping and a proven bound.

    Returns
    -------
    Result
        With ``ok`` false and a ``reason`` where no mapping fits the constraints.

    Raises
    ------
    InputError
        Where a name is unknown or a file is wrong.
    Interrupted
        A `KeyboardInterrupt`, at Ctrl-C; its ``result`` has the best mapping so far. The native engine only, in the
        main thread of a program without a handler of its own.
    """
    problem = problem_of(layer)
    hardware = architecture_of(architecture, problem, constraints)
    options = options_of(objective, budget, seconds)
    back_end: Any = get_engine(engine) if isinstance(engine, str) else engine
    if getattr(back_end, "watch", back_end) is not None or not interrupts_raise():
        return search_told(hardware, problem, back_end, options)
    watch = back_end.watch = Watch(Limit(seconds), long_searches("jouleloop") if sys.stderr.isatty() else None)
    try:
        with asked_by_signals(watch.stop, [signal.SIGINT]):
            result = search_told(hardware, problem, back_end, options)
    finally:
        back_end.watch = None
    if result.search is not None and result.search.stopped == INTERRUPT:
        raise Interrupted(result)
    return result


def search_told(hardware: Architecture, problem: Problem, engine: Engine, options: SearchOptions) -> Result:
    """Return the best mapping of a problem; see `search`."""
    return Result(hardware, problem, engine.search(problem, hardware.target(problem), options), engine=engine.name)


def evaluate(
    architecture: ArchitectureLike,
    layer: LayerLike,
    mapping: MappingLike,
    *,
    engine: str | Engine = "native",
    residuals: str = "timeloop",
) -> Result:
    """Return what a given mapping of a layer costs; constraints of the mapspace do not matter here.

    Parameters
    ----------
    mapping
        The path of a Timeloop mapping (YAML), of a ``timeloop-mapper.map.txt`` or of the JSON of ``jouleloop map``;
        Timeloop's directives as data; or the ``mapping`` of a `Result`.
    residuals
        How loops that end early are counted: as ``timeloop`` does, or ``exact``.

    Raises
    ------
    InputError
        Where a name is unknown.
    MappingError
        Where it is no mapping of this layer on this architecture.
    """
    problem = problem_of(layer)
    hardware = countable(lambda constraints: architecture_of(architecture, problem, constraints), problem)
    target = hardware.target(problem)
    nest = mapping if isinstance(mapping, Nest) else read_mapping(mapping, problem, target)
    back_end = get_engine(engine) if isinstance(engine, str) else engine
    if residuals not in RESIDUALS:
        raise InputError(unknown(residuals, RESIDUALS, "way to count", field="residuals"))
    exact = residuals == "exact"
    if exact and back_end.name != "native":
        text = "loops that end early are counted exactly by the native engine alone"
        raise InputError(Fault(text, field="engine", value=back_end.name, allowed="native"))
    try:
        if exact:
            counted = evaluate_exactly(problem, target.arch, target.costs, nest, target.semantics)
        else:
            counted = back_end.evaluate(problem, target, nest)
    except MappingError as error:
        raise (error.at(mapping) if isinstance(mapping, (str, Path)) else error) from error
    return Result(hardware, problem, given=nest, counted=counted, engine=back_end.name, residuals=residuals)


def sweep(
    layers: SweepLike,
    architectures: ArchitectureLike | Sequence[ArchitectureLike],
    *,
    objective: str | Sequence[str] = "energy",
    constraints: str | Path | None = None,
    engine: str | Engine = "native",
    budget: int | None = None,
    store: str | Path | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> "pd.DataFrame":
    """Search all layers on all architectures; return a row an architecture and layer, as docs/tables.md has it.

    Where accesses are counted, columns that end in ``_pj`` there end in ``_access_words``.

    Parameters
    ----------
    layers
        The name of a sweep or network, the path of its file, its content as data, or a list of layers.
    store
        Folder of results by content: what is there is not searched again. Without it nothing is kept.
    progress
        Called with the numbers of layers found in the store and searched since the last call.
    """
    sweeps, jobs = _jobs(layers, architectures, constraints, engine, objective, budget)
    return _named(_searched(sweeps, jobs, store, progress), jobs)


def laws(
    layers: "SweepLike | pd.DataFrame",
    architectures: ArchitectureLike | Sequence[ArchitectureLike] | None = None,
    *,
    constraints: str | Path | None = None,
    store: str | Path | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> "pd.DataFrame":
    """Return the exact laws that the least energies of a sweep obey, a row a law, as docs/laws.md explains them.

    A law is the energy of a class of mappings as a formula in the layer's sizes: pJ per weight, input and output.
    Parameters are those of `sweep`; ``layers`` may be the table that it returned, whose architectures need no second
    name. Nothing is searched then.
    """
    from jouleloop.columns import renamed_table  # noqa: PLC0415 - loads pandas
    from jouleloop.study.compute import energy_unit_of  # noqa: PLC0415 - as above
    from jouleloop.tables.laws import law_tables  # noqa: PLC0415 - as above

    if hasattr(layers, "columns"):
        table: pd.DataFrame = layers  # type: ignore[assignment]
        lacking = [name for name in ("architecture", "sweep", "layer") if name not in table.columns]
        raise_all([Fault("has no such column: is it what jl.sweep returned?", "layers", value=one) for one in lacking])
        hardware = list(dict.fromkeys(table["architecture"])) if architectures is None else architectures
        sweeps, jobs = _jobs(_sweeps_in(table), hardware, constraints)
        energies = renamed_table(table, read)
    elif architectures is None:
        raise InputError(Fault("is missing", "architectures", allowed="a name, a path, or several"))
    else:
        sweeps, jobs = _jobs(layers, architectures, constraints)
        energies = _searched(sweeps, jobs, store, progress)
    # A list of layers varies in nothing that has a name: its points are those of more and more operations.
    sweeps = [one if one.variable else replace(one, variable="macs") for one in sweeps]
    with energies_in(energy_unit_of(jobs)):
        found = law_tables(energies, jobs, sweeps).laws
    return _named(found, jobs)


def _sweeps_in(table: "pd.DataFrame") -> list[Sweep]:
    """Return the sweeps that a table of energies holds: by their names, or as the lists of its layers."""
    found: list[Sweep] = []
    for name, rows in table.groupby("sweep", sort=False):
        layers = [str(layer) for layer in rows["layer"].drop_duplicates()]
        try:
            named = [one for one in sweeps_of(str(name)) if one.name == name]
        except InputError:
            named = []
        same = named and {point.layer.label for point in named[0].points} >= set(layers)
        found += named if same else [replace(one, name=str(name)) for one in sweeps_of(layers)]
    return found


def _named(table: "pd.DataFrame", jobs: "dict[str, Job]") -> "pd.DataFrame":
    """Return a table with its columns called as in files: words where accesses are counted."""
    from jouleloop.columns import renamed_table  # noqa: PLC0415 - loads pandas
    from jouleloop.study.compute import energy_unit_of  # noqa: PLC0415 - as above

    with energies_in(energy_unit_of(jobs)):
        return renamed_table(table, written)


def _jobs(
    layers: SweepLike,
    architectures: ArchitectureLike | Sequence[ArchitectureLike],
    constraints: str | Path | None,
    engine: str | Engine = "native",
    objective: str | Sequence[str] = "energy",
    budget: int | None = None,
) -> "tuple[list[Sweep], dict[str, Job]]":
    """Return the sweeps, and how they are searched; raise `InputError` with the faults of all that is given."""
    several = [architectures] if isinstance(architectures, (str, Path, Architecture)) else architectures
    if not several:
        raise InputError(Fault("are none", "architectures", value=architectures, allowed="a name, a path, or several"))
    made = gather(
        lambda: checked_sweeps(layers),
        lambda: options_of(objective, budget),
        *(lambda one=one: architecture_of(one, constraints=constraints) for one in several),
    )
    sweeps, options, *hardware = made
    return sweeps, jobs_of(sweeps, hardware, engine, options)


def _searched(
    sweeps: Sequence[Sweep],
    jobs: "dict[str, Job]",
    store: str | Path | None,
    progress: Callable[[int, int], None] | None,
) -> "pd.DataFrame":
    # These load pandas, which `search` can do without.
    from jouleloop.signals import terminated_late  # noqa: PLC0415
    from jouleloop.study.store import ResultStore  # noqa: PLC0415
    from jouleloop.study.variants import distinct_points, run_points  # noqa: PLC0415
    from jouleloop.tables.energies import energies_table  # noqa: PLC0415

    with terminated_late(), tempfile.TemporaryDirectory() as folder:
        results = ResultStore(Path(folder if store is None else store))
        for job in jobs.values():
            run_points(job, distinct_points(sweeps), results, progress)
        return energies_table(jobs, sweeps, results)[0]


def jobs_of(
    sweeps: Sequence[Sweep], architectures: Sequence[Architecture], engine: str | Engine, options: SearchOptions
) -> "dict[str, Job]":
    """Return how the layers are searched on every architecture, by its name.

    Raises
    ------
    InputError
        Where the sweep is not for an architecture, or two have one name.
    """
    from jouleloop.study.compute import Job  # noqa: PLC0415 - loads pandas

    back_end = get_engine(engine) if isinstance(engine, str) else engine
    jobs: dict[str, Job] = {}
    for hardware in architectures:
        others = [sweep for sweep in sweeps if not sweep.runs_on(hardware.name)]
        if others:
            allowed = ", ".join(others[0].architectures)
            fault = Fault(
                "the sweep is not for this architecture", "architecture", value=hardware.name, allowed=allowed
            )
            raise InputError(fault)
        if hardware.name in jobs:
            raise InputError(Fault("two architectures have one name", "architecture", value=hardware.name))
        jobs[hardware.name] = Job(hardware.targets, back_end, options)
    return jobs


def countable(load: Callable[[str | None], Architecture], problem: Problem) -> Architecture:
    """Return the architecture to count a mapping on, of ``load``, which takes the name of a set of constraints.

    Constraints that are not written for the shape of the problem do not matter then, and are left out.
    """
    try:
        found = load(None)
        found.target(problem)
    except InputError:
        if problem.shape in (CONV, GROUPED_CONV):
            raise
        return load("none")
    return found


def architecture_of(
    given: ArchitectureLike, problem: Problem | None = None, constraints: str | Path | None = None
) -> Architecture:
    """Return the architecture of a name or path, its constraints read for the shape of ``problem``."""
    if isinstance(given, Architecture):
        return given if constraints is None else given.with_(constraints=constraints)
    return Architecture.read(given, constraints=constraints, shape=CONV if problem is None else problem.shape)


def options_of(objective: str | Sequence[str], budget: Any = None, seconds: Any = None) -> SearchOptions:
    """Return what a search is told; raise `InputError` with all that is wrong with it."""
    faults = []
    if budget is not None and not isinstance(budget, int):
        faults.append(Fault("must be a whole number", "budget", value=budget))
    elif budget is not None and budget < 1:
        faults.append(Fault("must be at least 1", "budget", value=budget))
    if seconds is not None and not isinstance(seconds, (int, float)):
        faults.append(Fault("must be a number", "seconds", value=seconds))
    elif seconds is not None and not seconds >= 0:
        faults.append(Fault("must not be negative", "seconds", value=seconds))
    objectives, _ = gather(lambda: objectives_of(objective), lambda: raise_all(faults))
    return SearchOptions(objectives, budget=budget, seconds=seconds)


def objectives_of(given: str | Sequence[str]) -> tuple[str, ...]:
    """Return the objectives in a text, separated by commas or plus signs, or in a list."""
    if not isinstance(given, (str, Sequence)):
        raise InputError(Fault("must be a text or a list", "objective", value=given, allowed=", ".join(OBJECTIVES)))
    texts = given.replace("+", ",").split(",") if isinstance(given, str) else given
    names = tuple(text.strip() for text in texts)
    raise_all([unknown(name, OBJECTIVES, "objective", field="objective") for name in names if name not in OBJECTIVES])
    if len(names) != 1 and names != ("energy", "delay"):
        allowed = f"{', '.join(OBJECTIVES)}; or energy,delay"
        raise InputError(Fault("unknown objectives", "objective", value=",".join(names), allowed=allowed))
    return names


def read_mapping(given: str | Path | Sequence[Mapping[str, Any]], problem: Problem, target: Target) -> Nest:
    """Return the mapping in a file, or in Timeloop's directives; raise `InputError` where it is none."""
    # Timeloop keeps whatever a mapping does not bypass; beside a v0.4 file the constraints may say so instead.
    constraints = None if target.arch.plain else target.constraints
    spaces = frozenset(space.name for space in problem.data_spaces)
    keep = {
        level: spaces - (constraints.level(level).bypass if constraints else frozenset())
        for level in target.arch.level_names
    }
    if not isinstance(given, (str, Path, Sequence)):
        raise InputError(Fault("is no mapping", "mapping", value=given, allowed="a path, or Timeloop's directives"))
    if not isinstance(given, (str, Path)):
        return read_timeloop_mapping(list(given), problem, target.arch, keep=keep)
    path = Path(given)
    try:
        if path.suffix == ".txt":
            return read_map_txt(path, problem, target.arch).mapping
        if path.suffix == ".json":
            data = read_json(path)
            levels: Any = data.get("mapping") if isinstance(data, dict) else data
            if not isinstance(levels, list):
                raise_all([_NO_MAPPING])
            return from_levels(levels, problem, target.arch)
        return read_timeloop_mapping(path, problem, target.arch, keep=keep)
    except JouleloopError as error:
        raise error.at(path) from error
