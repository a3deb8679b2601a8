"""What crosses a fan-out of data spaces that share a rank.

`docs/search.md` states the lemma: *groups of unrollings*, 1 and 2.
"""

from typing import NamedTuple

import numpy as np

from jouleloop.jit import njit, record
from jouleloop.model.arrays import Bools, Floats, Record
from jouleloop.optimum.group_lattice import Edge, Lattice, new_table


@record
class Work(NamedTuple):
    """Work space of a fan-out.

    Attributes
    ----------
    out, ahead, found
        Of tiles outside, as of a `Table`.
    line
        By run, of a tile inside.
    """

    out: Floats
    ahead: Floats
    found: Bools
    line: Floats


def new_work(lattice: Lattice) -> Work:
    """Return work space."""
    return Work(*new_table(lattice), np.empty(lattice.valid.shape[1]))


@njit
def lower(lattice: Lattice, edge: Edge, k: int, x: int, line: Floats, least_pj: float, out: Floats) -> None:
    """Lower energies [pJ] by run to others and what data spaces that share a rank take, as tile x becomes another.

    ``least_pj``: what these take at least. Infinite energies may stand at both ends.
    """
    y = x + edge.fan.step[k]
    usual_pj = shared_pj(lattice, edge, k, x, y, -1, 1.0)
    less = 0
    for n in range(line.shape[0]):  # without a branch it is a few instructions
        less += int(line[n] + (least_pj if lattice.apart[n] else usual_pj) < out[n])
    for n in range(line.shape[0] if less else 0):
        if line[n] + (least_pj if lattice.apart[n] else usual_pj) < out[n]:
            out[n] = min(out[n], line[n] + _run_pj(lattice, edge, k, x, y, n, usual_pj))


@njit
def _run_pj(lattice: Lattice, edge: Edge, k: int, x: int, y: int, n: int, usual_pj: float) -> float:
    """Energy [pJ] of data spaces that share a rank as a run goes on.

    ``usual_pj``: that of a run that leaves none of them in place and whose steps links may serve.
    """
    if usual_pj > 0.0 and lattice.apart[n]:
        return float(shared_pj(lattice, edge, k, x, y, n, 0.0))
    for v in range(edge.kept.shape[0]):
        near = edge.fan.windows.near[v, edge.fan.window[k, v]]
        if edge.kept[v] and near != 0 and lattice.unlinked[n, v, near] > 0.0:
            return float(shared_pj(lattice, edge, k, x, y, n, 1.0))
    return usual_pj


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
            asked = whole * windows.plain[v, own, pose] + (words - whole) * boxes[rank]
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
def asked_pj(price: Record, words: float) -> float:
    """Energy [pJ] of words that are sent, those that a level is asked for, of all its instances together."""
    sent_pj = words * price.sent_pj
    words = max(0.0, max(price.least_words, words / price.beyond) - price.ask_rounded)
    return float(words * price.ask_pj + max(0.0, words - price.free) * price.again_pj + sent_pj)
