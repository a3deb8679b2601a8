"""A search that is stopped says so: its mapping is one of the mapspace, and no mapping is below its bound."""

import itertools
import signal
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from differential.case import Case
from differential.draw import draw_case
from differential.native import load
from differential.problems import space
from jouleloop.engines.native import NativeEngine
from jouleloop.engines.protocol import PROVEN, SearchOptions, Target
from jouleloop.errors import JouleloopError
from jouleloop.mapspace.space import MapSpace, build_mapspace
from jouleloop.model.objective import OBJECTIVES
from jouleloop.optimum import candidates, incumbent, limit, mesh, queue, solve
from jouleloop.optimum.limit import BUDGET, INTERRUPT, MEMORY, NODE_COUNT, SECONDS, Limit, Progress, Watch
from jouleloop.optimum.optimise import Search
from jouleloop.optimum.residual import optimise, padded
from jouleloop.optimum.result import SearchResult
from jouleloop.workload.problem import Problem
from shares import slow_after

SEEDS = range(14)
#: Of them, the one whose proof among imperfect factors takes as long as a hundred others.
LONG = 9
#: What rounding of sums may hide.
ROUNDING = 1 + 1e-9


@pytest.fixture(autouse=True)
def _short_walks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bounds hang on no walk for a first mapping, and any mapping does here; `test_incumbent.py` has walks whole."""
    monkeypatch.setattr(incumbent, "EVALUATIONS", 100)


class Fine(Watch):
    """Looks at the clock after every little bit of work; stops when it has looked often enough."""

    def __init__(self, looks: int | None = None) -> None:
        self.looks = 0
        super().__init__(None, self.look)
        self._ticks = 40
        self.most = looks

    def _pace(self, done: int, seconds: float) -> None:
        del done, seconds

    def look(self, _watch: Watch, progress: Callable[[], Progress]) -> None:
        self.looks += 1
        told = progress()
        assert told.best is None or told.lower_bound <= told.best
        if self.most is not None and self.looks >= self.most:
            self.stop()


@cache
def cases(kind: str) -> list[tuple[int, Problem, Target, SearchResult]]:
    found = []
    for seed in SEEDS:
        try:
            problem, target = load(draw_case(seed, kind))
            whole = NativeEngine().search(problem, target)
        except JouleloopError:
            continue
        if whole.status == "ok" and whole.pruned["nodes"] < 500:
            found.append((seed, problem, target, whole))
    assert len(found) > 5
    return found


def check(stopped: SearchResult, whole: SearchResult, objective: str, where: object) -> None:
    assert whole.evaluation is not None
    optimum = OBJECTIVES[objective].value(whole.evaluation)
    assert stopped.lower_bound <= optimum * ROUNDING, where
    if stopped.evaluation is None:
        assert stopped.status == "no_mapping"
        assert stopped.stopped in stopped.reason
        return
    value = OBJECTIVES[objective].value(stopped.evaluation)
    assert optimum <= value * ROUNDING, where
    assert stopped.gap is not None
    assert stopped.gap == pytest.approx(value / stopped.lower_bound - 1)
    assert stopped.optimal == (not stopped.stopped or stopped.gap <= 0), where
    if stopped.optimal:
        assert value == pytest.approx(optimum, rel=1e-9), where


@pytest.mark.parametrize("kind", slow_after(1, ["windows", "general", "arrays"]))
def test_no_mapping_is_below_the_bound_of_a_search_stopped_anywhere(kind: str) -> None:
    stops = 0
    for seed, problem, target, whole in cases(kind):
        nodes = whole.pruned["nodes"]
        for at in sorted({0, 1, 2, 3, nodes // 3, nodes // 2, nodes - 1}):
            engine = NativeEngine()
            engine.watch = Watch(Limit(nodes=at))
            found = engine.search(problem, target)
            check(found, whole, "energy", (kind, seed, at))
            assert found.stopped in {NODE_COUNT, ""}
            stops += not found.optimal
    assert stops > len(SEEDS)


@pytest.mark.parametrize("objective", slow_after(1, ["energy", "delay", "edp"]))
def test_pauses_change_nothing_and_stops_between_them_keep_the_bound(objective: str) -> None:
    options = SearchOptions((objective,))
    stops = 0
    for seed, problem, target, _ in cases("general"):
        whole = NativeEngine().search(problem, target, options)
        engine = NativeEngine()
        engine.watch = fine = Fine()
        paused = engine.search(problem, target, options)
        assert {**paused.as_json(), "seconds": 0} == {**whole.as_json(), "seconds": 0}, seed
        for at in sorted({1, fine.looks // 4, 3 * fine.looks // 4}):
            engine.watch = Fine(at)
            found = engine.search(problem, target, options)
            check(found, whole, objective, (seed, at))
            assert found.stopped in {INTERRUPT, ""}
            stops += found.stopped == INTERRUPT
    assert stops > len(SEEDS)
    assert fine.looks > 1


def open_array() -> Case:
    """A small convolution on 8 x 8 units without constraints: parts of many nests, among which neighbours are told."""

    def level(name: str, klass: str, **attributes: int) -> dict[str, Any]:
        return {"name": name, "class": klass, "attributes": {"word-bits": 8, **attributes}}

    mesh = {"meshX": 8, "meshY": 8}
    units = {"name": "mac", "class": "intmac", "attributes": {"datawidth": 8, **mesh}}
    array = {"name": "array[0..63]", "local": [level("registers", "regfile", depth=16, **mesh), units]}
    outside = {"name": "s", "local": [level("DRAM", "DRAM"), level("buffer", "SRAM", depth=2000)], "subtree": [array]}
    spaces = [space("W", "M", "R", "S"), space("I", "P+R", "Q+S"), space("O", "M", "P", "Q", write=True)]
    shape = {"name": "conv", "dimensions": list("MPQRS"), "data-spaces": spaces}
    problem = {"problem": {"shape": shape, "instance": {"M": 4, "P": 14, "Q": 14, "R": 3, "S": 3}}}
    costs = {"DRAM": 200, "buffer": 6, "registers[0..63]": 1}
    tables = [
        {"name": f"system.{name}", "actions": [{"name": key, "energy": pj} for key in ("read", "write", "update")]}
        for name, pj in costs.items()
    ]
    tables.append({"name": "system.mac[0..63]", "actions": [{"name": "compute", "energy": 0.5}]})
    arch = {"architecture": {"version": 0.3, "subtree": [outside]}}
    free: dict[str, Any] = {"mapspace_constraints": {"targets": []}}
    return Case("open", arch, problem, free, {"ERT": {"version": 0.3, "tables": tables}})


@pytest.mark.parametrize("budget", [None, 500])
def test_when_neighbours_are_counted_hangs_on_no_pause(budget: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def find_neighbours(*given: Any) -> None:
        asked.append(given)
        mesh.find_neighbours(*given)

    monkeypatch.setattr(solve, "find_neighbours", find_neighbours)
    problem, target = load(open_array())
    found = []
    for ticks in (10**9, 1000, 40):
        engine = NativeEngine()
        engine.watch = fine = Fine()
        fine._ticks = ticks
        result = engine.search(problem, target, SearchOptions(budget=budget))
        found.append({**result.as_json(), "seconds": 0})
        assert (fine.looks > 20) == (ticks < 10**9)
    assert found[0] == found[1] == found[2]
    assert asked
    assert found[0]["optimal"] == (budget is None)


def test_other_sizes_are_tried_whatever_the_clock_says(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a search of imperfect factors takes long and has no limit in seconds, nothing hangs on the clock."""
    monkeypatch.setattr(optimise, "_LONG_TICKS", 100)
    monkeypatch.setattr(queue, "_TURN_TICKS", 100)
    late = itertools.count(0, 1000)
    tried = []

    def search_mapspace(wide: MapSpace, *given: Any, **more: Any) -> SearchResult:
        tried.append(wide.problem.bounds)
        return search(wide, *given, **more)

    search = padded.search_mapspace
    monkeypatch.setattr(padded, "search_mapspace", search_mapspace)
    compared = 0
    for seed, problem, given, _ in cases("general"):
        target = replace(given, constraints=replace(given.constraints, factors="imperfect"))
        answers = []
        for clock in (time.monotonic, lambda: float(next(late))):
            tried.clear()
            with monkeypatch.context() as patch:
                patch.setattr(padded.time, "monotonic", clock)
                engine = NativeEngine()
                engine.watch = Fine()
                try:
                    found = engine.search(problem, target)
                except JouleloopError:
                    break
            answers.append(({**found.as_json(), "seconds": 0}, tuple(tried)))
        compared += len(answers) == 2 and len(answers[0][1]) > 1
        assert answers[:1] == answers[1:] or len(answers) < 2, seed
        if compared > 2:
            return
    pytest.fail("no search took long")


def test_why_nothing_fits_is_looked_for_as_long_as_nobody_stops_it() -> None:
    stops = 0
    for _, problem, target, _ in cases("general"):
        whole = build_mapspace(problem, target.arch, target.constraints)
        for watch, known in ((Fine(), True), (Fine(1), False)):
            search = Search(whole, target.costs, target.semantics, watch)
            found = search.has_mapping(search.hardware)
            assert found or not known
            assert watch.looks <= 1 or known
            stops += known and watch.looks > 1
    assert stops > 2


def test_a_limit_of_seconds_ends_a_search() -> None:
    _, problem, target, whole = cases("general")[0]
    assert whole.stopped == ""
    found = NativeEngine().search(problem, target, SearchOptions(seconds=1e-9))
    assert found.stopped == SECONDS
    assert not found.optimal


def test_a_budget_of_evaluations_is_kept() -> None:
    _, problem, target, whole = max(cases("windows"), key=lambda case: case[3].visited)
    found = NativeEngine().search(problem, target, SearchOptions(budget=1))
    assert found.stopped == BUDGET
    check(found, whole, "energy", problem)


def test_a_budget_limits_the_work_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many tables may be filled before the first mapping is evaluated: that ends, too, the same way each time."""
    monkeypatch.setattr(limit, "_BUDGET_TICKS", 500)
    monkeypatch.setattr(limit, "_TICKS_AN_EVALUATION", 0)
    stops = 0
    for seed, problem, target, whole in cases("general"):
        found = NativeEngine().search(problem, target, SearchOptions(budget=10**6))
        check(found, whole, "energy", seed)
        assert found.stopped in {BUDGET, ""}
        engine = NativeEngine()
        engine.watch = Fine()
        again = engine.search(problem, target, SearchOptions(budget=10**6))
        assert {**again.as_json(), "seconds": 0} == {**found.as_json(), "seconds": 0}, seed
        stops += not found.optimal
    assert stops > 3


@cache
def imperfect(seed: int) -> tuple[Problem, Target, SearchResult] | None:
    """Return a case among imperfect factors with its optimum, where it has one."""
    try:
        problem, target = load(draw_case(seed, "general"))
        target = replace(target, constraints=replace(target.constraints, factors="imperfect"))
        whole = NativeEngine().search(problem, target)
    except JouleloopError:
        return None
    return (problem, target, whole) if whole.status == "ok" else None


@pytest.mark.parametrize("budget", [1, 30])
def test_a_budget_of_evaluations_is_kept_where_loops_end_early(budget: int) -> None:
    stops = 0
    for seed in sorted({*SEEDS} - {LONG}):
        case = imperfect(seed)
        if case is None or case[2].visited <= 2 * budget:
            continue
        problem, target, whole = case
        found, again = (NativeEngine().search(problem, target, SearchOptions(budget=budget)) for _ in range(2))
        assert found.stopped == BUDGET
        assert budget <= found.visited < whole.visited
        check(found, whole, "energy", seed)
        assert {**again.as_json(), "seconds": 0} == {**found.as_json(), "seconds": 0}, seed
        stops += 1
    assert stops > 2


def test_an_interrupt_between_slices_is_seen() -> None:
    """Without a watch Ctrl-C leaves the search as an exception; kernels return often enough to let it."""
    _, problem, target, _ = cases("general")[0]
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    engine = NativeEngine()
    engine.watch = Watch(None, lambda *_: signal.raise_signal(signal.SIGINT))
    engine.watch._ticks = 1
    try:
        assert threading.current_thread() is threading.main_thread()
        with pytest.raises(KeyboardInterrupt):
            engine.search(problem, target, PROVEN)
    finally:
        signal.signal(signal.SIGINT, before)


def test_slices_that_end_early_do_not_make_the_next_one_longer() -> None:
    watch, pauses = Watch(), []
    counters = watch.begin(None)

    def some() -> bool:
        pauses.append(int(counters[0]["pause"]))
        return len(pauses) == 100

    assert watch.run(some, counters, lambda: pytest.fail("nobody asks")) == ""
    assert len(set(pauses)) == 1


def test_a_profile_counts_by_level() -> None:
    _, problem, target, whole = cases("general")[0]
    engine = NativeEngine()
    engine.watch = Watch(profile=True)
    profile = engine.search(problem, target).profile
    assert whole.profile is None
    assert profile is not None
    assert list(profile.levels) == list(target.arch.level_names)
    assert sum(level["nodes"] for level in profile.levels.values()) == whole.pruned["nodes"]
    assert profile.tables > 0
    assert set(profile.seconds) == {"unrollings", "search", "ties", "tables, about"}


def test_a_search_that_may_not_begin_has_a_mapping_a_bound_and_a_gap() -> None:
    shown = 0
    for _, problem, target, whole in cases("windows"):
        found = NativeEngine().search(problem, target, SearchOptions(seconds=1e-9))
        check(found, whole, "energy", problem.name)
        if found.evaluation is not None:
            assert found.lower_bound > 0
            shown += 1
    assert shown > 5


def test_a_listing_that_is_cut_short_is_no_proof(monkeypatch: pytest.MonkeyPatch) -> None:
    stops = 0
    for seed, problem, target, whole in cases("general"):
        with monkeypatch.context() as patch:
            patch.setattr(candidates, "MOST_UNROLLINGS", 2)
            found = NativeEngine().search(problem, target)
        check(found, whole, "energy", seed)
        stops += found.stopped == MEMORY
    assert stops > 2
