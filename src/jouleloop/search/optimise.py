"""Search a mapspace for its optimum and state the certificate."""

import time
from dataclasses import replace

import numpy as np

from jouleloop.energy.costs import EnergyCosts
from jouleloop.errors import Fault, InputError
from jouleloop.mapping.mapping import LevelMapping, Mapping
from jouleloop.mapspace.space import MapSpace, slot_array
from jouleloop.model.arrays import CAPACITY, MAX_LOOPS, SPATIAL, TEMPORAL, Bools, Floats, LayerArrays
from jouleloop.model.encode import encode_hardware, encode_layer
from jouleloop.model.evaluate import evaluate_mapping, first_fills_elided
from jouleloop.model.objective import OBJECTIVES, Objective
from jouleloop.search.arrays import (
    BEST_CYCLES,
    BEST_PJ,
    BEST_PRODUCT,
    CANONICAL,
    CUT_BOUND,
    CUT_CAPACITY,
    DELAY,
    ENERGY,
    LEAST,
    LIMIT_PJ,
    LIMIT_PRODUCT,
    NODES,
    PRODUCT,
    STOPPED,
    VISITED,
    Found,
    new_best,
    new_counters,
)
from jouleloop.search.candidates import find_candidates
from jouleloop.search.prepare import find_sides
from jouleloop.search.result import SearchResult
from jouleloop.search.solve import Solver

#: Energies closer than this, relatively, are ties.
TIE = 1e-11
#: Timeloop's rule for several metrics: energies within 0.1 % count as equal and the next metric decides
#: (Timeloop ``include/applications/mapper/mapper-thread.hpp``, ``IsBetterRecursive_``).
NEXT_METRIC = 1e-3

#: What may be minimised besides the single objectives: energy, with the delay as the next metric.
_NEXT = ("energy", "delay")


def mode_of(objective: Objective) -> int:
    """Return how an objective is searched; a product is searched as energy times a power of the cycles."""
    if objective.delay_power == 0:
        return ENERGY
    return PRODUCT if objective.energy_power else DELAY


def delay_power_of(objective: Objective) -> float:
    """Return the power of the cycles in the product with energy that orders mappings as the objective does."""
    return objective.delay_power / (objective.energy_power or 1)


def new_found(levels: int) -> Found:
    """Return the record of a descent that has found nothing yet."""
    loops = np.zeros((levels, 2, MAX_LOOPS, 3), np.int64)
    return Found(np.zeros((levels, 2), np.int64), loops, np.full(1, -1, np.int64))


class Search:
    """The arrays of one search and its passes."""

    def __init__(self, space: MapSpace, costs: EnergyCosts, semantics: str, budget: int | None) -> None:
        problem = space.problem
        self.space = space
        self.problem = problem
        self.spec = encode_hardware(space.arch, costs)
        self.compute_pj = costs.compute_pj
        self.elided = first_fills_elided(semantics)
        # Dimensions of bound 1 have no loops; leaving them out shortens every inner loop of the search. One of which a
        # level has to hold more stays in, so that no mapping is found.
        slots = slot_array(space.temporal, len(problem.bounds))
        self.dims = np.flatnonzero((np.array(problem.bounds) > 1) | (slots[..., LEAST] > 1).any(axis=0))
        if not len(self.dims):
            self.dims = np.zeros(1, np.int64)
        whole = encode_layer(problem)
        self.layer = LayerArrays(
            np.ascontiguousarray(whole.coef[:, :, self.dims]), whole.read_write, whole.bounds[self.dims]
        )
        self.slots = np.ascontiguousarray(slots[:, self.dims])
        side = find_sides(whole.coef, whole.bounds)
        self.side = np.ascontiguousarray(side[:, self.dims])
        self.candidates = find_candidates(space, self.dims, side)
        self.counters = new_counters(budget)
        self.levels = len(space.temporal)
        self.solvers = [self._solver(keep, self.spec) for keep in space.keeps] if len(self.candidates.factors) else []

    def _solver(self, keep: Bools, spec: Floats) -> Solver:
        return Solver(self.layer, spec, self.compute_pj, self.elided, keep, self.slots, self.side, self.candidates)

    @property
    def least_pj(self) -> float:
        """Lower bound on the energy of every mapping, from the unrollings bounded so far."""
        return min(float(np.nanmin(solver.bound_pj, initial=np.inf)) for solver in self.solvers)

    @property
    def least_steps(self) -> float:
        """Lower bound on the cycles of every mapping: the operations, shared by as many units as any unrolling uses."""
        return min(self.problem.macs / float(np.prod(factors)) for factors in self.candidates.factors)

    def run(self, mode: int, best: Floats, spec: Floats | None = None) -> tuple[Bools, Found] | None:
        """Run one pass over every choice of what is kept; return the keep and nest that won, or None.

        ``spec`` puts other limits in the place of the hardware's.
        """
        winner = None
        for solver in self.solvers:
            keep = solver.case.keep
            found = new_found(self.levels)
            chosen = solver if spec is None else self._solver(keep, spec)
            chosen.run(mode, best, self.counters, found)
            if found.arrangement[0] >= 0:
                winner = (keep, found)
        return winner

    def mapping(self, keep: Bools, found: Found) -> Mapping:
        """Return the nest found as a mapping."""
        names = [self.problem.shape.dimensions[d] for d in self.dims]
        spaces = [s.name for s in self.problem.data_spaces]
        levels = []
        for position, name in enumerate(self.space.arch.level_names):
            k = self.levels - 1 - position
            times, places = (found.loops[k, kind, : found.counts[k, kind]] for kind in (TEMPORAL, SPATIAL))
            temporal = tuple((names[d], int(bound)) for d, bound, _ in times)
            spatial = tuple((names[d], int(bound), "XY"[axis]) for d, bound, axis in places)
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
        One of `OBJECTIVES`, or ``("energy", "delay")``: least cycles among the mappings within 0.1 % of the least
        energy.
    budget
        Most mappings to evaluate in full; the result is optimal only where the search ended by itself.
    """
    started = time.perf_counter()
    if objective != _NEXT and (len(objective) != 1 or objective[0] not in OBJECTIVES):
        allowed = ", ".join([*OBJECTIVES, "+".join(_NEXT)])
        raise InputError(Fault("unknown objective", field="objective", value=list(objective), allowed=allowed))
    search = Search(space, costs, semantics, budget)
    result = SearchResult(
        "ok", objective=objective, mapspace_size=space.size, index_factorizations=space.index_factorizations
    )
    if not len(search.candidates.factors):
        return replace(result, status="no_mapping", reason=_no_unrolling(space), seconds=time.perf_counter() - started)
    first = OBJECTIVES[objective[0]]
    best = new_best(delay_power=delay_power_of(first))
    mode = mode_of(first)
    winner = search.run(mode, best)
    if winner is None:
        reason = "the budget of evaluations ended before a mapping was found"
        if search.counters[STOPPED] == 0:
            reason = _no_tile(search)
        return replace(result, status="no_mapping", reason=reason, seconds=time.perf_counter() - started)
    stopped = bool(search.counters[STOPPED])
    least_pj = search.least_pj
    if not stopped and objective == _NEXT:
        limit = best[BEST_PJ] * (1 + NEXT_METRIC)
        best = new_best(limit_pj=limit)
        winner = search.run(DELAY, best) or winner
        stopped = bool(search.counters[STOPPED])
    if not stopped:
        # Last pass: among all that tie with the optimum the fewest cycles, then the first in canonical order.
        final = new_best(delay_power=delay_power_of(first))
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
    value = first.value(evaluation)
    if stopped:
        lower = min(value, first.of(least_pj, search.least_steps))
        proof = "the budget of evaluations ended the search; the bound is that of the relaxation"
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


def _no_tile(search: Search) -> str:
    """Name the level whose capacity, if it were unlimited, would let a mapping through."""
    guilty = []
    for index in range(search.levels):
        limit = search.spec[index, CAPACITY]
        if limit == np.inf:
            continue
        relaxed = search.spec.copy()
        relaxed[index, CAPACITY] = np.inf
        counters, search.counters = search.counters, new_counters(1)
        try:
            if search.run(ENERGY, new_best(), relaxed) is not None:
                name = search.space.arch.level_names[search.levels - 1 - index]
                guilty.append(f"{name} holds {limit:.0f} words, less than any tile the constraints allow")
        finally:
            search.counters = counters
    return "; ".join(guilty) or "no factors satisfy the temporal constraints and capacities together"
