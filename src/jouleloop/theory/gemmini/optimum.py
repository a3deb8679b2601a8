"""The integer tile that moves least on Gemmini, proven optimal by enumerating all that is not dominated."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from jouleloop.errors import AssumptionError, Fault, InputError
from jouleloop.theory.gemmini.tile import (
    ConvTile,
    GemminiConfig,
    checked,
    downsampled,
    estimated_rows,
    loop_sizes,
    tile_rows,
    traffic,
)
from jouleloop.theory.layers import ConvLayer

_ACCUMULATOR_ROWS_LIMIT = 1 << 15

IntArray = npt.NDArray[np.int64]


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
    config: GemminiConfig | None = None,
    *,
    objective: Objective = Objective.ESTIMATE,
    whole_image: bool = False,
) -> OptimalTile:
    """Return the tile that minimises communication, exactly.

    For the estimate, (rows of a tile) / (operations of a tile): for a given number of channel groups the rows do not
    depend on the output channels, and grow less than in proportion with the input channels, so the longest sides of a
    group that fit are best. All batch, row, column and filter sides are enumerated.

    For the traffic only the number of tiles along each loop counts, so of all sides with the same number the shortest
    stands for all; input channels do not count, the longest that fits is returned.

    Raises `AssumptionError` where no tile fits; `InputError` where the accumulator is too large to enumerate.

    Parameters
    ----------
    layer
        The layer.
    config
        The chip; the one of 001 Section 5 by default.
    objective
        What is minimised.
    whole_image
        Whether the output image must not be tiled (001 Section 5, for conv5).
    """
    checked(layer)
    config = config or GemminiConfig()
    if config.accumulator_rows > _ACCUMULATOR_ROWS_LIMIT:
        raise InputError(
            Fault("the accumulator is too large", allowed=f"at most {_ACCUMULATOR_ROWS_LIMIT} rows for a tile")
        )
    search = _by_estimate if objective is Objective.ESTIMATE else _by_traffic
    best: tuple[Fraction, ConvTile] | None = None
    evaluated = 0
    for values, tiles in search(layer, config, whole_image=whole_image):
        evaluated += len(values)
        if not len(values):
            continue
        # Floats find the few that come near, fractions decide among them.
        for index in np.flatnonzero(values <= values.min() * (1 + 1e-12)):
            tile = ConvTile(*(int(side) for side in tiles[index]))
            exact = (
                estimated_rows(layer, tile, config)
                if objective is Objective.ESTIMATE
                else Fraction(traffic(layer, tile).total_words)
            )
            if best is None or (exact, -tile.operations) < (best[0], -best[1].operations):
                best = (exact, tile)
    if best is None:
        raise AssumptionError(
            Fault("no tile fits the buffers" + (" with the whole image" if whole_image else ""), source=layer.name)
        )
    if not tile_rows(layer, best[1], config).fit(config):
        raise ArithmeticError("the best tile does not fit")
    return OptimalTile(best[1], best[0], evaluated)


def _windows(layer: ConvLayer, pixels: IntArray, filter_side: int | IntArray) -> IntArray:
    window: IntArray = pixels * layer.stride + filter_side - 1
    return window // 2 if downsampled(layer) else window


def _blocks(config: GemminiConfig, groups: IntArray, sides: tuple[IntArray, IntArray, IntArray]) -> IntArray:
    """Return all (channel groups, batch, rows, cols) whose outputs fit the accumulator, one a row."""
    most = config.accumulator_rows
    batches, rows, cols = sides
    parts = []
    for group in groups[groups <= most]:
        for row in rows[rows <= most // group]:
            pixels = cols[cols <= most // (group * row)]
            for col in pixels:
                fitting = batches[batches <= most // (group * row * col)]
                block = np.empty((len(fitting), 4), dtype=np.int64)
                block[:, 0], block[:, 1], block[:, 2], block[:, 3] = group, fitting, row, col
                parts.append(block)
    return np.concatenate(parts) if parts else np.empty((0, 4), dtype=np.int64)


def _by_estimate(
    layer: ConvLayer, config: GemminiConfig, *, whole_image: bool
) -> Iterator[tuple[npt.NDArray[np.float64], IntArray]]:
    side = config.array_side
    all_rows = np.arange(layer.out_height if whole_image else 1, layer.out_height + 1)
    all_cols = np.arange(layer.out_width if whole_image else 1, layer.out_width + 1)
    most_groups = -(-layer.out_channels // side)
    batches = np.arange(1, layer.batch + 1)
    blocks = _blocks(config, np.arange(1, most_groups + 1), (batches, all_rows, all_cols))
    groups, batch, rows, cols = blocks.T
    outputs = groups * batch * rows * cols
    out_channels = np.minimum(groups * side, layer.out_channels)
    for filter_rows in range(1, layer.filter_height + 1):
        for filter_cols in range(1, layer.filter_width + 1):
            window = batch * _windows(layer, rows, filter_rows) * _windows(layer, cols, filter_cols)
            filters = groups * filter_rows * filter_cols
            for in_groups in range(1, -(-layer.in_channels // side) + 1):
                inputs = in_groups * window
                longest = min(in_groups * side, layer.in_channels)
                in_channels = np.minimum((config.scratchpad_rows - inputs) // filters, longest)
                # A side that needs fewer groups is met there, with fewer rows.
                keep = in_channels > (in_groups - 1) * side
                channels = in_channels[keep]
                total = inputs[keep] + filters[keep] * channels + outputs[keep]
                points = (outputs[keep] // groups[keep]) * out_channels[keep] * channels * filter_rows * filter_cols
                fixed = np.ones(len(channels), dtype=np.int64)
                tiles = np.column_stack(
                    [
                        batch[keep],
                        rows[keep],
                        cols[keep],
                        out_channels[keep],
                        fixed * filter_rows,
                        fixed * filter_cols,
                        channels,
                    ]
                )
                yield total / points, tiles


def _by_traffic(
    layer: ConvLayer, config: GemminiConfig, *, whole_image: bool
) -> Iterator[tuple[npt.NDArray[np.float64], IntArray]]:
    side = config.array_side

    def shortest(size: int) -> IntArray:
        return np.array(sorted({-(-size // count) for count in range(1, size + 1)}), dtype=np.int64)

    image_rows = np.array([layer.out_height]) if whole_image else shortest(layer.out_height)
    image_cols = np.array([layer.out_width]) if whole_image else shortest(layer.out_width)
    for channels in shortest(layer.out_channels):
        groups = np.array([-(-channels // side)])
        blocks = _blocks(config, groups, (shortest(layer.batch), image_rows, image_cols))
        _, batch, rows, cols = blocks.T
        for filter_rows in shortest(layer.filter_height):
            for filter_cols in shortest(layer.filter_width):
                filters = groups * filter_rows * filter_cols
                window = batch * _windows(layer, rows, filter_rows) * _windows(layer, cols, filter_cols)
                keep = window + filters <= config.scratchpad_rows
                if not keep.any():
                    continue
                fixed = np.ones(int(keep.sum()), dtype=np.int64)
                in_channels = _longest_channels(layer, config, window[keep], int(filters[0]))
                tiles = np.column_stack(
                    [
                        batch[keep],
                        rows[keep],
                        cols[keep],
                        fixed * channels,
                        fixed * filter_rows,
                        fixed * filter_cols,
                        in_channels,
                    ]
                )
                yield _words(layer, tiles), tiles


def _longest_channels(layer: ConvLayer, config: GemminiConfig, window: IntArray, filters: int) -> IntArray:
    """Return the longest input-channel side that fits beside each input window."""
    best = np.zeros(len(window), dtype=np.int64)
    for groups in range(1, -(-layer.in_channels // config.array_side) + 1):
        room = (config.scratchpad_rows - groups * window) // filters
        best = np.maximum(best, np.minimum(room, min(groups * config.array_side, layer.in_channels)))
    return best


def _words(layer: ConvLayer, tiles: IntArray) -> npt.NDArray[np.float64]:
    sizes = np.array(loop_sizes(layer), dtype=np.int64)
    batches, rows, cols, groups, filter_rows, filter_cols, _ = (-(-sizes // tiles)).T.astype(np.float64)
    step = 1 if downsampled(layer) else layer.stride
    window_rows = filter_rows * step * (layer.out_height - rows) + rows * layer.filter_height
    window_cols = filter_cols * step * (layer.out_width - cols) + cols * layer.filter_width
    inputs = float(layer.batch * layer.in_channels) * window_rows * window_cols * groups
    weights = float(layer.in_channels * layer.out_channels * layer.filter_height * layer.filter_width)
    outputs = float(layer.batch * layer.out_channels * layer.out_height * layer.out_width)
    words: npt.NDArray[np.float64] = inputs + weights * batches * rows * cols + outputs
    return words
