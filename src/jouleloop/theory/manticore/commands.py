"""``jouleloop bounds manticore`` and ``dataflow manticore``: a layer on a Manticore chiplet (paper 003)."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Literal

import typer
from rich.table import Table

from jouleloop.errors import Fault, InputError, raise_all
from jouleloop.terminal.console import print_json, print_table, stdout
from jouleloop.terminal.splice import AsJson, spliced
from jouleloop.theory.bound import Bound
from jouleloop.theory.commands import BOUNDS, DATAFLOW
from jouleloop.theory.layers import ConvLayer
from jouleloop.theory.manticore.execute import run_checked
from jouleloop.theory.manticore.formulas import manticore_bounds
from jouleloop.theory.manticore.layer import (
    WORD_BYTES,
    check_algorithm,
    conv_layer,
    default_stack,
    fc_layer,
    is_convolution,
)
from jouleloop.theory.manticore.machine import Options, Variant
from jouleloop.theory.manticore.text import draw_text
from jouleloop.theory.printing import print_bounds

Precision = Literal["single", "double"]

Stack = Annotated[
    int | None, typer.Option(help="Δ_O, output depth slices in a stack; the largest that fits by default.")
]
Words = Annotated[Precision, typer.Option("--precision", help="Word of 4 bytes (single) or 8 bytes (double).")]


def build_layer(
    input_width: Annotated[int, typer.Option(help="W_I, width and height of the input volume in words.")],
    input_depth: Annotated[int, typer.Option(help="D_I, depth of the input volume in slices.")],
    output_depth: Annotated[int, typer.Option(help="D_O, depth of the output volume in slices.")],
    filter_width: Annotated[
        int | None, typer.Option("--filter", help="F, width of the filter of a convolution in words; Algorithms 1-3.")
    ] = None,
    stride: Annotated[int, typer.Option(help="S, stride of the filter in words.")] = 1,
    padding: Annotated[int, typer.Option(help="P, zeros on each side of each spatial axis in words.")] = 0,
    batch: Annotated[
        int | None, typer.Option(help="B, batch size of a fully-connected layer in inputs; Algorithms 4-5.")
    ] = None,
) -> ConvLayer:
    """Return the layer that the options describe: a convolution with ``--filter``, else fully connected.

    Raises `InputError` if neither or both of ``--filter`` and ``--batch`` are given, or a fully-connected layer gets a
    stride or padding.
    """
    if filter_width is not None and batch is None:
        return conv_layer(input_width, input_depth, output_depth, filter_width, stride, padding)
    if batch is not None and filter_width is None:
        faults = []
        if stride != 1:
            faults.append(Fault("a fully-connected layer has stride 1", "--stride", value=stride, allowed="1"))
        if padding != 0:
            faults.append(Fault("a fully-connected layer has no padding", "--padding", value=padding, allowed="0"))
        raise_all(faults)
        return fc_layer(input_width, input_depth, output_depth, batch)
    raise InputError("give --filter for a convolution or --batch for a fully-connected layer, and not both")


@BOUNDS.command("manticore")
@spliced(layer=build_layer)
def print_manticore_bounds(
    layer: ConvLayer,
    algorithm: Annotated[
        list[int] | None, typer.Option(help="Algorithm 1-3 (convolution) or 4-5 (fully connected); all by default.")
    ] = None,
    stack: Stack = None,
    precision: Words = "single",
    as_json: AsJson = False,
) -> None:
    """Print what paper 003 states about a layer on a Manticore chiplet: MACs, memory, words moved, CCR."""
    convolution = is_convolution(layer)
    rows: list[Bound] = []
    for number in algorithm or ((1, 2, 3) if convolution else (4, 5)):
        # Algorithms 1 and 4 have no stacks; a stack asked for applies to the others where all are listed.
        size = stack if algorithm or number not in (1, 4) else None
        rows += manticore_bounds(layer, number, stack=size, word_bytes=WORD_BYTES[precision])
    print_bounds(rows, as_json=as_json, title="Manticore, paper 003")


@DATAFLOW.command("manticore")
@spliced(layer=build_layer)
def print_manticore_run(
    algorithm: Annotated[int, typer.Option(help="Algorithm of paper 003: 1-3 (convolution), 4-5 (fully connected).")],
    layer: ConvLayer,
    stack: Stack = None,
    precision: Words = "single",
    variant: Annotated[
        Variant, typer.Option(help="Order of slices in Algorithm 3; 'printed' and 'successor' may deadlock.")
    ] = "blocked",
    fetch_ahead: Annotated[bool, typer.Option(help="Load the next slice and filter ahead, as the listings do.")] = True,
    seed: Annotated[int, typer.Option(help="Seed of the random inputs and filters.")] = 0,
    draw: Annotated[bool, typer.Option(help="Draw the schedule as text.")] = True,
    svg: Annotated[Path | None, typer.Option(help="Also draw the schedule to this SVG file.")] = None,
    as_json: AsJson = False,
) -> None:
    """Run an algorithm step by step, check its result, and print every word it moved."""
    check_algorithm(algorithm, layer)
    word_bytes = WORD_BYTES[precision]
    size = default_stack(layer, algorithm, word_bytes) if stack is None else stack
    options = Options(variant=variant, fetch_ahead=fetch_ahead, record=svg is not None or (draw and not as_json))
    checked = run_checked(layer, algorithm, size, options=options, seed=seed)
    run = checked.run
    peak_bytes = run.counts.peak_local_words * word_bytes
    if svg is not None:
        # matplotlib is slow to import
        from jouleloop.theory.drawing import write_figure  # noqa: PLC0415
        from jouleloop.theory.manticore.tables import draw_schedule  # noqa: PLC0415

        write_figure(draw_schedule(run.events, f"Algorithm {algorithm}, Δ_O = {size}"), svg)
    record = {
        "algorithm": algorithm,
        "stack": size,
        **asdict(run.counts),
        "words_loaded": run.counts.words_loaded,
        "peak_local_bytes": peak_bytes,
        "fits_local_memory": peak_bytes <= options.machine.local_memory_bytes,
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
        stdout.print(draw_text(run.events), highlight=False, markup=False, soft_wrap=True)
