"""Search a mapspace for its optimum and state the certificate."""

import time
from collections.abc import Callable
from dataclasses import replace
from functools import cached_property

import numpy as np

from jouleloop.energy.costs import EnergyCosts
from jouleloop.errors import Fault, InputError
from jouleloop.mapping.mapping import Mapping
from jouleloop.mapspace.nest import mapping_found
from jouleloop.mapspace.space import MapSpace, slot_array
from jouleloop.model.arrays import CAPACITY, LEAK_PJ, NO_COALESCE, Floats, Ints, LayerArrays
from jouleloop.model.encode import encode_hardware, encode_layer
from jouleloop.model.evaluate import evaluate_mapping
from jouleloop.model.evaluation import Evaluation
from jouleloop.model.network import is_wired, takes_energy
from jouleloop.model.objective import OBJECTIVES, Objective
from jouleloop.model.semantics import rules_of
from jouleloop.optimum.arrays import (
    BEST_CYCLES,
    BEST_PJ,
    BEST_PRODUCT,
    CANONICAL,
    CURRENT,
    DELAY,
    DELAY_POWER,
    ENERGY,
    FILLED,
    LEAST,
    LEFT,
    LIMIT_PJ,
    LIMIT_PRODUCT,
    NODES,
    PRODUCT,
    TABLED,
    VISITED,
    Found,
    new_best,
    new_counters,
    new_found,
)
from jouleloop.optimum.candidates import Candidates
from jouleloop.optimum.charges import find_charges, split_by_hops
from jouleloop.optimum.climb import Climbed, climb
from jouleloop.optimum.limit import INTERRUPT, MEMORY, SECONDS, Progress, Watch, check_dimensions
from jouleloop.optimum.mirror import find_mirrors
from jouleloop.optimum.needless import needed
from jouleloop.optimum.prepare import find_sides
from jouleloop.optimum.result import Profile, SearchResult, concluded, counted, stopped_proof
from jouleloop.optimum.reuse import bypass_passed, check_reuse
from jouleloop.optimum.rounded import search_rounded
from jouleloop.optimum.solve import Solver

#: Energies closer than this, relatively, are ties.
TIE = 1e-11
#: Timeloop's rule for several metrics: energies within 0.1 % count as equal and the next metric decides
#: (Timeloop ``include/applications/mapper/mapper-thread.hpp``, ``IsBetterRecursive_``).
NEXT_METRIC = 1e-3

#: What may be minimised besides the single objectives: energy, with the delay as the next metric.
_NEXT = ("energy", "delay")
#: Stages of a search, and what is counted by level (places `ENTERED` and on of `jouleloop.optimum.arrays`).
_STAGES = ("unrollings", "search", "ties")
#: Time for a mapping outside the tree where somebody waits for the end; what stops at a count has all it needs.
_CLIMB_SECONDS = 0.5
#: Gap from which on a search that had to stop looks for a better mapping outside the tree.
_CLIMB_GAP = 0.1
_COUNTED = ("nodes", "tiles", "no room", "tiles out", "orders", "orders out", "out later")


def mode_of(objective: Objective) -> int:
    """Return how an objective is searched; a product is searched as energy times a power of the cycles."""
    if objective.delay_power == 0:
        return ENERGY
    return PRODUCT if objective.energy_power else DELAY


def delay_power_of(objective: Objective) -> float:
    """Return the power of the cycles in the product with energy that orders mappings as the objective does."""
    return objective.delay_power / (objective.energy_power or 1)


class Search:
    """The arrays of one search and its passes.

    Parameters
    ----------
    mirrored
        Whether mirror images may be left out.
    by_energy
        Whether energy alone is minimised, so that choices may be left out that cost more than others.
    links
        Whether bounds charge what neighbours hand on, and tell arrangements of spatial loops apart.
    """

    def __init__(
        self,
        space: MapSpace,
        costs: EnergyCosts,
        semantics: str,
        watch: Watch | None = None,
        *,
        mirrored: bool = True,
        by_energy: bool = False,
        links: bool = True,
    ) -> None:
        problem = space.problem
        self.space = space
        self.problem = problem
        self.watch = watch or Watch()
        rules = rules_of(semantics)
        self.spec = encode_hardware(space.arch, costs, rules, [data.name for data in problem.data_spaces])
        self.compute_pj = costs.compute_pj
        self.elided = rules.first_fills_elided
        # Dimensions of bound 1 have no loops; leaving them out shortens every inner loop of the search. One of which a
        # level has to hold more stays in, so that no mapping is found.
        slots = slot_array(space.temporal, len(problem.bounds))
        self.dims = np.flatnonzero((np.array(problem.bounds) > 1) | (slots[..., LEAST] > 1).any(axis=0))
        check_dimensions(problem, self.dims)
        if not len(self.dims):
            self.dims = np.zeros(1, np.int64)
        whole = encode_layer(problem, space.reuse, rules, space.arch)
        reuse = whole.reuse
        reuse[..., NO_COALESCE], self.columns = bypass_passed(space)
        self.layer = LayerArrays(
            np.ascontiguousarray(whole.coef[:, :, self.dims]), whole.read_write, whole.bounds[self.dims], reuse
        )
        self.slots = np.ascontiguousarray(slots[:, self.dims])
        side = find_sides(whole.coef, whole.bounds)
        check_reuse(space, side, rules)
        if by_energy:
            self.columns = needed(space, self.spec, side, self.columns)
        self.side = np.ascontiguousarray(side[:, self.dims])
        told = {"leaks": bool(self.spec[:, LEAK_PJ].any()), "takes": takes_energy(self.spec)}
        told["gaps"] = bool((self.layer.coef[self.layer.read_write] > 1).any())
        mirrors = find_mirrors(space, whole.coef) if mirrored else []
        wired = bool(is_wired(self.spec))
        self.candidates = Candidates(space, self.dims, side, self._asked, mirrors, **told, wired=wired)
        if links and is_wired(self.spec):
            split_by_hops(self.spec, self.layer, self.side, self.candidates)
        self.charge = find_charges(space, self.spec, self.layer, self.side, self.candidates, links=links)
        self.levels = len(space.temporal)

    @cached_property
    def solver(self) -> Solver:
        """The solver on the hardware of the target; there has to be a candidate."""
        return self._solver(self.spec, self._asked)

    def _asked(self) -> bool:
        return bool(self.watch.asked())

    def _solver(self, spec: Floats, stopped: Callable[[], bool] = lambda: False) -> Solver:
        given = (
            self.layer,
            spec,
            self.compute_pj,
            self.elided,
            self.columns,
            self.slots,
            self.side,
            self.candidates,
            self.charge,
        )
        return Solver(*given, stopped)

    def new_found(self) -> Found:
        """Return the record of a search that has found nothing yet."""
        return new_found(self.levels, len(self.columns))

    def lower_bound(self, objective: Objective) -> float:
        """Least value that a mapping not looked at may have; infinite where there is none."""
        return _least_open(self.solver, objective)

    def run(self, mode: int, best: Floats, counters: Ints, objective: Objective) -> tuple[Found | None, str]:
        """Run one pass; return the nest that won, if any, and what stopped the pass, if anything did."""
        found = self.new_found()
        stopped = self._pass(self.solver, mode, best, counters, objective, found)
        if not stopped and not self.solver.whole:
            stopped = self.watch.asked() or MEMORY
        return (found if found.arrangement[0] >= 0 else None), stopped

    def _pass(self, solver: Solver, mode: int, best: Floats, counters: Ints, objective: Objective, found: Found) -> str:
        """Run one pass of a solver slice by slice; return what stopped it, or nothing."""

        def progress() -> Progress:
            have = found.arrangement[0] >= 0
            value = objective.of(best[BEST_PJ], best[BEST_CYCLES]) if have else None
            lower = _least_open(solver, objective)
            parts = solver.parts
            return Progress(
                self.watch.seconds,
                value,
                lower if value is None else min(lower, value),
                objective.unit,
                int(parts.stand[LEFT]) + int(parts.stand[CURRENT] >= 0),
                solver.count,
                int(counters[NODES]),
            )

        solver.start(mode, best)
        return self.watch.run(lambda: solver.run(mode, best, counters, found), counters, progress)

    def profile(self, seconds: dict[str, float]) -> Profile:
        """Return where the time went, given the CPU seconds of the stages."""
        solver = self.solver
        stand = solver.parts.stand
        tables, last = int(stand[FILLED]), max(0, int(stand[TABLED]))
        for _ in "compiled", "timed":
            stand[TABLED] = -1
            began = time.process_time()
            solver.fill_tables(last, float(solver.case.tables.limit[0]))
        seconds = {**seconds, "tables, about": tables * (time.process_time() - began)}
        rows = solver.stack.profile[::-1].tolist()
        levels = {
            name: dict(zip(_COUNTED, row, strict=True))
            for name, row in zip(self.space.arch.level_names, rows, strict=True)
        }
        return Profile(solver.count, tables, seconds, levels)

    def has_mapping(self, spec: Floats) -> bool:
        """Whether any mapping is valid on other hardware; not known, so false, where the search has to stop."""
        found = self.new_found()
        self._pass(self._solver(spec, self._asked), ENERGY, new_best(), new_counters(1), OBJECTIVES["energy"], found)
        return bool(found.arrangement[0] >= 0)

    def mapping(self, found: Found) -> Mapping:
        """Return the nest found as a mapping."""
        return mapping_found(self.space, self.dims, found.counts, found.loops, found.keep)


def _least_open(solver: Solver, objective: Objective) -> float:
    """Least value that a mapping may have which a solver has not looked at; infinite where there is none."""
    bounds_pj, steps = solver.open_bounds()
    values = bounds_pj**objective.energy_power * steps**objective.delay_power
    return float(values.min(initial=np.inf))


def search_mapspace(
    space: MapSpace,
    costs: EnergyCosts,
    *,
    objective: tuple[str, ...] = ("energy",),
    semantics: str = "timeloop-3.0.3",
    budget: int | None = None,
    watch: Watch | None = None,
) -> SearchResult:
    """Return the optimum of a mapspace with its certificate, or what was found when it had to stop.

    Ties are broken by cycles, then by the first in canonical order, so equal inputs give equal output.

    Parameters
    ----------
    objective
        One of `OBJECTIVES`, or ``("energy", "delay")``: least cycles among the mappings within 0.1 % of the least
        energy.
    budget
        Most mappings to evaluate in full; the result is optimal only where the search ended by itself.
    watch
        Limits, and who is told how it goes.
    """
    if space.rounded:
        return search_rounded(space, costs, objective=objective, semantics=semantics, budget=budget, watch=watch)
    started = time.perf_counter()
    if objective != _NEXT and (len(objective) != 1 or objective[0] not in OBJECTIVES):
        allowed = ", ".join([*OBJECTIVES, "+".join(_NEXT)])
        raise InputError(Fault("unknown objective", field="objective", value=list(objective), allowed=allowed))
    watch = watch or Watch()
    counters = watch.begin(budget)
    clock = [time.process_time()]
    search = Search(space, costs, semantics, watch, by_energy=objective == ("energy",))
    result = SearchResult(
        "ok", objective=objective, mapspace_size=space.size, index_factorizations=space.index_factorizations
    )
    if not len(search.candidates.ids) and search.candidates.whole:
        spent = time.perf_counter() - started
        return replace(result, status="no_mapping", reason=_no_unrolling(space), seconds=spent)
    first = OBJECTIVES[objective[0]]
    mode = mode_of(first)
    clock.append(time.process_time())
    best = new_best(delay_power=delay_power_of(first))
    if not len(search.candidates.ids):
        winner, stopped, open_bound = None, watch.asked() or MEMORY, 0.0
    else:
        winner, stopped = search.run(mode, best, counters, first)
        open_bound = search.lower_bound(first)
    clock.append(time.process_time())
    if winner is None:
        if stopped:
            known = replace(result, stopped=stopped, visited=int(counters[VISITED]))
            way = _climbed(stopped, space, costs, first, semantics)
            best_way = None if way is None else (way.mapping, way.evaluation)
            found = concluded(known, best_way, open_bound, "", "")
        else:
            found = replace(result, status="no_mapping", reason=_no_tile(search))
        return replace(found, seconds=time.perf_counter() - started)
    proven = not stopped
    if not stopped and objective == _NEXT:
        best = new_best(limit_pj=best[BEST_PJ] * (1 + NEXT_METRIC))
        better, stopped = search.run(DELAY, best, counters, OBJECTIVES[_NEXT[1]])
        winner, proven = better or winner, not stopped
    if not stopped:
        final = _ties(mode, best, len(objective) > 1)
        better, stopped = search.run(CANONICAL, final, counters, first)
        winner = better or winner
    clock.append(time.process_time())
    mapping = search.mapping(winner)
    evaluation = evaluate_mapping(space.problem, space.arch, costs, mapping, semantics)
    value = first.value(evaluation)
    lower = min(value, open_bound)
    if proven:
        proof = "exhaustive branch and bound: every part left out has a lower bound no better than this"
        if len(objective) > 1:
            lower = float(best[LIMIT_PJ]) / (1 + NEXT_METRIC)
        if stopped:
            proof += f"; stopped ({stopped}) before all ties were compared"
    else:
        proof = stopped_proof(stopped)
        other = _climbed(stopped, space, costs, first, semantics) if value > (1 + _CLIMB_GAP) * lower else None
        if other is not None and other.value < value:
            mapping, evaluation, lower = other.mapping, other.evaluation, min(other.value, open_bound)
    return replace(
        counted(result, counters),
        mapping=mapping,
        evaluation=evaluation,
        lower_bound=lower,
        optimal=proven,
        stopped=stopped,
        proof=proof,
        seconds=time.perf_counter() - started,
        profile=search.profile(dict(zip(_STAGES, np.diff(clock).tolist(), strict=True))) if watch.profile else None,
    )


def _climbed(stopped: str, space: MapSpace, costs: EnergyCosts, by: Objective, semantics: str) -> Climbed | None:
    """Return a mapping that is found without the tree, for a search that had to stop."""

    def evaluate(mapping: Mapping) -> Evaluation:
        return evaluate_mapping(space.problem, space.arch, costs, mapping, semantics)

    hurried = stopped in (INTERRUPT, SECONDS)
    return climb(space, evaluate, by.value, _CLIMB_SECONDS if hurried else None)


def _ties(mode: int, best: Floats, several: bool) -> Floats:
    """Return the incumbent of the last pass: among all that tie with the optimum the fewest cycles, then the first."""
    final = new_best(delay_power=best[DELAY_POWER])
    if mode == PRODUCT:
        final[LIMIT_PRODUCT] = best[BEST_PRODUCT] * (1 + TIE)
    else:
        final[LIMIT_PJ] = best[BEST_PJ] * (1 + TIE)
    if mode == DELAY or several:
        final[BEST_CYCLES] = best[BEST_CYCLES] + 0.5
    return final


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
        if search.has_mapping(relaxed):
            name = search.space.arch.level_names[search.levels - 1 - index]
            guilty.append(f"{name} holds {limit:.0f} words, less than any tile the constraints allow")
    return "; ".join(guilty) or "no factors satisfy the temporal constraints and capacities together"
