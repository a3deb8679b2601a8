"""Explorations against searches of every design: the best, the front, and the bound of every family."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from jouleloop.engines.native import NativeEngine
from jouleloop.engines.protocol import SEMANTICS, Target
from jouleloop.errors import InputError
from jouleloop.exploration.designs import Design, Space
from jouleloop.exploration.explore import OBJECTIVES, Explorer, Outcome
from jouleloop.exploration.prices import Prices
from jouleloop.mapspace.space import build_mapspace
from jouleloop.workload.problem import Problem
from property.test_search_against_brute_force import REPEATED, layers, toy

#: One attribute: by option how it changes a target.
Options = list[tuple[int, float, float, float]]
SMALL = 200_000


def changed(target: Target, level: int, words: float, energy: float, speed: float, units: int) -> Target:
    """Return a target whose level holds, takes and passes more or less, with so many times the units."""
    own, cost = target.arch.levels[level], target.costs.levels[level]
    held = None if own.capacity_words is None else max(1, int(own.capacity_words * words))
    rate = None if own.read_bandwidth_words is None else own.read_bandwidth_words * speed
    new = replace(own, capacity_words=held, read_bandwidth_words=rate, write_bandwidth_words=rate)
    later = None if cost.later_pj is None else tuple(pj * energy for pj in cost.later_pj)
    area = (cost.area_um2 or 10.0) * words * energy
    dear = replace(cost, read_pj=cost.read_pj * energy, write_pj=cost.write_pj * energy, later_pj=later, area_um2=area)
    levels, costs = list(target.arch.levels), list(target.costs.levels)
    levels[level], costs[level] = new, dear
    compute = replace(target.arch.compute, mesh_x=target.arch.compute.mesh_x * units)
    arch = replace(target.arch, levels=tuple(levels), compute=compute)
    whole = sum(one.area_um2 or 10.0 for one in costs) + compute.instances
    return replace(target, arch=arch, costs=replace(target.costs, levels=tuple(costs), area_um2=whole))


@st.composite
def spaces(draw: st.DrawFn) -> tuple[list[Design], np.ndarray, list[tuple[Problem, int]]]:
    """Up to 24 designs, a level or two of which vary in two or three ways, and one or two layers."""
    arch, costs, constraints = toy(draw)
    base = Target(arch, costs, constraints, draw(st.sampled_from(SEMANTICS)))
    number = st.sampled_from([0.5, 0.8, 1.0, 1.5, 3.0])
    attributes = [
        (draw(st.integers(0, len(arch.levels) - 1)), [(draw(number), draw(number), draw(number)) for _ in range(count)])
        for count in (draw(st.integers(2, 4)), draw(st.integers(1, 3)))
    ]
    meshes = draw(st.sampled_from([[1], [1], [1, 2]]))
    designs, places = [], []
    for place in itertools.product(*(range(len(options)) for _, options in attributes), range(len(meshes))):
        target = base
        for (level, options), own in zip(attributes, place[:2], strict=True):
            target = changed(target, level, *options[own], 1)
        designs.append(Design(changed(target, 0, 1.0, 1.0, 1.0, meshes[place[2]])))
        places.append(place)
    sizes = layers((1, 1, 2, 3, 4))
    problems = [(draw(sizes).problem(), draw(st.integers(1, 3))) for _ in range(draw(st.integers(1, 2)))]
    return designs, np.array(places), problems


def points_of(designs: list[Design], problems: list[tuple[Problem, int]]) -> list[list[tuple[float, int]]]:
    """Return the front of all layers together on every design, each searched by itself; empty without a mapping."""
    found = []
    prices = Prices(NativeEngine(), "front")
    for design in designs:
        each = [prices.price(problem, design.target, prices.identity(design.target)) for problem, _ in problems]
        runs = [one for one, (_, count) in zip(each, problems, strict=True) for _ in range(count)]
        sums = itertools.product(*(one.points for one in runs))
        found.append([(sum(e for e, _ in chosen), sum(c for _, c in chosen)) for chosen in sums])
    return found


def explored(designs: list[Design], places: np.ndarray, problems: list[tuple[Problem, int]], what: str) -> Outcome:
    prices = Prices(NativeEngine(), OBJECTIVES[what])
    return Explorer(designs, places, problems, what, prices).run(lambda: "")


@settings(max_examples=9, derandomize=REPEATED, deadline=None, suppress_health_check=list(HealthCheck))
@given(spaces())
def test_the_best_design_is_that_of_all(case: tuple[list[Design], np.ndarray, list[tuple[Problem, int]]]) -> None:
    compare_spaces(*case)


@pytest.mark.slow
@settings(max_examples=41, derandomize=REPEATED, deadline=None, suppress_health_check=list(HealthCheck))
@given(spaces())
def test_the_best_design_of_many_spaces(case: tuple[list[Design], np.ndarray, list[tuple[Problem, int]]]) -> None:
    compare_spaces(*case)


def compare_spaces(designs: list[Design], places: np.ndarray, problems: list[tuple[Problem, int]]) -> None:
    """Compare explorations of a space with searches of every design."""
    try:
        for problem, _ in problems:
            target = designs[0].target
            assume(build_mapspace(problem, target.arch, target.constraints).size < SMALL)
    except InputError:
        assume(False)
    points = points_of(designs, problems)
    values = {
        "energy": [min((e for e, _ in own), default=np.inf) for own in points],
        "delay": [min((c for _, c in own), default=np.inf) for own in points],
        "edp": [min((e * c for e, c in own), default=np.inf) for own in points],
    }
    for what, expected in values.items():
        found = explored(designs, places, problems, what)
        assert found.value == pytest.approx(min(expected), rel=1e-9), what
        assert (found.best is None) is (min(expected) == np.inf)
        assert found.best is None or expected[found.best] == pytest.approx(found.value, rel=1e-9)
        judged = [place for family in found.families for place in family.members]
        assert sorted({*judged, *found.counted}) == list(range(len(designs)))
        for family in found.families:
            assert all(expected[place] >= family.bound * (1 - 1e-9) for place in family.members), what
    areas = [design.area_um2 or 0.0 for design in designs]
    every = [(e, c, areas[place]) for place, own in enumerate(points) for e, c in own]
    near = 1 + 1e-9
    expected_front = {
        (float(f"{e:.8g}"), c, a)
        for e, c, a in every
        if not any(d <= e * near and k <= c and b <= a and (d < e / near or k < c or b < a) for d, k, b in every)
    }
    front = explored(designs, places, problems, "front").front
    assert {(float(f"{e:.8g}"), c, a) for e, c, a, _ in front} == expected_front


def test_no_member_is_better_than_its_relaxed_design() -> None:
    """Also where levels have to be filled: the share is of a member's own capacity."""
    from jouleloop.api.hardware import Architecture as Hardware
    from jouleloop.workload.sizes import parse_layer

    problem = parse_layer("conv:C16xM32xP14xQ14xR3xS3").problem()
    base = Hardware.read("eyeriss").target(problem)
    rng = np.random.default_rng(7)
    for _ in range(20):
        level = int(rng.integers(1, len(base.arch.levels)))
        members = []
        for _ in range(3):
            target = changed(base, level, float(rng.uniform(0.3, 2)), float(rng.uniform(0.5, 2)), 1.0, 1)
            own = replace(target.arch.levels[level], min_utilization=float(rng.choice([0.0, 0.2])))
            kept = tuple(own if k == level else one for k, one in enumerate(target.arch.levels))
            members.append(Design(replace(target, arch=replace(target.arch, levels=kept))))
        relaxed = Space(members, range(3)).relaxed(np.arange(3))
        prices = Prices(NativeEngine(), "front")
        least = prices.price(problem, relaxed, prices.identity(relaxed))
        for one in members:
            own_price = prices.price(problem, one.target, prices.identity(one.target))
            for energy, cycles in own_price.points:
                assert any(e <= energy * (1 + 1e-12) and c <= cycles for e, c in least.points)


def test_designs_of_other_meshes_are_no_family() -> None:
    """An energy or a capacity may differ in a family; what mappings there are may not."""
    from jouleloop.api.hardware import Architecture as Hardware

    base = Hardware.read("eyeriss")
    structure = Design(base.targets.for_shape(base.shape)).structure
    larger = base.with_({"shared_glb.depth": 8192})
    assert Design(larger.targets.for_shape(base.shape)).structure == structure
    for changes in ({"PE_column.meshX": 7}, {"PE.meshY": 6}, {"mac.datawidth": 8}):
        other = base.with_(changes, energy="built-in")
        assert Design(other.targets.for_shape(base.shape)).structure != structure, changes
