"""Results on the console: the loop nest, where the energy goes, and what the search proves."""

from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from jouleloop.engines.protocol import Target
from jouleloop.mapping.mapping import Mapping
from jouleloop.mapping.nest import print_nest
from jouleloop.model.evaluation import Evaluation
from jouleloop.model.leakage import leakage_pj
from jouleloop.model.objective import OBJECTIVES
from jouleloop.search.result import SearchResult
from jouleloop.terminal.console import stdout
from jouleloop.workload.problem import Problem

#: No table is wider, in characters.
_WIDEST = 400


def show_nest(problem: Problem, target: Target, mapping: Mapping) -> None:
    """Print the loop nest as Timeloop does."""
    stdout.print(print_nest(mapping, problem, target.arch), markup=False, highlight=False, soft_wrap=True)


def show_evaluation(evaluation: Evaluation, problem: Problem) -> None:
    """Print energy and accesses by level and data space, and the totals."""
    table = Table(title="Energy by level and data space", title_justify="left")
    table.add_column("level")
    table.add_column("data space")
    for heading in ("energy [pJ]", "share", "tile [words]", "instances", "reads", "fills", "updates"):
        table.add_column(heading, justify="right")
    total = evaluation.energy_pj or 1.0
    for level in evaluation.levels:
        for position, (space, stats) in enumerate(level.data.items()):
            table.add_row(
                escape(level.name) if position == 0 else "",
                space,
                f"{stats.energy_pj:,.2f}",
                f"{stats.energy_pj / total:.1%}",
                f"{stats.tile_words:,}",
                f"{stats.instances:,}",
                f"{stats.reads:,}",
                f"{stats.fills:,}",
                f"{stats.updates:,}",
            )
    compute = evaluation.compute_energy_pj
    row = (f"{compute:,.2f}", f"{compute / total:.1%}", "", f"{evaluation.compute_instances:,}", "", "", "")
    table.add_row(escape(evaluation.compute_name), "compute", *row)
    _print_wide(table)
    stdout.print(
        f"total energy  {evaluation.energy_pj:,.2f} pJ  ({evaluation.energy_pj / problem.macs:.4f} pJ per operation)\n"
        f"data energy   {evaluation.data_energy_pj:,.2f} pJ\n"
        f"cycles        {evaluation.cycles:,}\n"
        f"utilization   {evaluation.utilization:.4f}\n"
        f"operations    {evaluation.computes:,}",
        highlight=False,
    )


def show_leakage(evaluation: Evaluation, target: Target) -> None:
    """Print the leakage of a mapping where the energies state any: Timeloop 4 adds it, 3.0.3 and our totals do not."""
    leakage = sum(leakage_pj(target.costs, evaluation).values())
    if leakage:
        total = evaluation.energy_pj + leakage
        stdout.print(
            f"leakage       {leakage:,.2f} pJ more, which Timeloop 4 adds to the total: {total:,.2f} pJ",
            highlight=False,
            soft_wrap=True,
        )


def show_certificate(result: SearchResult) -> None:
    """Print what the search proves and what it looked at."""
    unit = OBJECTIVES[result.objective[0]].unit
    # Nodes are what was opened, not what was left out.
    reasons = [f"{count:,} by {name}" for name, count in result.pruned.items() if name != "nodes"]
    opened = f"; {result.pruned['nodes']:,} nodes opened" if "nodes" in result.pruned else ""
    gap = "" if result.optimal or result.gap is None else f", gap {result.gap:.2%}"
    stdout.print(
        f"optimal       {'yes' if result.optimal else 'not proven'}: {result.proof}\n"
        f"lower bound   {result.lower_bound:,.4f} {unit} ({'+'.join(result.objective)}){gap}\n"
        f"mapspace      {result.mapspace_size:,} mappings, {result.index_factorizations:,} index factorizations\n"
        f"visited       {result.visited:,} mappings; parts pruned: {', '.join(reasons) or 'none'}{opened}\n"
        f"seconds       {result.seconds:.3f}",
        highlight=False,
        markup=False,
    )


def show_energies(target: Target) -> None:
    """Print every energy per action with the estimator that produced it."""
    table = Table(title="Energy per action", title_justify="left")
    for heading in ("component", "pJ", "estimator", "source"):
        table.add_column(heading)
    actions: dict[tuple[str, str, str], list[str]] = {}
    for row in target.costs.rows(target.arch.compute.name):
        key = (row["component"], row["estimator"], row["source"])
        actions.setdefault(key, []).append(f"{row['action']} {row['energy_pj']:,.5f}")
    for (component, estimator, source), energies in actions.items():
        table.add_row(escape(component), ", ".join(energies), estimator, escape(source))
    _print_wide(table)


def _print_wide(table: Table) -> None:
    """Print a table with every cell whole, however narrow the terminal or pipe."""
    needed = stdout.measure(table, options=stdout.options.update(width=_WIDEST)).maximum
    Console(file=stdout.file, width=max(stdout.width, needed)).print(table)


def target_json(target: Target, architecture: str) -> dict[str, Any]:
    """Return what a result is of besides the problem: architecture, where every energy comes from, semantics."""
    return {
        "architecture": architecture,
        "energy_table": target.costs.table,
        "estimator": target.costs.estimator,
        "energies": target.costs.rows(target.arch.compute.name),
        "semantics": target.semantics,
    }


def result_json(result: SearchResult, problem: Problem, target: Target, architecture: str) -> dict[str, Any]:
    """Return a search result with what it is of."""
    problem_data = {"name": problem.name, **problem.as_dict()}
    return {**target_json(target, architecture), "problem": problem_data, **result.as_json()}
