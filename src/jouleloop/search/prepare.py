"""What one unrolling fixes before any temporal loop is chosen: instances, reuse across the meshes, and its constant energy."""

import numba as nb

from jouleloop.model.arrays import HardwareArrays, LayerArrays
from jouleloop.model.kernel import Bools, Floats, Ints, box_words
from jouleloop.search.arrays import Unrolled
from jouleloop.search.costs import crossing_pj


@nb.njit(cache=True)
def open_ranks(coef: Ints, bounds: Ints, halo: Ints) -> None:
    """Write, by data space and dimension, the rank that the dimension shares with another of bound above 1, or -1."""
    for v in range(coef.shape[0]):
        for d in range(coef.shape[2]):
            halo[v, d] = -1
        for r in range(coef.shape[1]):
            sharing = 0
            for d in range(coef.shape[2]):
                if coef[v, r, d] != 0 and bounds[d] > 1:
                    sharing += 1
            if sharing > 1:
                for d in range(coef.shape[2]):
                    if coef[v, r, d] != 0 and bounds[d] > 1:
                        halo[v, d] = r


@nb.njit(cache=True)
def _least_distinct(coef: Ints, halo: Ints, factors: Ints, linked: bool) -> float:
    """Distinct boxes among the instances of one fan-out, at least; ``linked``: those that mesh links cannot serve.

    Along a rank that several dimensions move, the offsets are sums of progressions, and a sum of sets of sizes a and b has
    at least a + b - 1 members. With links, the instances at the far end of such a rank still have to be served.
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
        members = 0
        parts = 0
        shared = False
        for d in range(dims):
            if coef[r, d] != 0 and factors[d] > 1:
                members += factors[d]
                parts += 1
                if halo[d] >= 0:
                    shared = True
        if parts > 0 and not (linked and shared):
            product *= members - (parts - 1)
    return product


@nb.njit(cache=True)
def prepare(
    layer: LayerArrays,
    hardware: HardwareArrays,
    elided: bool,
    keep: Bools,
    factors: Ints,
    steps: float,
    unrolled: Unrolled,
    reads: Floats,
    writes: Floats,
) -> float:
    """Fill what an unrolling fixes; return the energy [pJ] of the accesses that the compute units make.

    Parameters
    ----------
    factors
        Spatial factors, shape (levels, dimensions).
    steps
        Temporal iterations.
    unrolled
        ``halo`` is read, all else is written.
    reads, writes
        Out, by level: words per instance that the compute units ask for, as a start for bandwidth bounds.
    """
    levels = factors.shape[0]
    dims = factors.shape[1]
    for d in range(dims):
        product = 1
        for level in range(levels):
            product *= factors[level, d]
            unrolled.inside[level, d] = product
    units = 1
    for level in range(levels - 1, -1, -1):
        unrolled.instances[level] = units
        for d in range(dims):
            units *= factors[level, d]
        reads[level] = 0.0
        writes[level] = 0.0
    total_pj = 0.0
    for v in range(layer.coef.shape[0]):
        _partitions(layer, factors, unrolled, v)
        _link_ranks(factors, unrolled, v)
        coef = layer.coef[v]
        halo = unrolled.halo[v]
        # Walk outward over kept levels; units hold nothing, so between them a neighbour may hand any operand on.
        child = -1
        share = _least_distinct(coef, halo, factors[0], False)
        for d in range(dims):
            if factors[0, d] > 1 and (not _moves(coef, d) or halo[d] >= 0):
                share = 0.0
        share_linked = share
        for level in range(levels):
            if level > 0:
                share *= _least_distinct(coef, halo, factors[level], False)
                share_linked *= _least_distinct(coef, halo, factors[level], True)
            unrolled.parent[level, v] = -1
            if not keep[level, v]:
                continue
            if child < 0:
                words = steps * share
                total_pj += crossing_pj(
                    hardware.spec,
                    unrolled.instances,
                    unrolled.partition,
                    v,
                    layer.read_write[v],
                    elided,
                    -1,
                    level,
                    steps,
                    words,
                )
                if layer.read_write[v]:
                    writes[level] += words
                    reads[level] += max(0.0, words - unrolled.partition[level, v])
                else:
                    reads[level] += words
            else:
                unrolled.parent[child, v] = level
                unrolled.spread[child, v] = share
                unrolled.spread_linked[child, v] = share_linked
            child = level
            share = 1.0
            share_linked = 1.0
    return total_pj


@nb.njit(cache=True)
def _moves(coef: Ints, d: int) -> bool:
    for r in range(coef.shape[0]):
        if coef[r, d] != 0:
            return True
    return False


@nb.njit(cache=True)
def _partitions(layer: LayerArrays, factors: Ints, unrolled: Unrolled, v: int) -> None:
    """Fill partition sizes: exact where no rank is shared, an upper limit elsewhere, which keeps the bound a bound."""
    levels = factors.shape[0]
    unrolled.partition[levels - 1, v] = box_words(layer.coef[v], layer.bounds)
    for level in range(levels - 2, -1, -1):
        apart = 1
        for d in range(factors.shape[1]):
            if _moves(layer.coef[v], d) and unrolled.halo[v, d] < 0:
                apart *= factors[level + 1, d]
        unrolled.partition[level, v] = unrolled.partition[level + 1, v] // apart


@nb.njit(cache=True)
def _link_ranks(factors: Ints, unrolled: Unrolled, v: int) -> None:
    """Mark the dimensions of every shared rank that is unrolled above the compute units."""
    dims = factors.shape[1]
    for d in range(dims):
        unrolled.link_rank[v, d] = 0
    for d in range(dims):
        if unrolled.halo[v, d] < 0:
            continue
        for level in range(1, factors.shape[0]):
            if factors[level, d] > 1:
                for e in range(dims):
                    if unrolled.halo[v, e] == unrolled.halo[v, d]:
                        unrolled.link_rank[v, e] = 1
