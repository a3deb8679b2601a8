"""What links between compute units leave to be asked for, under each arrangement of the spatial loops next to them.

`docs/search.md` states the lemma: *one arrangement for all*.
"""

import numpy as np

from jouleloop.jit import njit
from jouleloop.model.arrays import Floats, Ints, Record, Records
from jouleloop.model.links import fill_offsets, find_reach, inside_out, mesh_below, neighbour_of
from jouleloop.optimum.arrays import Case, UnitLinks
from jouleloop.optimum.candidates import Candidates
from jouleloop.optimum.mesh import is_among, keep_common

#: Most arrangements that are looked at, most units in all of them together, and most shares that are kept.
_MOST_ARRANGED, _MOST_UNITS, _MOST_SHARES = 20_000, 3_000_000, 4_000_000
#: Of a unit without a neighbour on one side.
_NOBODY = np.iinfo(np.int64).max


def no_links(rows: int, spaces: int, ranks: int) -> UnitLinks:
    """Return that arrangements are not told apart."""
    run, row, entry = np.zeros((rows, 2), np.int64), np.zeros(1, np.int64), np.empty(0, np.int64)
    return UnitLinks(run, row, np.empty((0, spaces)), np.empty((0, spaces, ranks, 1)), entry, np.empty(0))


def find_links(case: Case, candidates: Candidates) -> UnitLinks:
    """Return what each arrangement of the factors next to the units leaves, those of few units first.

    Of arrangements of which one leaves no more than another, of any data space and move, that one stands for both.
    """
    factors, coef = candidates.row[0][: len(candidates.rows[0])], case.target.layer.coef
    spaces, ranks, _ = coef.shape
    nothing = no_links(len(factors), spaces, ranks)
    if case.unrolled.origin[0] != 0:  # merged unrollings have other factors next to the units
        return nothing._replace(entry=np.full(1, -1))
    moves = 1 + int((np.abs(coef) * (factors - 1)[:, None, None, :]).sum(axis=-1).max(initial=0))
    units = factors.prod(axis=1)
    stands, new = [np.empty((0, spaces))], [np.empty((0, spaces, ranks, moves))]
    left, arranged = _MOST_UNITS, 0
    entry: dict[int, int] = {}
    run, end = nothing.run.copy(), 0
    for n in np.argsort(units, kind="stable").tolist():
        if units[n] == 1:
            continue
        first, last = candidates.arranged(0, n)
        left, arranged = left - (last - first) * int(units[n]), arranged + last - first
        if left < 0 or arranged > _MOST_ARRANGED:
            break
        *kept, stands_for = _least(*_counted(case, candidates, (first, last), int(units[n]), moves))
        if (end + len(kept[0])) * spaces * ranks * moves > _MOST_SHARES:
            break
        entry |= dict(zip(range(first, last), (end + stands_for).tolist(), strict=True))
        run[n], end = (end, end + len(kept[0])), end + len(kept[0])
        stands.append(kept[0])
        new.append(kept[1])
    entries = np.full(1 + candidates.arrangements, -1)
    entries[list(entry)] = list(entry.values())
    return UnitLinks(run, nothing.row, np.concatenate(stands), np.concatenate(new), entries, np.zeros(end))


def _counted(
    case: Case, candidates: Candidates, which: tuple[int, int], units: int, moves: int
) -> tuple[Floats, Floats]:
    """Return `UnitLinks.stands` and `UnitLinks.new` of some arrangements."""
    coef, level = case.target.layer.coef, case.target.hardware.levels[0]
    counts, loops = candidates.loops_of(*which)
    stands, new = np.ones((len(counts), len(coef))), np.ones((len(counts), *coef.shape[:2], moves))
    for a, count in enumerate(counts.tolist()):
        for v, own in enumerate(coef):
            stands[a, v] = count_links(own, loops[a, :count], level, units, new[a, v])
    return stands, new


def _least(stands: Floats, new: Floats) -> tuple[Floats, Floats, Ints]:
    """Return the arrangements that leave less than each other in something, and by arrangement which stands for it."""
    every = np.concatenate([stands, new.reshape(len(new), -1)], axis=1)
    whole = np.unique(every, axis=0)
    kept = np.array([n for n, own in enumerate(whole) if not (np.delete(whole, n, axis=0) <= own).all(axis=1).any()])
    stands_for = np.array([np.flatnonzero((whole[kept] <= own).all(axis=1))[0] for own in every], np.int64)
    left = whole[kept]
    return left[:, : stands.shape[1]], left[:, stands.shape[1] :].reshape(-1, *new.shape[1:]), stands_for


@njit
def count_links(coef: Ints, loops: Records, level: Record, units: int, new: Floats) -> float:
    """Write the shares of boxes that a step asks for, at least, by rank and how far it moves it, forward or back.

    A box is asked for if a unit that takes it has no mesh neighbour which held it. Other ranks may move as they like.
    Returns the same of a step that stands.

    Parameters
    ----------
    coef
        Of one data space.
    loops
        Spatial loops of an arrangement, the outermost first.
    level
        The innermost one, below which the units lie.
    """
    ranks, mesh = coef.shape[0], mesh_below(level, loops)
    around, reach = inside_out(loops), np.zeros(ranks, np.int64)
    find_reach(coef, around, reach)
    offsets, boxes = np.zeros((units, ranks), np.int64), np.zeros(units, np.int64)
    fill_offsets(coef, around, reach, True, offsets, boxes)
    # By box how far neighbours are that every unit of it has, along each rank and, last, whether in place.
    apart, places = np.full((boxes.max() + 1, ranks + 1, 4), _NOBODY), np.empty((ranks + 1, 4), np.int64)
    seen = np.zeros(apart.shape[0], np.bool_)
    for i in range(units):
        _look_around(offsets, i, mesh, places)
        if seen[boxes[i]]:
            for r in range(ranks + 1):
                keep_common(apart[boxes[i], r], places[r], _NOBODY)
        else:
            apart[boxes[i]] = places
        seen[boxes[i]] = True
    served = np.zeros((ranks, 2, new.shape[1]), np.int64)
    still = 0
    for box in range(apart.shape[0]):
        still += seen[box] and is_among(0, apart[box, ranks], 4)
        for r in range(ranks if seen[box] else 0):
            for way in range(4):
                move = apart[box, r, way]
                if move != _NOBODY and move != 0 and not is_among(move, apart[box, r], way):
                    served[r, int(move > 0), abs(move)] += 1
    for r in range(ranks):
        for move in range(1, new.shape[1]):
            new[r, move] = 1.0 - max(served[r, 0, move], served[r, 1, move]) / seen.sum()
    return float(1.0 - still / seen.sum())


@njit
def _look_around(offsets: Ints, i: int, mesh: tuple[int, int], places: Ints) -> None:
    """Write how far the neighbours of a unit are from it by rank, and in the last row 0 where all of that is 0."""
    ranks = offsets.shape[1]
    for way in range(4):
        other = neighbour_of(i, way, offsets.shape[0], mesh)
        places[:, way] = _NOBODY
        if other < 0:
            continue
        places[ranks, way] = 0
        for r in range(ranks):
            places[r, way] = offsets[other, r] - offsets[i, r]
            if places[r, way] != 0:
                places[ranks, way] = _NOBODY
