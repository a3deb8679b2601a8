"""``jouleloop bounds|dataflow conv`` and ``conv-energy``: a convolution's communication, and its energy complexity."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from jouleloop.errors import Fault, raise_all
from jouleloop.files import write_text
from jouleloop.terminal.console import print_json, stdout
from jouleloop.terminal.splice import AsJson
from jouleloop.theory.bound import Bound
from jouleloop.theory.commands import BOUNDS, DATAFLOW, command
from jouleloop.theory.convolution.bounds import parallel_bounds, single_processor_bounds
from jouleloop.theory.convolution.crossover import parallel_terms, single_processor_terms
from jouleloop.theory.convolution.energy import MapSizes, conv_energy_bounds, maps_in_buffer
from jouleloop.theory.convolution.execute_blocking import ConvSchedule, run_schedule
from jouleloop.theory.convolution.execute_energy import EXECUTIONS, EnergyDataflow, random_layer
from jouleloop.theory.convolution.layer import Precisions, named_layer
from jouleloop.theory.convolution.parallel import parallel_volume_bounds
from jouleloop.theory.convolution.tables import least_table
from jouleloop.theory.convolution.volumes import all_volumes
from jouleloop.theory.layers import ConvLayer
from jouleloop.theory.printing import print_bounds


@dataclass(frozen=True)
class LayerOptions:
    """A layer by name, by its sizes, or by both."""

    layer: str | None = None
    batch: int | None = None
    in_channels: int | None = None
    out_channels: int | None = None
    out_width: int | None = None
    out_height: int | None = None
    filter_width: int | None = None
    filter_height: int | None = None
    stride_width: int | None = None
    stride_height: int | None = None

    def made(self) -> ConvLayer:
        """Return the layer ``layer`` with the given sizes replaced, or the layer of the sizes alone.

        Raises `InputError` where the name is unknown, or without a name where a size other than a stride is missing.
        """
        given = {field: size for field, size in vars(self).items() if size is not None and field != "layer"}
        if self.layer is not None:
            # What the windows reach follows from the sizes that are left.
            return replace(named_layer(self.layer), in_width=0, in_height=0, **given)
        needed = [field for field in vars(self) if field != "layer" and not field.startswith("stride")]
        allowed = "an integer, or --layer"
        missing = [field for field in needed if field not in given]
        raise_all([Fault("is missing", None, "--" + field.replace("_", "-"), None, allowed) for field in missing])
        return ConvLayer(**given)


def read_precisions(precision_input: str = "1", precision_filter: str = "1", precision_output: str = "1") -> Precisions:
    """Return the words that an element of each array takes."""
    texts: Any = precision_input, precision_filter, precision_output
    return Precisions(*texts)


@command(BOUNDS, "conv", layer=LayerOptions, precisions=read_precisions)
def print_conv_bounds(
    memory: str, layer: ConvLayer, precisions: Precisions, processors: int | None = None, as_json: AsJson = False
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
            replace(bound, name=f"parallel_{bound.name}")
            for bound in parallel_terms(layer, precisions, processors).crossing_bounds("001 Theorems 2.2 and 2.3")
        ]
        bounds += parallel_volume_bounds(layer, precisions, processors, memory)
    print_bounds(bounds, as_json=as_json, title=f"Convolution with M = {memory} words")


@command(DATAFLOW, "conv", layer=LayerOptions, precisions=read_precisions)
def print_conv_run(
    memory: str,
    layer: ConvLayer,
    precisions: Precisions,
    schedule: ConvSchedule = "best-blocking",
    seed: int = 0,
    as_json: AsJson = False,
) -> None:
    """Run a convolution in a fast memory of M words; print what it moved beside the closed form and Theorem 2.1."""
    records, picture = run_schedule(layer, precisions, memory, schedule, seed)
    print_bounds(records, as_json=as_json, title=f"{schedule} with M = {memory} words")
    if picture and not as_json:
        stdout.print(
            f"blocks in order: # loaded, + started at zero, · kept, S outputs stored\n{picture}", soft_wrap=True
        )


@command(BOUNDS, "conv-energy", shape=MapSizes)
def print_conv_energy_bounds(
    shape: ConvLayer, buffer_words: int | None = None, bits: int = 16, as_json: AsJson = False
) -> None:
    """Print the words and energies of the two dataflows of the CNN energy-complexity model, and lower bounds."""
    rows = conv_energy_bounds(shape, bits=bits, buffer_words=buffer_words)
    print_bounds(rows, as_json=as_json, title="Energy complexity of a convolution")


@command(DATAFLOW, "conv-energy", shape=MapSizes)
def print_conv_energy_run(
    dataflow: EnergyDataflow, shape: ConvLayer, buffer_words: int | None = None, seed: int = 0, as_json: AsJson = False
) -> None:
    """Run a dataflow of the CNN energy-complexity model and print every word it moved."""
    maps = maps_in_buffer(shape, dataflow, buffer_words)
    run = EXECUTIONS[dataflow](shape, *random_layer(shape, seed), maps=maps)
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


@command(BOUNDS, "conv-least")
def write_least_table(output: Path) -> None:
    """Solve small convolutions exactly; bounds, blockings and sliding windows beside the optimum (000/001)."""
    table = least_table()
    write_text(output, table.to_csv(index=False, lineterminator="\n"))
    words = table["least_words"]
    stdout.print(f"{len(table)} rows, {int(words.notna().sum())} solved: {output}", highlight=False, markup=False)
    for name in ("theorem_2_1_words", "best_blocking_words", "best_sliding_words"):
        stdout.print(f"{name} is the optimum in {int((table[name] == words).sum())}", highlight=False)
