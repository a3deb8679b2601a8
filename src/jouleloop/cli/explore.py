"""``jouleloop explore``: the best design of a space, and why no other one is better."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from jouleloop.api.explorations import INVALID, Exploration, explore
from jouleloop.cli import options
from jouleloop.cli.answers import answer, end, new_table
from jouleloop.cli.target_options import read_outside
from jouleloop.cli.watching import say_if_compiling
from jouleloop.cli.write_files import Written
from jouleloop.errors import gather
from jouleloop.optimum.limit import INTERRUPT, Limit, Watch
from jouleloop.signals import asked_by_signals
from jouleloop.terminal.console import print_note, print_table, print_text, stderr
from jouleloop.terminal.splice import AsJson, spliced

#: Points of a front and discarded families that the console shows; files have all.
_MOST_SHOWN = 12


@spliced(files=Written)
def explore_space(
    space: Annotated[Path, typer.Argument(metavar="FILE", help="Design space: a YAML file (docs/exploration.md).")],
    store: Annotated[
        Path | None,
        typer.Option(
            "--store",
            help="Keep what is searched in this folder; a later exploration goes on from there.",
            file_okay=False,
        ),
    ] = None,
    seconds: Annotated[
        float | None,
        typer.Option("--seconds", min=0.0, help="Stop after so many seconds, with the best design and a proven bound."),
    ] = None,
    allow_outside: options.AllowOutside = False,
    *,
    as_json: AsJson = False,
    files: Written,
    write_front: Annotated[
        Path | None,
        typer.Option(
            "--write-front",
            help="Write the front of energy, cycles and area to this file, .csv or .parquet.",
            dir_okay=False,
        ),
    ] = None,
) -> None:
    """Find the best design of a space, proven; exit code 1 where no design maps all layers within the budget."""
    read_outside(allowed=allow_outside)
    front = Written(write_front)
    gather(files.check, lambda: front.check("--write-front"))
    say_if_compiling()
    watch = Watch(Limit(seconds))
    with asked_by_signals(watch.stop), stderr.status("reading designs") as status:
        shown: Callable[[str], None] | None = status.update if stderr.is_terminal else None
        found = explore(space, store=store, progress=shown, watch=watch)
    caption = "What searched designs cost, the best marked."
    files.write(found.table, "designs", found.plot, caption, found.page_tables)
    front.write(found.front_table, "design_front", found.plot, caption)
    answer(found.as_dict, lambda: _show(found), as_json=as_json)
    end(interrupted=found.outcome.stopped == INTERRUPT, failed=found.best is None)


def _show(found: Exploration) -> None:
    """Print the best design, what became of the others, and the largest families that were discarded."""
    data = found.as_dict()
    if found.best is None:
        why = "was found before the search stopped" if found.outcome.stopped else "maps all layers within the budget"
        print_note(f"no design {why}")
    else:
        for path, value in found.best.items():
            print_text(f"{path:<24} {value}")
        print_text(f"{found.space.objective:<24} {found.value:,.2f} {found.unit}")
        known = next(value for key, value in data.items() if key.startswith("total_"))
        print_text(f"{'energy and cycles':<24} {known:,.2f} {found.energy_unit}, {data['cycles']:,.0f}")
        if data["area_um2"] is not None:
            print_text(f"{'area':<24} {data['area_um2'] / 1e6:,.4f} mm2")
    gap = "" if found.gap is None else f", at most {found.gap:.2%} above the optimum"
    proof = "proven: every other design was searched or discarded by a bound"
    print_text(f"{'optimum':<24} {proof if found.optimal else f'not proven, stopped ({found.outcome.stopped}){gap}'}")
    print_text(f"{'designs':<24} {', '.join(f'{number:,} {fate}' for fate, number in data['designs'].items())}")
    if wrong := [reason for fate, _, reason in found.fates if fate == INVALID]:
        print_note(f"the first invalid design: {wrong[0]}")
    print_text(f"{'searches':<24} {found.searches:,} of a layer, {found.outcome.nodes:,} families\n")
    _show_families(found)
    if found.outcome.front:
        _show_front(found)


def _show_families(found: Exploration) -> None:
    families = sorted(found.outcome.families, key=lambda family: -len(family.members))[:_MOST_SHOWN]
    if not families:
        return
    shown = new_table("largest families that were discarded", right=("designs", f"none below [{found.unit}]"))
    shown.add_column("which, and why")
    for family in families:
        bound = f"{family.bound:,.0f}" if family.bound < float("inf") else "–"
        shown.add_row(f"{len(family.members):,}", bound, escape(f"{found.described(family)}: {family.reason}"))
    print_table(shown)


def _show_front(found: Exploration) -> None:
    points = found.front_table()
    shown = new_table(f"front of energy, delay and area: {len(points):,} points", right=map(str, points.columns))
    step = max(1, len(points) // _MOST_SHOWN)
    for _, row in points.iloc[::step].iterrows():
        shown.add_row(*(f"{value:,.0f}" if isinstance(value, (int, float)) else str(value) for value in row))
    print_table(shown)
