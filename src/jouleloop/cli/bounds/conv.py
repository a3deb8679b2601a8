"""``jouleloop bounds conv``: communication bounds of a convolution and what known schedules attain."""

from typing import Annotated

import typer

from jouleloop.cli.bounds import app
from jouleloop.cli.conv_options import AsJson, Memory, layer_of, precisions_of
from jouleloop.terminal.splice import spliced
from jouleloop.theory.bound import Bound
from jouleloop.theory.convolution.bounds import parallel_bounds, single_processor_bounds
from jouleloop.theory.convolution.crossover import parallel_terms, single_processor_terms
from jouleloop.theory.convolution.layer import ConvLayer, Precisions
from jouleloop.theory.convolution.parallel import parallel_volume_bounds
from jouleloop.theory.convolution.volumes import all_volumes
from jouleloop.theory.printing import print_bounds


@app.command("conv")
@spliced(layer=layer_of, precisions=precisions_of)
def conv(
    memory: Memory,
    layer: ConvLayer,
    precisions: Precisions,
    processors: Annotated[int | None, typer.Option(help="Processors P: adds Theorems 2.2 and 2.3.")] = None,
    as_json: AsJson = False,
) -> None:
    """Communication lower bounds of one convolution (001 Theorems 2.1 to 2.3) and what blockings attain, in words."""
    bounds: list[Bound] = [
        *single_processor_bounds(layer, precisions, memory),
        *single_processor_terms(layer, precisions).crossing_bounds("001 Theorem 2.1"),
        *(volume.as_bound() for volume in all_volumes(layer, precisions, memory)),
    ]
    if processors is not None:
        bounds += parallel_bounds(layer, precisions, memory, processors)
        bounds += [
            Bound(f"parallel_{bound.name}", bound.source, bound.value, bound.unit, bound.assumptions, bound.note)
            for bound in parallel_terms(layer, precisions, processors).crossing_bounds("001 Theorems 2.2 and 2.3")
        ]
        bounds += parallel_volume_bounds(layer, precisions, processors, memory)
    print_bounds(bounds, as_json=as_json, title=f"Convolution with M = {memory} words")
