"""Steps of a run that no link serves, since they move a rank along which no two instances differ.

`docs/search.md` states the lemma: *other ranks in a run*.
"""

from typing import NamedTuple

import numpy as np

from jouleloop.jit import njit
from jouleloop.optimum.arrays import Case
from jouleloop.optimum.costs import crossing_rate_pj, network_pj
from jouleloop.optimum.slide import find_slide


class Linked(NamedTuple):
    """What a data space takes at a boundary if links serve all steps that they may."""

    space: int
    """The data space, -1 where links serve none or nothing is known."""
    least_pj: float
    """That energy [pJ], at least."""
    more_pj: float
    """By how much more it would be if links served no step but the innermost loop's, over the share of the others."""


@njit
def find_linked(case: Case, level: int, j: int, iterations: float, slides: int, idles: int) -> Linked:
    """Return what links may serve below a level, a loop over ``j`` being next outside.

    ``slides`` and ``idles`` tell how many data spaces it slides and leaves in place, see `Scratch`.
    """
    axis, scratch = case.grid.axis, case.scratch
    for d in range(axis.shape[0]):
        for i in range(idles if axis[d].kind == axis[j].kind else 0):
            if not case.unrolled.side[scratch.idle[i], d].idle:
                return Linked(-1, 0.0, 0.0)
    for i in range(slides):
        v, least_pj, more_pj = scratch.slid[i], np.inf, np.inf
        for outer in range(level, case.unrolled.inside.shape[0]):
            if outer == level or case.unrolled.factors[outer, j] > 1:
                across = scratch.place[j].tile_size * case.unrolled.inside[outer, j]
                own_pj, own_more_pj = _linked_pj(case, level, v, j, iterations, across)
                least_pj, more_pj = min(least_pj, own_pj), min(more_pj, own_more_pj)
        if more_pj > 0.0:
            return Linked(v, least_pj, more_pj)
    return Linked(-1, 0.0, 0.0)


@njit
def _linked_pj(case: Case, level: int, v: int, j: int, iterations: float, across: int) -> tuple[float, float]:
    """Return `Linked.least_pj` and ``more_pj`` if one iteration of the innermost loop moves so many indices."""
    child, edge, rate = level - 1, case.unrolled.edge[level - 1, v], case.unrolled.rate
    s = find_slide(case, level, v, j, case.unrolled.near[level, v], across)
    if s.step < s.length or s.moved + s.standing == 0.0:
        return 0.0, 0.0
    words, distinct = case.scratch.full_words[v] * iterations, case.scratch.distinct[v]
    asked, filled = s.plain * distinct + s.moved * edge.distinct_linked, s.plain + s.moved * edge.fill_linked
    linked, brought, moved = edge.distinct_linked, edge.fill_linked, 1.0
    if s.standing > 0.0:
        linked = brought = moved = 0.0
        if not case.target.layer.reuse[child, 0].resting:
            brought = edge.fill_standing
            filled += s.standing * brought
    least_pj = crossing_rate_pj(rate, child, v, words * asked, words * filled)
    least_pj += network_pj(rate, child, v, words * s.plain, words * s.moved)
    all_pj = crossing_rate_pj(rate, child, v, words * (asked + distinct - linked), words * (filled + 1.0 - brought))
    all_pj += network_pj(rate, child, v, words * (s.plain + 1.0), words * (s.moved - moved))
    return least_pj, all_pj - least_pj


@njit
def linked_pj(case: Case, level: int, j: int, linked: Linked, idles: int) -> float:
    """Energy [pJ] of a data space that links serve and of those that the run leaves in place, at least.

    A shorter run has fewer loops over other ranks, and lets those that it leaves in place be asked for more often. Both
    are linear in the inverse of its iterations, so that the longest run or the shortest costs least.
    """
    scratch, child, rate = case.scratch, level - 1, case.unrolled.rate
    together, iterations = _split_run(case, level, linked.space, j)
    least_pj = np.inf
    for times in (1.0, iterations):
        total_pj = linked.least_pj + linked.more_pj * (1.0 - 1.0 / times) / together
        for i in range(idles):
            v = scratch.idle[i]
            if case.target.layer.reuse[child, 0].resting and scratch.shares[v]:
                continue  # its window may go on sliding
            words = scratch.sure_words[v] / (together * times)
            total_pj += crossing_rate_pj(rate, child, v, words * scratch.distinct[v], words)
            total_pj += network_pj(rate, child, v, words, 0.0)
        least_pj = min(least_pj, total_pj)
    return least_pj


@njit
def _split_run(case: Case, level: int, v: int, j: int) -> tuple[float, float]:
    """Return the iterations of the longest run, of ``j`` and loops whose steps links may serve, and of others.

    The latter move a rank along which no two instances differ.
    """
    scratch, axis, divisor = case.scratch, case.grid.axis, case.grid.divisor
    side, near = case.unrolled.side[v], case.unrolled.near[level, v]
    kind, together, others = axis[j].kind, 1.0, 1.0
    for d in range(axis.shape[0]):
        if axis[d].kind != kind:
            continue
        alone = d != j and not side[d].idle and near[d] == 0
        for e in range(axis.shape[0] if side[d].halo >= 0 else 0):
            # Two dimensions of a rank may cancel out.
            alone = alone and (e == d or axis[e].kind != kind or side[e].halo != side[d].halo)
        own = divisor[d, scratch.start[d]].value / scratch.place[d].tile_size
        if alone:
            others *= own
        else:
            together *= own
    return together, others
