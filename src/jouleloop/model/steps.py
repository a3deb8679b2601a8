"""The steps of the loops outside a boundary: which fetch a whole tile, which its new part, and which nothing.

The analysis follows Timeloop 3.0.3 ``src/loop-analysis/nest-analysis.cpp``: every loop runs iterations 0 and 1 only,
the latter standing for all others; the point set of a level is an axis-aligned box; what a level asks of its parent is
the box less the last box, where the move between the two equals the move before, and the whole box elsewhere
(``OperationSpace::SaveAndSubtractIfSameStride``).

Why no loop is executed here: let loop 0 be the innermost temporal loop outside the boundary, with move v0. Between any
two steps of outer loops there is at least one step of loop 0. A step of loop 0 always subtracts (the last move is
either none or v0). A step of an outer loop j has the move vj (its own less those of all inner loops, which fall back to
iteration 0), and subtracts only if vj = v0. So two box sizes and one comparison a loop give the exact sum.

In Timeloop 4 a step that moves nothing is no move: it sends nothing and leaves the last move as it is. Then loop 0 is
the innermost loop that moves the box, those inside it count for nothing, and so do outer steps with vj = 0.
"""

from typing import NamedTuple

import numpy as np

from jouleloop.jit import njit
from jouleloop.model.arrays import Bools, Floats, Ints, Records, copy_rows

#: A loop around a boundary: its dimension, how often it runs, and the index step of one iteration.
AROUND = np.dtype([("dim", np.int64), ("bound", np.int64), ("step", np.int64)])


class Box(NamedTuple):
    """What one instance holds, and what a step of loop 0 asks for beyond the last box."""

    side: Ints
    """Length by rank."""
    part_side: Ints
    part_at: Ints
    """Length of the new part by rank, and where it begins in the box."""
    words: float
    part_words: float


class OuterSteps(NamedTuple):
    """The steps of all loops outside a boundary, innermost first."""

    loop: Records
    """Of `AROUND`."""
    move: Ints
    """By loop and rank, how the box moves when the loop advances and all loops inside it fall back."""
    times: Floats
    """Product of all bounds from each loop outward, and last 1."""
    matches: Bools
    """Whether an outer loop moves the box as loop 0 does, and so fetches the new part."""
    rests: Bools
    """Whether an outer loop moves nothing and so fetches nothing."""
    waits: bool
    """Whether the innermost loops move nothing and count for nothing."""
    whole_calls: float
    """How many steps of outer loops, and the first call, fetch the whole box."""
    matched_calls: float
    """How many steps of outer loops fetch the new part."""
    first_calls: float
    """Steps of loop 0."""


#: Instead of the one rank that a step moves: none, and several.
NO_RANK, RANKS = -1, -2


@njit
def still(move: Ints) -> bool:
    """Whether a step moves nothing."""
    stands = True
    for r in range(move.shape[0]):
        stands = stands and move[r] == 0
    return stands


@njit
def alike(move: Ints, last: Ints) -> bool:
    """Whether a step subtracts the last box: its move is the last one."""
    same = True
    for r in range(move.shape[0]):
        same = same and move[r] == last[r]
    return same


@njit
def side_of(coef: Ints, r: int, extent: Ints) -> int:
    """Length along a rank of the box that ``extent`` indices a dimension span."""
    side = 1
    for d in range(coef.shape[1]):
        side += coef[r, d] * (extent[d] - 1)
    return side


@njit
def moves(coef: Ints, d: int) -> bool:
    """Whether a dimension moves a data space."""
    moving = False
    for r in range(coef.shape[0]):
        moving = moving or coef[r, d] != 0
    return moving


@njit
def rank_moved(move: Ints) -> int:
    """Return the one rank that a step moves; else `NO_RANK` or `RANKS`."""
    moved = NO_RANK
    for r in range(move.shape[0]):
        if move[r] != 0:
            moved = r if moved == NO_RANK else RANKS
    return moved


@njit
def new_words(words: float, side: int, move: int) -> float:
    """Words of a box that one lying ``move`` behind it along one rank lacks, of so many indices a side there."""
    return words if move >= side else words / side * move


@njit
def subtract_box(box: Ints, other: Ints, parts: Ints) -> int:
    """Write ``box`` less ``other``, both (ranks, 2), as slices; return their number (``AAHR::MultiSubtract``)."""
    ranks = box.shape[0]
    for r in range(ranks):
        if box[r, 1] <= other[r, 0] or other[r, 1] <= box[r, 0]:
            copy_rows(box, parts[0])
            return 1
    middle = box.copy()
    number = 0
    for r in range(ranks):
        if middle[r, 0] < other[r, 0]:
            copy_rows(middle, parts[number])
            parts[number, r, 1] = other[r, 0]
            number += 1
            middle[r, 0] = other[r, 0]
        if other[r, 1] < middle[r, 1]:
            copy_rows(middle, parts[number])
            parts[number, r, 0] = other[r, 1]
            number += 1
            middle[r, 1] = other[r, 1]
    return number


@njit
def find_steps(coef: Ints, loop: Records, stateless: bool, resting: bool) -> OuterSteps:
    """Return the steps of the temporal loops outside a boundary, ``loop`` having the innermost first.

    ``stateless`` marks the boundary to the compute units, which hold nothing from one step to the next, or to a level
    that reuses nothing; ``resting`` says that steps without a move leave the last move alone.
    """
    loops, ranks, waiting = loop.shape[0], coef.shape[0], 0
    move = np.zeros((max(loops, 1), ranks), np.int64)
    for j in range(loops):
        for r in range(ranks):
            value = coef[r, loop[j].dim] * loop[j].step
            for i in range(j):
                value -= coef[r, loop[i].dim] * loop[i].step
            move[j, r] = value
    if resting and not stateless:
        while waiting < loops and still(move[waiting]):
            waiting += 1
        loop, move, loops = loop[waiting:], move[waiting:], loops - waiting
    times = np.ones(max(loops, 1) + 1)
    matches, rests = np.zeros(max(loops, 1), np.bool_), np.zeros(max(loops, 1), np.bool_)
    whole_calls, matched_calls, first_calls = 1.0, 0.0, 0.0
    for j in range(loops - 1, -1, -1):
        times[j] = times[j + 1] * loop[j].bound
    for j in range(1, loops):
        match = not stateless and alike(move[j], move[0])
        matches[j] = match
        rests[j] = resting and not stateless and still(move[j])
        if rests[j]:
            continue
        if match:
            matched_calls += (loop[j].bound - 1) * times[j + 1]
        else:
            whole_calls += (loop[j].bound - 1) * times[j + 1]
    if loops > 0:
        first_calls = (loop[0].bound - 1) * times[1]
    return OuterSteps(loop, move, times, matches, rests, waiting > 0, whole_calls, matched_calls, first_calls)


@njit
def find_box(coef: Ints, extent: Ints, steps: OuterSteps, stateless: bool) -> Box:
    """Return the box of one instance, and what a step of loop 0 fetches beyond the last one."""
    ranks = coef.shape[0]
    side, words = np.empty(ranks, np.int64), 1.0
    for r in range(ranks):
        side[r] = side_of(coef, r, extent)
        words *= side[r]
    part_side, part_at, part_words = side.copy(), np.zeros(ranks, np.int64), words
    if steps.loop.shape[0] > 0 and not stateless:
        moved = rank_moved(steps.move[0])
        if moved == NO_RANK:
            part_words = 0.0
        elif moved >= 0:
            part_side[moved] = min(side[moved], steps.move[0, moved])
            part_at[moved] = side[moved] - part_side[moved]
            part_words = new_words(words, side[moved], steps.move[0, moved])
    return Box(side, part_side, part_at, words, part_words)


@njit
def calls_of(steps: OuterSteps, kind: int, stateless: bool) -> tuple[float, bool, bool]:
    """Return of one kind of call how many there are, and whether each fetches the whole box, and the call before did.

    Kinds 0 and 1 are the steps of loop 0 after a whole box and after a part; kind j + 1 are those of loop j, which
    follow a part.
    """
    if kind < 2:
        after = steps.whole_calls if kind == 0 else steps.matched_calls
        return (steps.loop[0].bound - 1) * after, stateless, kind == 0 or stateless
    j = kind - 1
    if steps.rests[j]:
        return 0.0, False, stateless
    return (steps.loop[j].bound - 1) * steps.times[j + 1], not steps.matches[j], stateless


@njit
def find_shift(box: Box, move: Ints, whole: bool, before: bool, reach: Ints, need: Ints) -> bool:
    """Write how far away the instance is that held what a step needs; return whether one can be there.

    ``whole`` and ``before``: whether the box now, and the one before, are whole; ``reach`` is how far apart instances
    can be by rank.
    """
    for r in range(move.shape[0]):
        now_side = box.side[r] if whole else box.part_side[r]
        before_side = box.side[r] if before else box.part_side[r]
        if now_side != before_side:
            return False
        need[r] = move[r] + (0 if whole else box.part_at[r]) - (0 if before else box.part_at[r])
        if abs(need[r]) > reach[r]:
            return False
    return True
