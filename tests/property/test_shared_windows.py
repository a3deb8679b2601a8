"""Windows that share dimensions, sliding and gapped outputs, few energies: all mappings of small mapspaces.

A single action costs something in most cases, so a bound that is too high for one count shows.
"""

import os
from collections import defaultdict
from collections.abc import Iterator

import numpy as np
import pytest

from bulk import evaluate_many
from differential.case import Case, unhindered
from differential.enumerator import Enumerator
from differential.native import load
from differential.shared import draw_merged, draw_shared
from jouleloop.energy.costs import EnergyCosts
from jouleloop.errors import InputError, JouleloopError
from jouleloop.mapping.mapping import Mapping
from jouleloop.mapspace.space import MapSpace, build_mapspace
from jouleloop.model.arrays import Floats, Ints
from jouleloop.optimum.arrays import new_counters
from jouleloop.optimum.driver import Task
from jouleloop.optimum.optimise import Search, search_mapspace
from jouleloop.optimum.residual.optimise import ImperfectKernel

CASES = int(os.environ.get("JOULELOOP_EXAMPLES", "60"))
LIMIT = 300


def walked(cases: Iterator[Case]) -> Iterator[tuple[Case, MapSpace, EnergyCosts, list[Mapping], Floats, Ints]]:
    """Yield of every case that is read its mapspace, energies, all mappings, and what they cost."""
    for case in cases:
        try:
            problem, target = load(case)
            space = build_mapspace(problem, target.arch, target.constraints)
            mappings = list(Enumerator(case, problem, target.arch, unhindered(case)).mappings())
            costs = evaluate_many(problem, target.arch, target.costs, mappings, case.semantics)
        except JouleloopError:
            continue
        yield case, space, target.costs, mappings, *costs


def test_no_mapping_is_better_than_the_optimum() -> None:
    searched = 0
    cases = (case for seed in range(CASES) for case in (draw_shared(seed, LIMIT), draw_merged(seed)))
    for case, space, costs, _, energy_pj, cycles in walked(cases):
        try:
            found = search_mapspace(space, costs, objective=(case.objective,), semantics=case.semantics)
        except InputError:
            continue
        valid = np.isfinite(energy_pj)
        assert (found.evaluation is not None) == valid.any(), case.name
        if found.evaluation is None:
            continue
        values = {"energy": energy_pj, "delay": cycles, "edp": energy_pj * cycles}[case.objective]
        own = found.evaluation.energy_pj, found.evaluation.cycles
        value = {"energy": own[0], "delay": own[1], "edp": own[0] * own[1]}[case.objective]
        assert found.optimal
        assert value == pytest.approx(values[valid].min(), rel=1e-9, abs=1e-9), case.name
        searched += 1
    assert searched > CASES // 2


def test_of_merged_unrollings_one_stands_for_those_that_are_not_evaluated() -> None:
    """Where no order matters one member is evaluated, so no other may cost less, nor be the only one that is valid."""
    merged = 0
    for case, space, costs, mappings, energy_pj, _ in walked(draw_merged(seed) for seed in range(2 * CASES)):
        candidates = Search(space, costs, case.semantics, mirrored=False).candidates
        alone: dict[tuple[tuple[int, ...], ...], int] = {}
        for u in range(len(candidates.ids)):
            members = candidates.members[candidates.group[u] : candidates.group_end[u]]
            if len(members) > 1 and len(candidates.arrange(u)[0]) == 1:
                for member in members.tolist():
                    factors = tuple(own[n] for own, n in zip(candidates._own, member, strict=True))
                    alone[factors] = u
        found = defaultdict(set)
        for mapping, cost in zip(mappings, energy_pj.tolist(), strict=True):
            u = alone.get(unrolled(mapping, space))
            if u is not None:
                found[u, tuple((level.temporal, level.keep) for level in mapping.levels)].add(round(cost, 9))
        assert all(len(costs) == 1 for costs in found.values()), case.name
        merged += len(found)
    assert merged > CASES


def unrolled(mapping: Mapping, space: MapSpace) -> tuple[tuple[int, ...], ...]:
    """Return the spatial factors of a mapping by level, innermost first, and dimension."""
    dims = space.problem.shape.dimensions
    rows = []
    for level in reversed(mapping.levels):
        row = dict.fromkeys(dims, 1)
        for d, bound, _ in level.spatial:
            row[d] *= bound
        rows.append(tuple(row.values()))
    return tuple(rows)


def test_imperfect_factors_are_refused_where_outputs_have_gaps() -> None:
    refused = 0
    for seed in range(CASES):
        case = draw_merged(seed)
        try:
            problem, target = load(case)
            space = build_mapspace(problem, target.arch, target.constraints, imperfect=True)
        except JouleloopError:
            continue
        instance = case.problem["problem"]["instance"]
        if any(instance[d] > 1 and instance[c] > 1 for d, c in (("P", "a"), ("Q", "b")) if c in instance):
            with pytest.raises(InputError):
                ImperfectKernel(Task(space, target.costs, semantics="timeloop-3.0.3"), new_counters())
            refused += 1
    assert refused > 0
