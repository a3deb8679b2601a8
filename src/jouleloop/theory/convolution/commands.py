"""``jouleloop bounds|dataflow conv`` and ``conv-energy``: a convolution's communication, and its energy complexity."""

from pathlib import Path
from typing import Annotated

import typer

from jouleloop.errors import Fault, InputError
from jouleloop.files import write_text
from jouleloop.terminal.console import print_json, stdout
from jouleloop.terminal.splice import AsJson, spliced
from jouleloop.theory.bound import Bound
from jouleloop.theory.commands import BOUNDS, DATAFLOW
from jouleloop.theory.convolution.bounds import parallel_bounds, single_processor_bounds
from jouleloop.theory.convolution.crossover import parallel_terms, single_processor_terms
from jouleloop.theory.convolution.energy import conv_energy_bounds, layer_of_maps, maps_in_buffer
from jouleloop.theory.convolution.execute_energy import EnergyDataflow, random_layer, run_dataflow
from jouleloop.theory.convolution.execution import ConvSchedule, run_schedule
from jouleloop.theory.convolution.layer import Precisions, layer_from_options
from jouleloop.theory.convolution.parallel import parallel_volume_bounds
from jouleloop.theory.convolution.tables import least_table
from jouleloop.theory.convolution.volumes import all_volumes
from jouleloop.theory.layers import ConvLayer
from jouleloop.theory.printing import print_bounds

Memory = Annotated[str, typer.Option(help="Fast memory M, or memory per processor, in words of 32 bits.")]


def layer_of(
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
) -> ConvLayer:
    """Return the layer that the options describe."""
    sizes = {
        "batch": batch,
        "in_channels": in_channels,
        "out_channels": out_channels,
        "out_width": out_width,
        "out_height": out_height,
        "filter_width": filter_width,
        "filter_height": filter_height,
        "stride_width": stride_width,
        "stride_height": stride_height,
    }
    return layer_from_options(layer, sizes)


def precisions_of(
    precision_input: Annotated[str, typer.Option(help="Words per input element p_I, such as 1 or 1/4.")] = "1",
    precision_filter: Annotated[str, typer.Option(help="Words per filter element p_F, such as 1 or 1/4.")] = "1",
    precision_output: Annotated[str, typer.Option(help="Words per output element p_O, such as 1 or 1/4.")] = "1",
) -> Precisions:
    """Return the words an element of each array takes."""
    return Precisions.parse(precision_input, precision_filter, precision_output)


@BOUNDS.command("conv")
@spliced(layer=layer_of, precisions=precisions_of)
def print_conv_bounds(
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


@DATAFLOW.command("conv")
@spliced(layer=layer_of, precisions=precisions_of)
def print_conv_run(
    memory: Memory,
    layer: ConvLayer,
    precisions: Precisions,
    schedule: Annotated[ConvSchedule, typer.Option(help="What is run.")] = ConvSchedule.BEST,
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


Stride = Annotated[int, typer.Option(help="Stride on both axes, in words.")]
BufferWords = Annotated[
    int | None, typer.Option(help="β, capacity of Buffer in words; just enough for one map if not.")
]


def shape_of(
    channels: Annotated[int, typer.Option(help="C, input feature maps.")],
    outputs: Annotated[int, typer.Option(help="M, output feature maps.")],
    kernel_height: Annotated[int, typer.Option("--kernel", help="R, height of the kernel in words; also its width S.")],
    output_height: Annotated[int, typer.Option("--output-size", help="P, height of an output map in words; also Q.")],
    kernel_width: Annotated[int | None, typer.Option(help="S, width of the kernel in words, where it differs.")] = None,
    output_width: Annotated[
        int | None, typer.Option(help="Q, width of an output map in words, where it differs.")
    ] = None,
    stride: Stride = 1,
    input_height: Annotated[
        int | None,
        typer.Option(
            "--input-size", help="H, height in words of an input map in DRAM, also W; all the windows reach if not."
        ),
    ] = None,
    input_width: Annotated[
        int | None, typer.Option(help="W, width in words of an input map in DRAM, where it differs.")
    ] = None,
    bias: Annotated[bool, typer.Option(help="Whether every output map has a bias word in DRAM.")] = True,
) -> ConvLayer:
    """Return the layer that the options describe; a width that is not given equals its height."""
    for option, value in (("--input-size", input_height), ("--input-width", input_width)):
        if value is not None and value < 1:
            raise InputError(Fault("must be a positive whole number", option, value=value, allowed="1, 2, 3, …"))
    height = input_height or 0
    return layer_of_maps(
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


@BOUNDS.command("conv-energy")
@spliced(shape=shape_of)
def print_conv_energy_bounds(
    shape: ConvLayer,
    buffer_words: BufferWords = None,
    bits: Annotated[int, typer.Option(help="b, width of a word in bits.")] = 16,
    as_json: AsJson = False,
) -> None:
    """Print the words and energies of the two dataflows of the CNN energy-complexity model, and lower bounds."""
    rows = conv_energy_bounds(shape, bits=bits, buffer_words=buffer_words)
    print_bounds(rows, as_json=as_json, title="Energy complexity of a convolution")


@DATAFLOW.command("conv-energy")
@spliced(shape=shape_of)
def print_conv_energy_run(
    dataflow: Annotated[EnergyDataflow, typer.Option(help="What is moved only once besides the weights.")],
    shape: ConvLayer,
    buffer_words: BufferWords = None,
    seed: Annotated[int, typer.Option(help="Seed of the random layer.")] = 0,
    as_json: AsJson = False,
) -> None:
    """Run a dataflow of the CNN energy-complexity model and print every word it moved."""
    maps = maps_in_buffer(shape, dataflow, buffer_words)
    run = run_dataflow(dataflow, shape, *random_layer(shape, seed), maps=maps)
    record = {
        "dataflow": dataflow,
        "maps_in_buffer": maps,
        "words": run.buffer.words,
        "peak_words": run.buffer.peak_words,
        **{f"{array}_read": run.buffer.loaded[array] for array in ("weights", "inputs", "outputs")},
        "outputs_written": run.buffer.stored["outputs"],
        "macs": run.macs,
        "total_words": run.buffer.total_words,
    }
    if as_json:
        print_json(record)
        return
    for name, value in record.items():
        stdout.print(f"{name:>16}  {value}", highlight=False)


@BOUNDS.command("conv-least")
def write_least_table(
    output: Annotated[Path, typer.Option("--output", "-o", help="Write the table here, as CSV.")],
) -> None:
    """Solve small convolutions exactly; bounds, blockings and sliding windows beside the optimum (000/001)."""
    table = least_table()
    write_text(output, table.to_csv(index=False, lineterminator="\n"))
    words = table["least_words"]
    stdout.print(f"{len(table)} rows, {int(words.notna().sum())} solved: {output}", highlight=False, markup=False)
    for name in ("theorem_2_1_words", "best_blocking_words", "best_sliding_words"):
        stdout.print(f"{name} is the optimum in {int((table[name] == words).sum())}", highlight=False)
