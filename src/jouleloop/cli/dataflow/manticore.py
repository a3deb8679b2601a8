"""``jouleloop dataflow manticore``: run an algorithm of paper 003 on a model of the chiplet, count and draw."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from jouleloop.cli.dataflow import app
from jouleloop.cli.manticore_options import Stack, Words, build_layer
from jouleloop.terminal.console import print_json, print_table, stdout
from jouleloop.terminal.splice import spliced
from jouleloop.theory.manticore.execute import run_checked
from jouleloop.theory.manticore.execute_conv import Variant
from jouleloop.theory.manticore.layer import WORD_BYTES, Layer, check_algorithm
from jouleloop.theory.manticore.memory import default_stack


@app.command("manticore")
@spliced(layer=build_layer)
def manticore(
    algorithm: Annotated[int, typer.Option(help="Algorithm of paper 003: 1-3 (convolution), 4-5 (fully connected).")],
    layer: Layer,
    stack: Stack = None,
    precision: Words = "single",
    variant: Annotated[
        Variant, typer.Option(help="Order of slices in Algorithm 3; 'printed' and 'successor' may deadlock.")
    ] = "blocked",
    fetch_ahead: Annotated[bool, typer.Option(help="Load the next slice and filter ahead, as the listings do.")] = True,
    seed: Annotated[int, typer.Option(help="Seed of the random inputs and filters.")] = 0,
    draw: Annotated[bool, typer.Option(help="Draw the schedule as text.")] = True,
    svg: Annotated[Path | None, typer.Option(help="Also draw the schedule to this SVG file.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the counts as JSON.")] = False,
) -> None:
    """Run an algorithm step by step, check its result, and print every word it moved."""
    check_algorithm(algorithm, layer)
    word_bytes = WORD_BYTES[precision]
    size = default_stack(layer, algorithm, word_bytes) if stack is None else stack
    checked = run_checked(
        layer,
        algorithm,
        stack=size,
        word_bytes=word_bytes,
        variant=variant,
        fetch_ahead=fetch_ahead,
        seed=seed,
        record=svg is not None or (draw and not as_json),
    )
    run = checked.run
    if svg is not None:
        from jouleloop.theory.manticore.exhibits import draw_svg  # noqa: PLC0415 - matplotlib is slow to import

        draw_svg(run.events, svg, f"Algorithm {algorithm}, Δ_O = {size}")
    record = {
        "algorithm": algorithm,
        "stack": size,
        **asdict(run.counts),
        "words_loaded": run.counts.words_loaded,
        "peak_local_bytes": checked.peak_local_bytes,
        "fits_local_memory": checked.fits_local_memory,
        "result_is_right": checked.result_is_right,
    }
    if as_json:
        print_json(record)
        return
    table = Table(title=f"Algorithm {algorithm} of paper 003, executed", title_justify="left")
    table.add_column("count")
    table.add_column("value", justify="right")
    for name, value in record.items():
        if isinstance(value, dict):
            for network, words in value.items():
                table.add_row(f"{name} {network}", f"{words:,}")
        elif isinstance(value, bool):
            table.add_row(name, "yes" if value else "no")
        else:
            table.add_row(name, f"{value:,}")
    print_table(table)
    if draw:
        from jouleloop.theory.manticore.exhibits import draw_text  # noqa: PLC0415 - matplotlib is slow to import

        stdout.print(draw_text(run.events), highlight=False, markup=False, soft_wrap=True)
