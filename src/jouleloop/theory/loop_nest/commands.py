"""``jouleloop bounds hbl``, ``bounds nest`` and ``dataflow nest``: the communication of loop nests."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from jouleloop.errors import Fault, InputError, raise_all, unknown
from jouleloop.terminal.console import print_json, print_table, stdout
from jouleloop.terminal.splice import AsJson
from jouleloop.theory.bound import Bound
from jouleloop.theory.commands import BOUNDS, DATAFLOW, command, parse_values
from jouleloop.theory.loop_nest.affine import affine_closed_form
from jouleloop.theory.loop_nest.bounds import NestReport, analyse, communication_with_constants, nest_bounds
from jouleloop.theory.loop_nest.closed_form import ClosedForm, closed_form, describe_form
from jouleloop.theory.loop_nest.execute_tiles import TiledRun, best_schedule, random_inputs, run_tiled
from jouleloop.theory.loop_nest.hbl import LATTICE_LIMIT, HblResult, hbl_exponents
from jouleloop.theory.loop_nest.integer_tile import Fit
from jouleloop.theory.loop_nest.nest import LoopNest
from jouleloop.theory.loop_nest.programs import hbl
from jouleloop.theory.loop_nest.read import read_loop_nest
from jouleloop.theory.printing import print_bounds


@command(BOUNDS, "hbl")
def print_hbl_bounds(
    nest: str | None = None,
    yaml_file: Path | None = None,
    let: list[str] | None = None,
    constraints: bool = False,
    pieces: bool = False,
    lattice_limit: int = (LATTICE_LIMIT),
    as_json: AsJson = False,
) -> None:
    """Exponents s_j with the least sum such that |V| <= Π |φ_j(V)|^s_j for every set V of updates (001 Theorem 2.4)."""
    loop_nest, _ = read_loop_nest(nest, yaml_file, parse_values(let or [], "--let"))
    if pieces:
        form = affine_closed_form(loop_nest)
        if as_json:
            print_json(_piece_records(form))
        else:
            _print_closed_form(form)
        return
    result = hbl_exponents(loop_nest, lattice_limit=lattice_limit)
    if not constraints:
        print_bounds(result.bounds(), as_json=as_json, title="Hölder–Brascamp–Lieb exponents")
    elif as_json:
        print_json(result.constraint_records())
    else:
        _print_constraints(result)


def _piece_records(form: ClosedForm) -> list[dict[str, object]]:
    nest = form.nest
    return [
        {
            "arrays": {name: str(s) for name, s in zip(nest.arrays, piece.array_weights, strict=True)},
            "loops": {name: str(z) for name, z in zip(nest.loops, piece.loop_weights, strict=True)},
            "exponent": describe_form(piece.form, nest.loops),
        }
        for piece in form.pieces
    ]


def _print_constraints(result: HblResult) -> None:
    records = result.constraint_records()
    table = Table(title=f"Rank constraints, {len(result.distinct)} distinct", title_justify="left")
    for heading in records[0]:
        table.add_column(heading)
    for record in records:
        table.add_row(*(str(value) for value in record.values()))
    print_table(table)


_DEFAULT_CACHE_WORDS = 65536


@command(BOUNDS, "nest")
def print_nest_bounds(
    expression: str | None = None,
    bounds: str | None = None,
    cache: Annotated[
        int | None, typer.Option("--cache", "-M", help=f"Cache size M in words; {_DEFAULT_CACHE_WORDS} by default.")
    ] = None,
    file: Path | None = None,
    fit: Fit = Fit.EACH,
    as_json: AsJson = False,
) -> None:
    """Bound the words a projective loop nest moves, and find the tile that attains the bound (paper 004)."""
    nest, file_cache = read_loop_nest(expression, file, projective=True)
    if bounds is not None:
        nest = nest.with_bounds(parse_values([bounds], "--bounds"))
    title = f"{nest.expression()}"
    if not nest.bounds:
        form = closed_form(nest)
        print_bounds(_without_bounds(nest, form), as_json=as_json, title=title)
        if not as_json:
            _print_closed_form(form)
        return
    cache_words = next(value for value in (cache, file_cache, _DEFAULT_CACHE_WORDS) if value is not None)
    report = analyse(nest, cache_words, fit)
    sizes = ", ".join(f"{loop}={bound}" for loop, bound in zip(nest.loops, nest.bounds, strict=True))
    print_bounds(nest_bounds(report), as_json=as_json, title=f"{title}; {sizes}; M = {cache_words} words")
    if not as_json:
        _print_closed_form(report.form)
        _print_tiles(report)


def _without_bounds(nest: LoopNest, form: ClosedForm) -> list[Bound]:
    large = hbl(nest)
    weights = ", ".join(f"{a}: {s}" for a, s in zip(nest.arrays, large.primal, strict=True))
    return [
        Bound("hbl_exponent", "004 LP (3.2), dual (3.3)", large.value, "log_M points", note=f"s = {weights}"),
        Bound("tile_exponent_closed_form", "004 Theorem 2", None, "log_M points", note=form.exponent_text()),
        Bound("tile_volume_closed_form", "004 Theorem 2", None, "operations", note=form.tile_text()),
        Bound("communication_closed_form", "004 Theorem 2", None, "words", note=form.communication_text()),
    ]


def _print_closed_form(form: ClosedForm) -> None:
    stdout.print("For all bounds L_i >= 1 and caches M, with β_i = log_M L_i (constant factors dropped):")
    for name, text in (
        ("tile exponent ", form.exponent_text()),
        ("tile volume  <=", form.tile_text()),
        ("communication >=", form.communication_text()),
    ):
        stdout.print(f"  {name} {escape(text)}", soft_wrap=True, highlight=False)


def _print_tiles(report: NestReport) -> None:
    loops = report.nest.loops
    family = report.solution.family
    more = "" if report.solution.family_complete else " (more exist)"
    stdout.print(
        f"Optimal tiles of LP (5.1): the convex combinations of λ = ({', '.join(loops)}) in{more}", highlight=False
    )
    for vertex in family:
        text = ", ".join(describe_form(side, loops) for side in vertex)
        values = " × ".join(f"{report.cache_words ** report.solution.scale.value(side):.6g}" for side in vertex)
        stdout.print(f"  ({text}): {values}", soft_wrap=True, highlight=False)
    tile = report.tile
    proof = "proven the largest" if tile.optimal else "largest found, not proven"
    stdout.print(
        f"Integer tile ({tile.fit}): {' × '.join(map(str, tile.sides))} = {tile.volume} operations, {proof}; "
        f"words {json.dumps(dict(zip(report.nest.arrays, tile.footprints_words, strict=True)))}",
        soft_wrap=True,
        highlight=False,
    )


@dataclass(frozen=True)
class TileOptions:
    """The tile to run and the order of the loops over tiles."""

    tile: str | None = None
    order: str | None = None

    def schedule(self, nest: LoopNest, cache_words: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Return sides and order: those asked for, or the cheapest ones."""
        if self.tile is not None:
            return nest.with_bounds(parse_values([self.tile], "--tile")).bounds, _order(nest, self.order)
        if self.order is not None:
            fault = Fault("an order without a tile", "--order", value=self.order, allowed="together with --tile")
            raise InputError(fault)
        best = best_schedule(nest, cache_words)
        return best.sides, best.order


@command(DATAFLOW, "nest", tile=TileOptions)
def print_nest_run(
    expression: str | None = None,
    bounds: str | None = None,
    *,
    tile: TileOptions,
    cache: int = 256,
    file: Path | None = None,
    reuse: bool = True,
    steps: int = 12,
    as_json: AsJson = False,
) -> None:
    """Run a tiled loop nest on random numbers and print every word that crossed."""
    nest, _ = read_loop_nest(expression, file, projective=True)
    if bounds is not None:
        nest = nest.with_bounds(parse_values([bounds], "--bounds"))
    if not nest.bounds:
        raise InputError(Fault("give the loop bounds to run the nest", "--bounds", allowed="such as i=24,k=24,j=24"))
    sides, loops = tile.schedule(nest, cache)
    done = run_tiled(nest, sides, random_inputs(nest), order=loops, reuse=reuse, trace=steps)
    if done.cache.peak_words > cache:
        text = "the blocks of this tile do not fit the cache"
        raise InputError(Fault(text, "--tile", value=done.cache.peak_words, allowed=f"<= {cache}"))
    bound = communication_with_constants(closed_form(nest), nest, cache) if cache >= 2 else None
    if as_json:
        print_json(_record(nest, sides, loops, done, bound))
    else:
        _print(nest, sides, loops, done, bound)


def _order(nest: LoopNest, text: str | None) -> tuple[int, ...]:
    if text is None:
        return tuple(range(len(nest.loops)))
    names = [name.strip() for name in text.split(",")]
    raise_all([unknown(name, nest.loops, "loop", source="--order") for name in names if name not in nest.loops])
    return tuple(nest.loops.index(name) for name in names)


def _record(
    nest: LoopNest, sides: tuple[int, ...], order: tuple[int, ...], done: TiledRun, bound: float | None
) -> dict[str, object]:
    return {
        "tile": dict(zip(nest.loops, sides, strict=True)),
        "order": [nest.loops[loop] for loop in order],
        "tiles": done.tiles,
        "operations": done.operations,
        "loads_words": {name: done.cache.loaded[name] for name in nest.arrays},
        "stores_words": {name: done.cache.stored[name] for name in nest.arrays},
        "transfers_words": done.cache.total_words,
        "peak_words": done.cache.peak_words,
        "lower_bound_words": bound,
    }


def _print(nest: LoopNest, sides: tuple[int, ...], order: tuple[int, ...], done: TiledRun, bound: float | None) -> None:
    loops = ", ".join(nest.loops[loop] for loop in order)
    title = f"{nest.expression()}: {done.tiles} tiles of {' × '.join(map(str, sides))}, loops over tiles {loops}"
    stdout.print(title, soft_wrap=True, highlight=False, markup=False)
    table = Table()
    for heading in ("tile at", *nest.arrays):
        table.add_column(heading, justify="right")
    for corner, (loaded, stored) in done.steps:
        signs = ("+", loaded), ("-", stored)
        moved = [" ".join(f"{sign}{counts[name]}" for sign, counts in signs if name in counts) for name in nest.arrays]
        table.add_row(", ".join(f"{x}={at}" for x, at in zip(nest.loops, corner, strict=True)), *moved)
    if done.tiles > len(done.steps):
        table.add_row("…", *("" for _ in nest.arrays))
    for title, counts in (("loaded (words)", done.cache.loaded), ("stored (words)", done.cache.stored)):
        table.add_row(title, *(f"{counts[name]:,}" for name in nest.arrays))
    print_table(table)
    against = "" if bound is None else f"; no schedule moves fewer than {bound:,.1f}"
    stdout.print(f"{done.cache.total_words:,} words moved, {done.cache.peak_words:,} in the cache at most{against}.")
