"""``jouleloop dataflow conv``: run a blocked or naive convolution element by element and count every word."""

from typing import Annotated

import typer

from jouleloop.bounds.conv_layer import Precisions, layer_from_options
from jouleloop.cli.console import print_bounds, stdout
from jouleloop.cli.conv_options import (
    AsJson,
    Batch,
    FilterHeight,
    FilterWidth,
    InChannels,
    Layer,
    Memory,
    OutChannels,
    OutHeight,
    OutWidth,
    PrecisionFilter,
    PrecisionInput,
    PrecisionOutput,
    StrideHeight,
    StrideWidth,
)
from jouleloop.cli.dataflow import app
from jouleloop.report.conv_execution import Schedule, run_schedule


@app.command("conv")
def conv(
    memory: Memory,
    layer: Layer = None,
    batch: Batch = None,
    in_channels: InChannels = None,
    out_channels: OutChannels = None,
    out_width: OutWidth = None,
    out_height: OutHeight = None,
    filter_width: FilterWidth = None,
    filter_height: FilterHeight = None,
    stride_width: StrideWidth = None,
    stride_height: StrideHeight = None,
    precision_input: PrecisionInput = "1",
    precision_filter: PrecisionFilter = "1",
    precision_output: PrecisionOutput = "1",
    schedule: Annotated[Schedule, typer.Option(help="What is run.")] = Schedule.BEST,
    seed: Annotated[int, typer.Option(help="Seed of the random operands.", min=0)] = 0,
    as_json: AsJson = False,
) -> None:
    """Run a convolution in a fast memory of M words; print what it moved beside the closed form and Theorem 2.1."""
    chosen = layer_from_options(
        layer,
        (
            batch,
            in_channels,
            out_channels,
            out_width,
            out_height,
            filter_width,
            filter_height,
            stride_width,
            stride_height,
        ),
    )
    precisions = Precisions.parse(precision_input, precision_filter, precision_output)
    records, picture = run_schedule(chosen, precisions, memory, schedule, seed)
    print_bounds(records, as_json=as_json, title=f"{schedule.value} with M = {memory} words")
    if picture and not as_json:
        stdout.print(
            f"blocks in order: # loaded, + started at zero, · kept, S outputs stored\n{picture}", soft_wrap=True
        )
