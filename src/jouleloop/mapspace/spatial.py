"""Every way to unroll a layer over the meshes of an architecture, and every admissible arrangement of those loops."""

import itertools
import math
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from jouleloop.division import divisors
from jouleloop.mapspace.space import FREE, FactorSlot, MapSpace

#: One arrangement of a level's spatial loops, outermost first: (dimension index, factor, axis index).
Arrangement = tuple[tuple[int, int, int], ...]
#: Spatial factors of one level by dimension.
Factors = tuple[int, ...]


class Unrolling(NamedTuple):
    """Spatial factors by level (innermost first) and dimension, with every arrangement on the mesh axes."""

    factors: tuple[Factors, ...]
    """By level and dimension."""
    arrangements: tuple[tuple[Arrangement, ...], ...]
    """For each level the admissible arrangements, at least one."""


def unrollings(space: MapSpace) -> Iterator[Unrolling]:
    """Yield every choice of spatial factors that the fan-outs and constraints admit, in a canonical order."""
    dims = len(space.problem.bounds)
    fanout = space.arch.fanout[::-1]
    open_time = [any(slot.fixed[d] == FREE for slot in space.temporal) for d in range(dims)]
    rest = [
        bound // math.prod(slot.fixed[d] for slot in space.temporal if slot.fixed[d] != FREE)
        for d, bound in enumerate(space.problem.bounds)
    ]
    ones = (1,) * dims

    #: What is left of every dimension, and what the levels so far have.
    chosen: list[tuple[Factors, tuple[Factors, ...], tuple[tuple[Arrangement, ...], ...]]] = [(tuple(rest), (), ())]
    for slot, fan in zip(space.spatial, fanout, strict=True):
        if slot is None:
            chosen = [(left, (*factors, ones), (*arrangements, ((),))) for left, factors, arrangements in chosen]
            continue
        most_units = math.prod(fan)
        longer = []
        for left, inside, arranged in chosen:
            for factors in factor_choices(slot, left, most_units):
                arrangements = arrangements_of(slot, factors, fan)
                if arrangements:
                    remaining = tuple([a // b for a, b in zip(left, factors, strict=True)])
                    longer.append((remaining, (*inside, factors), (*arranged, arrangements)))
        chosen = longer
    closed = [d for d in range(dims) if not open_time[d]]
    for left, inside, arranged in chosen:
        if all(left[d] == 1 for d in closed) and parallelism(inside, fanout) >= space.min_parallelism:
            yield Unrolling(inside, arranged)


def factor_choices(slot: FactorSlot, left: Factors, most_units: int) -> tuple[Factors, ...]:
    """Return every choice of factors that a slot admits of what is left, of no more than ``most_units``."""
    return _factor_choices(_options(slot, left, most_units), most_units)


def fitting_choices(slot: FactorSlot, left: Factors, fanout: tuple[int, int]) -> tuple[Factors, ...]:
    """Return those of `factor_choices` that fit a mesh in some arrangement."""
    return _fitting_choices(_options(slot, left, math.prod(fanout)), slot.rank, slot.split, slot.both, fanout)


def arrangements_of(slot: FactorSlot, factors: Factors, fanout: tuple[int, int]) -> tuple[Arrangement, ...]:
    """Return the distinct arrangements of these factors; empty where none fits the mesh.

    One stands for all where a dimension may be unrolled along both axes: no order counts then. As few as may be have
    two loops.
    """
    if slot.both:
        return tuple([_both_loops(factors, x, range(len(factors))) for x in _along_x(factors, fanout)[:1]])
    return arrangements_on(slot.rank, slot.split, factors, fanout)


def early_choices(slot: FactorSlot, bounds: Factors, fanout: tuple[int, int]) -> Iterator[Factors]:
    """Yield every choice of a slot's factors that fits a mesh, of loops that may end early."""

    def choose(d: int, room: int, chosen: Factors) -> Iterator[Factors]:
        if d == len(bounds):
            if fits_mesh(slot.rank, slot.split, chosen, fanout, both=slot.both):
                yield chosen
            return
        fixed = slot.fixed[d]
        for factor in (fixed,) if fixed != FREE else range(slot.least[d], min(slot.most[d], room) + 1):
            if factor <= room and (factor <= bounds[d] or 0 < fewest_passes(slot, d, factor, fanout) <= bounds[d]):
                yield from choose(d + 1, room // factor, (*chosen, factor))

    yield from choose(0, math.prod(fanout), ())


@lru_cache(maxsize=65536)
def fewest_passes(slot: FactorSlot, d: int, factor: int, fanout: tuple[int, int]) -> int:
    """Return how many passes a loop needs that may be longer than they are; 0 where it may not.

    A fixed loop needs two. Along both axes the outer one of two loops has no more iterations than the inner one leaves.
    """
    if slot.fixed[d] != FREE:
        return 2 * (factor > 1)
    inner = [x for x in divisors(factor) if 1 < x < factor and x <= fanout[0] and factor // x <= fanout[1]]
    return factor + 1 - max(inner) if slot.both and inner else 0


def parallelism(factors: tuple[Factors, ...], fanout: tuple[tuple[int, int], ...]) -> float:
    """Return the share of all units that an unrolling uses, added up as Timeloop does (``uber.cpp``)."""
    share = 1.0
    for chosen, fan in zip(factors, fanout, strict=True):
        share *= math.prod(chosen) / math.prod(fan)
    return share


def _options(slot: FactorSlot, left: Factors, most_units: int) -> tuple[Factors, ...]:
    """Return the factors that each dimension may have by itself."""
    found: list[Factors] = []
    for fixed, most, least, rest in zip(slot.fixed, slot.most, slot.least, left, strict=True):
        if fixed != FREE:
            found.append((fixed,) if rest % fixed == 0 else ())
        else:
            limit = min(most, most_units)
            found.append(tuple([f for f in divisors(rest) if least <= f <= limit]))
    return tuple(found)


# Layers of a sweep share most of what follows.
@lru_cache(maxsize=16384)
def _factor_choices(options: tuple[Factors, ...], most_units: int) -> tuple[Factors, ...]:
    """Return every choice of one option a dimension that takes no more than ``most_units``."""
    if not options:
        return ((),)
    found = []
    for factor in options[0]:
        if factor > most_units:
            break
        found += [(factor, *more) for more in _factor_choices(options[1:], most_units // factor)]
    return tuple(found)


@lru_cache(maxsize=16384)
def _fitting_choices(
    options: tuple[Factors, ...], rank: tuple[int, ...], split: int | None, both: bool, fanout: tuple[int, int]
) -> tuple[Factors, ...]:
    choices = _factor_choices(options, math.prod(fanout))
    return tuple([factors for factors in choices if fits_mesh(rank, split, factors, fanout, both=both)])


@lru_cache(maxsize=65536)
def _along_x(factors: Factors, fanout: tuple[int, int], inner: frozenset[int] | None = None) -> list[Factors]:
    """Return what each dimension has along X so that all loops fit.

    At most one choice has no dimension in two loops; at most one, the last, has as few as may be in two.
    ``inner`` are the dimensions that loop along X, where that is asked for.
    """
    most_x, most_y = fanout
    #: By factors along X that fit so far, and whether any dimension has two loops: how many, and each one's factor.
    found: dict[tuple[int, bool], tuple[int, Factors]] = {(1, False): (0, ())}
    for d, factor in enumerate(factors):
        longer: dict[tuple[int, bool], tuple[int, Factors]] = {}
        parts = [x for x in divisors(factor) if inner is None or (x > 1) == (d in inner)]
        for (used, _), (parted, chosen) in found.items():
            for x in parts:
                more = parted + (1 < x < factor), (*chosen, x)
                if used * x <= most_x and more < longer.get((used * x, more[0] > 0), (len(factors) + 1, ())):
                    longer[used * x, more[0] > 0] = more
        found = longer
    whole = math.prod(factors)
    fitting = [chosen for (used, _), chosen in found.items() if whole // used <= most_y]
    least = [min((one for one in fitting if (one[0] > 0) == twice), default=None) for twice in (False, True)]
    return [one[1] for one in least if one is not None]


def _both_loops(factors: Factors, along_x: Factors, order: Sequence[int]) -> Arrangement:
    """Return loops along Y and, inside them, along X, each in an order of dimensions from the outermost."""
    outer = [(d, factors[d] // along_x[d], 1) for d in order if factors[d] > along_x[d]]
    return (*outer, *((d, along_x[d], 0) for d in order if along_x[d] > 1))


@lru_cache(maxsize=4096)
def early_arrangements(factors: Factors, fanout: tuple[int, int]) -> tuple[Arrangement, ...]:
    """Return an arrangement for each order of unrolled dimensions, with and without two loops of any.

    Two loops of a dimension count as one in the place of the inner one. All arrangements have as many loops: those of
    one iteration make up the number.
    """
    moving = [d for d, factor in enumerate(factors) if factor > 1]
    found: dict[tuple[bool, tuple[int, ...]], Arrangement] = {}
    for inner in itertools.chain(*(itertools.combinations(moving, n) for n in range(len(moving) + 1))):
        choices = _along_x(factors, fanout, frozenset(inner))
        rest = [d for d in moving if d not in inner]
        orders = itertools.product(itertools.permutations(rest), itertools.permutations(inner))
        for (outer, along), along_x in itertools.product(orders, choices):
            loops = _both_loops(factors, along_x, (*outer, *along))
            found.setdefault((len(loops) > len(moving), (*outer, *along)), loops)
    most = max(map(len, found.values()), default=0)
    once = ((*moving, 0)[0], 1, 1)
    return tuple([(*[once] * (most - len(loops)), *loops) for loops in found.values()])


@lru_cache(maxsize=65536)
def arrangements_on(
    rank: tuple[int, ...], split: int | None, factors: Factors, fanout: tuple[int, int]
) -> tuple[Arrangement, ...]:
    """Return the distinct arrangements of these factors; empty where no split fits the mesh."""
    dims = range(len(factors))
    if split is None:
        moving = [d for d in dims if factors[d] > 1]
        splits = range(len(moving) + 1)
    else:
        moving = list(dims)
        splits = range(split, split + 1)
    groups = [
        list(group) for _, group in itertools.groupby(sorted(moving, key=lambda d: (rank[d], d)), lambda d: rank[d])
    ]
    found: dict[Arrangement, None] = {}
    for orders in itertools.product(*(itertools.permutations(group) for group in groups)):
        inner_first = [d for order in orders for d in order]
        for first_of_y in splits:
            used = [1, 1]
            loops: list[tuple[int, int, int]] = []
            for position, d in enumerate(inner_first):
                axis = 0 if position < first_of_y else 1
                used[axis] *= factors[d]
                if factors[d] > 1:
                    loops.append((d, factors[d], axis))
            if used[0] <= fanout[0] and used[1] <= fanout[1]:
                found[tuple(reversed(loops))] = None
    return tuple(found)


@lru_cache(maxsize=65536)
def fits_mesh(
    rank: tuple[int, ...], split: int | None, factors: Factors, fanout: tuple[int, int], *, both: bool = False
) -> bool:
    """Whether any arrangement fits the mesh: whether `arrangements_of` returns one."""
    if both:
        return bool(_along_x(factors, fanout))
    most_x, most_y = fanout
    left = math.prod(factors)
    if left > most_x * most_y:
        return False
    moving = [d for d, factor in enumerate(factors) if factor > 1 or split is not None]
    places = None if split is None else min(split, len(moving))
    inside = 1
    before = 0
    if not moving:
        return True
    for _, dims in itertools.groupby(sorted(moving, key=lambda d: rank[d]), lambda d: rank[d]):
        # Loops of one rank stand in any order, so any of them may lie along X: how many, and their product.
        sums = {(0, 1)}
        count = 0
        for d in dims:
            sums |= {(n + 1, product * factors[d]) for n, product in sums}
            count += 1
        for n, product in sums:
            x = inside * product
            if x <= most_x and left * inside // x <= most_y and places in (None, before + n):
                return True
        whole = max(product for n, product in sums if n == count)
        inside *= whole
        left //= whole
        before += count
    return False
