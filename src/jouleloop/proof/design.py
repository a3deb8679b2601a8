"""What a certificate is about, in plain integers: the layer, the levels, and every choice that the constraints leave.

Levels are indexed from the innermost storage level (0) outward. The mapspace is derived here from the constraints as
they stand in the file, after Timeloop 3.0.3 ``src/mapspaces/uber.cpp``; nothing is taken from `jouleloop.mapspace`.
"""

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property
from typing import Any, NamedTuple

from jouleloop.proof.rules import RULES
from jouleloop.proof.stated import Architecture, Limits, Loops, Problem

Factors = tuple[int, ...]
#: What is stored where, by level and data space.
Keep = tuple[tuple[bool, ...], ...]
#: Spatial loops of a level, outermost first: dimension, factor and mesh axis.
Order = tuple[tuple[int, int, str], ...]
#: Of a level that has no constraints.
_OPEN: dict[str, Any] = {"factors": {}, "max_factors": {}, "min_factors": {}}
_OPEN |= {"permutation": [], "outer_permutation": [], "split": None}
UNCONSTRAINED: dict[str, Any] = {"temporal": _OPEN, "spatial": _OPEN, "keep": [], "bypass": []}


class Nest(NamedTuple):
    """A mapping by level, innermost level first: what is kept, and the loops of each level, outermost first.

    A loop has a dimension and an end; an unrolled one its mesh axis, too.
    """

    keep: Keep
    temporal: tuple[tuple[tuple[int, int], ...], ...]
    spatial: tuple[Order, ...]


@dataclass(frozen=True)
class Slot:
    """Which factors one place takes: by dimension the fixed factor or None, and limits where it is open.

    ``rank`` orders the loops, innermost first; equal ranks may stand in any order.
    """

    fixed: tuple[int | None, ...]
    most: Factors
    least: Factors
    rank: Factors
    split: int | None
    both: bool = False
    """Whether a dimension may be unrolled along both axes: no count hangs on orders and axes then."""

    def admits(self, d: int, factor: int) -> bool:
        """Whether the place may have this factor of a dimension."""
        fixed = self.fixed[d]
        return factor == fixed if fixed is not None else self.least[d] <= factor <= self.most[d]

    def takes(self, factors: Sequence[int]) -> bool:
        """Whether the place may have these factors, by dimension."""
        return all(self.admits(d, factor) for d, factor in enumerate(factors))

    def orders(self, dims: list[int]) -> Iterator[tuple[int, ...]]:
        """All orders of some dimensions that the ranks admit, innermost first."""
        ranked = sorted(dims, key=lambda d: self.rank[d])
        groups = [list(group) for _, group in itertools.groupby(ranked, lambda d: self.rank[d])]
        for chosen in itertools.product(*(itertools.permutations(group) for group in groups)):
            yield tuple(d for group in chosen for d in group)


class Design:
    """Problem, hardware and mapspace of a certificate of the form that `jouleloop.proof.stated` describes."""

    def __init__(self, data: dict[str, Any]) -> None:
        problem = Problem.of(data["problem"])
        hardware = Architecture.of(data["architecture"])
        limits = {name: Limits.of(one) for name, one in data["constraints"].items()}
        self.dims, self.bounds = problem.dimensions, tuple(problem.bounds)
        self.spaces = [space.name for space in problem.data_spaces]
        self.written = [space.read_write for space in problem.data_spaces]
        #: By data space and rank, the coefficient of every dimension that moves it.
        self.ranks = [
            [{self.dims.index(d): c for d, c in rank.items()} for rank in space.ranks] for space in problem.data_spaces
        ]
        #: The same of those that an open dimension moves.
        self.open_ranks = [[rank for rank in own if any(self.bounds[d] > 1 for d in rank)] for own in self.ranks]
        #: By data space, and of all, whether one open dimension at most moves each rank, and leaves no gaps.
        opened = [bound > 1 for bound in self.bounds]
        self.single = [all(sum(c * opened[d] for d, c in rank.items()) < 2 for rank in own) for own in self.ranks]
        self.simple = all(self.single)
        #: By data space and dimension, whether it leaves the data space in place.
        self.still = [[all(d not in rank for rank in own) for d in range(len(self.dims))] for own in self.ranks]
        #: By data space, the open dimensions that do.
        self.stays = [[d for d, stays in enumerate(own) if stays and self.bounds[d] > 1] for own in self.still]
        #: By data space and dimension: the rank that it shares with another open dimension, None where it shares none.
        self.shared = [[self._shared(ranks, d) for d in range(len(self.dims))] for ranks in self.ranks]
        rules = RULES[data["semantics"]]
        #: Whether first fills are left out, and whether steps that move nothing are none (Timeloop 4).
        self.elided, self.resting = rules.elided, rules.resting
        #: Whether outputs go on from partial sums, which are read before the first update.
        self.resumes = bool(data.get("resumes"))
        #: What `jouleloop.proof.counts` has counted, and what `Boundaries.repeated` has priced.
        self.walks: dict[Any, Any] = {}
        self.crossings: dict[Any, Any] = {}
        self.levels = hardware.levels[::-1]
        stated = [[one.read_pj, one.write_pj, one.update_pj, one.leak_pj] for one in self.levels]
        known = [hardware.compute_pj, *(energy for row in stated for energy in row)]
        #: All energies are whole multiples of this: sums stay exact.
        self.unit_pj = Fraction(1, math.lcm(*(energy.denominator for energy in known)))
        self.compute = int(hardware.compute_pj / self.unit_pj)
        #: By level: a vector read, filled and updated, and what an instance leaks in a cycle.
        self.energies = [tuple(int(energy / self.unit_pj) for energy in row) for row in stated]
        #: Whether it counts at which level a loop is unrolled: networks take energy or distribute.
        self.wired = any(level.networks or level.spreads for level in self.levels)
        given = [limits.get(level.name, Limits.of(UNCONSTRAINED)) for level in self.levels]
        self.keeps = list(self._keeps(given))
        # Whether Timeloop's mapper decides some orders of loops.
        pruned = data.get("space", "timeloop") == "timeloop"
        still = not self.wired and all(rank is None for shared in self.shared for rank in shared)
        free = data.get("axes", "apart") == "free" and still
        #: By level: its temporal slot, and the spatial one where it fans out.
        self.temporal: list[Slot] = []
        self.spatial: list[Slot | None] = []
        for k, (level, one) in enumerate(zip(self.levels, given, strict=True)):
            fans_out = math.prod(level.fanout) > 1
            line = pruned and min(level.fanout) == 1 and not (one.spatial.permutation or one.spatial.outer_permutation)
            loops = one.spatial
            ordered = loops.permutation or loops.outer_permutation or loops.split is not None
            both = free and min(level.fanout) > 1 and not ordered
            self.spatial.append(self._slot(loops, canonical=line, both=both) if fans_out else None)
            # Tiling level 0 is canonical: the innermost temporal loops, or the fan-out below them where there is one.
            self.temporal.append(self._slot(one.temporal, canonical=pruned and k == 0 and not fans_out))

    def _slot(self, given: Loops, *, canonical: bool, both: bool = False) -> Slot:
        sizes = dict(zip(self.dims, self.bounds, strict=True))
        # 0 stands for the whole dimension; a factor beyond the dimension is ignored.
        fixed = {d: factor or sizes[d] for d, factor in given.factors.items() if factor <= sizes[d]}
        inner, outer = given.permutation, given.outer_permutation
        rank = {d: len(inner) for d in self.dims}
        rank |= {d: len(inner) + 1 + outer.index(d) for d in outer}
        rank |= {d: inner.index(d) for d in inner}
        return Slot(
            tuple(fixed.get(d) for d in self.dims),
            tuple(min(size, given.max_factors.get(d, size)) for d, size in sizes.items()),
            tuple(given.min_factors.get(d, 1) for d in self.dims),
            tuple(range(len(self.dims)) if canonical else (rank[d] for d in self.dims)),
            given.split,
            both,
        )

    def _keeps(self, given: list[Limits]) -> Iterator[Keep]:
        """Every admissible choice of what is kept where, by level and data space."""
        options = []
        for k, one in enumerate(given):
            either = (True,) if k == len(given) - 1 else (True, False)
            options += [(True,) if v in one.keep else (False,) if v in one.bypass else either for v in self.spaces]
        width = len(self.spaces)
        for choice in itertools.product(*options):
            keep = tuple(choice[k * width : (k + 1) * width] for k in range(len(given)))
            if all(any(level[v] for level in keep) for v in range(width)):
                yield keep

    def _shared(self, ranks: list[dict[int, int]], d: int) -> int | None:
        for r, rank in enumerate(ranks):
            if d in rank and self.bounds[d] > 1 and sum(self.bounds[e] > 1 for e in rank) > 1:
                return r
        return None

    @cached_property
    def own(self) -> list[tuple[Any, ...]]:
        """By data space, all on which a boundary depends that differs between parts of a layer of a chain."""
        moved = [{d for rank in own for d in rank} for own in self.ranks]
        return [(v, self.resumes, *self.empty, *(self.bounds[d] for d in sorted(dims))) for v, dims in enumerate(moved)]

    @cached_property
    def alike(self) -> list[list[bool]]:
        """By dimension, which ones are of its kind, as they leave one data space in place; none where it moves all."""
        still = [[d for d, stays in enumerate(own) if stays] for own in self.still]
        kind = [d if any(d in own for own in still) else None for d in range(len(self.dims))]
        for own in still:
            together = {kind[d] for d in own}
            kind = [own[0] if k in together else k for k in kind]
        return [[one is not None and other == one for other in kind] for one in kind]

    @cached_property
    def gapped(self) -> bool:
        """Whether words of outputs lie apart: then partitions hang on where a loop is unrolled."""
        ranks = [rank for own, written in zip(self.ranks, self.written, strict=True) if written for rank in own]
        return any(c > 1 and self.bounds[d] > 1 for rank in ranks for d, c in rank.items())

    @cached_property
    def empty(self) -> list[int]:
        """Levels whose unrolled factors may stand at the next one outside (lemma *merged unrollings*)."""
        leaks = any(row[3] for row in self.energies)
        hold_nothing = [
            k
            for k, slot in enumerate(self.temporal[:-1])
            if all(f == 1 for f in slot.fixed) and not any(any(keep[k]) for keep in self.keeps)
        ]
        return [] if leaks or self.wired or self.gapped else hold_nothing

    def representative(self, unrolling: tuple[Factors, ...]) -> tuple[Factors, ...]:
        """The unrolling with all factors that share no rank moved outward across levels that hold and loop nothing."""
        factors = [list(level) for level in unrolling]
        apart = [d for d in range(len(self.dims)) if all(shared[d] is None for shared in self.shared)]
        for k, d in itertools.product(self.empty, apart):
            factors[k + 1][d] *= factors[k][d]
            factors[k][d] = 1
        return tuple(map(tuple, factors))

    @cached_property
    def subproblems(self) -> dict[tuple[Factors, ...], list[tuple[Factors, ...]]]:
        """By representative, the unrollings that it stands for."""
        found: dict[tuple[Factors, ...], list[tuple[Factors, ...]]] = {}
        for unrolling in self.unrollings():
            found.setdefault(self.representative(unrolling), []).append(unrolling)
        return found

    def spared_in_groups(self) -> bool:
        """Whether outputs that go twice may go in several groups, each spared the partition: perhaps too much."""
        shares = any(w and any(r is not None for r in own) for w, own in zip(self.written, self.shared, strict=True))
        spreads = any(level.spreads for level in self.levels)
        return any(
            way.back and way.ingress_pj and not level.adds and self.spatial[k] and (k == 0 or shares or spreads)
            for k, level in enumerate(self.levels)
            for way in level.networks
        )

    def words(self, v: int, extent: Sequence[int]) -> int:
        """Words of the box that some indices of every dimension span in a data space."""
        return math.prod([1 + sum([c * (extent[d] - 1) for d, c in rank.items()]) for rank in self.ranks[v]])

    def fits(self, k: int, kept: Sequence[bool], extent: Sequence[int], largest: Sequence[int] | None = None) -> bool:
        """Whether what a level keeps of some box fits it; ``extent``, ``largest``: the box, at least and at most."""
        level = self.levels[k]

        def held(sides: Sequence[int]) -> int:
            size = tuple(map(min, sides, self.bounds))
            return sum(self.words(v, size) for v, keeps in enumerate(kept) if keeps)

        if level.capacity_words is not None and held(extent) > level.capacity_words:
            return False
        return not level.least_words or held(largest or extent) >= level.least_words

    def unrollings(self, k: int = 0, left: Factors | None = None) -> Iterator[tuple[Factors, ...]]:
        """Every choice of spatial factors from a level outward that constraints, fan-outs and what is left admit."""
        left = self.bounds if left is None else left
        if k == len(self.levels):
            # Temporal loops have to cover what is left, limits aside.
            if all(n % fixed == 0 if free else n == fixed for n, (free, fixed) in zip(left, self._looped, strict=True)):
                yield ()
            return
        for factors in self.spatial_factors(k, left, divide=True):
            rest = tuple(a // b for a, b in zip(left, factors, strict=True))
            yield from ((factors, *outside) for outside in self.unrollings(k + 1, rest))

    @cached_property
    def _looped(self) -> list[tuple[bool, int]]:
        """By dimension, whether some temporal factor is open, and the product of those that are fixed."""
        fixed = [[slot.fixed[d] for slot in self.temporal] for d in range(len(self.dims))]
        return [(None in own, math.prod(f for f in own if f is not None)) for own in fixed]

    def spatial_factors(self, k: int, left: Factors, *, divide: bool) -> Iterator[Factors]:
        """Every choice of a level's spatial factors, at most (or dividing) what is left, that fits its fan-out."""
        slot = self.spatial[k]
        if slot is None:
            yield (1,) * len(left)
            return

        def choose(d: int, room: int, chosen: Factors) -> Iterator[Factors]:
            if d == len(left):
                if next(self.spatial_orders(k, chosen), None) is not None:
                    yield chosen
                return
            for factor in divisors(left[d]) if divide else range(1, min(room, left[d]) + 1):
                if factor <= room and slot.admits(d, factor):
                    yield from choose(d + 1, room // factor, (*chosen, factor))

        yield from choose(0, math.prod(self.levels[k].fanout), ())

    def spatial_orders(self, k: int, factors: Factors) -> Iterator[Order]:
        """Every order of the unrolled loops of a level that some split fits on the mesh, outermost first.

        Where a dimension may lie along both axes, one order stands for all, each dimension's factors as one loop.
        """
        columns, rows = self.levels[k].fanout
        slot = self.spatial[k]
        if slot is None:
            yield ()
            return
        moving = [d for d, f in enumerate(factors) if f > 1]
        if slot.both:
            along = {1}
            for factor in factors:
                along = {x * part for x in along for part in divisors(factor)}
            if any(x <= columns and math.prod(factors) // x <= rows for x in along):
                yield tuple((d, factors[d], "X") for d in moving)
            return
        seen = set()
        for order in slot.orders(moving if slot.split is None else list(range(len(factors)))):
            name = tuple(d for d in order if factors[d] > 1)
            for split in range(len(order) + 1) if slot.split is None else (slot.split,):
                x, y = (math.prod(factors[d] for d in along) for along in (order[:split], order[split:]))
                # On a mesh that holds the loops their axes change no count: one split of each order stands for all.
                if x <= columns and y <= rows and name not in seen:
                    seen.add(name)
                    axes = ["X" if place < split else "Y" for place in range(len(order))]
                    yield tuple((d, factors[d], a) for d, a in zip(order, axes, strict=True) if factors[d] > 1)[::-1]

    def arrangements(self, unrolling: tuple[Factors, ...]) -> Iterator[tuple[Order, ...]]:
        """Every order of the spatial loops of all levels."""
        return itertools.product(*(self.spatial_orders(k, factors) for k, factors in enumerate(unrolling)))

    def cuts(self, k: int, tile: Factors, looping: Sequence[bool] | None = None) -> Iterator[Factors]:
        """Every tile that the temporal loops of a level may leave to the level inside it; all may loop, or some."""
        admits = self.temporal[k].admits
        options = [
            [part for part in (divisors(size) if not looping or looping[d] else (size,)) if admits(d, size // part)]
            for d, size in enumerate(tile)
        ]
        return itertools.product(*options)


@cache
def divisors(number: int) -> tuple[int, ...]:
    """Return all divisors, from the least to the greatest."""
    low = [n for n in range(1, math.isqrt(number) + 1) if number % n == 0]
    return (*low, *(number // n for n in reversed(low) if n * n != number))


@cache
def primes(number: int) -> tuple[int, ...]:
    """Return all prime divisors, from the least to the greatest."""
    return tuple(n for n in divisors(number)[1:] if len(divisors(n)) == 2)
