"""Search a mapspace for its optimum and state the certificate."""

import time
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, partial

import numpy as np

from jouleloop.energy.costs import EnergyCosts
from jouleloop.mapping.mapping import Mapping
from jouleloop.mapspace.nest import mapping_found
from jouleloop.mapspace.space import MapSpace, slot_array
from jouleloop.model.arrays import Bools, Encoded, HardwareArrays, Records
from jouleloop.model.encode import encode, narrowed
from jouleloop.model.evaluate import evaluate_mapping
from jouleloop.model.network import is_wired, takes_energy
from jouleloop.model.objective import OBJECTIVES, Objective
from jouleloop.model.semantics import rules_of
from jouleloop.model.support import Use
from jouleloop.optimum.arrays import (
    CANONICAL,
    DELAY,
    ENERGY,
    NONE,
    PRODUCT,
    Found,
    Parts,
    new_best,
    new_counters,
    new_found,
)
from jouleloop.optimum.candidates import Candidates
from jouleloop.optimum.charges import find_charges
from jouleloop.optimum.driver import NEXT_PASS, SEARCH, TIES, Kernel, Task, search
from jouleloop.optimum.groups import groups_of
from jouleloop.optimum.incumbent import MOST_SOLVED, Choice, Incumbent, Outside, Walker
from jouleloop.optimum.limit import INTERRUPT, SECONDS, Limit, Progress, Watch, check_dimensions
from jouleloop.optimum.mirror import find_mirrors
from jouleloop.optimum.needless import needed
from jouleloop.optimum.prepare import find_sides
from jouleloop.optimum.regroup import Walks
from jouleloop.optimum.result import SearchResult
from jouleloop.optimum.reuse import bypass_passed
from jouleloop.optimum.rounded import RoundedKernel
from jouleloop.optimum.rounds import Rounds
from jouleloop.optimum.solve import Solver
from jouleloop.optimum.supported import NEXT, check_search

#: Energies closer than this, relatively, are ties.
TIE = 1e-11
#: Timeloop's rule for several metrics: energies within 0.1 % count as equal and the next metric decides
#: (Timeloop ``include/applications/mapper/mapper-thread.hpp``, ``IsBetterRecursive_``).
NEXT_METRIC = 1e-3

#: Time for a mapping outside the tree where somebody waits for the end; what stops at a count has all it needs.
_HURRIED_SECONDS = 0.5
#: Gap from which on a search that had to stop looks for a better mapping outside the tree.
_WIDE_GAP = 0.1
#: The same while a search of few unrollings and choices has done little, so that it is not made longer.
_HUGE_GAP = 1.0
#: Work between two walks outside the tree, and before the first.
_WALK_TICKS = 2_000_000
#: Work after which a search looks deeper for a mapping outside the tree, and bounds groups; work of each search of one
#: choice of what is kept, and how many unrollings all of those together may list.
_ALONE_TICKS, _SOLVE_TICKS, _SOLVE_UNROLLINGS = 100_000_000, 5_000_000, 100_000
#: The same where there are so many unrollings times choices of what is kept.
_MANY, _MANY_TICKS = 1e5, 10_000_000
#: What is counted by level, in the order of `jouleloop.optimum.arrays.PROFILE`.
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
        Whether symmetric unrollings may be left out.
    by_energy
        Whether energy alone is minimised, so that choices may be left out that cost more than others.
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
    ) -> None:
        problem = space.problem
        self.space = space
        self.problem = problem
        self.watch = watch or Watch()
        rules = rules_of(semantics)
        self.costs, self.semantics = costs, semantics
        #: The best mapping that was found outside the tree and is better than those inside, if there is one.
        self.incumbent: Incumbent | None = None
        self._outside: Outside | None = None
        # Dimensions of bound 1 have no loops; leaving them out shortens every inner loop of the search. One of which a
        # level has to hold more stays in, so that no mapping is found.
        slots = slot_array(space.temporal, len(problem.bounds))
        self.dims = np.flatnonzero((np.array(problem.bounds) > 1) | (slots["least"] > 1).any(axis=0))
        check_dimensions(problem, self.dims)
        if not len(self.dims):
            self.dims = np.zeros(1, np.int64)
        check_search(Use.PERFECT, space, costs, rules)
        encoded = encode(problem, space.arch, costs, rules, space.reuse)
        whole = encoded.layer
        whole.reuse["no_coalesce"], self.columns = bypass_passed(space)
        self.target = narrowed(encoded, self.dims)
        self.layer, self.hardware = self.target.layer, self.target.hardware
        self.slots = np.ascontiguousarray(slots[:, self.dims])
        side = find_sides(whole.coef, whole.bounds)
        if by_energy:
            self.columns = needed(space, self.hardware, side, self.columns)
        self.side = np.ascontiguousarray(side[:, self.dims])
        told = {"leaks": bool(self.hardware.levels["leak_pj"].any()), "takes": takes_energy(self.hardware.networks)}
        told["gaps"] = bool((self.layer.coef[self.layer.read_write] > 1).any())
        mirrors = find_mirrors(space, whole.coef) if mirrored else []
        told["wired"] = bool(is_wired(self.hardware.networks))
        self.candidates = Candidates(space, self.dims, side, self._asked, mirrors, **told)
        self.charge = find_charges(space, self.hardware, self.layer, self.side, self.candidates)
        self.levels = len(space.temporal)

    @cached_property
    def solver(self) -> Solver:
        """The solver on the hardware of the target; there has to be a candidate."""
        return self._solver(self.target, self._asked)

    def _asked(self) -> bool:
        return bool(self.watch.asked())

    def _solver(
        self, target: Encoded, stopped: Callable[[], bool] = lambda: False, columns: Sequence[Bools] | None = None
    ) -> Solver:
        kept = self.columns if columns is None else columns
        return Solver(target, kept, self.slots, self.side, self.candidates, self.charge, stopped)

    def new_found(self) -> Found:
        """Return the record of a search that has found nothing yet."""
        return new_found(self.levels, len(self.columns))

    def outside(self, objective: Objective, counters: Records, most_cycles: float = np.inf) -> Outside:
        """Return what looks for a mapping of so many cycles at most outside the tree; what it does counts as work."""
        if self._outside is not None:
            return self._outside
        # What passes through levels is kept there for the model, and not for the solver.
        apart = bool(self.layer.reuse["no_coalesce"].any())
        columns = self.space.columns if apart else self.columns
        walker = Walker(self.space, self.costs, objective, self.semantics, columns)

        def solve(choice: Choice, below: float) -> Incumbent | None:
            best = new_best(delay_power=delay_power_of(objective), most_cycles=most_cycles)
            return self._solve(choice, below, best, objective, counters)

        solved = min(MOST_SOLVED, _SOLVE_UNROLLINGS // max(1, len(self.candidates.ids)))
        self._outside = Outside(walker, None if apart else solve, solved=solved, most_cycles=most_cycles)
        return self._outside

    def _solve(
        self, choice: Choice, below: float, best: Records, objective: Objective, counters: Records
    ) -> Incumbent | None:  # fmt: skip
        """Search one choice of what is kept for a mapping below a value, for a while; return it, if there is one."""
        columns = [column[[own]] for column, own in zip(self.columns, choice, strict=True)]
        solver, found = self._solver(self.target, self._asked, columns), self.new_found()
        watch = Watch(Limit(ticks=_SOLVE_TICKS), within=self.watch)
        own = watch.begin(None)
        mode = mode_of(objective)
        place = {ENERGY: "energy_pj", DELAY: "cycles", PRODUCT: "product"}[mode]
        best[place] = below ** (1.0 / (objective.energy_power or 1))
        solver.start(mode, best)
        watch.run(partial(solver.run, mode, best, own, found), own, lambda: self._progress(solver, own))
        counters[0]["ticks"] += own[0]["ticks"]
        if found.arrangement[0] < 0:
            return None
        mapping = self.mapping(found)
        space = self.space
        evaluation = evaluate_mapping(space.problem, space.arch, self.costs, mapping, self.semantics)
        return Incumbent(objective.value(evaluation), mapping, evaluation)

    def improve(self, best: Records, objective: Objective, found: Found) -> None:
        """Let a pass go on from the mapping outside the tree, where that is better than what the pass has found."""
        have, mode = None if self._outside is None else self._outside.best, mode_of(objective)
        if have is None:
            return
        energy_pj, cycles = have.evaluation.energy_pj, have.evaluation.cycles
        product = energy_pj * float(cycles) ** best[0]["delay_power"]
        if not (energy_pj < best[0]["energy_pj"] if mode == ENERGY else product < best[0]["product"]):
            return
        self.incumbent = have
        best[0]["energy_pj"], best[0]["cycles"], best[0]["product"] = energy_pj, cycles, product
        found.arrangement[0] = NONE

    def profile(self) -> tuple[int, dict[str, float], dict[str, dict[str, int]]]:
        """Return the tables filled, the CPU seconds that went into them, and the counts by level."""
        solver = self.solver
        stand = solver.parts.stand
        tables, last = int(stand[0]["filled"]), max(0, int(stand[0]["tabled"]))
        for _ in "compiled", "timed":
            stand[0]["tabled"] = -1
            began = time.process_time()
            solver.fill_tables(last, float(solver.case.tables.limit[0]))
        rows = solver.stack.profile[::-1].tolist()
        levels = {
            name: dict(zip(_COUNTED, row, strict=True))
            for name, row in zip(self.space.arch.level_names, rows, strict=True)
        }
        return tables, {"tables, about": tables * (time.process_time() - began)}, levels

    def has_mapping(self, hardware: HardwareArrays) -> bool:
        """Whether any mapping is valid on other hardware; not known, so false, where the search has to stop."""
        found = self.new_found()
        target, best, counters = self.target._replace(hardware=hardware), new_best(), new_counters(1)
        solver = self._solver(target, self._asked)
        solver.start(ENERGY, best)

        def ended() -> bool:
            return solver.run(ENERGY, best, counters, found) or bool(found.arrangement[0] != NONE)

        self.watch.run(ended, counters, lambda: self._progress(solver, counters))
        return bool(found.arrangement[0] != NONE)

    def _progress(self, solver: Solver, counters: Records) -> Progress:
        """Return where a search of some parts stands, of which no bound is known."""
        stand = solver.parts.stand
        waiting = int(stand[0]["left"]) + int(stand[0]["current"] >= 0)
        return Progress(self.watch.seconds, None, 0.0, "pJ", waiting, solver.count, int(counters[0]["nodes"]))

    def mapping(self, found: Found) -> Mapping:
        """Return the nest found as a mapping."""
        return mapping_found(self.space, self.dims, found.counts, found.loops, found.keep)


class PerfectKernel(Kernel):
    """Factors that divide the layer: branch and bound from the outermost level inward."""

    use = Use.PERFECT
    proven = "exhaustive branch and bound: every part left out has a lower bound no better than this"

    def __init__(self, task: Task, counters: Records) -> None:
        super().__init__(task, counters)
        most, by_energy = task.limit_cycles, task.objective == ("energy",) and task.most_cycles is None
        self.search = Search(task.space, task.costs, task.semantics, task.watch, by_energy=by_energy)
        self.size, self.factorizations = task.space.size, task.space.index_factorizations
        self.mode = mode_of(task.first)
        self.best = new_best(delay_power=delay_power_of(task.first), most_cycles=most)
        self.found = self.search.new_found()
        #: The best mapping of the passes before, whether this one may still look outside the tree, and after what work.
        self.before: Mapping | None = None
        self.aside, self.look_ticks, self.deep_ticks = False, 0, 0
        #: Limits under which groups are bounded, once in a pass, and what does so now.
        self.rounds: Rounds | None = None
        self.regrouping: Iterator[int | float | Parts] | None = None

    def subproblems(self) -> str:
        """Bound the unrollings, unless there is none."""
        candidates = self.search.candidates
        return "" if len(candidates.ids) or not candidates.whole else _no_unrolling(self.task.space)

    @property
    def whole(self) -> bool:
        """Whether all unrollings are listed."""
        return bool(len(self.search.candidates.ids)) and self.search.solver.whole

    def passes(self) -> Iterator[str]:
        """Minimise, take the fewest cycles among what costs as little, and compare ties in canonical order."""
        if not len(self.search.candidates.ids):
            yield SEARCH
            return
        yield self._begun(SEARCH, self.mode, self.best)
        if self.mapping() is None:
            return
        if self.task.objective == NEXT:
            self.objective = OBJECTIVES[NEXT[1]]
            limit_pj = self.best[0]["energy_pj"] * (1 + NEXT_METRIC)
            yield self._begun(NEXT_PASS, DELAY, new_best(limit_pj, most_cycles=self.best[0]["most_cycles"]))
        final = _ties(mode_of(self.task.first), self.best, self.task.objective == NEXT)
        self.objective = self.task.first
        yield self._begun(TIES, CANONICAL, final)

    def _begun(self, name: str, mode: int, best: Records) -> str:
        self.before = self.mapping()
        self.mode, self.best, self.found, self.rounds = mode, best, self.search.new_found(), None
        parts = self.search.solver.parts
        many = len(parts.ids) * float(np.prod(parts.column_counts.astype(float))) >= _MANY
        self.aside, self.deep_ticks = mode in (ENERGY, PRODUCT), _MANY_TICKS if many else _ALONE_TICKS
        self.look_ticks = min(_WALK_TICKS, self.deep_ticks)
        self.search.solver.empty_levels(may=False)
        self.search.solver.start(mode, best)
        return name

    def expand(self) -> bool:
        """Search parts until it is time for a pause; where that takes long, look for a mapping outside the tree."""
        if not len(self.search.candidates.ids):
            return True
        counters = self.counters
        if self.rounds is not None and self.regrouping is not None:
            self._regroup(self.rounds, self.regrouping)
            return False
        if self.aside:
            # Counted, so that it comes at the same place whenever slices end.
            counters[0]["pause"] = min(counters[0]["pause"], self.look_ticks)
        ended = self.search.solver.run(self.mode, self.best, counters, self.found)
        if ended and self._round_is_over():
            return False
        if self.aside and not ended and counters[0]["ticks"] >= self.look_ticks and not counters[0]["stopped"]:
            self._look_outside(deep=bool(counters[0]["ticks"] >= self.deep_ticks))
        return ended

    def _look_outside(self, *, deep: bool) -> None:
        """Look for a mapping outside the tree; where much is done, bound groups; say when to look again.

        Each call takes a step outside, puts off the next look beyond the work done, or looks no more: searches end.
        """
        ticks = int(self.counters[0]["ticks"])
        value, outside = self.incumbent(), self.search.outside(self.objective, self.counters, self.task.limit_cycles)
        wide = _WIDE_GAP if deep or self.deep_ticks == _MANY_TICKS else _HUGE_GAP
        near = value is not None and value <= (1 + wide) * self.bound()
        # Groups are left out by what is found before them, so what has begun goes on to its end.
        if near and not (deep and outside.begun and not outside.ended):
            # Another mapping would save little.
            self.look_ticks = 2 * ticks if deep else min(2 * ticks, self.deep_ticks)
        elif outside.walks or (deep and not outside.ended):
            outside.step()
            self.search.improve(self.best, self.objective, self.found)
            if not deep:
                self.look_ticks = ticks + _WALK_TICKS if outside.walks else self.deep_ticks
            return
        elif deep:
            self.aside = False
        else:
            # An earlier pass has walked already.
            self.look_ticks = self.deep_ticks
        if deep:
            self._begin_groups()

    def _begin_groups(self) -> None:
        """Begin to bound groups of unrollings, where energy alone is minimised and that was not done before."""
        solver = self.search.solver
        if self.rounds is not None or self.task.objective != ("energy",) or not solver.whole:
            return
        if not 0.0 < self.best[0]["energy_pj"] < np.inf:  # where all costs nothing, all ties are compared
            return
        solver.tell_arrangements()
        groups = groups_of(solver.case, solver.parts)
        if groups is not None:
            self.rounds = Rounds(Walks(groups), self.best)
            self.regrouping = self.rounds.first()

    def _regroup(self, rounds: Rounds, regrouping: Iterator[int | float | Parts]) -> None:
        """Bound groups until it is time for a pause; after the last the search begins anew with what is left."""
        counters = self.counters
        while counters[0]["ticks"] < counters[0]["pause"] and not self.search.watch.asked():
            found = next(regrouping, None)
            if isinstance(found, int):
                counters[0]["ticks"] += found
            elif isinstance(found, float):
                rounds.bound_pj = max(rounds.bound_pj, found)
            else:
                self._begin_round(rounds, found)
                return

    def _begin_round(self, rounds: Rounds, parts: Parts | None) -> None:
        """Begin anew with some subproblems; where there would be too many, bound groups under a lower limit."""
        solver = self.search.solver
        self.regrouping = rounds.lower() if parts is None else None
        if self.regrouping is not None:
            return
        if parts is None:
            # Nothing helps: all subproblems wait again, where a round has put them aside.
            if solver.parts is rounds.walks.groups.parts:
                return
            parts, self.aside, rounds.limit_pj = rounds.walks.groups.parts, True, np.inf
        elif rounds.begin(parts):
            self.before, self.found, self.aside = self.mapping(), self.search.new_found(), False
        solver.parts = parts
        # The tables are of a part of the round before.
        parts.stand[0]["tabled"] = -1
        solver.empty_levels(may=True)
        solver.start(self.mode, self.best)
        self.search.watch.slow_down()

    def _round_is_over(self) -> bool:
        """Whether another round follows: this one has no mapping below its limit."""
        if self.rounds is None or self._held_pj is None:
            return False
        self.before, self.found = self.mapping(), self.search.new_found()
        self.regrouping = self.rounds.higher()
        return True

    @property
    def _held_pj(self) -> float | None:
        """Energy [pJ] of the incumbent, in a round below it that has found nothing yet; else none."""
        return None if self.rounds is None or self.found.arrangement[0] >= 0 else self.rounds.held_pj

    def bound(self) -> float:
        """Least value that a mapping may have which was not looked at; infinite where there is none."""
        if not len(self.search.candidates.ids):
            return 0.0
        bounds_pj, steps = self.search.solver.open_bounds()
        values = bounds_pj**self.objective.energy_power * steps**self.objective.delay_power
        least = float(values.min(initial=np.inf))
        # Rounds are of energy alone.
        return least if self.rounds is None else max(self.rounds.bound_pj, min(least, self.rounds.limit_pj))

    def incumbent(self) -> float | None:
        """Return the value of the best mapping of this pass."""
        if self._held_pj is not None:
            return self._held_pj
        have = self.best[0]["energy_pj"] < np.inf
        return self.objective.of(self.best[0]["energy_pj"], self.best[0]["cycles"]) if have else None

    def left(self) -> tuple[int, int]:
        """Return the parts that wait or are searched, and all."""
        stand = self.search.solver.parts.stand
        return int(stand[0]["left"]) + int(stand[0]["current"] >= 0), self.search.solver.count

    def local_search(self, stopped: str, lower: float) -> None:
        """Look outside the tree where there is no mapping yet, or one far above the bound."""
        have = self.mapping()
        found = self.incumbent()
        value = np.inf if have is None or found is None else found
        if have is None or value > (1 + _WIDE_GAP) * min(value, lower):
            hurried = stopped in (INTERRUPT, SECONDS)
            end = time.monotonic() + _HURRIED_SECONDS if hurried else np.inf
            outside = self.search.outside(self.objective, self.counters, self.task.limit_cycles)
            while (outside.walks or not (hurried or outside.ended)) and not (outside.best and time.monotonic() >= end):
                outside.step()
            other = outside.best
            self.before = other.mapping if other is not None and other.value < value else have
            self.found = self.search.new_found()

    def mapping(self) -> Mapping | None:
        """Return the best mapping of this pass, or of those before."""
        if self.found.arrangement[0] != NONE:
            return self.search.mapping(self.found)
        outside = self.search.incumbent if self.mode in (ENERGY, PRODUCT) else None
        return self.before if outside is None or self.before is not None else outside.mapping

    def no_mapping(self) -> str:
        """Name the level without room."""
        most = self.task.most_cycles
        return _no_tile(self.search) if most is None else f"no mapping takes at most {most:,} cycles"

    def profile(self) -> tuple[int, dict[str, float], dict[str, dict[str, int]]]:
        """Return tables, their seconds and counts by level."""
        return self.search.profile()


def search_mapspace(
    space: MapSpace,
    costs: EnergyCosts,
    *,
    objective: tuple[str, ...] = ("energy",),
    semantics: str = "timeloop-3.0.3",
    budget: int | None = None,
    watch: Watch | None = None,
    most_cycles: int | None = None,
) -> SearchResult:
    """Return the optimum of a mapspace with its certificate, or what was found when it had to stop; see `Task`."""
    kernel = RoundedKernel if space.rounded else PerfectKernel
    return search(kernel, Task(space, costs, objective, semantics, budget, watch or Watch(), most_cycles))


def _ties(mode: int, best: Records, several: bool) -> Records:
    """Return the incumbent of the last pass: among all that tie with the optimum the fewest cycles, then the first."""
    final = new_best(delay_power=best[0]["delay_power"], most_cycles=best[0]["most_cycles"])
    if mode == PRODUCT:
        final[0]["limit_product"] = best[0]["product"] * (1 + TIE)
    else:
        final[0]["limit_pj"] = best[0]["energy_pj"] * (1 + TIE)
    if mode == DELAY or several:
        final[0]["cycles"] = best[0]["cycles"] + 0.5
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
        limit = search.hardware.levels[index]["capacity_words"]
        if limit == np.inf:
            continue
        relaxed = search.hardware.levels.copy()
        relaxed["capacity_words"][index] = np.inf
        if search.has_mapping(search.hardware._replace(levels=relaxed)):
            name = search.space.arch.level_names[search.levels - 1 - index]
            guilty.append(f"{name} holds {limit:.0f} words, less than any tile the constraints allow")
    return "; ".join(guilty) or "no factors satisfy the temporal constraints and capacities together"
