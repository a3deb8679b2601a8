"""``jouleloop bounds manticore`` and ``dataflow manticore``: a layer on a Manticore chiplet (paper 003)."""

from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Literal

from rich.table import Table

from jouleloop.errors import Fault, InputError, raise_all
from jouleloop.terminal.console import print_json, print_table, stdout
from jouleloop.terminal.splice import AsJson
from jouleloop.theory.bound import Bound
from jouleloop.theory.commands import BOUNDS, DATAFLOW, command
from jouleloop.theory.layers import ConvLayer
from jouleloop.theory.manticore.execute import run_checked
from jouleloop.theory.manticore.formulas import manticore_bounds
from jouleloop.theory.manticore.layer import WORD_BYTES, conv_layer, default_stack, fc_layer, is_convolution
from jouleloop.theory.manticore.machine import Options, Variant, draw_text
from jouleloop.theory.printing import print_bounds

Precision = Literal["single", "double"]


def read_layer(
    input_width: int,
    input_depth: int,
    output_depth: int,
    filter_width: int | None = None,
    stride: int = 1,
    padding: int = 0,
    batch: int | None = None,
) -> ConvLayer:
    """Return a convolution with ``--filter``, else a fully-connected layer.

    Raises `InputError` if neither or both of ``--filter`` and ``--batch`` are given, or a fully-connected layer gets a
    stride or padding.
    """
    sizes = input_width, input_depth, output_depth
    if filter_width is not None and batch is None:
        return conv_layer(*sizes, filter_width, stride, padding)
    if batch is None or filter_width is not None:
        raise InputError("give --filter for a convolution or --batch for a fully-connected layer, and not both")
    faults = []
    if stride != 1:
        faults.append(Fault("a fully-connected layer has stride 1", "--stride", value=stride, allowed="1"))
    if padding != 0:
        faults.append(Fault("a fully-connected layer has no padding", "--padding", value=padding, allowed="0"))
    raise_all(faults)
    return fc_layer(*sizes, batch)


def read_options(variant: Variant = "blocked", fetch_ahead: bool = True) -> Options:
    """Return how an algorithm is run."""
    return Options(variant=variant, fetch_ahead=fetch_ahead)


@dataclass(frozen=True)
class DrawingOptions:
    """Where the schedule is drawn."""

    draw: bool = True
    svg: Path | None = None


@command(BOUNDS, "manticore", layer=read_layer)
def print_manticore_bounds(
    layer: ConvLayer,
    algorithm: list[int] | None = None,
    stack: int | None = None,
    precision: Precision = "single",
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


@command(DATAFLOW, "manticore", layer=read_layer, options=read_options, drawing=DrawingOptions)
def print_manticore_run(
    algorithm: int,
    layer: ConvLayer,
    *,
    stack: int | None = None,
    precision: Precision = "single",
    options: Options,
    seed: int = 0,
    drawing: DrawingOptions,
    as_json: AsJson = False,
) -> None:
    """Run an algorithm step by step, check its result, and print every word it moved."""
    word_bytes = WORD_BYTES[precision]
    size = default_stack(layer, algorithm, word_bytes) if stack is None else stack
    options = replace(options, record=drawing.svg is not None or (drawing.draw and not as_json))
    run = run_checked(layer, algorithm, size, options=options, seed=seed)
    peak_bytes = run.counts.peak_local_words * word_bytes
    if drawing.svg is not None:
        # matplotlib is slow to import
        from jouleloop.theory.drawing import write_figure  # noqa: PLC0415
        from jouleloop.theory.manticore.tables import draw_schedule  # noqa: PLC0415

        write_figure(draw_schedule(run.events, f"Algorithm {algorithm}, Δ_O = {size}"), drawing.svg)
    record = {
        "algorithm": algorithm,
        "stack": size,
        **asdict(run.counts),
        "words_loaded": run.counts.words_loaded,
        "peak_local_bytes": peak_bytes,
        "fits_local_memory": peak_bytes <= options.machine.local_memory_bytes,
        "result_is_right": run.result_is_right,
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
    if drawing.draw:
        stdout.print(draw_text(run.events), highlight=False, markup=False, soft_wrap=True)
