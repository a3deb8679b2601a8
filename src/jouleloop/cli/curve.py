"""``jouleloop curve``: the least energy, cycles or DRAM words of a layer or network against one level's capacity."""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from jouleloop.api.curves import Curve, question_of, walked
from jouleloop.api.layers import problem_of
from jouleloop.cli import options
from jouleloop.cli.answers import answer, end, new_table
from jouleloop.cli.network_curve import check_subject, draw_network
from jouleloop.cli.target_options import HardwareChoice, Subject, hardware_of
from jouleloop.cli.watching import say_if_compiling, watched
from jouleloop.cli.write_files import Written
from jouleloop.curves.beside import curve_growth, ratios
from jouleloop.curves.staircase import CURVE_OBJECTIVES, STEPS, Limits, Point, Question
from jouleloop.errors import gather
from jouleloop.files import write_json
from jouleloop.names import safe_name
from jouleloop.optimum.limit import INTERRUPT, Watch
from jouleloop.terminal.console import print_note, print_table, print_text, stderr
from jouleloop.terminal.splice import AsJson, spliced
from jouleloop.units import energies_in


@dataclass(frozen=True)
class CurveChoice:
    """What the options ask of a curve, and where it stops."""

    level: Annotated[
        str | None,
        typer.Option("--level", help="Level whose capacity varies. Default: the outermost of limited capacity."),
    ] = None
    objective: Annotated[
        str, typer.Option("--objective", help=f"What is minimised: {', '.join(CURVE_OBJECTIVES)}.")
    ] = "energy"
    constraints: options.ConstraintSet = None
    least_words: Annotated[
        int, typer.Option("--least-words", min=0, help="Least capacity [words that a tile may fill].")
    ] = 0
    most_words: Annotated[
        int | None, typer.Option("--most-words", min=0, help="Largest capacity [words that a tile may fill].")
    ] = None
    steps: Annotated[
        int | None, typer.Option("--steps", min=1, help="Stop after so many steps from the largest capacity downward.")
    ] = None
    seconds: Annotated[
        float | None, typer.Option("--seconds", min=0.0, help="Stop after so many seconds with the steps so far.")
    ] = None
    store: Annotated[
        Path | None,
        typer.Option(
            "--store", help="File of what was searched, of a network a folder: the same command goes on from there."
        ),
    ] = None


@spliced(subject=Subject, hardware=hardware_of, choice=CurveChoice, files=Written)
def curve(
    arch: options.Arch,
    subject: Subject,
    hardware: HardwareChoice,
    choice: CurveChoice,
    files: Written,
    certificates: Annotated[
        Path | None,
        typer.Option(
            "--certificates",
            help="Write the proof of every step into this folder, for jouleloop check.",
            file_okay=False,
        ),
    ] = None,
    *,
    verbose: Annotated[
        bool, typer.Option("--verbose", help="Print cycles and the mapping of every step, too.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Find the least energy of a layer or network at every capacity of one level; exit code 1 where there is none.

    Energies per access stay as they are, whatever the capacity. Every step is proven, unless a limit stops the curve.
    Layers of a network run one after the other, and each has the whole level.
    """
    of_layers = {
        "--least-words": choice.least_words or None,
        "--most-words": choice.most_words,
        "--steps": choice.steps,
        "--certificates": certificates,
        "--verbose": verbose or None,
    }
    gather(files.check, lambda: check_subject(subject, of_layers))
    if subject.layer is None:
        chosen, asked = hardware.load(arch, choice.constraints), (str(subject.network), choice.level, choice.objective)
        draw_network(chosen, *asked, choice.seconds, choice.store, files, as_json=as_json)
        return
    problem = problem_of(subject.layer, hardware.variables)
    chosen = hardware.load(arch, choice.constraints, problem.shape)
    question = question_of(chosen, problem, choice.level, choice.objective, choice.least_words, choice.most_words)
    say_if_compiling()
    with energies_in(question.target.costs.unit), _limits(question, choice.steps, choice.seconds) as limits:
        found = walked(chosen, question, limits, choice.store)
    ended = found.stopped == INTERRUPT
    if certificates is not None and ended:
        print_note("no certificates are written: interrupted")
    elif certificates is not None:
        ended = not _write_certificates(certificates, found)
    if found.steps:
        with energies_in(question.target.costs.unit):
            files.write(found.table, "curve", found.plot, f"{len(found.steps)} steps, dashed what theory asks for")
    answer(found.as_dict, lambda: _show(found, verbose=verbose), as_json=as_json)
    _tell_end(found, choice.store)
    end(interrupted=ended, failed=not found.steps)


@contextlib.contextmanager
def _limits(question: Question, steps: int | None, seconds: float | None) -> Iterator[Limits]:
    """Yield the limits of a walk; on a terminal it shows how far it is."""
    with watched(seconds) as watch:
        # The line of a single search says less than that of the curve.
        watch.tell = None
        if not stderr.is_terminal:
            yield Limits(steps, watch)
            return
        with stderr.status(f"{question.level}: the largest capacity") as status:

            def tell(steps: int, point: Point) -> None:
                found = f"{point.value:,.0f} {question.unit} at {point.held:,} words"
                status.update(f"{question.level}: {steps:,} steps, {found}")

            yield Limits(steps, watch, tell=tell)


def _write_certificates(folder: Path, found: Curve) -> bool:
    """Write the proof of every proven step; return whether nobody interrupted it."""
    watch = Watch()
    try:
        with watched(None) as watch:
            for step in found.steps:
                if not step.optimal:
                    print_note(f"no certificate at {step.words} words: the optimum is not proven")
                    continue
                most = "any" if step.most_words is None else str(step.most_words)
                path = folder / f"{safe_name(found.level)}-{step.words}-to-{most}.json"
                write_json(path, found.certificate(step, watch), indent=None)
    except KeyboardInterrupt as error:
        print_note(f"not all certificates are written: interrupted; {error}")
        return False
    return True


def _show(found: Curve, *, verbose: bool) -> None:
    print_text(f"{found.problem.name} on {found.architecture.name}: {found.staircase.question.objective} against "
               f"words in {found.level}")  # fmt: skip
    rows = found.rows()
    told = ["words", f"least [{found.unit}]", "proven", "DRAM words", "of theory"]
    table = new_table("", right=[*told, "cycles"] if verbose else told)
    if verbose:
        table.add_column("mapping")
    for row, ratio in zip(rows, ratios(found.staircase), strict=True):
        value, dram = f"{row['value']:,.2f}".removesuffix(".00"), f"{row['dram_words']:,.0f}"
        cells = [
            f"{row['words']:,}",
            value,
            "yes" if row["proven"] else "no",
            dram,
            "" if ratio is None else f"{ratio:.2f}",
        ]
        table.add_row(*cells, *((f"{row['cycles']:,}", row["mapping"]) if verbose else ()))
    print_table(table)
    if found.largest_words is not None:
        print_text(f"largest capacity that helps: {found.largest_words:,} words, proven")
    growth = curve_growth(found.staircase)
    if growth is not None:
        k = growth.exponent
        fitted = k.note or f"{k.exponent:.4f} [{k.low:.4f}, {k.high:.4f}], theory {k.expected:g}: agrees {k.agrees}"
        print_text(f"DRAM words as a power of {growth.least_words:,} to {growth.most_words:,} words: exponent {fitted}")


def _tell_end(found: Curve, store: Path | None) -> None:
    """Say on standard error why the curve ends where it does."""
    if found.staircase.reason:
        print_note(found.staircase.reason)
    if found.stopped and found.stopped != STEPS:
        goes_on = "; the same command goes on" if store is not None else "; --store FILE lets the same command go on"
        print_note(f"stopped ({found.stopped}) before the least capacity{goes_on}")
