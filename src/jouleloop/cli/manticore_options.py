"""Command-line options that ``bounds manticore`` and ``dataflow manticore`` share, and the layer they describe."""

from typing import Annotated, Literal

import typer

from jouleloop.errors import Fault, InputError, raise_all
from jouleloop.theory.manticore.layer import ConvLayer, FcLayer, Layer

Precision = Literal["single", "double"]

InputWidth = Annotated[int, typer.Option(help="W_I, width and height of the input volume in words.")]
InputDepth = Annotated[int, typer.Option(help="D_I, depth of the input volume in slices.")]
OutputDepth = Annotated[int, typer.Option(help="D_O, depth of the output volume in slices.")]
FilterWidth = Annotated[
    int | None, typer.Option("--filter", help="F, width of the filter of a convolution in words; Algorithms 1-3.")
]
Stride = Annotated[int, typer.Option(help="S, stride of the filter in words.")]
Padding = Annotated[int, typer.Option(help="P, zeros on each side of each spatial axis in words.")]
Batch = Annotated[int | None, typer.Option(help="B, batch size of a fully-connected layer in inputs; Algorithms 4-5.")]
Stack = Annotated[
    int | None, typer.Option(help="Δ_O, output depth slices in a stack; the largest that fits by default.")
]
Words = Annotated[Precision, typer.Option("--precision", help="Word of 4 bytes (single) or 8 bytes (double).")]


def build_layer(
    input_width: InputWidth,
    input_depth: InputDepth,
    output_depth: OutputDepth,
    filter_width: FilterWidth = None,
    stride: Stride = 1,
    padding: Padding = 0,
    batch: Batch = None,
) -> Layer:
    """Return the layer that the options describe: a convolution with ``--filter``, else fully connected.

    Raises
    ------
    InputError
        If neither or both of ``--filter`` and ``--batch`` are given, or a fully-connected layer gets a stride or
        padding.
    """
    if filter_width is not None and batch is None:
        return ConvLayer(input_width, input_depth, output_depth, filter_width, stride, padding)
    if batch is not None and filter_width is None:
        faults = []
        if stride != 1:
            faults.append(Fault("a fully-connected layer has stride 1", "--stride", value=stride, allowed="1"))
        if padding != 0:
            faults.append(Fault("a fully-connected layer has no padding", "--padding", value=padding, allowed="0"))
        raise_all(faults)
        return FcLayer(input_width, input_depth, output_depth, batch)
    raise InputError("give --filter for a convolution or --batch for a fully-connected layer, and not both")
