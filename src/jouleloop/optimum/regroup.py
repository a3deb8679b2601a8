"""What no bound of a group of unrollings leaves out, as the subproblems that a long search begins anew with."""

from collections.abc import Callable, Generator, Iterator
from typing import NamedTuple

import numpy as np

from jouleloop.model.arrays import Bools, Floats, Ints
from jouleloop.optimum.arrays import PART, SPREAD, Parts
from jouleloop.optimum.group_walk import Left, Walk
from jouleloop.optimum.groups import Groups, kept_of

#: Most tables of ways before multicasts are told apart.
_SOME_TABLES = 200
#: Most unrollings of all ways together: to split more takes too many tables.
_MOST_LEFT = 1_000_000
#: How many times the work of telling multicasts apart, as long as it is tried, goes into a walk over states at most.
_TRIED = 4


class Most(NamedTuple):
    """How many parts may be left, and how many tables of ways and of groups may be filled to find them."""

    parts: int
    tables: int


class Walks:
    """Walks of a search, which are made under the highest limit, and read under lower ones."""

    def __init__(self, groups: Groups) -> None:
        self.groups = groups
        #: By whether multicasts are told apart; else nodes are states.
        self._made: dict[bool, Walk] = {}

    def ways(self, limit_pj: float, most: Callable[[], Most]) -> Generator[int | float, None, list[Left] | None]:
        """Yield as `regrouped`; return what is left of all choices and unrollings, none where that takes too long."""
        made = self._made
        if not any(walk.serves(limit_pj) for walk in made.values()):
            yield from self._begin(limit_pj)
        if False in made and not (True in made and made[True].serves(limit_pj)):
            # Often few ways are left already, and telling multicasts apart takes longer than to follow them.
            made[False].limit_to(limit_pj)
            ways = yield from _followed(made[False], _SOME_TABLES)
            if ways is not None:
                return ways
            yield from self._look(Walk(self.groups, limit_pj, made[False]))
        if True not in made or not made[True].serves(limit_pj):
            return None
        made[True].limit_to(limit_pj)
        return (yield from _followed(made[True], most().tables))

    def _begin(self, limit_pj: float) -> Iterator[int | float]:
        """Make a walk of states, unless it is less work to tell multicasts apart at once."""
        groups = self.groups
        self._made.clear()
        yield from groups.look_outside(limit_pj)
        # Where fan-outs are large, telling multicasts apart is the less work: it is tried for a while.
        yield from self._look(Walk(groups, limit_pj, most_work=groups.outside.work / _TRIED))
        if not self._made:
            yield from self._look(Walk(groups, limit_pj, tells=False))

    def _look(self, walk: Walk) -> Iterator[int | float]:
        """Make a walk, and keep it if it fits; yield a bound [pJ] on all last."""
        yield from walk.inward_out()
        if walk.fits:
            yield from walk.outside_in()
            self._made[walk.tells] = walk
            yield min(walk.limit_pj, walk.bound_pj)


def regrouped(walks: Walks, limit_pj: float, most: Callable[[], Most]) -> Iterator[int | float | Parts]:
    """Yield the work of each bound; last, the parts that no bound of a group leaves out, unless they are too many.

    Every mapping that costs no more than ``limit_pj`` is in one of them. In between comes a float: a bound [pJ] on all.
    ``most`` is asked behind these.
    """
    groups, parts = walks.groups, walks.groups.parts
    limit_pj *= 1.0 + 1e-9
    found: list[tuple[int, Ints, Floats]] = []
    total, tables, sketch_pj = 0, 0, np.empty(len(parts.ids))
    # A walk tells a bound before what takes no tables is known of each unrolling.
    ways = yield from walks.ways(limit_pj, most)
    if ways is None or sum(len(every) for _, every, _ in ways) > _MOST_LEFT:
        return
    allowed = most()
    for choice, every, bound_pj in ways:
        sketch_pj[every] = groups.base_pj[every]
        for v, c in enumerate(choice):
            sketch_pj[every] += groups.column_pj[every, v, c]
        own = every[sketch_pj[every] <= limit_pj]
        number = int(sum(parts.columns[v, c] for v, c in enumerate(choice)))
        for some, some_pj in _split(groups, kept_of(parts, number), own, bound_pj, limit_pj):
            if some is None:
                tables += 1
                if tables > allowed.tables:
                    return
                yield groups.lattice.valid.size
            else:
                found.append((number, some, np.maximum(sketch_pj[some], some_pj)))
                total += len(some)
        if total > allowed.parts:
            return
    yield _made(parts, found)


def _followed(walk: Walk, most_tables: int) -> Generator[int | float, None, list[Left] | None]:
    """Yield the work of each table; return the ways of a walk that are left, none where they take too many tables."""
    ways: list[Left] = []
    for tables, left in enumerate(walk.left()):
        if tables >= most_tables:
            return None
        yield walk.lattice.valid.size
        if left is not None:
            ways.append(left)
    return ways


def _split(
    groups: Groups, keep: Bools, own: Ints, bound_pj: float, limit_pj: float
) -> Iterator[tuple[Ints | None, float]]:
    """Yield no unrollings after each bound, and unrollings that are left with their bound [pJ]."""
    ids = groups.parts.ids
    waiting = [(own, bound_pj)] if len(own) else []
    while waiting:
        some, before_pj = waiting.pop()
        pieces = _pieces(groups, ids[some])
        if not pieces:
            yield some, before_pj
        for piece in pieces:
            bound_pj = max(before_pj, groups.bound_pj(keep, ids[some[piece]], limit_pj))
            yield None, bound_pj
            if bound_pj <= limit_pj:
                waiting.append((some[piece], bound_pj))


def _pieces(groups: Groups, ids: Ints) -> list[Ints]:
    """Return unrollings split by the factor of a dimension at a level, where what is relaxed differs most."""
    row = groups.parts.row
    best, at = 0.0, (-1, -1)
    written: Bools = np.any(groups.side["idle"][groups.layer.read_write], axis=0)
    for level, own in enumerate(ids.T):
        for d in range(row.shape[2]):
            values = row[level, own, d]
            spread = float(np.log(values.max() / values.min())) * (3.0 if written[d] else 1.0)
            if spread > best:
                best, at = spread, (level, d)
    if at[0] < 0:
        return []
    value = row[at[0], ids[:, at[0]], at[1]]
    return [np.flatnonzero(value == one) for one in np.unique(value)]


def _made(parts: Parts, found: list[tuple[int, Ints, Floats]]) -> Parts:
    """Return the parts of a search that begins anew with what was found."""
    stand = parts.stand.copy()
    unrolling = np.concatenate([np.zeros(0, np.int64), *(own for _, own, _ in found)])
    choice = np.concatenate([np.zeros(0, np.int64), *(np.full(len(own), number) for number, own, _ in found)])
    count, spaces = len(unrolling), len(parts.column_counts)
    room = count + spaces
    value = np.empty(room, PART)
    value["bound"][:count] = np.concatenate([np.zeros(0), *(bound for *_, bound in found)])
    stand["current"] = stand["tabled"] = -1
    stand[0]["parts"] = count
    return parts._replace(
        stand=stand,
        unrolling=np.append(unrolling, np.zeros(spaces, np.int64)),
        choice=np.append(choice, np.zeros(spaces, np.int64)),
        rank=np.zeros((room, spaces), np.int16),
        value=value,
        stage=np.full(room, SPREAD, np.int8),
        heap=np.empty(room, np.int64),
    )
