"""``jouleloop chain``: layers that run one after the other, fused where that takes less energy."""

from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from jouleloop.api.chains import chain_named, chains_in, search_chain
from jouleloop.cli import options
from jouleloop.cli.target_options import HardwareChoice, hardware_of
from jouleloop.cli.watching import say_if_compiling, watched
from jouleloop.errors import Fault, InputError
from jouleloop.files import write_text
from jouleloop.fusion.result import ChainResult, GroupRun, LayerRun
from jouleloop.report.fused_page import fused_page
from jouleloop.terminal.console import print_json, print_table, print_text
from jouleloop.terminal.splice import AsJson, spliced


@spliced(hardware=hardware_of)
def chain(
    names: Annotated[
        list[str],
        typer.Argument(
            metavar="CHAIN", help="Chain: a file in layers/chains/ by name, any by its path, or its layers."
        ),
    ],
    arch: options.Arch,
    hardware: HardwareChoice,
    level: Annotated[
        str | None,
        typer.Option("--level", help="Level where shared tensors live; the outermost one on the chip without it."),
    ] = None,
    constraints: options.ConstraintSet = None,
    seconds: options.Seconds = None,
    *,
    recompute: Annotated[
        bool, typer.Option("--recompute", help="Overlaps of windows may be computed again, too, where that is cheaper.")
    ] = False,
    page: Annotated[
        Path | None, typer.Option("--page", help="Draw the fused loop nests into this HTML file.", dir_okay=False)
    ] = None,
    network: Annotated[
        bool, typer.Option("--network", help="Find the chains of a network, and what each saves.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Find the least energy of layers that share tensors, fused or apart; exit code 1 where a layer has no mapping."""
    given = names[0] if len(names) == 1 else names
    chains = chains_in(given) if network else [(chain_named(given), 1)]
    if not chains:
        raise InputError(Fault("has no two layers that follow each other, equally often", "CHAIN", value=given))
    say_if_compiling()
    results = []
    with watched(seconds) as watch:
        for found, _ in chains:
            designs = [hardware.load(arch, constraints, problem.shape) for problem in found.problems]
            results.append(search_chain(found, designs, level=level, watch=watch, seconds=seconds, recompute=recompute))
    counts = [count for _, count in chains]
    if page is not None:
        drawn = [(f"{one.chain} on {one.architecture}", one.as_json()) for one in results]
        write_text(page, fused_page(drawn))
    if as_json:
        plain = [one.as_json() | {"count": count} for one, count in zip(results, counts, strict=True)]
        print_json(plain if network else plain[0])
    elif network:
        _show_network(results, counts)
    else:
        _show(results[0])
    if not all(one.ok for one in results):
        raise typer.Exit(1)


def _show_network(results: list[ChainResult], counts: list[int]) -> None:
    """Print a line a chain, and what all save."""
    table = Table(title="Chains of the network", title_justify="left")
    table.add_column("layers")
    for heading in ("runs", "groups", "fused [µJ]", "of apart", "outside"):
        table.add_column(escape(heading), justify="right")
    table.add_column("proven")
    for result, count in zip(results, counts, strict=True):
        if result.ok:
            shares = result.energy_pj / result.apart_pj, result.outer_words / result.apart_outer_words
            cells = f"{len(result.groups)}", f"{result.energy_pj / 1e6:,.4g}", *(f"{share:.1%}" for share in shares)
        else:
            cells = (result.reason, "", "", "")
        ends = f"{result.layers[0]} … {result.layers[-1]}"
        table.add_row(escape(ends), f"{count}", *cells, "yes" if result.optimal else "no")
    print_table(table)
    saved = sum(count * (one.apart_pj - one.energy_pj) for one, count in zip(results, counts, strict=True))
    print_text(f"fusion saves {saved / 1e6:,.4g} µJ of the network")


def _show(result: ChainResult) -> None:
    if not result.ok:
        print_text(f"no mapping: {result.reason}")
        return
    energy = f"{result.energy_pj / 1e6:,.4g} µJ" if result.unit == "pJ" else f"{result.energy_pj:,.0f} {result.unit}"
    gap = result.energy_pj / result.lower_bound_pj - 1 if result.lower_bound_pj else 0.0
    proven = "proven" if result.optimal else f"not proven, gap at most {gap:.2%}"
    print_text(f"energy    {energy}, {result.energy_pj / result.apart_pj:.1%} of the layers apart")
    words = f"{result.outer_words:,} words, {result.outer_words / result.apart_outer_words:.1%} of the layers apart"
    print_text(f"outside   {words}, at the outermost level")
    print_text(f"optimum   {proven}, by {result.searches:,} searches of parts; fused at {result.level}\n")
    for group in result.groups:
        _show_group(group)


def _show_group(group: GroupRun) -> None:
    indent = ""
    if group.prefix:
        loops = [
            f"{'|'.join(dict.fromkeys(loop.dimensions))} in {loop.factor}{', overlaps anew' * loop.recomputes}"
            for loop in group.prefix
        ]
        print_text(f"for {', '.join(loops)}:")
        indent = "  "
    for layer in group.layers:
        _show_layer(layer, indent)
    print_text("")


def _show_layer(layer: LayerRun, indent: str) -> None:
    held = f", holds {', '.join(layer.held)} ({layer.held_words:,} words)" if layer.held else ""
    print_text(f"{indent}{layer.name}: {layer.energy_pj / 1e6:,.4g} µJ{held}")
    for run in layer.runs:
        mapping = run.search.mapping
        how = f"{run.iterations:,} times{' from partial sums' if run.resumes else ''}"
        if len({one.problem for one in layer.runs}) > 1:
            how += f" {'x'.join(f'{d}{bound}' for d, bound in run.problem.bound.items() if bound > 1)}"
        print_text(f"{indent}  {how}: {'' if mapping is None else mapping.compact()}")
