"""Options that ``bounds conv`` and ``dataflow conv`` share: a layer and its precisions."""

from typing import Annotated

import typer

from jouleloop.theory.convolution.layer import ConvLayer, Precisions, layer_from_options

Memory = Annotated[str, typer.Option(help="Fast memory M, or memory per processor, in words of 32 bits.")]
Layer = Annotated[str | None, typer.Option(help="A layer such as resnet50/conv2_x; options override it.")]
Batch = Annotated[int | None, typer.Option(help="Images N.")]
InChannels = Annotated[int | None, typer.Option(help="Input channels c_I.")]
OutChannels = Annotated[int | None, typer.Option(help="Output channels c_O.")]
OutWidth = Annotated[int | None, typer.Option(help="Output width w_O in elements.")]
OutHeight = Annotated[int | None, typer.Option(help="Output height h_O in elements.")]
FilterWidth = Annotated[int | None, typer.Option(help="Filter width w_F in elements.")]
FilterHeight = Annotated[int | None, typer.Option(help="Filter height h_F in elements.")]
StrideWidth = Annotated[int | None, typer.Option(help="Stride σ_w in elements (1 if not given).")]
StrideHeight = Annotated[int | None, typer.Option(help="Stride σ_h in elements (1 if not given).")]
PrecisionInput = Annotated[str, typer.Option(help="Words per input element p_I, such as 1 or 1/4.")]
PrecisionFilter = Annotated[str, typer.Option(help="Words per filter element p_F, such as 1 or 1/4.")]
PrecisionOutput = Annotated[str, typer.Option(help="Words per output element p_O, such as 1 or 1/4.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print a JSON list.")]


def layer_of(
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
) -> ConvLayer:
    """Return the layer that the options describe."""
    sizes = (
        batch,
        in_channels,
        out_channels,
        out_width,
        out_height,
        filter_width,
        filter_height,
        stride_width,
        stride_height,
    )
    return layer_from_options(layer, sizes)


def precisions_of(
    precision_input: PrecisionInput = "1",
    precision_filter: PrecisionFilter = "1",
    precision_output: PrecisionOutput = "1",
) -> Precisions:
    """Return the words an element of each array takes."""
    return Precisions.parse(precision_input, precision_filter, precision_output)
