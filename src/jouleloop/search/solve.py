"""One search over all unrollings of a layer: bound each, descend into those that can still win, cheapest first."""

import numpy as np

from jouleloop.jit import njit
from jouleloop.model.arrays import (
    CAPACITY,
    MAX_LOOPS,
    MIN_WORDS,
    Bools,
    Floats,
    Ints,
    LayerArrays,
    NestArrays,
    new_work,
)
from jouleloop.search.arrays import (
    CANONICAL,
    CUT_BOUND,
    CUT_CAPACITY,
    DELAY,
    DELAY_POWER,
    EDGE,
    HALO,
    LOOPS,
    POINT,
    PRODUCT,
    RATE,
    REST,
    STEPS,
    STOPPED,
    Case,
    Found,
    Log,
    Path,
    Tables,
    Unrolled,
    new_log,
)
from jouleloop.search.bounds import fill_bounds, further
from jouleloop.search.candidates import Candidates
from jouleloop.search.descend import beaten, descend
from jouleloop.search.lattice import fill_grid, find_kinds, new_grid
from jouleloop.search.prepare import prepare


@njit
def bound_unrollings(
    case: Case,
    path: Path,
    compute_pj: float,
    elided: bool,
    factors: Ints,
    steps: Floats,
    first: int,
    last: int,
    bound_pj: Floats,
) -> int:
    """Write the lower bounds [pJ] of some unrollings; the tables are then those of the last of them.

    Parameters
    ----------
    factors
        Spatial factors, shape (unrollings, levels, dimensions).
    steps
        Temporal iterations, by unrolling.
    first, last
        Range of unrollings to bound.

    Returns
    -------
    Number of lattice points of the last.
    """
    levels = factors.shape[1]
    dims = factors.shape[2]
    top = levels - 1
    points = 0
    for u in range(first, last):
        macs = steps[u]
        for d in range(dims):
            rest = case.layer.bounds[d]
            for level in range(levels):
                rest //= factors[u, level, d]
                macs *= factors[u, level, d]
            case.grid.axis[d, REST] = rest
        path.certain_pj[top] = macs * compute_pj + prepare(
            case.layer,
            case.spec,
            elided,
            case.keep,
            factors[u],
            case.grid.axis,
            steps[u],
            case.unrolled,
            path.traffic[top],
        )
        points = fill_grid(case.grid)
        fill_bounds(case, points)
        enter, ahead = case.tables.enter, case.tables.ahead
        least_pj = further(enter, ahead, case.slots, case.grid.axis, top, points - 1, dims, 0, 0)
        bound_pj[u] = path.certain_pj[top] + least_pj
    return points


class Solver:
    """The search of one layer under one choice of what is kept.

    Parameters
    ----------
    side
        See `Unrolled.side`.
    """

    def __init__(
        self,
        layer: LayerArrays,
        spec: Floats,
        compute_pj: float,
        elided: bool,
        keep: Bools,
        slots: Ints,
        side: Ints,
        candidates: Candidates,
    ) -> None:
        levels, spaces = keep.shape
        dims = len(layer.bounds)
        self.compute_pj = compute_pj
        self.elided = elided
        self.factors = factors = candidates.factors
        self.runs = candidates.runs
        self.arrangements = candidates.arrangements
        self.steps = np.prod(layer.bounds.astype(float)) / factors.reshape(len(factors), -1).prod(axis=1)
        self.bound_pj = np.full(len(factors), np.nan)
        unrolled = Unrolled(
            np.empty((levels, dims), np.int64),
            np.empty(levels),
            candidates.origin,
            np.zeros((levels, spaces, EDGE)),
            side,
            np.zeros((levels, spaces, dims), np.int64),
            np.zeros((levels + 1, spaces, RATE)),
        )
        kind = find_kinds(unrolled.side)
        grid = new_grid(layer.bounds, kind)
        points = fill_grid(grid)
        rows = dims + int(kind.max()) + 1
        tables = Tables(np.empty((levels, rows, int(grid.state[:, dims].max()))), np.empty((levels, 1 + points)))
        self.case = Case(layer, spec, keep, slots, unrolled, grid, tables)
        self.path = Path(
            np.empty((levels * MAX_LOOPS, 3), np.int64),
            np.zeros((levels, 2), np.int64),
            np.zeros(levels),
            np.zeros((levels, levels, 2)),
            NestArrays(np.zeros((levels, 2), np.int64), np.zeros((levels, 2, MAX_LOOPS, 3), np.int64), keep),
            np.array((side[:, :, HALO] >= 0).any(axis=1), np.int64),
            np.zeros((3, layer.coef.shape[1]), np.int64),
            np.zeros(STEPS),
        )
        self.work = new_work(levels, spaces)
        self._tabled = (-1, 0)

    def run(self, mode: int, best: Floats, counters: Ints, found: Found) -> None:
        """Minimise over all unrollings; ``best``, ``counters`` and ``found`` are updated where something improves."""
        self.bound_all(counters)
        for u in self._sequence(mode, best):
            if counters[STOPPED]:
                return
            if self.bound_pj[u] == np.inf or beaten(mode, best, self.bound_pj[u], self.steps[u]):
                counters[CUT_BOUND] += 1
                continue
            self.search_one(int(u), mode, best, counters, found, new_log())

    def bound_all(self, counters: Ints) -> None:
        """Write the lower bounds [pJ] of all unrollings, infinite where no tile fits."""
        top = len(self.case.spec) - 1
        tensors = [
            np.prod([1 + int(rank @ (self.case.layer.bounds - 1)) for rank in space], dtype=float)
            for space in self.case.layer.coef
        ]
        held = np.sum(tensors, where=self.case.keep[top])
        if held > self.case.spec[top, CAPACITY] or held < self.case.spec[top, MIN_WORDS]:
            self.bound_pj[:] = np.inf
        if np.isnan(self.bound_pj).any():
            self._bound(0, len(self.factors))
            counters[CUT_CAPACITY] += int(np.isinf(self.bound_pj).sum())

    def search_one(self, u: int, mode: int, best: Floats, counters: Ints, found: Found, log: Log) -> None:
        """Search one unrolling to its end."""
        top = len(self.case.spec) - 1
        points = self._tabled[1] if self._tabled[0] == u else self._bound(u, u + 1)
        self.path.node[top, LOOPS] = 0
        self.path.node[top, POINT] = points - 1
        descend(
            mode,
            self.elided,
            self.compute_pj,
            self.case,
            self.path,
            self.steps[u],
            self.runs[u],
            self.arrangements,
            self.work,
            best,
            counters,
            found,
            log,
        )

    def _bound(self, first: int, last: int) -> int:
        """Bound some unrollings; return the number of lattice points of the last, whose tables are kept."""
        points = bound_unrollings(
            self.case,
            self.path,
            self.compute_pj,
            self.elided,
            self.factors,
            self.steps,
            first,
            last,
            self.bound_pj,
        )
        self._tabled = (last - 1, points)
        return points

    def _sequence(self, mode: int, best: Floats) -> Ints:
        """Return the order in which unrollings are searched."""
        keys = self.bound_pj
        if mode in (CANONICAL, DELAY):
            keys = self.steps
        elif mode == PRODUCT:
            keys = self.bound_pj * self.steps ** best[DELAY_POWER]
        return np.argsort(keys, kind="stable")
