"""A search that is stopped says so: its mapping is one of the mapspace, and no mapping is below its bound."""

import signal
import threading
from collections.abc import Callable
from dataclasses import replace

import pytest

from differential.draw import draw_case
from differential.native import load
from jouleloop.engines.native import NativeEngine
from jouleloop.engines.protocol import PROVEN, SearchOptions, Target
from jouleloop.errors import JouleloopError
from jouleloop.model.objective import OBJECTIVES
from jouleloop.optimum import candidates, limit
from jouleloop.optimum.arrays import PAUSE
from jouleloop.optimum.limit import BUDGET, INTERRUPT, MEMORY, NODE_COUNT, SECONDS, Limit, Progress, Watch
from jouleloop.optimum.result import SearchResult
from jouleloop.workload.problem import Problem

SEEDS = range(14)
#: What rounding of sums may hide.
ROUNDING = 1 + 1e-9


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
    if stopped.optimal:
        assert value == pytest.approx(optimum, rel=1e-9), where


@pytest.mark.parametrize("kind", ["general", "windows", "arrays"])
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


@pytest.mark.parametrize("objective", ["energy", "delay", "edp"])
def test_pauses_change_nothing_and_stops_between_them_keep_the_bound(objective: str) -> None:
    options = SearchOptions((objective,))
    stops = 0
    for seed, problem, target, _ in cases("general"):
        whole = NativeEngine().search(problem, target, options)
        engine = NativeEngine()
        engine.watch = fine = Fine()
        paused = engine.search(problem, target, options)
        assert {**paused.as_json(), "seconds": 0} == {**whole.as_json(), "seconds": 0}, seed
        for at in sorted({1, 2, fine.looks // 4, fine.looks // 2, 3 * fine.looks // 4}):
            engine.watch = Fine(at)
            found = engine.search(problem, target, options)
            check(found, whole, objective, (seed, at))
            assert found.stopped in {INTERRUPT, ""}
            stops += not found.optimal
    assert stops > len(SEEDS)
    assert fine.looks > 1


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


@pytest.mark.parametrize("budget", [1, 30])
def test_a_budget_of_evaluations_is_kept_where_loops_end_early(budget: int) -> None:
    stops = 0
    for seed in SEEDS:
        try:
            problem, target = load(draw_case(seed, "general"))
            target = replace(target, constraints=replace(target.constraints, factors="imperfect"))
            whole = NativeEngine().search(problem, target)
        except JouleloopError:
            continue
        if whole.status != "ok" or whole.visited <= 2 * budget:
            continue
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
        pauses.append(int(counters[PAUSE]))
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
        assert found.optimal == (found.stopped == "")
        stops += found.stopped == MEMORY
    assert stops > 2
