"""Fronts against all mappings of small mapspaces: every point, and nothing besides, whatever factors may be."""

import itertools
import random
from collections.abc import Iterable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings

from differential.case import unhindered
from differential.draw import KINDS, draw_case
from differential.enumerator import Enumerator, evaluate
from differential.native import load
from differential.residual_space import mappings
from differential.rounded import draw_rounded
from jouleloop.arch.architecture import Architecture
from jouleloop.curves.hardware import held_words, with_words
from jouleloop.energy.costs import EnergyCosts
from jouleloop.engines.native import NativeEngine
from jouleloop.engines.protocol import SEMANTICS, SearchOptions, Target
from jouleloop.errors import InputError, JouleloopError, MappingError
from jouleloop.exploration.capacity import capacity_front
from jouleloop.exploration.front import TIE, LayerFront, layer_front
from jouleloop.exploration.sums import Summand, add_fronts
from jouleloop.mapspace.constraints import Constraints
from jouleloop.mapspace.space import build_mapspace
from jouleloop.model.evaluate import evaluate_mapping
from jouleloop.workload.problem import Problem
from property.test_residual_search import MOST, draw, searched
from property.test_search_against_brute_force import EXAMPLES, FIRST, REPEATED, enumerate_nests, toy_cases
from shares import by_kind, in_shares

Pairs = list[tuple[float, float]]
#: Mappings of a design that are counted symbolically, at most: that takes milliseconds each.
MOST_COUNTED = 300


def brute(found: Iterable[tuple[float, float]]) -> Pairs:
    """Return the pairs of energy and cycles that no other beats, the least energy first."""
    front: Pairs = []
    for energy, cycles in sorted(found, key=lambda pair: (pair[1], pair[0])):
        if not front or energy < front[-1][0] * (1 - TIE):
            front.append((energy, cycles))
    return front[::-1]


def compare(front: LayerFront, expected: Pairs) -> None:
    pairs = [(one.evaluation.energy_pj, one.evaluation.cycles) for one in front.points if one.evaluation]
    assert [cycles for _, cycles in pairs] == [cycles for _, cycles in expected]
    assert [energy for energy, _ in pairs] == pytest.approx([energy for energy, _ in expected], rel=1e-9, abs=1e-9)
    assert front.complete is bool(expected)


@settings(max_examples=FIRST, derandomize=REPEATED, deadline=None, suppress_health_check=list(HealthCheck))
@given(toy_cases())
def test_the_front_of_random_hierarchies(case: tuple[Problem, Architecture, EnergyCosts, Constraints]) -> None:
    compare_front(*case)


@pytest.mark.slow
@settings(max_examples=EXAMPLES - FIRST, derandomize=REPEATED, deadline=None, suppress_health_check=list(HealthCheck))
@given(toy_cases())
def test_the_front_of_many_hierarchies(case: tuple[Problem, Architecture, EnergyCosts, Constraints]) -> None:
    compare_front(*case)


def compare_front(problem: Problem, arch: Architecture, costs: EnergyCosts, constraints: Constraints) -> None:
    """Half of these designs state bandwidths, so cycles hang on more than what is unrolled."""
    from bulk import evaluate_nests

    try:
        nests = enumerate_nests(build_mapspace(problem, arch, constraints))
    except InputError:
        nests = None
    assume(nests is not None)
    assert nests is not None
    for semantics in SEMANTICS:
        energies, cycles = evaluate_nests(problem, arch, costs, nests, semantics)
        expected = brute(zip(energies.tolist(), cycles.tolist(), strict=True))
        compare(layer_front(NativeEngine(), problem, Target(arch, costs, constraints, semantics)), expected)


@in_shares(1200, first=300)
def test_the_front_where_loops_end_early(seeds: range) -> None:
    fronts, points = 0, 0
    for seed in seeds:
        given = searched(draw(seed), MOST)
        if given is None:
            continue
        target, space = given
        found = []
        for mapping in mappings(space):
            try:
                one = evaluate_mapping(space.problem, space.arch, target.costs, mapping, target.semantics)
            except MappingError:
                continue
            found.append((one.energy_pj, float(one.cycles)))
        expected = brute(found)
        target = replace(target, constraints=replace(target.constraints, factors="imperfect"))
        compare(layer_front(NativeEngine(), space.problem, target), expected)
        fronts, points = fronts + 1, points + len(expected)
    assert fronts >= len(seeds) // 30
    assert points > fronts


@in_shares(60, first=15)
def test_no_front_of_rounded_factors_misses_an_optimum(seeds: range) -> None:
    """Least energy, least delay and least product of the front are those of the searches for them."""
    compared = 0
    for seed in range(60 + seeds.start, 60 + seeds.stop):
        try:
            problem, target = load(draw_rounded(seed, 300))
            front = layer_front(NativeEngine(), problem, target)
        except JouleloopError:
            continue
        if not front.complete or not build_mapspace(problem, target.arch, target.constraints, rounds=True).rounded:
            continue
        pairs = np.array([(one.evaluation.energy_pj, one.evaluation.cycles) for one in front.points if one.evaluation])
        for objective, value in (("energy", pairs[:, 0]), ("delay", pairs[:, 1]), ("edp", pairs.prod(axis=1))):
            best = NativeEngine().search(problem, target, SearchOptions((objective,)))
            assert best.lower_bound == pytest.approx(value.min(), rel=1e-9), (seed, objective)
        compared += 1
    assert compared >= len(seeds) // 12


def test_the_front_of_sums_is_that_of_all_sums() -> None:
    rng = random.Random("sums")
    for _ in range(200):
        layers, runs = [], []
        for _ in range(rng.randint(1, 3)):
            points = brute((rng.uniform(1, 9), rng.randint(1, 9)) for _ in range(rng.randint(1, 5)))
            layers.append(points)
            runs.append(rng.randint(1, 2))
        every = [points for points, count in zip(layers, runs, strict=True) for _ in range(count)]
        sums = [tuple(map(sum, zip(*chosen, strict=True))) for chosen in itertools.product(*every)]
        summands = [
            Summand(np.array([e for e, _ in points]), np.array([int(c) for _, c in points]), count)
            for points, count in zip(layers, runs, strict=True)
        ]
        found = add_fronts(summands)
        expected = brute((energy, cycles) for energy, cycles in sums)
        for within in (0.01, 0.1, 0.5):
            short = add_fronts(summands, within)
            assert len(short.cycles) <= len(found.cycles)
            for energy, cycles in expected:
                assert short.energies_pj[short.cycles <= cycles].min() <= energy * (1 + within + 1e-12)
        assert found.cycles.tolist() == [cycles for _, cycles in expected]
        assert found.energies_pj == pytest.approx([energy for energy, _ in expected], rel=1e-12)
        for place, (energy, cycles) in enumerate(zip(found.energies_pj, found.cycles, strict=True)):
            choice = found.choice(place)
            assert [sum(one.values()) for one in choice] == runs
            taken = [(layers[n][p], k) for n, one in enumerate(choice) for p, k in one.items()]
            assert sum(point[1] * k for point, k in taken) == cycles
            assert sum(point[0] * k for point, k in taken) == pytest.approx(energy)


def test_points_that_lie_close_do_not_drift() -> None:
    """Each point is close to the next one, and the last far from the first; what is left out is close to one kept."""
    energies, cycles = np.linspace(1.0, 2.0, 1001), np.arange(1001, 0, -1)
    short = add_fronts([Summand(energies, cycles, 1)], 0.01)
    assert 50 < len(short.cycles) < 100
    for energy, one in zip(energies, cycles, strict=True):
        assert short.energies_pj[short.cycles <= one].min() <= energy * 1.01 * (1 + 1e-12)


@by_kind(KINDS, 60, first=8)
def test_the_front_of_energy_cycles_and_capacity_is_that_of_an_enumeration(kind: str, seeds: range) -> None:
    """Every mapping under any capacity of one level, counted symbolically, by code that shares nothing with ours."""
    fronts = points = 0
    for seed in seeds:
        case = draw_case(seed, kind, MOST_COUNTED)
        try:
            problem, target = load(case)
            inner = target.arch.levels[1:]
            if not inner:
                continue
            level = inner[seed % len(inner)].name
            front = capacity_front(NativeEngine(), problem, target, level)
        except JouleloopError:
            continue
        free = with_words(target, level, None)
        every = Enumerator(case, problem, free.arch, unhindered(case)).mappings()
        counting = list(itertools.islice(every, MOST_COUNTED + 1))
        if len(counting) > MOST_COUNTED:
            continue
        found = []
        for mapping in counting:
            energy_pj, cycles = evaluate(problem, free.arch, free.costs, mapping, case.semantics)
            counted = evaluate_mapping(problem, free.arch, free.costs, mapping, case.semantics)
            found.append((energy_pj, cycles, held_words(counted, level)))
        expected: list[tuple[float, float, int]] = []
        for one in sorted(set(found)):
            if not any(e <= one[0] * (1 + 1e-9) and c <= one[1] and w <= one[2] for e, c, w in expected):
                expected.append(one)
        ours = [(p.evaluation.energy_pj, p.evaluation.cycles) for p in front.points if p.evaluation]
        both = sorted((c, w, e) for (e, c), w in zip(ours, front.words, strict=True))
        assert [one[:2] for one in both] == sorted((c, w) for _, c, w in expected), seed
        assert [one[2] for one in both] == pytest.approx([e for _, _, e in sorted((c, w, e) for e, c, w in expected)])
        assert front.complete is bool(expected)
        fronts, points = fronts + 1, points + len(expected)
    assert fronts >= len(seeds) // 4
    assert points > fronts
