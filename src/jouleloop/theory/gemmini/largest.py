"""The largest convolution tiles under capacities in words: the problem that paper 001 solves for Gemmini."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from jouleloop.theory.gemmini.tile import ConvTile, GemminiConfig, estimated_rows, tile_rows
from jouleloop.theory.gemmini.vendor import vendor_tile
from jouleloop.theory.layers import ConvLayer

IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True)
class LargestTiles:
    """All tiles of most operations whose words fit, and what their estimated communication would be."""

    layer: ConvLayer
    operations: int
    """Operations of each of the tiles."""
    tiles: tuple[ConvTile, ...]
    ratios: tuple[Fraction, ...]
    """Estimated communication over the vendor's, a number a tile."""
    fit_rows: tuple[bool, ...]
    """Whether the tile fits the rows that Gemmini allocates too, a flag a tile."""


def largest_tiles(layer: ConvLayer, config: GemminiConfig | None = None) -> LargestTiles:
    """Return every integer tile of most operations under capacities in words (128 K and 8 K on the default chip).

    Source: 001 Section 5: problem (6), with one buffer for inputs and filter and integral sides.
    """
    config = config or GemminiConfig()
    scratchpad = config.scratchpad_rows * config.array_side
    accumulator = config.accumulator_rows * config.array_side
    batch, rows, cols, outs = _output_blocks(layer, accumulator)
    best = 0
    tiles: list[ConvTile] = []
    filters = [(r, s) for r in range(1, layer.filter_height + 1) for s in range(1, layer.filter_width + 1)]
    for filter_rows, filter_cols in sorted(filters, key=lambda pair: -pair[0] * pair[1]):
        if accumulator * filter_rows * filter_cols * layer.in_channels < best:
            continue
        window = ((rows - 1) * layer.stride + filter_rows) * ((cols - 1) * layer.stride + filter_cols)
        words = batch * window + outs * (filter_rows * filter_cols)
        channels = np.minimum(layer.in_channels, scratchpad // words)
        operations = batch * rows * cols * outs * channels * (filter_rows * filter_cols)
        most = int(operations.max())
        if most > best:
            best, tiles = most, []
        if most == best > 0:
            tiles += [
                ConvTile(*map(int, (batch[i], rows[i], cols[i], outs[i], filter_rows, filter_cols, channels[i])))
                for i in np.flatnonzero(operations == best)
            ]
    vendor = estimated_rows(layer, vendor_tile(layer, config), config)
    return LargestTiles(
        layer,
        best,
        tuple(tiles),
        tuple(estimated_rows(layer, tile, config) / vendor for tile in tiles),
        tuple(tile_rows(layer, tile, config).fit(config) for tile in tiles),
    )


def _output_blocks(layer: ConvLayer, words: int) -> tuple[IntArray, IntArray, IntArray, IntArray]:
    """Return all (batch, rows, cols, output channels) whose product is at most ``words``."""
    parts = []
    for row in range(1, min(layer.out_height, words) + 1):
        for col in range(1, min(layer.out_width, words // row) + 1):
            room = words // (row * col)
            outs = np.arange(1, min(layer.out_channels, room) + 1)
            counts = np.minimum(layer.batch, room // outs)
            starts = np.repeat(np.cumsum(counts) - counts, counts)
            part = np.empty((4, int(counts.sum())), dtype=np.int64)
            part[0] = np.arange(part.shape[1]) - starts + 1
            part[1], part[2], part[3] = row, col, np.repeat(outs, counts)
            parts.append(part)
    blocks = np.concatenate(parts, axis=1)
    return blocks[0], blocks[1], blocks[2], blocks[3]
