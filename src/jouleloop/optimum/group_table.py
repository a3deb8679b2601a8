"""The tables of a group of unrollings that keep the same: spatial factors are a minimum inside the tables.

`docs/search.md` states the lemma: *groups of unrollings*. Tables are filled from the innermost level outward.
"""

import numpy as np

from jouleloop.jit import njit
from jouleloop.model.arrays import Bools, Floats, Record, Records
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


@njit
def cross_fan_out(
    lattice: Lattice,
    inside: Rows,
    edge: Edge,
    after: Floats,
    room_pj: float,
    work: Table,
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
    fan, found, least = edge.fan, work.found, work.ahead
    found[:] = False
    least[:] = -1.0
    line = np.empty(work.out.shape[1])
    for i in range(inside.tile.shape[0]):
        x, lowest = inside.tile[i], unpack(inside, i, line)
        for k in range(fan.step.shape[0]):
            y = moved(lattice, fan, x, k)
            if y < 0 or not lowest + after[y] < room_pj:
                continue
            if least[y] < 0.0:
                least[y] = _least_asked(lattice, edge.kept, edge.price, y)
            if not lowest + least[y] + after[y] < room_pj:
                continue
            if lowest + least[y] + after[y] + least_shared(lattice, edge, k, x, y) < room_pj:
                if asks:
                    return True
                if not found[y]:
                    work.out[y] = np.inf
                    found[y] = True
                lower(lattice, edge, x, k, line, work.out[y])
    return False if asks else _ask_outside(lattice, edge, after, room_pj, work, outer)


@njit
def lower(lattice: Lattice, edge: Edge, x: int, k: int, line: Floats, out: Floats) -> None:
    """Lower energies [pJ] by run to others and what data spaces that share a rank take, as tile x becomes another."""
    y = x + edge.fan.step[k]
    more_pj = shared_pj(lattice, edge, k, x, y, -1, 1.0)
    # Of runs that save more of those data spaces this is too much, and what follows is less.
    if _links_any(edge, k):
        for n in range(line.shape[0]):
            if line[n] + more_pj < out[n]:
                out[n] = min(out[n], line[n] + shared_pj(lattice, edge, k, x, y, n, 1.0))
    else:
        for n in range(line.shape[0]):
            total = line[n] + more_pj
            out[n] = min(out[n], total)
    if more_pj > 0.0:
        for n in lattice.apart:
            if line[n] < out[n]:
                out[n] = min(out[n], line[n] + shared_pj(lattice, edge, k, x, y, n, 0.0))


@njit(inline="always")
def _links_any(edge: Edge, k: int) -> bool:
    """Whether links may serve instances below some factors."""
    found = False
    for v in range(edge.kept.shape[0]):
        found = found or (edge.kept[v] and edge.fan.windows.near[v, edge.fan.window[k, v]] != 0)
    return found


@njit
def _ask_outside(lattice: Lattice, edge: Edge, after: Floats, room_pj: float, work: Table, outer: Table) -> bool:
    """Lower a table to what is found, with what is asked for of data spaces that share no rank."""
    left = False
    for y in range(work.found.shape[0]):
        if not work.found[y]:
            continue
        for n in range(work.out.shape[1]):
            if work.out[y, n] == np.inf or not lattice.valid[y, n]:
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
def shared_pj(lattice: Lattice, edge: Edge, k: int, x: int, y: int, n: int, saved: float) -> float:
    """Energy [pJ] of data spaces that share a rank, as tile x becomes tile y by some factors.

    A run saves the iterations that are given, or, where that is 0, its own. Its number is -1 where it may be any.
    """
    total = 0.0
    for v in range(edge.kept.shape[0]):
        if edge.kept[v] and lattice.shared[v]:
            held = saved if saved > 0.0 else lattice.saved[n, v]
            unlinked = 0.0 if n < 0 else lattice.unlinked[n, v, edge.fan.windows.near[v, edge.fan.window[k, v]]]
            total += _crossed_pj(lattice, edge, v, k, x, y, held, unlinked)
    return total


@njit(inline="always")
def least_shared(lattice: Lattice, edge: Edge, k: int, x: int, y: int) -> float:
    """Energy [pJ] of data spaces that share a rank, as tile x becomes tile y, where a run saves all it may."""
    total = 0.0
    for v in range(edge.kept.shape[0]):
        if edge.kept[v] and lattice.shared[v]:
            rest = lattice.rest[v, y]
            least_pj = _crossed_pj(lattice, edge, v, k, x, y, rest, 0.0)
            if rest > 1.0:
                # A run that leaves loops outside saves half of them at most, but windows may fall back then.
                least_pj = min(least_pj, _crossed_pj(lattice, edge, v, k, x, y, 0.5 * rest, 0.0))
            total += least_pj
    return total


@njit(inline="always")
def _crossed_pj(
    lattice: Lattice, edge: Edge, v: int, k: int, x: int, y: int, held: float, unlinked: float
) -> float:  # fmt: skip
    """Energy [pJ] of a data space that shares a rank, of whose iterations a run holds so many.

    Where it holds not all, loops outside may fall back while a dimension goes on that leaves it in place. No nest is
    known that needs it: where no other step serves, what is handed on then was asked for in the same iteration.
    ``unlinked``: the share of steps that fetch whole boxes over no link.
    """
    price, windows = edge.price[v], edge.fan.windows
    own, pose, back = edge.fan.window[k, v], windows.pose[v, x], int(lattice.rest[v, y] > held)
    boxes, instances = windows.boxes[v, own, pose, back], windows.instances[v, own, pose, back]
    into, outside, least_pj = lattice.rest[v, x] / held, lattice.rest[v, y] / held, np.inf
    for a in range(lattice.ranks.shape[1]):
        loops = lattice.ranks[v, a] & lattice.loops[y] & price.loops
        if loops != 0:
            stands = loops & (loops - 1) != 0 and windows.stands[v, own, pose, a]
            words, rank = lattice.seen[v, a, x] * price.apart, -1 if stands else a
            if windows.slides[v, own, pose, a] & loops == 0:
                words = max(words, lattice.boxes[v, x] * (lattice.moves[v, a, x] if stands else 1.0))
            words = min(words, lattice.boxes[v, x])
            whole = min(words, unlinked * lattice.boxes[v, x])
            asked = whole * windows.unlinked[v, own, pose] + (words - whole) * boxes[rank]
            least_pj = min(least_pj, _passed_pj(edge, v, k, words * into, instances[rank], asked * outside))
    if least_pj == np.inf:
        words = lattice.boxes[v, x]
        least_pj = _passed_pj(edge, v, k, words * into, instances[-1], words * outside * boxes[-1])
    return least_pj


@njit(inline="always")
def _passed_pj(edge: Edge, v: int, k: int, filled: float, instances: float, asked: float) -> float:
    """Energy [pJ] of words filled in, if no more than a share of instances takes them, and of words asked for."""
    price, c = edge.price[v], edge.fan.kind[k]
    filled = filled * max(edge.fan.share[c, v], instances) - price.fill_rounded
    filled_pj = max(0.0, filled - price.fill_free) * price.fill_pj
    return float(filled_pj + asked_pj(price, asked * edge.fan.ratio[c, v]))


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


@njit(inline="always")
def asked_pj(price: Record, words: float) -> float:
    """Energy [pJ] of words that are sent, those that a level is asked for, of all its instances together."""
    sent_pj = words * price.sent_pj
    words = max(0.0, max(price.least_words, words / price.beyond) - price.ask_rounded)
    return float(words * price.ask_pj + max(0.0, words - price.free) * price.again_pj + sent_pj)


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
