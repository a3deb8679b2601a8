"""What crosses a fan-out of data spaces that share a rank.

`docs/search.md` states the lemma: *groups of unrollings*, 1 and 2. It depends on few numbers of the tile inside and of
the factors, so each is found once.
"""

from typing import NamedTuple

import numpy as np

from jouleloop.jit import njit, record
from jouleloop.model.arrays import Bools, Floats, Ints, Record
from jouleloop.optimum.group_lattice import Edge, Lattice, new_table

#: Most pairs of poses and factors of which it is known at once what crosses.
_MOST_KNOWN = 1 << 17


@record
class Crossed(NamedTuple):
    """What crosses in an iteration of those that leave a data space in place, as far as it was asked for.

    Attributes
    ----------
    pair
        By row, the number of the data space, pose and factors that it is of.
    filled
        By twice the row, one more where loops may fall back while a dimension goes on that leaves it in place, and rank
        that the innermost loop moves: words that are filled in; infinite where there is no such loop.
    asked, words, unlinked
        The same: words asked for; those that come in; how many more of each are asked for over no link.
    """

    pair: Ints
    filled: Floats
    asked: Floats
    words: Floats
    unlinked: Floats


@record
class Work(NamedTuple):
    """Work space of a fan-out.

    Attributes
    ----------
    out, ahead, found
        Of tiles outside, as of a `Table`.
    line
        By run, of a tile inside.
    crossed
        What crosses, as far as it is known.
    """

    out: Floats
    ahead: Floats
    found: Bools
    line: Floats
    crossed: Crossed


def new_work(lattice: Lattice) -> Work:
    """Return work space, of which no more takes memory than is used."""
    shape = 2 * _MOST_KNOWN, lattice.ranks.shape[1]
    crossed = Crossed(np.full(_MOST_KNOWN, -1), *(np.empty(shape) for _ in range(4)))
    return Work(*new_table(lattice), np.empty(lattice.valid.shape[1]), crossed)


@njit
def begin_crossing(lattice: Lattice, edge: Edge, work: Work) -> None:
    """Forget what crosses another fan-out, and what was found there."""
    work.found[:] = False
    work.crossed.pair[: min(_MOST_KNOWN, lattice.pose.shape[0] * lattice.poses * edge.fan.keys)] = -1


@njit
def lower(
    lattice: Lattice, edge: Edge, crossed: Crossed, k: int, x: int, line: Floats, least_pj: float, out: Floats
) -> None:  # fmt: skip
    """Lower energies [pJ] by run to others and what data spaces that share a rank take, as tile x becomes another.

    ``least_pj``: what these take at least. Infinite energies may stand at both ends.
    """
    y = x + edge.fan.step[k]
    usual_pj = shared_pj(lattice, edge, crossed, k, x, y, -1, 1.0)
    less = 0
    for n in range(line.shape[0]):  # without a branch it is a few instructions
        less += int(line[n] + (least_pj if lattice.apart[n] else usual_pj) < out[n])
    for n in range(line.shape[0] if less else 0):
        if line[n] + (least_pj if lattice.apart[n] else usual_pj) < out[n]:
            out[n] = min(out[n], line[n] + _run_pj(lattice, edge, crossed, k, x, y, n, usual_pj))


@njit
def _run_pj(
    lattice: Lattice, edge: Edge, crossed: Crossed, k: int, x: int, y: int, n: int, usual_pj: float
) -> float:  # fmt: skip
    """Energy [pJ] of data spaces that share a rank as a run goes on.

    ``usual_pj``: that of a run that leaves none of them in place and whose steps links may serve.
    """
    if usual_pj > 0.0 and lattice.apart[n]:
        return float(shared_pj(lattice, edge, crossed, k, x, y, n, 0.0))
    for v in range(edge.kept.shape[0]):
        near = edge.fan.windows.near[v, edge.fan.window[k, v]]
        if edge.kept[v] and near != 0 and lattice.unlinked[n, v, near] > 0.0:
            return float(shared_pj(lattice, edge, crossed, k, x, y, n, 1.0))
    return usual_pj


@njit(inline="always")
def shared_pj(
    lattice: Lattice, edge: Edge, crossed: Crossed, k: int, x: int, y: int, n: int, saved: float
) -> float:  # fmt: skip
    """Energy [pJ] of data spaces that share a rank, as tile x becomes tile y by some factors.

    A run saves the iterations that are given, or, where that is 0, its own. Its number is -1 where it may be any.
    """
    total = 0.0
    for v in range(edge.kept.shape[0]):
        if edge.kept[v] and lattice.shared[v]:
            held = saved if saved > 0.0 else lattice.saved[n, v]
            unlinked = 0.0 if n < 0 else lattice.unlinked[n, v, edge.fan.windows.near[v, edge.fan.window[k, v]]]
            total += _crossed_pj(lattice, edge, crossed, v, k, x, y, held, unlinked)
    return total


@njit(inline="always")
def least_shared(lattice: Lattice, edge: Edge, crossed: Crossed, k: int, x: int, y: int) -> float:
    """Energy [pJ] of data spaces that share a rank, as tile x becomes tile y, where a run saves all it may."""
    total = 0.0
    for v in range(edge.kept.shape[0]):
        if edge.kept[v] and lattice.shared[v]:
            rest = lattice.rest[v, y]
            least_pj = _crossed_pj(lattice, edge, crossed, v, k, x, y, rest, 0.0)
            if rest > 1.0:
                # A run that leaves loops outside saves half of them at most, but windows may fall back then.
                least_pj = min(least_pj, _crossed_pj(lattice, edge, crossed, v, k, x, y, 0.5 * rest, 0.0))
            total += least_pj
    return total


@njit(inline="always")
def _crossed_pj(
    lattice: Lattice, edge: Edge, crossed: Crossed, v: int, k: int, x: int, y: int, held: float, unlinked: float
) -> float:  # fmt: skip
    """Energy [pJ] of a data space that shares a rank, of whose iterations a run holds so many.

    ``unlinked``: the share of steps that fetch whole boxes over no link.
    """
    price, pair = edge.price[v], (v * lattice.poses + lattice.pose[v, x]) * edge.fan.keys + edge.fan.key[k]
    row = pair % _MOST_KNOWN
    if crossed.pair[row] != pair:
        crossed.pair[row] = pair
        _look(lattice, edge, crossed, row, v, k, x, y)
    row = 2 * row + int(lattice.rest[v, y] > held)
    into, outside, least_pj = lattice.rest[v, x] / held, lattice.rest[v, y] / held, np.inf
    for a in range(lattice.ranks.shape[1]):
        if crossed.filled[row, a] < np.inf:
            filled = crossed.filled[row, a] * into - price.fill_rounded
            whole = min(crossed.words[row, a], unlinked * lattice.boxes[v, x])
            asked = crossed.asked[row, a] + whole * crossed.unlinked[row, a]
            filled_pj = max(0.0, filled - price.fill_free) * price.fill_pj
            least_pj = min(least_pj, filled_pj + asked_pj(price, asked * outside))
    return least_pj


@njit
def _look(lattice: Lattice, edge: Edge, crossed: Crossed, row: int, v: int, k: int, x: int, y: int) -> None:
    """Write what crosses.

    Where a run holds not all iterations, loops outside may fall back while a dimension goes on that leaves the data
    space in place. No nest is known that needs it: where no other step serves, what is handed on then was asked for in
    the same iteration.
    """
    price, windows = edge.price[v], edge.fan.windows
    own, pose = edge.fan.window[k, v], windows.pose[v, x]
    for back in range(2):
        at, some = 2 * row + back, False
        for a in range(lattice.ranks.shape[1]):
            crossed.filled[at, a] = np.inf
            loops = lattice.ranks[v, a] & lattice.loops[y] & price.loops
            if loops != 0:
                some, stands = True, loops & (loops - 1) != 0 and windows.stands[v, own, pose, a]
                words = lattice.seen[v, a, x] * price.apart
                if windows.slides[v, own, pose, a] & loops == 0:
                    words = max(words, lattice.boxes[v, x] * (lattice.moves[v, a, x] if stands else 1.0))
                _note(edge, crossed, at, a, v, k, min(words, lattice.boxes[v, x]), pose, -1 if stands else a)
        if not some:
            _note(edge, crossed, at, 0, v, k, lattice.boxes[v, x], pose, -1)
            crossed.words[at, 0] = 0.0


@njit
def _note(edge: Edge, crossed: Crossed, at: int, a: int, v: int, k: int, words: float, pose: int, rank: int) -> None:
    """Write what crosses if so many words come in and each step moves a rank, -1 where that may be any."""
    fan, windows, own, c, back = edge.fan, edge.fan.windows, edge.fan.window[k, v], edge.fan.kind[k], at % 2
    linked = windows.boxes[v, own, pose, back, rank]
    crossed.filled[at, a] = words * max(fan.share[c, v], windows.instances[v, own, pose, back, rank])
    crossed.asked[at, a] = words * linked * fan.ratio[c, v]
    crossed.words[at, a] = words
    crossed.unlinked[at, a] = (windows.plain[v, own, pose] - linked) * fan.ratio[c, v]


@njit(inline="always")
def asked_pj(price: Record, words: float) -> float:
    """Energy [pJ] of words that are sent, those that a level is asked for, of all its instances together."""
    sent_pj = words * price.sent_pj
    words = max(0.0, max(price.least_words, words / price.beyond) - price.ask_rounded)
    return float(words * price.ask_pj + max(0.0, words - price.free) * price.again_pj + sent_pj)
