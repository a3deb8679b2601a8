"""An integer tile that fits the cache: the largest one, by branch and bound with the pieces of Theorem 2 as bounds."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import reduce
from typing import Any

import numpy as np

from jouleloop.errors import AssumptionError, Fault
from jouleloop.theory.counting import Floats, Ints
from jouleloop.theory.loop_nest.closed_form import ClosedForm, closed_form
from jouleloop.theory.loop_nest.nest import LoopNest, check_cache
from jouleloop.theory.loop_nest.programs import TileSolution, tile_at
from jouleloop.theory.simplex import Scale, powers

_SLACK = 1e-11
_BUDGET = 800_000
_NODE_COST = 128
_MOST_CANDIDATES = 1 << 18


class Fit(StrEnum):
    """What "fits in a cache of M words" means for a tile."""

    EACH = "each"
    """The paper's condition, Section 2: |φ_j(S)| <= M for every array by itself (constant factors dropped)."""
    SUM = "sum"
    """A real cache: Σ_j |φ_j(S)| <= M."""


@dataclass(frozen=True)
class IntegerTile:
    """A rectangular tile of whole numbers that fits."""

    sides: tuple[int, ...]
    """b_i, one a loop."""
    footprints_words: tuple[int, ...]
    """Words of every array that the tile touches."""
    fit: Fit
    optimal: bool
    """Whether it is proven that no integer tile that fits has more points."""

    @property
    def volume(self) -> int:
        """∏ b_i, operations of a tile."""
        return math.prod(self.sides)


def fits(nest: LoopNest, sides: Sequence[int], cache_words: int, fit: Fit) -> bool:
    """Whether a tile of these sides fits into M words."""
    footprints = nest.footprints_words(sides)
    return (max(footprints) if fit is Fit.EACH else sum(footprints)) <= cache_words


def integer_tile(
    nest: LoopNest,
    cache_words: int,
    *,
    fit: Fit = Fit.EACH,
    solution: TileSolution | None = None,
    form: ClosedForm | None = None,
    budget: int = _BUDGET,
) -> IntegerTile:
    """Return the integer tile of most points that fits, proven the largest unless ``budget`` runs out.

    Every vertex of the family of optimal tiles of LP (5.1) is rounded down and grown; branch and bound then looks for
    better. A part of the search is cut off where the HBL inequality ∏ |φ_j(S)|^(s_j) ∏ L_i^(ζ_i), over the pieces of
    the closed form, allows no more points than the best tile known.

    ``solution`` and ``form`` are those of LP (5.1) and Theorem 2, where they are known already. ``budget`` is the most
    work of branch and bound, in evaluated sides; a count, so that the answer is the same on any machine.

    Raises `AssumptionError` where not even a tile of one point fits.
    """
    check_cache(cache_words)
    start = (1,) * len(nest.loops)
    if not fits(nest, start, cache_words, fit):
        least = f"at least {len(nest.arrays)} words, one for each array"
        raise AssumptionError(
            Fault("not even a tile of one point fits", field="cache", value=cache_words, allowed=least)
        )
    solution = solution or tile_at(nest, Scale(cache_words, nest.bounds))
    form = form or closed_form(nest)
    search = _TileSearch(nest, cache_words, fit, form, budget)
    for vertex in solution.family:
        sides = tuple(
            min(bound, max(1, math.floor(cache_words ** solution.scale.value(exponent) * (1 + _SLACK))))
            for bound, exponent in zip(nest.bounds, vertex, strict=True)
        )
        search.offer(_shrunk(nest, sides, cache_words, fit))
    # Whether M^(c_0) ∏ L_i^(c_i) allows one point more, exactly.
    above, below, common = powers(form.least(solution.scale).form, (cache_words, *nest.bounds))
    if above < (math.prod(search.best) + 1) ** common * below:
        return IntegerTile(search.best, nest.footprints_words(search.best), fit, optimal=True)
    search.descend(0, [1] * len(nest.loops))
    footprints = nest.footprints_words(search.best)
    proven = search.complete and search.evaluations <= budget
    return IntegerTile(search.best, footprints, fit, proven)


def _shrunk(nest: LoopNest, sides: tuple[int, ...], cache_words: int, fit: Fit) -> tuple[int, ...]:
    """Shrink every side by one factor until the tile fits."""
    low, high = 0.0, 1.0
    if fits(nest, sides, cache_words, fit):
        return sides

    def scaled(factor: float) -> tuple[int, ...]:
        return tuple(max(1, math.floor(side**factor)) for side in sides)

    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if fits(nest, scaled(middle), cache_words, fit) else (low, middle)
    return scaled(low)


class _TileSearch:
    """Depth-first branch and bound over the sides, one loop after the other."""

    def __init__(self, nest: LoopNest, cache_words: int, fit: Fit, form: ClosedForm, budget: int) -> None:
        self.nest, self.cache_words, self.fit, self.budget = nest, cache_words, fit, budget
        self.best: tuple[int, ...] = (1,) * len(nest.loops)
        self.evaluations = 0
        self.complete = True
        # Loops in many arrays first: they tie the capacities most. Loops of equal support side by side.
        self.order = sorted(range(len(nest.loops)), key=lambda loop: (-len(nest.users(loop)), nest.users(loop)))
        self.weights = np.array([[float(s) for s in piece.array_weights] for piece in form.pieces])
        self.zeta = np.array([[float(z) for z in piece.loop_weights] for piece in form.pieces])
        self.log_bounds = np.log(np.array(nest.bounds, dtype=np.float64))
        totals = self.weights.sum(axis=1)
        self.constants: Floats = totals * math.log(cache_words)
        if fit is Fit.SUM:
            # The largest ∏ F_j^(s_j) under Σ F_j <= M is at F_j = M s_j / Σ s (weighted means).
            shares = np.divide(self.weights, totals[:, None], out=np.ones_like(self.weights), where=self.weights > 0)
            self.constants = self.constants + (self.weights * np.log(shares)).sum(axis=1)

    def offer(self, sides: tuple[int, ...]) -> None:
        """Take a tile that fits, grown as far as it goes, as the best where it is."""
        grown = list(sides)
        for _ in range(2):
            for loop in self.order:
                grown[loop] = int(self.room(loop, grown))
        self.take(grown)

    def room(self, loop: int, sides: Sequence[Any]) -> Any:
        """Return the largest side of ``loop`` that fits beside the other sides, of which one may be an array."""
        footprints = self.nest.footprints_words(
            [1 if position == loop else side for position, side in enumerate(sides)]
        )
        own = [footprints[array] for array in self.nest.users(loop)]
        if self.fit is Fit.EACH:
            most = self.cache_words // reduce(np.maximum, own)
        else:
            most = (self.cache_words - (sum(footprints) - sum(own))) // sum(own)
        return np.minimum(self.nest.bounds[loop], most)

    def descend(self, depth: int, sides: list[int]) -> None:
        """Branch on the loop at ``depth``; loops after it have side 1 as yet."""
        if self.evaluations > self.budget:
            return
        loop = self.order[depth]
        most = int(self.room(loop, sides))
        if depth == len(self.order) - 1:
            sides[loop] = most
            self.take(sides)
            sides[loop] = 1
            return
        if most > _MOST_CANDIDATES:
            candidates = most // np.arange(1, 65)
            self.complete = False
        else:
            candidates = np.arange(1, most + 1)
        if depth == len(self.order) - 2:
            self.evaluations += max(len(candidates), _NODE_COST)
            self.finish(sides, candidates)
            return
        self.evaluations += max(len(candidates) * len(self.zeta) // 8, _NODE_COST)
        bounds = self.upper_bounds(depth, sides, candidates)
        for index in np.argsort(-bounds, kind="stable"):
            # Volumes are whole numbers: a part that cannot reach one more point is cut off.
            if math.exp(min(bounds[index], 700.0)) * (1 + _SLACK) < math.prod(self.best) + 1:
                break
            sides[loop] = int(candidates[index])
            self.descend(depth + 1, sides)
        sides[loop] = 1

    def take(self, sides: Sequence[int]) -> None:
        """Take a tile that fits as the best where it has more points."""
        if math.prod(sides) > math.prod(self.best):
            self.best = tuple(sides)

    def finish(self, sides: list[Any], candidates: Ints) -> None:
        """Try every candidate for the last loop but one, each with the largest side of the last loop."""
        loop, last = self.order[-2:]
        sides[loop] = candidates
        most = np.broadcast_to(self.room(last, sides), candidates.shape)
        areas = candidates.astype(np.float64) * most
        # Floats may tie where whole numbers differ; all that come near are compared exactly.
        for index in np.flatnonzero(areas >= areas.max() * (1 - 1e-14)):
            sides[loop], sides[last] = int(candidates[index]), int(most[index])
            self.take(sides)
        sides[loop] = sides[last] = 1

    def upper_bounds(self, depth: int, sides: Sequence[int], candidates: Ints) -> Floats:
        """Return the log of an upper bound on the volume for every candidate side of the loop at ``depth``."""
        loop = self.order[depth]
        fixed = [position for position in self.order[:depth] if sides[position] > 1]
        logs = np.zeros(len(sides))
        logs[fixed] = np.log([sides[position] for position in fixed])
        later = self.order[depth + 1 :]
        users = self.weights[:, list(self.nest.users(loop))].sum(axis=1)
        covers = np.column_stack([self.weights[:, list(self.nest.users(i))].sum(axis=1) for i in fixed] or [users * 0])
        base = self.constants + self.zeta[:, later] @ self.log_bounds[later]
        base = base - (covers @ logs[fixed] if fixed else 0.0)
        own = np.log(candidates.astype(np.float64))
        volumes = base[:, None] - users[:, None] * own[None, :]
        least: Floats = volumes.min(axis=0) + logs.sum() + own
        return least
