"""``jouleloop bounds conv``: communication bounds of a convolution and what known schedules attain."""

from typing import Annotated

import typer

from jouleloop.bounds.conv_bounds import parallel_bounds, single_processor_bounds
from jouleloop.bounds.conv_crossover import parallel_terms, single_processor_terms
from jouleloop.bounds.conv_layer import Precisions, layer_from_options
from jouleloop.bounds.conv_parallel import parallel_volume_bounds
from jouleloop.bounds.conv_volumes import all_volumes
from jouleloop.bounds.result import Bound
from jouleloop.cli.bounds import app
from jouleloop.cli.console import print_bounds
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
    processors: Annotated[int | None, typer.Option(help="Processors P: adds Theorems 2.2 and 2.3.")] = None,
    as_json: AsJson = False,
) -> None:
    """Communication lower bounds of one convolution (001 Theorems 2.1 to 2.3) and what blockings attain, in words."""
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
    bounds: list[Bound] = [
        *single_processor_bounds(chosen, precisions, memory),
        *single_processor_terms(chosen, precisions).crossing_bounds("001 Theorem 2.1"),
        *(volume.as_bound() for volume in all_volumes(chosen, precisions, memory)),
    ]
    if processors is not None:
        bounds += parallel_bounds(chosen, precisions, memory, processors)
        bounds += [
            Bound(f"parallel_{bound.name}", bound.source, bound.value, bound.unit, bound.assumptions, bound.note)
            for bound in parallel_terms(chosen, precisions, processors).crossing_bounds("001 Theorems 2.2 and 2.3")
        ]
        bounds += parallel_volume_bounds(chosen, precisions, processors, memory)
    print_bounds(bounds, as_json=as_json, title=f"Convolution with M = {memory} words")
