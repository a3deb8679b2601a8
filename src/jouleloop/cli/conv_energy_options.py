"""Command-line options that ``bounds conv-energy`` and ``dataflow conv-energy`` share, and the layer they describe."""

from typing import Annotated

import typer

from jouleloop.errors import Fault, InputError
from jouleloop.theory.convolution.energy import ConvShape

Channels = Annotated[int, typer.Option(help="C, input feature maps.")]
Outputs = Annotated[int, typer.Option(help="M, output feature maps.")]
KernelHeight = Annotated[int, typer.Option("--kernel", help="R, height of the kernel in words; also its width S.")]
KernelWidth = Annotated[int | None, typer.Option(help="S, width of the kernel in words, where it differs.")]
OutputHeight = Annotated[int, typer.Option("--output-size", help="P, height of an output map in words; also Q.")]
OutputWidth = Annotated[int | None, typer.Option(help="Q, width of an output map in words, where it differs.")]
Stride = Annotated[int, typer.Option(help="Stride on both axes, in words.")]
InputHeight = Annotated[
    int | None,
    typer.Option(
        "--input-size", help="H, height in words of an input map in DRAM, also W; all the windows reach if not."
    ),
]
InputWidth = Annotated[int | None, typer.Option(help="W, width in words of an input map in DRAM, where it differs.")]
Bias = Annotated[bool, typer.Option(help="Whether every output map has a bias word in DRAM.")]
BufferWords = Annotated[
    int | None, typer.Option(help="β, capacity of Buffer in words; just enough for one map if not.")
]


def shape_of(
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
) -> ConvShape:
    """Return the layer that the options describe; a width that is not given equals its height."""
    for option, value in (("--input-size", input_height), ("--input-width", input_width)):
        if value is not None and value < 1:
            raise InputError(Fault("must be a positive whole number", option, value=value, allowed="1, 2, 3, …"))
    height = input_height or 0
    return ConvShape(
        channels,
        outputs,
        kernel_height,
        kernel_height if kernel_width is None else kernel_width,
        output_height,
        output_height if output_width is None else output_width,
        stride,
        height,
        height if input_width is None else input_width,
        bias,
    )
