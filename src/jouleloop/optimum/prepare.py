"""What one unrolling fixes before any temporal loop is chosen: instances, reuse across meshes, constant energy.

`docs/search.md` states the lemmas used here: *distinct boxes*, *ends of chains*, *bypass*, *fills*, *partitions*.
"""

import numpy as np

from jouleloop.errors import Fault, InputError
from jouleloop.jit import njit
from jouleloop.model.arrays import (
    BLOCK_WORDS,
    CLUSTERS,
    NO_COALESCE,
    READ_PJ,
    RMW_FIRST_UPDATE,
    SPREADING,
    UPDATE_PJ,
    WRITE_PJ,
    Bools,
    Floats,
    Ints,
    LayerArrays,
)
from jouleloop.model.kernel import box_words
from jouleloop.optimum.arrays import (
    ASK_BLOCK,
    BEYOND,
    BYPASSED_PJ,
    COINCIDE,
    DISTINCT,
    DISTINCT_LINKED,
    FILL_BLOCK,
    FILL_LINKED,
    FILL_PJ,
    FILL_STANDING,
    FILLED_PJ,
    HALO,
    IDLE,
    NET_PJ,
    PARENT,
    PARTITIONED,
    PASS_BLOCK,
    PASS_FIRST,
    PASS_NEXT,
    PASS_PJ,
    PASS_SHARE,
    RATE,
    REST,
    SHARERS,
    SIDE,
    Unrolled,
)
from jouleloop.optimum.costs import crossing_pj, fill_rate, network_pj
from jouleloop.optimum.words import offsets_of


def find_sides(coef: Ints, bounds: Ints) -> Ints:
    """Return `Unrolled.side`: which dimensions leave a data space in place, and which share a rank with another.

    Raises `InputError` where a dimension moves two ranks of one data space: no lemma of the search covers that.

    Parameters
    ----------
    coef
        Projection, shape (data spaces, ranks, dimensions).
    """
    moves = coef != 0
    is_open = moves & (bounds > 1)
    if (is_open.sum(axis=1) > 1).any():
        raise InputError(Fault("a dimension moves two ranks of one data space; no bound of the search covers that"))
    side = np.zeros((*coef.shape[::2], SIDE), np.int64)
    side[:, :, IDLE] = ~moves.any(axis=1)
    side[:, :, HALO] = -1
    for v, r in np.argwhere(is_open.sum(axis=2) > 1):
        side[v, is_open[v, r], HALO] = r
    return side


@njit
def _spread(coef: Ints, side: Ints, inside: Ints, factors: Ints, rests: Ints) -> tuple[float, float, float]:
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
            if side[d, HALO] == r:
                spread *= factors[d]
                widest = max(widest, offsets)
        most = max(most, spread)
    return distinct, distinct / widest, 1.0 / most


@njit
def _coincide(side: Ints, factors: Ints, first: int, last: int) -> bool:
    """Whether two instances below level ``first`` may hold one box of a data space.

    What is unrolled up to level ``last`` may be unrolled at ``first``, but for dimensions that share a rank.
    """
    for d in range(side.shape[0]):
        if side[d, HALO] >= 0:
            if factors[first, d] == 1:
                continue
            for e in range(side.shape[0]):
                if e != d and side[e, HALO] == side[d, HALO] and factors[first, e] > 1:
                    return True
        elif side[d, IDLE] == 1:
            for level in range(first, last + 1):
                if factors[level, d] > 1:
                    return True
    return False


@njit
def _near(side: Ints, factors: Ints, near: Ints) -> bool:
    """Mark the dimensions of every shared rank that is unrolled at one level; return whether there are any."""
    found = False
    for d in range(side.shape[0]):
        near[d] = 0
    for d in range(side.shape[0]):
        if side[d, HALO] >= 0 and factors[d] > 1:
            found = True
            for e in range(side.shape[0]):
                if side[e, HALO] == side[d, HALO]:
                    near[e] = 1
    return found


@njit
def open_unrolling(layer: LayerArrays, unrolled: Unrolled) -> None:
    """Fill what an unrolling fixes whatever is kept: all that follows from its factors but for rates and edges."""
    factors = unrolled.factors
    levels = factors.shape[0]
    dims = factors.shape[1]
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
        _partitions(layer, unrolled, v)
        for level in range(levels):
            _near(unrolled.side[v], factors[level], unrolled.near[level, v])


@njit
def connect(
    layer: LayerArrays,
    spec: Floats,
    elided: bool,
    rests: Ints,
    steps: float,
    unrolled: Unrolled,
    child: int,
    level: int,
    v: int,
) -> tuple[float, float]:
    """Fill edge and rate between two levels that keep a data space, nothing in between keeping it.

    So are those of levels in between whose networks charge, or that are filled with what passes through them.

    Returns the words that the compute units (``child`` -1) ask for, at least, and what networks charge for them [pJ].
    """
    fill_rate(unrolled.rate, spec, unrolled, v, layer.read_write[v], elided, child, level)
    coef, edge, rate = layer.coef[v], unrolled.edge, unrolled.rate
    for inner in range(child, level):
        outer = level if inner == child else inner + 1
        if inner == child:
            for kind in range(RATE - NET_PJ):
                rate[child, v, NET_PJ + kind] = edge[child + 1, v, FILLED_PJ + kind]
        elif edge[outer, v, BYPASSED_PJ] > 0.0 or fills_passed(layer, spec, v, inner):
            # The network outside a level that keeps nothing charges for the tile that it would hold.
            for place in range(RATE):
                rate[inner, v, place] = 0.0
            rate[inner, v, ASK_BLOCK] = rate[inner, v, FILL_BLOCK] = 1.0
            for kind in range(RATE - NET_PJ):
                rate[inner, v, NET_PJ + kind] = edge[outer, v, BYPASSED_PJ + kind]
        else:
            continue
        if inner >= 0:
            edge[inner, v, PARENT] = outer
            # What passes through a level is sent by the level outside alone: no words over links are added.
            apart = 0.0 if layer.reuse[inner, v, NO_COALESCE] else 1.0 / unrolled.instances[inner + 1]
            _edge(coef, rests, unrolled, v, inner, outer, apart)
    _pass_through(layer, spec, unrolled, v, child, level)
    if child < 0:
        return _unit_words(coef, rests, steps, unrolled, v, level)
    return 0.0, 0.0


@njit
def fills_passed(layer: LayerArrays, spec: Floats, v: int, level: int) -> bool:
    """Whether a level is charged for fills with the tile that it would hold, since it lets words pass through.

    Outputs are filled as often as they are asked for there. Where instances share what they hold nothing is said.
    """
    if not layer.reuse[level, v, NO_COALESCE] or layer.read_write[v]:
        return False
    return bool(spec[level, WRITE_PJ] > 0.0) and not _spreads(layer, v)


@njit
def _spreads(layer: LayerArrays, v: int) -> bool:
    """Whether instances of any level share what they would hold of a data space."""
    spreads = False
    for level in range(layer.reuse.shape[0]):
        spreads = spreads or layer.reuse[level, v, SPREADING]
    return bool(spreads)


@njit
def _pass_through(layer: LayerArrays, spec: Floats, unrolled: Unrolled, v: int, child: int, level: int) -> None:
    """Write what levels charge for the words that pass through them between two levels that keep a data space.

    They are asked for as often as if they were the next level that keeps it (*words that pass through*). Where
    instances share what they hold nothing is said.
    """
    rate = unrolled.rate
    rate[child, v, PASS_FIRST] = 0.0
    if _spreads(layer, v):
        return
    for k in range(level - 1, child, -1):
        if not layer.reuse[k, v, NO_COALESCE]:
            continue
        row = rate[k, v]
        sharing = min(unrolled.instances[k], spec[k, CLUSTERS])
        row[PASS_FIRST] = 0.0
        row[PASS_NEXT] = rate[child, v, PASS_FIRST]
        row[PASS_SHARE] = _chain(layer.coef[v], unrolled, k + 1, level)
        row[PASS_BLOCK] = row[FILL_BLOCK] = spec[k, BLOCK_WORDS]
        row[PASS_PJ] = spec[k, READ_PJ] * sharing
        row[FILL_PJ] = 0.0
        if layer.read_write[v]:
            row[PASS_PJ] += (spec[k, UPDATE_PJ] + spec[k, WRITE_PJ]) * sharing
        else:
            row[FILL_PJ] = spec[k, WRITE_PJ] * sharing
        rate[child, v, PASS_FIRST] = k + 1


@njit
def prepare(
    layer: LayerArrays,
    spec: Floats,
    elided: bool,
    keep: Bools,
    rests: Ints,
    steps: float,
    unrolled: Unrolled,
    traffic: Floats,
) -> float:
    """Fill what an unrolling fixes under a choice of what is kept, after `open_unrolling`.

    Returns the energy [pJ] of the accesses that the compute units make, at least.

    Parameters
    ----------
    rests
        What temporal loops must cover, by dimension: places `REST` of `Grid.axis`.
    steps
        Temporal iterations.
    traffic
        Out, shape (levels, 2): words per instance that the compute units ask for, as a start for bandwidth bounds.
    """
    traffic[:] = 0.0
    total_pj = 0.0
    for v in range(layer.coef.shape[0]):
        # Walk outward over kept levels; -1 stands for the compute units.
        child = -1
        for level in range(keep.shape[0]):
            unrolled.edge[level, v, PARENT] = -1.0
            if not keep[level, v]:
                continue
            words, sent_pj = connect(layer, spec, elided, rests, steps, unrolled, child, level, v)
            if child < 0:
                total_pj += crossing_pj(unrolled.rate, -1, v, words, 0.0, sent_pj)
                share = 1.0 / unrolled.edge[level + 1, v, SHARERS]
                traffic[level, 1 if layer.read_write[v] else 0] += words * share
                if layer.read_write[v]:
                    traffic[level, 0] += max(0.0, words - unrolled.edge[level, v, PARTITIONED]) * share
            child = level
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
def _unit_words(coef: Ints, rests: Ints, steps: float, unrolled: Unrolled, v: int, level: int) -> tuple[float, float]:
    """Words that the compute units ask of one instance of the innermost level that keeps a data space, at least.

    And what networks charge for them [pJ].

    Units hold nothing, so a neighbour may hand an operand on in every step that does not move a rank of one dimension.
    """
    side = unrolled.side[v]
    words = steps
    linked = _coincide(side, unrolled.factors, 0, unrolled.origin[0])
    for d in range(side.shape[0]):
        linked = linked or unrolled.near[0, v, d] == 1
    if linked:
        words = 1.0
        for d in range(side.shape[0]):
            if side[d, IDLE] == 0 and side[d, HALO] < 0:
                words *= rests[d, REST]
    sent_pj = network_pj(unrolled.rate, -1, v, words, 0.0, steps - words)
    words *= _spread(coef, side, unrolled.inside[0], unrolled.factors[0], rests)[0]
    return words * _chain(coef, unrolled, 1, level), sent_pj


@njit
def _edge(coef: Ints, rests: Ints, unrolled: Unrolled, v: int, child: int, level: int, apart: float) -> None:
    """Fill `Unrolled.edge` of one boundary: ``level`` is the next level outside ``child`` that keeps the data space.

    ``apart`` is the share of the words over links that is counted as fills.
    """
    edge = unrolled.edge[child, v]
    side = unrolled.side[v]
    factors = unrolled.factors
    distinct, linked, share = _spread(coef, side, unrolled.inside[child + 1], factors[child + 1], rests)
    beyond = _chain(coef, unrolled, child + 2, level)
    edge[DISTINCT] = distinct * beyond
    edge[DISTINCT_LINKED] = linked * beyond
    edge[BEYOND] = beyond
    edge[FILL_LINKED] = share + (1.0 - share) * apart
    edge[FILL_STANDING] = apart
    edge[COINCIDE] = 1.0 if _coincide(side, factors, child + 1, unrolled.origin[child + 1]) else 0.0


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
            if level + 1 < levels and unrolled.side[v, d, IDLE] == 0 and unrolled.side[v, d, HALO] < 0:
                words //= factors[level + 1, d]
        unrolled.edge[level, v, PARTITIONED] = 0.0 if layer.reuse[level, v, RMW_FIRST_UPDATE] else words
