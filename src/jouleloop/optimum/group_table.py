"""The tables of a group of unrollings that keep the same: spatial factors are a minimum inside the tables.

`docs/search.md` states the lemma: *groups of unrollings*. A place is a tile, unrolled indices included, so a divisor of
the whole layer, and the run of loops that trails outside it: one row a tile, one column a run.
"""

from typing import NamedTuple

import numpy as np

from jouleloop.division import factorised
from jouleloop.jit import njit, record
from jouleloop.model.arrays import Bools, Floats, Ints, LayerArrays
from jouleloop.optimum.arrays import HALO, IDLE

#: Places of what a crossing costs by data space: energy [pJ] of a word asked, and of one asked beyond the words that
#: follow; how many times fewer words are asked than the tile tells; words asked at least; energy of a word filled
#: beyond the words that follow; words that rounding may take off.
ASK_PJ, AGAIN_PJ, FREE, BEYOND, LEAST_WORDS, FILL_PJ, FILL_FREE, ROUNDED, CROSSING = range(9)


@record
class Lattice(NamedTuple):
    """All tiles of a layer, and all runs of loops that leave one data space in place.

    Attributes
    ----------
    digit, most, weight
        Powers of the primes of a tile, one axis a dimension and prime, shape (tiles, axes); the largest; the weight of
        an axis in a tile's number.
    size, rest
        By data space and tile: words of the box; iterations outside of the dimensions that leave it in place.
    volume
        By data space, words that have to come in at least.
    shared
        By data space, whether several dimensions move a rank.
    saved
        By run and data space, how many iterations of `rest` the run holds.
    first
        Of the runs of each kind the one without a loop.
    longer
        By axis and run the run of one prime more, or -1.
    valid
        By tile and run, whether the run has room outside the tile.
    """

    digit: Ints
    most: Ints
    weight: Ints
    size: Floats
    rest: Floats
    volume: Floats
    shared: Bools
    saved: Floats
    first: Ints
    longer: Ints
    valid: Bools


def new_lattice(layer: LayerArrays, side: Ints) -> Lattice:
    """Return the lattice of a layer of which each dimension leaves at most one data space in place."""
    axes = _axes(layer.bounds)
    most = np.array([power for *_, power in axes], np.int64)
    weight = np.concatenate([[1], np.cumprod(most[:-1] + 1)]).astype(np.int64)
    tiles = int((most + 1).prod())
    digit = np.ascontiguousarray(np.arange(tiles)[:, None] // weight % (most + 1))
    extent = extents_of(digit, layer.bounds).astype(float)
    idle = side[:, :, IDLE] == 1
    whole = layer.bounds.astype(float)
    runs: list[Ints] = []
    first: list[int] = []
    for own in idle if idle.any() else idle[:1]:
        held = np.array([own[d] for d, *_ in axes])
        if not held.any() and idle.any():
            continue
        first.append(sum(map(len, runs)))
        runs.append(np.unique(digit * held, axis=0))
    run = np.concatenate(runs)
    longer = [[_place(run, first, n, a) for n in range(len(run))] for a in range(len(axes))]
    value = np.array([float(p) for _, p, _ in axes]) ** run
    saved = np.ones((len(run), len(idle)))
    for v, own in enumerate(idle):
        saved[:, v] = np.prod(np.where([own[d] for d, *_ in axes], value, 1.0), axis=1)
    return Lattice(
        digit,
        most,
        weight,
        np.stack([_box(coef, extent) for coef in layer.coef]),
        np.stack([np.prod(np.where(own, whole / extent, 1.0), axis=1) for own in idle]),
        np.array([_values(coef, whole) for coef in layer.coef]),
        np.array((side[:, :, HALO] >= 0).any(axis=1), np.bool_),
        saved,
        np.array(first, np.int64),
        np.array(longer, np.int64),
        np.ascontiguousarray((digit[:, None, :] + run <= most).all(axis=2)),
    )


def _axes(bounds: Ints) -> list[tuple[int, int, int]]:
    """Return dimension, prime and power of every axis; there is one at least."""
    return [(d, *one) for d, bound in enumerate(bounds.tolist()) for one in factorised(bound)] or [(0, 1, 0)]


def extents_of(digit: Ints, bounds: Ints) -> Ints:
    """Return the indices of every tile by dimension, unrolled ones included."""
    extent = np.ones((len(digit), len(bounds)), np.int64)
    for a, (d, p, _) in enumerate(_axes(bounds)):
        extent[:, d] *= p ** digit[:, a]
    return extent


def _place(run: Ints, first: list[int], n: int, a: int) -> int:
    """Return the run of the same kind with one prime more along an axis, or -1."""
    kind = np.searchsorted(first, n, side="right") - 1
    end = first[kind + 1] if kind + 1 < len(first) else len(run)
    wanted = run[n].copy()
    wanted[a] += 1
    for other in range(first[kind], end):
        if (run[other] == wanted).all():
            return other
    return -1


def _box(coef: Ints, extent: Floats) -> Floats:
    """Words of the boxes of tiles, gaps included."""
    words: Floats = np.prod([1.0 + ((extent - 1.0) * row).sum(axis=1) for row in coef], axis=0)
    return words


def _values(coef: Ints, extent: Floats) -> float:
    """Words that all of a layer takes at least: a rank has the values of its dimensions, less one for each but one."""
    return float(np.prod([1.0 + ((extent - 1.0) * (row != 0)).sum() for row in coef]))


@njit
def fill_level(
    lattice: Lattice, inner: Floats, ahead: Floats, kept: Bools, price: Floats, room: float, limit: float, out: Floats
) -> bool:
    """Price what is filled into a level for every place; return whether any is below a limit [pJ].

    Parameters
    ----------
    inner, ahead
        Least energy from the loops of the level inward: of those that go on with the run, and of all others.
    kept
        By data space. Of those that share a rank fills are priced with the fan-out.
    room
        Words.
    out
        Shape (tiles, runs).
    """
    left = False
    for x in range(inner.shape[0]):
        needed = 0.0
        for v in range(kept.shape[0]):
            if kept[v]:
                needed += lattice.size[v, x]
        out[x] = np.inf
        if needed > room:
            continue
        for n in range(inner.shape[1]):
            if not lattice.valid[x, n] or (ahead[x] >= limit and inner[x, n] >= limit):
                continue
            total = min(ahead[x], inner[x, n])
            for v in range(kept.shape[0]):
                if kept[v] and not lattice.shared[v]:
                    words = lattice.volume[v] * lattice.rest[v, x] / lattice.saved[n, v]
                    total += max(0.0, words - price[v, FILL_FREE]) * price[v, FILL_PJ]
            if total < limit:
                out[x, n] = total
                left = True
    return left


@njit
def cross_fan_out(
    lattice: Lattice,
    inside: Floats,
    crossing: Bools,
    price: Floats,
    shift: Ints,
    begin: Ints,
    share: Floats,
    ratio: Floats,
    limit: float,
    least: Floats,
    out: Floats,
) -> None:
    """Take the least over the factors of a fan-out, and add what the level outside is asked for.

    Parameters
    ----------
    crossing
        By data space, whether it is kept inside.
    shift, begin
        Powers of primes of the factors, shape (choices, axes), in classes that begin there.
    share, ratio
        By class and data space that shares a rank: the share of the words that is counted as fills, and the words asked
        for over those that the tile outside tells, at least.
    limit
        Energy [pJ] from which on a place is left out.
    least
        Work space by tile.
    """
    out[:] = np.inf
    tiles, runs = inside.shape
    _least_asked(lattice, crossing, price, least)
    for c in range(begin.shape[0] - 1):
        for x in range(tiles):
            lowest = np.inf
            for n in range(runs):
                lowest = min(lowest, inside[x, n])
            if lowest == np.inf:
                continue
            for k in range(begin[c], begin[c + 1]):
                y = x
                for a in range(shift.shape[1]):
                    y += shift[k, a] * lattice.weight[a]
                    if lattice.digit[x, a] + shift[k, a] > lattice.most[a]:
                        y = -1
                        break
                if y < 0 or lowest + least[y] >= limit:
                    continue
                for n in range(runs):
                    if inside[x, n] < out[y, n] and lattice.valid[y, n]:
                        total = inside[x, n]
                        for v in range(crossing.shape[0]):
                            if crossing[v] and lattice.shared[v]:
                                words = lattice.volume[v] / lattice.saved[n, v]
                                filled = words * lattice.rest[v, x] * share[c, v] - price[v, ROUNDED]
                                total += max(0.0, filled - price[v, FILL_FREE]) * price[v, FILL_PJ]
                                total += _asked_pj(price[v], words * lattice.rest[v, y] * ratio[c, v])
                        out[y, n] = min(out[y, n], total)
    for x in range(tiles):
        if least[x] >= limit:
            continue
        for n in range(runs):
            if out[x, n] == np.inf:
                continue
            for v in range(crossing.shape[0]):
                if crossing[v] and not lattice.shared[v]:
                    words = lattice.volume[v] * lattice.rest[v, x] / lattice.saved[n, v]
                    out[x, n] += _asked_pj(price[v], words)
            if out[x, n] >= limit:
                out[x, n] = np.inf


@njit
def _least_asked(lattice: Lattice, crossing: Bools, price: Floats, least: Floats) -> None:
    """Write by tile the energy [pJ] of what is asked for, of data spaces that share no rank: a run saves of one."""
    for x in range(least.shape[0]):
        total = most = 0.0
        for v in range(crossing.shape[0]):
            if crossing[v] and not lattice.shared[v]:
                whole_pj = _asked_pj(price[v], lattice.volume[v] * lattice.rest[v, x])
                total += whole_pj
                most = max(most, whole_pj - _asked_pj(price[v], lattice.volume[v]))
        least[x] = total - most


@njit(inline="always")
def _asked_pj(price: Floats, words: float) -> float:
    """Energy [pJ] of the words that a level is asked for, of all its instances together."""
    words = max(price[LEAST_WORDS], words / price[BEYOND] - price[ROUNDED])
    return float(words * price[ASK_PJ] + max(0.0, words - price[FREE]) * price[AGAIN_PJ])


@njit
def loop_level(lattice: Lattice, out: Floats, ahead: Floats, found: Bools) -> float:
    """Minimise over the loops of a level, those that go on with a run in place; return the least of all [pJ].

    ``ahead`` is the least over all loops, whatever is outside, by tile; ``found`` is work space.
    """
    tiles, runs = out.shape
    for x in range(tiles):
        found[x] = False
        for n in range(runs):
            found[x] = found[x] or out[x, n] < np.inf
    for a in range(lattice.most.shape[0]):
        for x in range(tiles):
            if lattice.digit[x, a] > 0 and found[x - lattice.weight[a]]:
                for n in range(runs):
                    more = lattice.longer[a, n]
                    if more >= 0 and out[x - lattice.weight[a], more] < out[x, n]:
                        out[x, n] = out[x - lattice.weight[a], more]
                        found[x] = True
    least = np.inf
    for x in range(tiles):
        ahead[x] = np.inf
        if not found[x]:
            continue
        for n in lattice.first:
            ahead[x] = min(ahead[x], out[x, n])
        for n in range(runs):
            least = min(least, out[x, n])
    for a in range(lattice.most.shape[0]):
        for x in range(tiles):
            if lattice.digit[x, a] > 0:
                ahead[x] = min(ahead[x], ahead[x - lattice.weight[a]])
    return least
