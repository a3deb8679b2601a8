"""Bounds of a group of one unrolling, as floors under the tables of that unrolling: tile by tile and run by run.

`docs/search.md` states why: *groups of unrollings*, floors.
"""

import itertools

import numpy as np

from jouleloop.jit import njit
from jouleloop.model.arrays import Bools, Floats, Ints
from jouleloop.optimum.arrays import Grid, Tables
from jouleloop.optimum.bounds import first_start, next_start
from jouleloop.optimum.group_lattice import Lattice, Table, axes_of
from jouleloop.optimum.groups import ROUNDING, Groups, path_of
from jouleloop.optimum.lattice import first_tile, next_tile

#: Most floors of an unrolling.
_MOST_FLOORS = 60_000_000


class Floors:
    """Floors under the tables of unrollings, one after the other.

    Parameters
    ----------
    groups
        Of the search.
    """

    def __init__(self, groups: Groups) -> None:
        self.groups = groups
        axes = axes_of(groups.layer.bounds)
        self._axis: Ints = np.array([(d, p) for d, p, _ in axes], np.int64)
        self._first = _first_runs(groups.lattice, groups.side["idle"], groups.case.grid)

    def under(
        self, grid: Grid, tables: Tables, keep: Bools, ids: Ints, limit_pj: float, certain_pj: float
    ) -> Tables | None:
        """Return tables with floors; none where no mapping costs less than a limit.

        Parameters
        ----------
        grid
            As it is laid out for the unrolling.
        keep
            Shape (levels, data spaces).
        ids
            By level the number of the unrolling's row.
        certain_pj
            Energy [pJ] that is certain beside the tables, those of what the units ask for included, which groups hold.
        """
        groups = self.groups
        if groups.room_pj(limit_pj, groups.whole) > groups.outside.room_pj:
            for _ in groups.look_outside(limit_pj):
                pass
        unrolling = groups.boundaries.group(ids[None])
        room_pj = groups.room_pj(limit_pj, unrolling)
        less_pj = certain_pj - groups.certain_pj(unrolling)
        path, inside = path_of(keep), groups.case.unrolled.inside
        base, count = _laid_out(grid, {min(state) for state in path[1:]})
        floor = np.zeros(count if count <= _MOST_FLOORS else 0)
        for depth, (state, after) in enumerate(itertools.pairwise(path)):
            work = groups.tables[depth : depth + 2]
            if groups.step(work, unrolling, state, after, room_pj) >= room_pj:
                return None
            level = min(after)
            if len(floor) and base[level, -1] >= 0:
                places = (self._axis, self._first, inside[level])
                _write(grid, level, groups.lattice, work[1], places, less_pj, base, floor)
        return tables._replace(floor=floor, floor_base=base)


def _laid_out(grid: Grid, levels: set[int]) -> tuple[Ints, int]:
    """Return where the rows of some levels begin, see `Tables.floor_base`, and how many floors there are."""
    points = int(np.prod(grid.axis["count"]))
    base = np.full((grid.state.shape[0], grid.state.shape[1]), -1, np.int64)
    count = 0
    for level in sorted(levels - {0, len(base) - 1}):
        for kind in range(base.shape[1] - 1):
            base[level, kind] = count
            count += int(grid.state[level + 1, kind, -1])
        base[level, -1] = count
        count += points
    return base, count


def _first_runs(lattice: Lattice, idle: Bools, grid: Grid) -> Ints:
    """Return by kind of the tables the run of the lattice without a loop."""
    kinds = grid.axis["kind"]
    having = np.flatnonzero(idle.any(axis=1)).tolist()
    found = np.zeros(int(kinds.max(initial=-1)) + 1, np.int64)
    for kind in range(len(found)):
        v = int(np.flatnonzero(idle[:, np.flatnonzero(kinds == kind)[0]])[0])
        found[kind] = lattice.first[having.index(v)]
    return found


@njit
def _write(
    grid: Grid,
    level: int,
    lattice: Lattice,
    table: Table,
    places: tuple[Ints, Ints, Ints],
    less_pj: float,
    base: Ints,
    floor: Floats,
) -> None:
    """Write the floors of a level.

    ``places`` are dimension and prime by axis of the lattice, the first run by kind, and unrolled indices inside the
    level.
    """
    axes, first, inside = places
    axis, sole, dims, kinds = grid.axis, grid.sole[level + 1], grid.axis.shape[0], first.shape[0]
    index, start, line = np.zeros(dims, np.int64), np.zeros(dims, np.int64), np.empty(table.out.shape[1])
    weight, top = grid.state[level + 1], grid.state.shape[0] - 1
    point = first_tile(sole, axis, index)
    while point >= 0:
        x = _tile(grid, lattice, axes, inside, index)
        for n in range(line.shape[0]):
            line[n] = min(table.ahead[x], table.out[x, n] if table.found[x] else np.inf) * ROUNDING - less_pj
        alone, least = line[lattice.first[0]], np.inf
        for n in lattice.first:
            alone = min(alone, line[n])
        for n in range(line.shape[0]):
            least = min(least, line[n] if lattice.valid[x, n] else np.inf)
        floor[base[level, kinds] + point] = max(0.0, alone)
        for k in range(kinds):
            whole = level + 1 == top
            for d in range(dims):
                whole = whole or (axis[d].kind == k and axis[d].whole)
            state = first_start(axis, sole, grid.pair_of, weight, index, k, whole, start)
            while state >= 0:
                own = least if whole else line[_run(grid, lattice, axes, index, start, k, first[k])]
                floor[base[level, k] + state] = max(0.0, own)
                state = -1 if whole else next_start(axis, sole, grid.pair_of, weight, index, k, start, state)
        point = next_tile(sole, axis, index, point)


@njit
def _tile(grid: Grid, lattice: Lattice, axes: Ints, inside: Ints, index: Ints) -> int:
    """Return the number of a tile among those of the lattice, whose indices are counted with the unrolled ones."""
    x = 0
    for a in range(axes.shape[0]):
        d, prime = axes[a, 0], axes[a, 1]
        left = grid.divisor[d, index[d]].value * inside[d]
        while prime > 1 and left % prime == 0:
            x += lattice.weight[a]
            left //= prime
    return x


@njit
def _run(grid: Grid, lattice: Lattice, axes: Ints, index: Ints, start: Ints, kind: int, run: int) -> int:
    """Return the number of a run of a kind from where it started to a tile."""
    for a in range(axes.shape[0]):
        d, prime = axes[a, 0], axes[a, 1]
        if grid.axis[d].kind == kind:
            left = grid.divisor[d, start[d]].value // grid.divisor[d, index[d]].value
            while prime > 1 and left % prime == 0:
                run = lattice.longer[a, run]
                left //= prime
    return run
