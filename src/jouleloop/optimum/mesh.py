"""How many instances below a fan-out have a mesh neighbour a move away, over all arrangements of its spatial loops.

`docs/search.md` states the lemma: *neighbours*.
"""

from jouleloop.jit import njit
from jouleloop.model.arrays import AXIS, BOUND, DIM, FANOUT_X, FANOUT_Y, Ints
from jouleloop.optimum.arrays import (
    BOX,
    BOXES,
    COUNTED,
    FIRST,
    HALO,
    HOLDER,
    IDLE,
    INSTANCES_BELOW,
    KEYS,
    KNOWN,
    LAST,
    MOST_DISTANCE,
    PLACE,
    SERVED_BOXES,
    SERVED_INSTANCES,
    SEVERAL,
    WAYS,
    WEIGHT,
    WIDEST,
    Arrangements,
    Case,
    Mesh,
)

#: Most instances of a level that are looked at, in all arrangements together.
_MOST_INSTANCES = 300_000


@njit
def forget_neighbours(mesh: Mesh) -> None:
    """Nothing is known of the neighbours of an unrolling."""
    mesh.fan[:, :, KNOWN] = 0


@njit
def find_neighbours(case: Case, factors: Ints, arrangements: Arrangements, run: Ints) -> None:
    """Fill what is known of the neighbours under the unrolling at hand, its arrangements being listed.

    ``factors`` are its spatial factors, shape (levels, dimensions).
    """
    origin = case.unrolled.origin
    forget_neighbours(case.mesh)
    for level in range(1, factors.shape[0]):
        # Merged unrollings have other factors at these levels.
        merged = origin[level] != level
        for k in range(level):
            merged = merged or origin[k] >= level
        instances, choices = 1, 0
        for d in range(factors.shape[1]):
            instances *= factors[level, d]
        for member in range(run[FIRST], run[LAST]):
            choices += arrangements.members[member, level, 1] - arrangements.members[member, level, 0]
        if merged or choices * instances > _MOST_INSTANCES:
            continue
        for v in range(case.layer.coef.shape[0]):
            if case.keep[level - 1, v] and _lay_out(case, factors[level], level, v):
                _count(case, arrangements, run, level, v)


@njit
def _lay_out(case: Case, factors: Ints, level: int, v: int) -> bool:
    """Number the distances that moves of a data space may be; return whether there are any, and not too many.

    Where one dimension of a rank is unrolled, its indices are the distance; where several are, tiles of one index.
    """
    mesh, side, coef, inside = case.mesh, case.unrolled.side[v], case.layer.coef[v], case.unrolled.inside[level - 1]
    axis, unit, fan = mesh.axis[level, v], mesh.unit[level, v], mesh.fan[level, v]
    axis[:] = 0
    keys = instances = boxes = widest = 1
    for d in range(factors.shape[0]):
        unit[d] = 0
        instances *= factors[d]
        if side[d, IDLE] == 0 and side[d, HALO] < 0:
            boxes *= factors[d]
            widest *= factors[d]
    for r in range(coef.shape[0]):
        unrolled, most = 0, 1
        for d in range(factors.shape[0]):
            if side[d, HALO] == r and factors[d] > 1:
                unrolled += 1
                most = max(most, factors[d])
        if unrolled == 0:
            continue
        for d in range(factors.shape[0]):
            if side[d, HALO] == r and factors[d] > 1:
                unit[d] = 1 if unrolled == 1 else coef[r, d] * inside[d]
                axis[r, MOST_DISTANCE] += unit[d] * (factors[d] - 1)
        axis[r, SEVERAL] = 1 if unrolled > 1 else 0
        axis[r, WEIGHT] = keys
        keys *= 2 * axis[r, MOST_DISTANCE] + 1
        boxes *= axis[r, MOST_DISTANCE] + 1
        widest *= most
    fan[KEYS], fan[INSTANCES_BELOW], fan[WIDEST] = keys, instances, widest
    return keys > 1 and max(keys, instances, boxes) <= mesh.pairs.shape[0]


@njit
def _count(case: Case, arrangements: Arrangements, run: Ints, level: int, v: int) -> None:
    """Count the boxes and instances that a step may serve by links, at most, by distance."""
    fan, served, pairs = case.mesh.fan[level, v], case.mesh.served[level, v], case.mesh.pairs
    served[: fan[KEYS]] = 0
    for member in range(run[FIRST], run[LAST]):
        for a in range(arrangements.members[member, level, 0], arrangements.members[member, level, 1]):
            _find_pairs(case, arrangements.loops[a], arrangements.counts[a], level, v)
            pairs[: fan[KEYS], COUNTED:] = 0
            _count_instances(pairs, fan[INSTANCES_BELOW])
            fan[BOXES] = _count_boxes(pairs, fan[INSTANCES_BELOW])
            for key in range(fan[KEYS]):
                for what in (SERVED_BOXES, SERVED_INSTANCES):
                    served[key, what] = max(served[key, what], pairs[key, COUNTED + what])
    fan[KNOWN] = 1


@njit
def _find_pairs(case: Case, loops: Ints, count: int, level: int, v: int) -> None:
    """Write by instance its box and the distances to its mesh neighbours, -1 where no move leads there.

    See `jouleloop.model.links.neighbour_links`.
    """
    spec, side, pairs = case.spec, case.unrolled.side[v], case.mesh.pairs
    axis, unit = case.mesh.axis[level, v], case.mesh.unit[level, v]
    instances = case.mesh.fan[level, v, INSTANCES_BELOW]
    along_x = along_y = 1
    for s in range(count):
        if loops[s, AXIS] == 0:
            along_x *= loops[s, BOUND]
        else:
            along_y *= loops[s, BOUND]
    columns = max(along_x, int(spec[level, FANOUT_X]))
    rows = max(along_y, int(spec[level, FANOUT_Y]))
    base, boxes = 0, 1
    for r in range(axis.shape[0]):
        base += axis[r, WEIGHT] * axis[r, MOST_DISTANCE]
        axis[r, PLACE] = boxes
        boxes *= axis[r, MOST_DISTANCE] + 1
    for i in range(instances):
        rest, box, weight = i, 0, boxes
        for s in range(count - 1, -1, -1):
            d, index = loops[s, DIM], rest % loops[s, BOUND]
            rest //= loops[s, BOUND]
            if side[d, HALO] >= 0:
                box += axis[side[d, HALO], PLACE] * unit[d] * index
            elif side[d, IDLE] == 0:
                box += weight * index
                weight *= loops[s, BOUND]
        pairs[i, BOX] = box
        for way in range(WAYS):
            pairs[i, way] = -1
            other = i + (1, -1, columns, -columns)[way]
            if other < 0 or other >= instances or max(i, other) // columns >= rows:
                continue
            if way < 2 and other // columns != i // columns:
                continue
            here, there, key = i, other, base
            for s in range(count - 1, -1, -1):
                d, bound = loops[s, DIM], loops[s, BOUND]
                apart = there % bound - here % bound
                here //= bound
                there //= bound
                if side[d, HALO] >= 0:
                    key += axis[side[d, HALO], WEIGHT] * unit[d] * apart
                elif side[d, IDLE] == 0 and apart != 0:
                    key = -1
                    break
            pairs[i, way] = key


@njit(inline="always")
def _is_first(pairs: Ints, i: int, way: int) -> bool:
    """Whether an instance has a neighbour at a distance that none of its neighbours before is at."""
    if pairs[i, way] < 0:
        return False
    same = False
    for before in range(way):
        same = same or pairs[i, before] == pairs[i, way]
    return not same


@njit
def _count_instances(pairs: Ints, instances: int) -> None:
    """Count by distance the instances that have a neighbour there."""
    for i in range(instances):
        for way in range(WAYS):
            if _is_first(pairs, i, way):
                pairs[pairs[i, way], COUNTED + SERVED_INSTANCES] += 1


@njit
def _count_boxes(pairs: Ints, instances: int) -> int:
    """Count by distance the boxes of which every instance has a neighbour there: the others are asked for.

    Returns how many boxes there are.
    """
    pairs[:, HOLDER] = -1
    boxes = 0
    for i in range(instances):
        holder = pairs[pairs[i, BOX], HOLDER]
        if holder < 0:
            pairs[pairs[i, BOX], HOLDER] = i
            continue
        for way in range(WAYS):
            found = False
            for mine in range(WAYS):
                found = found or pairs[i, mine] == pairs[holder, way]
            if not found:
                pairs[holder, way] = -1
    for box in range(pairs.shape[0]):
        if pairs[box, HOLDER] >= 0:
            boxes += 1
            for way in range(WAYS):
                if _is_first(pairs, pairs[box, HOLDER], way):
                    pairs[pairs[pairs[box, HOLDER], way], COUNTED + SERVED_BOXES] += 1
    return boxes
