"""What networks charge for a word at least, and how many instances of a level may share what they hold.

`docs/search.md` states the lemmas: *hops*, *hops of bypassed levels*, *distributed multicast*. Designs without such
networks take an empty table.
"""

import numpy as np

from jouleloop.jit import njit
from jouleloop.mapspace.space import MapSpace
from jouleloop.model.arrays import (
    BOUND,
    CHARGED,
    DIM,
    FANOUT_X,
    FANOUT_Y,
    HOP_PJ,
    INGRESS_PJ,
    KIND,
    MESH_BACK,
    MESH_IN,
    NETWORK,
    REDUCES,
    ROUTER_PJ,
    SPEC,
    WAY,
    WAYS,
    Bools,
    Floats,
    Ints,
    LayerArrays,
)
from jouleloop.model.kernel import box_words
from jouleloop.model.network import is_wired, takes_energy
from jouleloop.optimum.arrays import HALO
from jouleloop.optimum.candidates import Candidates

#: Places of a charge: as `FILLED_PJ` and on of `jouleloop.optimum.arrays`, of one instance of the level.
ASKED, PASSED, SHARED_BY, PLACES = range(4)
#: Most arrangements of spatial loops whose hops are counted; rows beyond take the bound that knows no order.
_MOST_ARRANGED = 100_000


@njit
def _least_hops(
    counts: Ints, loops: Ints, places: Ints, moves: Bools, columns: int, rows: int, instances: Ints, least: Floats
) -> None:
    """Write by row of factors and data space the hops of one word to every distinct box, least over arrangements.

    Words go as in `jouleloop.model.links.record_hops`.

    Parameters
    ----------
    counts, loops
        See `Arrangements`; ``places`` says which belong to a row, shape (rows, 2).
    moves
        Whether a dimension moves a data space, shape (data spaces, dimensions).
    """
    middle = (rows - 1) / 2.0
    most = instances.max()
    low = np.empty((most, columns), np.int64)
    high = np.empty((most, columns), np.int64)
    for n in range(places.shape[0]):
        for a in range(places[n, 0], places[n, 1]):
            for v in range(moves.shape[0]):
                high[: instances[n]] = -1
                for i in range(instances[n]):
                    rest, box, weight = i, 0, 1
                    for s in range(counts[a] - 1, -1, -1):
                        if moves[v, loops[a, s, DIM]]:
                            box += weight * (rest % loops[a, s, BOUND])
                            weight *= loops[a, s, BOUND]
                        rest //= loops[a, s, BOUND]
                    column, row = i % columns, i // columns
                    if high[box, column] < 0:
                        low[box, column] = row
                    high[box, column] = row
                hops = 0.0
                for box in range(instances[n]):
                    furthest = 0
                    for column in range(columns):
                        if high[box, column] >= 0:
                            furthest = column
                            hops += max(0.0, middle - low[box, column]) + max(0.0, high[box, column] - middle)
                    hops += furthest
                least[n, v] = min(least[n, v], hops)


def find_charges(space: MapSpace, spec: Floats, layer: LayerArrays, side: Ints, candidates: Candidates) -> Floats:
    """Return `Parts.charge`; it knows no levels where no network takes energy and none is distributed."""
    levels, spaces = spec.shape[0], layer.coef.shape[0]
    spreads = [level.network.spreads for level in reversed(space.arch.levels)]
    if not takes_energy(spec) and not any(spreads):
        levels = 0
    rows = max(1, candidates.row.shape[1]) if levels else 1
    table = np.zeros((spaces, 1 + levels, rows, PLACES))
    table[:, 1:, :, SHARED_BY] = 1.0
    table[:, 0, 0, 0] = [box_words(own, layer.bounds) for own in layer.coef]
    wired = bool(is_wired(spec))
    for level in range(levels):
        own = candidates.row[level, : len(candidates.rows[level])]
        shared = level > 0 and spreads[level - 1]
        takes = (spec[level, NETWORK + KIND : SPEC : WAY] != 0).any()
        if not len(own) or not (takes or shared):
            continue
        hops = _arranged_hops(spec, layer, candidates, level, own) if takes and wired else None
        for v in range(spaces):
            row = _Rows(spec, layer, side, level, v, own)
            found = table[v, 1 + level, : len(own)]
            if shared:
                found[:, SHARED_BY] = row.instances / row.distinct
            if takes:
                plain = level > 0 and not any(space.reuse) and not any(spreads)
                _fill_charge(spec, row, None if hops is None else hops[:, v], found, plain=plain)
    return table


class _Rows:
    """Instances and boxes of one data space below one level, by row of factors."""

    def __init__(self, spec: Floats, layer: LayerArrays, side: Ints, level: int, v: int, rows: Ints) -> None:
        self.level, self.v, self.spaces, self.written = level, v, len(layer.coef), bool(layer.read_write[v])
        self.instances = rows.prod(axis=1)
        halo = side[v, :, HALO] >= 0
        #: Whether any of its ranks is shared, and, by row, whether such a rank is unrolled here, so that links serve.
        self.shares = bool(halo.any())
        self.near = (rows[:, halo] > 1).any(axis=1)
        self.distinct = np.ones(len(rows))
        widest = np.ones(len(rows))
        for rank in layer.coef[v] != 0:
            if rank.any():
                most = rows[:, rank].max(axis=1)
                self.distinct *= most
                if halo[rank].any():
                    widest = np.maximum(widest, most)
        #: Whether a stride leaves gaps: then fewer words than a box holds may pass a level that keeps nothing.
        self.gaps = bool((np.abs(layer.coef[v]) > 1).any())
        #: Distinct boxes at least, and of those what moving links cannot serve.
        self.linkless = self.distinct / widest
        place = np.arange(max(1, int(self.instances.max())))
        columns, middle = int(spec[level, FANOUT_X]), (spec[level, FANOUT_Y] - 1) / 2
        self.distance = place % columns + np.abs(place // columns - middle)

    def least_hops(self, boxes: Floats) -> Floats:
        """Hops of one word to so many boxes, at least: each has an instance of its own."""
        found = np.empty(len(boxes))
        for n in np.unique(self.instances):
            own = self.instances == n
            total = np.concatenate([[0.0], np.cumsum(np.sort(self.distance[:n]))])
            found[own] = total[boxes[own].astype(np.int64)]
        return found


def _arranged_hops(spec: Floats, layer: LayerArrays, candidates: Candidates, level: int, rows: Ints) -> Floats:
    """Return the least hops by row and data space; infinite where arrangements are too many."""
    moves = (layer.coef != 0).any(axis=1)
    places = np.zeros((len(rows), 2), np.int64)
    for n in range(len(rows)):
        if candidates.arrangements > _MOST_ARRANGED:
            break
        places[n] = candidates.arranged(level, n)
    counts, loops = candidates.loops
    instances = rows.prod(axis=1)
    least = np.full((len(rows), len(moves)), np.inf)
    columns, lines = int(spec[level, FANOUT_X]), int(spec[level, FANOUT_Y])
    _least_hops(counts, loops, places, moves, columns, lines, instances, least)
    return least


def _fill_charge(spec: Floats, row: _Rows, hops: Floats | None, found: Floats, *, plain: bool) -> None:
    """Write what every word that is asked for costs at least [pJ], of one instance of the level.

    ``plain``: no link serves a step of a data space that shares no rank, and all levels hold what they are sent.
    """
    boxes = np.where(row.near, row.linkless, row.distinct)
    each = np.zeros(len(found))
    if hops is not None:
        loose = np.maximum(row.least_hops(boxes), np.where(row.near, 0.0, row.instances - row.distinct))
        # Without a fan-out nothing hops.
        each = np.where(row.instances == 1, 0.0, np.where(row.near | np.isinf(hops), loose, hops) / boxes)
    spec_row = spec[row.level]
    for way in range(WAYS):
        network = spec_row[NETWORK + way * WAY : NETWORK + (way + 1) * WAY]
        twice = network[KIND] == MESH_BACK and row.written and spec_row[REDUCES] == 0.0
        exact = plain and not row.shares
        if network[KIND] in (MESH_BACK, MESH_IN) and (exact or not twice):
            # Outputs that go twice are at least as many words as once.
            routers = np.maximum(each, 1.0) if twice or not exact else 1.0 + np.floor(each)
            more_pj = routers * network[ROUTER_PJ] + network[INGRESS_PJ]
            found[:, ASKED] += each * network[HOP_PJ] + more_pj
            # The words of a level that bypasses become a whole multiple where there are no gaps, the hops stay.
            found[:, PASSED] += each * network[HOP_PJ] + (more_pj if exact and not row.gaps else 0.0)
        elif network[KIND] == CHARGED and exact:
            charged_pj = _charged_pj(spec, row, way)
            found[:, ASKED] += charged_pj
            found[:, PASSED] += 0.0 if row.gaps else charged_pj


def _charged_pj(spec: Floats, row: _Rows, way: int) -> Floats:
    """Return what a table charges for a transfer, by row; see `jouleloop.model.network`."""
    spaces = row.spaces
    entry = (spec.shape[1] - SPEC) // (WAYS * spaces)
    charges = spec[row.level, SPEC + (way * spaces + row.v) * entry :][:entry]
    each = np.zeros(len(row.distinct))
    for k in range(int(charges[0])):
        multicast, energy_pj = charges[1 + 2 * k : 3 + 2 * k]
        each[(multicast == 0.0) | (row.instances / row.distinct == multicast)] = energy_pj
    return each
