"""A mapping that is found outside the tree: allowed, no better than the optimum, the same again, and near it."""

from functools import cache

import numpy as np
import pytest

import jouleloop as jl
from differential.draw import draw_case
from differential.native import load
from jouleloop.api.hardware import Architecture
from jouleloop.api.layers import problem_of
from jouleloop.engines.native import NativeEngine
from jouleloop.errors import JouleloopError
from jouleloop.mapping.mapping import Mapping
from jouleloop.mapspace.space import MapSpace, build_mapspace
from jouleloop.mapspace.spatial import arrangements_of
from jouleloop.model.objective import OBJECTIVES
from jouleloop.optimum import optimise
from jouleloop.optimum.incumbent import Incumbent, Outside, Walker
from jouleloop.optimum.limit import Limit, Watch
from jouleloop.optimum.optimise import Search, search_mapspace
from shares import by_kind, slow_after


def allowed(space: MapSpace, mapping: Mapping) -> bool:
    """Whether a mapping keeps to the slots of a mapspace."""
    names = space.problem.shape.dimensions
    spaces = [one.name for one in space.problem.data_spaces]
    for level, time, place in zip(reversed(mapping.levels), space.temporal, space.spatial, strict=True):
        for slot, loops in ((time, level.temporal), (place, [loop[:2] for loop in level.spatial])):
            factors = dict(loops)
            for d, name in enumerate(names):
                factor = factors.get(name, 1)
                if slot is None:
                    assert factor == 1
                elif slot.is_open(d):
                    assert slot.least[d] <= factor <= slot.most[d]
                else:
                    assert factor == slot.fixed[d]
            if slot is not None:
                ranks = [slot.rank[names.index(name)] for name, _ in loops]
                assert ranks == sorted(ranks, reverse=True)
    for level, fan, slot in zip(mapping.levels, space.arch.fanout, reversed(space.spatial), strict=True):
        if slot is not None:
            loops = tuple((names.index(name), bound, "XY".index(axis)) for name, bound, axis in level.spatial)
            bounds = {d: bound for d, bound, _ in loops}
            assert loops in arrangements_of(slot, tuple(bounds.get(d, 1) for d in range(len(names))), fan)
    for v, name in enumerate(spaces):
        kept = [name in level.keep for level in reversed(mapping.levels)]
        assert any(kept == list(column) for column in space.columns[v])
    return True


@by_kind(("general", "windows", "arrays"), 12, 2)
def test_it_is_allowed_and_no_better_than_the_optimum(kind: str, seeds: range) -> None:
    shown = near = 0
    for seed in seeds:
        try:
            problem, target = load(draw_case(seed, kind))
            optimum = NativeEngine().search(problem, target).evaluation
        except JouleloopError:
            continue
        space = build_mapspace(problem, target.arch, target.constraints)

        def find(space: MapSpace = space) -> Incumbent | None:
            walker = Walker(space, target.costs, OBJECTIVES["energy"], target.semantics, space.columns)  # noqa: B023 - called in this turn
            outside = Outside(walker)
            while not outside.ended:
                outside.step()
            return outside.best

        found = find()
        if found is None:
            continue
        assert optimum is not None, seed
        assert allowed(space, found.mapping), seed
        assert found.value >= optimum.energy_pj * (1 - 1e-9), seed
        assert find() == found, seed
        near += found.value <= 1.02 * optimum.energy_pj
        # A search that stops is no worse, unless it is within a tenth of its bound; that stays below the optimum.
        stopped = search_mapspace(space, target.costs, semantics=target.semantics, budget=1)
        assert stopped.mapping is not None, seed
        assert stopped.evaluation is not None, seed
        assert allowed(space, stopped.mapping), seed
        assert stopped.lower_bound <= optimum.energy_pj * (1 + 1e-9), seed
        assert stopped.evaluation.energy_pj >= optimum.energy_pj * (1 - 1e-9), seed
        limit = max(found.value, 1.1 * stopped.lower_bound)
        assert stopped.evaluation.energy_pj <= limit * (1 + 1e-9), seed
        shown += 1
    assert shown > len(seeds) // 3
    assert near >= 0.9 * shown - 0.5


@pytest.mark.parametrize(("kind", "seed"), [("windows", 90413), ("arrays", 90822)])
def test_dimensions_of_one_have_a_place_before_the_split(kind: str, seed: int) -> None:
    problem, target = load(draw_case(seed, kind))
    space = build_mapspace(problem, target.arch, target.constraints)
    outside = Outside(Walker(space, target.costs, OBJECTIVES["energy"], target.semantics, space.columns))
    while not outside.ended:
        outside.step()
    optimum = NativeEngine().search(problem, target).evaluation
    assert outside.best is not None
    assert optimum is not None
    assert allowed(space, outside.best.mapping)
    assert outside.best.value >= optimum.energy_pj * (1 - 1e-9)


@cache
def open_design(name: str, layer: str) -> tuple[MapSpace, Architecture]:
    """Return the mapspace of a design without constraints."""
    problem = problem_of(layer)
    design = Architecture.read(name, constraints="none", shape=problem.shape)
    target = design.target(problem)
    return build_mapspace(problem, target.arch, target.constraints), design


@pytest.mark.parametrize("objective", slow_after(1, ["energy", "edp"]))
def test_a_search_that_looks_aside_ends_with_the_same_answer(objective: str, monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[Outside] = []
    look = optimise.Outside
    monkeypatch.setattr(optimise, "Outside", lambda *a, **k: looked.append(look(*a, **k)) or looked[-1])
    shown = 0
    for kind in ("general", "windows", "arrays"):
        for seed in range(40, 46):
            try:
                problem, target = load(draw_case(seed, kind))
                space = build_mapspace(problem, target.arch, target.constraints)
                plain = search_mapspace(space, target.costs, objective=(objective,), semantics=target.semantics)
            except JouleloopError:
                continue
            looked.clear()
            with monkeypatch.context() as patch:
                patch.setattr(optimise, "_ALONE_TICKS", 1)
                aside = search_mapspace(space, target.costs, objective=(objective,), semantics=target.semantics)
            assert plain.optimal == aside.optimal == (plain.mapping is not None), (kind, seed)
            assert aside.mapping == plain.mapping, (kind, seed)
            assert aside.lower_bound == pytest.approx(plain.lower_bound, rel=1e-11), (kind, seed)
            shown += bool(looked)
    assert shown > 6


@pytest.mark.parametrize(
    "ticks", [2_500_000, 3_300_000, *(pytest.param(ticks, marks=pytest.mark.slow) for ticks in (1_000_000, 5_000_000))]
)
def test_what_is_found_does_not_hang_on_the_clock(ticks: int, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("_ALONE_TICKS", "_MANY_TICKS"):
        monkeypatch.setattr(optimise, name, 3_000_000)
    space, design = open_design("eyeriss", "matmul:M64xN96xK96")
    target = design.target(space.problem)

    def run() -> tuple[Mapping | None, float, int]:
        found = search_mapspace(space, target.costs, semantics=target.semantics, watch=Watch(Limit(ticks=ticks)))
        return found.mapping, found.lower_bound, found.visited

    usual = run()
    monkeypatch.setattr("jouleloop.optimum.limit._FIRST_TICKS", 1_000)
    assert run() == usual


@pytest.mark.parametrize("name", ["eyeriss", "simba"])
@pytest.mark.parametrize(
    "layer", slow_after(1, ["conv:C3xM32xP28xQ28xR5xS5", "fc:512x384/batch64", "conv:C64xM64xP14xQ14xR3xS3"])
)
def test_an_open_design_is_no_worse_at_once_than_its_optimum_under_constraints(name: str, layer: str) -> None:
    problem = problem_of(layer)
    space, design = open_design(name, layer)
    target = design.target(problem)
    subsets = []
    for constraints in ("full", "arch-only"):
        try:
            part = Architecture.read(name, constraints=constraints, shape=problem.shape).target(problem)
            subsets.append(NativeEngine().search(problem, part).evaluation)
        except JouleloopError:
            continue
    found = search_mapspace(space, target.costs, semantics=target.semantics, watch=Watch(Limit(ticks=20_000_001)))
    energies = [one.energy_pj for one in subsets if one is not None]
    assert found.evaluation is not None
    assert energies
    assert found.evaluation.energy_pj <= min(energies) * (1 + 1e-9)


def test_a_search_of_one_choice_does_not_begin_once_somebody_has_stopped_all() -> None:
    space, design = open_design("simba", "conv:C64xM64xP14xQ14xR3xS3")
    watch = Watch()
    counters = watch.begin(None)
    outside = Search(space, design.target(space.problem).costs, "timeloop-3.0.3", watch).outside(
        OBJECTIVES["energy"], counters
    )
    while outside.walks:
        outside.step()
    outside.step()
    before = watch.worked
    assert before > 0
    assert not outside.ended
    watch.stop()
    outside.step()
    assert watch.worked == before


def test_walks_leave_their_start_as_it_is() -> None:
    space, design = open_design("simba", "fc:64x48")
    walker = Walker(space, design.target(space.problem).costs, OBJECTIVES["energy"], "timeloop-3.0.3", space.columns)
    start = walker.start()
    assert start is not None
    before = [array.copy() for array in start]
    walker.walk(start, 1, 500)
    assert all(np.array_equal(now, then) for now, then in zip(start, before, strict=True))


def test_a_search_ends_where_no_walk_can_begin() -> None:
    # No simple mapping fits so few words, and the first mapping found costs twice the bound.
    curve = jl.curve("eyeriss", "conv:C64xM64xP56xQ56xR3xS3", most_words=135, least_words=130, seconds=60)
    assert curve.proven
    assert not curve.stopped
