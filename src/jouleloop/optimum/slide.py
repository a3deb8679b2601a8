"""How a loop over a dimension that shares a rank slides a tile, and what that costs at a boundary."""

import math
from typing import NamedTuple

from jouleloop.jit import njit
from jouleloop.model.arrays import Floats, Ints, Records
from jouleloop.model.steps import new_words, side_of
from jouleloop.optimum.arrays import Case
from jouleloop.optimum.costs import crossing_pj, network_pj
from jouleloop.optimum.words import common, may_cancel


@njit
def windows(
    coef: Ints, side: Records, place: Records, bounds: Ints, j: int, far: int = 0, grid: int = 0
) -> tuple[bool, bool, bool]:
    """What loops outside a tile over the rank of ``j`` do to it together, the innermost of all being over ``j``.

    Returns whether they may leave it in place (*windows that cannot stand*); whether a step of a loop over another
    dimension, or of one over ``j`` outside such a loop, may move like the innermost (*steps unlike the innermost*); and
    whether a step may move it by a multiple of ``grid`` no further than ``far`` (*moves within reach*).
    What one dimension moves is a multiple of what all tiles below its innermost loop span, and at most what is left of
    its bound beside that.
    """
    rank = side[j].halo
    step, most = coef[rank, j] * place[j].across, bounds[j] // place[j].across - 1
    others, other, other_most = 0, 1, 0
    for d in range(side.shape[0]):
        if d != j and side[d].halo == rank and place[d].outside > 1:
            others += 1
            other, other_most = coef[rank, d] * place[d].across, bounds[d] // place[d].across - 1
    if others > 1:
        return True, True, True
    reaches = False
    # The fewer multiples are tried.
    one, two, most_one, most_two = step, other, most, other_most
    if most > other_most:
        one, two, most_one, most_two = other, step, other_most, most
    for move in range(max(grid, 1), far + 1, max(grid, 1)):
        for k in range(-most_one, most_one + 1):
            left = abs(move - k * one)
            reaches = reaches or (left % two == 0 and left <= most_two * two)
    return may_cancel(step, most, other, other_most), may_cancel(step, most + 1, other, other_most), reaches


class Slide(NamedTuple):
    """How the innermost loop outside a boundary slides a tile along a rank that dimensions share."""

    length: int
    step: int
    """Indices of the tile along the rank, and by how many one iteration of the loop moves it."""
    along: float
    """Iterations of all loops over the rank."""
    idle: bool
    """Whether a loop outside leaves the data space in place."""
    reached: bool
    """Whether two instances may lie a step apart."""
    cancel: bool
    alike: bool
    """See `windows`."""
    plain: float
    moved: float
    standing: float
    """What part of the words comes in by steps that no link serves, that links may serve, that stand."""


@njit
def find_slide(case: Case, level: int, v: int, j: int, near: Ints, across: int) -> Slide:
    """Find how a loop over ``j`` slides the tile below a level, see `slide`.

    ``across`` is how many indices one iteration moves it.
    """
    coef, side, place = case.target.layer.coef[v], case.unrolled.side[v], case.scratch.place
    coincide = case.unrolled.edge[level - 1, v].coincide
    resting = case.target.layer.reuse[level - 1, 0].resting
    rank = side[j].halo
    length, along = side_of(coef, rank, case.scratch.extent), 1.0
    far = grid = 0
    idle = near_any = False
    for d in range(coef.shape[1]):
        idle = idle or (side[d].idle and place[d].outside > 1)
        near_any = near_any or near[d] == 1
        if side[d].halo != rank:
            continue
        along *= place[d].outside
        if near[j] == 1:
            far += coef[rank, d] * (place[d].across - place[d].extent)
            if place[d].across > place[d].extent:
                grid = common(grid, coef[rank, d] * place[d].extent)
    step = coef[rank, j] * across
    bounds = case.target.layer.bounds
    cancel, alike, reaches = windows(coef, side, place, bounds, j, far if step >= length else 0, grid)
    reached = 0 < step <= far and step % grid == 0
    plain, moved, standing = 1.0, 0.0, 0.0
    if step >= length and (cancel or reaches):
        # Of the innermost loop's steps, no less than its least bound allows, the move is known.
        others = 1.0 / case.grid.divisor[j, 1].value
        plain, moved = (0.0, 1.0 - others) if reached else (1.0 - others, 0.0)
        if cancel and (resting or coincide):
            standing = others
        elif cancel and not near_any:
            plain += others
        else:
            moved += others
    return Slide(length, step, along, idle, reached, cancel, alike, plain, moved, standing)


@njit
def _slid_pj(case: Case, level: int, v: int, j: int, start: int, iterations: float, s: Slide) -> float:
    """Energy [pJ] of a data space through the boundary below a level, a run starting at a divisor, see `slide`."""
    axis, divisor, place = case.grid.axis, case.grid.divisor, case.scratch.place
    edge, rate, child = case.unrolled.edge[level - 1, v], case.unrolled.rate, level - 1
    # Steps that stand fetch nothing in Timeloop 4.
    resting = case.target.layer.reuse[child, 0].resting
    full, distinct = case.scratch.full_words[v], case.scratch.distinct[v]
    if s.step >= s.length:
        words = full * iterations
        asked = words * (s.plain * distinct + s.moved * edge.distinct_linked)
        filled = words * (s.plain + s.moved * edge.fill_linked)
        sent_pj = network_pj(rate, child, v, words * s.plain, words * s.moved)
        if not resting:
            filled += words * s.standing * edge.fill_standing
    else:
        # All steps that may move like the innermost loop's fetch what is new only; all others the whole box, and
        # no link serves those, as the box before was smaller.
        part = 0.5 if s.cancel and resting else 1.0
        whole = iterations / s.along if s.alike else iterations / place[j].outside
        beyond = divisor[j, axis[j].count - 1 - start].value
        if not s.alike and beyond > 1:
            # Beyond the run at most those that have no loop inside but over the dimension and idle ones.
            whole *= 0.5 * (beyond + 1) if s.idle else beyond
        words = new_words(full, s.length, s.step) * (iterations - whole)
        asked = part * (full * whole * distinct + words * (edge.distinct_linked if s.reached else distinct))
        filled = part * (full * whole + words * (edge.fill_linked if s.reached else 1.0))
        linked = part * words if s.reached else 0.0
        sent_pj = network_pj(rate, child, v, part * (full * whole + words) - linked, linked)
    if s.cancel or s.reached or s.moved > 0.0:
        asked = math.floor(asked)
        filled = math.floor(filled * (1.0 - 1e-12))
    return float(crossing_pj(rate, child, v, asked, filled, sent_pj))


@njit
def slide(
    case: Case, level: int, v: int, j: int, first: int, iterations: float, near: Ints, slide_pj: Floats
) -> None:  # fmt: skip
    """Add the energy [pJ] of a data space through the boundary below a level, a loop over ``j`` being next outside.

    Beyond a level that unrolls ``j`` it moves the tile further: the least counts (*strides beyond an unrolling*).

    Parameters
    ----------
    first
        Divisor index of the first start of the run along ``j``; all further out that the tile divides are added to.
    iterations
        Product of all temporal iterations outside.
    near
        Of `Unrolled.near`, of the data space at the level; of no dimension where no link serves.
    slide_pj
        By start of the run.
    """
    divisor, place, unrolled = case.grid.divisor, case.scratch.place, case.unrolled
    own = find_slide(case, level, v, j, near, place[j].across)
    for start in range(first, case.grid.axis[j].count):
        if divisor[j, start].value % place[j].tile_size != 0:
            continue
        least_pj = _slid_pj(case, level, v, j, start, iterations, own)
        for outer in range(level + 1, unrolled.inside.shape[0]):
            if unrolled.factors[outer, j] > 1:
                beyond = find_slide(case, level, v, j, near, place[j].tile_size * unrolled.inside[outer, j])
                least_pj = min(least_pj, _slid_pj(case, level, v, j, start, iterations, beyond))
        slide_pj[start] += least_pj
