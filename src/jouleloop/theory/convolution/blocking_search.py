"""Blockings that fit in fast memory: the integer one of fewest words, and the linear program of 001 §3.2, rounded."""

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from jouleloop.errors import AssumptionError, EngineError, Fault
from jouleloop.theory.convolution.blocking import (
    AxisTiles,
    BlockedVolume,
    Blocking,
    axis_tiles,
    blocked_volume,
    largest_blocking,
    moved_elements,
)
from jouleloop.theory.convolution.layer import (
    ARRAYS,
    FILTER,
    INPUT,
    OUTPUT,
    Precisions,
    memory_words,
    require_small_filter,
)
from jouleloop.theory.counting import Ints
from jouleloop.theory.layers import ConvLayer, useful_sides
from jouleloop.theory.simplex import linprog

Sides = tuple[int, int, int]
"""Outputs, quotients and residues of a tile of a spatial axis."""
_LOOPS = {INPUT: ("batch", "in_channels"), FILTER: ("in_channels", "out_channels"), OUTPUT: ("batch", "out_channels")}
"""The loops beside those of the window that an array depends on."""


def best_blocking(layer: ConvLayer, precisions: Precisions, memory: float | Fraction | str) -> BlockedVolume:
    """Return the blocked schedule with the fewest words among all integer blockings that fit in ``memory`` words.

    Every blocking of 001 §3.2 and every choice of the array kept through the innermost loops is covered: a side enters
    the volume only through its number of tiles, so the least side for each number of tiles suffices; cuts of a spatial
    axis that another cut beats in every number are dropped; and the last free side is the largest that fits.

    Raises `AssumptionError` where M cannot hold one element of each array.
    """
    size = memory_words(memory)
    if size < precisions.total:
        text = "the assumption M >= p_I + p_F + p_O fails: fast memory cannot hold one element of each array"
        least = f">= {float(precisions.total):g} words"
        raise AssumptionError(Fault(text, None, "memory", float(size), least))
    grid = _SpatialGrid(layer, precisions, size)
    candidates = [grid.best(kept) for kept in ARRAYS]
    return min((found for found in candidates if found is not None), key=lambda volume: volume.words)


def _axis_options(outputs: int, taps: int, stride: int) -> list[tuple[AxisTiles, Sides]]:
    """Return the ways to cut a spatial axis that no other one beats: every number of its tiles is better if smaller."""
    options: dict[AxisTiles, Sides] = {}
    for side in useful_sides(outputs):
        for quotients in range(1, -(-taps // stride) + 1):
            for residues in range(1, min(stride, taps) + 1):
                tiles = axis_tiles(outputs, taps, stride, side, quotients, residues)
                options.setdefault(tiles, (side, quotients, residues))
    table = np.array(list(options))
    return [
        (tiles, sides)
        for tiles, sides in options.items()
        if not np.any(np.all(table <= tiles, axis=1) & np.any(table < tiles, axis=1))
    ]


class _SpatialGrid:
    """All pairs of a width cut and a height cut as flat arrays, searched for one kept array at a time."""

    def __init__(self, layer: ConvLayer, precisions: Precisions, memory: Fraction) -> None:
        self.layer, self.precisions = layer, precisions
        self.widths, self.heights = _axis_options(*layer.along("width")), _axis_options(*layer.along("height"))
        # One common denominator turns every word count into a whole number.
        scale = math.lcm(*(precisions.of(array).denominator for array in ARRAYS))
        self.price = {array: int(precisions.of(array) * scale) for array in ARRAYS}
        worst = 4 * layer.macs * sum(self.price.values()) * (layer.stride_width * layer.stride_height)
        # Memory beyond everything that could be held changes nothing and must not overflow.
        self.memory = min(math.floor(memory * scale), worst)
        kind = np.int64 if worst < 2**62 else object
        width, height = (np.array([tiles for tiles, _ in axes], dtype=kind) for axes in (self.widths, self.heights))
        pairs = AxisTiles(*(np.multiply.outer(width[:, k], height[:, k]).ravel() for k in range(6)))
        self.pairs: Any = pairs

    def best(self, kept: str) -> BlockedVolume | None:
        """Return the best blocking that keeps ``kept``, or None where none fits."""
        layer = self.layer
        outer = "in_channels" if kept == INPUT else "out_channels"
        solved = "in_channels" if kept == FILTER else "batch"
        limit = getattr(layer, solved)
        winner: tuple[int, int, int, int] | None = None
        for side in useful_sides(getattr(layer, outer)):
            fixed, slope = self._memory_line(outer, side, solved)
            room = self.memory - fixed
            fits = room >= slope
            if not np.any(fits):
                continue
            index = np.flatnonzero(fits)
            largest = np.minimum(room[index] // slope[index], limit)
            words = self._words(kept, index, {outer: side, solved: largest})
            at = int(np.argmin(words))
            found = (int(words[at]), side, int(largest[at]), int(index[at]))
            winner = found if winner is None else min(winner, found)
        if winner is None:
            return None
        _, side, largest_side, position = winner
        _, width = self.widths[position // len(self.heights)]
        _, height = self.heights[position % len(self.heights)]
        sides_by_name = {outer: side, solved: -(-limit // -(-limit // largest_side))}
        blocking = Blocking(
            **dict(zip(("out_width", "width_quotients", "width_residues"), width, strict=True)),
            **dict(zip(("out_height", "height_quotients", "height_residues"), height, strict=True)),
            **sides_by_name,
        )
        return blocked_volume(layer, self.precisions, blocking, kept)

    def _memory_line(self, outer: str, side: int, solved: str) -> tuple[Ints, Ints]:
        """Return block words as fixed + slope × (the solved side), for the outer side given."""
        cells = {INPUT: self.pairs.input_side, FILTER: self.pairs.filter_side, OUTPUT: self.pairs.output_side}
        words = {
            array: self.price[array] * cells[array] * (side if outer in loops else 1) for array, loops in _LOOPS.items()
        }
        fixed, *slope = sorted(ARRAYS, key=lambda array: solved in _LOOPS[array])
        return words[fixed], words[slope[0]] + words[slope[1]]

    def _words(self, kept: str, index: Ints, sides: Mapping[str, int | Ints]) -> Ints:
        images, reductions, channels = (
            -(-getattr(self.layer, loop) // sides.get(loop, 1)) * tiles
            for loop, tiles in (
                ("batch", self.pairs.output_tiles[index]),
                ("in_channels", self.pairs.tap_tiles[index]),
                ("out_channels", 1),
            )
        )
        tiles = images, channels, reductions
        loaded, stored = moved_elements(self.layer, kept, tiles, self.pairs.input_total[index])
        result: Ints = sum(self.price[array] * (loaded[array] + stored[array]) for array in ARRAYS)
        return result


# Columns: b_N, b_cI, b_cO, b_wO, b_hO, b_wF', b_wF'', b_hF', b_hF''. This is the order in which the printed matrix
# agrees with inequalities (6); the printed vector B lists b_hF' before b_wF'' (docs/errata.md).
VARIABLES = (
    "batch",
    "in_channels",
    "out_channels",
    "out_width",
    "out_height",
    "width_quotients",
    "width_residues",
    "height_quotients",
    "height_residues",
)
_PRODUCTS = (
    ("batch", "out_channels", "out_width", "out_height"),
    ("in_channels", "out_channels", "width_quotients", "width_residues", "height_quotients", "height_residues"),
    ("batch", "in_channels", "out_width", "out_height", "width_residues", "height_residues"),
    ("batch", "in_channels", "out_width", "height_quotients", "width_residues", "height_residues"),
    ("batch", "in_channels", "width_quotients", "out_height", "width_residues", "height_residues"),
    ("batch", "in_channels", "width_quotients", "height_quotients", "width_residues", "height_residues"),
)


def constraint_matrix() -> tuple[tuple[int, ...], ...]:
    """Return A of 001 §3.2, built from inequalities (6): output, filter, and the four terms of the input block."""
    return tuple(tuple(int(name in product) for name in VARIABLES) for product in _PRODUCTS)


def solve_blocking_lp(layer: ConvLayer, precisions: Precisions, memory: float | Fraction | str) -> Blocking:
    """Return the optimum, rounded down: maximise Σ x, x = log_M B, under A x <= b and 0 <= x <= log_M of the bounds.

    b is 1 − log_M p_T for the output and filter blocks and 1 − log_M 4 p_T for each of the four terms of
    (b_wO + b_wF')(b_hO + b_hF'). Filter sides are at most w_F/σ_w and σ_w (001: "an expression of the filter size and
    strides"), here the whole numbers ⌈w_F/σ_w⌉ and min(σ_w, w_F).

    Raises `AssumptionError` where M < 4 p_T (a block of one element of each array breaks the constraints) or a filter
    is larger than stride × output.
    """
    require_small_filter(layer)
    size = memory_words(memory)
    if size < 4 * precisions.total or size <= 1:
        text = "the linear program of paper 001 §3.2 has no feasible block: its assumption M >= 4 p_T fails"
        raise AssumptionError(Fault(text, None, "memory", float(size), f">= {float(4 * precisions.total):g} words"))
    limits = largest_blocking(layer)
    matrix = np.array(constraint_matrix(), dtype=float)
    base = math.log(size)
    quarter = math.log(size / (4 * precisions.total)) / base
    rights = np.array([math.log(size / precisions.total) / base] * 2 + [quarter] * 4)
    uppers = np.array([math.log(getattr(limits, name)) / base for name in VARIABLES])
    solution = linprog(
        -np.ones(len(VARIABLES)), A_ub=matrix, b_ub=rights, bounds=[(0, upper) for upper in uppers], method="highs"
    )
    if not solution.success or solution.x is None:
        raise EngineError(f"the linear program solver stopped: {solution.message}")
    # A side that is a whole number but for rounding must not lose one.
    sides = (math.floor(float(size) ** float(x) * (1 + 1e-9)) for x in solution.x)
    whole = {name: max(1, min(side, getattr(limits, name))) for name, side in zip(VARIABLES, sides, strict=True)}
    return Blocking(**whole)
