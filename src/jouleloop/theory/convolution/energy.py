"""Energy complexity of a convolutional layer on DRAM and one Buffer: two dataflows and a lower bound.

The model is that of J. Šíma, P. Vidnerová, V. Mrázek, "Energy Complexity Model for Convolutional Neural Networks",
ICANN 2023, as described in paper 002 section 1. Its full text is not a source here: the counts are derived in
docs/theory-convolution-energy.md from that description and checked by execution, and the first dataflow equals the
formula in the authors' repository (PetraVidnerova/timeloop-accelergy-test, ``jirka_engergy.py``, commit 30d8eb3).
"""

from dataclasses import dataclass

from jouleloop.errors import AssumptionError, Fault, raise_all
from jouleloop.theory.bound import Assumption, Bound
from jouleloop.theory.layers import MAC_ENERGY_PJ, ConvLayer, DramWords, below_one

_OPTIONS = {"input_height": "--input-size", "input_width": "--input-width"}


@dataclass(frozen=True)
class MapSizes:
    """A layer by the model's sizes: M·C kernels of R × S words, output maps of P × Q, input maps of H × W in DRAM.

    Where widths are not given they equal the heights, and the input height is what the windows reach. The stride is
    that on both axes; with ``bias`` each output map has a bias word.
    """

    channels: int
    outputs: int
    kernel_height: int
    output_height: int
    kernel_width: int | None = None
    output_width: int | None = None
    stride: int = 1
    input_height: int | None = None
    input_width: int | None = None
    bias: bool = True

    def made(self) -> ConvLayer:
        """Return the layer.

        Raises `InputError` where a size is not positive; `AssumptionError` where a window sees no word of the input.
        """
        sizes = {_OPTIONS.get(name, name): value for name, value in vars(self).items() if name != "bias"}
        raise_all(below_one(sizes, "layer"))
        height = self.input_height or 0
        layer = ConvLayer(
            batch=1,
            in_channels=self.channels,
            out_channels=self.outputs,
            out_width=self.output_height if self.output_width is None else self.output_width,
            out_height=self.output_height,
            filter_width=self.kernel_height if self.kernel_width is None else self.kernel_width,
            filter_height=self.kernel_height,
            stride_width=self.stride,
            stride_height=self.stride,
            in_width=height if self.input_width is None else self.input_width,
            in_height=height,
            bias=self.bias,
        )
        text = "every window must see a word of the input, so padding is at most 2·(kernel - 1)"
        faults = []
        for axis, size in (("height", layer.in_height), ("width", layer.in_width)):
            least = layer.reach(axis) - 2 * (layer.along(axis)[1] - 1)
            if size < least:
                faults.append(Fault(text, "layer", f"input_{axis}", size, f"at least {least}"))
        raise_all(faults, AssumptionError)
        return layer


def weight_words(layer: ConvLayer) -> int:
    """Words of all kernels and biases, M·(C·R·S + 1); raises `AssumptionError` for a batch, which the model lacks."""
    if layer.batch != 1:
        raise AssumptionError(Fault("the model is of a single image", "layer", "batch", layer.batch, "1"))
    return layer.filter_elements + layer.out_channels * layer.bias


def used_along(layer: ConvLayer, axis: str) -> tuple[int, int]:
    """Return how many input words along an axis some window uses, and how many (window, tap) pairs fall on one."""
    outputs, taps, stride = layer.along(axis)
    before, size = layer.padding_before(axis), layer.in_width if axis == "width" else layer.in_height
    places = [window * stride + tap - before for window in range(outputs) for tap in range(taps)]
    inside = [place for place in places if 0 <= place < size]
    return len(set(inside)), len(inside)


def maps_in_buffer(layer: ConvLayer, dataflow: str, buffer_words: int | None) -> int:
    """Return how many maps a Buffer keeps: outputs in ``write-once-outputs``, inputs in ``read-once-inputs``.

    Write-once outputs: β >= g·(P·Q + R·S) + 1, g output maps with a kernel each, and one input word. Read-once inputs:
    β >= k·(H·W + R·S) + 1, k input maps with a kernel each, one output word (and one bias). None stands for one map,
    the dataflow of the model.

    Raises `AssumptionError` if not even one map fits.
    """
    kept, total, spare = _needs(layer, dataflow)
    if buffer_words is None:
        return 1
    if buffer_words < kept + spare:
        text = f"Buffer must hold one map, its kernel and a word of each other kind for {dataflow}"
        raise AssumptionError(Fault(text, field="buffer_words", value=buffer_words, allowed=f"at least {kept + spare}"))
    return min((buffer_words - spare) // kept, total)


def buffer_words_needed(layer: ConvLayer, dataflow: str, maps: int = 1) -> int:
    """Return the Buffer capacity β in words with which ``maps`` maps are kept."""
    kept, _, spare = _needs(layer, dataflow)
    return maps * kept + spare


DATAFLOWS = ("write-once-outputs", "read-once-inputs")


def _needs(layer: ConvLayer, dataflow: str) -> tuple[int, int, int]:
    """Return words kept per map, number of maps, and spare words."""
    if dataflow == "write-once-outputs":
        return layer.output_map_elements + layer.filter_map_elements, layer.out_channels, 1
    return layer.input_map_elements + layer.filter_map_elements, layer.in_channels, 1 + layer.bias


def write_once_outputs(layer: ConvLayer, buffer_words: int | None = None) -> DramWords:
    """Return the traffic of the dataflow that writes every output once and reads every weight once (ICANN 2023).

    With g output maps in Buffer: M·(C·R·S + 1) + ⌈M/g⌉·C·H·W + M·P·Q. For g = 1 this is the published column.
    """
    group = maps_in_buffer(layer, "write-once-outputs", buffer_words)
    return DramWords(
        weights_read=weight_words(layer),
        inputs_read=-(-layer.out_channels // group) * layer.in_channels * layer.input_map_elements,
        outputs_read=0,
        outputs_written=layer.out_channels * layer.output_map_elements,
    )


def read_once_inputs(layer: ConvLayer, buffer_words: int | None = None) -> DramWords:
    """Return the traffic of the dataflow that reads every input once and every weight once (ICANN 2023).

    With k input maps in Buffer: M·(C·R·S + 1) + C·H·W + (2⌈C/k⌉ - 1)·M·P·Q; partial sums go to DRAM and come back.
    """
    rounds = -(-layer.in_channels // maps_in_buffer(layer, "read-once-inputs", buffer_words))
    outputs = layer.out_channels * layer.output_map_elements
    return DramWords(
        weights_read=weight_words(layer),
        inputs_read=layer.in_channels * layer.input_map_elements,
        outputs_read=(rounds - 1) * outputs,
        outputs_written=rounds * outputs,
    )


def compulsory_words(layer: ConvLayer) -> int:
    """Return what any dataflow moves: every weight and every used input read, every output written, once each."""
    used = used_along(layer, "height")[0] * used_along(layer, "width")[0]
    return weight_words(layer) + layer.in_channels * used + layer.out_channels * layer.output_map_elements


def lower_bound_words(layer: ConvLayer, buffer_words: int) -> int:
    """Return a lower bound on the words that any dataflow moves through a Buffer of β words.

    Derived in docs/theory-convolution-energy.md by the pair argument of 002 section 3: input reads + output writes are
    at least ⌈MACs/(β - 1)⌉, MACs with padding zeros left out, and every weight is read at least once.

    Raises `AssumptionError` if β < 3: an input, a weight and an output must be in Buffer together.
    """
    if buffer_words < 3:
        text = "an input, a weight and an output must be in Buffer together, β >= 3"
        raise AssumptionError(Fault(text, field="buffer_words", value=buffer_words, allowed="at least 3"))
    pairs = layer.in_channels * layer.out_channels * used_along(layer, "height")[1] * used_along(layer, "width")[1]
    return max(compulsory_words(layer), weight_words(layer) - (-pairs // (buffer_words - 1)))


def conv_energy_bounds(layer: ConvLayer, *, bits: int = 16, buffer_words: int | None = None) -> tuple[Bound, ...]:
    """Return both dataflows, the lower bounds and the computation energy of one layer.

    Raises `AssumptionError` if ``bits`` or β are too small; a dataflow whose maps do not fit has no value and says so.

    ``bits`` is the width b of a word, the data energy b times the words moved; β of None stands for a Buffer that keeps
    exactly one map.
    """
    if bits < 1:
        fault = Fault("precision must be positive, b >= 1", field="bits", value=bits, allowed="1, 2, 3, …")
        raise AssumptionError(fault)
    source = "ICANN 2023 (002 section 1)"
    found = [Bound("macs", source, layer.macs, "MAC")]
    if bits in MAC_ENERGY_PJ:
        energy = MAC_ENERGY_PJ[bits] * layer.macs
        found.append(Bound("computation_energy", "002 eq. (3) for a convolution", energy, "pJ"))
    for name, function in zip(DATAFLOWS, (write_once_outputs, read_once_inputs), strict=True):
        needed = buffer_words_needed(layer, name)
        fits = buffer_words is None or buffer_words >= needed
        held = Assumption(f"Buffer holds at least {needed} words (one map, its kernel, a word of the others)", fits)
        key, moved = name.replace("-", "_"), function(layer, buffer_words) if fits else None
        for part in ("weights_read", "inputs_read", "outputs_read", "outputs_written", "total"):
            words = getattr(moved, part) if moved is not None else None
            found.append(Bound(f"{key}_{part}", source, words, "words", (held,)))
        total = moved.total * bits if moved is not None else None
        found.append(Bound(f"{key}_data_energy", source, total, "bits", (held,)))
    found.append(Bound("compulsory_total", "every datum once", compulsory_words(layer), "words"))
    if buffer_words is not None:
        lower = lower_bound_words(layer, buffer_words)
        found.append(Bound("lower_bound_total", "pair argument of 002 section 3", lower, "words"))
        found.append(Bound("lower_bound_data_energy", "pair argument of 002 section 3", lower * bits, "bits"))
    return tuple(found)
