"""``jouleloop bounds conv-energy``: the convolutional energy-complexity model, two dataflows and a lower bound."""

from typing import Annotated

import typer

from jouleloop.cli.bounds import app
from jouleloop.cli.conv_energy_options import BufferWords, shape_of
from jouleloop.terminal.splice import spliced
from jouleloop.theory.convolution.energy import ConvShape, conv_energy_bounds
from jouleloop.theory.printing import print_bounds


@app.command("conv-energy")
@spliced(shape=shape_of)
def conv_energy(
    shape: ConvShape,
    buffer_words: BufferWords = None,
    bits: Annotated[int, typer.Option(help="b, width of a word in bits.")] = 16,
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON list of objects.")] = False,
) -> None:
    """Print the words and energies of the two dataflows of the CNN energy-complexity model, and lower bounds."""
    rows = conv_energy_bounds(shape, bits=bits, buffer_words=buffer_words)
    print_bounds(rows, as_json=as_json, title="Energy complexity of a convolution")
