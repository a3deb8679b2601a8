"""The lemmas of `docs/proof.md` in exact integers: what a boundary costs at least, and all that lies further in."""

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import cache, cached_property
from typing import NamedTuple

from jouleloop.proof.charges import Charges
from jouleloop.proof.design import Design, Factors

#: What Timeloop adds in doubles and cuts to an integer can be this much less, relatively, than the exact sum.
DOUBLES = Fraction(1, 10**12)
#: A temporal loop: dimension, bound, indices that one iteration moves.
Loop = tuple[int, int, int]
Energy = float | Fraction


class Steps(NamedTuple):
    """Words that enter one instance: by steps that no link serves, that links may serve, and that stand still."""

    plain: int
    moved: int
    standing: int


class Merging:
    """Which unrollings share their bounds (lemma *merged unrollings*)."""

    def __init__(self, design: Design) -> None:
        self.design = design
        last = len(design.levels) - 1
        self.empty = [
            k
            for k, level in enumerate(design.levels[:last])
            if all(f == 1 for f in level.temporal.fixed)
            and not any(any(keep[k]) for keep in design.keeps)
            and not any(one.leak for one in design.levels)
            and not design.wired
            and not design.gapped
        ]
        #: By level, the outermost level that its factors are moved to.
        self.origin = list(range(last + 1))
        for k in reversed(self.empty):
            self.origin[k] = self.origin[k + 1]

    def representative(self, unrolling: tuple[Factors, ...]) -> tuple[Factors, ...]:
        """The unrolling with all factors that share no rank moved outward across levels that hold and loop nothing."""
        factors = [list(level) for level in unrolling]
        for k in self.empty:
            for d in range(len(self.design.dims)):
                if all(shared[d] is None for shared in self.design.shared):
                    factors[k + 1][d] *= factors[k][d]
                    factors[k][d] = 1
        return tuple(tuple(level) for level in factors)


class Bounds:
    """Lower bounds under one choice of what is kept and one unrolling; energies count `Design.unit_pj`."""

    def __init__(self, design: Design, keep: tuple[tuple[bool, ...], ...], factors: tuple[Factors, ...]) -> None:
        self.design, self.keep, self.factors = design, keep, factors
        self.origin = Merging(design).origin
        dims = range(len(design.dims))
        #: Unrolled indices inside each level, its own fan-out included; utilized instances of each level.
        self.inside = [
            tuple(math.prod(level[d] for level in factors[: k + 1]) for d in dims) for k in range(len(factors))
        ]
        self.instances = [math.prod(math.prod(level) for level in factors[k + 1 :]) for k in range(len(factors))]
        self.rest = tuple(b // self.inside[-1][d] for d, b in enumerate(design.bounds))
        self.steps = math.prod(self.rest)
        self.charges = Charges(design, factors) if design.wired else None
        self._inward: dict[tuple[int, Factors, int | None, Factors], Energy] = {}
        self._cost: dict[tuple[int, Factors, int, Factors], Energy] = {}

    @cached_property
    def kinds(self) -> list[int | None]:
        """By dimension its kind: those that leave one data space in place are of one kind; None where it moves all."""
        design = self.design
        dims = range(len(design.dims))
        kind: list[int | None] = [None] * len(design.dims)
        for d in dims:
            if any(design.idle(v, d) for v in range(len(design.spaces))):
                kind[d] = d
        for v in range(len(design.spaces)):
            together = {kind[d] for d in dims if design.idle(v, d)}
            kind = [min(k for k in together if k is not None) if k in together and k is not None else k for k in kind]
        return kind

    # Hardware: what is fixed by the unrolling.

    def parent(self, child: int, v: int) -> int | None:
        """The next level outside that keeps a data space."""
        return next((k for k in range(child + 1, len(self.keep)) if self.keep[k][v]), None)

    def offsets(self, k: int, v: int, extent: Factors | None = None) -> list[int]:
        """By rank, distinct offsets at least among the instances below a level (lemma *distinct boxes*).

        Their tiles have these extents, or any.
        """
        return [self._offsets(k, rank, extent) for rank in self.design.ranks[v]]

    def _offsets(self, k: int, rank: Mapping[int, int], extent: Factors | None) -> int:
        wide = [d for d in rank if self.factors[k][d] > 1]
        if len(wide) != 2:
            return max((self.factors[k][d] for d in wide), default=1)
        inside = self.inside[k - 1] if k else (1,) * len(self.rest)
        sizes = [divisors(self.rest[d]) if extent is None else (extent[d] // inside[d],) for d in wide]
        (m, a), (n, b) = ((self.factors[k][d], abs(rank[d]) * inside[d]) for d in wide)
        # Only what both steps are to each other matters.
        steps = {(a * i // math.gcd(a * i, b * j), b * j // math.gcd(a * i, b * j)) for i in sizes[0] for j in sizes[1]}
        return min(_sums(m, n, *step) for step in steps)

    def chain(self, first: int, last: int, v: int) -> int:
        """Words asked of level ``last`` per word asked inside ``first``, across levels that bypass (lemma *bypass*)."""
        return math.prod(
            max((self.factors[k][d] for d in rank), default=1)
            for k in range(first, last + 1)
            for rank in self.design.ranks[v]
        )

    def unrolled_ranks(self, k: int, v: int) -> list[int]:
        """The shared ranks that are unrolled at a level."""
        shared = self.design.shared[v]
        return sorted({r for d, r in enumerate(shared) if r is not None and self.factors[k][d] > 1})

    def coincide(self, k: int, v: int) -> bool:
        """Whether two instances below a level may hold one box, whichever of the merged unrollings is meant."""
        shared = self.design.shared[v]
        here = [shared[d] for d, f in enumerate(self.factors[k]) if f > 1 and shared[d] is not None]
        idle = [d for d in range(len(shared)) if shared[d] is None and self.design.idle(v, d)]
        moved_here = any(self.factors[m][d] > 1 for m in range(k, self.origin[k] + 1) for d in idle)
        return moved_here or len(here) > len(set(here))

    def partition(self, k: int, v: int) -> int:
        """Words that one instance of a level ever sees, at most."""
        words = self.design.words(v, self.design.bounds)
        for level in range(len(self.factors) - 1, k, -1):
            for d, factor in enumerate(self.factors[level]):
                if self.design.shared[v][d] is None and not self.design.idle(v, d):
                    words //= factor
        return words

    def price(self, child: int, v: int, asked: int, filled: int, sent: int | Fraction) -> Energy:
        """Energy of words asked of the next kept level outside ``child`` (-1: the compute units) and filled into it.

        ``sent``: those that leave the fan-out right outside ``child``. A level in between that keeps nothing is asked
        for them, too, but only its network takes energy.
        """
        parent = self.parent(child, v)
        if parent is None:
            return 0
        total: Energy = 0
        if self.charges is not None:
            total = sent * self.charges.each(child + 1, v, bypassed=child >= 0 and not self.keep[child][v])
            total *= self.instances[child + 1]
        if child >= 0 and not self.keep[child][v]:
            return total
        level = self.design.levels[parent]
        sharing = min(self.instances[parent], level.clusters)
        written = self.design.written[v]
        total += -(-self._of_all(asked, parent, v) // level.block) * (level.update if written else level.read) * sharing
        if written:
            again = self._apart(asked - self.partition(parent, v), parent, v)
            total += -(-again // level.block) * level.read * sharing
        if child >= 0:
            inner = self.design.levels[child]
            if written and self.design.elided:
                filled = self._apart(filled - self.partition(child, v), child, v)
            else:
                filled = self._of_all(filled, child, v)
            total += -(-filled // inner.block) * inner.write * min(self.instances[child], inner.clusters)
        return total

    def _of_all(self, words: int, level: int, v: int) -> int:
        """Words of one instance at least, of those that all would have that share what they hold (M:N)."""
        most = 1 if self.charges is None else self.charges.sharers(level, v)
        return words if most == 1 or words < 1 else math.floor(1 + (words - 1) / most)

    def _apart(self, words: int, level: int, v: int) -> int:
        """The same of words beyond a partition, each rounded to the nearest."""
        most = 1 if self.charges is None else self.charges.sharers(level, v)
        return max(0, words if most == 1 else math.floor(words / most + Fraction(1, 2)))

    def units(self) -> Energy:
        """Energy of all operations and of what the compute units ask for, at least."""
        total: Energy = self.design.compute * math.prod(self.design.bounds)
        # Lemma *leakage*: a cycle a step, at least.
        total += sum(level.leak * n for level, n in zip(self.design.levels, self.instances, strict=True)) * self.steps
        for v in range(len(self.design.spaces)):
            parent = self.parent(-1, v)
            if parent is None:
                continue
            words = self.steps
            if self.coincide(0, v) or self.unrolled_ranks(0, v):
                firm = [d for d, r in enumerate(self.design.shared[v]) if r is None and not self.design.idle(v, d)]
                words = math.prod(self.rest[d] for d in firm)
            sent = words * math.prod(self.offsets(0, v))
            total += self.price(-1, v, sent * self.chain(1, parent, v), 0, sent)
        return total

    # A boundary whose loops outside are all chosen.

    def crossed(self, level: int) -> list[int]:
        """Data spaces that are filled into the level inside ``level`` from somewhere outside.

        Those that pass that level count, too, where the network outside it takes energy.
        """
        child = level - 1
        return [
            v
            for v in range(len(self.design.spaces))
            if self.parent(child, v) is not None
            and (self.keep[child][v] or (self.charges is not None and self.charges.each(level, v, bypassed=True)))
        ]

    def extent(self, level: int, tile: Factors) -> Factors:
        """Indices of the tile inside a boundary, unrolled ones included."""
        return tuple(t * i for t, i in zip(tile, self.inside[level - 1], strict=True))

    def count(self, level: int, v: int, tile: Factors, loops: Sequence[Loop]) -> Steps:
        """Words through the boundary below ``level`` by kind of step; ``loops`` stand outside it, outermost first."""
        design = self.design
        extent = self.extent(level, tile)
        full = design.words(v, extent)
        sides = [1 + sum(c * (extent[d] - 1) for d, c in rank.items()) for rank in design.ranks[v]]
        distances = [self.distances(level, v, r, extent) for r in range(len(design.ranks[v]))]
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
            near = not waits and all(_is_distance(n, *apart) for n, apart in zip(need, distances, strict=True))
            if need == first:
                plain, moved = (plain, moved + number * part) if near else (plain + number * part, moved)
            elif part < full or not near:
                plain += number * full
            elif any(need):
                moved += number * full
            else:
                standing += number * full
        if not self.coincide(level, v):
            plain, standing = plain + standing, 0
        return Steps(plain, moved, standing)

    def distances(self, level: int, v: int, r: int, extent: Factors) -> tuple[int, int]:
        """How far apart two instances below a level can be along a rank that is shared, and what divides the distance.

        Nothing where one dimension alone moves the rank.
        """
        spread = [
            (c * extent[d], self.factors[level][d] - 1)
            for d, c in self.design.ranks[v][r].items()
            if self.design.shared[v][d] == r and self.factors[level][d] > 1
        ]
        return sum(step * most for step, most in spread), math.gcd(*(step for step, _ in spread))

    def cross(self, level: int, v: int, words: Steps, tile: Factors, times: int = 1) -> Energy:
        """Energy of what crosses the boundary below ``level`` for one data space, at least; words count so many times.

        ``tile`` is the one inside.
        """
        child = level - 1
        parent = self.parent(child, v)
        if parent is None:
            return 0
        boxes = math.prod(self.offsets(level, v, self.extent(level, tile)))
        beyond = self.chain(level + 1, parent, v)
        sent = words.plain * boxes + words.moved * self._ends(level, v)
        apart = Fraction(1, self.instances[level])
        share = self._share(level, v)
        filled: Fraction = words.plain + words.moved * (share + (1 - share) * apart) + words.standing * apart
        filled /= times
        if words.moved or words.standing:
            filled *= 1 - DOUBLES
        return self.price(child, v, sent * beyond // times, math.floor(filled), Fraction(sent, times))

    def _ends(self, level: int, v: int) -> int:
        """Distinct boxes that moving links cannot serve, at least: those at the far end of a shared rank."""
        offsets = self.offsets(level, v)
        ranks = {r for r in self.design.shared[v] if r is not None}
        return math.prod(offsets) // max((offsets[r] for r in ranks), default=1)

    def _share(self, level: int, v: int) -> Fraction:
        """Share of the instances that moving links cannot serve, at least."""
        ranks = {r for r in self.design.shared[v] if r is not None}
        most = max((math.prod(self.factors[level][d] for d in self.design.ranks[v][r]) for r in ranks), default=1)
        return Fraction(1, most)

    def certain(self, level: int, tile: Factors, loops: Sequence[Loop]) -> Energy:
        """Energy of the boundary below ``level``, all loops outside it being chosen, at least."""
        return sum(self.cross(level, v, self.count(level, v, tile, loops), tile) for v in self.crossed(level))

    def once(self) -> Energy:
        """Energy of all boundaries, at least: every word that an instance needs comes in once (*every word once*)."""
        total: Energy = 0
        for level in range(1, len(self.keep)):
            for v in self.crossed(level):
                words = math.prod(
                    1 + sum(self.rest[d] * self.inside[level - 1][d] - 1 for d in rank) for rank in self.design.ranks[v]
                )
                linked = bool(self.unrolled_ranks(level, v))
                parent = self.parent(level - 1, v)
                served = self._ends(level, v) if linked else math.prod(self.offsets(level, v))
                asked = words * served * self.chain(level + 1, parent or 0, v)
                share = self._share(level, v) if linked else Fraction(1)
                filled: Fraction = words * (share + (1 - share) * Fraction(1, self.instances[level]))
                if linked or self.coincide(level, v):
                    filled *= 1 - DOUBLES
                total += self.price(level - 1, v, asked, math.floor(filled), words * served)
        return total

    # What lies further in, over all choices that are left.

    def fits(self, k: int, tile: Factors) -> bool:
        """Whether a tile fits its level."""
        extent = tuple(t * i for t, i in zip(tile, self.inside[k], strict=True))
        return self.design.fits(k, self.keep[k], extent)

    def start_of(self, loops: Sequence[Loop], tile: Factors) -> Factors:
        """Where the run of loops that ends at a tile started: by dimension of the innermost loop's kind, else 0."""
        if not loops:
            return (0,) * len(tile)
        kind = self.kinds[loops[-1][0]]
        start = [size if kind is not None and self.kinds[d] == kind else 0 for d, size in enumerate(tile)]
        for d, bound, _ in reversed(loops):
            if kind is None or self.kinds[d] != kind:
                break
            start[d] *= bound
        return tuple(start)

    def inward(self, k: int, tile: Factors, j: int | None, start: Factors) -> Energy:
        """Least energy from the loops of a level inward; ``j`` is the innermost loop outside, ``start`` of its run."""
        key = (k, tile, j, start)
        if key not in self._inward:
            self._inward[key] = self._least(k, tile, j, start)
        return self._inward[key]

    def _least(self, k: int, tile: Factors, j: int | None, start: Factors) -> Energy:
        slot = self.design.levels[k].temporal
        if k == 0:
            return 0 if all(slot.admits(d, size) for d, size in enumerate(tile)) else math.inf
        return min((self.floor(k, tile, cut, j, start) for cut in self.design.cuts(k, tile)), default=math.inf)

    def floor(self, k: int, tile: Factors, cut: Factors, j: int | None, start: Factors) -> Energy:
        """Least energy from a cut inward, whatever the order of its loops."""
        moved = [d for d, size in enumerate(tile) if cut[d] != size]
        if not moved:
            return self.below(k, cut, j, start)
        rank = self.design.levels[k].temporal.rank
        inner = min(rank[d] for d in moved)
        least: Energy = math.inf
        for d in moved:
            if rank[d] != inner:
                continue
            kind = self.kinds[d]
            run = tuple(size if kind is not None and self.kinds[e] == kind else 0 for e, size in enumerate(tile))
            if (
                j is not None
                and kind is not None
                and self.kinds[j] == kind
                and all(self.kinds[e] == kind for e in moved)
            ):
                run = start
            least = min(least, self.below(k, cut, d, run))
        return least

    def below(self, level: int, tile: Factors, j: int | None, start: Factors) -> Energy:
        """Least energy from the boundary below a level inward, given the tile inside and the innermost loop outside."""
        if not self.fits(level - 1, tile):
            return math.inf
        rest = self.inward(level - 1, tile, j, start)
        if rest == math.inf:
            return rest
        if j is None:
            return rest + self.certain(level, tile, ())
        key = (level, tile, j, start)
        if key not in self._cost:
            self._cost[key] = sum(self._boundary(level, v, tile, j, start) for v in self.crossed(level))
        return rest + self._cost[key]

    def _boundary(self, level: int, v: int, tile: Factors, j: int, start: Factors) -> Energy:
        design = self.design
        full = design.words(v, self.extent(level, tile))
        outside = [rest // size for rest, size in zip(self.rest, tile, strict=True)]
        shared = design.shared[v]
        if design.idle(v, j):
            # Lemma *trailing run*: its steps read nothing. Outside, only the innermost loop of a window surely moves.
            least = min(
                (
                    divisors(self.rest[d])[1]
                    for d, rank in enumerate(shared)
                    if rank is not None and outside[d] > 1 and self._may_cancel(level, v, tile, rank, outside)
                ),
                default=0,
            )
            trailing = math.prod(start[d] // tile[d] for d in range(len(tile)) if start[d] and design.idle(v, d))
            slides = [
                self._sliding(level, v, tile, (d, rank), full, outside, 0, trailing)
                for d, rank in enumerate(shared)
                if rank is not None and outside[d] > 1 and design.resting
            ]
            # Lemma *windows that rest*: any loop over a shared rank may be the innermost that moves.
            if slides:
                return min(slides)
            words = full * math.prod(outside) // trailing
            if not least:
                return self.cross(level, v, Steps(words, 0, 0), tile)
            return self.cross(level, v, Steps(words * (least - 1), 0, 0), tile, least)
        rank = shared[j]
        if rank is None:
            return self.cross(level, v, Steps(full * math.prod(outside), 0, 0), tile)
        return self._sliding(level, v, tile, (j, rank), full, outside, start[j])

    def _sliding(
        self,
        level: int,
        v: int,
        tile: Factors,
        slide: tuple[int, int],
        full: int,
        outside: list[int],
        start: int,
        trailing: int = 0,
    ) -> Energy:
        """Lemmas *sliding window* and *steps unlike the innermost*: what steps fetch at least, links served.

        ``trailing``: iterations of the loops further in, which move nothing; then no link serves a step.
        """
        design = self.design
        extent = self.extent(level, tile)
        j, rank = slide
        coef = design.ranks[v][rank]
        along = [d for d in coef if design.shared[v][d] == rank]
        length = 1 + sum(c * (extent[d] - 1) for d, c in coef.items())
        span = {d: coef[d] * tile[d] * self.inside[level][d] for d in along}
        step = span[j]
        others = [d for d in along if d != j and outside[d] > 1]
        cancel = bool(others) and self._may_cancel(level, v, tile, rank, outside)
        far, grid = self.distances(level, v, rank, extent)
        if trailing:
            far = grid = 0
        linked = _is_distance(step, far, grid)
        total = math.prod(outside) // max(1, trailing)
        most = {d: design.bounds[d] // (tile[d] * self.inside[level][d]) - 1 for d in along}
        if step < length:
            alike: Sequence[int] = others
            if len(others) == 1:
                # Whether a step over the other dimension, or past one, may move like the innermost.
                e = others[0]
                moves = (span[e] * i for i in range(1, most[e] + 1))
                alike = [move for move in moves if move % step == 0 and move <= step * (most[j] + 1)]
            rounds = total // math.prod(outside[d] for d in (along if alike else [j]))
            beyond = outside[j] * tile[j] // start if start else 1
            if not alike and beyond > 1:
                # Loops beyond the run slide only past loops that leave the box in place, one of which is the innermost.
                stays = any(n > 1 and design.idle(v, d) for d, n in enumerate(outside))
                rounds = -(-rounds * (beyond + 1) // 2) if stays else rounds * beyond
            new = (total - rounds) * (full // length * step)
            steps = Steps(rounds * full, new, 0) if linked else Steps(rounds * full + new, 0, 0)
            return self.cross(level, v, steps, tile, 2 if cancel and design.resting else 1)
        words = total * full
        if not cancel and (trailing or not _meet([(span[d], most[d]) for d in (j, *others)], far, grid)):
            return self.cross(level, v, Steps(words, 0, 0), tile)
        # Counted as often as the innermost loop's least bound: of its steps, all but one, the move is known.
        least = divisors(self.rest[j])[1]
        plain, moved = (0, words * (least - 1)) if linked else (words * (least - 1), 0)
        if cancel and design.resting:
            return self.cross(level, v, Steps(plain, moved, 0), tile, least)
        if cancel and self.coincide(level, v):
            return self.cross(level, v, Steps(plain, moved, words), tile, least)
        if cancel and not self.unrolled_ranks(level, v):
            return self.cross(level, v, Steps(plain + words, moved, 0), tile, least)
        return self.cross(level, v, Steps(plain, moved + words, 0), tile, least)

    def _may_cancel(self, level: int, v: int, tile: Factors, rank: int, outside: list[int]) -> bool:
        """Whether the loops outside over a rank may leave it in place together (*windows that cannot stand*)."""
        design = self.design
        coef = design.ranks[v][rank]
        moving = [d for d in coef if design.shared[v][d] == rank and outside[d] > 1]
        if len(moving) != 2:
            return len(moving) > 1
        spans = [tile[d] * self.inside[level][d] for d in moving]
        steps = [abs(coef[d]) * span for d, span in zip(moving, spans, strict=True)]
        return all(
            math.lcm(*steps) // step < design.bounds[d] // span
            for d, step, span in zip(moving, steps, spans, strict=True)
        )


def _meet(steps: Sequence[tuple[int, int]], far: int, grid: int) -> bool:
    """Whether multiples of one or two steps may add up to a distance; of each at most so many, in either direction."""
    (step, most), (other, other_most) = (*steps, (1, 0))[:2]
    moves = (step * k + other * i for k in range(most + 1) for i in range(-other_most, other_most + 1))
    return grid > 0 and any(move and _is_distance(move, far, grid) for move in moves)


@cache
def divisors(number: int) -> tuple[int, ...]:
    """Return all divisors, from the least to the greatest."""
    low = [n for n in range(1, math.isqrt(number) + 1) if number % n == 0]
    return (*low, *(number // n for n in reversed(low) if n * n != number))


@cache
def _sums(m: int, n: int, a: int, b: int) -> int:
    """How many sums one of m multiples of a number and one of n of another have."""
    return len({a * i + b * k for i in range(m) for k in range(n)})


def _is_distance(move: int, most: int, divisor: int) -> bool:
    """Whether two instances may lie so far apart, given how far they do at most, and what divides all distances."""
    return not move or (abs(move) <= most and move % divisor == 0)


def _new_words(full: int, sides: list[int], move: list[int]) -> int:
    """Words of a box beyond the box before it, which lies ``move`` behind."""
    moving = [r for r, value in enumerate(move) if value]
    if not moving:
        return 0
    if len(moving) > 1 or abs(move[moving[0]]) >= sides[moving[0]]:
        return full
    return full // sides[moving[0]] * abs(move[moving[0]])
