"""What a certificate is about, in plain integers: the layer, the levels, and every choice that the constraints leave.

Levels are indexed from the innermost storage level (0) outward. The mapspace is derived here from the constraints as
they stand in the file, after Timeloop 3.0.3 ``src/mapspaces/uber.cpp``; nothing is taken from `jouleloop.mapspace`.
"""

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple

from jouleloop.proof.networks import Way, ways_of
from jouleloop.proof.rules import RULES

Factors = tuple[int, ...]
#: What is stored where, by level and data space.
Keep = tuple[tuple[bool, ...], ...]
#: Spatial loops of a level, outermost first: dimension, factor and mesh axis.
Order = tuple[tuple[int, int, str], ...]


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

    def admits(self, d: int, factor: int) -> bool:
        """Whether the place may have this factor of a dimension."""
        fixed = self.fixed[d]
        return factor == fixed if fixed is not None else self.least[d] <= factor <= self.most[d]

    def orders(self, dims: list[int]) -> Iterator[tuple[int, ...]]:
        """All orders of some dimensions that the ranks admit, innermost first."""
        ranked = sorted(dims, key=lambda d: self.rank[d])
        groups = [list(group) for _, group in itertools.groupby(ranked, lambda d: self.rank[d])]
        for chosen in itertools.product(*(itertools.permutations(group) for group in groups)):
            yield tuple(d for group in chosen for d in group)


@dataclass(frozen=True)
class Level:
    """One storage level; energies are exact and in the unit `Design.unit_pj`, sizes in words."""

    name: str
    capacity: int | None
    least: int
    block: int
    clusters: int
    fan_x: int
    fan_y: int
    read: int
    write: int
    update: int
    leak: int
    bandwidths: tuple[float | None, ...]
    """Words in a cycle of reads, writes, and both."""
    temporal: Slot
    spatial: Slot | None
    ways: tuple[Way, ...]
    adds: bool
    spreads: bool
    """Its networks to the next inner node, in pJ; whether it adds up what it receives; whether its instances may send
    words to each other's inner nodes (M:N)."""


def energies_of(level: dict[str, Any]) -> tuple[Fraction, ...]:
    """Energies [pJ] of a level: a read, a fill, an update, and what an instance leaks in a cycle."""
    write_pj = level["write_pj"]
    return tuple(map(Fraction, (level["read_pj"], write_pj, level.get("update_pj", write_pj), level.get("leak_pj", 0))))


class Design:
    """A certificate's problem, hardware and mapspace.

    Parameters
    ----------
    data
        The certificate as read from JSON; its keys are those that `jouleloop.optimum.certificate` writes.
    """

    def __init__(self, data: dict[str, Any]) -> None:
        problem = data["problem"]
        self.dims: list[str] = list(problem["dimensions"])
        self.bounds: Factors = tuple(problem["bounds"])
        self.spaces: list[str] = [space["name"] for space in problem["data_spaces"]]
        self.written: list[bool] = [bool(space["read_write"]) for space in problem["data_spaces"]]
        #: By data space and rank, the coefficient of every dimension that moves it.
        self.ranks: list[list[dict[int, int]]] = [
            [{self.dims.index(d): c for d, c in rank.items()} for rank in space["ranks"]]
            for space in problem["data_spaces"]
        ]
        rules = RULES[data["semantics"]]
        self.elided: bool = rules.elided
        #: Whether steps that move nothing are none (Timeloop 4).
        self.resting: bool = rules.resting
        #: What `jouleloop.proof.counts` has counted.
        self.walks: dict[Any, Any] = {}
        levels = data["architecture"]["levels"][::-1]
        energies = [energy for level in levels for energy in energies_of(level)]
        compute = Fraction(data["architecture"]["compute_pj"])
        #: All energies are whole multiples of this: sums stay exact.
        self.unit_pj = Fraction(1, math.lcm(compute.denominator, *(energy.denominator for energy in energies)))
        self.compute = int(compute / self.unit_pj)
        self.levels = [self._level(index, level, data["constraints"]) for index, level in enumerate(levels)]
        #: Whether it counts at which level a loop is unrolled: networks take energy or distribute.
        self.wired = any(level.ways or level.spreads for level in self.levels)
        self.keeps: list[Keep] = list(self._keeps(levels, data["constraints"]))
        #: By data space and dimension: the rank that it shares with another open dimension, None where it shares none.
        self.shared = [[self._shared(ranks, d) for d in range(len(self.dims))] for ranks in self.ranks]

    def _level(self, index: int, level: dict[str, Any], constraints: dict[str, Any]) -> Level:
        given = constraints.get(level["name"], {})
        fan_x, fan_y = level["fanout"]
        fans_out = fan_x * fan_y > 1
        spatial = None
        if fans_out:
            named = given.get("spatial", {})
            free = not (named.get("permutation") or named.get("outer_permutation"))
            spatial = self._slot(named, canonical=free and min(fan_x, fan_y) == 1)
        # Tiling level 0 is canonical: the innermost temporal loops, or the fan-out below them where there is one.
        temporal = self._slot(given.get("temporal", {}), canonical=index == 0 and not fans_out)
        read, write, update, leak = (int(energy / self.unit_pj) for energy in energies_of(level))
        return Level(
            level["name"],
            level["capacity_words"],
            level["least_words"],
            level["block_words"],
            level["clusters"],
            fan_x,
            fan_y,
            read,
            write,
            update,
            leak,
            tuple(level[f"{which}_bandwidth_words"] for which in ("read", "write", "shared")),
            temporal,
            spatial,
            ways_of(level),
            level.get("adds", True),
            level.get("spreads", False),
        )

    def _slot(self, given: dict[str, Any], *, canonical: bool) -> Slot:
        fixed: list[int | None] = []
        for d, bound in zip(self.dims, self.bounds, strict=True):
            factor = given.get("factors", {}).get(d)
            # 0 stands for the whole dimension; a factor beyond the dimension is ignored.
            factor = bound if factor == 0 else factor
            fixed.append(None if factor is None or factor > bound else factor)
        prefix, suffix = given.get("permutation", []), given.get("outer_permutation", [])
        rank = list(range(len(self.dims)))
        if not canonical:
            for position, d in enumerate(self.dims):
                rank[position] = len(prefix)
                if d in prefix:
                    rank[position] = prefix.index(d)
                elif d in suffix:
                    rank[position] = len(prefix) + 1 + suffix.index(d)
        return Slot(
            tuple(fixed),
            tuple(min(b, given.get("max_factors", {}).get(d, b)) for d, b in zip(self.dims, self.bounds, strict=True)),
            tuple(given.get("min_factors", {}).get(d, 1) for d in self.dims),
            tuple(rank),
            given.get("split"),
        )

    def _keeps(self, levels: list[dict[str, Any]], constraints: dict[str, Any]) -> Iterator[Keep]:
        """Every admissible choice of what is kept where, by level and data space."""
        options: list[tuple[bool, ...]] = []
        for index, level in enumerate(levels):
            given = constraints.get(level["name"], {})
            for space in self.spaces:
                if space in given.get("keep", []):
                    options.append((True,))
                elif space in given.get("bypass", []):
                    options.append((False,))
                else:
                    options.append((True,) if index == len(levels) - 1 else (True, False))
        width = len(self.spaces)
        for choice in itertools.product(*options):
            keep = tuple(choice[k * width : (k + 1) * width] for k in range(len(levels)))
            if all(any(level[v] for level in keep) for v in range(width)):
                yield keep

    def _shared(self, ranks: list[dict[int, int]], d: int) -> int | None:
        for r, rank in enumerate(ranks):
            if d in rank and self.bounds[d] > 1 and sum(self.bounds[e] > 1 for e in rank) > 1:
                return r
        return None

    @cached_property
    def gapped(self) -> bool:
        """Whether words of outputs lie apart: then partitions hang on where a loop is unrolled."""
        return any(
            c > 1 and self.bounds[d] > 1
            for ranks, written in zip(self.ranks, self.written, strict=True)
            for rank in ranks
            for d, c in rank.items()
            if written
        )

    def spared_in_groups(self) -> bool:
        """Whether outputs that go twice may go in several groups, each spared the partition, and that may be too much.

        All go in one where they share no rank, and not to the units, which links may serve.
        """
        shares = any(w and any(r is not None for r in own) for w, own in zip(self.written, self.shared, strict=True))
        spreads = any(level.spreads for level in self.levels)
        return any(
            way.back and way.ingress and not level.adds and level.spatial is not None and (k == 0 or shares or spreads)
            for k, level in enumerate(self.levels)
            for way in level.ways
        )

    def words(self, v: int, extent: Factors) -> int:
        """Words of the box that some indices of every dimension span in a data space."""
        return math.prod(1 + sum(c * (extent[d] - 1) for d, c in rank.items()) for rank in self.ranks[v])

    def fits(self, k: int, kept: Sequence[bool], extent: Sequence[int], largest: Sequence[int] | None = None) -> bool:
        """Whether what a level keeps of some box fits it; ``extent``, ``largest``: the box, at least and at most."""
        level = self.levels[k]

        def held(sides: Sequence[int]) -> int:
            size = tuple(map(min, sides, self.bounds))
            return sum(self.words(v, size) for v, keeps in enumerate(kept) if keeps)

        if level.capacity is not None and held(extent) > level.capacity:
            return False
        return not level.least or held(largest or extent) >= level.least

    def idle(self, v: int, d: int) -> bool:
        """Whether a dimension leaves a data space in place."""
        return all(d not in rank for rank in self.ranks[v])

    def unrollings(self) -> Iterator[tuple[Factors, ...]]:
        """Every choice of spatial factors by level and dimension that constraints, fan-outs and the bounds admit."""

        def choose(k: int, left: Factors, chosen: tuple[Factors, ...]) -> Iterator[tuple[Factors, ...]]:
            if k == len(self.levels):
                if all(self._temporal_can(d, rest) for d, rest in enumerate(left)):
                    yield chosen
                return
            for factors in self.spatial_factors(k, left, divide=True):
                rest = tuple(a // b for a, b in zip(left, factors, strict=True))
                yield from choose(k + 1, rest, (*chosen, factors))

        yield from choose(0, self.bounds, ())

    def spatial_factors(self, k: int, left: Factors, *, divide: bool) -> Iterator[Factors]:
        """Every choice of a level's spatial factors, at most (or dividing) what is left, that fits its fan-out."""
        level = self.levels[k]

        def choose(d: int, room: int, chosen: Factors) -> Iterator[Factors]:
            if d == len(left):
                if next(self.spatial_orders(k, chosen), None) is not None:
                    yield chosen
                return
            for factor in range(1, min(room, left[d]) + 1):
                admitted = factor == 1 if level.spatial is None else level.spatial.admits(d, factor)
                if admitted and (left[d] % factor == 0 or not divide):
                    yield from choose(d + 1, room // factor, (*chosen, factor))

        yield from choose(0, level.fan_x * level.fan_y, ())

    def _temporal_can(self, d: int, rest: int) -> bool:
        """Whether temporal loops may cover what is left of a dimension, limits aside."""
        fixed = [level.temporal.fixed[d] for level in self.levels]
        product = math.prod(f for f in fixed if f is not None)
        return rest % product == 0 and (None in fixed or rest == product)

    def spatial_orders(self, k: int, factors: Factors) -> Iterator[Order]:
        """Every order of the unrolled loops of a level that some split fits on the mesh, outermost first."""
        level = self.levels[k]
        slot = level.spatial
        if slot is None:
            yield ()
            return
        moving = [d for d, f in enumerate(factors) if f > 1]
        positions = moving if slot.split is None else list(range(len(factors)))
        seen = set()
        for order in slot.orders(positions):
            name = tuple(d for d in order if factors[d] > 1)
            for split in range(len(order) + 1) if slot.split is None else (slot.split,):
                x = math.prod(factors[d] for d in order[:split])
                y = math.prod(factors[d] for d in order[split:])
                # On a mesh that holds the loops their axes change no count: one split of each order stands for all.
                if x <= level.fan_x and y <= level.fan_y and name not in seen:
                    seen.add(name)
                    axes = ["X" if place < split else "Y" for place in range(len(order))]
                    loops = [(d, factors[d], a) for d, a in zip(order, axes, strict=True) if factors[d] > 1]
                    yield tuple(reversed(loops))

    def cuts(self, k: int, tile: Factors) -> Iterator[Factors]:
        """Every tile that the temporal loops of a level may leave to the level inside it."""
        slot = self.levels[k].temporal
        options = [
            [part for part in range(1, size + 1) if size % part == 0 and slot.admits(d, size // part)]
            for d, size in enumerate(tile)
        ]
        return itertools.product(*options)
