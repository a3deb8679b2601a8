"""How many instances below a fan-out have a mesh neighbour a move away, over all arrangements of its spatial loops.

`docs/search.md` states the lemma: *neighbours*.
"""

from jouleloop.jit import njit
from jouleloop.model.arrays import AXIS, BOUND, DIM, FANOUT_X, FANOUT_Y, Ints
from jouleloop.optimum.arrays import (
    ASKED,
    ASKED_LEVEL,
    ASKED_POINT,
    BOX,
    BOXES,
    COUNTED,
    FARTHEST,
    FIRST,
    HALO,
    HOLDER,
    IDLE,
    INSTANCES_BELOW,
    KNOWN,
    LAST,
    QUANTUM,
    REACH,
    SERVED_BOXES,
    SERVED_INSTANCES,
    WAYS,
    WEIGHT,
    Arrangements,
    Case,
    Mesh,
    Path,
)
from jouleloop.optimum.path import extents
from jouleloop.optimum.words import find_reach, number_of, shape_of, unit_of

#: Most instances of a level that are looked at, in all arrangements together.
_MOST_INSTANCES = 300_000


@njit
def forget_neighbours(mesh: Mesh) -> None:
    """Nothing is known of the neighbours of an unrolling, and nobody asks."""
    if mesh.ask[ASKED] == 1:
        mesh.unit[:] = 0
        mesh.ask[:] = 0


@njit
def find_neighbours(case: Case, path: Path, arrangements: Arrangements, run: Ints) -> None:
    """Find what is asked of the neighbours under the unrolling at hand, its arrangements being listed."""
    ask, extent, origin = case.mesh.ask, case.scratch.line[0], case.unrolled.origin
    level = ask[ASKED_LEVEL]
    ask[ASKED_LEVEL] = 0
    extents(case, level, ask[ASKED_POINT], extent)
    # Merged unrollings have other factors at these levels.
    merged = origin[level] != level
    for k in range(level):
        merged = merged or origin[k] >= level
    instances, choices = 1, 0
    factors = case.unrolled.factors[level]
    for d in range(factors.shape[0]):
        instances *= factors[d]
    for member in range(run[FIRST], run[LAST]):
        choices += arrangements.members[member, level, 1] - arrangements.members[member, level, 0]
    few = not merged and choices * instances <= _MOST_INSTANCES
    for v in range(case.target.layer.coef.shape[0]):
        coef, side, reach = case.target.layer.coef[v], case.unrolled.side[v], path.rank[:REACH]
        distances = find_reach(coef, side, extent, factors, reach)
        if case.keep[level - 1, v] and distances > 1:
            place = shape_of(coef, side, extent, factors, reach, case.mesh.unit[level, v])[0]
            for d in range(extent.shape[0]):
                case.mesh.unit[level, v, place, d] = unit_of(coef, side, extent, factors, reach, d)
            fan = case.mesh.fan[level, v, place]
            codes = _lay_out(side, factors, reach, fan)
            fan[KNOWN] = 0
            if few and max(distances, instances, codes) <= case.mesh.pairs.shape[0]:
                _count(case, arrangements, run, level, v, place, reach, distances, codes)
                fan[KNOWN] = 1


@njit
def _lay_out(side: Ints, factors: Ints, reach: Ints, fan: Ints) -> int:
    """Write how many instances there are; return how many boxes at most."""
    instances = boxes = 1
    for d in range(factors.shape[0]):
        instances *= factors[d]
        if side[d, IDLE] == 0 and side[d, HALO] < 0:
            boxes *= factors[d]
    for r in range(reach.shape[1]):
        if reach[QUANTUM, r] > 0:
            boxes *= reach[FARTHEST, r] // reach[QUANTUM, r] + 1
    fan[INSTANCES_BELOW] = instances
    return int(boxes)


@njit
def _count(
    case: Case,
    arrangements: Arrangements,
    run: Ints,
    level: int,
    v: int,
    place: int,
    reach: Ints,
    distances: int,
    codes: int,
) -> None:
    """Count the boxes and instances that a step may serve by links, at most, by distance."""
    fan, served, pairs = case.mesh.fan[level, v, place], case.mesh.served[level, v, place], case.mesh.pairs
    served[:distances] = 0
    for member in range(run[FIRST], run[LAST]):
        for a in range(arrangements.members[member, level, 0], arrangements.members[member, level, 1]):
            _find_pairs(case, arrangements.loops[a], arrangements.counts[a], level, v, place, reach)
            pairs[:distances, COUNTED:] = 0
            _count_instances(pairs, fan[INSTANCES_BELOW])
            fan[BOXES] = _count_boxes(pairs, fan[INSTANCES_BELOW], codes)
            for key in range(distances):
                for what in (SERVED_BOXES, SERVED_INSTANCES):
                    served[key, what] = max(served[key, what], pairs[key, COUNTED + what])


@njit
def _find_pairs(case: Case, loops: Ints, count: int, level: int, v: int, place: int, reach: Ints) -> None:
    """Write by instance its box and the distances to its mesh neighbours, -1 where no move leads there.

    See `jouleloop.model.links.neighbour_links`.
    """
    spec, side, pairs, unit = case.target.spec, case.unrolled.side[v], case.mesh.pairs, case.mesh.unit[level, v, place]
    instances = case.mesh.fan[level, v, place, INSTANCES_BELOW]
    along_x = along_y = 1
    for s in range(count):
        if loops[s, AXIS] == 0:
            along_x *= loops[s, BOUND]
        else:
            along_y *= loops[s, BOUND]
    columns = max(along_x, int(spec[level, FANOUT_X]))
    rows = max(along_y, int(spec[level, FANOUT_Y]))
    base = 0
    for r in range(reach.shape[1]):
        if reach[QUANTUM, r] > 0:
            base += number_of(reach, r, 0)
    for i in range(instances):
        rest, box, weight = i, 0, 1
        for s in range(count - 1, -1, -1):
            d, index = loops[s, DIM], rest % loops[s, BOUND]
            rest //= loops[s, BOUND]
            if side[d, IDLE] == 0 and side[d, HALO] < 0:
                box += weight * index
                weight *= loops[s, BOUND]
        for r in range(reach.shape[1]):
            if reach[QUANTUM, r] > 0:
                rest, at = i, 0
                for s in range(count - 1, -1, -1):
                    if side[loops[s, DIM], HALO] == r:
                        at += unit[loops[s, DIM]] * (rest % loops[s, BOUND])
                    rest //= loops[s, BOUND]
                box += weight * at
                weight *= reach[FARTHEST, r] // reach[QUANTUM, r] + 1
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
                    key += reach[WEIGHT, side[d, HALO]] * unit[d] * apart
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
def _count_boxes(pairs: Ints, instances: int, codes: int) -> int:
    """Count by distance the boxes of which every instance has a neighbour there: the others are asked for.

    Returns how many boxes there are, ``codes`` at most.
    """
    pairs[:codes, HOLDER] = -1
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
    for box in range(codes):
        if pairs[box, HOLDER] >= 0:
            boxes += 1
            for way in range(WAYS):
                if _is_first(pairs, pairs[box, HOLDER], way):
                    pairs[pairs[pairs[box, HOLDER], way], COUNTED + SERVED_BOXES] += 1
    return boxes
