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


@app.command("conv")
def conv(
    memory: Annotated[str, typer.Option(help="Fast memory M, or memory per processor, in words of 32 bits.")],
    layer: Annotated[str | None, typer.Option(help="A layer such as resnet50/conv2_x; options override it.")] = None,
    batch: Annotated[int | None, typer.Option(help="Images N.")] = None,
    in_channels: Annotated[int | None, typer.Option(help="Input channels c_I.")] = None,
    out_channels: Annotated[int | None, typer.Option(help="Output channels c_O.")] = None,
    out_width: Annotated[int | None, typer.Option(help="Output width w_O in elements.")] = None,
    out_height: Annotated[int | None, typer.Option(help="Output height h_O in elements.")] = None,
    filter_width: Annotated[int | None, typer.Option(help="Filter width w_F in elements.")] = None,
    filter_height: Annotated[int | None, typer.Option(help="Filter height h_F in elements.")] = None,
    stride_width: Annotated[int | None, typer.Option(help="Stride σ_w in elements (1 if not given).")] = None,
    stride_height: Annotated[int | None, typer.Option(help="Stride σ_h in elements (1 if not given).")] = None,
    precision_input: Annotated[str, typer.Option(help="Words per input element p_I, such as 1 or 1/4.")] = "1",
    precision_filter: Annotated[str, typer.Option(help="Words per filter element p_F.")] = "1",
    precision_output: Annotated[str, typer.Option(help="Words per output element p_O.")] = "1",
    processors: Annotated[int | None, typer.Option(help="Processors P: adds Theorems 2.2 and 2.3.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON list.")] = False,
) -> None:
    """Communication lower bounds of one convolution (001 Theorems 2.1 to 2.3) and what blockings attain, in words."""
    chosen = layer_from_options(
        layer,
        {
            "batch": batch,
            "in_channels": in_channels,
            "out_channels": out_channels,
            "out_width": out_width,
            "out_height": out_height,
            "filter_width": filter_width,
            "filter_height": filter_height,
            "stride_width": stride_width,
            "stride_height": stride_height,
        },
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
