"""The counting kernel: words that cross every boundary of a loop nest, exactly as Timeloop's nest analysis counts them.

Levels are indexed from the innermost storage level (0) outward, data spaces and dimensions in the order of the
problem. `jouleloop.model.steps` says what every step fetches, `jouleloop.model.links` who shares it and hands it on.
"""

import numpy as np

from jouleloop.jit import njit
from jouleloop.model.arrays import (
    MAX_LOOPS,
    SPATIAL,
    TEMPORAL,
    Bools,
    Ints,
    LayerArrays,
    NestArrays,
    Record,
    Records,
    WorkArrays,
)
from jouleloop.model.links import (
    Instances,
    LinkMesh,
    Sent,
    add_group,
    count_classes,
    fill_offsets,
    find_reach,
    hand_on,
    send,
)
from jouleloop.model.steps import AROUND, Box, OuterSteps, calls_of, find_box, find_shift, find_steps, side_of


@njit
def box_words(coef: Ints, extent: Ints) -> int:
    """Words of the box spanned by ``extent`` indices a dimension, for one data space's ``coef`` (ranks, dimensions)."""
    words = 1
    for r in range(coef.shape[0]):
        words *= side_of(coef, r, extent)
    return words


@njit
def held_words(coef: Ints, keep: Bools, extent: Ints) -> int:
    """Words that tiles of so many indices a dimension take of a level; ``keep``: by data space, whether it keeps it."""
    held = 0
    for v in range(keep.shape[0]):
        if keep[v]:
            held += box_words(coef[v], extent)
    return held


@njit
def _count_boxes(coef: Ints, spatial: Records) -> tuple[int, int, bool]:
    """Return instances, their distinct boxes, and whether the latter is a guess: several dimensions unroll one rank."""
    instances, distinct, shared_rank = 1, 1, False
    for s in range(spatial.shape[0]):
        instances *= spatial[s].bound
        relevant = False
        for r in range(coef.shape[0]):
            if coef[r, spatial[s].dim] == 0:
                continue
            relevant = True
            for other in range(s):
                if coef[r, spatial[other].dim] != 0 and spatial[other].dim != spatial[s].dim:
                    shared_rank = True
        if relevant:
            distinct *= spatial[s].bound
    return instances, distinct, shared_rank


@njit
def _fan_out(
    coef: Ints,
    spatial: Records,
    box: Box,
    steps: OuterSteps,
    stateless: bool,
    reuse: Record,
    mesh: LinkMesh,
    sent: Sent,
) -> float:
    """Add the transfers through a boundary with a fan-out; return the words that peer-to-peer transfers carry.

    A call is one step. Peers may hand on what a step needs unless it is the first, or one after a step that moved
    nothing: no peer then has anything new.
    """
    number, distinct, shared_rank = _count_boxes(coef, spatial)
    multicasts = not reuse.no_multicast
    offsets, codes = np.zeros((number, coef.shape[0]), np.int64), np.zeros(number, np.int64)
    reach, need = np.zeros(coef.shape[0], np.int64), np.empty(coef.shape[0], np.int64)
    find_reach(coef, spatial, reach)
    ready = shared_rank and multicasts
    sizes = np.empty(number, np.int64)
    if ready:
        fill_offsets(coef, spatial, reach, multicasts, offsets, codes)
        distinct = count_classes(codes, np.ones(number, np.bool_), sizes)
    else:
        distinct = distinct if multicasts else number
        sizes[:distinct] = number // distinct
    instances = Instances(offsets, codes, distinct)
    whole_calls, part_calls, links = 1.0, 0.0, 0.0
    for kind in range(steps.loop.shape[0] + 1 if steps.loop.shape[0] > 0 else 0):
        calls, whole, before = calls_of(steps, kind, stateless)
        words = box.words if whole else box.part_words
        if calls == 0.0 or words == 0.0:
            continue
        handed = 0
        linking = not reuse.no_link_transfer and not steps.waits and (before or box.part_words != 0.0)
        if linking and find_shift(box, steps.move[max(kind - 1, 0)], whole, before, reach, need):
            if not ready:
                fill_offsets(coef, spatial, reach, multicasts, offsets, codes)
                ready = True
            handed = hand_on(instances, offsets, need, mesh, words * calls, sent)
        if handed > 0:
            links += handed * words * calls
        elif whole:
            whole_calls += calls
        else:
            part_calls += calls
    if reuse.resting and not stateless and steps.loop.shape[0] > 0:  # steps of loop 0 after one that fetched nothing
        part_calls += (steps.loop[0].bound - 1) * (steps.times[1] - steps.whole_calls - steps.matched_calls)
    words = whole_calls * box.words + part_calls * box.part_words
    if words > 0.0:
        if mesh.hops and not ready:
            fill_offsets(coef, spatial, reach, multicasts, offsets, codes)
        send(codes, np.ones(number, np.bool_), sizes, distinct, mesh, words, sent)
    return links


@njit
def _boundary(
    coef: Ints,
    extent: Ints,
    loop: Records,
    spatial: Records,
    stateless: bool,
    reuse: Record,
    mesh: LinkMesh,
    sent: Sent,
) -> float:
    """Add the transfers of one data space through one boundary; return the words that peer-to-peer transfers carry.

    ``loop`` holds the temporal loops outside the boundary, innermost first; ``spatial`` the spatial loops at it,
    outermost first; ``reuse`` what the level outside does not reuse; ``stateless``: see `find_steps`.
    """
    steps = find_steps(coef, loop, stateless, reuse.resting)
    box = find_box(coef, extent, steps, stateless)
    if spatial.shape[0] > 0:
        return _fan_out(coef, spatial, box, steps, stateless, reuse, mesh, sent)
    words = steps.whole_calls * box.words + (steps.matched_calls + steps.first_calls) * box.part_words
    if stateless:
        words = steps.times[0] * box.words
    add_group(sent, 1.0, 1.0, words)
    return 0.0


@njit
def _place_loops(nest: NestArrays, level: int, kind: int, extent: Ints, loop: Records) -> int:
    """Write the loops of a level with their steps, innermost first; return their number.

    ``extent`` is how many indices the loops further in span by dimension, and then these, too.
    """
    count: int = nest.counts[level, kind]
    for k in range(count):
        place = nest.loops[level, kind, count - 1 - k]
        loop[k].dim, loop[k].bound, loop[k].step = place.dim, place.bound, extent[place.dim]
        extent[place.dim] *= place.bound
    return count


@njit
def count_transfers(layer: LayerArrays, nest: NestArrays, work: WorkArrays, wired: bool = False) -> None:
    """Count the transfers of every data space below every level.

    ``wired`` counts hops, too. Reads the mesh of ``work.status``; writes ``work.groups``, the words that links carry,
    and of ``work.access`` tiles, sibling boxes and numbers of groups.
    """
    levels, spaces, dims = nest.counts.shape[0], layer.coef.shape[0], layer.coef.shape[2]
    extent = np.ones(dims, np.int64)
    inner_extent = np.ones((levels, dims), np.int64)
    loop, spatial = np.empty(levels * MAX_LOOPS, AROUND), np.empty((levels, MAX_LOOPS), AROUND)
    start = np.empty(levels, np.int64)
    total = 0
    for level in range(levels):
        for d in range(dims):
            inner_extent[level, d] = extent[d]
        start[level] = total
        spatials = _place_loops(nest, level, SPATIAL, extent, spatial[level])
        for v in range(spaces):
            work.access[level, v].sibling = box_words(layer.coef[v], extent) if spatials > 0 else 0
        total += _place_loops(nest, level, TEMPORAL, extent, loop[total:])
        for v in range(spaces):
            work.access[level, v].tile = box_words(layer.coef[v], extent)
    for level in range(levels):
        mesh = LinkMesh(work.status[level].columns, work.status[level].rows, wired)
        for v in range(spaces):
            work.access[level, v].groups = 0
            work.flow[level, v].links = _boundary(
                layer.coef[v],
                inner_extent[level],
                loop[start[level] : total],
                spatial[level, : nest.counts[level, SPATIAL]],
                level == 0 or layer.reuse[level - 1, v].no_temporal_reuse,
                layer.reuse[level, v],
                mesh,
                Sent(work.groups[level, v], work.access[level, v]),
            )
