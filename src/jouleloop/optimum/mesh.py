"""How many instances below a fan-out have a mesh neighbour a move away, over all arrangements of its spatial loops.

`docs/search.md` states the lemma: *neighbours*.
"""

import numpy as np

from jouleloop.jit import njit
from jouleloop.model.arrays import Ints, Record, Records
from jouleloop.model.links import fill_offsets, inside_out, mesh_below, neighbour_of
from jouleloop.model.links import find_reach as find_farthest
from jouleloop.optimum.arrays import Arrangements, Case, Mesh, Path
from jouleloop.optimum.path import extents
from jouleloop.optimum.words import find_reach, number_of, shape_of, unit_of

#: Most instances of a level that are looked at, in all arrangements together.
_MOST_INSTANCES = 3_000_000


@njit(inline="always")
def has_windows(mesh: Mesh) -> bool:
    """Whether dimensions share a rank of any data space: only then is there room for distances."""
    return bool(mesh.pairs.shape[0] > 1)


@njit
def forget_neighbours(mesh: Mesh) -> None:
    """Nothing is known of the neighbours of an unrolling, and nobody asks."""
    ask = mesh.ask[0]
    if ask.asked:
        mesh.unit[:] = 0
        ask.asked, ask.level, ask.point = False, 0, 0


@njit
def find_neighbours(case: Case, path: Path, arrangements: Arrangements, run: Record) -> None:
    """Find what is asked of the neighbours under the unrolling at hand, its arrangements being listed."""
    ask, extent, origin = case.mesh.ask[0], case.scratch.line[0], case.unrolled.origin
    level = ask.level
    ask.level = 0
    extents(case, level, ask.point, extent)
    # Merged unrollings have other factors at these levels.
    merged = origin[level] != level
    for k in range(level):
        merged = merged or origin[k] >= level
    instances, choices = 1, 0
    factors = case.unrolled.factors[level]
    for d in range(factors.shape[0]):
        instances *= factors[d]
    for member in range(run.first, run.last):
        choices += arrangements.members[member, level, 1] - arrangements.members[member, level, 0]
    few = not merged and choices * instances <= _MOST_INSTANCES
    for v in range(case.target.layer.coef.shape[0]):
        coef, side, reach = case.target.layer.coef[v], case.unrolled.side[v], path.reach
        distances = find_reach(coef, side, extent, factors, reach)
        if case.keep[level - 1, v] and distances > 1:
            place = shape_of(coef, side, extent, factors, reach, case.mesh.unit[level, v])[0]
            for d in range(extent.shape[0]):
                case.mesh.unit[level, v, place, d] = unit_of(coef, side, extent, factors, reach, d)
            fan = case.mesh.fan[level, v, place]
            codes = _lay_out(side, factors, reach, fan)
            fan.known = False
            if few and max(distances, instances, codes) <= case.mesh.pairs.shape[0]:
                _count(case, arrangements, run, level, v, place, reach, codes)
                fan.known = True


@njit
def _lay_out(side: Records, factors: Ints, reach: Records, fan: Record) -> int:
    """Write how many instances there are; return how many boxes at most."""
    instances = boxes = 1
    for d in range(factors.shape[0]):
        instances *= factors[d]
        if not side[d].idle and side[d].halo < 0:
            boxes *= factors[d]
    for r in range(reach.shape[0]):
        if reach[r].quantum > 0:
            boxes *= reach[r].farthest // reach[r].quantum + 1
    fan.instances = instances
    return int(boxes)


@njit
def _count(
    case: Case, arrangements: Arrangements, run: Record, level: int, v: int, place: int, reach: Records, codes: int
) -> None:  # fmt: skip
    """Count the boxes and instances that a step may serve by links, at most, by distance; ``codes``: boxes at most."""
    fan, served, pairs = case.mesh.fan[level, v, place], case.mesh.served[level, v, place], case.mesh.pairs
    distances = 1
    for r in range(reach.shape[0]):
        if reach[r].quantum > 0:
            distances *= 2 * (reach[r].farthest // reach[r].quantum) + 1
    for key in range(distances):
        served[key].boxes = served[key].instances = 0
    for member in range(run.first, run.last):
        for a in range(arrangements.members[member, level, 0], arrangements.members[member, level, 1]):
            loops = arrangements.loops[a, : arrangements.counts[a]]
            _find_pairs(case, loops, level, v, place, reach)
            for key in range(distances):
                pairs[key].served_boxes = pairs[key].served_instances = 0
            _count_instances(pairs, fan.instances)
            fan.boxes = _count_boxes(pairs, fan.instances, codes)
            for key in range(distances):
                served[key].boxes = max(served[key].boxes, pairs[key].served_boxes)
                served[key].instances = max(served[key].instances, pairs[key].served_instances)


@njit
def _find_pairs(case: Case, loops: Records, level: int, v: int, place: int, reach: Records) -> None:
    """Write by instance its box, and the numbers of the distances to its mesh neighbours, -1 where no move leads there.

    Offsets are those of the model, in quanta along shared ranks.
    """
    coef, side, pairs = case.target.layer.coef[v], case.unrolled.side[v], case.mesh.pairs
    instances, below = case.mesh.fan[level, v, place].instances, mesh_below(case.target.hardware.levels[level], loops)
    apart, around = np.zeros(coef.shape, np.int64), inside_out(loops)
    for s in range(loops.shape[0]):
        d = loops[s].dim
        for r in range(coef.shape[0]):
            if coef[r, d] != 0:
                apart[r, d] = case.mesh.unit[level, v, place, d] if side[d].halo >= 0 else 1
    offsets, codes = np.zeros((instances, coef.shape[0]), np.int64), np.zeros(instances, np.int64)
    farthest = np.zeros(coef.shape[0], np.int64)
    find_farthest(apart, around, farthest)
    fill_offsets(apart, around, farthest, True, offsets, codes)
    for i in range(instances):
        pairs[i].box = codes[i]
        for way in range(4):
            other = neighbour_of(i, way, instances, below)
            pairs[i].ways[way] = -1 if other < 0 else _distance(offsets[i], offsets[other], reach)


@njit
def _distance(here: Ints, there: Ints, reach: Records) -> int:
    """Return the number of the distance of two instances, -1 where no move leads from one to the other."""
    key = 0
    for r in range(reach.shape[0]):
        if reach[r].quantum > 0:
            key += number_of(reach, r, (there[r] - here[r]) * reach[r].quantum)
        elif there[r] != here[r]:
            return -1
    return int(key)


@njit
def is_among(value: int, some: Ints, count: int) -> bool:
    """Whether a value is one of the first of some."""
    found = False
    for k in range(count):
        found = found or some[k] == value
    return found


@njit
def keep_common(ways: Ints, other: Ints, nobody: int) -> None:
    """Leave the neighbours that another instance has as well; ``nobody`` stands for none."""
    for way in range(ways.shape[0]):
        if not is_among(ways[way], other, other.shape[0]):
            ways[way] = nobody


@njit(inline="always")
def _is_first(pairs: Records, i: int, way: int) -> bool:
    """Whether an instance has a neighbour at a distance that none of its neighbours before is at."""
    ways = pairs[i].ways
    return ways[way] >= 0 and not is_among(ways[way], ways, way)


@njit
def _count_instances(pairs: Records, instances: int) -> None:
    """Count by distance the instances that have a neighbour there."""
    for i in range(instances):
        for way in range(4):
            if _is_first(pairs, i, way):
                pairs[pairs[i].ways[way]].served_instances += 1


@njit
def _count_boxes(pairs: Records, instances: int, codes: int) -> int:
    """Count by distance the boxes of which every instance has a neighbour there: the others are asked for.

    Returns how many boxes there are, ``codes`` at most.
    """
    for box in range(codes):
        pairs[box].holder = -1
    boxes = 0
    for i in range(instances):
        holder = pairs[pairs[i].box].holder
        if holder < 0:
            pairs[pairs[i].box].holder = i
            continue
        keep_common(pairs[holder].ways, pairs[i].ways, -1)
    for box in range(codes):
        if pairs[box].holder >= 0:
            boxes += 1
            for way in range(4):
                if _is_first(pairs, pairs[box].holder, way):
                    pairs[pairs[pairs[box].holder].ways[way]].served_boxes += 1
    return boxes
