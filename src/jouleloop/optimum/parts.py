"""The parts of a search: unrollings, each under a choice of what is kept, made as their turn comes.

A bound that takes no tables is a sum over data spaces, since what one costs between two levels depends on nothing else
that is kept. So an unrolling first waits with the least bound over all choices. When its turn comes, those follow that
take the next column of one data space: every choice follows from exactly one other, whose bound is no higher.
"""

import math
from collections.abc import Sequence

import numpy as np

from jouleloop.errors import Fault, InputError
from jouleloop.jit import njit
from jouleloop.model.arrays import Bools, Floats, Ints, LayerArrays, Records
from jouleloop.optimum.arrays import (
    CANONICAL,
    DELAY,
    KEPT,
    MOVED,
    NOT_KEPT,
    PART,
    PLAIN,
    PRODUCT,
    RUN,
    SKETCHED,
    SPREAD,
    STAND,
    Case,
    Parts,
    Path,
    longer,
)
from jouleloop.optimum.candidates import Candidates
from jouleloop.optimum.costs import crossing_pj
from jouleloop.optimum.mesh import forget_neighbours
from jouleloop.optimum.prepare import connect, fills_passed, open_unrolling, prepare
from jouleloop.optimum.sketch import compulsory_pj

#: Most parts that may wait at once (about 50 bytes each).
MOST_PARTS = 12_000_000
#: Most bounds of columns that are kept.
_MOST_SKETCHES = 60_000_000
#: Bits of a number that says what is kept.
_MOST_BITS = 62


def new_parts(candidates: Candidates, columns: Sequence[Bools], layer: LayerArrays, charge: Records) -> Parts:
    """Return the parts of a search, none so far.

    Parameters
    ----------
    columns
        See `MapSpace.columns`.
    charge
        See `jouleloop.optimum.charges.find_charges`.

    Raises
    ------
    InputError
        Where levels and data spaces are too many.
    """
    levels, spaces = columns[0].shape[1], len(columns)
    bits = np.full((levels, spaces), NOT_KEPT, np.int64)
    is_open = np.stack([column.any(axis=0) & ~column.all(axis=0) for column in columns], axis=1)
    bits[np.stack([column.all(axis=0) for column in columns], axis=1)] = KEPT
    bits[is_open] = np.arange(is_open.sum())[::-1]
    if is_open.sum() > _MOST_BITS:
        allowed = f"at most {_MOST_BITS} levels and data spaces that may be kept or not"
        raise InputError(Fault("too many levels for a search", value=int(is_open.sum()), allowed=allowed))
    # One layout, or numba compiles the kernels for each.
    row, ids = candidates.row, np.ascontiguousarray(candidates.ids)
    count = len(ids)
    used = np.prod([row[level].prod(axis=1).astype(float)[own] for level, own in enumerate(ids.T)], axis=0)
    numbers = _numbers(columns, bits)
    stand = np.zeros(1, STAND)
    stand["current"] = stand["tabled"] = -1
    room = count + spaces
    kept = count if count * numbers.size <= _MOST_SKETCHES else 0
    runs = np.zeros(count, RUN)
    runs["first"] = -1
    return Parts(
        row,
        ids,
        np.prod(layer.bounds.astype(float)) / used,
        runs,
        bits,
        numbers,
        np.array([len(column) for column in columns], np.int64),
        charge,
        np.empty(room, np.int64),
        np.empty(room, np.int64),
        np.zeros((room, spaces), np.int16),
        np.empty(room, PART),
        np.zeros(room, np.int8),
        np.empty(room, np.int64),
        stand,
        np.full(kept, np.nan),
        np.full((kept, *numbers.shape), np.inf),
        np.empty((levels + 1, levels)),
        np.zeros(numbers.shape),
        np.zeros(numbers.shape, np.int64),
    )


def _numbers(columns: Sequence[Bools], bits: Ints) -> Ints:
    """Return `Parts.columns`."""
    found = np.zeros((len(columns), max(map(len, columns))), np.int64)
    for v, column in enumerate(columns):
        own = bits[:, v] >= 0
        found[v, : len(column)] = (~column[:, own] * (1 << bits[own, v])).sum(axis=1)
    return found


def grown(parts: Parts, room: int) -> Parts:
    """Return the parts with room for more."""
    more = room - len(parts.unrolling)
    return parts._replace(
        unrolling=longer(parts.unrolling, more),
        choice=longer(parts.choice, more),
        rank=longer(parts.rank, more),
        value=longer(parts.value, more),
        stage=longer(parts.stage, more),
        heap=longer(parts.heap, more),
    )


@njit
def _open(case: Case, parts: Parts, u: int) -> float:
    """Make an unrolling the case at hand, whatever is kept; return the operations. Tables are of no part then."""
    parts.stand[0].tabled = -1
    factors = case.unrolled.factors
    macs = parts.steps[u]
    case.links.row[0] = parts.ids[u, 0]
    for d in range(factors.shape[1]):
        rest = case.target.layer.bounds[d]
        for level in range(factors.shape[0]):
            factors[level, d] = parts.row[level, parts.ids[u, level], d]
            rest //= factors[level, d]
            macs *= factors[level, d]
        case.grid.axis[d].rest = rest
    open_unrolling(case.target.layer, case.unrolled, case.grid.axis)
    charge, edge = parts.charge, case.unrolled.edge
    for level in range(charge.shape[1]):
        n, instances = parts.ids[u, level], case.unrolled.instances[level]
        for v in range(charge.shape[0]):
            for kind in (PLAIN, MOVED):
                edge[level, v].filled_pj[kind] = charge[v, level, n].filled_pj[kind] * instances
                edge[level, v].bypassed_pj[kind] = charge[v, level, n].bypassed_pj[kind] * instances
            edge[level, v].sharers = charge[v, level, n].sharers
    return float(macs)


@njit
def _leaked_pj(case: Case, steps: float) -> float:
    """Energy [pJ] that leaks while all steps are done, at one cycle a step; the unrolling is open."""
    total_pj = 0.0
    for level in range(case.target.hardware.levels.shape[0]):
        total_pj += case.target.hardware.levels[level].leak_pj * case.unrolled.instances[level] * steps
    return total_pj


@njit
def is_kept(choice: int, bit: int) -> bool:
    """Whether a level keeps a data space under a choice, see `Parts.bits`."""
    if bit < 0:
        return bit == KEPT
    return (choice >> bit) & 1 == 0


@njit
def _empty_levels(case: Case) -> None:
    """Let levels that keep nothing go without loops where the next one may have theirs; else as constraints have it."""
    slots, own, bounds = case.all_slots, case.slots, case.target.layer.bounds
    for level in range(slots.shape[0]):
        outward = level + 1 < slots.shape[0]
        for v in range(case.keep.shape[1]):
            outward = outward and not case.keep[level, v]
        for d in range(bounds.shape[0] if outward else 0):
            inner, outer = slots[level, d], slots[level + 1, d]
            outward = outward and case.unrolled.factors[level + 1, d] == 1
            outward = outward and (inner.fixed == 1 or (inner.fixed == 0 and inner.least <= 1))
            outward = outward and outer.fixed == 0 and outer.least <= 1 and outer.most >= bounds[d]
            outward = outward and outer.rank == slots[level + 1, 0].rank
        for d in range(bounds.shape[0]):
            own[level, d].fixed = 1 if outward else slots[level, d].fixed


@njit
def open_part(case: Case, path: Path, parts: Parts, part: int) -> float:
    """Make a part the case at hand, without its tables; return the energy [pJ] that is certain in it."""
    u = parts.unrolling[part]
    macs = _open(case, parts, u)
    forget_neighbours(case.mesh)
    levels, spaces = case.keep.shape
    for level in range(levels):
        for v in range(spaces):
            case.keep[level, v] = is_kept(parts.choice[part], parts.bits[level, v])
    if parts.stand[0].empties:
        _empty_levels(case)
    steps, top = parts.steps[u], levels - 1
    certain_pj = macs * case.target.compute_pj + _leaked_pj(case, steps) + prepare(case, steps, path.traffic[top])
    path.certain_pj[top] = certain_pj
    return float(certain_pj)


@njit
def _sketch(case: Case, parts: Parts, u: int) -> float:
    """Bound all columns of all data spaces under an unrolling, and sort them; return what the operations cost [pJ]."""
    if parts.base_pj.shape[0] == 0:
        base_pj = _bound_columns(case, parts, u, parts.column_pj)
    else:
        if math.isnan(parts.base_pj[u]):
            parts.base_pj[u] = _bound_columns(case, parts, u, parts.sketch_pj[u])
        base_pj = parts.base_pj[u]
        parts.column_pj[:] = parts.sketch_pj[u]
    for v in range(case.keep.shape[1]):
        for c in range(parts.column_counts[v]):
            total_pj, at = parts.column_pj[v, c], c
            while at > 0 and parts.column_pj[v, parts.order[v, at - 1]] > total_pj:
                parts.order[v, at] = parts.order[v, at - 1]
                at -= 1
            parts.order[v, at] = c
    return float(base_pj)


@njit
def _bound_columns(case: Case, parts: Parts, u: int, column_pj: Floats) -> float:
    """Write bounds [pJ] by data space and column under an unrolling; return what the operations cost [pJ]."""
    macs = _open(case, parts, u)
    for v in range(case.keep.shape[1]):
        parts.pair_pj[:] = -1.0
        for c in range(parts.column_counts[v]):
            column_pj[v, c] = _column_pj(case, parts, u, v, parts.columns[v, c])
    return float(macs * case.target.compute_pj + _leaked_pj(case, parts.steps[u]))


@njit
def _column_pj(case: Case, parts: Parts, u: int, v: int, column: int) -> float:
    """Energy [pJ] of a data space under an unrolling, at least, where a column says which levels keep it."""
    total_pj = 0.0
    child = -1
    for level in range(case.keep.shape[0]):
        if is_kept(column, parts.bits[level, v]):
            if parts.pair_pj[child + 1, level] < 0.0:
                parts.pair_pj[child + 1, level] = _pair_pj(case, parts.steps[u], v, child, level)
            total_pj += parts.pair_pj[child + 1, level]
            child = level
    return total_pj


@njit
def _pair_pj(case: Case, steps: float, v: int, child: int, level: int) -> float:
    """Energy [pJ] of a data space between two levels that keep it, at least, nothing in between keeping it."""
    words, sent_pj = connect(case, steps, child, level, v)
    total_pj = crossing_pj(case.unrolled.rate, -1, v, words, 0.0, sent_pj) if child < 0 else 0.0
    for k in range(max(child, 0), level):
        charged = case.unrolled.edge[k + 1, v].bypassed_pj[PLAIN] > 0.0
        if k == child or charged or fills_passed(case.target, v, k):
            total_pj += compulsory_pj(case, k, v)
    return total_pj


@njit
def _add(parts: Parts, u: int, base_pj: float, part: int, stage: int) -> None:
    """Write unrolling, choice and bound of a part whose ranks stand; its unrolling was the last that was sketched."""
    bound_pj = base_pj
    choice = 0
    for v in range(parts.columns.shape[0]):
        c = parts.order[v, parts.rank[part, v]]
        bound_pj += parts.column_pj[v, c]
        choice += parts.columns[v, c]
    parts.unrolling[part] = u
    parts.choice[part] = choice
    parts.value[part].bound = bound_pj
    parts.stage[part] = stage


@njit
def sketch_parts(case: Case, parts: Parts, first: int, last: int) -> None:
    """Let some unrollings be parts, each under the choice of the least bound that takes no tables."""
    stage = SPREAD
    for v in range(parts.columns.shape[0]):
        if parts.column_counts[v] > 1:
            stage = SKETCHED
    for u in range(first, last):
        parts.rank[u] = 0
        _add(parts, u, _sketch(case, parts, u), u, stage)
    parts.stand[0].parts = last


@njit
def has_room(parts: Parts) -> bool:
    """Whether there is room for all parts that follow from one."""
    return bool(parts.stand[0].parts + parts.columns.shape[0] <= parts.unrolling.shape[0])


@njit
def spread(case: Case, parts: Parts, part: int) -> int:
    """Add the parts that follow from a part; return how many. There must be room."""
    parts.stage[part] = SPREAD
    u = parts.unrolling[part]
    base_pj = _sketch(case, parts, u)
    spaces = parts.columns.shape[0]
    first = spaces - 1
    while first > 0 and parts.rank[part, first] == 0:
        first -= 1
    added = 0
    for v in range(first, spaces):
        if parts.rank[part, v] + 1 < parts.column_counts[v]:
            new = parts.stand[0].parts + added
            for other in range(spaces):
                parts.rank[new, other] = parts.rank[part, other]
            parts.rank[new, v] += 1
            _add(parts, u, base_pj, new, SKETCHED)
            added += 1
    parts.stand[0].parts += added
    return added


@njit
def key_of(mode: int, bound_pj: float, steps: float, power: float) -> float:
    """What a part is sorted by while it waits; the power is that of the cycles in the product."""
    if mode == DELAY:
        return steps
    return bound_pj * steps**power if mode == PRODUCT else bound_pj


def sorted_parts(mode: int, best: Records, parts: Parts) -> Ints:
    """Write what all parts are sorted by in a mode; return those that a tile may fit in, sorted."""
    count = int(parts.stand[0]["parts"])
    bound_pj, unrolling = parts.value["bound"][:count], parts.unrolling[:count]
    steps = parts.steps[unrolling]
    keys = parts.value["key"][:count]
    if mode == CANONICAL:
        keys[np.lexsort((unrolling, steps, parts.choice[:count]))] = np.arange(count)
    elif mode == DELAY:
        keys[:] = steps
    else:
        keys[:] = bound_pj * steps ** best[0]["delay_power"] if mode == PRODUCT else bound_pj
    order = np.argsort(keys, kind="stable")
    found: Ints = order[np.isfinite(bound_pj[order])]
    return found


def list_all(case: Case, parts: Parts) -> Parts:
    """Return all parts, choices of what is kept outermost, in their order; the unrollings were sketched."""
    spaces = len(parts.column_counts)
    count = len(parts.ids) * math.prod(parts.column_counts.tolist())
    if count > MOST_PARTS:
        raise InputError(Fault("too many parts to be listed", value=count, allowed=f"at most {MOST_PARTS}"))
    parts = grown(parts, max(count + spaces, len(parts.unrolling)))
    part = 0
    while part < parts.stand[0]["parts"]:
        if parts.stage[part] == SKETCHED:
            spread(case, parts, part)
        part += 1
    order = np.lexsort((parts.unrolling[:count], parts.choice[:count]))
    for array in (parts.unrolling, parts.choice, parts.rank, parts.value, parts.stage):
        array[:count] = array[order]
    return parts
