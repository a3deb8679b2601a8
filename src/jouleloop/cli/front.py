"""``jouleloop front``: all mappings of a layer or network that no other beats in energy and cycles."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from jouleloop.api.capacity_fronts import FrontByCapacity, front_by_capacity_told
from jouleloop.api.fronts import Front, check_share, front_told, runs_of
from jouleloop.api.run import options_of
from jouleloop.cli import options
from jouleloop.cli.answers import answer, end, new_table
from jouleloop.cli.target_options import HardwareChoice, Subject, hardware_of
from jouleloop.cli.watching import say_if_compiling, watched
from jouleloop.cli.write_files import Written
from jouleloop.engines.native import NativeEngine
from jouleloop.errors import Fault, InputError, gather, raise_all
from jouleloop.optimum.limit import INTERRUPT
from jouleloop.terminal.console import print_note, print_table, print_text
from jouleloop.terminal.splice import AsJson, spliced
from jouleloop.units import WORDS, energies_in
from jouleloop.workload.layer import CONV

#: Points that the console shows; files have all.
_MOST_SHOWN = 24


@dataclass(frozen=True)
class FrontChoice:
    """What the options ask of a front, and where it stops."""

    capacity: Annotated[
        str | None,
        typer.Option("--capacity", help="Third axis, of a layer: words of this level, whatever capacity it has."),
    ] = None
    constraints: options.ConstraintSet = None
    within: Annotated[
        float,
        typer.Option("--within", help="Share by which a point of a network may exceed one that is left out, as 1e-4."),
    ] = 0.0
    budget: options.Budget = None
    seconds: options.Seconds = None


@spliced(subject=Subject, hardware=hardware_of, choice=FrontChoice, files=Written)
def front(
    arch: options.Arch,
    subject: Subject,
    hardware: HardwareChoice,
    choice: FrontChoice,
    files: Written,
    *,
    as_json: AsJson = False,
    mappings: Annotated[
        Path | None,
        typer.Option(
            "--write-mappings",
            help="Write the mapping of every point into this folder, named by its cycles; of a network by layer.",
            file_okay=False,
        ),
    ] = None,
) -> None:
    """Find all mappings that no other beats in energy and cycles; exit code 1 where a layer has none."""
    (name, runs), told, *_ = gather(
        lambda: runs_of(subject.layer, subject.network, hardware.variables),
        lambda: options_of("energy", choice.budget, choice.seconds),
        files.check,
        lambda: check_share(choice.within),
        lambda: _check_capacity(choice, subject.network, mappings),
    )
    chosen = hardware.load(arch, choice.constraints, CONV if subject.layer is None else runs[0][1].shape)
    say_if_compiling()
    with energies_in(chosen.target(runs[0][1]).costs.unit), watched(choice.seconds) as watch:
        engine = NativeEngine()
        engine.watch = watch
        if choice.capacity is not None:
            try:
                by_capacity = front_by_capacity_told(chosen, runs[0][1], choice.capacity, engine, told)
            except InputError as error:
                raise error.renamed({"level": "--capacity"}) from error
            _end_capacity(by_capacity, files, as_json=as_json)
            return
        found = front_told(chosen, name, runs, engine, told, choice.within)
    _end(found, files, mappings, as_json=as_json)


def _end(found: Front, files: Written, mappings: Path | None, *, as_json: bool) -> None:
    """Print and write a front of energy and cycles; end as the command does."""
    for line in found.missing:
        print_note(line)
    if found.ok:
        with energies_in(found.unit):
            caption = "Energy over cycles of all mappings that no other beats."
            files.write(found.table, "front", found.plot, caption, found.layer_tables)
        if mappings is not None:
            print_note(f"{found.write_mappings(mappings):,} mappings written to {mappings}")
    answer(found.as_dict, lambda: _show(found) if found.ok else None, as_json=as_json)
    end(interrupted=any(one.front.last.stopped == INTERRUPT for one in found.layers), failed=not found.ok)


def _show(found: Front) -> None:
    """Print the points, some of them where there are many."""
    energies, cycles, count = found.energies_pj, found.cycles, len(found.cycles)
    short = f" within {found.within:g} of the energy" if found.within else ""
    proof = f"complete{short}, proven" if found.complete else "not proven complete"
    words = found.unit != "pJ"
    with energies_in(found.unit):
        energy = ("accesses [million words]", "words") if words else ("energy [µJ]", "energy")
        right = ("cycles", energy[0], "above least", f"{energy[1]} x cycles over least")
        shown = new_table(f"{found.name} on {found.architecture.name}", right=right)
        shown.add_column("")
        least = min(energy * one for energy, one in zip(energies, cycles, strict=True)) or 1.0
        for place in _places(count, found.knee):
            ratio = energies[place] / energies[0] - 1 if energies[0] else 0.0
            shown.add_row(
                f"{cycles[place]:,}",
                f"{energies[place] / 1e6:,.3f}",
                f"{ratio:.2%}",
                f"{energies[place] * cycles[place] / least:.3f}",
                "knee" if place == found.knee else "",
            )
        print_table(shown)
    more = f", {min(count, _MOST_SHOWN)} of them above" if count > _MOST_SHOWN else ""
    print_text(f"{_points(count)}{more}; {proof}")


def _points(count: int) -> str:
    return f"{count:,} point{'s' if count != 1 else ''}"


def _check_capacity(choice: FrontChoice, network: str | None, mappings: Path | None) -> None:
    """Raise `InputError` for what goes with no third axis."""
    others = {"--network": network, "--within": choice.within or None, "--write-mappings": mappings}
    text = "does not go with --capacity"
    given = {name: value for name, value in others.items() if value is not None and choice.capacity is not None}
    raise_all([Fault(text, name, value=str(value), allowed="--layer") for name, value in given.items()])


def _end_capacity(found: FrontByCapacity, files: Written, *, as_json: bool) -> None:
    """Print and write a front with the capacity as an axis; end as the command does."""
    rows = found.rows()
    if found.missing:
        print_note(found.missing)
    if rows:
        caption = f"Energy over cycles and words of {found.level} of all mappings that no other beats in all three."
        files.write(found.table, "capacity_front", found.plot, caption)
    answer(found.as_dict, lambda: _show_capacity(found, rows) if rows else None, as_json=as_json)
    end(interrupted=found.found.last.last.stopped == INTERRUPT, failed=not rows)


def _show_capacity(found: FrontByCapacity, rows: list[dict[str, Any]]) -> None:
    """Print the points, some of them where there are many."""
    energy = f"{'accesses' if found.unit == WORDS else 'energy'} [{found.unit}]"
    right = (f"{found.level} [words]", "cycles", energy)
    shown = new_table(f"{found.problem.name} on {found.architecture.name}", right=right)
    for row in (rows[place] for place in _places(len(rows), None)):
        shown.add_row(f"{row['words']:,}", f"{row['cycles']:,}", f"{row['total_pj']:,.2f}")
    print_table(shown)
    print_text(f"{_points(len(rows))}; {'complete, proven' if found.complete else 'not proven complete'}")


def _places(count: int, knee: int | None) -> list[int]:
    """Return which points are shown: all, or ends, knee and some between, evenly spread."""
    if count <= _MOST_SHOWN:
        return list(range(count))
    spread = {round(k * (count - 1) / (_MOST_SHOWN - 2)) for k in range(_MOST_SHOWN - 1)}
    return sorted(spread | ({knee} if knee is not None else set()))
