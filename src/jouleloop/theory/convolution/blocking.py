"""A blocking of the nine loops of 001 §3.2: exact block sizes, whether they fit, and the words a schedule moves.

The filter loops are split as i_6 = σ_w q + r (the small-filter trick), so a block has nine sides. A block keeps one
rectangle of each array in fast memory; blocks are visited by three nested groups of loops, and the array that does not
depend on the innermost group stays where it is while that group runs.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import Any, NamedTuple

from jouleloop.theory.convolution.layer import ARRAYS, FILTER, INPUT, OUTPUT, Precisions
from jouleloop.theory.layers import ConvLayer


@dataclass(frozen=True)
class Blocking:
    """Sides of a block, in loop iterations (B of 001 §3.2)."""

    batch: int = 1
    in_channels: int = 1
    out_channels: int = 1
    out_width: int = 1
    out_height: int = 1
    """b_N, b_cI, b_cO, b_wO and b_hO."""
    width_quotients: int = 1
    height_quotients: int = 1
    """b_wF' and b_hF', over q = ⌊i_6/σ_w⌋ and ⌊i_7/σ_h⌋."""
    width_residues: int = 1
    height_residues: int = 1
    """b_wF'' and b_hF'', over r = i_6 mod σ_w and i_7 mod σ_h."""

    def sides(self) -> tuple[int, ...]:
        """Return the nine sides in the order of the attributes."""
        return tuple(getattr(self, field.name) for field in fields(self))


def largest_blocking(layer: ConvLayer) -> Blocking:
    """Return the block that is the whole layer: the upper limit of every side."""
    return Blocking(
        layer.batch,
        layer.in_channels,
        layer.out_channels,
        layer.out_width,
        layer.out_height,
        -(-layer.filter_width // layer.stride_width),
        -(-layer.filter_height // layer.stride_height),
        min(layer.stride_width, layer.filter_width),
        min(layer.stride_height, layer.filter_height),
    )


def tap_tiles(taps: int, stride: int, quotients: int, residues: int) -> tuple[tuple[int, ...], ...]:
    """Return the nonempty tiles of one filter axis, each as the number of taps per residue in the tile.

    A tile holds the taps stride·q + r < ``taps`` with q and r in a range each; where the stride does not divide the
    filter, tiles at the end hold fewer, and those with none are skipped.
    """
    tiles = []
    for first_q in range(0, -(-taps // stride), quotients):
        for first_r in range(0, min(stride, taps), residues):
            counts = []
            for residue in range(first_r, min(first_r + residues, stride, taps)):
                available = len(range(residue, taps, stride))
                count = min(first_q + quotients, available) - first_q
                if count > 0:
                    counts.append(count)
            if counts:
                tiles.append(tuple(counts))
    return tuple(tiles)


class AxisTiles(NamedTuple):
    """One spatial axis cut into tiles of outputs and of taps."""

    output_tiles: int
    tap_tiles: int
    """How many tiles there are of each."""
    input_total: int
    """Input cells summed over all pairs of an output tile and a tap tile."""
    input_side: int
    filter_side: int
    output_side: int
    """Cells of the largest block: input, filter, output."""


def axis_tiles(outputs: int, taps: int, stride: int, side: int, quotients: int, residues: int) -> AxisTiles:
    """Count the tiles of one spatial axis; ``side``, ``quotients`` and ``residues`` are the block's sides on it.

    A run of ``a`` outputs with ``n`` taps of one residue reads a + n − 1 input cells of that residue.
    """
    tiles = tap_tiles(taps, stride, quotients, residues)
    output_tiles = -(-outputs // side)
    total = sum(outputs + output_tiles * (count - 1) for tile in tiles for count in tile)
    first = tiles[0]
    return AxisTiles(
        output_tiles, len(tiles), total, sum(side + count - 1 for count in first), sum(first), min(side, outputs)
    )


@dataclass(frozen=True)
class BlockedVolume:
    """Exactly what a blocked schedule moves between slow and fast memory, and how much fast memory it needs."""

    blocking: Blocking
    kept: str
    """The block and the array that stays in fast memory through the innermost loops."""
    loaded: Mapping[str, int]
    stored: Mapping[str, int]
    words: Fraction
    block_words: Fraction
    """Fast memory for the largest block of the three arrays together, in words."""

    def describe(self) -> str:
        """Return the block in the paper's symbols, the array kept, and the memory it takes."""
        symbols = ("N", "cI", "cO", "wO", "hO", "wF'", "hF'", "wF''", "hF''")
        sides = " ".join(f"{symbol}={side}" for symbol, side in zip(symbols, self.blocking.sides(), strict=True))
        return f"block {sides}; {self.kept} kept; {float(self.block_words):g} words of fast memory"


def block_elements(layer: ConvLayer, blocking: Blocking) -> dict[str, int]:
    """Return the elements of the largest block by array, exactly; it is the block at the origin."""
    width, height = _both_axes(layer, blocking)
    return {
        INPUT: blocking.batch * blocking.in_channels * width.input_side * height.input_side,
        FILTER: blocking.in_channels * blocking.out_channels * width.filter_side * height.filter_side,
        OUTPUT: blocking.batch * blocking.out_channels * width.output_side * height.output_side,
    }


def blocked_volume(layer: ConvLayer, precisions: Precisions, blocking: Blocking, kept: str = OUTPUT) -> BlockedVolume:
    """Return what the blocked schedule moves when ``kept`` is the array of the innermost reuse.

    An array is loaded once for every tile of the loops it does not depend on, except the kept one, which is loaded
    once. An output block is not loaded on its first visit, and is stored at the end of each visit.
    """
    width, height = _both_axes(layer, blocking)
    image_tiles = -(-layer.batch // blocking.batch) * width.output_tiles * height.output_tiles
    channel_tiles = -(-layer.out_channels // blocking.out_channels)
    reduction_tiles = -(-layer.in_channels // blocking.in_channels) * width.tap_tiles * height.tap_tiles
    loaded, stored = moved_elements(
        layer, kept, (image_tiles, channel_tiles, reduction_tiles), width.input_total * height.input_total
    )
    words = sum((precisions.of(array) * (loaded[array] + stored[array]) for array in ARRAYS), Fraction())
    block = block_elements(layer, blocking)
    need = sum((precisions.of(array) * block[array] for array in ARRAYS), Fraction())
    return BlockedVolume(blocking, kept, loaded, stored, words, need)


def moved_elements(
    layer: ConvLayer, kept: str, tiles: tuple[Any, Any, Any], input_total: Any
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the elements loaded and stored by array.

    ``tiles`` are those of the image, of output channels and of the reduction, ``input_total`` the input cells of one
    map summed over pairs of tiles: numbers, or arrays of them.
    """
    images, channels, reductions = tiles
    visits = {INPUT: channels, FILTER: images, OUTPUT: reductions} | {kept: 1}
    loaded = {
        INPUT: layer.batch * layer.in_channels * input_total * visits[INPUT],
        FILTER: layer.filter_elements * visits[FILTER],
        OUTPUT: layer.output_elements * (visits[OUTPUT] - 1),
    }
    return loaded, {INPUT: 0, FILTER: 0, OUTPUT: layer.output_elements * visits[OUTPUT]}


def best_order(layer: ConvLayer, precisions: Precisions, blocking: Blocking) -> BlockedVolume:
    """Return the volume of ``blocking`` with the innermost loops that move the fewest words."""
    return min((blocked_volume(layer, precisions, blocking, kept) for kept in ARRAYS), key=lambda volume: volume.words)


def _both_axes(layer: ConvLayer, blocking: Blocking) -> tuple[AxisTiles, AxisTiles]:
    width = blocking.out_width, blocking.width_quotients, blocking.width_residues
    height = blocking.out_height, blocking.height_quotients, blocking.height_residues
    return axis_tiles(*layer.along("width"), *width), axis_tiles(*layer.along("height"), *height)
