"""The largest convolution tiles under capacities in words: the problem that paper 001 solves for Gemmini."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from jouleloop.theory.gemmini.optimum import output_blocks
from jouleloop.theory.gemmini.tile import ConvTile, GemminiConfig, estimated_rows, tile_rows
from jouleloop.theory.gemmini.vendor import vendor_tile
from jouleloop.theory.layers import ConvLayer


@dataclass(frozen=True)
class LargestTiles:
    """All tiles of most operations whose words fit, and what their estimated communication would be."""

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
    sizes = (layer.out_channels, layer.batch, layer.out_height, layer.out_width)
    outs, batch, rows, cols = output_blocks(accumulator, *(np.arange(1, size + 1) for size in sizes))
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
    ratios = tuple(estimated_rows(layer, tile, config) / vendor for tile in tiles)
    return LargestTiles(best, tuple(tiles), ratios, tuple(tile_rows(layer, tile, config).fit(config) for tile in tiles))
