"""What one unrolling fixes before any temporal loop is chosen: instances, reuse across meshes, constant energy.

This is step 1 of `docs/search.md`.
`docs/proof.md` states the lemmas used here: *distinct boxes*, *ends of chains*, *bypass*, *fills*, *partitions*.
"""

import numpy as np

from jouleloop.jit import njit
from jouleloop.model.arrays import Encoded, Ints, LayerArrays, Records
from jouleloop.model.kernel import box_words
from jouleloop.optimum.arrays import MOVED, PLAIN, SIDE, Case, Unrolled
from jouleloop.optimum.costs import clear_rate, crossing_pj, fill_rate, network_pj
from jouleloop.optimum.units import shares_of_steps, sure_shares, words_together
from jouleloop.optimum.words import offsets_of


def find_sides(coef: Ints, bounds: Ints) -> Records:
    """Return `Unrolled.side`: which dimensions leave a data space in place, and which share a rank with another.

    No dimension moves two ranks of a data space.

    Parameters
    ----------
    coef
        Projection, shape (data spaces, ranks, dimensions).
    """
    moves = coef != 0
    is_open = moves & (bounds > 1)
    side: Records = np.zeros(coef.shape[::2], SIDE)
    side["idle"] = ~moves.any(axis=1)
    side["halo"] = -1
    for v, r in np.argwhere(is_open.sum(axis=2) > 1):
        side["halo"][v, is_open[v, r]] = r
    return side


@njit
def _spread(coef: Ints, side: Records, inside: Ints, factors: Ints, rests: Records) -> tuple[float, float, float]:
    """Distinct boxes among the instances of one fan-out; of those, what moving links cannot serve; and their share.

    All at least, whatever the tiles. The instances at the far end of a shared rank have no neighbour there.

    Parameters
    ----------
    coef, side
        Of one data space, by dimension.
    inside, factors
        Of `Unrolled`, of the level.
    rests
        See `offsets_of`.
    """
    distinct = 1.0
    widest = 1
    most = 1
    for r in range(coef.shape[0]):
        offsets = offsets_of(coef[r], inside, factors, rests, False)
        distinct *= offsets
        spread = 1
        for d in range(coef.shape[1]):
            if side[d].halo == r:
                spread *= factors[d]
                widest = max(widest, offsets)
        most = max(most, spread)
    return distinct, distinct / widest, 1.0 / most


@njit
def _coincide(side: Records, factors: Ints, first: int, last: int) -> bool:
    """Whether two instances below level ``first`` may hold one box of a data space.

    What is unrolled up to level ``last`` may be unrolled at ``first``, but for dimensions that share a rank.
    """
    found = False
    for d in range(side.shape[0]):
        for level in range(first, last + 1):
            found = found or (side[d].idle and factors[level, d] > 1)
        for e in range(d):
            shared = side[d].halo >= 0 and side[e].halo == side[d].halo
            found = found or (shared and factors[first, d] > 1 and factors[first, e] > 1)
    return found


@njit
def _near(side: Records, factors: Ints, near: Ints) -> bool:
    """Mark the dimensions of every shared rank that is unrolled at one level; return whether there are any."""
    found = False
    for d in range(side.shape[0]):
        near[d] = 0
    for d in range(side.shape[0]):
        if side[d].halo >= 0 and factors[d] > 1:
            found = True
            for e in range(side.shape[0]):
                if side[e].halo == side[d].halo:
                    near[e] = 1
    return found


@njit
def open_unrolling(layer: LayerArrays, unrolled: Unrolled, rests: Records) -> None:
    """Fill what an unrolling fixes whatever is kept: all that follows from its factors but for rates.

    ``rests``: see `offsets_of`.
    """
    factors = unrolled.factors
    levels = factors.shape[0]
    dims = factors.shape[1]
    unrolled.seen_words[:] = -1.0
    for d in range(dims):
        product = 1
        for level in range(levels):
            product *= factors[level, d]
            unrolled.inside[level, d] = product
    units = 1.0
    for level in range(levels - 1, -1, -1):
        unrolled.instances[level] = units
        for d in range(dims):
            units *= factors[level, d]
    for v in range(layer.coef.shape[0]):
        unrolled.asked[v].steps = -1.0
        _partitions(layer, unrolled, v)
        for level in range(levels):
            _near(unrolled.side[v], factors[level], unrolled.near[level, v])
        for level in range(1, levels):
            side, edge = unrolled.side[v], unrolled.edge[level - 1, v]
            boxes = _spread(layer.coef[v], side, unrolled.inside[level], factors[level], rests)
            edge.boxes, edge.boxes_linked, edge.share_linked = boxes
            edge.coincide = _coincide(side, factors, level, unrolled.origin[level])


@njit
def connect(case: Case, steps: float, child: int, level: int, v: int) -> tuple[float, float]:
    """Fill edge and rate between two levels that keep a data space, nothing in between keeping it.

    So are those of levels in between whose networks charge, or that are filled with what passes through them. The
    unrolling of the case is open, ``steps`` are its temporal iterations.

    Returns the words that the compute units (``child`` -1) ask for, at least, and what networks charge for them [pJ].
    """
    target, unrolled = case.target, case.unrolled
    fill_rate(target, unrolled, v, child, level)
    edge, rate = unrolled.edge, unrolled.rate
    for inner in range(child, level):
        outer = level if inner == child else inner + 1
        if inner == child:
            for kind in (PLAIN, MOVED):
                rate[child, v].net_pj[kind] = edge[child + 1, v].filled_pj[kind]
        elif edge[outer, v].bypassed_pj[PLAIN] > 0.0 or fills_passed(target, v, inner):
            # The network outside a level that keeps nothing charges for the tile that it would hold.
            clear_rate(rate[inner, v])
            for kind in (PLAIN, MOVED):
                rate[inner, v].net_pj[kind] = edge[outer, v].bypassed_pj[kind]
        else:
            continue
        if inner >= 0:
            edge[inner, v].parent = outer
            # What passes through a level is sent by the level outside alone: no words over links are added.
            apart = 0.0 if target.layer.reuse[inner, v].no_coalesce else 1.0 / unrolled.instances[inner + 1]
            _edge(case, v, inner, outer, apart)
    _pass_through(target, unrolled, v, child, level)
    if child < 0:
        return _unit_words(case, steps, v, level)
    return 0.0, 0.0


@njit
def fills_passed(target: Encoded, v: int, level: int) -> bool:
    """Whether a level is charged for fills with the tile that it would hold, since it lets words pass through.

    Outputs are filled as often as they are asked for there. Where instances share what they hold nothing is said.
    """
    layer = target.layer
    if not layer.reuse[level, v].no_coalesce or layer.read_write[v]:
        return False
    return bool(target.hardware.levels[level].write_pj > 0.0) and not _spreads(layer, v)


@njit
def _spreads(layer: LayerArrays, v: int) -> bool:
    """Whether instances of any level share what they would hold of a data space."""
    spreads = False
    for level in range(layer.reuse.shape[0]):
        spreads = spreads or layer.reuse[level, v].spreading
    return bool(spreads)


@njit
def _pass_through(target: Encoded, unrolled: Unrolled, v: int, child: int, level: int) -> None:
    """Write what levels charge for the words that pass through them between two levels that keep a data space.

    They are asked for as often as if they were the next level that keeps it (*words that pass through*). Where
    instances share what they hold nothing is said.
    """
    layer, levels, rate = target.layer, target.hardware.levels, unrolled.rate
    rate[child, v].pass_first = 0
    if _spreads(layer, v):
        return
    for k in range(level - 1, child, -1):
        if not layer.reuse[k, v].no_coalesce:
            continue
        row = rate[k, v]
        sharing = min(unrolled.instances[k], levels[k].clusters)
        row.pass_first = 0
        row.pass_next = rate[child, v].pass_first
        row.pass_share = _chain(layer.coef[v], unrolled, k + 1, level)
        row.pass_block = row.fill_block = levels[k].block_words
        row.pass_pj = levels[k].read_pj * sharing
        row.fill_pj = 0.0
        if layer.read_write[v]:
            row.pass_pj += (levels[k].update_pj + levels[k].write_pj) * sharing
        else:
            row.fill_pj = levels[k].write_pj * sharing
        rate[child, v].pass_first = k + 1


@njit
def prepare(case: Case, steps: float, traffic: Records) -> float:
    """Fill what an unrolling fixes under the case's choice of what is kept, after `open_unrolling`.

    Returns the energy [pJ] of the accesses that the compute units make, at least.

    Parameters
    ----------
    steps
        Temporal iterations.
    traffic
        Out, by level: words per instance that the compute units ask for, as a start for bandwidth bounds.
    """
    layer, unrolled = case.target.layer, case.unrolled
    for level in range(traffic.shape[0]):
        traffic[level].read = traffic[level].written = 0.0
    total_pj = charged_pj = 0.0
    for v in range(layer.coef.shape[0]):
        # Walk outward over kept levels; -1 stands for the compute units.
        child = -1
        for level in range(case.keep.shape[0]):
            unrolled.edge[level, v].parent = -1
            if not case.keep[level, v]:
                continue
            words, sent_pj = connect(case, steps, child, level, v)
            if child < 0:
                unrolled.edge[-1, v].parent = level
                total_pj += crossing_pj(unrolled.rate, -1, v, words, 0.0, sent_pj)
                charged_pj += sent_pj
                unrolled.rate[-1, v].sure_vectors = words / unrolled.rate[-1, v].ask_block
                share = 1.0 / unrolled.edge[level + 1, v].sharers
                if layer.read_write[v]:
                    traffic[level].written += words * share
                    traffic[level].read += max(0.0, words - unrolled.edge[level, v].partitioned) * share
                else:
                    traffic[level].read += words * share
            child = level
    return _arranged_pj(case, steps, total_pj, charged_pj)


@njit
def _arranged_pj(case: Case, steps: float, any_pj: float, charged_pj: float) -> float:
    """Energy [pJ] of what the compute units ask for, at least, given the least of each data space for itself.

    Writes what each arrangement takes beyond that. What networks charge is the same for all: links may serve units that
    bounds of words do not.
    """
    links, least_pj = case.links, np.inf
    first, last = links.run[links.row[0]]
    if links.entry.shape[0] == 0 or steps == 1.0:
        links.more_pj[first:last] = 0.0
        return any_pj
    for a in range(first, max(last, first + 1)):
        own_pj = np.inf
        for d in range(case.grid.axis.shape[0]):
            if case.grid.axis[d].rest > 1:
                own_pj = min(own_pj, _asked_pj(case, steps, a if a < last else -1, d))
        least_pj = min(least_pj, own_pj + charged_pj)
        if a < last:
            links.more_pj[a] = own_pj + charged_pj
    least_pj = max(any_pj, least_pj)
    for a in range(first, last):
        links.more_pj[a] = max(0.0, links.more_pj[a] - least_pj)
    return float(least_pj)


@njit
def _asked_pj(case: Case, steps: float, arrangement: int, innermost: int) -> float:
    """Energy [pJ] of what the compute units ask for, at least, without networks, given the innermost loop."""
    total_pj, unrolled = 0.0, case.unrolled
    for v in range(case.keep.shape[1]):
        level = unrolled.edge[-1, v].parent
        if level >= 0:
            asked, words, _ = _asked_steps(case, steps, v, arrangement, innermost)
            words *= asked * _chain(case.target.layer.coef[v], unrolled, 1, level)
            total_pj += crossing_pj(unrolled.rate, -1, v, words, 0.0, 0.0)
    return total_pj


@njit
def _chain(coef: Ints, unrolled: Unrolled, first: int, last: int) -> float:
    """Words asked of level ``last`` per word asked of ``first - 1``, across bypassed levels, at least.

    No more instances share a box than those that the widest dimension of each rank does not tell apart.
    """
    product = 1.0
    for level in range(first, last + 1):
        for r in range(coef.shape[0]):
            widest = 1
            for d in range(coef.shape[1]):
                if coef[r, d] != 0:
                    widest = max(widest, unrolled.factors[level, d])
            product *= widest
    return product


@njit
def _unit_words(case: Case, steps: float, v: int, level: int) -> tuple[float, float]:
    """Words that the compute units ask of one instance of the innermost level that keeps a data space, at least.

    And what networks charge for them [pJ].

    Units hold nothing, so a neighbour may hand an operand on in steps that do not move a rank of one dimension.
    """
    row = case.unrolled.asked[v]
    if row.steps < 0.0:
        row.steps, row.words, row.plain = _asked_steps(case, steps, v, -1, -1)
    sent_pj = network_pj(case.unrolled.rate, -1, v, row.plain, 0.0)
    return row.steps * row.words * _chain(case.target.layer.coef[v], case.unrolled, 1, level), sent_pj


@njit
def _asked_steps(case: Case, steps: float, v: int, arrangement: int, innermost: int) -> tuple[float, float, float]:
    """Return in how many steps the units ask for a data space, each time in whole, at least, and for how many words.

    And in how many steps all of them ask. Of one arrangement of `UnitLinks` and one innermost loop, or of any (-1).
    """
    coef, unrolled, axis = case.target.layer.coef[v], case.unrolled, case.grid.axis
    side = unrolled.side[v]
    held = _coincide(side, unrolled.factors, 0, unrolled.origin[0])
    near, standing, apart = False, 1.0, 1.0
    for d in range(side.shape[0]):
        near = near or unrolled.near[0, v, d] == 1
        if side[d].idle:
            standing *= axis[d].rest
        elif side[d].halo < 0:
            apart *= axis[d].rest
    bounds, rest, factors = case.target.layer.bounds, axis["rest"], unrolled.factors[0]
    moves = innermost >= 0 and not side[innermost].idle
    if moves and side[innermost].halo < 0:
        # It goes on or falls back in every step.
        return steps, words_together(coef, factors), steps
    if arrangement >= 0:
        stands, new = case.links.stands[arrangement, v], case.links.new[arrangement, v]
        loop = innermost if moves else -1
        words = words_together(coef, factors)
        sure, moved = shares_of_steps(coef, side, factors, bounds, rest, stands, new, loop)
    else:
        words, sure, moved, stands = sure_shares(coef, side, factors, bounds, rest, held and unrolled.origin[0] != 0)
    plain = asked = steps
    if held or near:
        moving = steps / standing
        plain = max(apart, moving * sure)
        asked = steps * moved if moves else min(steps * moved, moving * moved + (steps - moving) * stands)
        asked = max(apart, asked)
    return asked, words, plain


@njit
def _edge(case: Case, v: int, child: int, level: int, apart: float) -> None:
    """Fill `Unrolled.edge` of one boundary: ``level`` is the next level outside ``child`` that keeps the data space.

    ``apart`` is the share of the words over links that is counted as fills.
    """
    edge = case.unrolled.edge[child, v]
    beyond = _chain(case.target.layer.coef[v], case.unrolled, child + 2, level)
    edge.distinct = edge.boxes * beyond
    edge.distinct_linked = edge.boxes_linked * beyond
    edge.beyond = beyond
    edge.fill_linked = edge.share_linked + (1.0 - edge.share_linked) * apart
    edge.fill_standing = apart


@njit
def _partitions(layer: LayerArrays, unrolled: Unrolled, v: int) -> None:
    """Fill partition sizes: exact where no rank is shared, an upper limit elsewhere, which keeps the bound a bound.

    A level that is told to read and fill outputs the first time too is spared nothing (*first update*).
    """
    factors = unrolled.factors
    levels = factors.shape[0]
    words = box_words(layer.coef[v], layer.bounds)
    for level in range(levels - 1, -1, -1):
        for d in range(factors.shape[1]):
            if level + 1 < levels and not unrolled.side[v, d].idle and unrolled.side[v, d].halo < 0:
                words //= factors[level + 1, d]
        unrolled.edge[level, v].partitioned = 0.0 if layer.reuse[level, v].rmw_first_update else words
