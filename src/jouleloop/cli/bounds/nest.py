"""``jouleloop bounds nest``: communication of a projective loop nest with arbitrary loop bounds (paper 004)."""

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from jouleloop.cli.bounds import app
from jouleloop.cli.nest_options import parse_loop_values, read_nest
from jouleloop.terminal.console import stdout
from jouleloop.theory.bound import Bound
from jouleloop.theory.loop_nest.bounds import NestReport, analyse, nest_bounds
from jouleloop.theory.loop_nest.closed_form import ClosedForm, closed_form, describe_form
from jouleloop.theory.loop_nest.integer_tile import Fit
from jouleloop.theory.loop_nest.nest import ProjectiveNest
from jouleloop.theory.loop_nest.programs import hbl
from jouleloop.theory.printing import print_bounds

_DEFAULT_CACHE_WORDS = 65536


@app.command("nest")
def nest_command(
    expression: Annotated[
        str | None,
        typer.Argument(
            help="The loop nest as an einsum string, such as 'ik,kj->ij'; longer names: 'b in, in o -> b o'."
        ),
    ] = None,
    bounds: Annotated[
        str | None,
        typer.Option(help="Loop bounds in iterations, such as i=512,k=512,j=16. Without: only the closed form."),
    ] = None,
    cache: Annotated[
        int | None,
        typer.Option("--cache", "-M", help=f"Cache size M in words; {_DEFAULT_CACHE_WORDS} by default."),
    ] = None,
    file: Annotated[
        Path | None,
        typer.Option(help="The loop nest as YAML: loops, arrays, output, cache_words. Instead of an einsum string."),
    ] = None,
    fit: Annotated[
        Fit,
        typer.Option(help="What fits: each array by itself in M words (the paper's), or the sum of all in M words."),
    ] = Fit.EACH,
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON list of objects instead of a table.")] = False,
) -> None:
    """Bound the words a projective loop nest moves, and find the tile that attains the bound (paper 004)."""
    nest, file_cache = read_nest(expression, file)
    if bounds is not None:
        nest = nest.with_bounds(parse_loop_values(bounds, "--bounds"))
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


def _without_bounds(nest: ProjectiveNest, form: ClosedForm) -> list[Bound]:
    large = hbl(nest)
    weights = ", ".join(f"{a}: {s}" for a, s in zip(nest.arrays, large.array_weights, strict=True))
    return [
        Bound("hbl_exponent", "004 LP (3.2), dual (3.3)", large.exponent, "log_M points", note=f"s = {weights}"),
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
