"""``jouleloop bounds conv-energy``: the convolutional energy-complexity model, two dataflows and a lower bound."""

from typing import Annotated

import typer

from jouleloop.bounds.conv_energy import conv_energy_bounds
from jouleloop.cli.bounds import app
from jouleloop.cli.console import print_bounds
from jouleloop.cli.conv_energy_options import (
    Bias,
    BufferWords,
    Channels,
    InputHeight,
    InputWidth,
    KernelHeight,
    KernelWidth,
    OutputHeight,
    Outputs,
    OutputWidth,
    Stride,
    shape_of,
)


@app.command("conv-energy")
def conv_energy(
    channels: Channels,
    outputs: Outputs,
    kernel_height: KernelHeight,
    output_height: OutputHeight,
    kernel_width: KernelWidth = None,
    output_width: OutputWidth = None,
    stride: Stride = 1,
    input_height: InputHeight = None,
    input_width: InputWidth = None,
    bias: Bias = True,
    buffer_words: BufferWords = None,
    bits: Annotated[int, typer.Option(help="b, width of a word in bits.")] = 16,
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON list of objects.")] = False,
) -> None:
    """Print the words and energies of the two dataflows of the CNN energy-complexity model, and lower bounds."""
    shape = shape_of(
        channels,
        outputs,
        kernel_height,
        kernel_width,
        output_height,
        output_width,
        stride,
        input_height,
        input_width,
        bias,
    )
    rows = conv_energy_bounds(shape, bits=bits, buffer_words=buffer_words)
    print_bounds(rows, as_json=as_json, title="Energy complexity of a convolution")
