"""What is outside of the places of a table, from the outermost level inward: `group_table` the other way."""

import numpy as np

from jouleloop.jit import njit
from jouleloop.model.arrays import Bools, Floats, Ints, Records
from jouleloop.optimum.group_cross import Work, least_shared, lower
from jouleloop.optimum.group_lattice import Edge, Lattice, Rows, Table
from jouleloop.optimum.group_table import alone_pj, filled_pj, moved


@njit
def fill_back(lattice: Lattice, kept: Bools, price: Records, rows: Rows) -> None:
    """Add what is filled in to what is outside of the places of a level."""
    for i in range(rows.tile.shape[0]):
        for e in range(rows.begin[i], rows.begin[i + 1]):
            rows.cost[e] += filled_pj(lattice, kept, price, rows.tile[i], rows.run[e])


@njit
def loop_back(lattice: Lattice, outside: Rows, ends: bool, reached: Ints, back: Table) -> None:
    """Write what is outside before the loops of a level, from what is outside after them: `loop_level` the other way.

    Parameters
    ----------
    outside
        Fills of the level and all that is outside, by place.
    ends
        Whether nothing may be outside the level.
    reached
        Tiles of which a table has places after the loops, in ascending order.
    """
    out, ahead, found = back.out, back.ahead, back.found
    ahead[:] = np.inf
    found[:] = False
    for x in reached:
        out[x] = np.inf
        found[x] = True
    for i in range(outside.tile.shape[0]):
        x = outside.tile[i]
        for e in range(outside.begin[i], outside.begin[i + 1]):
            ahead[x] = min(ahead[x], outside.cost[e])
            if found[x]:
                out[x, outside.run[e]] = outside.cost[e]
    if ends:
        ahead[-1] = 0.0
    for a in range(lattice.most.shape[0]):
        for x in range(ahead.shape[0] - 1, -1, -1):
            if lattice.digit[x, a] < lattice.most[a]:
                ahead[x] = min(ahead[x], ahead[x + lattice.weight[a]])
    for x in reached:
        for n in lattice.first:
            out[x, n] = min(out[x, n], ahead[x])
    for a in range(lattice.most.shape[0]):
        for x in reached[::-1]:
            y = x - lattice.weight[a]
            if lattice.digit[x, a] == 0 or not found[y]:
                continue
            for n in range(out.shape[1]):
                more = lattice.longer[a, n]
                if more >= 0:
                    out[y, more] = min(out[y, more], out[x, n])


@njit(vectors=True)
def cross_back(
    lattice: Lattice, inside: Rows, edge: Edge, outer: Table, room_pj: float, work: Work, outside: Floats
) -> None:
    """Lower what is outside of places by what is outside of a fan-out: `cross_fan_out` the other way.

    Parameters
    ----------
    inside
        Energies of the places themselves.
    outer
        What is outside before the loops of the level outside.
    outside
        By place.
    """
    work.found[:] = False
    line, found = work.line, work.found
    for i in range(inside.tile.shape[0]):
        x, lowest = inside.tile[i], np.inf
        line[:] = -np.inf
        for e in range(inside.begin[i], inside.begin[i + 1]):
            line[inside.run[e]] = min(outside[e], room_pj - inside.cost[e])
            lowest = min(lowest, inside.cost[e])
        for k in range(edge.fan.step.shape[0]):
            y = moved(lattice, edge.fan, x, k)
            if y < 0 or not outer.found[y]:
                continue
            if not found[y]:
                found[y] = True
                _ask_before(lattice, edge, outer.out[y], y, work)
            if lowest + work.ahead[y] < room_pj:
                least_pj = least_shared(lattice, edge, k, x, y)
                if lowest + work.ahead[y] + least_pj < room_pj:
                    lower(lattice, edge, k, x, work.out[y], least_pj, line)
        for e in range(inside.begin[i], inside.begin[i + 1]):
            if line[inside.run[e]] < min(outside[e], room_pj - inside.cost[e]):
                outside[e] = line[inside.run[e]]


@njit
def _ask_before(lattice: Lattice, edge: Edge, outer: Floats, y: int, work: Work) -> None:
    """Write what is outside of a tile outside a fan-out with what is asked for, and the least of it."""
    out = work.out[y]
    work.ahead[y] = np.inf
    for n in range(out.shape[0]):
        out[n] = outer[n]
        if out[n] < np.inf:
            out[n] += alone_pj(lattice, edge.kept, edge.price, y, n)
            work.ahead[y] = min(work.ahead[y], out[n])


@njit
def keep_within(inside: Rows, count: int, known: Rows, outside: Floats, room_pj: float) -> int:
    """Leave out places that cost too much with what is outside of those known; return how many tiles are left."""
    left = end = first = j = 0
    for i in range(count):
        x, begin, first = inside.tile[i], first, inside.begin[i + 1]
        while j < known.tile.shape[0] and known.tile[j] < x:
            j += 1
        if j == known.tile.shape[0] or known.tile[j] != x:
            continue
        k = known.begin[j]
        for e in range(begin, first):
            n, cost = inside.run[e], inside.cost[e]
            while k < known.begin[j + 1] and known.run[k] < n:
                k += 1
            if k < known.begin[j + 1] and known.run[k] == n and cost + outside[k] < room_pj:
                inside.run[end], inside.cost[end] = n, cost
                end += 1
        if end > inside.begin[left]:
            inside.tile[left] = x
            left += 1
            inside.begin[left] = end
    return left
