"""What several papers share: the shape of a convolution, ResNet-50, the energy of an operation, words from DRAM."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from fractions import Fraction

from jouleloop.errors import AssumptionError, Fault, raise_all

LARGEST_SIZE = 10**12
"""Largest loop bound or stride, so that every product of them fits a float."""

MAC_ENERGY_PJ = {8: Fraction(56, 100), 16: Fraction(220, 100)}
"""C_b in pJ for one multiply-accumulate on b bits; 002 section 2, below eq. (3): Simba (8) and Eyeriss (16)."""


def useful_sides(length: int) -> tuple[int, ...]:
    """Return the least side for every possible number of tiles of ``length``: any other side is never better."""
    sides = [length]
    while sides[-1] > 1:
        # The fewest tiles that a shorter side allows.
        tiles = -(-length // (sides[-1] - 1))
        sides.append(-(-length // tiles))
    return tuple(reversed(sides))


def below_one(sizes: Mapping[str, int | None], source: str | None = None) -> list[Fault]:
    """Return a fault for every size that is given and less than one."""
    return [
        Fault("must be a positive integer", source, name, size, "at least 1")
        for name, size in sizes.items()
        if size is not None and size < 1
    ]


@dataclass(frozen=True)
class ConvLayer:
    """Seven nested loops (001 eq. (1)), their strides, and what of the input lies in memory.

    Raises `InputError` where a size is not a positive integer.
    """

    batch: int
    in_channels: int
    out_channels: int
    out_width: int
    out_height: int
    filter_width: int
    filter_height: int
    """N, c_I, c_O, w_O, h_O, w_F and h_F."""
    stride_width: int = 1
    stride_height: int = 1
    """σ_w and σ_h."""
    in_width: int = 0
    in_height: int = 0
    """Words of one input map that lie in memory; 0 means all that the windows reach, (w_O − 1)σ_w + w_F. Less than that
    means zero padding, which is never moved."""
    bias: bool = False
    """Whether every output map has a bias word in memory."""
    name: str = field(default="", compare=False)
    """Label in tables and messages."""

    def __post_init__(self) -> None:
        faults = []
        for item in fields(self):
            if item.name in ("bias", "name"):
                continue
            value, least = getattr(self, item.name), 0 if item.name in ("in_width", "in_height") else 1
            place = f"{self.name}.{item.name}" if self.name else item.name
            if isinstance(value, bool) or not isinstance(value, int) or value < least:
                faults.append(Fault("must be a positive integer", None, place, value, "at least 1"))
            elif value > LARGEST_SIZE:
                faults.append(Fault("too large", None, place, value, f"<= {LARGEST_SIZE}"))
        raise_all(faults)
        for axis in ("width", "height"):
            if getattr(self, f"in_{axis}") == 0:
                object.__setattr__(self, f"in_{axis}", self.reach(axis))

    @property
    def macs(self) -> int:
        """Number G of multiply-accumulates; products with padding zeros count."""
        return self.batch * self.in_channels * self.out_channels * self.output_map_elements * self.filter_map_elements

    @property
    def output_map_elements(self) -> int:
        """Elements of one output map, w_O h_O."""
        return self.out_width * self.out_height

    @property
    def filter_map_elements(self) -> int:
        """Elements of one kernel, w_F h_F."""
        return self.filter_width * self.filter_height

    @property
    def input_map_elements(self) -> int:
        """Elements of one input map in memory."""
        return self.in_width * self.in_height

    @property
    def filter_elements(self) -> int:
        """The size |F| of the filter array."""
        return self.in_channels * self.out_channels * self.filter_map_elements

    @property
    def output_elements(self) -> int:
        """The size |O| of the output array."""
        return self.batch * self.out_channels * self.output_map_elements

    def along(self, axis: str) -> tuple[int, int, int]:
        """Return outputs, filter taps and stride along ``width`` or ``height``."""
        outputs, taps, stride = (getattr(self, f"{name}_{axis}") for name in ("out", "filter", "stride"))
        return outputs, taps, stride

    def reach(self, axis: str) -> int:
        """Return the input words that the windows reach along ``width`` or ``height``, padding included."""
        outputs, taps, stride = self.along(axis)
        return (outputs - 1) * stride + taps

    def padding_before(self, axis: str) -> int:
        """Return the padding before the first input word along an axis; the rest comes after the last one."""
        size: int = getattr(self, f"in_{axis}")
        return max(0, self.reach(axis) - size) // 2

    @property
    def stride(self) -> int:
        """The stride on both axes; raises `AssumptionError` where they differ."""
        return self._on_both_axes("stride", self.stride_width, self.stride_height)

    @property
    def padding(self) -> int:
        """Zeros on each side of both axes; raises `AssumptionError` where they differ."""
        return self._on_both_axes("padding", self.padding_before("width"), self.padding_before("height"))

    def _on_both_axes(self, what: str, width: int, height: int) -> int:
        if width != height:
            fault = Fault(f"one {what} on both axes is assumed", self.name or None, what, f"{width} and {height}")
            raise AssumptionError(fault)
        return width


# He, Zhang, Ren, Sun: Deep residual learning for image recognition (CVPR 2016), table 1: conv1 and the 3 × 3 layers of
# every later stage. 001 Figures 2 to 4 take these sizes with a batch of 1000.
RESNET50_LAYERS = {
    "conv1": ConvLayer(1000, 3, 64, 112, 112, 7, 7, 2, 2),
    "conv2_x": ConvLayer(1000, 64, 64, 56, 56, 3, 3),
    "conv3_x": ConvLayer(1000, 128, 128, 28, 28, 3, 3),
    "conv4_x": ConvLayer(1000, 256, 256, 14, 14, 3, 3),
    "conv5_x": ConvLayer(1000, 512, 512, 7, 7, 3, 3),
}


@dataclass(frozen=True)
class DramWords:
    """Words moved between DRAM and the chip, by data space."""

    weights_read: int
    inputs_read: int
    """Words read; biases count as weights."""
    outputs_read: int
    outputs_written: int
    """Words of (partial) outputs read and written."""

    def __post_init__(self) -> None:
        raise_all([Fault("must not be negative", None, name, words) for name, words in vars(self).items() if words < 0])

    @property
    def total(self) -> int:
        """All words moved; times the bits of a word this is the data energy (002 eq. (5) for a single image)."""
        return self.weights_read + self.inputs_read + self.outputs_read + self.outputs_written

    @property
    def total_with_biases(self) -> int:
        """The same with every output read at least as often as written, as 002 eq. (5) has it.

        What starts outputs from zero instead of a bias from DRAM moves fewer words than that model counts.
        """
        return self.total + max(0, self.outputs_written - self.outputs_read)
