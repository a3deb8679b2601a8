"""Words that cross every boundary of a nest whose loops need not divide, as Timeloop's nest analysis counts them.

A loop has an end and a residual end; it stops at the latter where every loop of its dimension outside is in its last
iteration. The ends say all: the residual ends are the digits of bound - 1 in the mixed radix of the ends, plus 1.

What is executed follows Timeloop 3.0.3 ``src/loop-analysis/nest-analysis.cpp``. As soon as one loop has a residual end,
every temporal loop runs iterations 0, 1, last but one and last, and number 1 stands for all between
(``ComputeTemporalWorkingSet``); of the instances only number 0 is executed, and its box is moved to all others
(``FillSpatialDeltas``). A boundary needs the sequence of its own boxes only, so boundaries are counted one by one.
A box may now change its size between two steps: what is fetched is the exact difference of the two, if the centre moved
as it did in the step before, and the whole box elsewhere (``SaveAndSubtractIfSameStride``, ``MultiAAHR``).

Timeloop 4 (main branch, commit 4cf6d4c, the same file) runs fewer iterations: the last one by itself where all loops of
the dimension outside are in their last and one inside ends early, the last but one then if the loop itself ends early
(``NeedsToRunImperfectIteration``). A step without a move leaves the last move alone. Of the instances it counts the
whole part of a mean (``utilized_spatial_elems_``; ``replication_factor`` is a whole number there).
"""

from typing import NamedTuple

import numpy as np

from jouleloop.jit import njit
from jouleloop.model.arrays import (
    MAX_LOOPS,
    REUSE,
    SPATIAL,
    TEMPORAL,
    Bools,
    Floats,
    Ints,
    LayerArrays,
    NestArrays,
    Record,
    Records,
    WorkArrays,
    copy_row,
    copy_rows,
)
from jouleloop.model.kernel import box_words
from jouleloop.model.links import Instances, LinkMesh, Sent, add_group, count_classes, fill_offsets, find_reach, hand_on
from jouleloop.model.steps import AROUND, alike, moves, side_of, still, subtract_box

#: By how many instances each of some boxes is shared.
CLASS = np.dtype([("sharing", np.int64), ("boxes", np.int64)])
#: What is known of the last call: whether there was one, whether it shifted the box, its parts and its instances.
LAST = np.dtype([("box", np.bool_), ("shifted", np.bool_), ("parts", np.int64), ("instances", np.int64)])
#: Instances that ask, their classes, and distinct boxes.
COUNTS = np.dtype([("instances", np.int64), ("classes", np.int64), ("boxes", np.int64)])

#: A loop of a nest that is written as one list: its dimension, its bound and residual end, the index step of one
#: iteration, and TEMPORAL or SPATIAL.
FLAT = np.dtype(
    [("dim", np.int64), ("bound", np.int64), ("residual", np.int64), ("step", np.int64), ("kind", np.int64)]
)


@njit(apart=True)
def flatten_loops(bounds: Ints, nest: NestArrays, loop: Records, start: Ints) -> int:
    """Write all loops innermost first, with steps and residual ends, and where each level's begin; return their number.

    ``start`` has one place more than there are levels and holds, by level, the first spatial and first temporal loop.
    Two loops that unroll a dimension along both axes count as one, at the place of the inner one, see `_in_one_row`.
    """
    rest = bounds - 1
    extent = np.ones(bounds.shape[0], np.int64)
    total = 0
    for level in range(nest.counts.shape[0]):
        for kind in (SPATIAL, TEMPORAL):
            start[level, kind] = total
            for i in range(nest.counts[level, kind] - 1, -1, -1):
                d = nest.loops[level, kind, i].dim
                end = nest.loops[level, kind, i].bound
                place = start[level, kind]
                while place < total and (kind == TEMPORAL or loop[place].dim != d):
                    place += 1
                if place == total:
                    loop[place].dim, loop[place].kind, loop[place].step = d, kind, extent[d]
                    loop[place].bound = loop[place].residual = 1
                    total += 1
                loop[place].residual += loop[place].bound * (rest[d] % end)
                loop[place].bound *= end
                rest[d] //= end
                extent[d] *= end
    start[nest.counts.shape[0]] = total
    return total


@njit
def has_residuals(bounds: Ints, nest: NestArrays) -> bool:
    """Return whether a loop of the nest ends early; Timeloop counts all others as it always did."""
    extent = np.ones(bounds.shape[0], np.int64)
    for level in range(nest.counts.shape[0]):
        for kind in range(2):
            for i in range(nest.counts[level, kind]):
                extent[nest.loops[level, kind, i].dim] *= nest.loops[level, kind, i].bound
    early = False
    for d in range(bounds.shape[0]):
        early = early or extent[d] != bounds[d]
    return early


@njit
def share_instances(bounds: Ints, nest: NestArrays, work: WorkArrays) -> int:
    """Write how many instances of every level work on average, rounded down; return the same of the units.

    A loop that ends early has as many instances on average as it has iterations in all over those of the loops outside
    (``InitNumSpatialElems``). Just below the innermost level all count (``logical_fanouts_``).
    """
    levels = nest.counts.shape[0]
    loop = np.empty(levels * 2 * MAX_LOOPS, FLAT)
    start = np.empty((levels + 1, 2), np.int64)
    k = flatten_loops(bounds, nest, loop, start)
    passes = np.ones(bounds.shape[0])
    mean = 1.0
    units = 1
    for level in range(levels - 1, -1, -1):
        work.status[level].instances = int(mean)
        units = int(mean * work.status[level].fanout)
        while k > start[level, SPATIAL]:
            k -= 1
            d, end, residual = loop[k].dim, float(loop[k].bound), float(loop[k].residual)
            more = residual + end * (passes[d] - 1)
            if loop[k].kind == SPATIAL:
                mean = mean * end if residual == end else mean * more / passes[d]
            passes[d] = more
    return units


@njit
def last_at_start(loop: Records, first: int, total: int, last: Bools) -> None:
    """Write by dimension whether the loops from ``first`` outward are in their last iteration at once."""
    last[:] = True
    for k in range(first, total):
        last[loop[k].dim] = last[loop[k].dim] and loop[k].residual == 1


@njit
def _extents(bounds: Ints, loop: Records, first: int, extent: Ints, residual: Ints) -> None:
    """Write how many indices the loops inside ``first`` span by dimension, in general and at the last."""
    extent[:] = 1
    for k in range(first):
        extent[loop[k].dim] *= loop[k].bound
    for d in range(bounds.shape[0]):
        residual[d] = (bounds[d] - 1) % extent[d] + 1


@njit
def _largest_words(bounds: Ints, coef: Ints, loop: Records, first: int, outside: int, total: int) -> int:
    """Return the words of the largest box that the loops inside ``first`` span; it is that of the first call."""
    dims = bounds.shape[0]
    extent, residual = np.empty(dims, np.int64), np.empty(dims, np.int64)
    last = np.empty(dims, np.bool_)
    _extents(bounds, loop, first, extent, residual)
    last_at_start(loop, outside, total, last)
    for d in range(dims):
        if last[d]:
            extent[d] = residual[d]
    return box_words(coef, extent)


@njit
def _words(parts: Ints, number: int) -> float:
    total = 0.0
    for p in range(number):
        words = 1.0
        for r in range(parts.shape[1]):
            words *= parts[p, r, 1] - parts[p, r, 0]
        total += words
    return total


@njit
def _same_but_moved(parts: Ints, number: int, before: Ints, number_before: int, need: Ints) -> bool:
    """Write by how much ``parts`` are ``before`` moved; return whether they are (``MultiAAHR::operator ==``)."""
    if number != number_before:
        return False
    ranks = parts.shape[1]
    for r in range(ranks):
        low, low_before = parts[0, r, 0], before[0, r, 0]
        for p in range(1, number):
            low = min(low, parts[p, r, 0])
            low_before = min(low_before, before[p, r, 0])
        need[r] = low - low_before
    for p in range(number):
        found = False
        for q in range(number):
            same = True
            for r in range(ranks):
                if parts[p, r, 0] != before[q, r, 0] + need[r] or parts[p, r, 1] != before[q, r, 1] + need[r]:
                    same = False
            found = found or same
        if not found:
            return False
    return True


@njit
def _place_box(coef: Ints, low: Ints, extent: Ints, box: Ints) -> None:
    for r in range(coef.shape[0]):
        at = 0
        for d in range(coef.shape[1]):
            at += coef[r, d] * low[d]
        box[r, 0] = at
        box[r, 1] = at + side_of(coef, r, extent)


@njit
def _choose(end: int, position: int, nearest: bool) -> tuple[int, float]:
    """Return the index of the iteration at ``position`` in what is executed, and for how many it stands.

    ``nearest``: the loop itself adds up the boxes, and drops that of the last iteration but one of four or more, which
    was executed with the state of another (``temporal_delta_scale``).
    """
    if end <= 3 or position == 0:
        return position, 1.0
    if position == 1:
        return 1, float(end - 2 if nearest else end - 3)
    if position == 2:
        return end - 2, 0.0 if nearest else 1.0
    return end - 1, 1.0


@njit
def _choose_later(end: int, position: int, nearest: bool, runs_last: bool, runs_before: bool) -> tuple[int, float]:
    """Return the same by the rules of Timeloop 4: whether the last iteration runs by itself, and the one before."""
    if runs_before:
        return _choose(end, position, nearest)
    if position == 0:
        return 0, 1.0
    if not runs_last:
        return 1, float(end - 1)
    if position == 1 and end > 2:
        return 1, float(end - 1 if nearest else end - 2)
    return end - 1, 0.0 if nearest and end > 2 else 1.0


@njit
def _early_inside(loop: Records, total: int, early: Bools) -> None:
    """Write by loop whether one of its dimension further inside ends early."""
    for k in range(total):
        early[k] = False
        for inner in range(k):
            if loop[inner].dim == loop[k].dim and loop[inner].residual != loop[inner].bound:
                early[k] = True


@njit
def _fill_instances(
    coef: Ints, spatial: Records, ends: Ints, offsets: Ints, codes: Ints, classes: Records, multicasts: bool
) -> tuple[int, int]:
    """Write the offsets of all instances, and how many share a box; return the instances and the numbers of classes.

    ``classes`` holds `CLASS` records; ``spatial`` and ``ends`` are innermost first. Without
    ``multicasts`` no instance shares its box.
    """
    used, instances = np.empty(spatial.shape[0], AROUND), 1
    for s in range(spatial.shape[0]):
        used[s].dim, used[s].bound, used[s].step = spatial[s].dim, ends[s], spatial[s].step
        instances *= ends[s]
    reach = np.zeros(coef.shape[0], np.int64)
    find_reach(coef, used, reach)
    fill_offsets(coef, used, reach, multicasts, offsets[:instances], codes)
    sizes = np.empty(instances, np.int64)
    distinct = count_classes(codes[:instances], np.ones(instances, np.bool_), sizes)
    number = 0
    for i in range(distinct):
        known = False
        for k in range(number):
            if classes[k].sharing == sizes[i]:
                classes[k].boxes += 1
                known = True
        if not known:
            classes[number].sharing, classes[number].boxes = sizes[i], 1
            number += 1
    return instances, number


class Boundary(NamedTuple):
    """Where words pass into the instances below a level, and what the level outside does not reuse."""

    begin: int
    middle: int
    total: int
    """Spatial loops at the boundary are ``begin`` to ``middle``, all loops outside ``middle`` to ``total``."""
    adds_itself: bool
    stateless: bool
    reuse: Records
    """One record of `REUSE`."""
    mesh: Ints


class _Walk(NamedTuple):
    """The executed iterations of the loops outside a boundary, by depth: 0 is the outermost loop."""

    end: Ints
    position: Ints
    chosen: Ints
    weight: Floats
    """How many iterations those stand for that are executed down to a depth."""
    runs: Ints
    """How many iterations are executed at most."""
    early: Bools
    """By loop, whether its last iterations may be needed."""
    last: Bools
    """By depth and dimension, whether all loops outside are in their last iteration."""


class _Boxes(NamedTuple):
    """What one instance asks for: the box, its words that are new, and those of the call before."""

    extent: Ints
    residual: Ints
    low: Ints
    now: Ints
    box: Ints
    last_box: Ints
    """First index and the one after the last by rank, shape (ranks, 2); now, and in the last call."""
    shift: Ints
    last_shift: Ints
    """By rank, of the box's centre."""
    parts: Ints
    before: Ints
    last: Records
    """One record of `LAST`."""


class _Asking(NamedTuple):
    """The instances below a boundary that ask."""

    ends: Ints
    known: Ints
    """What the offsets were written for."""
    offsets: Ints
    before: Ints
    """Offsets of the call before."""
    codes: Ints
    classes: Records
    counts: Records
    """One record of `COUNTS`."""


@njit
def _new_walk(loop: Records, boundary: Boundary, dims: int) -> _Walk:
    """Return the walk before its first iteration."""
    outside = boundary.total - boundary.middle
    early = np.zeros(boundary.total, np.bool_)
    if boundary.reuse[0].averaging:
        _early_inside(loop, boundary.total, early)
    return _Walk(
        np.ones(outside + 1, np.int64),
        np.zeros(outside + 1, np.int64),
        np.zeros(outside + 1, np.int64),
        np.ones(outside + 1),
        np.full(outside + 1, 4),
        early,
        np.ones((outside + 1, dims), np.bool_),
    )


@njit
def _new_boxes(bounds: Ints, coef: Ints, loop: Records, begin: int) -> _Boxes:
    """Return the boxes before the first call."""
    dims, ranks = bounds.shape[0], coef.shape[0]
    extent, residual = np.empty(dims, np.int64), np.empty(dims, np.int64)
    _extents(bounds, loop, begin, extent, residual)
    parts = np.empty((2 * ranks, ranks, 2), np.int64)
    return _Boxes(
        extent,
        residual,
        np.zeros(dims, np.int64),
        np.empty(dims, np.int64),
        np.empty((ranks, 2), np.int64),
        np.zeros((ranks, 2), np.int64),
        np.zeros(ranks, np.int64),
        np.zeros(ranks, np.int64),
        parts,
        parts.copy(),
        np.zeros(1, LAST),
    )


@njit
def _new_asking(loop: Records, boundary: Boundary, ranks: int) -> _Asking:
    """Return the instances before the first call."""
    spatials = boundary.middle - boundary.begin
    most = 1
    for k in range(boundary.begin, boundary.middle):
        most *= loop[k].bound
    counts = np.zeros(1, COUNTS)
    counts[0].instances = 1
    return _Asking(
        np.ones(spatials, np.int64),
        np.zeros(spatials, np.int64),
        np.zeros((most, ranks), np.int64),
        np.zeros((most, ranks), np.int64),
        np.zeros(most, np.int64),
        np.zeros(most, CLASS),
        counts,
    )


@njit
def _enter(walk: _Walk, loop: Records, boundary: Boundary, depth: int) -> None:
    """Enter all loops from a depth inward."""
    outside = boundary.total - boundary.middle
    while depth < outside:
        k = boundary.total - 1 - depth
        d = loop[k].dim
        if loop[k].kind == SPATIAL:
            walk.end[depth] = 1
        else:
            walk.end[depth] = loop[k].residual if walk.last[depth, d] else loop[k].bound
        nearest = boundary.adds_itself and k == boundary.middle
        if boundary.reuse[0].averaging:
            runs_last = walk.early[k] and walk.last[depth, d]
            runs_before = runs_last and loop[k].bound != loop[k].residual
            walk.runs[depth] = 4 if runs_before else 3 if runs_last else 2
            walk.chosen[depth], factor = _choose_later(
                walk.end[depth], walk.position[depth], nearest, runs_last, runs_before
            )
        else:
            walk.chosen[depth], factor = _choose(walk.end[depth], walk.position[depth], nearest)
        walk.weight[depth + 1] = walk.weight[depth] * factor
        copy_row(walk.last[depth], walk.last[depth + 1])
        walk.last[depth + 1, d] = walk.last[depth, d] and walk.chosen[depth] + 1 >= loop[k].residual
        depth += 1
        if depth < outside:
            walk.position[depth] = 0


@njit
def _advance(walk: _Walk) -> int:
    """Advance the innermost loop that is not done; return its depth, -1 where there is none."""
    depth: int = walk.end.shape[0] - 2
    while depth >= 0 and walk.position[depth] + 1 >= min(walk.end[depth], walk.runs[depth]):
        depth -= 1
    if depth >= 0:
        walk.position[depth] += 1
    return depth


@njit
def _step_state(boxes: _Boxes, resting: bool) -> int:
    """Write what is new in the box against that of the last call, as slices; return their number and renew the state.

    ``resting``: a step without a shift is none.
    """
    box, last_box, last = boxes.box, boxes.last_box, boxes.last[0]
    copy_rows(box, boxes.parts[0])
    number = 1
    if last.box:
        for r in range(box.shape[0]):
            twice = box[r, 0] + box[r, 1] - last_box[r, 0] - last_box[r, 1]
            # Centres are doubles in Timeloop, their difference is rounded half away from zero.
            shift = (abs(twice) + 1) // 2
            boxes.shift[r] = -shift if twice < 0 else shift
        rests = resting and still(boxes.shift)
        subtracts = not last.shifted or alike(boxes.shift, boxes.last_shift)
        if rests or subtracts:
            number = subtract_box(box, last_box, boxes.parts)
        if not rests:
            last.shifted = subtracts
            if subtracts:
                copy_row(boxes.shift, boxes.last_shift)
    last.box = True
    copy_rows(box, last_box)
    return number


@njit
def _ask(coef: Ints, loop: Records, boundary: Boundary, walk: _Walk, boxes: _Boxes, ends: Ints) -> int:
    """Write what one instance asks for in this iteration, and the ends of the spatial loops; return its parts."""
    middle, last = boundary.middle, walk.last[walk.end.shape[0] - 1]
    boxes.low[:] = 0
    for k in range(middle, boundary.total):
        boxes.low[loop[k].dim] += walk.chosen[boundary.total - 1 - k] * loop[k].step
    for d in range(last.shape[0]):
        boxes.now[d] = 1 if last[d] else 0
    for k in range(middle - 1, boundary.begin - 1, -1):
        ends[k - boundary.begin] = loop[k].residual if last[loop[k].dim] else loop[k].bound
        if loop[k].residual > 1:
            boxes.now[loop[k].dim] = 0
    for d in range(last.shape[0]):
        boxes.now[d] = boxes.residual[d] if boxes.now[d] else boxes.extent[d]
    _place_box(coef, boxes.low, boxes.now, boxes.box)
    if boundary.stateless:
        copy_rows(boxes.box, boxes.parts[0])
        return 1
    return _step_state(boxes, boundary.reuse[0].resting)


@njit
def _renew(coef: Ints, loop: Records, boundary: Boundary, asking: _Asking) -> None:
    """Write the offsets and classes of the instances that ask, whose ends are others than before."""
    copy_rows(asking.offsets, asking.before)
    copy_row(asking.ends, asking.known)
    count, classes = _fill_instances(
        coef, loop[boundary.begin : boundary.middle], asking.ends, asking.offsets, asking.codes, asking.classes,
        not boundary.reuse[0].no_multicast,
    )  # fmt: skip
    counts = asking.counts[0]
    counts.instances, counts.classes, counts.boxes = count, classes, 0
    for c in range(classes):
        counts.boxes += asking.classes[c].boxes


@njit
def _send(
    boundary: Boundary, boxes: _Boxes, asking: _Asking, number: int, renewed: bool, each: float, sent: Sent
) -> float:
    """Add the transfers of one call, ``each`` words to an instance; return the words that peers hand on."""
    counts, last, handed = asking.counts[0], boxes.last[0], 0
    need = np.empty(boxes.box.shape[0], np.int64)
    if (
        not boundary.reuse[0].no_link_transfer
        and last.instances > 0
        and _same_but_moved(boxes.parts, number, boxes.before, last.parts, need)
    ):
        was = asking.before if renewed else asking.offsets
        instances = Instances(asking.offsets[: counts.instances], asking.codes[: counts.instances], counts.boxes)
        mesh = LinkMesh(boundary.mesh[0], boundary.mesh[1], False)
        handed = hand_on(instances, was[: last.instances], need, mesh, each, sent)
    if handed == 0:
        for c in range(counts.classes):
            sharing, different = asking.classes[c].sharing, asking.classes[c].boxes
            add_group(sent, float(sharing), float(different), each * different)
    return handed * each


@njit(apart=True)
def count_boundary(
    bounds: Ints, coef: Ints, loop: Records, boundary: Boundary, groups: Records, record: Record
) -> tuple[float, float]:
    """Add the transfers of one data space through one boundary to ``groups``.

    Returns the words that peer-to-peer transfers carry, and how many boxes reach an instance on average.
    """
    outside, spatials = boundary.total - boundary.middle, boundary.middle - boundary.begin
    walk = _new_walk(loop, boundary, bounds.shape[0])
    boxes = _new_boxes(bounds, coef, loop, boundary.begin)
    asking, sent = _new_asking(loop, boundary, coef.shape[0]), Sent(groups, record)
    words, links, operations, visited, depth = 0.0, 0.0, 0.0, 1, 0
    while depth >= 0:
        _enter(walk, loop, boundary, depth)
        weight = walk.weight[outside]
        number = _ask(coef, loop, boundary, walk, boxes, asking.ends)
        new_words = _words(boxes.parts, number)
        if not spatials:
            words += weight * new_words
        else:
            renewed = bool((asking.ends != asking.known).any())
            if renewed:
                _renew(coef, loop, boundary, asking)
            if new_words > 0.0:
                links += _send(boundary, boxes, asking, number, renewed, new_words * weight, sent)
            for i in range(number):
                copy_rows(boxes.parts[i], boxes.before[i])
            boxes.last[0].parts, boxes.last[0].instances = number, asking.counts[0].instances
        operations += weight * asking.counts[0].instances
        visited = max(visited, asking.counts[0].instances)
        depth = _advance(walk)
    if not spatials:
        add_group(sent, 1.0, 1.0, words)
    return links, operations / visited


@njit
def _points(bounds: Ints, loop: Records, total: int) -> float:
    """Return how many points instance 0 computes, where no loop is unrolled below the innermost level."""
    product = 1.0
    for d in range(bounds.shape[0]):
        inside, inside_last = 1, 1
        for k in range(total):
            if loop[k].dim != d:
                continue
            if loop[k].kind == SPATIAL:
                inside_last = inside_last if loop[k].residual == 1 else inside
            else:
                inside_last = (loop[k].residual - 1) * inside + inside_last
                inside *= loop[k].bound
        product *= inside_last
    return product


@njit
def _shares(coef: Ints, loop: Records, begin: int, middle: int) -> bool:
    """Return whether a loop that is unrolled at a boundary leaves the data space in place."""
    shared = False
    for k in range(begin, middle):
        shared = shared or not moves(coef, loop[k].dim)
    return shared


@njit
def _in_one_row(spatial: Records) -> bool:
    """Whether a dimension is unrolled along both axes: instances are counted then as if they stood in one row.

    Timeloop writes a dimension once in the spatial loops of a level.
    """
    twice = False
    for i in range(spatial.shape[0]):
        for j in range(i):
            twice = twice or (spatial[i].dim == spatial[j].dim and min(spatial[i].bound, spatial[j].bound) > 1)
    return twice


@njit(apart=True)
def count_residual_transfers(layer: LayerArrays, nest: NestArrays, work: WorkArrays, plain: bool) -> float:
    """Count the transfers of every data space below every level, as `count_transfers` does; return a unit's operations.

    The latter is an average over the units that Timeloop visits, and need not be whole. ``plain`` counts the last box
    of a loop next to a boundary as what it is, where Timeloop may count another one, and nothing that a neighbour may
    hand on because nothing moves.
    """
    bounds = layer.bounds
    levels = nest.counts.shape[0]
    loop = np.empty(levels * 2 * MAX_LOOPS, FLAT)
    start = np.empty((levels + 1, 2), np.int64)
    total = flatten_loops(bounds, nest, loop, start)
    # What a boundary does not reuse is held here, as others hold it: so what counts boundaries is compiled once.
    reuse, mesh = np.empty(1, REUSE), np.empty(2, np.int64)
    operations = 0.0
    for level in range(levels):
        begin, middle, after = start[level, SPATIAL], start[level, TEMPORAL], start[level + 1, SPATIAL]
        mesh[0], mesh[1] = work.status[level].columns, work.status[level].rows
        if _in_one_row(nest.loops[level, SPATIAL, : nest.counts[level, SPATIAL]]):
            mesh[0], mesh[1] = mesh[0] * mesh[1], 1
        for v in range(layer.coef.shape[0]):
            coef = layer.coef[v]
            work.access[level, v].groups = 0
            work.flow[level, v].links = 0.0
            sent = Sent(work.groups[level, v], work.access[level, v])
            work.access[level, v].tile = _largest_words(bounds, coef, loop, after, after, total)
            work.access[level, v].sibling = 0
            if middle > begin:
                work.access[level, v].sibling = _largest_words(bounds, coef, loop, middle, middle, total)
            if level == 0 and middle == begin:
                operations = _points(bounds, loop, total)
                add_group(sent, 1.0, 1.0, operations)
                continue
            if level > 0 and middle == begin and not nest.keep[level - 1, v]:
                # Words pass here on their way only: as many as are asked for inside.
                add_group(sent, 1.0, 1.0, 1.0)
                continue
            adds_itself = middle == begin and after > middle and not plain
            stateless = level == 0 or layer.reuse[level - 1, v].no_temporal_reuse
            if plain and stateless and not layer.reuse[level, v].no_link_transfer:
                stateless = not _shares(coef, loop, begin, middle)
            reuse[0] = layer.reuse[level, v]
            boundary = Boundary(begin, middle, total, adds_itself, stateless, reuse, mesh)
            work.flow[level, v].links, average = count_boundary(bounds, coef, loop, boundary, sent.groups, sent.access)
            if level == 0:
                operations = average
    return operations
