"""The integer blocking that moves the fewest words among all that fit in fast memory, by exhaustive search."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from jouleloop.errors import AssumptionError, Fault
from jouleloop.theory.convolution.blocking import BlockedVolume, Blocking, axis_tiles, blocked_volume
from jouleloop.theory.convolution.layer import ARRAYS, FILTER, INPUT, OUTPUT, Precisions, memory_words
from jouleloop.theory.layers import ConvLayer

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class _Axis:
    """One way to cut a spatial axis, with what it costs; every number is better when smaller."""

    side: int
    quotients: int
    residues: int
    cost: tuple[int, int, int, int, int, int]


def useful_sides(length: int) -> tuple[int, ...]:
    """Return the least side for every possible number of tiles of ``length``: any other side is never better."""
    return tuple(sorted({-(-length // tiles) for tiles in {-(-length // side) for side in range(1, length + 1)}}))


def best_blocking(layer: ConvLayer, precisions: Precisions, memory: float | Fraction | str) -> BlockedVolume:
    """Return the blocked schedule with the fewest words among all integer blockings that fit in ``memory`` words.

    Every blocking of 001 §3.2 and every choice of the array kept through the innermost loops is covered: a side enters
    the volume only through its number of tiles, so the least side for each number of tiles suffices; cuts of a spatial
    axis that another cut beats in every number are dropped; and the last free side is the largest that fits.

    Raises `AssumptionError` where M cannot hold one element of each array.
    """
    size = memory_words(memory)
    if size < precisions.total:
        raise AssumptionError(
            Fault(
                "the assumption M >= p_I + p_F + p_O fails: fast memory cannot hold one element of each array",
                None,
                "memory",
                float(size),
                f">= {float(precisions.total):g} words",
            )
        )
    widths = _axis_options(layer.out_width, layer.filter_width, layer.stride_width)
    heights = _axis_options(layer.out_height, layer.filter_height, layer.stride_height)
    grid = _SpatialGrid(layer, precisions, size, widths, heights)
    candidates = [grid.best(kept) for kept in ARRAYS]
    return min((found for found in candidates if found is not None), key=lambda volume: volume.words)


def _axis_options(outputs: int, taps: int, stride: int) -> tuple[_Axis, ...]:
    options: dict[tuple[int, ...], _Axis] = {}
    for side in useful_sides(outputs):
        for quotients in range(1, -(-taps // stride) + 1):
            for residues in range(1, min(stride, taps) + 1):
                tiles = axis_tiles(outputs, taps, stride, side, quotients, residues)
                cost = (
                    tiles.input_side,
                    tiles.filter_side,
                    tiles.output_side,
                    tiles.input_total,
                    tiles.output_tiles,
                    tiles.tap_tiles,
                )
                options.setdefault(cost, _Axis(side, quotients, residues, cost))
    table = np.array(list(options))
    kept = [
        axis
        for cost, axis in options.items()
        if not np.any(np.all(table <= np.array(cost), axis=1) & np.any(table < np.array(cost), axis=1))
    ]
    return tuple(kept)


class _SpatialGrid:
    """All pairs of a width cut and a height cut as flat arrays, searched for one kept array at a time."""

    def __init__(
        self,
        layer: ConvLayer,
        precisions: Precisions,
        memory: Fraction,
        widths: tuple[_Axis, ...],
        heights: tuple[_Axis, ...],
    ) -> None:
        self.layer, self.precisions = layer, precisions
        self.widths, self.heights = widths, heights
        # One common denominator turns every word count into a whole number.
        scale = math.lcm(*(precisions.of(array).denominator for array in ARRAYS))
        self.price = {array: int(precisions.of(array) * scale) for array in ARRAYS}
        worst = 4 * layer.macs * sum(self.price.values()) * (layer.stride_width * layer.stride_height)
        # Memory beyond everything that could be held changes nothing and must not overflow.
        self.memory = min(math.floor(memory * scale), worst)
        kind = np.int64 if worst < 2**62 else object
        costs = [np.array([axis.cost for axis in axes], dtype=kind) for axes in (widths, heights)]
        pairs = [np.multiply.outer(costs[0][:, k], costs[1][:, k]).ravel() for k in range(6)]
        self.input_side, self.filter_side, self.output_side = pairs[0], pairs[1], pairs[2]
        self.input_total, self.output_tiles, self.tap_tiles = pairs[3], pairs[4], pairs[5]

    def best(self, kept: str) -> BlockedVolume | None:
        """Return the best blocking that keeps ``kept``, or None where none fits."""
        layer = self.layer
        if kept == INPUT:
            outer, solved, limit = "in_channels", "batch", layer.batch
            sides: Iterable[int] = useful_sides(layer.in_channels)
        elif kept == FILTER:
            outer, solved, limit = "out_channels", "in_channels", layer.in_channels
            sides = useful_sides(layer.out_channels)
        else:
            outer, solved, limit = "out_channels", "batch", layer.batch
            sides = useful_sides(layer.out_channels)
        winner: tuple[int, int, int, int] | None = None
        for side in sides:
            fixed, slope = self._memory_line(kept, side)
            room = self.memory - fixed
            fits = room >= slope
            if not np.any(fits):
                continue
            index = np.flatnonzero(fits)
            largest = np.minimum(room[index] // slope[index], limit)
            words = self._words(kept, index, side, largest)
            at = int(np.argmin(words))
            found = (int(words[at]), side, int(largest[at]), int(index[at]))
            winner = found if winner is None else min(winner, found)
        if winner is None:
            return None
        _, side, largest_side, position = winner
        width, height = self.widths[position // len(self.heights)], self.heights[position % len(self.heights)]
        sides_by_name = {outer: side, solved: -(-limit // -(-limit // largest_side))}
        blocking = Blocking(
            out_width=width.side,
            out_height=height.side,
            width_quotients=width.quotients,
            height_quotients=height.quotients,
            width_residues=width.residues,
            height_residues=height.residues,
            **sides_by_name,
        )
        return blocked_volume(layer, self.precisions, blocking, kept)

    def _memory_line(self, kept: str, side: int) -> tuple[Ints, Ints]:
        """Return block words as fixed + slope × (the solved side), for the outer side given."""
        inputs = self.price[INPUT] * self.input_side
        filters = self.price[FILTER] * self.filter_side
        outputs = self.price[OUTPUT] * self.output_side
        if kept == INPUT:
            return filters * side, inputs * side + outputs
        if kept == FILTER:
            return outputs * side, inputs + filters * side
        return filters * side, inputs + outputs * side

    def _words(self, kept: str, index: NDArray[np.intp], side: int, solved: Ints) -> Ints:
        layer, price = self.layer, self.price
        inputs = price[INPUT] * layer.batch * layer.in_channels * self.input_total[index]
        filters = price[FILTER] * layer.filter_elements
        outputs = price[OUTPUT] * layer.output_elements
        images, taps = self.output_tiles[index], self.tap_tiles[index]
        result: Ints
        if kept == INPUT:
            image_tiles = -(-layer.batch // solved) * images
            reductions = -(-layer.in_channels // side) * taps
            result = inputs + filters * image_tiles + outputs * (2 * reductions - 1)
        elif kept == FILTER:
            channel_tiles = -(-layer.out_channels // side)
            reductions = -(-layer.in_channels // solved) * taps
            result = inputs * channel_tiles + filters + outputs * (2 * reductions - 1)
        else:
            channel_tiles = -(-layer.out_channels // side)
            image_tiles = -(-layer.batch // solved) * images
            result = inputs * channel_tiles + filters * image_tiles + outputs
        return result
