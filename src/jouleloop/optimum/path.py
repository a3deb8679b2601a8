"""The path of the descent: loops placed so far, the states of the bound tables they lead to, what they surely cost."""

import math
from typing import Any

import numpy as np

from jouleloop.jit import njit
from jouleloop.model.arrays import SPATIAL, TEMPORAL, Ints, NestArrays, Records
from jouleloop.model.kernel import box_words
from jouleloop.optimum.arrays import Case, Path
from jouleloop.optimum.bounds import admits
from jouleloop.optimum.classes import known_gain
from jouleloop.optimum.costs import crossing_pj, network_pj
from jouleloop.optimum.lattice import digit, digit_of, index_of
from jouleloop.optimum.words import (
    asked_words,
    boxes_of,
    clear_words,
    count_steps,
    filled_words,
    find_reach,
    settle,
    shape_of,
    words_of_plain_ranks,
)


@njit
def copy_nest(nest: NestArrays, found: Any) -> None:
    """Let a nest be the best; a slice for a slice would compile what tells of shapes that differ."""
    for level in range(nest.keep.shape[0]):
        for v in range(nest.keep.shape[1]):
            found.keep[level, v] = nest.keep[level, v]
        for kind in (SPATIAL, TEMPORAL):
            found.counts[level, kind] = nest.counts[level, kind]
            for i in range(nest.counts[level, kind]):
                found.loops[level, kind, i] = nest.loops[level, kind, i]


@njit
def read_tile(axis: Records, point: int, index: Ints, target: Ints) -> bool:
    """Write the divisor indices of a lattice point; return whether none is beyond those of the tile ``index``."""
    for d in range(index.shape[0] - 1, -1, -1):
        target[d] = point // axis[d].radix
        if target[d] > index[d]:
            return False
        point -= target[d] * axis[d].radix
    return True


@njit
def next_cut(
    axis: Records, divisor: Records, slots: Records, level: int, index: Ints, target: Ints, moving: Ints
) -> tuple[int, int]:
    """Read the cut that ``target`` stands for: the point of the tile inside (-1: not admitted), and how many loops.

    Writes the dimensions of those loops to ``moving``.
    """
    point = 0
    n = 0
    for d in range(index.shape[0]):
        whole = divisor[d, index[d]].value
        part = divisor[d, target[d]].value
        factor = whole // part
        if factor * part != whole or not admits(slots, level, d, factor):
            return -1, 0
        point += target[d] * axis[d].radix
        if factor > 1:
            moving[n] = d
            n += 1
    return point, n


@njit
def place_loops(case: Case, path: Path, level: int, inner_point: int, moving: Ints, n: int) -> int:
    """Append a level's loops (``moving``: dimensions, innermost first) to the path; return the innermost dimension.

    Without any loop outside, that is the number of dimensions.
    """
    axis = case.grid.axis
    divisor = case.grid.divisor
    loops = path.node[level].loops
    point = path.node[level].point
    path.nest.counts[level, TEMPORAL] = n
    for a in range(n):
        d = moving[a]
        part = divisor[d, digit(axis, inner_point, d)].value
        bound = divisor[d, digit(axis, point, d)].value // part
        at = loops + n - 1 - a
        path.loops[at].dim = d
        path.loops[at].bound = bound
        path.loops[at].step = part * case.unrolled.inside[level, d]
        path.nest.loops[level, TEMPORAL, n - 1 - a].dim = d
        path.nest.loops[level, TEMPORAL, n - 1 - a].bound = bound
    if loops + n == 0:
        return int(axis.shape[0])
    return int(path.loops[loops + n - 1].dim)


@njit
def _run_start(case: Case, path: Path, total: int, kind: int, d: int, now: int) -> int:
    """Divisor index where the trailing run of a kind started along a dimension, ``now`` being the index of the tile."""
    axis = case.grid.axis
    divisor = case.grid.divisor
    value = divisor[d, now].value
    k = total - 1
    while k >= 0 and axis[path.loops[k].dim].kind == kind:
        if path.loops[k].dim == d:
            value *= path.loops[k].bound
        k -= 1
    return int(index_of(divisor[d], axis[d].count, value))


@njit
def state_of(case: Case, path: Path, level: int, inner_point: int, total: int) -> int:
    """Return the state of the bound tables that the first ``total`` loops of the path lead to, inside a level.

    It is -1 where no such tile stands there.
    """
    grid = case.grid
    axis = grid.axis
    if total == 0:
        return 0
    kind = axis[path.loops[total - 1].dim].kind
    top = grid.state.shape[0] - 1
    state = 0
    for d in range(axis.shape[0]):
        now = digit(axis, inner_point, d)
        start = now
        started = kind >= 0 and axis[d].kind == kind and not axis[d].whole and level < top
        if started:
            start = _run_start(case, path, total, kind, d, now)
        place = digit_of(grid.sole[level], grid.pair_of, d, started, start, now)
        if place < 0:
            return -1
        state += place * grid.state[level, kind, d]
    return state


@njit
def enter_pj(case: Case, path: Path, level: int, index: Ints, target: Ints, moving: Ints, innermost: int) -> float:
    """Least energy [pJ] below a cut of the tile ``index`` over all orders of its loops with this one innermost.

    ``moving`` holds the dimensions of those loops.
    """
    grid = case.grid
    axis = grid.axis
    loops = path.node[level].loops
    kind = axis[innermost].kind
    alone = kind >= 0 and loops > 0 and axis[path.loops[loops - 1].dim].kind == kind
    for d in moving:
        if axis[d].kind != kind:
            alone = False
    top = grid.state.shape[0] - 1
    state = 0
    for d in range(axis.shape[0]):
        start = index[d]
        started = kind >= 0 and axis[d].kind == kind and not axis[d].whole and level < top
        if started and alone:
            start = _run_start(case, path, loops, kind, d, index[d])
        place = digit_of(grid.sole[level], grid.pair_of, d, started, start, target[d])
        if place < 0:
            return np.inf
        state += place * grid.state[level, kind, d]
    return float(case.tables.enter[grid.base[level, innermost] + state])


@njit
def floor_pj_of(case: Case, path: Path, level: int, index: Ints, target: Ints, moving: Ints) -> float:
    """Least energy [pJ] below a cut of the tile over all orders of its loops (`enter_pj`), from the tables alone."""
    loops = path.node[level].loops
    if len(moving) == 0:
        if loops == 0:
            return float(case.tables.ahead[level, 0])
        state = state_of(case, path, level, path.node[level].point, loops)
        if state < 0:
            return np.inf
        return float(case.tables.enter[case.grid.base[level, path.loops[loops - 1].dim] + state])
    least_pj = np.inf
    for innermost in moving:
        least_pj = min(least_pj, enter_pj(case, path, level, index, target, moving, innermost))
    return least_pj


@njit
def extents(case: Case, level: int, point: int, extent: Ints) -> None:
    """Write the indices of the tile that a cut leaves to the level inside, unrolled ones included."""
    for d in range(extent.shape[0]):
        value = case.grid.divisor[d, digit(case.grid.axis, point, d)].value
        extent[d] = value * case.unrolled.inside[level - 1, d]


@njit
def cross(case: Case, path: Path, level: int, total: int, extent: Ints) -> float:
    """Energy [pJ] of the boundary below ``level``, its loops placed, at least; adds the words to the child's traffic.

    ``total`` is the number of loops outside the boundary, ``extent`` the indices of the tile inside by dimension.
    """
    child = level - 1
    unrolled, mesh = case.unrolled, case.mesh
    traffic = path.traffic[child]
    words, factors = path.words[0], unrolled.factors[level]
    reach = path.reach
    total_pj = 0.0
    for k in range(traffic.shape[0]):
        traffic[k].read = path.traffic[level, k].read
        traffic[k].written = path.traffic[level, k].written
    for v in range(case.keep.shape[1]):
        up = unrolled.edge[child, v].parent
        path.gain[level, v] = known_gain(case, path, level, v, extent, total) if up < 0 else 1.0
        if up < 0:
            continue
        edge = unrolled.edge[child, v]
        shape, distinct = -1, edge.distinct
        coef = case.target.layer.coef[v]
        if path.shares[v] == 0:
            clear_words(words)
            words.plain = words_of_plain_ranks(coef, float(box_words(coef, extent)), path.loops, total)
        else:
            side, unit = unrolled.side[v], mesh.unit[level, v]
            distinct = boxes_of(coef, extent, factors, case.grid.axis) * edge.beyond
            if find_reach(coef, side, extent, factors, reach) > 1 and mesh.ask[0].asked:
                place, stands = shape_of(coef, side, extent, factors, reach, unit)
                shape = place if stands and mesh.fan[level, v, place].known else -1
            count_steps(case, path, level, v, extent, total, shape)
            settle(words, edge)
        fan = mesh.fan[level, v, shape]
        asked = asked_words(words, edge, distinct, shape >= 0, fan)
        gain = 1.0
        for k in range(level + 1, up + 1):
            gain *= path.gain[k, v]
        if gain > 1.0:
            asked = float(math.floor(asked * gain * (1.0 - 1e-12)))
        filled = filled_words(words, edge, fan)
        sent_pj = network_pj(unrolled.rate, child, v, words.plain - words.linked, words.moved + words.linked)
        total_pj += crossing_pj(unrolled.rate, child, v, asked, filled, sent_pj)
        if not case.keep[child, v]:
            continue
        up_share, share = 1.0 / unrolled.edge[up + 1, v].sharers, 1.0 / unrolled.edge[level, v].sharers
        if case.target.layer.read_write[v]:
            traffic[up].written += asked * up_share
            traffic[up].read += max(0.0, asked - unrolled.edge[up, v].partitioned) * up_share
            traffic[child].written += max(0.0, filled - (edge.partitioned if case.target.elided else 0.0)) * share
        else:
            traffic[up].read += asked * up_share
            traffic[child].written += filled * share
    return total_pj


@njit
def asks(case: Case, path: Path, level: int, point: int, extent: Ints) -> bool:
    """Whether neighbours are asked for and not looked at yet where tiles of these extents stand; notes where."""
    mesh, unrolled, reach, factors = case.mesh, case.unrolled, path.reach, case.unrolled.factors[level]
    for v in range(case.keep.shape[1]):
        if mesh.ask[0].asked and case.keep[level - 1, v] and path.shares[v] == 1:
            coef, side = case.target.layer.coef[v], unrolled.side[v]
            distances = find_reach(coef, side, extent, factors, reach)
            unit = mesh.unit[level, v]
            if distances > 1 and not shape_of(coef, side, extent, factors, reach, unit)[1]:
                mesh.ask[0].level, mesh.ask[0].point = level, point
                return True
    return False


@njit
def least_cycles(levels: Records, traffic: Records, steps: float) -> float:
    """Cycles at least, from the words that are certain; a hair less, since the model rounds differently."""
    cycles = steps
    for k in range(levels.shape[0]):
        read, written = traffic[k].read * levels[k].least_scale, traffic[k].written * levels[k].least_scale
        cycles = max(cycles, read / levels[k].read_words_per_cycle)
        cycles = max(cycles, written / levels[k].written_words_per_cycle)
        cycles = max(cycles, (read + written) / levels[k].shared_words_per_cycle)
    return cycles if cycles == steps else max(steps, cycles * (1.0 - 1e-9))
