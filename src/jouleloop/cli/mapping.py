"""``jouleloop map`` and ``jouleloop evaluate``: the best mapping of one layer, or the cost of a given one."""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from jouleloop.api.layers import problem_of
from jouleloop.api.results import Result
from jouleloop.api.run import countable, evaluate, search_told
from jouleloop.cli import options
from jouleloop.cli.answers import answer, end
from jouleloop.cli.notes import hints, narrower, notes
from jouleloop.cli.show import show_profile, show_result
from jouleloop.cli.target_options import HardwareChoice, SearchChoice, hardware_of, search_of
from jouleloop.cli.watching import say_if_compiling, watched
from jouleloop.cli.write_files import write_proof
from jouleloop.engines.protocol import Engine
from jouleloop.engines.registry import get_engine
from jouleloop.errors import Fault, InputError
from jouleloop.files import write_text
from jouleloop.optimum.limit import INTERRUPT
from jouleloop.terminal.console import print_json, print_note, stderr
from jouleloop.terminal.splice import spliced
from jouleloop.units import energies_in


@contextlib.contextmanager
def engine_with_progress(name: str, seconds: float | None, unit: str, *, profile: bool = False) -> Iterator[Engine]:
    """Yield the engine called ``name``; what it reports of a long search is shown on a terminal, in ``unit``."""
    back_end = get_engine(name)
    if hasattr(back_end, "watch"):
        say_if_compiling()
        with energies_in(unit), watched(seconds, profile=profile) as back_end.watch:
            yield back_end
        return
    if not hasattr(back_end, "on_progress") or not stderr.is_terminal:
        yield back_end
        return
    with energies_in(unit), stderr.status(f"{name} searches") as status:
        back_end.on_progress = lambda progress: status.update(f"{name}: {progress}")
        yield back_end


@dataclass(frozen=True)
class Files:
    """The files that the options ask for; None where one is not asked for."""

    mapping: Annotated[
        Path | None,
        typer.Option(
            "--write-mapping", help="Write the mapping to this file, as timeloop-model reads it.", dir_okay=False
        ),
    ] = None
    certificate: options.Certificate = None


@spliced(hardware=hardware_of, how=search_of, files=Files)
def map_layer(
    arch: options.Arch,
    layer: options.LayerText,
    hardware: HardwareChoice,
    how: SearchChoice,
    *,
    profile: Annotated[
        bool, typer.Option("--profile", help="Show where the search spent its time: nodes and cuts by level, seconds.")
    ] = False,
    verbose: options.Verbose = False,
    as_json: options.AsJson = False,
    files: Files,
) -> None:
    """Find the cheapest mapping of one layer; exit code 1 where there is none."""
    told = how.options
    if profile and how.engine != "native":
        raise InputError(Fault("is for the native engine", "--profile", value=how.engine))
    if files.certificate is not None and (how.engine != "native" or len(told.objective) > 1 or told.budget is not None):
        fault = "is written by the native engine, for one objective, without a budget"
        raise InputError(Fault(fault, "--certificate", value=str(files.certificate)))
    problem = problem_of(layer, hardware.variables)
    chosen = hardware.load(arch, how.constraints, problem.shape)
    target = chosen.target(problem)
    with engine_with_progress(how.engine, told.seconds, target.costs.unit, profile=profile) as back_end:
        result = search_told(chosen, problem, back_end, told)
    if files.mapping is not None and result.mapping is not None:
        header = f"# {result.problem.name} on {chosen.name}: {result.energy_pj} {result.unit}\n"
        write_text(files.mapping, header + result.to_timeloop())
    elif files.mapping is not None and result.ok:
        print_note(f"{files.mapping} is not written: {result.reason}")
    ended = result.search is not None and result.search.stopped == INTERRUPT
    if files.certificate is not None and result.ok:
        ended |= not _write_certificate(files.certificate, result)
    for note in notes(result):
        print_note(f"note: {note}")
    if as_json:
        print_json(result.as_dict())
    else:
        if result.reason:
            status = "" if result.ok else f"{result.status}: "
            print_note(f"{status}{result.reason}")
        show_result(result, verbose=verbose)
        if result.search is not None and result.search.profile is not None:
            show_profile(result.search.profile)
    for line in narrower(result) if result.search is not None and result.search.stopped else ():
        print_note(line)
    for hint in () if ended or result.ok else hints(result):
        print_note(f"hint: {hint}")
    end(interrupted=ended, failed=not result.ok)


def _write_certificate(path: Path, result: Result) -> bool:
    """Write the proof of an optimum, or say why there is none; return whether nobody interrupted it."""
    try:
        with energies_in(result.unit), watched(None) as watch:
            write_proof(path, lambda: result.certificate(watch), proven=result.optimal)
    except KeyboardInterrupt as error:
        print_note(f"{path} is not written: interrupted; {error}")
        return False
    return True


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
    residuals: Annotated[
        str, typer.Option("--residuals", help="Loops that end early are counted as timeloop does, or exact.")
    ] = "timeloop",
    *,
    verbose: options.Verbose = False,
    as_json: options.AsJson = False,
) -> None:
    """Count accesses, energy and cycles of a given mapping; constraints of the mapspace do not matter here."""
    problem = problem_of(layer, hardware.variables)
    chosen = countable(lambda constraints: hardware.load(arch, constraints, problem.shape), problem)
    result = evaluate(chosen, problem, mapping, engine=engine, residuals=residuals)
    answer(result.as_dict, lambda: show_result(result, verbose=verbose), as_json=as_json)
