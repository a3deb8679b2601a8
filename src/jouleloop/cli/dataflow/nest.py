"""``jouleloop dataflow nest``: run a tiled projective loop nest, count every word and list its tiles (paper 004)."""

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from jouleloop.cli.dataflow import app
from jouleloop.cli.nest_options import parse_loop_values, read_nest
from jouleloop.errors import Fault, InputError, raise_all, unknown
from jouleloop.terminal.console import print_json, print_table, stdout
from jouleloop.theory.loop_nest.bounds import communication_with_constants
from jouleloop.theory.loop_nest.closed_form import closed_form
from jouleloop.theory.loop_nest.execute_tiles import TiledRun, random_inputs, run_tiled
from jouleloop.theory.loop_nest.nest import ProjectiveNest
from jouleloop.theory.loop_nest.schedule import best_schedule


@app.command("nest")
def nest_command(
    expression: Annotated[
        str | None, typer.Argument(help="The loop nest as an einsum string, such as 'ik,kj->ij'.")
    ] = None,
    bounds: Annotated[str | None, typer.Option(help="Loop bounds in iterations, such as i=24,k=24,j=24.")] = None,
    tile: Annotated[
        str | None,
        typer.Option(
            help="Sides of the tile in iterations, such as i=4,k=1,j=6. Without: the cheapest tile and order."
        ),
    ] = None,
    order: Annotated[
        str | None, typer.Option(help="Loops over tiles, outermost first, such as i,j,k; as written by default.")
    ] = None,
    cache: Annotated[int, typer.Option("--cache", "-M", help="Cache size M in words, for all blocks together.")] = 256,
    file: Annotated[Path | None, typer.Option(help="The loop nest as YAML, instead of an einsum string.")] = None,
    reuse: Annotated[
        bool, typer.Option(help="Keep a block that the next tile needs too; else every tile moves all its words.")
    ] = True,
    steps: Annotated[int, typer.Option(help="How many tiles to list.", min=0)] = 12,
    as_json: Annotated[bool, typer.Option("--json", help="Print the counts as JSON.")] = False,
) -> None:
    """Run a tiled loop nest on random numbers and print every word that crossed."""
    nest, _ = read_nest(expression, file)
    if bounds is not None:
        nest = nest.with_bounds(parse_loop_values(bounds, "--bounds"))
    if not nest.bounds:
        raise InputError(Fault("give the loop bounds to run the nest", "--bounds", allowed="such as i=24,k=24,j=24"))
    if tile is None:
        if order is not None:
            raise InputError(Fault("an order without a tile", "--order", value=order, allowed="together with --tile"))
        best = best_schedule(nest, cache)
        sides, loops = best.sides, best.order
    else:
        sides = nest.with_bounds(parse_loop_values(tile, "--tile")).bounds
        loops = _order(nest, order)
    done = run_tiled(nest, sides, random_inputs(nest), order=loops, reuse=reuse, trace=steps)
    if done.peak_words > cache:
        raise InputError(
            Fault(
                "the blocks of this tile do not fit the cache", "--tile", value=done.peak_words, allowed=f"<= {cache}"
            )
        )
    bound = communication_with_constants(closed_form(nest), nest, cache) if cache >= 2 else None
    if as_json:
        print_json(_record(nest, sides, loops, done, bound))
    else:
        _print(nest, sides, loops, done, bound)


def _order(nest: ProjectiveNest, text: str | None) -> tuple[int, ...]:
    if text is None:
        return tuple(range(len(nest.loops)))
    names = [name.strip() for name in text.split(",")]
    raise_all([unknown(name, nest.loops, "loop", source="--order") for name in names if name not in nest.loops])
    return tuple(nest.loops.index(name) for name in names)


def _record(
    nest: ProjectiveNest, sides: tuple[int, ...], order: tuple[int, ...], done: TiledRun, bound: float | None
) -> dict[str, object]:
    return {
        "tile": dict(zip(nest.loops, sides, strict=True)),
        "order": [nest.loops[loop] for loop in order],
        "tiles": done.tiles,
        "operations": done.operations,
        "loads_words": dict(zip(nest.arrays, done.loads_words, strict=True)),
        "stores_words": dict(zip(nest.arrays, done.stores_words, strict=True)),
        "transfers_words": done.transfers_words,
        "peak_words": done.peak_words,
        "lower_bound_words": bound,
    }


def _print(
    nest: ProjectiveNest, sides: tuple[int, ...], order: tuple[int, ...], done: TiledRun, bound: float | None
) -> None:
    loops = ", ".join(nest.loops[loop] for loop in order)
    title = f"{nest.expression()}: {done.tiles} tiles of {' × '.join(map(str, sides))}, loops over tiles {loops}"
    stdout.print(title, soft_wrap=True, highlight=False, markup=False)
    table = Table()
    for heading in ("tile at", *nest.arrays):
        table.add_column(heading, justify="right")
    for step in done.steps:
        words = zip(step.loads_words, step.stores_words, strict=True)
        moved = [" ".join(([f"+{load}"] if load else []) + ([f"-{store}"] if store else [])) for load, store in words]
        table.add_row(", ".join(f"{x}={at}" for x, at in zip(nest.loops, step.corner, strict=True)), *moved)
    if done.tiles > len(done.steps):
        table.add_row("…", *("" for _ in nest.arrays))
    for name, counts in (("loaded (words)", done.loads_words), ("stored (words)", done.stores_words)):
        table.add_row(name, *(f"{count:,}" for count in counts))
    print_table(table)
    against = "" if bound is None else f"; no schedule moves fewer than {bound:,.1f}"
    stdout.print(f"{done.transfers_words:,} words moved, {done.peak_words:,} in the cache at most{against}.")
