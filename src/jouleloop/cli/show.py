"""Results on the console: the loop nest, where the energy goes, and what the search proves."""

import itertools
from collections.abc import Callable, Iterable
from decimal import Decimal
from operator import itemgetter
from typing import Any

from rich.markup import escape
from rich.table import Table

from jouleloop.api.results import Result
from jouleloop.api.rows import breakdown_rows, energy_rows
from jouleloop.cli.answers import new_table
from jouleloop.energy.costs import EnergyCosts
from jouleloop.engines.protocol import Target
from jouleloop.model.evaluation import Evaluation
from jouleloop.model.leakage import leakage_pj
from jouleloop.model.objective import OBJECTIVES
from jouleloop.model.semantics import rules_of
from jouleloop.optimum.result import Profile, SearchResult
from jouleloop.terminal.console import print_table, print_text, stdout
from jouleloop.units import amount, energies_in, said

#: Counts from here on are written with a power of ten.
_LONG_COUNT = 10**9


def show_result(result: Result, *, verbose: bool = False) -> None:
    """Print the answer in three lines, then where the energy goes; ``verbose``: all that the answer rests on."""
    target = result.architecture.target(result.problem)
    counts = result.evaluation
    if counts is None:
        return
    _show_answer(result, counts, target.costs.unit)
    unit = target.costs.unit
    _show_energy(counts, unit)
    if result.mapping is not None:
        print_text(result.nest())
    _show_totals(counts, target.costs)
    if result.engine == "native":
        _show_leakage(counts, target)
    if not verbose:
        return
    _show_words(counts)
    _show_areas(target)
    with energies_in(unit):
        _show_energies(target)
    if result.search is not None:
        _show_certificate(result.search, unit)


def _show_answer(result: Result, counts: Evaluation, unit: str) -> None:
    """Print energy, cycles and what is proven, a line each."""
    each = f"{counts.energy_pj / result.problem.macs:.4g} {unit}/MAC"
    first = "accesses" if unit == "words" else "energy"
    lines = [
        (first, f"{amount(counts.energy_pj, unit)}, {each}"),
        ("cycles", f"{counts.cycles:,}, utilization {counts.utilization:.1%}"),
    ]
    if result.search is not None:
        lines.append(("optimum", _proven(result, result.search)))
    for name, text in lines:
        print_text(f"{name:<10}{text}")


def _proven(result: Result, search: SearchResult) -> str:
    """Return whether the mapping is the best one, of how many, and else how far from it it can be."""
    space = result.architecture.target(result.problem).constraints.mapspace
    of = f"{count_text(search.mapspace_size)} mappings of the mapspace {space}"
    if search.optimal:
        return f"proven, of {of}"
    gap = "no bound" if result.gap is None else f"gap at most {result.gap:.2%}"
    return f"not proven, {gap}; {of}"


def count_text(number: int) -> str:
    """Return a count in digits, or with two of them and a power of ten where it is too long to be read."""
    return f"{number:,}" if number < _LONG_COUNT else f"{Decimal(number):.1e}".replace("e+", "e")


def _show_energy(counts: Evaluation, unit: str) -> None:
    what = "Accesses" if unit == "words" else "Energy"
    right = (f"{what.lower()} [{unit}]", "share", "instances")
    table = new_table(f"{what}, all instances", ("level", "data space"), right)

    def cells(row: dict[str, Any]) -> tuple[str, ...]:
        return f"{row['energy_pj']:,.2f}", f"{row['share']:.1%}", f"{row['instances']:,}" if "instances" in row else ""

    _show_by_level(table, breakdown_rows(counts), cells)


def _show_words(counts: Evaluation) -> None:
    table = new_table("Words, per instance", ("level", "data space"), ("tile", "reads", "fills", "updates"))
    rows = [row for row in breakdown_rows(counts) if "reads" in row]
    _show_by_level(table, rows, lambda row: [f"{row[key]:,}" for key in ("tile_words", "reads", "fills", "updates")])


def _show_by_level(table: Table, rows: Iterable[dict[str, Any]], cells: Callable[[Any], Iterable[str]]) -> None:
    """Print rows of levels and data spaces; the name of a level stands once."""
    for level, own in itertools.groupby(rows, itemgetter("level")):
        for position, row in enumerate(own):
            table.add_row("" if position else escape(level), row["data_space"], *cells(row))
    print_table(table)


def _show_totals(counts: Evaluation, costs: EnergyCosts) -> None:
    energies = f"total energy  {counts.energy_pj:,.2f} pJ\ndata energy   {counts.data_energy_pj:,.2f} pJ\n"
    print_text(
        ("" if costs.unit == "words" else energies)
        + f"operations    {counts.computes:,}\n"
        + ("" if costs.area_um2 is None else f"area          {costs.area_um2 / 1e6:,.4f} mm2, all instances\n")
    )


def _show_areas(target: Target) -> None:
    """Print the area of every component where any is known."""
    rows = [row for row in target.costs.areas(target.arch) if row["area_um2"]]
    if not rows:
        return
    table = new_table("Area", ("component",), ("instances", "µm2 each", "mm2 all", "share"))
    total = sum(row["all_um2"] for row in rows)
    for row in rows:
        areas = (f"{row['area_um2']:,.1f}", f"{row['all_um2'] / 1e6:,.4f}", f"{row['all_um2'] / total:.1%}")
        table.add_row(escape(row["component"]), f"{row['instances']:,}", *areas)
    print_table(table)


def _show_leakage(counts: Evaluation, target: Target) -> None:
    """Print the leakage of a mapping where the energies state any: Timeloop 4 adds it to the total, 3.0.3 does not."""
    leakage = sum(leakage_pj(target.costs, counts).values())
    if not leakage:
        return
    if rules_of(target.semantics).counts_leakage:
        print_text(f"leakage       {leakage:,.2f} pJ, in the total as in Timeloop 4\n")
    else:
        total = counts.energy_pj + leakage
        print_text(f"leakage       {leakage:,.2f} pJ, not in the total; with it {total:,.2f} pJ\n")


def _show_energies(target: Target) -> None:
    """Print every energy per action, an access of several words and one word of it, and what says so."""
    right = ("words", f"{target.costs.unit} an access", f"{target.costs.unit} a word")
    table = new_table(said("Energy per action"), ("component", "action"), right)
    table.add_column("estimator")
    sources: dict[str, str] = {}
    for row in energy_rows(target):
        first = str(row["component"]) not in sources
        sources[str(row["component"])] = str(row["source"])
        energy = (f"{row['words']:,}", f"{row['energy_pj']:,.5f}", f"{row['energy_pj_per_word']:,.5f}")
        name = escape(str(row["component"])) if first else ""
        table.add_row(name, str(row["action"]), *energy, str(row["estimator"]))
    print_table(table)
    origins = Table("component", said("where its energies stand"))
    for component, source in sources.items():
        if source:
            origins.add_row(escape(component), escape(source))
    print_table(origins)


def show_profile(profile: Profile) -> None:
    """Print where a search spent its time."""
    if profile.levels:
        counted = tuple(next(iter(profile.levels.values())))
        table = new_table("Search, by level", ("level",), counted)
        for name, counts in profile.levels.items():
            table.add_row(escape(name), *(f"{counts[what]:,}" for what in counted))
        print_table(table)
    print_text(f"parts {profile.parts:,}, tables filled {profile.tables:,}")
    print_text("CPU seconds: " + "; ".join(f"{name} {spent:.3f}" for name, spent in profile.seconds.items()))


def _show_certificate(result: SearchResult, unit: str) -> None:
    """Print what the search proves and what it looked at."""
    unit = OBJECTIVES[result.objective[0]].unit.replace("pJ", unit)
    # Nodes are what was opened, not what was left out.
    reasons = [f"{count:,} by {name}" for name, count in result.pruned.items() if name != "nodes"]
    opened = f"; {result.pruned['nodes']:,} nodes opened" if "nodes" in result.pruned else ""
    gap = "" if result.optimal or result.gap is None else f", gap {result.gap:.2%}"
    splits = f"{count_text(result.index_factorizations)} index factorizations"
    lines = (
        ("optimal", f"{'yes' if result.optimal else 'not proven'}: {result.proof}"),
        ("lower bound", f"{result.lower_bound:,.4f} {unit} ({'+'.join(result.objective)}){gap}"),
        ("mapspace", f"{count_text(result.mapspace_size)} mappings, {splits}"),
        ("visited", f"{result.visited:,} mappings; parts pruned: {', '.join(reasons) or 'none'}{opened}"),
        ("seconds", f"{result.seconds:.3f}"),
    )
    grid = Table.grid(padding=(0, 3, 0, 0))
    for name, text in lines:
        grid.add_row(name, escape(text))
    stdout.print(grid, highlight=False)
