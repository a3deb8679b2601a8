"""Search a mapspace for its optimum and state the certificate."""

import itertools
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from jouleloop.energy.costs import EnergyCosts
from jouleloop.errors import Fault, InputError, JouleloopError
from jouleloop.mapping.mapping import LevelMapping, Mapping
from jouleloop.mapspace.space import MapSpace, slot_arrays
from jouleloop.mapspace.spatial import Unrolling, unrollings
from jouleloop.model.encode import encode_hardware, encode_layer
from jouleloop.model.evaluate import evaluate_mapping, first_fills_elided
from jouleloop.model.kernel import MAX_LOOPS, Bools, Floats, Ints
from jouleloop.search.arrays import (
    BEST_CYCLES,
    BEST_PJ,
    BEST_PRODUCT,
    CANONICAL,
    CUT_BOUND,
    CUT_CAPACITY,
    DELAY,
    ENERGY,
    LIMIT_PJ,
    LIMIT_PRODUCT,
    NODES,
    PRODUCT,
    STOPPED,
    VISITED,
    Arrangements,
    Found,
    SlotArrays,
    new_best,
    new_counters,
)
from jouleloop.search.result import SearchResult
from jouleloop.search.solve import solve

#: Energies closer than this, relatively, are ties.
TIE = 1e-11
#: Timeloop's rule for several metrics: energies within 0.1 % count as equal and the next metric decides
#: (Timeloop ``include/applications/mapper/mapper-thread.hpp``, ``IsBetterRecursive_``).
NEXT_METRIC = 1e-3

OBJECTIVES: dict[tuple[str, ...], int] = {
    ("energy",): ENERGY,
    ("delay",): DELAY,
    ("edp",): PRODUCT,
    ("energy", "delay"): ENERGY,
}


@dataclass
class _Candidates:
    """All unrollings and their arrangements as arrays."""

    list: list[Unrolling]
    factors: Ints
    ranges: Ints
    arrangements: Arrangements


def _candidates(space: MapSpace) -> _Candidates:
    """Return all unrollings; those that cost the same whatever the temporal loops are one, with all their arrangements."""
    levels, dims = len(space.temporal), len(space.problem.bounds)
    merged: dict[bytes, list[Unrolling]] = {}
    signature = _signature(space)
    for unrolling in unrollings(space):
        merged.setdefault(signature(unrolling.factors), []).append(unrolling)
    found = [group[0] for group in merged.values()]
    rows: list[tuple[Ints, Ints, Ints, Ints]] = []
    ranges = np.empty((len(found), 2), np.int64)
    for u, group in enumerate(merged.values()):
        ranges[u, 0] = len(rows)
        for unrolling in group:
            for choice in itertools.product(*unrolling.arrangements):
                count = np.zeros(levels, np.int64)
                dim = np.zeros((levels, MAX_LOOPS), np.int64)
                bound = np.ones((levels, MAX_LOOPS), np.int64)
                axis = np.zeros((levels, MAX_LOOPS), np.int64)
                for level, loops in enumerate(choice):
                    count[level] = len(loops)
                    for k, (d, factor, side) in enumerate(loops):
                        dim[level, k], bound[level, k], axis[level, k] = d, factor, side
                rows.append((count, dim, bound, axis))
        ranges[u, 1] = len(rows)
    factors = np.array([u.factors for u in found], np.int64).reshape(len(found), levels, dims)
    if not rows:
        empty = np.zeros((0, levels, MAX_LOOPS), np.int64)
        return _Candidates(found, factors, ranges, Arrangements(np.zeros((0, levels), np.int64), empty, empty, empty))
    stacked = [np.stack([row[k] for row in rows]) for k in range(4)]
    return _Candidates(found, factors, ranges, Arrangements(*stacked))


def _signature(space: MapSpace) -> Callable[[Ints], bytes]:
    """Return what tells unrollings apart: factors of a dimension multiply across a level that holds and loops nothing.

    Dimensions that share a rank are told apart level by level, since which instances neighbour each other then matters.
    """
    levels = len(space.temporal)
    coef = space.problem.projection_array
    open_dims = np.array(space.problem.bounds) > 1
    shared = ((coef != 0) & open_dims).sum(axis=2) > 1
    apart = ((coef != 0) & shared[:, :, None]).any(axis=(0, 1)) & open_dims
    empty = [
        all(f == 1 for f in space.temporal[k].fixed) and not any(keep[k].any() for keep in space.keeps)
        for k in range(levels)
    ]

    def signature(factors: Ints) -> bytes:
        reduced = factors.copy()
        for k in range(levels - 1):
            if empty[k]:
                reduced[k + 1][~apart] *= reduced[k][~apart]
                reduced[k][~apart] = 1
        return reduced.tobytes()

    return signature


class _Search:
    """The arrays of one search and its passes."""

    def __init__(self, space: MapSpace, costs: EnergyCosts, semantics: str, budget: int | None) -> None:
        problem = space.problem
        self.space = space
        self.problem = problem
        self.hardware = encode_hardware(space.arch, costs)
        self.elided = first_fills_elided(semantics)
        self.layer = encode_layer(problem)
        self.slots = SlotArrays(*slot_arrays(space.temporal, len(problem.bounds)))
        self.candidates = _candidates(space)
        self.counters = new_counters(budget)
        self.bound_pj = [np.full(len(self.candidates.list), np.nan) for _ in space.keeps]
        levels = len(space.temporal)
        self.levels = levels
        self.least_pj = np.inf

    def run(self, mode: int, best: Floats, capacity: Ints | None = None) -> tuple[Bools, Found] | None:
        """Run one pass over every choice of what is kept; return the keep and nest that won, or None."""
        winner = None
        self.least_pj = np.inf
        c = self.candidates
        for k, keep in enumerate(self.space.keeps):
            found = Found(
                np.zeros(self.levels, np.int64),
                np.zeros((self.levels, MAX_LOOPS), np.int64),
                np.ones((self.levels, MAX_LOOPS), np.int64),
                np.full(1, -1, np.int64),
            )
            bound_pj = self.bound_pj[k] if capacity is None else np.full(len(c.list), np.nan)
            least_pj = solve(
                mode,
                self.layer,
                self.hardware if capacity is None else self.hardware._replace(capacity_words=capacity),
                self.elided,
                keep,
                self.slots,
                c.factors,
                c.ranges,
                c.arrangements,
                best,
                self.counters,
                bound_pj,
                found,
            )
            self.least_pj = min(self.least_pj, least_pj)
            if found.arrangement[0] >= 0:
                winner = (keep, found)
        return winner

    def mapping(self, keep: Bools, found: Found) -> Mapping:
        """Return the nest found as a mapping."""
        arrangements = self.candidates.arrangements
        names = self.problem.shape.dimensions
        spaces = [s.name for s in self.problem.data_spaces]
        levels = []
        at = int(found.arrangement[0])
        for position, name in enumerate(self.space.arch.level_names):
            k = self.levels - 1 - position
            temporal = tuple((names[found.dim[k, t]], int(found.bound[k, t])) for t in range(found.count[k]))
            spatial = tuple(
                (
                    names[arrangements.dim[at, k, s]],
                    int(arrangements.bound[at, k, s]),
                    "XY"[arrangements.axis[at, k, s]],
                )
                for s in range(arrangements.count[at, k])
            )
            levels.append(
                LevelMapping(name, temporal, spatial, frozenset(s for v, s in enumerate(spaces) if keep[k, v]))
            )
        return Mapping(tuple(levels))


def search_mapspace(
    space: MapSpace,
    costs: EnergyCosts,
    *,
    objective: tuple[str, ...] = ("energy",),
    semantics: str = "timeloop-3.0.3",
    budget: int | None = None,
) -> SearchResult:
    """Return the optimum of a mapspace with its certificate.

    Ties are broken by cycles, then by the first in canonical order, so equal inputs give equal output.

    Parameters
    ----------
    objective
        ``("energy",)``, ``("delay",)``, ``("edp",)`` or ``("energy", "delay")``: least cycles among the mappings within
        0.1 % of the least energy.
    budget
        Most mappings to evaluate in full; the result is optimal only where the search ended by itself.
    """
    started = time.perf_counter()
    if objective not in OBJECTIVES:
        allowed = ", ".join("+".join(names) for names in OBJECTIVES)
        raise InputError(Fault("unknown objective", field="objective", value=list(objective), allowed=allowed))
    search = _Search(space, costs, semantics, budget)
    result = SearchResult(
        "ok", objective=objective, mapspace_size=space.size, index_factorizations=space.index_factorizations
    )
    if not search.candidates.list:
        return replace(result, status="no_mapping", reason=_no_unrolling(space), seconds=time.perf_counter() - started)
    best = new_best()
    mode = OBJECTIVES[objective]
    winner = search.run(mode, best)
    if winner is None:
        reason = "the budget of evaluations ended before a mapping was found"
        if search.counters[STOPPED] == 0:
            reason = _no_tile(search)
        return replace(result, status="no_mapping", reason=reason, seconds=time.perf_counter() - started)
    stopped = bool(search.counters[STOPPED])
    least_pj = search.least_pj
    if not stopped and objective == ("energy", "delay"):
        limit = best[BEST_PJ] * (1 + NEXT_METRIC)
        best = new_best(limit_pj=limit)
        winner = search.run(DELAY, best) or winner
        stopped = bool(search.counters[STOPPED])
    if not stopped:
        # Last pass: among all that tie with the optimum the fewest cycles, then the first in canonical order.
        final = new_best()
        if mode == PRODUCT:
            final[LIMIT_PRODUCT] = best[BEST_PRODUCT] * (1 + TIE)
        else:
            final[LIMIT_PJ] = best[BEST_PJ] * (1 + TIE)
        if mode == DELAY or len(objective) > 1:
            final[BEST_CYCLES] = best[BEST_CYCLES] + 0.5
        winner = search.run(CANONICAL, final) or winner
        stopped = bool(search.counters[STOPPED])
    mapping = search.mapping(*winner)
    evaluation = evaluate_mapping(space.problem, space.arch, costs, mapping, semantics)
    value = {"energy": evaluation.energy_pj, "delay": float(evaluation.cycles), "edp": evaluation.edp_pj_cycles}[
        objective[0]
    ]
    if stopped:
        lower, proof = _partial_bound(search, objective[0], least_pj, value)
    else:
        lower, proof = value, "exhaustive branch and bound: every part left out has a lower bound no better than this"
        if len(objective) > 1:
            lower = float(best[LIMIT_PJ]) / (1 + NEXT_METRIC) if np.isfinite(best[LIMIT_PJ]) else value
    return replace(
        result,
        mapping=mapping,
        evaluation=evaluation,
        lower_bound=lower,
        optimal=not stopped,
        proof=proof,
        visited=int(search.counters[VISITED]),
        pruned={
            "bound": int(search.counters[CUT_BOUND]),
            "capacity": int(search.counters[CUT_CAPACITY]),
            "nodes": int(search.counters[NODES]),
        },
        seconds=time.perf_counter() - started,
    )


def _partial_bound(search: _Search, first: str, least_pj: float, value: float) -> tuple[float, str]:
    proof = "the budget of evaluations ended the search; the bound is that of the relaxation"
    if first == "energy":
        return min(least_pj, value), proof
    steps = min(search.problem.macs / float(np.prod(unrolling.factors)) for unrolling in search.candidates.list)
    return min(value, steps if first == "delay" else steps * least_pj), proof


def _no_unrolling(space: MapSpace) -> str:
    parts = []
    for index, slot in enumerate(space.spatial):
        if slot is None:
            continue
        name = space.arch.level_names[len(space.spatial) - 1 - index]
        fan = space.arch.fanout[len(space.spatial) - 1 - index]
        wanted = [f"{d}={slot.fixed[i]}" for i, d in enumerate(space.problem.shape.dimensions) if slot.fixed[i] > 1]
        if wanted:
            parts.append(f"{name} (fan-out {fan[0]} x {fan[1]}) has to unroll {', '.join(wanted)}")
    return "no spatial factors satisfy fan-out and constraints: " + ("; ".join(parts) or "fixed factors leave a rest")


def _no_tile(search: _Search) -> str:
    """Name the level whose capacity, if it were unlimited, would let a mapping through."""
    guilty = []
    for index in range(search.levels):
        limit = search.hardware.capacity_words[index]
        if limit < 0:
            continue
        relaxed = search.hardware.capacity_words.copy()
        relaxed[index] = -1
        counters, search.counters = search.counters, new_counters(1)
        try:
            if search.run(ENERGY, new_best(), relaxed) is not None:
                name = search.space.arch.level_names[search.levels - 1 - index]
                guilty.append(f"{name} holds {limit} words, less than any tile the constraints allow")
        finally:
            search.counters = counters
    return "; ".join(guilty) or "no factors satisfy the temporal constraints and capacities together"


def describe_failure(error: JouleloopError) -> SearchResult:
    """Return the result for a layer that the constraints cannot be applied to."""
    return SearchResult("invalid", reason="; ".join(str(fault) for fault in error.faults))
