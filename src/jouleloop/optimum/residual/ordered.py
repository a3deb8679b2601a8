"""How often words pass boundaries at least where the order of all loops outside is known; docs/search-residual.md."""

from jouleloop.jit import njit
from jouleloop.model.arrays import DIM, TEMPORAL, Bools, Floats, Ints, NestArrays
from jouleloop.optimum.residual.ahead import again_times
from jouleloop.optimum.residual.bound import AGAIN, BOX, CHILD, LINKLESS, ONCE_PJ, OVER, RESTED, crossing_pj
from jouleloop.optimum.residual.ends import ends_once


@njit
def _times(
    relevant: Bools, mate: Ints, halos: Floats, crossing: Floats, nest: NestArrays, passes: Ints, least: Ints,
    most: Ints, beyond: Ints, used: Floats, rest: Ints, number: Ints,
) -> tuple[float, float]:  # fmt: skip
    """Return how often words are asked for and how often they reach a unit on average, at least.

    See `ordered_pj`; ``rest`` and ``number`` are room to work in.
    """
    levels, dims = passes.shape
    first = int(crossing[CHILD]) + 1
    asked, filled, share = 0.0, 0.0, 1.0
    # Whether a loop stands inside that leaves the box in place for a step at least: after it no step slides.
    plain = False
    last = 0
    rest[:] = passes[first]
    for level in range(first, levels):
        if level > first:
            rest[:] = passes[level]
        for place in range(nest.counts[level, TEMPORAL] - 1, -1, -1):
            d = nest.loops[level, TEMPORAL, place, DIM]
            once = ends_once(rest[d], least[level, d], most[level, d])
            if not relevant[d]:
                plain = plain or (crossing[LINKLESS] > 0 and not once)
                rest[d] = -(-rest[d] // least[level, d])
                continue
            for e in range(dims):
                number[e] = -(-rest[e] // beyond[level, e])
            if mate[d] >= 0 and not plain:
                within, saving = 1 << d | 1 << mate[d], _between(nest, level, place)
                ask, fill = again_times(relevant, mate, halos, AGAIN, within, number, saving, halos[d, BOX], used)
                kept = share * (1.0 - halos[d, OVER])
                return asked + kept * ask, filled + kept * fill
            again = RESTED if mate[d] >= 0 else AGAIN
            ask, fill = again_times(relevant, mate, halos, again, 0, number, 0, 0.0, used)
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
            rest[d] = -(-rest[d] // least[level, d])
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
    j = nest.loops[level, TEMPORAL, place, DIM]
    for outer in range(level, nest.counts.shape[0]):
        for at in range(place - 1 if outer == level else nest.counts[outer, TEMPORAL] - 1, -1, -1):
            d = nest.loops[outer, TEMPORAL, at, DIM]
            if d == j:
                saving |= seen
            else:
                seen |= 1 << d
    return saving


@njit
def ordered_pj(
    spec: Floats, read_write: Bools, elided: bool, relevant: Bools, mate: Ints, instances: Floats, counts: Ints,
    crossings: Floats, halos: Floats, nest: NestArrays, child: int,
    passes: Ints, least: Ints, most: Ints, beyond: Ints, used: Floats, rest: Ints, number: Ints,
) -> float:  # fmt: skip
    """Return by how much [pJ] the boundaries outside a level cost more than once through, at least.

    Parameters
    ----------
    relevant
        Whether a dimension moves a data space, shape (data spaces, dimensions).
    instances, counts, crossings, halos
        Of all data spaces, see `jouleloop.optimum.residual.bound`.
    nest
        The loops of all levels outside ``child``, in their order.
    passes, least, most
        By level and dimension: iterations of all temporal loops from the level outward, and the ends of its own loop.
    beyond
        By level and dimension: units outside the level's own fan-out.
    used
        By dimension, the share of the units below the child that the last pass needs.
    """
    total = 0.0
    for v in range(relevant.shape[0]):
        for i in range(counts[v]):
            crossing = crossings[v, i]
            if crossing[CHILD] != child:
                continue
            asked, filled = _times(
                relevant[v], mate[v], halos[v, i], crossing, nest, passes, least, most, beyond, used, rest, number
            )
            all_pj = crossing_pj(spec, instances, crossing, read_write[v], elided, asked, filled)
            total += max(0.0, all_pj - crossing[ONCE_PJ])
    return total
