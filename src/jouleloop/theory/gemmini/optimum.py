"""Integer tiles on Gemmini: the one that moves least, proven by enumeration, and the largest that the words allow."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction

import numpy as np

from jouleloop.errors import AssumptionError, Fault, InputError
from jouleloop.theory.counting import Floats, Ints
from jouleloop.theory.gemmini.tile import (
    CHIP,
    ConvTile,
    GemminiConfig,
    checked,
    estimated_rows,
    tile_rows,
    traffic_words,
    window_pixels,
)
from jouleloop.theory.layers import ConvLayer, useful_sides

_ACCUMULATOR_ROWS_LIMIT = 1 << 15


class Objective(StrEnum):
    """What the best tile minimises."""

    ESTIMATE = "estimate"
    """The paper's estimated communication: rows allocated per tile × operations / operations of a tile."""
    TRAFFIC = "traffic"
    """Words between DRAM and chip over the whole layer, tiles at the edges cut off."""


@dataclass(frozen=True)
class OptimalTile:
    """A tile that no other beats."""

    tile: ConvTile
    value: Fraction
    """The objective: buffer rows (`Objective.ESTIMATE`) or words (`Objective.TRAFFIC`)."""
    candidates: int
    """Tiles evaluated; all others are dominated by one of them."""


def optimal_tile(
    layer: ConvLayer,
    config: GemminiConfig = CHIP,
    *,
    objective: Objective = Objective.ESTIMATE,
    whole_image: bool = False,
) -> OptimalTile:
    """Return the tile that minimises communication on a chip (that of 001 Section 5 by default), exactly.

    For the estimate, (rows of a tile) / (operations of a tile): for a given number of channel groups the rows do not
    depend on the output channels, and grow less than in proportion with the input channels, so the longest sides of a
    group that fit are best. All batch, row, column and filter sides are enumerated.

    For the traffic only the number of tiles along each loop counts, so of all sides with the same number the shortest
    stands for all; input channels do not count, the longest that fits is returned.

    With ``whole_image`` the output image is not tiled (001 Section 5, for conv5).

    Raises `AssumptionError` where no tile fits; `InputError` where the accumulator is too large to enumerate.
    """
    checked(layer)
    if config.accumulator_rows > _ACCUMULATOR_ROWS_LIMIT:
        most = f"at most {_ACCUMULATOR_ROWS_LIMIT} rows for a tile"
        raise InputError(Fault("the accumulator is too large", allowed=most))
    best: OptimalTile | None = None
    evaluated = 0
    search = _by_estimate if objective is Objective.ESTIMATE else _by_traffic
    for tiles in search(layer, config, whole_image=whole_image):
        evaluated += tiles.shape[1]
        if not tiles.size:
            continue
        # Floats find the few that come near, fractions decide among them.
        values = _rough_values(layer, config, objective, tiles)
        for index in np.flatnonzero(values <= values.min() * (1 + 1e-12)):
            tile = ConvTile(*(int(side) for side in tiles[:, index]))
            if objective is Objective.ESTIMATE:
                exact = estimated_rows(layer, tile, config)
            else:
                exact = Fraction(traffic_words(layer, tile))
            if best is None or (exact, -tile.operations) < (best.value, -best.tile.operations):
                best = OptimalTile(tile, exact, 0)
    if best is None:
        where = " with the whole image" if whole_image else ""
        raise AssumptionError(Fault(f"no tile fits the buffers{where}", source=layer.name))
    if not tile_rows(layer, best.tile, config).fit(config):
        raise ArithmeticError("the best tile does not fit")
    return OptimalTile(best.tile, best.value, evaluated)


def output_blocks(most: int, *sides: Ints) -> Ints:
    """Return all (channels or groups of them, batch, rows, cols) of these sides with a product of at most ``most``.

    Shape (4, blocks), in lexical order of channels, rows, cols, batch; the sides are in ascending order.
    """
    channels, batches, rows, cols = sides
    parts = [np.empty((4, 0), dtype=np.int64)]
    for row in rows[rows <= most]:
        for col in cols[cols <= most // row]:
            fitting = channels[channels <= most // (row * col)]
            counts = np.searchsorted(batches, most // (row * col * fitting), side="right")
            part = np.empty((4, int(counts.sum())), dtype=np.int64)
            starts = np.repeat(np.cumsum(counts) - counts, counts)
            part[0], part[1] = np.repeat(fitting, counts), batches[np.arange(part.shape[1]) - starts]
            part[2], part[3] = row, col
            parts.append(part)
    blocks = np.concatenate(parts, axis=1)
    return blocks[:, np.lexsort(blocks[[1, 3, 2, 0]])]


def _rough_values(layer: ConvLayer, config: GemminiConfig, objective: Objective, tiles: Ints) -> Floats:
    """Return the objective of every column of ``tiles`` in floating point, for the estimate but for a factor."""
    if objective is Objective.TRAFFIC:
        return np.asarray(traffic_words(layer, ConvTile(*tiles.astype(np.float64))))
    many = ConvTile(*tiles)
    rows = tile_rows(layer, many, config)
    return np.asarray((rows.scratchpad + rows.outputs) / many.operations)


def _tiles(*sides: Ints | int) -> Ints:
    """Return tiles as columns, from sides in the order of `ConvTile`, numbers standing for all tiles."""
    return np.array(np.broadcast_arrays(*sides), dtype=np.int64)


def _by_estimate(layer: ConvLayer, config: GemminiConfig, *, whole_image: bool) -> Iterator[Ints]:
    side = config.array_side
    image = [np.arange(size if whole_image else 1, size + 1) for size in (layer.out_height, layer.out_width)]
    channel_groups, batches = np.arange(1, -(-layer.out_channels // side) + 1), np.arange(1, layer.batch + 1)
    groups, batch, rows, cols = output_blocks(config.accumulator_rows, channel_groups, batches, *image)
    out_channels = np.minimum(groups * side, layer.out_channels)
    for filter_rows in range(1, layer.filter_height + 1):
        for filter_cols in range(1, layer.filter_width + 1):
            window = batch * window_pixels(layer, rows, cols, filter_rows, filter_cols)
            filters = groups * filter_rows * filter_cols
            for in_groups in range(1, -(-layer.in_channels // side) + 1):
                longest = min(in_groups * side, layer.in_channels)
                channels = np.minimum((config.scratchpad_rows - in_groups * window) // filters, longest)
                # A side that needs fewer groups is met there, with fewer rows.
                keep = channels > (in_groups - 1) * side
                fitting = (array[keep] for array in (batch, rows, cols, out_channels))
                yield _tiles(*fitting, filter_rows, filter_cols, channels[keep])


def _by_traffic(layer: ConvLayer, config: GemminiConfig, *, whole_image: bool) -> Iterator[Ints]:
    image = [np.array([n] if whole_image else useful_sides(n)) for n in (layer.out_height, layer.out_width)]
    batches = np.array(useful_sides(layer.batch))
    for channels in useful_sides(layer.out_channels):
        groups = np.array([-(-channels // config.array_side)])
        _, batch, rows, cols = output_blocks(config.accumulator_rows, groups, batches, *image)
        for filter_rows in useful_sides(layer.filter_height):
            for filter_cols in useful_sides(layer.filter_width):
                filters = int(groups[0] * filter_rows * filter_cols)
                window = batch * window_pixels(layer, rows, cols, filter_rows, filter_cols)
                keep = window + filters <= config.scratchpad_rows
                longest = _longest_channels(layer, config, window[keep], filters)
                yield _tiles(batch[keep], rows[keep], cols[keep], channels, filter_rows, filter_cols, longest)


def _longest_channels(layer: ConvLayer, config: GemminiConfig, window: Ints, filters: int) -> Ints:
    """Return the longest input-channel side that fits beside each input window."""
    best = np.zeros(len(window), dtype=np.int64)
    for groups in range(1, -(-layer.in_channels // config.array_side) + 1):
        room = (config.scratchpad_rows - groups * window) // filters
        best = np.maximum(best, np.minimum(room, min(groups * config.array_side, layer.in_channels)))
    return best


def largest_tiles(layer: ConvLayer, config: GemminiConfig = CHIP) -> list[ConvTile]:
    """Return every integer tile of most operations under capacities in words (128 K and 8 K on the default chip).

    Source: 001 Section 5: problem (6), with one buffer for inputs and filter and integral sides.
    """
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
    return tiles
