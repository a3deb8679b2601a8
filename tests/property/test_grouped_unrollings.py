"""Bounds of groups of unrollings: no mapping of a group costs less, and a search that begins anew finds the same."""

import os
from dataclasses import replace

import numpy as np
import pytest

from differential.draw import KINDS, draw_case
from differential.native import load
from jouleloop.engines.protocol import Target
from jouleloop.errors import JouleloopError, MappingError
from jouleloop.mapping.mapping import Mapping
from jouleloop.mapspace.sample import sample_mappings
from jouleloop.mapspace.space import MapSpace, build_mapspace
from jouleloop.model.evaluate import evaluate_mapping
from jouleloop.optimum import optimise
from jouleloop.optimum.groups import Groups, groups_of
from jouleloop.optimum.optimise import Search, search_mapspace

CASES = int(os.environ.get("JOULELOOP_EXAMPLES", "60"))
NESTS = 12
_SEMANTICS = ("timeloop-3.0.3", "timeloop-2023-04", "timeloop-4")
_NO_CONSTRAINTS = {f"{which}_constraints": {"targets": []} for which in ("architecture", "mapspace")}


def drawn(kind: str, seed: int) -> tuple[MapSpace, Target, Search] | None:
    """Return a design without constraints, with its search, where that is one the search follows."""
    case = replace(draw_case(seed, kind, 4000), semantics=_SEMANTICS[seed % 3], constraints=_NO_CONSTRAINTS)
    try:
        problem, target = load(case)
        space = build_mapspace(problem, target.arch, target.constraints)
        return space, target, Search(space, target.costs, target.semantics, by_energy=True)
    except JouleloopError:
        return None


def unrolled(search: Search, mapping: Mapping) -> np.ndarray:
    """Return the spatial factors of a mapping, shape (levels, dimensions)."""
    names = search.problem.shape.dimensions
    factors = np.ones((search.levels, len(names)), np.int64)
    for k, level in enumerate(reversed(mapping.levels)):
        for d, bound, _ in level.spatial:
            factors[k, names.index(d)] *= bound
    return factors[:, search.dims]


def kept(search: Search, mapping: Mapping) -> np.ndarray:
    """Return what a mapping keeps, shape (levels, data spaces)."""
    spaces = search.problem.data_spaces
    return np.array([[one.name in level.keep for one in spaces] for level in reversed(mapping.levels)])


@pytest.mark.parametrize("kind", KINDS)
def test_no_mapping_of_a_group_costs_less_than_its_bound(kind: str) -> None:
    compared, close = 0, 0
    for seed in range(3 * CASES):
        found = drawn(kind, seed)
        if found is None or not len(found[2].candidates.ids):
            continue
        space, target, search = found
        solver = search.solver
        if groups_of(solver.case, solver.parts, wired=False) is None:
            continue
        for mapping in sample_mappings(space, NESTS, seed=seed):
            try:
                cost_pj = evaluate_mapping(
                    space.problem, target.arch, target.costs, mapping, target.semantics
                ).energy_pj
            except MappingError:
                continue
            own = unrolled(search, mapping)
            rows = np.stack([np.ones_like(own), own], axis=1)
            groups = Groups(solver.case, solver.parts._replace(row=np.ascontiguousarray(rows)))
            levels = range(search.levels)
            alone = groups.bound_pj(kept(search, mapping), [np.array([1]) for _ in levels], np.inf)
            group = groups.bound_pj(kept(search, mapping), [np.array([0, 1]) for _ in levels], np.inf)
            assert 0.0 <= group <= alone * (1 + 1e-9), (kind, seed)
            assert alone <= cost_pj, (kind, seed, alone / cost_pj, mapping)
            compared += 1
            close += alone > 0.5 * cost_pj
    assert compared > CASES // 4
    assert close > compared // 10


@pytest.mark.parametrize("kind", KINDS)
def test_a_search_that_begins_anew_finds_the_same(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    compared, begun = 0, []
    whole = optimise.regrouped
    monkeypatch.setattr(optimise, "regrouped", lambda *args: begun.append(1) or whole(*args))
    for seed in range(CASES):
        found = drawn(kind, seed)
        if found is None or found[0].size > 1e9:
            continue
        space, target, _ = found
        answers = []
        for many in (np.inf, 0.0):
            monkeypatch.setattr(optimise, "_MANY", many)
            monkeypatch.setattr(optimise, "_MANY_TICKS", 1)
            answers.append(search_mapspace(space, target.costs, semantics=target.semantics))
        assert answers[0].mapping == answers[1].mapping, (kind, seed)
        assert answers[0].optimal == answers[1].optimal, (kind, seed)
        compared += 1
    assert compared > CASES // 10
    assert begun
