"""``jouleloop dataflow conv-energy``: run a dataflow of the CNN energy-complexity model word by word."""

from dataclasses import asdict
from typing import Annotated

import typer

from jouleloop.cli.conv_energy_options import BufferWords, shape_of
from jouleloop.cli.dataflow import app
from jouleloop.terminal.console import print_json, stdout
from jouleloop.terminal.splice import spliced
from jouleloop.theory.convolution.energy import ConvShape, maps_in_buffer
from jouleloop.theory.convolution.execute_energy import Dataflow, random_layer, run_dataflow


@app.command("conv-energy")
@spliced(shape=shape_of)
def conv_energy(
    dataflow: Annotated[Dataflow, typer.Option(help="What is moved only once besides the weights.")],
    shape: ConvShape,
    buffer_words: BufferWords = None,
    seed: Annotated[int, typer.Option(help="Seed of the random layer.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print the counts as JSON.")] = False,
) -> None:
    """Run a dataflow of the CNN energy-complexity model and print every word it moved."""
    maps = maps_in_buffer(shape, dataflow, buffer_words)
    buffer = run_dataflow(dataflow, shape, *random_layer(shape, seed), maps=maps).buffer
    record = {"dataflow": dataflow, "maps_in_buffer": maps, **asdict(buffer), "total_words": buffer.total_words}
    if as_json:
        print_json(record)
        return
    for name, value in record.items():
        stdout.print(f"{name:>16}  {value}", highlight=False)
