"""Energy complexity of a convolutional layer on DRAM and one Buffer: two dataflows and a lower bound.

The model is that of J. Šíma, P. Vidnerová, V. Mrázek, "Energy Complexity Model for Convolutional Neural Networks",
ICANN 2023, as described in paper 002 section 1. Its full text is not a source here: the counts are derived in
docs/theory-convolution-energy.md from that description and checked by execution, and the first dataflow equals the
formula in the authors' repository (PetraVidnerova/timeloop-accelergy-test, ``jirka_engergy.py``, commit 30d8eb3).
"""

from dataclasses import dataclass, fields
from fractions import Fraction

from jouleloop.errors import AssumptionError, Fault, raise_all
from jouleloop.theory.bound import Assumption, Bound

MAC_PJ = {8: Fraction("0.56"), 16: Fraction("2.20")}
"""Energy of one MAC in pJ by word width in bits: C_8 and C_16 of 002 section 2."""


@dataclass(frozen=True)
class ConvShape:
    """A convolutional layer as plain numbers.

    Attributes
    ----------
    channels, outputs
        C and M: input and output feature maps (d_{λ-1} and d_λ of the model).
    kernel_height, kernel_width, output_height, output_width, stride
        R, S, P, Q (r, s, m_λ, n_λ of the model) and the stride σ on both axes.
    input_height, input_width
        Words of one input map that lie in DRAM (m_{λ-1}, n_{λ-1}); 0 means all that the windows reach,
        (P - 1)·stride + R. Less than that means zero padding, which is never moved.
    bias
        Whether every output map has a bias word in DRAM.
    """

    channels: int
    outputs: int
    kernel_height: int
    kernel_width: int
    output_height: int
    output_width: int
    stride: int = 1
    input_height: int = 0
    input_width: int = 0
    bias: bool = True

    def __post_init__(self) -> None:
        faults = []
        for item in fields(self):
            value, least = getattr(self, item.name), 0 if item.name.startswith("input_") else 1
            if item.name != "bias" and (isinstance(value, bool) or not isinstance(value, int) or value < least):
                faults.append(Fault("must be a positive whole number", "layer", item.name, value, "1, 2, 3, …"))
        raise_all(faults)
        for axis in ("height", "width"):
            padding = self.reach(axis) - self.input_size(axis)
            kernel = getattr(self, f"kernel_{axis}")
            if padding > 2 * (kernel - 1):
                faults.append(
                    Fault(
                        "every window must see a word of the input, so padding is at most 2·(kernel - 1)",
                        "layer",
                        f"input_{axis}",
                        self.input_size(axis),
                        f"at least {self.reach(axis) - 2 * (kernel - 1)}",
                    )
                )
        raise_all(faults, AssumptionError)

    def reach(self, axis: str) -> int:
        """Return the input words that the windows reach along ``height`` or ``width``, padding included."""
        outputs: int = getattr(self, f"output_{axis}")
        kernel: int = getattr(self, f"kernel_{axis}")
        return (outputs - 1) * self.stride + kernel

    def input_size(self, axis: str) -> int:
        """Return the input words in DRAM along ``height`` or ``width``."""
        given: int = getattr(self, f"input_{axis}")
        return given or self.reach(axis)

    def padding_before(self, axis: str) -> int:
        """Return the padding before the first input word along an axis; the rest comes after the last one."""
        return max(0, self.reach(axis) - self.input_size(axis)) // 2

    @property
    def input_map_words(self) -> int:
        """Words of one input map in DRAM."""
        return self.input_size("height") * self.input_size("width")

    @property
    def output_map_words(self) -> int:
        """Words of one output map, P·Q."""
        return self.output_height * self.output_width

    @property
    def kernel_words(self) -> int:
        """Words of one kernel, R·S."""
        return self.kernel_height * self.kernel_width

    @property
    def weight_words(self) -> int:
        """Words of all kernels and biases, M·(C·R·S + 1)."""
        return self.outputs * (self.channels * self.kernel_words + self.bias)

    def used_along(self, axis: str) -> tuple[int, int]:
        """Return how many input words along an axis some window uses, and how many (window, tap) pairs fall on one."""
        before, size = self.padding_before(axis), self.input_size(axis)
        outputs: int = getattr(self, f"output_{axis}")
        kernel: int = getattr(self, f"kernel_{axis}")
        places = [window * self.stride + tap - before for window in range(outputs) for tap in range(kernel)]
        inside = [place for place in places if 0 <= place < size]
        return len(set(inside)), len(inside)


@dataclass(frozen=True)
class DramWords:
    """Words moved between DRAM and Buffer.

    Attributes
    ----------
    weights_read, inputs_read, outputs_read, outputs_written
        Biases count as weights.
    """

    weights_read: int
    inputs_read: int
    outputs_read: int
    outputs_written: int

    @property
    def total(self) -> int:
        """All words moved; times the bits of a word this is the data energy (002 eq. (5) for FC)."""
        return self.weights_read + self.inputs_read + self.outputs_read + self.outputs_written


def macs(shape: ConvShape) -> int:
    """Return the MACs of the layer, C·M·P·Q·R·S, products with padding zeros included (ICANN 2023)."""
    return shape.channels * shape.outputs * shape.output_map_words * shape.kernel_words


def maps_in_buffer(shape: ConvShape, dataflow: str, buffer_words: int | None) -> int:
    """Return how many maps a Buffer keeps: outputs in ``write-once-outputs``, inputs in ``read-once-inputs``.

    Write-once outputs: β >= g·(P·Q + R·S) + 1, g output maps with a kernel each, and one input word. Read-once inputs:
    β >= k·(H·W + R·S) + 1, k input maps with a kernel each, one output word (and one bias). None stands for one map,
    the dataflow of the model.

    Raises
    ------
    AssumptionError
        If not even one map fits.
    """
    kept, total, spare = _needs(shape, dataflow)
    if buffer_words is None:
        return 1
    if buffer_words < kept + spare:
        raise AssumptionError(
            Fault(
                f"Buffer must hold one map, its kernel and a word of each other kind for {dataflow}",
                field="buffer_words",
                value=buffer_words,
                allowed=f"at least {kept + spare}",
            )
        )
    return min((buffer_words - spare) // kept, total)


def buffer_words_needed(shape: ConvShape, dataflow: str, maps: int = 1) -> int:
    """Return the Buffer capacity β in words with which ``maps`` maps are kept."""
    kept, _, spare = _needs(shape, dataflow)
    return maps * kept + spare


DATAFLOWS = ("write-once-outputs", "read-once-inputs")


def _needs(shape: ConvShape, dataflow: str) -> tuple[int, int, int]:
    """Return words kept per map, number of maps, and spare words."""
    if dataflow == "write-once-outputs":
        return shape.output_map_words + shape.kernel_words, shape.outputs, 1
    if dataflow == "read-once-inputs":
        return shape.input_map_words + shape.kernel_words, shape.channels, 1 + shape.bias
    raise AssumptionError(Fault("no such dataflow", field="dataflow", value=dataflow, allowed=", ".join(DATAFLOWS)))


def write_once_outputs(shape: ConvShape, buffer_words: int | None = None) -> DramWords:
    """Return the traffic of the dataflow that writes every output once and reads every weight once (ICANN 2023).

    With g output maps in Buffer: M·(C·R·S + 1) + ⌈M/g⌉·C·H·W + M·P·Q. For g = 1 this is the published column.
    """
    group = maps_in_buffer(shape, "write-once-outputs", buffer_words)
    return DramWords(
        weights_read=shape.weight_words,
        inputs_read=-(-shape.outputs // group) * shape.channels * shape.input_map_words,
        outputs_read=0,
        outputs_written=shape.outputs * shape.output_map_words,
    )


def read_once_inputs(shape: ConvShape, buffer_words: int | None = None) -> DramWords:
    """Return the traffic of the dataflow that reads every input once and every weight once (ICANN 2023).

    With k input maps in Buffer: M·(C·R·S + 1) + C·H·W + (2⌈C/k⌉ - 1)·M·P·Q; partial sums go to DRAM and come back.
    """
    rounds = -(-shape.channels // maps_in_buffer(shape, "read-once-inputs", buffer_words))
    outputs = shape.outputs * shape.output_map_words
    return DramWords(
        weights_read=shape.weight_words,
        inputs_read=shape.channels * shape.input_map_words,
        outputs_read=(rounds - 1) * outputs,
        outputs_written=rounds * outputs,
    )


def compulsory_words(shape: ConvShape) -> int:
    """Return what any dataflow moves: every weight and every used input read, every output written, once each."""
    used = shape.used_along("height")[0] * shape.used_along("width")[0]
    return shape.weight_words + shape.channels * used + shape.outputs * shape.output_map_words


def lower_bound_words(shape: ConvShape, buffer_words: int) -> int:
    """Return a lower bound on the words that any dataflow moves through a Buffer of β words.

    Derived in docs/theory-convolution-energy.md by the pair argument of 002 section 3: every MAC with an input (not a
    padding zero) joins one input and one output in Buffer; the later arrival of the two joins at most β - 1 pairs;
    every stay of an output that gains a MAC ends with a write. So input reads + output writes are at least
    ⌈MACs/(β - 1)⌉, and every weight is read at least once.

    Raises
    ------
    AssumptionError
        If β < 3: an input, a weight and an output must be in Buffer together.
    """
    if buffer_words < 3:
        raise AssumptionError(
            Fault(
                "an input, a weight and an output must be in Buffer together, β >= 3",
                field="buffer_words",
                value=buffer_words,
                allowed="at least 3",
            )
        )
    pairs = shape.channels * shape.outputs * shape.used_along("height")[1] * shape.used_along("width")[1]
    return max(compulsory_words(shape), shape.weight_words - (-pairs // (buffer_words - 1)))


def mac_pj(bits: int) -> Fraction:
    """Return C_b, the energy of one MAC in pJ (002 section 2).

    Raises
    ------
    AssumptionError
        If C_b is not given in the paper for this width.
    """
    if bits not in MAC_PJ:
        widths = ", ".join(map(str, sorted(MAC_PJ)))
        raise AssumptionError(Fault("C_b is known for few widths", field="bits", value=bits, allowed=widths))
    return MAC_PJ[bits]


def theory_columns(
    shape: ConvShape, *, bits: int = 16, buffer_words: int | None = None
) -> dict[str, int | float | None]:
    """Return the theory of one layer as columns for a table of measured energies; what does not fit Buffer is None.

    The lower bound is that of ``buffer_words``, or the compulsory words where no capacity is given.
    """
    row: dict[str, int | float | None] = {
        "theory_macs": macs(shape),
        "theory_computation_pj": float(mac_pj(bits) * macs(shape)) if bits in MAC_PJ else None,
    }
    for name, function in zip(DATAFLOWS, (write_once_outputs, read_once_inputs), strict=True):
        fits = buffer_words is None or buffer_words >= buffer_words_needed(shape, name)
        total = function(shape, buffer_words).total if fits else None
        row[f"theory_{name.replace('-', '_')}_words"] = total
        row[f"theory_{name.replace('-', '_')}_bits"] = None if total is None else bits * total
    lower = compulsory_words(shape) if buffer_words is None else lower_bound_words(shape, buffer_words)
    row["theory_lower_bound_words"] = lower
    row["theory_lower_bound_bits"] = bits * lower
    return row


def conv_energy_bounds(shape: ConvShape, *, bits: int = 16, buffer_words: int | None = None) -> tuple[Bound, ...]:
    """Return both dataflows, the lower bounds and the computation energy of one layer.

    Parameters
    ----------
    bits
        Width b of a word; the data energy is b times the words moved.
    buffer_words
        β; None for a Buffer that keeps exactly one map.

    Raises
    ------
    AssumptionError
        If ``bits`` or β are too small; a dataflow whose maps do not fit has no value and says so.
    """
    faults = []
    if bits < 1:
        faults.append(Fault("precision must be positive, b >= 1", field="bits", value=bits, allowed="1, 2, 3, …"))
    raise_all(faults, AssumptionError)
    source = "ICANN 2023 (002 section 1)"
    found = [Bound("macs", source, macs(shape), "MAC")]
    if bits in MAC_PJ:
        energy = mac_pj(bits) * macs(shape)
        found.append(Bound("computation_energy", "002 eq. (3) for a convolution", energy, "pJ"))
    for name, function in zip(DATAFLOWS, (write_once_outputs, read_once_inputs), strict=True):
        needed = buffer_words_needed(shape, name)
        fits = buffer_words is None or buffer_words >= needed
        held = Assumption(f"Buffer holds at least {needed} words (one map, its kernel, a word of the others)", fits)
        key, moved = name.replace("-", "_"), function(shape, buffer_words) if fits else None
        for part in ("weights_read", "inputs_read", "outputs_read", "outputs_written", "total"):
            words = getattr(moved, part) if moved is not None else None
            found.append(Bound(f"{key}_{part}", source, words, "words", (held,)))
        total = moved.total * bits if moved is not None else None
        found.append(Bound(f"{key}_data_energy", source, total, "bits", (held,)))
    found.append(Bound("compulsory_total", "every datum once", compulsory_words(shape), "words"))
    if buffer_words is not None:
        lower = lower_bound_words(shape, buffer_words)
        found.append(Bound("lower_bound_total", "pair argument of 002 section 3", lower, "words"))
        found.append(Bound("lower_bound_data_energy", "pair argument of 002 section 3", lower * bits, "bits"))
    return tuple(found)
