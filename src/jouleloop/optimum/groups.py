"""Bounds of many unrollings at once: all of those that keep the same.

`docs/search.md` states the lemma: *groups of unrollings*.
"""

import itertools
from collections.abc import Iterator, Sequence

import numpy as np

from jouleloop.model.arrays import REUSE, Bools, Ints
from jouleloop.optimum.arrays import Case, Parts
from jouleloop.optimum.boundaries import Boundaries, Unrollings
from jouleloop.optimum.group_cross import new_work
from jouleloop.optimum.group_lattice import Table, first_rows, new_rows, new_table
from jouleloop.optimum.group_table import ask_units, cross_fan_out, fill_level, loop_level
from jouleloop.optimum.outside import Outside, State

#: Bounds are sums of doubles in another order than the model's.
ROUNDING = 1.0 - 1e-9


class Groups:
    """Bounds on all unrollings of a choice of what is kept.

    Parameters
    ----------
    case, parts
        Of the solver; ``parts`` lists the unrollings, all of them sketched.
    """

    def __init__(self, case: Case, parts: Parts) -> None:
        self.case, self.parts = case, parts
        self.boundaries = Boundaries(case, parts)
        self.layer, self.side = case.target.layer, case.unrolled.side
        self.lattice, self.rows = self.boundaries.lattice, self.boundaries.rows
        self.macs = self.boundaries.macs
        self.kept = [
            kept_of(parts, own[:n])[:, :, v]
            for v, (own, n) in enumerate(zip(parts.columns, parts.column_counts, strict=True))
        ]
        self.whole = self.boundaries.group(parts.ids)
        self.outside = Outside(self.boundaries, self.whole, self.kept)
        self.tables = [new_table(self.lattice) for _ in range(len(case.keep) + 1)]
        self.base_pj, self.column_pj = parts.base_pj, parts.sketch_pj
        self._inside, self._work = new_rows(self.lattice), new_work(self.lattice)

    def certain_pj(self, group: Unrollings) -> float:
        """Return what a group takes whatever crosses its boundaries [pJ]: its operations, and what leaks at least."""
        return self.macs * self.case.target.compute_pj + group.leaked_pj

    def room_pj(self, limit_pj: float, group: Unrollings) -> float:
        """Return what a limit leaves to the boundaries of a group."""
        return (limit_pj - self.certain_pj(group)) / ROUNDING

    def look_outside(self, limit_pj: float) -> Iterator[int]:
        """Find what all that is outside a boundary costs at least, below a limit; yield the work."""
        self.outside = Outside(self.boundaries, self.whole, self.kept, self.room_pj(limit_pj, self.whole))
        yield from self.outside.fill()

    def bound_pj(self, keep: Bools, ids: Ints, limit_pj: float) -> float:
        """Return a lower bound [pJ] on some unrollings; infinite from a limit on.

        Parameters
        ----------
        keep
            Shape (levels, data spaces).
        ids
            By unrolling and level the number of its row.
        """
        group = self.boundaries.group(ids)
        room_pj = self.room_pj(limit_pj, group)
        path = path_of(keep)
        for depth, (state, after) in enumerate(itertools.pairwise(path)):
            if self.step(self.tables[depth : depth + 2], group, state, after, room_pj) >= room_pj:
                return np.inf
        return self.whole_pj(float(self.tables[len(path) - 1].ahead[-1]), group)

    def whole_pj(self, boundaries_pj: float, group: Unrollings) -> float:
        """Return the least energy [pJ] of a group, given that of its boundaries."""
        return (self.certain_pj(group) + boundaries_pj) * ROUNDING

    def step(self, tables: Sequence[Table], group: Unrollings, state: State, after: State, room_pj: float) -> float:
        """Fill the second table, of a state, from that of the state inside; return the least with all outside [pJ]."""
        child, top = min(state), min(after)
        kept = np.array(state) == child
        edge = self.boundaries.edge(group, child, kept, after, top)
        table, outer = tables[1], self.outside.least(after)[0]
        table.found[:] = False
        if child < 0:
            ask_units(self.lattice, edge, self.macs, outer, room_pj, table)
        else:
            capacity = float(self.boundaries.hardware.levels[child]["capacity_words"])
            own, rows = self.outside.least(state)[1], self._inside
            count = fill_level(self.lattice, tables[0], kept, edge.price, capacity, own, room_pj, rows)
            cross_fan_out(self.lattice, first_rows(rows, count), edge, outer, room_pj, self._work, table, False)
        return float(loop_level(self.lattice, table, outer, room_pj))


def path_of(keep: Bools) -> list[State]:
    """Return the states of what is kept, from the units outward, up to the outermost level that keeps anything."""
    levels, spaces = keep.shape
    state = (-1,) * spaces
    found = [state]
    while True:
        child = min(state)
        state = tuple(
            next((k for k in range(child + 1, levels) if keep[k, v]), levels) if at == child else at
            for v, at in enumerate(state)
        )
        if min(state) == levels:
            return found
        found.append(state)


def groups_of(case: Case, parts: Parts) -> Groups | None:
    """Return the groups of a search, or none where the lemma does not hold or there would be too many."""
    layer, side = case.target.layer, case.unrolled.side
    idle_of_several = (side["idle"].sum(axis=0) > 1).any()
    told = any(layer.reuse[rule].any() for rule in REUSE.fields or () if rule not in ("averaging", "resting"))
    choices = np.prod(parts.column_counts.astype(float))
    if idle_of_several or told or not len(parts.base_pj) or choices < 2 or (layer.coef < 0).any():
        return None
    return Groups(case, parts)


def kept_of(parts: Parts, choice: int | Ints) -> Bools:
    """Return what choices keep, shape (…, levels, data spaces)."""
    bits, choice = parts.bits, np.asarray(choice)[..., None, None]
    keep: Bools = np.where(bits < 0, bits == -1, (choice >> np.maximum(bits, 0)) & 1 == 0)
    return keep
