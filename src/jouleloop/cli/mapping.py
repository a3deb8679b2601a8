"""``jouleloop map`` and ``jouleloop evaluate``: the best mapping of one layer, or the cost of a given one."""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from jouleloop.cli import options, show
from jouleloop.cli.target_options import HardwareChoice, hardware_of
from jouleloop.cli.watching import watched
from jouleloop.engines.native import NativeEngine
from jouleloop.engines.protocol import Engine, SearchOptions, Target
from jouleloop.engines.registry import get_engine
from jouleloop.errors import Fault, InputError, MappingError, raise_all
from jouleloop.files import read_json, write_json, write_yaml
from jouleloop.mapping.formats import from_levels, read_timeloop_mapping, to_timeloop_mapping
from jouleloop.mapping.mapping import Mapping
from jouleloop.mapping.nest import read_map_txt
from jouleloop.mapspace.space import build_mapspace
from jouleloop.model.leakage import leakage_pj
from jouleloop.search.limit import INTERRUPT
from jouleloop.terminal.console import print_json, stderr
from jouleloop.terminal.splice import spliced
from jouleloop.workload.problem import Problem

#: Exit code of a program that a signal ended early.
_INTERRUPTED = 130
_NO_MAPPING = Fault("holds no mapping", allowed="a list of levels, or an object with the key 'mapping'")


@contextlib.contextmanager
def engine_with_progress(name: str, seconds: float | None) -> Iterator[Engine]:
    """Yield the engine called ``name``; what it reports of a long search is shown on a terminal."""
    back_end = get_engine(name)
    if isinstance(back_end, NativeEngine):
        with watched(seconds) as back_end.watch:
            yield back_end
        return
    if not hasattr(back_end, "on_progress") or not stderr.is_terminal:
        yield back_end
        return
    with stderr.status(f"{name} searches") as status:
        back_end.on_progress = lambda progress: status.update(f"{name}: {progress}")
        yield back_end


@spliced(hardware=hardware_of)
def map_layer(
    arch: options.Arch,
    layer: options.LayerText,
    constraints: options.ConstraintSet = None,
    *,
    hardware: HardwareChoice,
    objective: options.Objective = "energy",
    engine: options.EngineName = "native",
    budget: options.Budget = None,
    seconds: options.Seconds = None,
    as_json: options.AsJson = False,
    write_mapping: Annotated[
        Path | None, typer.Option("--write-mapping", help="Write the mapping to this file, as timeloop-model reads it.")
    ] = None,
    certificate: Annotated[
        Path | None,
        typer.Option("--certificate", help="Write the proof of the optimum to this file; jouleloop check verifies it."),
    ] = None,
) -> None:
    """Find the cheapest mapping of one layer; exit code 1 where there is none."""
    objectives = options.parse_objective(objective)
    if certificate is not None and (engine != "native" or len(objectives) > 1 or budget is not None):
        fault = "is written by the native engine, for one objective, without a budget"
        raise InputError(Fault(fault, "--certificate", value=str(certificate)))
    problem = options.parse_problem(layer)
    targets = hardware.load(arch, constraints, problem.shape)
    target = targets.for_shape(problem.shape)
    with engine_with_progress(engine, seconds) as back_end:
        result = back_end.search(problem, target, SearchOptions(objectives, budget=budget, seconds=seconds))
    if write_mapping is not None and result.mapping is not None:
        header = f"{problem.name} on {targets.name}: {result.evaluation.energy_pj if result.evaluation else 0.0} pJ"
        write_yaml(write_mapping, {"mapping": to_timeloop_mapping(result.mapping, problem, target.arch)}, header=header)
    elif write_mapping is not None and result.evaluation is not None:
        stderr.print(f"{write_mapping} is not written: {result.reason}", markup=False, soft_wrap=True)
    if certificate is not None and result.mapping is not None:
        from jouleloop.search.certificate import certify  # noqa: PLC0415 - loads the kernels

        space = build_mapspace(problem, target.arch, target.constraints)
        write_json(certificate, certify(space, target.constraints, target.costs, result, target.semantics), indent=None)
    if as_json:
        print_json(show.result_json(result, problem, target, targets.name))
    elif result.evaluation is None:
        stderr.print(f"{result.status}: {result.reason}", markup=False, highlight=False, soft_wrap=True)
    else:
        if result.mapping is not None:
            show.show_nest(problem, target, result.mapping)
        else:
            stderr.print(result.reason, markup=False, highlight=False, soft_wrap=True)
        show.show_evaluation(result.evaluation, problem)
        if engine == "native":
            show.show_leakage(result.evaluation, target)
        show.show_energies(target)
        show.show_certificate(result)
    if result.stopped == INTERRUPT:
        raise typer.Exit(_INTERRUPTED)
    if result.evaluation is None:
        raise typer.Exit(1)


@spliced(hardware=hardware_of)
def evaluate_mapping(
    arch: options.Arch,
    layer: options.LayerText,
    mapping: Annotated[
        Path,
        typer.Option(
            "--mapping",
            help="Mapping: a Timeloop mapping (YAML), a timeloop-mapper.map.txt, or the JSON of jouleloop map.",
        ),
    ],
    hardware: HardwareChoice,
    engine: options.EngineName = "native",
    as_json: options.AsJson = False,
) -> None:
    """Count accesses, energy and cycles of a given mapping; constraints of the mapspace do not matter here."""
    problem = options.parse_problem(layer)
    targets = hardware.load(arch, shape=problem.shape)
    target = targets.for_shape(problem.shape)
    nest = _read_mapping(mapping, problem, target)
    try:
        evaluation = get_engine(engine).evaluate(problem, target, nest)
    except MappingError as error:
        raise error.at(mapping) from error
    if as_json:
        print_json(
            {
                **show.target_json(target, targets.name),
                "problem": {"name": problem.name, **problem.as_dict()},
                "mapping": nest.as_json(),
                "evaluation": evaluation.as_json(),
                "leakage_pj": leakage_pj(target.costs, evaluation) if engine == "native" else {},
            }
        )
        return
    show.show_nest(problem, target, nest)
    show.show_evaluation(evaluation, problem)
    if engine == "native":
        show.show_leakage(evaluation, target)
    show.show_energies(target)


def _read_mapping(path: Path, problem: Problem, target: Target) -> Mapping:
    try:
        if path.suffix == ".txt":
            return read_map_txt(path, problem, target.arch).mapping
        if path.suffix == ".json":
            data = read_json(path)
            levels: Any = data.get("mapping") if isinstance(data, dict) else data
            if not isinstance(levels, list):
                raise_all([_NO_MAPPING])
            return from_levels(levels, problem, target.arch)
        spaces = frozenset(space.name for space in problem.data_spaces)
        # Timeloop keeps whatever a mapping does not bypass; beside a v0.4 file the constraints may say so instead.
        constraints = None if target.arch.plain else target.constraints
        keep = {
            level: spaces - (constraints.level(level).bypass if constraints else frozenset())
            for level in target.arch.level_names
        }
        return read_timeloop_mapping(path, problem, target.arch, keep=keep)
    except InputError as error:
        raise error.at(path) from error
