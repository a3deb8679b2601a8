"""What crosses between two levels of loops that need not divide: words at least, and what they cost."""

import itertools
import math
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from jouleloop.proof.boxes import beside, offsets_of, values
from jouleloop.proof.design import Design, Factors, Keep
from jouleloop.proof.unrolled import Unrolled, kept

Floats = npt.NDArray[np.float64]

#: An unrolling: factors by level, and by level and dimension whether some of those units are never used.
Unrolling = tuple[tuple[Factors, ...], tuple[tuple[bool, ...], ...]]


class Halo(NamedTuple):
    """What windows do along a dimension, as shares of the rank's words: docs/proof.md, "Times of windows"."""

    #: Words that pass without a slide; the same where two of its loops may cancel (*a loop that stands*).
    again: float
    rested: float
    #: What passes while the dimension stays in its last tile, and what of a box is still there when it begins again.
    box: float
    over: float


@dataclass
class Crossing:
    """What a data space moves between two levels that keep it; ``child`` -1: the compute units."""

    space: int
    child: int
    parent: int
    #: Words asked for, and those that reach a unit on average, at least.
    asked: float = 0.0
    filled: float = 0.0
    #: What a word asked for costs [pJ], an output that is read back, and one filled into all children.
    asked_pj: float = 0.0
    again_pj: float = 0.0
    filled_pj: float = 0.0
    #: Outputs that are not read back, and not filled, the first time, at most.
    spared: float = 0.0
    free: float = 0.0
    #: What all cost [pJ] if they pass once.
    once_pj: float = 0.0
    #: Whether no unit takes words from its neighbours.
    linkless: bool = False
    halos: dict[int, Halo] = field(default_factory=dict)
    #: By dimension, the share of the units that the last pass needs.
    used: tuple[float, ...] = ()

    def price(self, times: Floats | float, fill_times: Floats | float) -> Floats | float:
        """Energy [pJ] of words that are asked for and filled so many times, at least; a word is lost to rounding."""
        words = self.asked * times - 1
        again, filled = np.maximum(0.0, words - self.spared), np.maximum(0.0, self.filled * fill_times - 1 - self.free)
        found: Floats | float = words * self.asked_pj + again * self.again_pj + filled * self.filled_pj
        return found


class Crossings(Unrolled):
    """What crosses in one unrolling under one choice of what is kept."""

    def __init__(self, design: Design, keep: Keep, unrolling: Unrolling) -> None:
        super().__init__(design, keep, unrolling[0])
        self.idle = unrolling[1]
        self.levels, self.dims = len(design.levels), range(len(design.bounds))
        #: Units from a level outward, by dimension.
        self.beyond = [
            [math.prod(row[d] for row in self.factors[k:]) for d in self.dims] for k in range(self.levels + 2)
        ]
        #: By data space and dimension: whether it is moved, the other dimension of the rank (-1: none), and the step.
        self.moves = [[False for _ in self.dims] for _ in design.spaces]
        self.mate = [[-1 for _ in self.dims] for _ in design.spaces]
        self.step = [[0 for _ in self.dims] for _ in design.spaces]
        for v, ranks in enumerate(design.ranks):
            for rank in ranks:
                moving = [d for d in rank if design.bounds[d] > 1]
                for d in moving:
                    self.moves[v][d], self.step[v][d] = True, rank[d]
                    self.mate[v][d] = next((e for e in moving if e != d), -1)
        pairs = [
            (v, child, parent)
            for v in range(len(design.spaces))
            for child, parent in itertools.pairwise([-1, *(k for k in range(self.levels) if keep[k][v])])
        ]
        #: Before any tile is known.
        self.crossings = [self.settle(Crossing(*pair), None) for pair in pairs]

    def computes_pj(self) -> float:
        """Energy [pJ] of all operations, at least."""
        bounds, units = self.design.bounds, math.prod(self.beyond[0])
        points = math.prod(-(-b // self.beyond[1][d]) / self.factors[0][d] for d, b in enumerate(bounds))
        return (points * units * (1 - 1e-12) - 1) * float(self.design.compute * self.design.unit_pj)

    def settle(self, crossing: Crossing, tiles: tuple[Factors, Factors] | None) -> Crossing:
        """Return a crossing with the words that cross at least; ``tiles``: the child's, at least and at most."""
        v, child, bounds = crossing.space, crossing.child, self.design.bounds
        found = Crossing(v, child, crossing.parent)
        factors, beyond = self.factors[child + 1], self.beyond[child + 2]
        mate, moves = self.mate[v], self.moves[v]
        sharing = any(mate[d] >= 0 and factors[d] > 1 for d in self.dims)
        if tiles is not None and sharing:
            found.linkless = not self._may_link(v, child + 1, *tiles)
        elif tiles is not None:
            found.linkless = max(mate) >= 0
        asked = filled = 1.0
        for d, bound in enumerate(bounds):
            boxes = -(-bound // tiles[0][d]) if tiles else 2
            if not moves[d]:
                if (tiles or self.idle[child + 1][d]) and boxes < factors[d]:
                    filled *= boxes / factors[d]
            elif mate[d] < 0:
                words = -(-bound // beyond[d])
                if tiles:
                    words = max(words, self.pieces(child + 1, d, (tiles[0][d], tiles[1][d]), -(-boxes // beyond[d])))
                asked *= words
                filled *= words / factors[d]
            elif mate[d] > d:
                here, there = factors[d], factors[mate[d]]
                words = self.along(v, d, child + (1 if found.linkless else 2), tiles)
                asked *= words * (max(here, there) if found.linkless else 1)
                filled *= words / (1 if found.linkless else here * there)
        if child < 0 and all(f == 1 for f in self.factors[0]):
            asked = math.prod(-(-b // self.beyond[1][d]) for d, b in enumerate(bounds))
        asked *= self.widest(child + 2, crossing.parent, v)
        if not found.linkless and sharing:
            for d in self.dims:
                if not moves[d] and not self.idle[child + 1][d]:
                    filled /= factors[d]
        found.asked, found.filled = float(asked), filled
        self.charge(found)
        if tiles is not None and max(mate) >= 0:
            self.slide(found, *tiles)
        return found

    def pieces(self, first: int, d: int, tiles: tuple[int, int], number: int) -> int:
        """Words of so many tiles: all are whole if several units of a fan-out next to them work in the last pass."""
        left = boxes = -(-self.design.bounds[d] // tiles[0])
        for level in range(first, self.levels):
            factor = self.factors[level][d]
            if factor > 1 and (left - 1) % factor > 0:
                return number * tiles[0]
            left = -(-left // factor)
            slot = self.design.temporal[level]
            if (slot.fixed[d] or slot.most[d]) > 1:
                # A loop may stand here.
                break
        return (number - 1) * tiles[1] + self.design.bounds[d] - (boxes - 1) * tiles[1]

    def along(self, v: int, d: int, first: int, tiles: tuple[Factors, Factors] | None) -> int:
        """Words along the rank of two dimensions that are seen inside all that is unrolled from a level outward."""
        pair = (d, self.mate[v][d])
        steps = (self.step[v][pair[0]], self.step[v][pair[1]])
        units = [self.beyond[first][e] for e in pair]
        shares = [-(-self.design.bounds[e] // n) for e, n in zip(pair, units, strict=True)]
        whole = [tiles is not None and tiles[0][e] >= n for e, n in zip(pair, shares, strict=True)]
        solid = (units[0] == 1 or whole[0], units[1] == 1 or whole[1])
        # A dimension whose run has gaps counts as one that is not seen as a whole.
        words = values(dict(enumerate(steps)), shares, [n + (not one) for n, one in zip(shares, solid, strict=True)])
        if tiles is not None:
            for a, b in ((0, 1), (1, 0)):
                length = steps[b] * (shares[b] - 1) + 1
                if whole[b] and length < steps[a]:
                    number = min(-(-self.design.bounds[pair[a]] // tiles[0][pair[a]]), shares[a])
                    words = max(words, steps[a] * (shares[a] - number) + number * length)
        return words

    def spared(self, level: int, v: int) -> float:
        """Words of a level that need no read before the first write, at most (*partitions*)."""
        words = float(math.prod(b for d, b in enumerate(self.design.bounds) if self.moves[v][d]))
        for k in range(level + 1, self.levels):
            for d, f in enumerate(self.factors[k]):
                if f > 1 and self.moves[v][d] and not self.idle[k][d]:
                    words /= f - 1
        return words

    def _each_pj(self, k: int) -> float:
        """What a word costs in all instances of a level, in units of its energy."""
        level = self.design.levels[k]
        return min(self.instances[k], level.clusters) * float(self.design.unit_pj) / level.block_words

    def charge(self, crossing: Crossing) -> None:
        """Write what words of a crossing cost [pJ], and how many outputs need no read and no fill (*price*)."""
        v, written = crossing.space, self.design.written[crossing.space]
        each, (read, write, *_) = self._each_pj(crossing.parent), self.design.energies[crossing.parent]
        crossing.asked_pj = each * (write if written else read)
        if written:
            crossing.again_pj, crossing.spared = each * read, self.spared(crossing.parent, v)
        if crossing.child >= 0:
            crossing.filled_pj = self._each_pj(crossing.child) * self.design.energies[crossing.child][1]
            crossing.free = self.spared(crossing.child, v) if written and self.design.elided else 0.0
        crossing.once_pj = float(crossing.price(1.0, 1.0))

    def slide(self, crossing: Crossing, extent: Factors, largest: Factors) -> None:
        """Write what windows do along every rank that two dimensions move (*times*)."""
        v, child, bounds = crossing.space, crossing.child, self.design.bounds
        tiles = (extent, largest)
        for a, b in enumerate(self.mate[v]):
            if b < a:
                continue
            first = child + (1 if crossing.linkless else 2)
            pair, steps = (a, b), (self.step[v][a], self.step[v][b])
            spread = [1 if crossing.linkless else self.factors[child + 1][d] for d in pair]
            alone = [self.beyond[child + 2][d] == 1 for d in pair]
            share = [-(-bounds[d] // self.beyond[first][d]) for d in pair]
            boxes = [-(-bounds[d] // extent[d]) for d in pair]
            number = [-(-n // self.beyond[child + 1][d]) for n, d in zip(boxes, pair, strict=True)]
            words = self.along(v, a, first, tiles)
            side = 1 + sum(s * (n * largest[d] - 1) for s, n, d in zip(steps, spread, pair, strict=True))
            reach = list(steps)
            if spread[0] * spread[1] > 1:
                # The boxes of all units together may have gaps.
                for one, other in ((0, 1), (1, 0)):
                    solid = steps[other] == 1 and alone[other] and number[other] == 1
                    reach[one] = min(steps[one], share[other]) if solid else 1
            least = math.inf
            few = [min(number[i], share[i]) for i in (0, 1)]
            for n_a in {few[0], few[0] if alone[0] else share[0]}:
                for n_b in {few[1], few[1] if alone[1] else share[1]}:
                    sides = reach[0] * (share[0] - n_a) * n_b + reach[1] * (share[1] - n_b) * n_a + n_a * n_b
                    least = min(least, sides / words)
            again = max(1.0, least)
            rested = 1.0 if self._may_cancel(pair, steps, tiles) else again
            divide = all(e != m or n % e == 0 for e, m, n in zip(extent, largest, bounds, strict=True))
            for i, d in enumerate(pair):
                # Without a remainder iterations 0 and 1 alone are run: loops fall back from there (rule 3).
                back = min(number[i] - 1, 1) if divide and not crossing.linkless else number[i] - 1
                move = steps[i] * extent[d] * spread[i] * back
                over = min(1.0, max(0.0, side - move) / words)
                # While one dimension stays in its last tile the other goes through all of its own.
                o = 1 - i
                further = side + steps[o] * max(0, share[o] - spread[o] * largest[pair[o]])
                through = min(further, side * (number[o] if alone[o] else share[o]))
                crossing.halos[d] = Halo(again, rested, min(1.0, through / words), over)

    def _may_cancel(self, pair: tuple[int, int], steps: tuple[int, int], tiles: tuple[Factors, Factors]) -> bool:
        """Whether one dimension of a rank may move a centre on by just as much as the other falls back.

        The centre of a last, smaller tile lies half of what it lacks before that of a whole one.
        """
        bounds, (extent, largest) = self.design.bounds, tiles
        if any(extent[d] >= bounds[d] for d in pair):
            return False
        if any(extent[d] != largest[d] for d in pair):
            return True
        moves = [
            {
                2 * n * s * extent[d] - last
                for n in range(1, -(-bounds[d] // extent[d]))
                for last in (0, s * (-bounds[d] % extent[d]))
            }
            for s, d in zip(steps, pair, strict=True)
        ]
        return bool(moves[0] & moves[1])

    @kept
    def _may_link(self, v: int, k: int, extent: Factors, largest: Factors) -> bool:
        """Whether a unit may take words from a mesh neighbour once a step has moved the box (*no links*)."""
        factors, bounds = self.factors[k], self.design.bounds
        unrolled = [d for d in self.dims if factors[d] > 1]
        for d in unrolled:
            moves = self.moves[v][d]
            if (moves or len(unrolled) > 1) and -(-bounds[d] // extent[d]) % factors[d] > 0:
                return True
            if moves and extent[d] != largest[d]:
                return True
        ranks = self.design.ranks[v]
        apart = []
        for rank in ranks:
            moves_by = [
                c * factors[d] * (extent[d] if extent[d] == largest[d] else 1)
                for d, c in rank.items()
                if bounds[d] > extent[d] * factors[d]
            ]
            apart.append(math.gcd(*moves_by))
        for order in self.design.spatial_orders(k, factors):
            steps = tuple((f, tuple(rank.get(d, 0) * extent[d] for rank in ranks)) for d, f, _ in order)
            offsets = offsets_of(steps, len(ranks))
            beside_each = ((here, beside(unit, *self.design.levels[k].fanout)) for unit, here in enumerate(offsets))
            for here, there in ((one, offsets[o]) for one, others in beside_each for o in others if o < len(offsets)):
                between = [b - a for a, b in zip(here, there, strict=True)]
                multiples = (x % g == 0 if g else x == 0 for x, g in zip(between, apart, strict=True))
                if any(between) and all(multiples):
                    return True
        return False

    def entered(self, k: int, extent: Factors, largest: Factors, left: Factors) -> tuple[float, list[Crossing]]:
        """Return the crossings whose tile is known at a level, and by how much [pJ] they cost more than before."""
        more, found = 0.0, []
        for crossing in self.crossings:
            if k > 0 and crossing.child == k - 1:
                known = self.settle(crossing, (extent, largest))
                known.used = tuple(
                    ((n - 1) % f + 1) / f if n >= f else 1.0 for n, f in zip(left, self.factors[k], strict=True)
                )
                # Of units that hand nothing on fewer words may be known than of all together.
                known.once_pj = max(known.once_pj, crossing.once_pj)
                more += known.once_pj - crossing.once_pj
                found.append(known)
        return more, found
