"""How often words pass boundaries at least where the order of all loops outside is known; docs/search-residual.md."""

from jouleloop.jit import njit
from jouleloop.model.arrays import TEMPORAL, Bools, Floats, NestArrays, copy_row
from jouleloop.optimum.residual.ahead import Stepping, again_times
from jouleloop.optimum.residual.bound import crossing_pj
from jouleloop.optimum.residual.ends import ends_once
from jouleloop.optimum.residual.state import Design, Unrolled, Walk


@njit
def _times(
    design: Design, unrolled: Unrolled, walk: Walk, nest: NestArrays, v: int, i: int
) -> tuple[float, float]:  # fmt: skip
    """Return how often words are asked for and how often they reach a unit on average, at least; see `ordered_pj`."""
    relevant, mate, ends, halos = design.relevant[v], design.mate[v], walk.ends, unrolled.halos[v, i]
    passes, beyond, rest, number = ends.passes, ends.beyond, walk.room.rest, walk.room.size
    levels, dims = passes.shape
    first = unrolled.crossings[v, i].child + 1
    used = ends.used[first]
    asked, filled, share = 0.0, 0.0, 1.0
    # Whether a loop stands inside that leaves the box in place for a step at least: after it no step slides.
    plain = False
    last = 0
    copy_row(passes[first], rest)
    for level in range(first, levels):
        if level > first:
            copy_row(passes[level], rest)
        for place in range(nest.counts[level, TEMPORAL] - 1, -1, -1):
            d = nest.loops[level, TEMPORAL, place].dim
            once = ends_once(rest[d], ends.least[level, d], ends.largest_end[level, d])
            if not relevant[d]:
                plain = plain or (unrolled.crossings[v, i].linkless and not once)
                rest[d] = -(-rest[d] // ends.least[level, d])
                continue
            for e in range(dims):
                number[e] = -(-rest[e] // beyond[level, e])
            if mate[d] >= 0 and not plain:
                within, saving = 1 << d | 1 << mate[d], _between(nest, level, place)
                stepping = Stepping(within, saving, halos[d].box, False)
                ask, fill = again_times(design, unrolled, v, i, number, used, stepping)
                kept = share * (1.0 - halos[d].over)
                return asked + kept * ask, filled + kept * fill
            stepping = Stepping(0, 0, 0.0, mate[d] >= 0)
            ask, fill = again_times(design, unrolled, v, i, number, used, stepping)
            # In the last pass of the dimension, one of those it visits, the loop may run once.
            stays = 1.0 / -(-passes[first, d] // beyond[first, d]) if once else 0.0
            if once and last >> d & 1:
                stays = 1.0
            last |= 1 << d
            asked += share * (1.0 - stays) * ask
            filled += share * (1.0 - stays) * fill
            share *= stays
            if share == 0.0:
                return asked, filled
            rest[d] = -(-rest[d] // ends.least[level, d])
    return asked + share, filled + share * _least_used(relevant, used)


@njit
def _least_used(relevant: Bools, used: Floats) -> float:
    share = 1.0
    for d in range(relevant.shape[0]):
        if not relevant[d]:
            share *= used[d]
    return share


@njit
def _between(nest: NestArrays, level: int, place: int) -> int:
    """Return the dimensions of which a loop stands between the loop at a place of a level and another of its own."""
    saving, seen = 0, 0
    j = nest.loops[level, TEMPORAL, place].dim
    for outer in range(level, nest.counts.shape[0]):
        for at in range(place - 1 if outer == level else nest.counts[outer, TEMPORAL] - 1, -1, -1):
            d = nest.loops[outer, TEMPORAL, at].dim
            if d == j:
                saving |= seen
            else:
                seen |= 1 << d
    return saving


@njit
def ordered_pj(design: Design, unrolled: Unrolled, walk: Walk, nest: NestArrays, child: int) -> float:
    """Return by how much [pJ] the boundaries outside a level cost more than once through, at least.

    ``nest`` holds the loops of all levels outside ``child`` in their order, `Walk.ends` their ends.
    """
    total = 0.0
    for v in range(design.relevant.shape[0]):
        for i in range(unrolled.counts[v]):
            if unrolled.crossings[v, i].child == child:
                asked, filled = _times(design, unrolled, walk, nest, v, i)
                all_pj = crossing_pj(design, unrolled, v, i, asked, filled)
                total += max(0.0, all_pj - unrolled.crossings[v, i].once_pj)
    return total
