"""Optima and certificates of unusual problems on several fan-outs against all mappings of loops that may end early.

What is claimed is taken from every mapping in turn: no certificate proves one that costs more than the least.
"""

import json
import math
from collections.abc import Iterator
from dataclasses import replace

import pytest

from differential.case import Case
from differential.native import load
from differential.odd import draw_odd
from differential.residual_space import mappings, sizes
from jouleloop.engines.protocol import Target
from jouleloop.errors import InputError, JouleloopError, MappingError
from jouleloop.mapping.mapping import Mapping
from jouleloop.mapspace.space import MapSpace, build_mapspace
from jouleloop.model.evaluate import evaluate_mapping
from jouleloop.model.evaluation import Evaluation
from jouleloop.model.objective import OBJECTIVES
from jouleloop.optimum.arrays import new_counters
from jouleloop.optimum.certificate import certify
from jouleloop.optimum.driver import Task
from jouleloop.optimum.optimise import search_mapspace
from jouleloop.optimum.residual.optimise import ImperfectKernel, search_residuals
from jouleloop.proof.form import check_form
from jouleloop.proof.verify import Refused, verify

#: No more mappings than this.
MOST = 1500


def spaces(seeds: range, *, early: bool) -> Iterator[tuple[int, Case, Target, MapSpace]]:
    """Yield the mapspaces of some seeds that are small."""
    for seed in seeds:
        case = draw_odd(seed)
        try:
            problem, target = load(case)
            space = build_mapspace(problem, target.arch, target.constraints, imperfect=early)
            ImperfectKernel(Task(space, target.costs, semantics=target.semantics), new_counters())
        except JouleloopError:
            continue
        if 1 < sizes(space) <= MOST:
            yield seed, case, target, space


def counted(space: MapSpace, target: Target, *, early: bool) -> list[tuple[Mapping, Evaluation]]:
    """Return all mappings that fit, each with what it costs."""
    found = []
    for mapping in mappings(space):
        try:
            evaluation = evaluate_mapping(space.problem, space.arch, target.costs, mapping, target.semantics)
        except MappingError:
            continue
        if early or not mapping.imperfect:
            found.append((mapping, evaluation))
    return found


@pytest.mark.parametrize(
    ("first", "stop"),
    [(0, 20), *(pytest.param(seed, seed + 40, marks=pytest.mark.slow) for seed in range(20, 400, 40))],
)
def test_where_loops_need_not_divide_nothing_is_better(first: int, stop: int) -> None:
    searched = 0
    for seed, _, target, space in spaces(range(first, stop), early=True):
        all_of_it = counted(space, target, early=True)
        for name, objective in OBJECTIVES.items():
            found = search_residuals(space, target.costs, objective=(name,), semantics=target.semantics)
            least = min((objective.value(evaluation) for _, evaluation in all_of_it), default=math.inf)
            assert found.optimal is bool(all_of_it), (seed, name)
            if found.evaluation is not None:
                assert objective.value(found.evaluation) == pytest.approx(least, rel=1e-9, abs=1e-12), (seed, name)
                searched += 1
    assert searched >= (stop - first) // 2


@pytest.mark.parametrize("free", [False, True])
def test_cycles_decide_among_equal_energies_and_those_within_a_thousandth(free: bool) -> None:
    """Also where nothing takes energy, so that no mapping has more than another."""
    searched = 0
    for seed, _, target, space in spaces(range(2000, 2040), early=False):
        costs = target.costs
        if free:
            levels = tuple(replace(level, read_pj=0.0, write_pj=0.0) for level in costs.levels)
            costs = replace(costs, levels=levels, compute_pj=0.0)
        found = [
            (evaluate_mapping(space.problem, space.arch, costs, mapping, target.semantics).energy_pj, known.cycles)
            for mapping, known in counted(space, target, early=False)
        ]
        least = min((energy_pj for energy_pj, _ in found), default=math.inf)
        for metrics, share in ((("energy",), 1e-11), (("energy", "delay"), 1e-3)):
            result = search_mapspace(space, costs, objective=metrics, semantics=target.semantics)
            assert result.optimal is bool(found), seed
            if result.evaluation is None:
                continue
            assert result.evaluation.energy_pj <= least * (1 + share), (seed, metrics)
            cycles = min(cycles for energy_pj, cycles in found if energy_pj <= least * (1 + share))
            assert result.evaluation.cycles == cycles, (seed, metrics)
            searched += 1
    assert searched >= 15


@pytest.mark.parametrize("early", [False, True])
@pytest.mark.parametrize("first", [1000, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (1100, 1200, 1300))])
def test_no_certificate_proves_what_is_not_the_least(first: int, early: bool) -> None:
    """Each is written as if the mapping claimed were the optimum, with the tree that a search with it would leave."""
    believed = refused = 0
    for seed, _, target, space in spaces(range(first, first + 45), early=early):
        all_of_it = counted(space, target, early=early)
        if not all_of_it:
            continue
        constraints = replace(target.constraints, factors="imperfect" if early else "perfect")
        search = search_residuals if early else search_mapspace
        found = search(space, target.costs, semantics=target.semantics)
        assert found.evaluation is not None, seed
        least = found.evaluation.energy_pj
        assert least == pytest.approx(min(cost.energy_pj for _, cost in all_of_it), rel=1e-9, abs=1e-12), seed
        dearer = sorted(
            (cost.energy_pj, n) for n, (_, cost) in enumerate(all_of_it) if cost.energy_pj > least * (1 + 1e-9)
        )
        for n in [None, *(n for _, n in dearer[: 1 + early] + dearer[-1:])]:
            claim = found if n is None else replace(found, mapping=all_of_it[n][0], evaluation=all_of_it[n][1])
            if n is None:
                data = json.loads(json.dumps(certify(space, constraints, target.costs, claim, target.semantics)))
                assert verify(check_form(data)).parts > 0, seed
                believed += 1
                continue
            # What argues for imperfect factors counts the better mapping itself.
            with pytest.raises((Refused, InputError)):
                verify(check_form(certify(space, constraints, target.costs, claim, target.semantics)))
            refused += 1
    assert believed >= 5
    assert refused >= 5
