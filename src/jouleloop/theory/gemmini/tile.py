"""Convolution tiles on Gemmini: rows of scratchpad and accumulator, the communication estimate, the vendor's tile."""

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from jouleloop.errors import AssumptionError, Fault, raise_all
from jouleloop.theory.layers import RESNET50_LAYERS, ConvLayer, below_one

_SIDES = ("batch", "out_height", "out_width", "out_channels", "filter_height", "filter_width", "in_channels")
"""The loops of `ConvLayer` in the order of `ConvTile.sides`."""

LARGEST_SIZE = 100_000
"""Longest loop: the search for the best tile lists the sides of every loop."""


@dataclass(frozen=True)
class GemminiConfig:
    """The buffers of a Gemmini chip; the defaults are the chip of 001 Section 5."""

    array_side: int = 16
    """Processing elements along one side of the square array, and words in a row of both buffers."""
    scratchpad_bytes: int = 256 * 1024
    """Holds inputs and weights."""
    accumulator_bytes: int = 64 * 1024
    """Holds partial sums."""
    input_bits: int = 8
    accumulator_bits: int = 32
    """Word widths of the two buffers."""
    double_buffered: bool = True
    """Whether only half of each buffer is there for a tile."""

    def __post_init__(self) -> None:
        sizes = {name: size for name, size in vars(self).items() if name != "double_buffered"}
        raise_all(below_one(sizes), AssumptionError)
        rows = {"scratchpad": self.scratchpad_rows, "accumulator": self.accumulator_rows}
        empty = [name for name in rows if rows[name] < 1]
        raise_all([Fault(f"the {name} holds no row", None, f"{name}_bytes") for name in empty], AssumptionError)

    @property
    def scratchpad_rows(self) -> int:
        """Rows of the scratchpad that a tile may use."""
        return self._rows(self.scratchpad_bytes, self.input_bits)

    @property
    def accumulator_rows(self) -> int:
        """Rows of the accumulator that a tile may use."""
        return self._rows(self.accumulator_bytes, self.accumulator_bits)

    def _rows(self, size_bytes: int, word_bits: int) -> int:
        rows = size_bytes * 8 // (self.array_side * word_bits)
        return rows // 2 if self.double_buffered else rows


CHIP = GemminiConfig()


@dataclass(frozen=True)
class ConvTile:
    """A tile of a convolution: how far each of the seven loops runs within it; or many, where the sides are arrays."""

    batch: int
    rows: int
    cols: int
    out_channels: int
    filter_rows: int
    filter_cols: int
    in_channels: int

    @property
    def sides(self) -> tuple[int, ...]:
        """The seven sides: batch, output rows, output columns, output channels, filter rows and columns, channels."""
        return tuple(vars(self).values())

    @property
    def operations(self) -> int:
        """Multiply-accumulates of a full tile."""
        return math.prod(self.sides)

    def __str__(self) -> str:
        return " × ".join(map(str, self.sides))


@dataclass(frozen=True)
class TileRows:
    """Buffer rows that a tile allocates."""

    inputs: int
    weights: int
    outputs: int

    @property
    def scratchpad(self) -> int:
        """Rows of inputs and weights."""
        return self.inputs + self.weights

    def fit(self, config: GemminiConfig) -> bool:
        """Whether the tile fits both buffers."""
        return self.scratchpad <= config.scratchpad_rows and self.outputs <= config.accumulator_rows


def checked(layer: ConvLayer) -> ConvLayer:
    """Return ``layer``; raise `InputError` where a loop is too long to list its sides, or the strides differ."""
    raise_all(
        [
            Fault("too large", field=f"{layer.name}.{name}", value=value, allowed=f"<= {LARGEST_SIZE}")
            for name, value in zip(_SIDES, loop_sizes(layer), strict=True)
            if value > LARGEST_SIZE
        ]
    )
    _ = layer.stride
    return layer


def loop_sizes(layer: ConvLayer) -> tuple[int, ...]:
    """Return the loop bounds in the order of `ConvTile.sides`."""
    return tuple(getattr(layer, side) for side in _SIDES)


def downsampled(layer: ConvLayer) -> bool:
    """Whether Gemmini skips the unused pixels of a 1 × 1 filter with stride 2 (inputs of even size)."""
    return layer.stride == 2 and layer.filter_height == layer.filter_width == 1


def resnet50(batch: int = 1000) -> tuple[ConvLayer, ...]:
    """Return the five standard ResNet-50 sizes (001 Section 5) for a batch of images, as conv1 … conv5."""
    return tuple(
        checked(replace(layer, batch=batch, name=name.removesuffix("_x"))) for name, layer in RESNET50_LAYERS.items()
    )


def window_pixels(layer: ConvLayer, rows: Any, cols: Any, filter_rows: Any, filter_cols: Any) -> Any:
    """Return the pixels of the input windows of so many output rows and columns, numbers or arrays of them."""
    height, width = rows * layer.stride + filter_rows - 1, cols * layer.stride + filter_cols - 1
    return (height // 2) * (width // 2) if downsampled(layer) else height * width


def tile_rows(layer: ConvLayer, tile: ConvTile, config: GemminiConfig) -> TileRows:
    """Return the buffer rows that Gemmini's memory controller allocates for a tile.

    A row holds one word of each of `GemminiConfig.array_side` channels. The input window is one pixel longer than
    needed where the stride is 2 (docs/theory-gemmini.md).

    Source: 001 Section 5; ``tiled_conv_total_spad_rows`` of gemmini-rocc-tests, restated.
    """
    in_groups = -(-tile.in_channels // config.array_side)
    out_groups = -(-tile.out_channels // config.array_side)
    return TileRows(
        inputs=in_groups * tile.batch * window_pixels(layer, *tile.sides[1:3], *tile.sides[4:6]),
        weights=out_groups * tile.filter_rows * tile.filter_cols * tile.in_channels,
        outputs=out_groups * tile.batch * tile.rows * tile.cols,
    )


def estimated_rows(layer: ConvLayer, tile: ConvTile, config: GemminiConfig) -> Fraction:
    """Return the paper's estimated communication, in buffer rows.

    "The number of scratchpad and accumulator rows allocated per tile, multiplied by the total number of operations
    divided by the size of a tile" (001 Section 5), exactly.
    """
    rows = tile_rows(layer, tile, config)
    return Fraction((rows.scratchpad + rows.outputs) * layer.macs, tile.operations)


def traffic_words(layer: ConvLayer, tile: ConvTile) -> int:
    """Return the words a layer moves when every tile loads its inputs and weights, and each output leaves once.

    Tiles at the edges are cut off; zero padding counts as data; all words have the width of an input, as outputs leave
    rounded. Only the number of tiles along each loop counts: for n_p tiles of output rows and n_r of filter rows the
    input windows add up to n_r·stride·(P − n_p) + n_p·R rows.

    Source: the machine of 001 Section 5 (reduction loops innermost, partial sums stay in the accumulator).
    """
    batches, rows, cols, out_groups, filter_rows, filter_cols, _ = (
        -(-size // side) for size, side in zip(loop_sizes(layer), tile.sides, strict=True)
    )
    step = 1 if downsampled(layer) else layer.stride
    window_rows = filter_rows * step * (layer.out_height - rows) + rows * layer.filter_height
    window_cols = filter_cols * step * (layer.out_width - cols) + cols * layer.filter_width
    inputs = layer.batch * layer.in_channels * window_rows * window_cols * out_groups
    return inputs + layer.filter_elements * batches * rows * cols + layer.output_elements


_COLS = 2
_ROWS = 1
_CHANNELS = (3, 6)


def vendor_tile(layer: ConvLayer, config: GemminiConfig = CHIP) -> ConvTile:
    """Return the tile that the vendor's library chooses.

    1. Start from the whole layer. Until it fits both (halved) buffers, make the longest side shorter: a channel side
       goes down to the next multiple of the array side (1 in place of 0), any other by one. Of equally long sides
       the first in the order of `ConvTile.sides` gives way. Output columns are spared while they are no longer than
       the array and more than one output row is left.
    2. Grow output columns by ones while the tile fits.
    3. Go round all sides, growing each by one where the tile still fits, until a round changes nothing.

    Source: ``tiled_conv_auto`` of gemmini-rocc-tests (``include/gemmini.h``, commit 180c468), without pooling, dilation
    and transposition; restated, not copied.

    Raises `AssumptionError` where not even a tile of one operation fits.
    """
    sizes = loop_sizes(layer)
    sides = list(sizes)

    def fits() -> bool:
        return tile_rows(layer, ConvTile(*sides), config).fit(config)

    def grow(index: int) -> bool:
        """Make one side longer by one where the layer and the buffers allow it, and say whether it was done."""
        sides[index] += 1
        if sides[index] <= sizes[index] and fits():
            return True
        sides[index] -= 1
        return False

    while not fits():
        spared = _COLS if sides[_COLS] <= config.array_side and sides[_ROWS] > 1 else None
        longest = max((index for index in range(len(sides)) if index != spared), key=lambda index: sides[index])
        if sides[longest] == 1:
            raise AssumptionError(Fault("not even a tile of one operation fits the buffers", source=layer.name))
        step = (sides[longest] % config.array_side or config.array_side) if longest in _CHANNELS else 1
        sides[longest] = max(1, sides[longest] - step)
    while grow(_COLS):
        pass
    while sum(grow(index) for index in range(len(sides))):
        pass
    return ConvTile(*sides)
