"""What a level that keeps nothing passes on: how many instances ask for one box, and what share of all words is left.

`docs/search.md` states the lemma: *groups of unrollings*, words that pass. Links may leave more of large classes, where
two unrolled dimensions move a rank: then all instances are laid out, and those that a step leaves are counted. Where
they are too many, it is known of each class whether links may serve it, and the worst that they may leave counts.
"""

import itertools
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache
from typing import NamedTuple

import numpy as np

from jouleloop.division import divisors
from jouleloop.jit import njit
from jouleloop.model.arrays import Bools, Ints
from jouleloop.model.links import neighbour_links, neighbour_of
from jouleloop.optimum.words import instances_at, may_cancel, served_at

#: Most instances that are laid out, over all unrollings, orders of loops and kinds of tiles. Beyond, classes count.
MOST_LAID_OUT = 4_000_000


class Moved(NamedTuple):
    """A dimension of a rank."""

    dim: int
    coef: int
    factor: int
    """Its spatial factor."""
    rest: int
    """Its indices that are left for tiles and loops outside."""


#: The open dimensions of a rank, unrolled or not.
Rank = tuple[Moved, ...]


class Layout(NamedTuple):
    """How the boxes of instances lie along a rank, for tiles of one kind."""

    unit: tuple[int, ...]
    """How far apart boxes are by dimension of the rank; only which of them coincide counts."""
    moves: frozenset[int]
    """How far loops outside may move the rank from one box to another."""
    share: float
    """Instances a different box, over those that hold one box, at most."""
    largest: int
    """Instances that hold one box, at most."""
    stands: bool = True
    """Whether loops outside may cancel each other out."""


@cache
def layouts_of(rank: Rank) -> tuple[Layout, ...]:
    """Return the layouts of a rank, for all tiles; of more than two unrolled dimensions one that bounds all."""
    unrolled = [one for one in rank if one.factor > 1]
    if len(unrolled) > 2 or len(rank) > 2:
        number, widest = math.prod(one.factor for one in unrolled), max((one.factor for one in unrolled), default=1)
        return (Layout((), frozenset(), widest / number, number // widest),)
    found: dict[tuple[int, ...], set[int]] = {}
    standing = set()
    for tile in itertools.product(*(divisors(one.rest) for one in rank)):
        steps = [one.coef * length for one, length in zip(rank, tile, strict=True)]
        unit = _unit(rank, steps)
        moves = found.setdefault(unit, set())
        if _cancels(rank, tile):
            standing.add(unit)
        for apart in itertools.product(*(range(1 - one.factor, one.factor) for one in rank)):
            if _reached(rank, tile, _dot(steps, apart)):
                moves.add(_dot(unit, apart))
    return tuple(
        Layout(unit, frozenset(moves), *_classes(rank, unit), unit in standing) for unit, moves in found.items()
    )


def _dot(some: Sequence[int], others: Sequence[int]) -> int:
    return sum(one * other for one, other in zip(some, others, strict=True))


def _unit(rank: Rank, steps: Sequence[int]) -> tuple[int, ...]:
    """Return the least distances that make the same boxes and the same ways coincide."""
    both = math.gcd(*steps)
    unit = tuple(step // both for step in steps)
    if len(rank) < 2:
        return unit
    (one, other), (first, second) = rank, unit
    # Two ways differ by less than twice a factor in each dimension.
    if abs(second) <= 2 * (one.factor - 1) and abs(first) <= 2 * (other.factor - 1):
        return unit
    return int(math.copysign(1, first)), int(math.copysign(4 * one.factor, second))


def _classes(rank: Rank, unit: tuple[int, ...]) -> tuple[float, int]:
    """Return `Layout.share` and `Layout.largest`."""
    sizes = _instances(rank, unit)
    boxes, largest = np.count_nonzero(sizes), int(sizes.max())
    return int(sizes.sum()) / (boxes * largest), largest


def _outside(rank: Rank, tile: Sequence[int]) -> tuple[list[int], list[int]]:
    """Return by dimension how far one iteration of the loops outside moves the rank, and how many there are."""
    steps = [one.coef * length * one.factor for one, length in zip(rank, tile, strict=True)]
    return steps, [one.rest // length for one, length in zip(rank, tile, strict=True)]


def _reached(rank: Rank, tile: Sequence[int], wanted: int) -> bool:
    """Whether loops outside may move the rank by so many indices, each forward or back."""
    steps, times = _outside(rank, tile)
    for first in itertools.product(*(range(1 - number, number) for number in times[:-1])):
        y, over = divmod(wanted - _dot(steps[:-1], first), steps[-1])
        if over == 0 and abs(y) < times[-1]:
            return True
    return False


def _cancels(rank: Rank, tile: Sequence[int]) -> bool:
    """Whether loops outside over both dimensions of a rank may leave it in place together."""
    if len(rank) < 2:
        return False
    (step, other), (times, other_times) = _outside(rank, tile)
    return bool(may_cancel(abs(step), times - 1, abs(other), other_times - 1))


class Passed(NamedTuple):
    """What a level that keeps nothing passes on of the words that all its instances ask for."""

    share: float
    """Share of all different words, at least."""
    mean: float
    """Instances that ask for one box, in the mean over all boxes and steps, at most."""
    largest: float
    """Instances that ask for one box, at most."""
    laid_out: int = 0
    """How many instances were laid out."""


def words_passed(
    ranks: Sequence[Rank],
    factors: Sequence[int],
    mesh: tuple[int, int],
    most: int = MOST_LAID_OUT,
    *,
    repeats: bool = False,
) -> Passed:
    """Return what a level that keeps nothing passes on.

    Parameters
    ----------
    ranks
        Of one data space.
    factors
        Spatial factors of the level by dimension.
    mesh
        Its columns and rows.
    most
        Instances that may be laid out.
    repeats
        Whether steps that move nothing may fetch all again.
    """
    several = [rank for rank in ranks if sum(one.factor > 1 for one in rank) > 1]
    worst = math.prod(min(layout.share for layout in layouts_of(rank)) for rank in several)
    alike = math.prod(factors) / math.prod(one.factor for rank in ranks for one in rank)
    largest = alike * math.prod(max(layout.largest for layout in layouts_of(rank)) for rank in several)
    if worst == 1.0:
        return Passed(1.0, largest, largest)
    unrolled = [d for d, factor in enumerate(factors) if factor > 1]
    # Ranks that nothing unrolled moves leave all instances alike.
    moved = [rank for rank in ranks if any(one.factor > 1 for one in rank)]
    kinds = [layouts_of(rank) for rank in moved]
    laid_out = math.prod(map(len, kinds)) * math.factorial(len(unrolled)) * math.prod(factors)
    if any(not layout.unit for kind in kinds for layout in kind):
        return Passed(worst, largest, largest)
    if laid_out > most:
        laid_out, others = 0, (layouts_of(rank) for rank in ranks if rank and rank not in moved)
        stands = repeats or any(layout.stands for kind in others for layout in kind)
        left = (_most_left(tuple(moved), chosen, stands) for chosen in itertools.product(*kinds))
        means = [(alike * mean, alike * most) for mean, most in left]
    else:
        means = [
            _means_of(moved, chosen, [(d, factors[d]) for d in order], mesh)
            for chosen in itertools.product(*kinds)
            for order in itertools.permutations(unrolled)
        ]
    mean = max(most for _, most in means)
    return Passed(min(mean / most for mean, most in means), min(mean, largest), largest, laid_out)


@cache
def _most_left(ranks: tuple[Rank, ...], chosen: tuple[Layout, ...], stands: bool) -> tuple[float, float]:
    """Return instances over boxes, of all instances and, at most, of those that links leave, wherever instances lie.

    A box that no other is a move away from is left. Of the others those are, that raise the mean.
    """
    pairs = list(zip(ranks, chosen, strict=True))
    whole = _joined([_sizes(_instances(rank, layout.unit)) for rank, layout in pairs])
    mean = most = _mean(whole)
    if stands or any(layout.stands for layout in chosen):
        return mean, float(max(whole))
    for moves in itertools.product(*(_ways(rank, layout) for rank, layout in pairs)):
        served = _joined([sizes for _, sizes in moves])
        if not served or not any(moved for moved, _ in moves):
            continue
        left = whole - served
        for size in sorted(served, reverse=True):
            if left and size <= _mean(left):
                break
            left[size] += served[size]
        most = max(most, _mean(left))
    return mean, most


def _mean(sizes: Counter[int]) -> float:
    return sum(size * number for size, number in sizes.items()) / sum(sizes.values())


def _joined(sizes: Sequence[Counter[int]]) -> Counter[int]:
    """Return how many boxes are of a size, by size, from those of all ranks."""
    joined = Counter({1: 1})
    for own in sizes:
        found: Counter[int] = Counter()
        for (size, number), (other, times) in itertools.product(joined.items(), own.items()):
            found[size * other] += number * times
        joined = found
    return joined


@cache
def _instances(rank: Rank, unit: tuple[int, ...]) -> Ints:
    """Return how many instances hold the boxes of a rank, by where these are."""
    found: Ints = instances_at(np.array(unit, np.int64), np.array([one.factor for one in rank], np.int64))
    return found


def _sizes(held: Ints) -> Counter[int]:
    """Return how many boxes there are by how many instances hold each."""
    return Counter(held[held > 0].tolist())


@cache
def _ways(rank: Rank, layout: Layout) -> list[tuple[bool, Counter[int]]]:
    """Return whether a rank is moved, and how many of the boxes that have one a move away are of a size.

    A move that lets links serve no more boxes of any size than another is left out.
    """
    held = _instances(rank, layout.unit)
    found = [_sizes(served_at(held, move)) for move in layout.moves if move]
    most: list[Counter[int]] = []
    for sizes in sorted(found, key=Counter.total, reverse=True):
        if not any(sizes <= other for other in most):
            most.append(sizes)
    return [(False, _sizes(held)), *((True, sizes) for sizes in most)]


def _means_of(
    ranks: Sequence[Rank], chosen: Sequence[Layout], loops: Sequence[tuple[int, int]], mesh: tuple[int, int]
) -> tuple[float, float]:
    """Return instances over boxes, of all instances and, at most, of those that links leave in a step."""
    unit = np.zeros((len(ranks), len(loops)), np.int64)
    for r, (rank, layout) in enumerate(zip(ranks, chosen, strict=True)):
        length = dict(zip((one.dim for one in rank), layout.unit, strict=True))
        unit[r] = [length.get(d, 0) for d, _ in loops]
    bounds = np.array([bound for _, bound in loops])
    reach = np.abs(unit) @ (bounds - 1)
    moves = np.zeros((len(ranks), 2 * int(reach.max()) + 1), np.bool_)
    for r, layout in enumerate(chosen):
        moves[r, [move + reach[r] for move in layout.moves if abs(move) <= reach[r]]] = True
    found: tuple[float, float] = _means(bounds, unit, reach, moves, mesh)
    return found


@njit
def _means(bounds: Ints, unit: Ints, reach: Ints, moves: Bools, mesh: tuple[int, int]) -> tuple[float, float]:
    """Return instances over boxes, of all instances and, at most, of those that links leave in a step.

    Parameters
    ----------
    bounds
        Of the spatial loops, the outermost first.
    unit, reach
        By rank, how far an index of a loop moves it, shape (ranks, loops), and how far boxes are apart at most.
    moves
        By rank and move, the reach added, whether loops outside may move it so.
    """
    instances, spaces = 1, 1
    for bound in bounds:
        instances *= bound
    for length in reach:
        spaces *= 2 * length + 1
    box = np.zeros(instances, np.int64)
    for i in range(instances):
        rest = i
        for s in range(bounds.shape[0] - 1, -1, -1):
            weight = 1
            for r in range(reach.shape[0]):
                box[i] += weight * unit[r, s] * (rest % bounds[s])
                weight *= 2 * reach[r] + 1
            rest //= bounds[s]
    least = box.min()
    seen = np.full(spaces, -1, np.int64)
    boxes = 0
    for i in range(instances):
        boxes += seen[box[i] - least] < 0
        seen[box[i] - least] = i
    mean = most = instances / boxes
    done = {box[0] - box[0]}
    done.clear()
    seen[:] = -1
    for i in range(instances):
        for way in range(4):
            other = neighbour_of(i, way, instances, mesh)
            move = box[max(other, 0)] - box[i]
            if other < 0 or move in done or not _moved(move, reach, moves):
                continue
            done.add(move)
            left, boxes = _left(box, least, move, mesh, seen)
            if boxes > 0:
                most = max(most, left / boxes)
    return mean, most


@njit
def _moved(move: int, reach: Ints, moves: Bools) -> bool:
    """Whether loops outside may move all ranks so."""
    possible = True
    for r in range(reach.shape[0]):
        width = 2 * reach[r] + 1
        own = (move + reach[r]) % width
        possible = possible and moves[r, own]
        move = (move - (own - reach[r])) // width
    return bool(possible)


@njit
def _left(box: Ints, least: int, move: int, mesh: tuple[int, int], seen: Ints) -> tuple[int, int]:
    """Return the instances that no neighbour serves in a step, and their boxes; ``seen`` is all -1, and left so."""
    instances = box.shape[0]
    places, need, linked = box.reshape((instances, 1)), np.full(1, move, np.int64), np.empty(instances, np.bool_)
    left = instances - neighbour_links(places, places, need, mesh[0], mesh[1], linked)
    boxes = 0
    for i in range(instances):
        if not linked[i]:
            boxes += seen[box[i] - least] < 0
            seen[box[i] - least] = i
    for i in range(instances):
        seen[box[i] - least] = -1
    return left, boxes


def unrolled_ranks(coef: Ints, factors: Sequence[int], bounds: Sequence[int]) -> Iterator[Rank]:
    """Yield the ranks of a data space whose projection is ``coef``, shape (ranks, dimensions)."""
    for row in coef.tolist():
        yield tuple(Moved(d, c, factors[d], bounds[d] // factors[d]) for d, c in enumerate(row) if c and bounds[d] > 1)
