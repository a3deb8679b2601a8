"""The lemmas of `docs/proof.md` in exact integers: what a boundary costs at least."""

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from jouleloop.proof.boxes import values
from jouleloop.proof.charges import Charges, Energy
from jouleloop.proof.design import Factors, divisors
from jouleloop.proof.unrolled import DOUBLES, kept, meet, within

#: A temporal loop: dimension, bound, indices that one iteration moves.
Loop = tuple[int, int, int]


class Steps(NamedTuple):
    """Words that enter one instance: by steps that no link serves, that links may serve, and that stand still."""

    plain: int
    moved: int = 0
    standing: int = 0


class Boundaries(Charges):
    """What boundaries cost at least under one choice of what is kept and one unrolling."""

    @kept
    def units(self) -> Energy:
        """Energy of all operations and of what the compute units ask for, at least."""
        total: Energy = self.design.compute * math.prod(self.design.bounds)
        # Lemma *leakage*: a cycle a step, at least.
        total += sum(row[3] * n for row, n in zip(self.design.energies, self.instances, strict=True)) * self.steps
        for v in self.spaces:
            plain, asked = self.asked_by_units(v)
            boxes = self.unit_words(v)
            words = math.ceil(asked * boxes) * self.widest(1, self.parent(-1, v) or 0, v)
            total += self.price(-1, v, words, 0, math.ceil(plain) * boxes, 1)
        return total

    def count(self, level: int, v: int, tile: Factors, loops: Sequence[Loop]) -> Steps:
        """Words through the boundary below ``level`` by kind of step; ``loops`` stand outside it, outermost first."""
        design = self.design
        extent = self.extent(level, tile)
        full = design.words(v, extent)
        sides = [1 + sum(c * (extent[d] - 1) for d, c in rank.items()) for rank in design.ranks[v]]
        distances = self.distances(level, v, extent)
        plain, moved, standing = full, 0, 0
        behind = [0] * len(sides)
        first: list[int] | None = None
        part, waits = 0, False
        calls = math.prod(bound for _, bound, _ in loops)
        for d, bound, step in reversed(loops):
            calls //= bound
            number = (bound - 1) * calls
            moves = [rank.get(d, 0) * step for rank in design.ranks[v]]
            need = [move - back for move, back in zip(moves, behind, strict=True)]
            behind = [back + move for back, move in zip(behind, moves, strict=True)]
            if design.resting and not any(need):
                # A step that stands is none; those of the innermost loops let nothing be handed on.
                waits = waits or first is None
                continue
            if first is None:
                first = need
                part = _new_words(full, sides, need)
            near = not waits and all(within(n, *apart) for n, apart in zip(need, distances, strict=True))
            if need == first:
                plain, moved = (plain, moved + number * part) if near else (plain + number * part, moved)
            elif part < full or not near:
                plain += number * full
            elif any(need):
                moved += number * full
            else:
                standing += number * full
        if not self.coincide(level, v):
            return Steps(plain + standing, moved)
        return Steps(plain, moved, standing)

    def cross(self, level: int, v: int, words: Steps, tile: Factors | None = None, times: int = 1) -> Energy:
        """Energy of what crosses below ``level`` for one data space, at least; words count so many ``times``."""
        boxes = math.prod(self.offsets(level, v, None if tile is None else self.extent(level, tile)))
        sent, filled = words.plain * boxes, words.plain // times
        # What is filled may be a sum of unequal doubles.
        if words.moved or words.standing or (tile is None and not self.design.single[v] and self.coincide(level, v)):
            sent += words.moved * self.ends(level, v)
            apart, share = Fraction(1, self.instances[level]), self.share(level, v)
            each = words.plain + words.moved * (share + (1 - share) * apart) + words.standing * apart
            filled = math.floor(each / times * (1 - DOUBLES))
        asked = sent * self.widest(level + 1, self.parent(level - 1, v) or 0, v) // times
        return self.price(level - 1, v, asked, filled, sent, times)

    def certain(self, level: int, tile: Factors, loops: Sequence[Loop]) -> Energy:
        """Energy of the boundary below ``level``, all loops outside it being chosen, at least."""
        return sum(self.cross(level, v, self.count(level, v, tile, loops), tile) for v in self.crossed[level])

    def once(self) -> Energy:
        """Energy of a nest, at least: every word comes in once (*every word once*)."""
        return self.units() + sum([self.repeated(k, v, 1) for k, own in self.crossed.items() for v in own])

    @kept
    def repeated(self, level: int, v: int, times: int) -> Energy:
        """Energy of what crosses the boundary below a level for one data space, every word so many times."""
        first, row = level, self.factors[level]
        if level in self.unrolled and any(sum(row[d] > 1 for d in rank) > 1 for rank in self.design.open_ranks[v]):
            # How far apart two dimensions of a rank go hangs on what is unrolled further in.
            first = 0
        key = level, times, self.keep_of[v], self.factors[first:], self.design.own[v]
        known: dict[Any, Energy] = self.design.crossings
        if key not in known:
            seen, bounds = self.extent(level, self.rest), self.design.bounds
            words = times * math.prod([values(rank, seen, bounds) for rank in self.design.open_ranks[v]])
            known[key] = self.cross(level, v, Steps(0, words) if self.near(level, v) else Steps(words))
        return known[key]

    def times(self, v: int, tile: Factors, j: int | None, start: Factors) -> int:
        """How often every word passes a boundary that ends at a tile, and all further in, at least (*further in*)."""
        if j is None or not self.design.single[v]:
            return 1
        at = start if self.design.still[v][j] else tile
        return math.prod([self.rest[d] // at[d] for d in self.design.stays[v]])

    def boundary(self, level: int, v: int, tile: Factors, j: int | None, start: Factors) -> Energy:
        """Energy of what crosses for one data space; ``j`` is the innermost loop outside, of run ``start``."""
        if j is None:
            return self.cross(level, v, self.count(level, v, tile, ()), tile)
        still = self.design.still[v]
        if not still[j]:
            alone = self.design.shared[v][j] is None
            return self._whole(level, v, tile) if alone else self._sliding(level, v, tile, j, start[j])
        # Lemma *trailing run*: its steps read nothing, as if its loops stood inside.
        at = tuple([there if there and stays else here for here, there, stays in zip(tile, start, still, strict=True)])
        return self._trailing(level, v, at)

    @kept
    def _whole(self, level: int, v: int, tile: Factors) -> Energy:
        """The same where every step fetches the whole box."""
        outside = math.prod(self.rest) // math.prod(tile)
        return self.cross(level, v, Steps(self.design.words(v, self.extent(level, tile)) * outside), tile)

    @kept
    def _trailing(self, level: int, v: int, tile: Factors) -> Energy:
        """The same where loops that stand inside leave the box in place, and no others are known."""
        outside = [rest // size for rest, size in zip(self.rest, tile, strict=True)]
        # Only the innermost loop of a window surely moves.
        sliding = [d for d, rank in enumerate(self.design.shared[v]) if rank is not None and outside[d] > 1]
        if self.design.resting and sliding:
            # Lemma *windows that rest*: any loop over a shared rank may be the innermost that moves.
            return min(self._sliding(level, v, tile, d, 0, trailing=True) for d in sliding)
        primes = [divisors(self.rest[d])[1] for d in sliding if self._may_cancel(level, v, tile, d, outside)]
        least = min(primes, default=1)
        if least == 1:
            return self._whole(level, v, tile)
        words = self.design.words(v, self.extent(level, tile)) * math.prod(outside)
        return self.cross(level, v, Steps(words * (least - 1)), tile, least)

    @kept
    def _sliding(self, level: int, v: int, tile: Factors, j: int, start: int, *, trailing: bool = False) -> Energy:
        """Lemma *strides beyond an unrolling*; ``trailing``: loops inside the tile moved nothing, so no link serves."""
        strides = {tile[j] * inside[j] for inside in self.inside[level:]}
        return min(self._slid(level, v, tile, j, start, one, trailing=trailing) for one in strides)

    def _slid(self, level: int, v: int, tile: Factors, j: int, start: int, stride: int, *, trailing: bool) -> Energy:
        """Lemmas *sliding window*, *moves within reach*, *steps unlike the innermost*, one iteration moving so far."""
        design, inside, extent = self.design, self.inside[level], self.extent(level, tile)
        outside = [rest // size for rest, size in zip(self.rest, tile, strict=True)]
        rank = design.shared[v][j] or 0
        coef, full = design.ranks[v][rank], design.words(v, extent)
        along = [d for d in coef if design.shared[v][d] == rank]
        length = 1 + sum(c * (extent[d] - 1) for d, c in coef.items())
        span = {d: coef[d] * tile[d] * inside[d] for d in along}
        most = {d: design.bounds[d] // (tile[d] * inside[d]) - 1 for d in along}
        others = [d for d in along if d != j and outside[d] > 1]
        cancel = bool(others) and self._may_cancel(level, v, tile, j, outside)
        far, grid = (0, 0) if trailing else self.distances(level, v, extent)[rank]
        step, linked = coef[j] * stride, within(coef[j] * stride, far, grid)
        total = math.prod(outside)
        if step < length:
            alike = len(others) > 1
            if len(others) == 1:
                # Whether a step over the other dimension, or past one, may move like the innermost.
                moves = (span[others[0]] * i for i in range(1, most[others[0]] + 1))
                alike = any(move % span[j] == 0 and move <= span[j] * (most[j] + 1) for move in moves)
            rounds = total // math.prod(outside[d] for d in (along if alike else [j]))
            beyond = outside[j] * tile[j] // start if start else 1
            if not alike and beyond > 1:
                # Loops beyond the run slide only past loops that leave the box in place, one of which is the innermost.
                stays = any(n > 1 and design.still[v][d] for d, n in enumerate(outside))
                rounds = -(-rounds * (beyond + 1) // 2) if stays else rounds * beyond
            new = (total - rounds) * (full // length * step)
            steps = Steps(rounds * full, new) if linked else Steps(rounds * full + new)
            return self.cross(level, v, steps, tile, 2 if cancel and design.resting else 1)
        words = total * full
        if not cancel and (trailing or not meet([(span[d], most[d]) for d in (j, *others)], far, grid)):
            return self.cross(level, v, Steps(words), tile)
        # Counted as often as the innermost loop's least bound: of its steps, all but one, the move is known.
        least = divisors(self.rest[j])[1]
        last = Steps(0, words)
        if cancel and design.resting:
            last = Steps(0)
        elif cancel and self.coincide(level, v):
            last = Steps(0, 0, words)
        elif cancel and not self.near(level, v):
            last = Steps(words)
        known = Steps(0, words * (least - 1)) if linked else Steps(words * (least - 1))
        return self.cross(level, v, Steps(*map(sum, zip(known, last, strict=True))), tile, least)

    def _may_cancel(self, level: int, v: int, tile: Factors, j: int, outside: list[int]) -> bool:
        """Whether the loops outside over a rank may leave it in place together (*windows that cannot stand*)."""
        design, shared = self.design, self.design.shared[v]
        moving = [d for d, rank in enumerate(shared) if rank == shared[j] and outside[d] > 1]
        if len(moving) != 2:
            return len(moving) > 1
        spans = [tile[d] * self.inside[level][d] for d in moving]
        steps = [abs(design.ranks[v][shared[j] or 0][d]) * span for d, span in zip(moving, spans, strict=True)]
        limits = [design.bounds[d] // span for d, span in zip(moving, spans, strict=True)]
        return all(math.lcm(*steps) // step < limit for step, limit in zip(steps, limits, strict=True))


def _new_words(full: int, sides: list[int], move: list[int]) -> int:
    """Words of a box beyond the box before it, which lies ``move`` behind."""
    moving = [r for r, value in enumerate(move) if value]
    if not moving:
        return 0
    if len(moving) > 1 or abs(move[moving[0]]) >= sides[moving[0]]:
        return full
    return full // sides[moving[0]] * abs(move[moving[0]])
