"""What one unrolling fixes before any temporal loop is chosen: instances, reuse across meshes, constant energy."""

import numba as nb
import numpy as np

from jouleloop.model.arrays import Bools, Floats, Ints, LayerArrays
from jouleloop.model.kernel import box_words
from jouleloop.search.arrays import (
    HALO,
    IDLE,
    LINKED,
    PARENT,
    PARTITIONED,
    SERVED,
    SIDE,
    SPREAD,
    SPREAD_LINKED,
    Unrolled,
)
from jouleloop.search.costs import crossing_pj, fill_rate


def find_sides(coef: Ints, bounds: Ints) -> Ints:
    """Return what of `Unrolled.side` does not depend on the unrolling: idleness and shared ranks.

    Parameters
    ----------
    coef
        Projection, shape (data spaces, ranks, dimensions).
    """
    moves = coef != 0
    is_open = moves & (bounds > 1)
    side = np.zeros((*coef.shape[::2], SIDE), np.int64)
    side[:, :, IDLE] = ~moves.any(axis=1)
    side[:, :, HALO] = -1
    for v, r in np.argwhere(is_open.sum(axis=2) > 1):
        side[v, is_open[v, r], HALO] = r
    return side


@nb.njit(cache=True)
def _least_distinct(coef: Ints, side: Ints, factors: Ints, linked: bool) -> float:
    """Distinct boxes among the instances of one fan-out, at least; ``linked``: those that mesh links cannot serve.

    Along a rank that several dimensions move, the offsets are sums of progressions; Timeloop's averages over steps can
    count fewer than there are, but not fewer than one dimension moves. With links, those at the far end still have to
    be served.
    """
    ranks = coef.shape[0]
    dims = coef.shape[1]
    for d in range(dims):
        used = 0
        for r in range(ranks):
            if coef[r, d] != 0:
                used += 1
        if used > 1 and factors[d] > 1:
            # A dimension that moves several ranks: only its own offsets are surely distinct.
            most = 1
            for e in range(dims):
                for r in range(ranks):
                    if coef[r, e] != 0 and factors[e] > most:
                        most = factors[e]
            return 1.0 if linked else float(most)
    product = 1.0
    for r in range(ranks):
        most = 1
        shared = False
        for d in range(dims):
            if coef[r, d] != 0 and factors[d] > 1:
                most = max(most, factors[d])
                if side[d, HALO] >= 0:
                    shared = True
        if not (linked and shared):
            product *= most
    return product


@nb.njit(cache=True)
def prepare(
    layer: LayerArrays,
    spec: Floats,
    elided: bool,
    keep: Bools,
    factors: Ints,
    steps: float,
    unrolled: Unrolled,
    traffic: Floats,
) -> float:
    """Fill what an unrolling fixes; return the energy [pJ] of the accesses that the compute units make.

    Parameters
    ----------
    factors
        Spatial factors, shape (levels, dimensions).
    steps
        Temporal iterations.
    unrolled
        Idleness and shared ranks are read, all else is written.
    traffic
        Out, shape (levels, 2): words per instance that the compute units ask for, as a start for bandwidth bounds.
    """
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
        traffic[level, 0] = 0.0
        traffic[level, 1] = 0.0
    total_pj = 0.0
    for v in range(layer.coef.shape[0]):
        _partitions(layer, factors, unrolled, v)
        _mark_linked(factors, unrolled.side[v])
        coef = layer.coef[v]
        side = unrolled.side[v]
        # Walk outward over kept levels; units hold nothing, so between them a neighbour may hand any operand on.
        child = -1
        share = _least_distinct(coef, side, factors[0], False)
        for d in range(dims):
            if factors[0, d] > 1 and (side[d, IDLE] == 1 or side[d, HALO] >= 0):
                share = 0.0
        share_linked = share
        for level in range(levels):
            if level > 0:
                share *= _least_distinct(coef, side, factors[level], False)
                share_linked *= _least_distinct(coef, side, factors[level], True)
            unrolled.edge[level, v, PARENT] = -1.0
            if not keep[level, v]:
                continue
            if child < 0:
                words = steps * share
                fill_rate(unrolled.rate, spec, unrolled, v, layer.read_write[v], elided, -1, level)
                total_pj += crossing_pj(unrolled.rate, -1, v, words, steps)
                if layer.read_write[v]:
                    traffic[level, 1] += words
                    traffic[level, 0] += max(0.0, words - unrolled.edge[level, v, PARTITIONED])
                else:
                    traffic[level, 0] += words
            else:
                unrolled.edge[child, v, PARENT] = level
                fill_rate(unrolled.rate, spec, unrolled, v, layer.read_write[v], elided, child, level)
                unrolled.edge[child, v, SPREAD] = share
                unrolled.edge[child, v, SPREAD_LINKED] = share_linked
                unrolled.edge[child, v, SERVED] = 1.0
                for d in range(dims):
                    if side[d, HALO] >= 0:
                        unrolled.edge[child, v, SERVED] /= factors[child + 1, d]
            child = level
            share = 1.0
            share_linked = 1.0
    return total_pj


@nb.njit(cache=True)
def _partitions(layer: LayerArrays, factors: Ints, unrolled: Unrolled, v: int) -> None:
    """Fill partition sizes: exact where no rank is shared, an upper limit elsewhere, which keeps the bound a bound."""
    levels = factors.shape[0]
    words = box_words(layer.coef[v], layer.bounds)
    unrolled.edge[levels - 1, v, PARTITIONED] = words
    for level in range(levels - 2, -1, -1):
        for d in range(factors.shape[1]):
            if unrolled.side[v, d, IDLE] == 0 and unrolled.side[v, d, HALO] < 0:
                words //= factors[level + 1, d]
        unrolled.edge[level, v, PARTITIONED] = words


@nb.njit(cache=True)
def _mark_linked(factors: Ints, side: Ints) -> None:
    """Mark the dimensions of every shared rank that is unrolled above the compute units."""
    dims = factors.shape[1]
    for d in range(dims):
        side[d, LINKED] = 0
    for d in range(dims):
        if side[d, HALO] < 0:
            continue
        for level in range(1, factors.shape[0]):
            if factors[level, d] > 1:
                for e in range(dims):
                    if side[e, HALO] == side[d, HALO]:
                        side[e, LINKED] = 1
