"""The tables of a group of unrollings that keep the same: spatial factors are a minimum inside the tables.

`docs/search.md` states the lemma: *groups of unrollings*. Tables are filled from the innermost level outward.
"""

import numpy as np

from jouleloop.jit import njit
from jouleloop.model.arrays import Bools, Floats, Records
from jouleloop.optimum.group_cross import Work, asked_pj, least_shared, lower
from jouleloop.optimum.group_lattice import Edge, Fan, Lattice, Rows, Table, unpack


@njit
def ask_units(lattice: Lattice, edge: Edge, macs: float, after: Floats, room_pj: float, table: Table) -> bool:
    """Lower a table to what the units ask of the innermost levels that keep something; return whether any is left.

    They hold nothing of any step.

    Parameters
    ----------
    macs
        Operations.
    after, room_pj
        See `cross_fan_out`.
    """
    fan, left = edge.fan, False
    for k in range(fan.step.shape[0]):
        x, least_pj, stands = fan.step[k], 0.0, False
        for v in range(edge.price.shape[0]):
            least_pj += _units_pj(edge, macs, k, v, lattice.rest[v, 0])
            stands = stands or _standing(edge, macs, k, v) < 0.0
        if not least_pj + after[x] < room_pj:
            continue
        left = True
        if not table.found[x]:
            table.out[x] = np.inf
            table.found[x] = True
        for n in range(lattice.saved.shape[0]):
            if not lattice.valid[x, n]:
                continue
            total = least_pj
            if stands:
                total = 0.0
                for v in range(edge.price.shape[0]):
                    total += _units_pj(edge, macs, k, v, lattice.saved[n, v])
            table.out[x, n] = min(table.out[x, n], total)
    return left


@njit(inline="always")
def _standing(edge: Edge, macs: float, k: int, v: int) -> float:
    """Words that units ask for less where every step stands, negative, than where none does."""
    return float(min(0.0, macs * edge.fan.stands[k, v] - macs / edge.fan.served[k, v]))


@njit(inline="always")
def _units_pj(edge: Edge, macs: float, k: int, v: int, saved: float) -> float:
    """Energy [pJ] of a data space that units ask for, where a run saves so many iterations of those that stand."""
    words = macs / edge.fan.served[k, v] + _standing(edge, macs, k, v) * (1.0 - 1.0 / saved)
    return asked_pj(edge.price[v], words)


@njit
def fill_level(
    lattice: Lattice,
    inner: Table,
    kept: Bools,
    price: Records,
    capacity: float,
    after: Floats,
    room_pj: float,
    inside: Rows,
) -> int:
    """Price what is filled into a level for every place; return how many tiles are left, the first of ``inside``.

    Parameters
    ----------
    kept
        By data space. Of those that share a rank fills are priced with the fan-out.
    capacity
        Words.
    after
        By tile, least energy [pJ] of these fills and all that is outside.
    room_pj
        What a place may cost with all that is outside it.
    """
    count = end = 0
    for x in range(lattice.digit.shape[0]):
        most = room_pj - after[x]
        if not most > 0.0 or not (inner.found[x] or inner.ahead[x] < most):
            continue
        needed = 0.0
        for v in range(kept.shape[0]):
            if kept[v]:
                needed += lattice.size[v, x]
        if needed > capacity:
            continue
        for n in range(lattice.saved.shape[0]):
            total = min(inner.ahead[x], inner.out[x, n] if inner.found[x] else np.inf)
            if total >= most or not lattice.valid[x, n]:
                continue
            total += filled_pj(lattice, kept, price, x, n)
            if total < room_pj:
                inside.run[end], inside.cost[end] = n, total
                end += 1
        if end > inside.begin[count]:
            inside.tile[count] = x
            count += 1
            inside.begin[count] = end
    return count


@njit(inline="always")
def filled_pj(lattice: Lattice, kept: Bools, price: Records, x: int, n: int) -> float:
    """Energy [pJ] of what is filled in of data spaces that share no rank."""
    total = 0.0
    for v in range(kept.shape[0]):
        if kept[v] and not lattice.shared[v]:
            words = lattice.volume[v] * lattice.rest[v, x] / lattice.saved[n, v]
            total += max(0.0, words - price[v].fill_free) * price[v].fill_pj
    return total


@njit(inline="always")
def moved(lattice: Lattice, fan: Fan, x: int, k: int) -> int:
    """Return the tile that a tile becomes by the factors of a fan-out, or -1."""
    return x + fan.step[k] if (lattice.spare[x] - fan.taken[k]) & fan.guards == fan.guards else -1


@njit(vectors=True)
def cross_fan_out(
    lattice: Lattice,
    inside: Rows,
    edge: Edge,
    after: Floats,
    room_pj: float,
    work: Work,
    outer: Table,
    asks: bool = False,
) -> bool:
    """Lower a table to the least over the factors of a fan-out, with what the levels outside are asked for.

    Returns whether anything is left.

    Parameters
    ----------
    after
        By tile outside the fan-out, least energy [pJ] of all that is outside.
    room_pj
        What a place may cost with all that is outside it.
    work
        Work space.
    asks
        Whether it is only asked if anything may be left: the table stays as it is.
    """
    work.found[:] = False
    fan, least, line = edge.fan, work.ahead, work.line
    least[:] = -1.0
    for i in range(inside.tile.shape[0]):
        x, lowest = inside.tile[i], unpack(inside, i, line)
        for k in range(fan.step.shape[0]):
            y = moved(lattice, fan, x, k)
            if y < 0 or not lowest + after[y] < room_pj:
                continue
            if least[y] < 0.0:
                least[y] = _least_asked(lattice, edge.kept, edge.price, y)
            most_pj = room_pj - after[y] - least[y]
            least_pj = least_shared(lattice, edge, k, x, y) if lowest < most_pj else np.inf
            if not lowest + least_pj < most_pj:
                continue
            if asks:
                return True
            if not work.found[y]:
                work.found[y] = True
                for n in range(line.shape[0]):
                    work.out[y, n] = most_pj if lattice.valid[y, n] else -np.inf
            lower(lattice, edge, k, x, line, least_pj, work.out[y])
    return False if asks else _ask_outside(lattice, edge, after, room_pj, work, outer)


@njit
def _ask_outside(lattice: Lattice, edge: Edge, after: Floats, room_pj: float, work: Work, outer: Table) -> bool:
    """Lower a table to what is found, with what is asked for of data spaces that share no rank."""
    left = False
    for y in range(work.found.shape[0]):
        most_pj = room_pj - after[y] - work.ahead[y]
        for n in range(work.out.shape[1] if work.found[y] else 0):
            if not lattice.valid[y, n] or not work.out[y, n] < most_pj:
                continue
            total = work.out[y, n] + alone_pj(lattice, edge.kept, edge.price, y, n)
            if total + after[y] < room_pj:
                if not outer.found[y]:
                    outer.out[y] = np.inf
                    outer.found[y] = True
                outer.out[y, n] = min(outer.out[y, n], total)
                left = True
    return left


@njit(inline="always")
def alone_pj(lattice: Lattice, kept: Bools, price: Records, y: int, n: int) -> float:
    """Energy [pJ] of what is asked for of data spaces that share no rank."""
    total = 0.0
    for v in range(kept.shape[0]):
        if kept[v] and not lattice.shared[v]:
            total += asked_pj(price[v], lattice.volume[v] * lattice.rest[v, y] / lattice.saved[n, v])
    return total


@njit(inline="always")
def _least_asked(lattice: Lattice, kept: Bools, price: Records, y: int) -> float:
    """Energy [pJ] of what is asked for outside a tile, of data spaces that share no rank: a run saves of one."""
    total = most = 0.0
    for v in range(kept.shape[0]):
        if kept[v] and not lattice.shared[v]:
            whole_pj = asked_pj(price[v], lattice.volume[v] * lattice.rest[v, y])
            total += whole_pj
            most = max(most, whole_pj - asked_pj(price[v], lattice.volume[v]))
    return total - most


@njit
def loop_level(lattice: Lattice, table: Table, after: Floats, room_pj: float) -> float:
    """Minimise over the loops of a level, those that go on with a run in place; return the least with all outside [pJ].

    ``out`` and ``found`` of the table are changed in place, ``ahead`` is written.
    """
    out, ahead, found = table.out, table.ahead, table.found
    tiles, runs = out.shape
    for a in range(lattice.most.shape[0]):
        for x in range(tiles):
            y = x - lattice.weight[a]
            if lattice.digit[x, a] == 0 or not found[y]:
                continue
            most = room_pj - after[x]
            if not found[x]:
                out[x] = np.inf
            for n in range(runs):
                more = lattice.longer[a, n]
                if more >= 0 and out[y, more] < out[x, n] and out[y, more] < most:
                    out[x, n] = out[y, more]
                    found[x] = True
    least = np.inf
    for x in range(tiles):
        ahead[x] = np.inf
        if found[x]:
            for n in lattice.first:
                ahead[x] = min(ahead[x], out[x, n])
            least = min(least, out[x].min() + after[x])
    for a in range(lattice.most.shape[0]):
        for x in range(tiles):
            if lattice.digit[x, a] > 0:
                ahead[x] = min(ahead[x], ahead[x - lattice.weight[a]])
    return float(least)
