"""One pass over all parts of a search, the cheapest bound first: its tables are filled, then it is descended into."""

from collections.abc import Callable, Sequence

import numpy as np

from jouleloop.jit import njit
from jouleloop.model.arrays import LOOP, MAX_LOOPS, Bools, Encoded, Floats, Records, WorkArrays, new_work
from jouleloop.model.network import is_wired, takes_energy
from jouleloop.optimum.arrays import (
    ARRANGED,
    BY_PARTS,
    CANONICAL,
    DELAY,
    ENERGY,
    ENTER,
    FINAL,
    MOST_KEYS,
    NEIGHBOURS,
    NEVER,
    NOTHING,
    ROOM,
    ROWS,
    SKETCHED,
    TAKE,
    Arrangements,
    Case,
    Found,
    Log,
    Parts,
    Path,
    Stack,
    Tables,
    Tally,
    deepened,
    new_best,
    new_counters,
    new_found,
    new_log,
    new_mesh,
    new_path,
    new_scratch,
    new_stack,
    new_unrolled,
)
from jouleloop.optimum.bounds import fill_bounds, further, has_room_inside
from jouleloop.optimum.candidates import Candidates
from jouleloop.optimum.costs import anywhere
from jouleloop.optimum.descend import beaten, descend, limit_of, start_descent
from jouleloop.optimum.groups import kept_of
from jouleloop.optimum.lattice import fill_grid, find_kinds, new_grid
from jouleloop.optimum.mesh import find_neighbours, has_windows
from jouleloop.optimum.order import pop, push
from jouleloop.optimum.parts import (
    MOST_PARTS,
    grown,
    has_room,
    key_of,
    list_all,
    new_parts,
    open_part,
    sketch_parts,
    sorted_parts,
    spread,
)
from jouleloop.optimum.unit_links import find_links, no_links
from jouleloop.signals import struck

#: Work of a quick descent for a better mapping, at least; how many may fail, and one more for so many tables.
_DIVE_TICKS, _MOST_DIVES, _TABLES_A_DIVE = 20_000, 8, 8
#: Nests of a part that are evaluated before its neighbours are counted.
_NESTS_BEFORE = 64
#: Up to how many instances they are as many: with windows the model looks at each.
_INSTANCES = 256
#: Work of the parts that follow from one, and of a part that is opened without tables.
_SPREAD_TICKS = 100
#: Entries of tables that are filled while one tile is listed (measured).
_CELLS_A_TICK = 16
#: Unrollings that are sketched between two looks at whether to stop.
_SKETCHED_AT_ONCE = 8192
#: Most entries of all tables together, 1 GB. Where it takes more, tables know less of where runs started: weaker
#: bounds, the same optimum.
MOST_CELLS = 125_000_000
#: Room for distances of neighbours at least, and by instance of the largest fan-out: most of those that occur.
_KEYS, _KEYS_AN_INSTANCE = 1024, 4


@njit
def fill_tables(case: Case, path: Path, parts: Parts, part: int, limit_pj: float) -> float:
    """Fill the tables of a part; return its lower bound [pJ], or the limit where that is lower.

    From the limit on a mapping counts for nothing.
    """
    stand, limit = parts.stand, case.tables.limit
    final = parts.stage[part] == FINAL
    if stand[0].tabled != part or limit[0] < limit_pj:
        open_part(case, path, parts, part)
        stand[0].points = fill_grid(case.grid, case.tables.enter.shape[0])
        if not final and not has_room_inside(case):
            parts.value[part].bound = np.inf
            parts.stage[part] = FINAL
            return np.inf
        limit[0] = limit_pj
        fill_bounds(case, stand[0].points, path.certain_pj[case.keep.shape[0] - 1])
        stand[0].tabled = part
        stand[0].filled += 1
    if not final:
        top = case.keep.shape[0] - 1
        least_pj = further(case, top, stand[0].points - 1, case.grid.axis.shape[0], 0, 0)
        # Where loops of a window may cancel out, tables can know less than that every word comes in once.
        least_pj = min(path.certain_pj[top] + least_pj, limit[0])
        parts.value[part].bound = max(parts.value[part].bound, least_pj)
        parts.stage[part] = FINAL
    return float(parts.value[part].bound)


@njit
def _wait(parts: Parts, part: int) -> None:
    """Let a part wait."""
    push(parts.heap, 0, parts.stand[0].left, parts.value["key"], part)
    parts.stand[0].left += 1


@njit
def _spread(mode: int, case: Case, parts: Parts, part: int, power: float) -> None:
    """Let the other parts of an unrolling wait."""
    steps = parts.steps[parts.unrolling[part]]
    for k in range(spread(case, parts, part)):
        new = parts.stand[0].parts - 1 - k
        parts.value[new].key = key_of(mode, parts.value[new].bound, steps, power)
        _wait(parts, new)


@njit
def _take_part(case: Case, path: Path, parts: Parts, tally: Tally, stack: Stack) -> bool:
    """Take the next part that waits, and fill its tables; return whether it is to be searched now."""
    stand, counters, mode, best = parts.stand, tally.counters, tally.mode, tally.best
    keys, power = parts.value["key"], best[0].delay_power
    part = pop(parts.heap, 0, stand[0].left, keys)
    stand[0].left -= 1
    steps = parts.steps[parts.unrolling[part]]
    if beaten(mode, best, parts.value[part].bound, steps):
        # So are all that follow from it.
        counters[0].cut_bound += 1
        return False
    if parts.stage[part] == SKETCHED:
        counters[0].ticks += _SPREAD_TICKS
        _spread(mode, case, parts, part, power)
    fresh, filled = parts.stage[part] != FINAL, stand[0].filled
    limit_pj = limit_of(mode, best, steps) if tally.log.used[0] < 0 else np.inf
    bound_pj = fill_tables(case, path, parts, part, limit_pj)
    counters[0].ticks += _table_ticks(case) if stand[0].filled > filled else _SPREAD_TICKS
    if bound_pj == np.inf:
        counters[0].cut_capacity += 1
        return False
    if beaten(mode, best, bound_pj, steps):
        counters[0].cut_bound += 1
        return False
    if fresh and mode != CANONICAL and mode != DELAY:
        keys[part] = key_of(mode, bound_pj, steps, power)
        if stand[0].left > 0 and keys[parts.heap[0]] < keys[part]:
            # Another part is next. But a better mapping, of whichever part, saves tables.
            if stand[0].dives >= _MOST_DIVES + stand[0].filled // _TABLES_A_DIVE:
                _wait(parts, part)
                return False
            stand[0].dives += 1
            stand[0].diving = True
    stand[0].current = part
    stand[0].begun = counters[0].visited
    best[0].least_pj = np.inf
    start_descent(path, case.tables.passes, stand[0].points, bound_pj, stack)
    return True


@njit
def _table_ticks(case: Case) -> int:
    """Return the work of filling the tables of a part, as its grid is laid out."""
    return int(max(case.tables.ahead.shape[1] * case.keep.shape[0], case.grid.base[-1, -1] // _CELLS_A_TICK))


@njit
def _nests_before(case: Case) -> int:
    """Return how many nests of a part are evaluated before its neighbours are counted: fewer where each takes long."""
    return int(max(1, _NESTS_BEFORE * _INSTANCES // max(_INSTANCES, int(case.unrolled.instances[0]))))


@njit
def _search_part(
    case: Case, path: Path, parts: Parts, arrangements: Arrangements, work: WorkArrays, tally: Tally, stack: Stack
) -> bool:
    """Search the part at hand; return whether the pass goes on: nothing is wanted, and it is no time for a pause."""
    stand, counters, best = parts.stand, tally.counters, tally.best
    part = stand[0].current
    u = parts.unrolling[part]
    if parts.runs[u].first < 0:
        stand[0].wants = ARRANGED
        return False
    pause, ask = counters[0].pause, case.mesh.ask[0]
    looks = tally.log.used[0] < 0 and not ask.asked and has_windows(case.mesh)
    # Of the part, not of the slice: slices hang on the clock.
    if looks:
        counters[0].enough = stand[0].begun + _nests_before(case)
    if stand[0].diving:
        counters[0].pause = counters[0].ticks + max(_DIVE_TICKS, _table_ticks(case))
        counters[0].enough = counters[0].visited + 1
    before_pj, before = best[0].energy_pj, best[0].product
    ended = descend(case, path, parts.steps[u], parts.runs[u], arrangements, work, tally, stack)
    if ended and tally.mode == ENERGY:
        # Where ties are compared, a part that holds none is not searched again.
        known_pj = min(best[0].least_pj, case.tables.limit[0])
        parts.value[part].bound = max(parts.value[part].bound, known_pj)
    seen = counters[0].visited >= counters[0].enough
    counters[0].pause, counters[0].enough = pause, NEVER
    if stack.cursor[0].needed > 0:
        stand[0].wants = ROWS
        return False
    if ask.level > 0:
        stand[0].wants = NEIGHBOURS
        return False
    if stand[0].diving:
        stand[0].diving = False
        if ended or best[0].energy_pj < before_pj or best[0].product < before:
            stand[0].dives -= 1
        if not ended:
            _wait(parts, part)
    elif not ended:
        if looks and seen:
            ask.asked = True
        return bool(looks and seen)
    stand[0].current = -1
    return True


@njit
def run_parts(
    case: Case, path: Path, parts: Parts, arrangements: Arrangements, work: WorkArrays, tally: Tally, stack: Stack
) -> bool:
    """Search the parts that wait until none is left or it is time for a pause; return whether none is left.

    It returns as well where it wants something: place `WANTS` of ``parts.stand``.
    """
    stand, counters = parts.stand, tally.counters
    stand[0].wants = NOTHING
    while stand[0].current >= 0 or stand[0].left > 0:
        if counters[0].stopped != 0 or counters[0].ticks >= counters[0].pause:
            return False
        if stand[0].current < 0:
            if not has_room(parts):
                stand[0].wants = ROOM
                return False
            if not _take_part(case, path, parts, tally, stack):
                continue
        if not _search_part(case, path, parts, arrangements, work, tally, stack):
            return False
    return True


@njit
def add_parts(mode: int, case: Case, parts: Parts, best: Records, first: int, last: int) -> int:
    """Let unrollings be parts, or in canonical mode add all parts that follow and are not beaten while there is room.

    Both from ``first`` on, and unrollings up to ``last``. Both in one kernel: each kernel takes all tables apart.

    Returns the one that is next, after the last where none is left.
    """
    if mode != CANONICAL:
        sketch_parts(case, parts, first, last)
        return last
    while first < parts.stand[0].parts and has_room(parts):
        steps = parts.steps[parts.unrolling[first]]
        if parts.stage[first] == SKETCHED and not beaten(mode, best, parts.value[first].bound, steps):
            spread(case, parts, first)
        first += 1
    return first


class Solver:
    """The search of one layer over all choices of what is kept and all unrollings.

    Parameters
    ----------
    columns
        See `MapSpace.columns`.
    side
        See `Unrolled.side`.
    charge
        See `jouleloop.optimum.charges.find_charges`.
    stopped
        Whether the search has to stop before it has begun. Some unrollings are sketched nevertheless.
    """

    def __init__(
        self,
        target: Encoded,
        columns: Sequence[Bools],
        slots: Records,
        side: Records,
        candidates: Candidates,
        charge: Records,
        stopped: Callable[[], bool] = lambda: False,
    ) -> None:
        levels, spaces = columns[0].shape[1], len(columns)
        layer, dims = target.layer, len(target.layer.bounds)
        self.columns = columns
        self.candidates = candidates
        self.arrangements = Arrangements(
            np.zeros(0, np.int64), np.zeros((0, MAX_LOOPS), LOOP), np.zeros((0, levels, 2), np.int64)
        )
        self.parts = new_parts(candidates, columns, layer, charge)
        unrolled = new_unrolled(candidates.origin, side)
        kind = find_kinds(unrolled.side)
        grid, cells, points = new_grid(layer.bounds, kind, slots, MOST_CELLS)
        tables = Tables(
            np.empty(cells),
            np.empty((levels, 1 + points)),
            np.zeros((levels, points), np.bool_),
            np.full(1, np.inf),
        )
        keep = np.zeros((levels, spaces), np.bool_)
        scratch = new_scratch(grid, levels, spaces, points)
        instances = int((target.hardware.levels["fanout_x"] * target.hardware.levels["fanout_y"]).max())
        distances = min(MOST_KEYS, max(_KEYS, _KEYS_AN_INSTANCE * instances)) if (side["halo"] >= 0).any() else 1
        mesh = new_mesh(levels, spaces, dims, distances)
        links = no_links(len(candidates.rows[0]), spaces, layer.coef.shape[1])
        self.case = Case(target, keep, slots.copy(), slots, unrolled, grid, tables, scratch, mesh, links)
        self.path = new_path(keep, side, layer.coef.shape[1])
        self.work = new_work(levels, spaces)
        self.stack = new_stack(levels, dims, points)
        count = len(candidates.ids)
        for first in range(0, count, _SKETCHED_AT_ONCE):
            if first and stopped():
                break
            last = min(first + _SKETCHED_AT_ONCE, count)
            add_parts(ENERGY, self.case, self.parts, new_best(), first, last)
        #: Whether all unrollings are parts.
        self.whole = candidates.whole and self.parts.stand[0]["parts"] == count

    @property
    def count(self) -> int:
        """Number of parts so far."""
        return int(self.parts.stand[0]["parts"])

    @property
    def bound_pj(self) -> Floats:
        """Lower bounds [pJ] of all parts so far, infinite where no tile fits."""
        return self.parts.value["bound"][: self.count]

    def keep_of(self, part: int) -> Bools:
        """Return what a part keeps, shape (levels, data spaces)."""
        return kept_of(self.parts, int(self.parts.choice[part]))

    def list_all(self) -> None:
        """Make all choices of what is kept parts, choices outermost, in their order."""
        self.parts = list_all(self.case, self.parts)

    def start(self, mode: int, best: Records) -> None:
        """Let all parts wait that a tile may fit in, in the order of a mode."""
        if mode == CANONICAL:
            # All that may tie have to be known, so that they can be sorted.
            at = 0
            while True:
                at = add_parts(mode, self.case, self.parts, best, at, self.count)
                if at == self.count:
                    break
                self.parts = grown(self.parts, 2 * len(self.parts.unrolling))
        order = sorted_parts(mode, best, self.parts)
        stand = self.parts.stand
        self.parts.heap[: len(order)] = order
        stand[0]["left"] = len(order)
        stand[0]["current"] = -1
        stand[0]["diving"] = False

    def run(self, mode: int, best: Records, counters: Records, found: Found, log: Log | None = None) -> bool:
        """Minimise over the parts that wait until none is left or it is time for a pause; return whether none is left.

        ``best``, ``counters`` and ``found`` are updated where something improves.
        """
        tally = Tally(mode, best, counters, found, log or new_log())
        stand = self.parts.stand
        while True:
            try:
                ended = run_parts(self.case, self.path, self.parts, self.arrangements, self.work, tally, self.stack)
            except SystemError as error:
                raise struck(error) from None
            if stand[0]["wants"] == NOTHING:
                return bool(ended)
            if stand[0]["wants"] == ROOM and len(self.parts.unrolling) >= MOST_PARTS:
                counters[0]["stopped"] = BY_PARTS
                return False
            self._give(int(stand[0]["wants"]))

    def _give(self, wanted: int) -> None:
        """Give a kernel what it wants before it goes on."""
        stand = self.parts.stand
        if wanted == ROOM:
            self.parts = grown(self.parts, 2 * len(self.parts.unrolling))
        elif wanted == ROWS:
            self.stack = deepened(self.stack, int(self.stack.cursor[0]["needed"]))
        elif wanted == ARRANGED:
            self._arrange(int(self.parts.unrolling[stand[0]["current"]]))
        else:
            # Few layers ask for neighbours: a kernel of its own that the others need not compile.
            run = self.parts.runs[self.parts.unrolling[stand[0]["current"]]]
            find_neighbours(self.case, self.path, self.arrangements, run)

    def tell_arrangements(self) -> None:
        """Tell arrangements of the spatial loops next to the units apart in bounds, from now on."""
        self.case = self.case._replace(links=find_links(self.case, self.candidates))

    def empty_levels(self, *, may: bool) -> None:
        """Say whether levels that keep nothing may go without loops where the next one may have theirs.

        Where networks charge they may not.
        """
        networks = self.case.target.hardware.networks
        self.parts.stand[0]["empties"] = may and not (takes_energy(networks) or is_wired(networks))
        self.case.slots[:] = self.case.all_slots

    def _arrange(self, u: int) -> None:
        """Find the arrangements of an unrolling."""
        members, ordered = self.candidates.arrange(u)
        known = self.arrangements
        self.parts.runs[u] = len(known.members), len(known.members) + len(members), ordered
        counts, loops = self.candidates.loops_after(known.counts, known.loops)
        self.arrangements = Arrangements(counts, loops, np.concatenate([known.members, members]))

    def open_bounds(self) -> tuple[Floats, Floats]:
        """Return the lower bounds [pJ] of all parts that are not searched to their end, and their iterations."""
        parts, stand = self.parts, self.parts.stand
        waiting = parts.heap[: stand[0]["left"]]
        bounds_pj, steps = self.bound_pj[waiting], parts.steps[parts.unrolling[waiting]]
        if not self.whole:
            rest_pj, fewest = self.rest()
            bounds_pj, steps = np.append(bounds_pj, rest_pj), np.append(steps, fewest)
        if stand[0]["current"] < 0:
            return bounds_pj, steps
        # What is bounded inside a part may be bounded lower than the part, by groups.
        current = int(stand[0]["current"])
        open_pj = max(self._open_pj(), float(self.bound_pj[current]))
        return np.append(bounds_pj, open_pj), np.append(steps, parts.steps[parts.unrolling[current]])

    def rest(self) -> tuple[float, float]:
        """Return energy [pJ] and temporal iterations of any mapping, at least."""
        side = self.case.unrolled.side
        return anywhere(self.case.target, ~side["idle"] & (side["halo"] < 0), self.columns)

    def _open_pj(self) -> float:
        """Least bound [pJ] of all that waits in the part that is searched."""
        stack = self.stack
        level, phase = int(stack.cursor[0]["level"]), int(stack.cursor[0]["phase"])
        found = [np.inf]
        for k in range(max(level, 1), len(stack.region)):
            begin, waiting = stack.region[k]["begin"], stack.region[k]["waiting"]
            rows = stack.heap[begin : begin + waiting]
            # The node that is entered now has yet to fill its own.
            if k > level or phase != ENTER:
                found.append(float(stack.child[rows]["bound_pj"].min(initial=np.inf)))
        if phase != TAKE and level < len(stack.region):
            found.append(float(stack.node_pj[level]))
        return min(found)

    def fill_tables(self, part: int, limit_pj: float = np.inf) -> float:
        """Fill the tables of one part; return its lower bound [pJ], or the limit where that is lower."""
        return float(fill_tables(self.case, self.path, self.parts, part, limit_pj))

    def begin_one(self, part: int) -> None:
        """Let one part wait alone, to be searched from its beginning."""
        self.parts.heap[0] = part
        self.parts.stand[0]["left"] = 1
        self.parts.stand[0]["current"] = -1
        self.parts.stand[0]["diving"] = False

    def bound_one(self, part: int) -> float:
        """Return the lower bound of one part [pJ] by its whole tables, which the kernel of the search fills."""
        self.begin_one(part)
        counters = new_counters()
        counters[0]["pause"] = 1  # before the descent
        self.run(ENERGY, new_best(), counters, new_found(*self.case.keep.shape), new_log(1))
        return float(self.parts.value["bound"][part])
