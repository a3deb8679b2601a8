"""One pass over all parts of a search, the cheapest bound first: its tables are filled, then it is descended into."""

from collections.abc import Callable

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
    WorkArrays,
    new_work,
)
from jouleloop.optimum.arrays import (
    BEGIN,
    CANONICAL,
    CHILD_BOUND,
    CURRENT,
    CUT_BOUND,
    CUT_CAPACITY,
    DELAY,
    DELAY_POWER,
    DIVES,
    EDGE,
    ENOUGH,
    ENTER,
    FILLED,
    HALO,
    LEFT,
    LEVEL,
    PART_BOUND,
    PART_KEY,
    PART_VALUES,
    PASS,
    PAUSE,
    PHASE,
    POINTS,
    PRODUCT,
    RATE,
    REST,
    STEPS,
    STOPPED,
    TABLED,
    TAKE,
    TICKS,
    VISITED,
    WAITING,
    Arrangements,
    Case,
    Found,
    Log,
    Parts,
    Path,
    Stack,
    Tables,
    Unrolled,
    new_log,
    new_stack,
)
from jouleloop.optimum.bounds import fill_bounds, further
from jouleloop.optimum.candidates import Candidates
from jouleloop.optimum.descend import beaten, descend, start_descent
from jouleloop.optimum.lattice import fill_grid, find_kinds, new_grid
from jouleloop.optimum.order import pop, push
from jouleloop.optimum.prepare import prepare
from jouleloop.optimum.sketch import compulsory_pj
from jouleloop.signals import struck

#: Work of a quick descent for a first mapping, and how many may fail.
_DIVE_TICKS, _MOST_DIVES = 20_000, 8
_NEVER = 1 << 62
#: Parts that are sketched between two looks at whether to stop.
_SKETCHED = 50_000
#: Most entries of all tables together, 400 MB of them. Where it takes more, tables know less of where runs started:
#: weaker bounds, the same optimum.
MOST_CELLS = 50_000_000


@njit
def open_part(case: Case, path: Path, compute_pj: float, elided: bool, parts: Parts, part: int) -> float:
    """Make a part the case at hand, without its tables; return the energy [pJ] that is certain in it."""
    unrollings = parts.factors.shape[0]
    u = part % unrollings
    factors = parts.factors[u]
    case.keep[:] = parts.keeps[part // unrollings]
    macs = parts.steps[u]
    for d in range(factors.shape[1]):
        rest = case.layer.bounds[d]
        for level in range(factors.shape[0]):
            rest //= factors[level, d]
            macs *= factors[level, d]
        case.grid.axis[d, REST] = rest
    top = factors.shape[0] - 1
    path.certain_pj[top] = macs * compute_pj + prepare(
        case.layer,
        case.spec,
        elided,
        case.keep,
        factors,
        case.grid.axis,
        parts.steps[u],
        case.unrolled,
        path.traffic[top],
    )
    return float(path.certain_pj[top])


@njit
def fill_tables(case: Case, path: Path, compute_pj: float, elided: bool, parts: Parts, part: int) -> float:
    """Fill the tables of a part; return its lower bound [pJ]."""
    stand = parts.stand
    if stand[TABLED] != part:
        open_part(case, path, compute_pj, elided, parts, part)
        stand[POINTS] = fill_grid(case.grid)
        fill_bounds(case, stand[POINTS])
        stand[TABLED] = part
        stand[FILLED] += 1
    if not parts.tabled[part]:
        top = case.keep.shape[0] - 1
        enter, ahead, axis = case.tables.enter, case.tables.ahead, case.grid.axis
        least_pj = further(enter, ahead, case.slots, axis, top, stand[POINTS] - 1, axis.shape[0], 0, 0)
        # Where loops of a window may cancel out, tables can know less than that every word comes in once.
        parts.value[part, PART_BOUND] = max(parts.value[part, PART_BOUND], path.certain_pj[top] + least_pj)
        parts.tabled[part] = True
    return float(parts.value[part, PART_BOUND])


@njit
def sketch_parts(case: Case, path: Path, compute_pj: float, elided: bool, parts: Parts, first: int, last: int) -> None:
    """Write bounds [pJ] of some parts that take no tables: what is certain in each, and every word once."""
    parts.stand[TABLED] = -1
    for part in range(first, last):
        if not parts.tabled[part]:
            certain_pj = open_part(case, path, compute_pj, elided, parts, part)
            parts.value[part, PART_BOUND] = certain_pj + compulsory_pj(case)


@njit
def run_parts(
    mode: int,
    elided: bool,
    compute_pj: float,
    case: Case,
    path: Path,
    parts: Parts,
    arrangements: Arrangements,
    work: WorkArrays,
    best: Floats,
    counters: Ints,
    found: Found,
    log: Log,
    stack: Stack,
) -> tuple[bool, Ints, Floats, Ints]:
    """Search the parts that wait until none is left or it is time for a pause; return whether none is left.

    And the arrays of the stack that may have grown. Not the stack: a signal that waits breaks the making of a named
    tuple from compiled code.
    """
    unrollings = parts.factors.shape[0]
    stand = parts.stand
    keys = parts.value[:, PART_KEY]
    table_ticks = case.tables.ahead.shape[1] * case.keep.shape[0]
    pause = counters[PAUSE]
    diving = False
    while stand[CURRENT] >= 0 or stand[LEFT] > 0:
        if counters[STOPPED] != 0 or counters[TICKS] >= counters[PAUSE]:
            return False, stack.child, stack.value, stack.heap
        if stand[CURRENT] < 0:
            part = pop(parts.heap, 0, stand[LEFT], keys)
            stand[LEFT] -= 1
            steps = parts.steps[part % unrollings]
            if beaten(mode, best, parts.value[part, PART_BOUND], steps):
                counters[CUT_BOUND] += 1
                continue
            if stand[TABLED] != part:
                counters[TICKS] += table_ticks
            fresh = not parts.tabled[part]
            bound_pj = fill_tables(case, path, compute_pj, elided, parts, part)
            if bound_pj == np.inf:
                counters[CUT_CAPACITY] += 1
                continue
            if beaten(mode, best, bound_pj, steps):
                counters[CUT_BOUND] += 1
                continue
            if fresh and mode != CANONICAL and mode != DELAY:
                keys[part] = bound_pj
                if mode == PRODUCT:
                    keys[part] = bound_pj * steps ** best[DELAY_POWER]
                if stand[LEFT] > 0 and keys[parts.heap[0]] < keys[part]:
                    # Another part is next. But a first mapping, of whichever part, saves tables.
                    diving = found.arrangement[0] < 0 and stand[DIVES] < _MOST_DIVES
                    if not diving:
                        push(parts.heap, 0, stand[LEFT], keys, part)
                        stand[LEFT] += 1
                        continue
                    stand[DIVES] += 1
                    counters[PAUSE] = counters[TICKS] + _DIVE_TICKS
                    counters[ENOUGH] = counters[VISITED] + 1
            stand[CURRENT] = part
            start_descent(path, case.tables.passes, stand[POINTS], bound_pj, stack)
        part = stand[CURRENT]
        u = part % unrollings
        ended, stack = descend(
            mode,
            elided,
            compute_pj,
            case,
            path,
            parts.steps[u],
            parts.runs[u],
            arrangements,
            work,
            best,
            counters,
            found,
            log,
            stack,
        )
        if diving:
            diving = False
            counters[PAUSE], counters[ENOUGH] = pause, _NEVER
            if not ended:
                push(parts.heap, 0, stand[LEFT], keys, part)
                stand[LEFT] += 1
        elif not ended:
            return False, stack.child, stack.value, stack.heap
        stand[CURRENT] = -1
    return True, stack.child, stack.value, stack.heap


class Solver:
    """The search of one layer over all choices of what is kept and all unrollings.

    Parameters
    ----------
    keeps
        Choices of what is kept, shape (choices, levels, data spaces).
    side
        See `Unrolled.side`.
    stopped
        Whether the search has to stop before it has begun.
    """

    def __init__(
        self,
        layer: LayerArrays,
        spec: Floats,
        compute_pj: float,
        elided: bool,
        keeps: Bools,
        slots: Ints,
        side: Ints,
        candidates: Candidates,
        stopped: Callable[[], bool] = lambda: False,
    ) -> None:
        choices, levels, spaces = keeps.shape
        dims = len(layer.bounds)
        self.compute_pj = compute_pj
        self.elided = elided
        self.arrangements = candidates.arrangements
        factors = candidates.factors
        steps = np.prod(layer.bounds.astype(float)) / factors.reshape(len(factors), -1).prod(axis=1)
        count = choices * len(factors)
        stand = np.zeros(PASS, np.int64)
        stand[[CURRENT, TABLED]] = -1
        self.parts = Parts(
            keeps,
            factors,
            steps,
            candidates.runs,
            np.empty((count, PART_VALUES)),
            np.zeros(count, np.bool_),
            np.empty(count, np.int64),
            stand,
        )
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
        rows = dims + int(kind.max()) + 1
        grid = new_grid(layer.bounds, kind, MOST_CELLS // (levels * rows))
        points = fill_grid(grid)
        tables = Tables(
            np.empty((levels, rows, int(grid.state[:, dims].max()))),
            np.empty((levels, 1 + points)),
            np.zeros((levels, points), np.bool_),
        )
        keep = keeps[0].copy()
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
        self.stack = new_stack(levels, dims, points)
        self._mark_impossible()
        # No energy is negative, so 0 bounds a part that is not sketched before the search is stopped.
        self.parts.value[~self.parts.tabled, PART_BOUND] = 0.0
        for first in range(0, count, _SKETCHED):
            if stopped():
                break
            sketch_parts(self.case, self.path, compute_pj, elided, self.parts, first, min(first + _SKETCHED, count))

    @property
    def bound_pj(self) -> Floats:
        """Lower bounds [pJ] of all parts, infinite where no tile fits."""
        return self.parts.value[:, PART_BOUND]

    @property
    def steps(self) -> Floats:
        """Temporal iterations of all parts."""
        return np.tile(self.parts.steps, len(self.parts.keeps))

    def _mark_impossible(self) -> None:
        """Write the bounds of parts whose outermost level does not hold the layer."""
        tensors = [
            np.prod([1 + int(rank @ (self.case.layer.bounds - 1)) for rank in space], dtype=float)
            for space in self.case.layer.coef
        ]
        top = self.case.spec[-1]
        held = self.parts.keeps[:, -1] @ np.array(tensors)
        wrong = np.repeat((held > top[CAPACITY]) | (held < top[MIN_WORDS]), len(self.parts.factors))
        self.bound_pj[wrong] = np.inf
        self.parts.tabled[wrong] = True

    def start(self, mode: int, best: Floats) -> None:
        """Let all parts wait that a tile may fit in, in the order of a mode."""
        parts, steps = self.parts, self.steps
        keys = self.bound_pj
        if mode == DELAY:
            keys = steps
        elif mode == PRODUCT:
            keys = keys * steps ** best[DELAY_POWER]
        elif mode == CANONICAL:
            choice = np.repeat(np.arange(len(parts.keeps)), len(parts.factors))
            keys = np.empty(len(steps))
            keys[np.lexsort((steps, choice))] = np.arange(len(steps))
        parts.value[:, PART_KEY] = keys
        order = np.argsort(keys, kind="stable")
        order = order[np.isfinite(self.bound_pj[order])]
        parts.heap[: len(order)] = order
        parts.stand[LEFT] = len(order)
        parts.stand[CURRENT] = -1

    def run(self, mode: int, best: Floats, counters: Ints, found: Found, log: Log | None = None) -> bool:
        """Minimise over the parts that wait until none is left or it is time for a pause; return whether none is left.

        ``best``, ``counters`` and ``found`` are updated where something improves.
        """
        try:
            ended, child, value, heap = run_parts(
                mode,
                self.elided,
                self.compute_pj,
                self.case,
                self.path,
                self.parts,
                self.arrangements,
                self.work,
                best,
                counters,
                found,
                log or new_log(),
                self.stack,
            )
        except SystemError as error:
            raise struck(error) from None
        self.stack = self.stack._replace(child=child, value=value, heap=heap)
        return bool(ended)

    def open_bounds(self) -> tuple[Floats, Floats]:
        """Return the lower bounds [pJ] of all parts that are not searched to their end, and their iterations."""
        parts, stand = self.parts, self.parts.stand
        waiting = parts.heap[: stand[LEFT]]
        bounds_pj, steps = self.bound_pj[waiting], parts.steps[waiting % len(parts.factors)]
        if stand[CURRENT] < 0:
            return bounds_pj, steps
        current = stand[CURRENT] % len(parts.factors)
        return np.append(bounds_pj, self._open_pj()), np.append(steps, parts.steps[current])

    def _open_pj(self) -> float:
        """Least bound [pJ] of all that waits in the part that is searched."""
        stack = self.stack
        level = int(stack.cursor[LEVEL])
        found = [np.inf]
        for k in range(max(level, 1), len(stack.region)):
            begin = stack.region[k, BEGIN]
            rows = stack.heap[begin : begin + stack.region[k, WAITING]]
            # The node that is entered now has yet to fill its own.
            if k > level or stack.cursor[PHASE] != ENTER:
                found.append(float(stack.value[rows, CHILD_BOUND].min(initial=np.inf)))
        if stack.cursor[PHASE] != TAKE and level < len(stack.region):
            found.append(float(stack.node_pj[level]))
        return min(found)

    def fill_tables(self, part: int) -> float:
        """Fill the tables of one part; return its lower bound [pJ]."""
        return float(fill_tables(self.case, self.path, self.compute_pj, self.elided, self.parts, part))

    def search_one(self, part: int, mode: int, best: Floats, counters: Ints, found: Found, log: Log) -> None:
        """Search one part to its end."""
        self.parts.heap[0] = part
        self.parts.stand[LEFT] = 1
        self.parts.stand[CURRENT] = -1
        self.run(mode, best, counters, found, log)
