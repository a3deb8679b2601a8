"""What networks charge for a word at least, and how many instances of a level may share what they hold.

`docs/proof.md` states the lemmas *hops* and *distributed multicast*. Designs without such networks take an empty table.
"""

import numpy as np

from jouleloop.jit import njit
from jouleloop.mapspace.space import MapSpace
from jouleloop.model.arrays import (
    CHARGED,
    MESH_BACK,
    MESH_IN,
    NO_ENERGY,
    Bools,
    Floats,
    HardwareArrays,
    Ints,
    LayerArrays,
    Record,
    Records,
)
from jouleloop.model.links import hops_to
from jouleloop.model.network import is_wired, takes_energy
from jouleloop.optimum.arrays import CHARGE, MOVED, PLAIN
from jouleloop.optimum.candidates import Candidates
from jouleloop.optimum.words import boxes_by_row

#: Most arrangements of spatial loops whose hops are counted; rows beyond take the bound that knows no order.
_MOST_ARRANGED = 100_000


@njit
def _least_hops(
    counts: Ints, loops: Records, places: Ints, moves: Bools, columns: int, rows: int, instances: Ints, least: Floats
) -> None:
    """Write by row of factors and data space the hops of one word to every distinct box, least over arrangements.

    Parameters
    ----------
    counts, loops
        See `Arrangements`; ``places`` says which belong to a row, shape (rows, 2).
    moves
        Whether a dimension moves a data space, shape (data spaces, dimensions).
    """
    low = np.empty((instances.max(), columns), np.int64)
    high = np.empty((instances.max(), columns), np.int64)
    for n in range(places.shape[0]):
        for a in range(places[n, 0], places[n, 1]):
            for v in range(moves.shape[0]):
                _span_boxes(loops[a, : counts[a]], moves[v], low[: instances[n]], high[: instances[n]])
                hops = 0.0
                for box in range(instances[n]):
                    hops += hops_to(low[box], high[box], (rows - 1) / 2.0)
                least[n, v] = min(least[n, v], hops)


@njit
def _span_boxes(loops: Records, moves: Bools, low: Ints, high: Ints) -> None:
    """Write by box and column the first and the last row of the instances that hold it; -1 where there is none."""
    columns = low.shape[1]
    high[:] = -1
    for i in range(low.shape[0]):
        rest, box, weight = i, 0, 1
        for s in range(loops.shape[0] - 1, -1, -1):
            if moves[loops[s].dim]:
                box += weight * (rest % loops[s].bound)
                weight *= loops[s].bound
            rest //= loops[s].bound
        column, row = i % columns, i // columns
        if high[box, column] < 0:
            low[box, column] = row
        high[box, column] = row


def find_charges(
    space: MapSpace,
    hardware: HardwareArrays,
    layer: LayerArrays,
    side: Records,
    candidates: Candidates,
) -> Records:
    """Return `Parts.charge`; it knows no levels where no network takes energy and none is distributed."""
    levels, spaces = len(hardware.levels), layer.coef.shape[0]
    spreads = [level.network.spreads for level in reversed(space.arch.levels)]
    if not takes_energy(hardware.networks) and not any(spreads):
        levels = 0
    rows = max(1, candidates.row.shape[1]) if levels else 1
    table = np.zeros((spaces, levels, rows), CHARGE)
    table["sharers"] = 1.0
    wired = bool(is_wired(hardware.networks))
    for level in range(levels):
        own = candidates.row[level, : len(candidates.rows[level])]
        shared = level > 0 and spreads[level - 1]
        takes = (hardware.networks["kind"][level] != NO_ENERGY).any()
        if not len(own) or not (takes or shared):
            continue
        hops = _arranged_hops(hardware.levels[level], layer, candidates, level, own) if takes and wired else None
        for v in range(spaces):
            row = _Rows(hardware, layer, side, level, v, own)
            found = table[v, level, : len(own)]
            if shared:
                found["sharers"] = row.instances / row.distinct
            if takes:
                plain = level > 0 and not any(space.reuse) and not any(spreads)
                own_hops = None if hops is None else hops[:, v]
                _fill_charge(hardware, row, own_hops, found, plain=plain)
    return table


class _Rows:
    """Instances and boxes of one data space below one level, by row of factors."""

    def __init__(
        self, hardware: HardwareArrays, layer: LayerArrays, side: Records, level: int, v: int, rows: Ints
    ) -> None:
        self.level, self.v, self.written = level, v, bool(layer.read_write[v])
        self.instances = rows.prod(axis=1)
        #: Whether any of its ranks is shared, and, by row, whether such a rank is unrolled here, so that links serve.
        self.shares = bool((side["halo"][v] >= 0).any())
        #: Distinct boxes at least, and of those what moving links cannot serve.
        self.distinct, widest, self.near = boxes_by_row(layer.coef[v], side["halo"][v], rows)
        self.linkless = self.distinct / widest
        #: Whether a stride leaves gaps: then fewer words than a box holds may pass a level that keeps nothing.
        self.gaps = bool((np.abs(layer.coef[v]) > 1).any())
        place = np.arange(max(1, int(self.instances.max())))
        columns, middle = int(hardware.levels["fanout_x"][level]), (hardware.levels["fanout_y"][level] - 1) / 2
        self.distance = place % columns + np.abs(place // columns - middle)

    def least_hops(self, boxes: Floats) -> Floats:
        """Hops of one word to so many boxes, at least: each has an instance of its own."""
        found = np.empty(len(boxes))
        for n in np.unique(self.instances):
            own = self.instances == n
            total = np.concatenate([[0.0], np.cumsum(np.sort(self.distance[:n]))])
            found[own] = total[boxes[own].astype(np.int64)]
        return found


def _arranged_hops(mesh: Record, layer: LayerArrays, candidates: Candidates, level: int, rows: Ints) -> Floats:
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
    columns, lines = int(mesh["fanout_x"]), int(mesh["fanout_y"])
    _least_hops(counts, loops, places, moves, columns, lines, instances, least)
    return least


def _fill_charge(hardware: HardwareArrays, row: _Rows, hops: Floats | None, found: Records, *, plain: bool) -> None:
    """Write what every word that is asked for costs at least [pJ], of one instance of the level.

    ``plain``: no link serves a step of a data space that shares no rank, and all levels hold what they are sent.
    """
    boxes = np.where(row.near, row.linkless, row.distinct)
    each = np.zeros(len(found))
    if hops is not None:
        loose = np.maximum(row.least_hops(boxes), np.where(row.near, 0.0, row.instances - row.distinct))
        # Without a fan-out nothing hops.
        each = np.where(row.instances == 1, 0.0, np.where(row.near | np.isinf(hops), loose, hops) / boxes)
    for way, network in enumerate(hardware.networks[row.level]):
        # Outputs go back and out again where the level cannot add.
        twice = bool(network["kind"] == MESH_BACK and row.written and not hardware.levels["reduces"][row.level])
        exact = plain and not row.shares
        if network["kind"] in (MESH_BACK, MESH_IN) and (exact or not twice):
            # Outputs that go twice are at least as many words as once.
            routers = np.maximum(each, 1.0) if twice or not exact else 1.0 + np.floor(each)
            more_pj = routers * network["router_pj"] + network["ingress_pj"]
            found["word_pj"] += network["router_pj"] + network["ingress_pj"]
            _add(found["filled_pj"], row, each * network["hop_pj"] + more_pj)
            # The words of a level that bypasses become a whole multiple where there are no gaps, the hops stay.
            _add(found["bypassed_pj"], row, each * network["hop_pj"] + (more_pj if exact and not row.gaps else 0.0))
        elif network["kind"] == CHARGED and exact:
            charged_pj = _charged_pj(hardware.transfers[row.level, way, row.v], row)
            _add(found["filled_pj"], row, charged_pj)
            if not row.gaps:
                _add(found["bypassed_pj"], row, charged_pj)


def _add(found: Floats, row: _Rows, each_pj: Floats) -> None:
    """Add what every word that is asked for costs: plain steps ask for all boxes, moved ones for those at the ends."""
    found[:, PLAIN] += each_pj * row.distinct
    found[:, MOVED] += each_pj * row.linkless


def _charged_pj(transfers: Records, row: _Rows) -> Floats:
    """Return what a table charges for a transfer, by row; see `jouleloop.model.network`."""
    each = np.zeros(len(row.distinct))
    for multicast, energy_pj in transfers.tolist():
        each[(multicast == 0.0) | (row.instances / row.distinct == multicast)] = energy_pj
    return each
