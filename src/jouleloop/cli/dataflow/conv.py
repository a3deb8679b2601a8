"""``jouleloop dataflow conv``: run a blocked or naive convolution element by element and count every word."""

from typing import Annotated

import typer

from jouleloop.cli.conv_options import AsJson, Memory, layer_of, precisions_of
from jouleloop.cli.dataflow import app
from jouleloop.terminal.console import stdout
from jouleloop.terminal.splice import spliced
from jouleloop.theory.convolution.execution import Schedule, run_schedule
from jouleloop.theory.convolution.layer import ConvLayer, Precisions
from jouleloop.theory.printing import print_bounds


@app.command("conv")
@spliced(layer=layer_of, precisions=precisions_of)
def conv(
    memory: Memory,
    layer: ConvLayer,
    precisions: Precisions,
    schedule: Annotated[Schedule, typer.Option(help="What is run.")] = Schedule.BEST,
    seed: Annotated[int, typer.Option(help="Seed of the random operands.", min=0)] = 0,
    as_json: AsJson = False,
) -> None:
    """Run a convolution in a fast memory of M words; print what it moved beside the closed form and Theorem 2.1."""
    records, picture = run_schedule(layer, precisions, memory, schedule, seed)
    print_bounds(records, as_json=as_json, title=f"{schedule.value} with M = {memory} words")
    if picture and not as_json:
        stdout.print(
            f"blocks in order: # loaded, + started at zero, · kept, S outputs stored\n{picture}", soft_wrap=True
        )
