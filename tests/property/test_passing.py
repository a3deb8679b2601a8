"""Bounds where words pass through levels, or outputs are filled the first time too (`docs/search.md`).

Random mappings of random designs for Timeloop 4 are followed from the outermost level inward: at every level what is
certain and what the tables say lies ahead must not exceed what the model counts. Whole searches are compared with an
enumeration. In some designs networks take energy, too, or distribute multicasts.
"""

import json
import math
import os
import random
from dataclasses import replace

import numpy as np
import pytest

from differential.case import Case, unhindered
from differential.enumerator import Enumerator
from differential.keywords import draw_passing
from differential.native import load
from jouleloop.engines.native import NativeEngine
from jouleloop.engines.protocol import SearchOptions, Target
from jouleloop.errors import JouleloopError, MappingError
from jouleloop.mapping.mapping import LevelMapping, Mapping
from jouleloop.mapping.reuse import Reuse
from jouleloop.mapspace.space import MapSpace, build_mapspace
from jouleloop.model.evaluate import evaluate_mapping
from jouleloop.optimum.descend import _bound_order
from jouleloop.optimum.optimise import Search
from jouleloop.optimum.path import extents
from jouleloop.workload.problem import Problem
from sample import sample_mappings

CASES = int(os.environ.get("JOULELOOP_EXAMPLES", "60"))
FIRST = int(os.environ.get("JOULELOOP_FIRST", "0"))
NESTS = 12
_WIRES = {"energy-per-hop": (0.5, 20), "router-energy": (0.25, 30)}


def draw(seed: int, limit: int = 800) -> Case:
    """Return a case whose levels let words pass through; in every third networks take energy, or distribute."""
    case, rng = draw_passing(seed, limit), random.Random(f"passed/{seed}")
    tree = json.loads(json.dumps(case.arch))
    node = tree["architecture"]
    while seed % 3 == 0 and node:
        for item in node.get("local") or []:
            if "mac" not in item["class"]:
                attributes = item.setdefault("attributes", {})
                attributes |= {key: rng.choice(values) for key, values in _WIRES.items() if rng.random() < 0.4}
                if rng.random() < 0.3:
                    attributes["network-type"] = "M:N"
        node = (node.get("subtree") or [None])[0]
    return Case(**{**case.as_json(), "arch": tree, "objective": "energy"})


def told(case: Case) -> tuple[MapSpace, Target, Problem] | None:
    """Return the mapspace of a case that the search takes, where every loop divides the layer."""
    try:
        problem, target = load(case)
        space = build_mapspace(problem, target.arch, target.constraints)
        Search(space, target.costs, target.semantics)
        sample_mappings(space, 1)
    except JouleloopError:
        return None
    return (space, target, problem) if any(space.reuse) else None


def test_bounds_never_exceed_what_a_nest_costs() -> None:
    followed = passed = 0
    for seed in range(FIRST, FIRST + CASES):
        found = told(draw(seed))
        if found is None:
            continue
        space, target, problem = found
        search = Search(space, target.costs, target.semantics, mirrored=False)
        try:
            mappings = sample_mappings(space, NESTS, seed=seed)
        except JouleloopError:
            continue
        for mapping in mappings:
            energy_pj = _energy_pj(problem, target, mapping)
            if energy_pj == math.inf:
                continue
            bounds_pj = along(search, mapping)
            assert min(bounds_pj) > 0.0 or energy_pj == 0.0
            for level, bound_pj in enumerate(bounds_pj):
                assert bound_pj <= energy_pj * (1 + 1e-12) + 1e-9, (seed, level, mapping.compact())
            followed += 1
            passed += any(reuse.no_coalesce for reuse in space.reuse)
    assert followed > CASES
    assert passed > CASES // 4


def along(search: Search, mapping: Mapping) -> list[float]:
    """Return the bounds of a nest: without tables, with tables, then with its loops placed level by level.

    Of unrollings that differ by the orders of their spatial loops alone the least counts.
    """
    names = search.problem.shape.dimensions
    levels = mapping.levels[::-1]
    factors = np.ones((len(levels), len(names)), np.int64)
    for row, level in zip(factors, levels, strict=True):
        for d, bound, _ in level.spatial:
            row[names.index(d)] *= bound
    own = np.flatnonzero((search.candidates.factors == factors[:, search.dims]).all(axis=(1, 2)))
    assert len(own)
    kept = [[s.name in at.keep - at.reuse.no_coalesce for s in search.problem.data_spaces] for at in levels]
    solver = search.solver
    if solver.parts.stand[0]["tabled"] < 0:
        solver.list_all()
    parts = [p for p in range(solver.count) if solver.parts.unrolling[p] in own and (solver.keep_of(p) == kept).all()]
    assert parts
    loops = [[(names.index(d), bound) for d, bound in level.temporal] for level in levels]
    return np.min([followed(search, part, loops) for part in parts], axis=0).tolist()  # type: ignore[no-any-return]


def followed(search: Search, part: int, loops: list[list[tuple[int, int]]]) -> list[float]:
    solver, top = search.solver, search.levels - 1
    found = [float(solver.bound_pj[part])]
    found.append(solver.fill_tables(part))
    case, path = solver.case, solver.path
    axis, divisor = case.grid.axis, case.grid.divisor
    dims = search.dims.tolist()
    index = [int(count) - 1 for count in axis["count"]]
    rest = [int(divisor[d, index[d]]["value"]) for d in range(len(dims))]
    path.node[top]["loops"], path.node[top]["point"] = 0, int(np.dot(index, axis["radix"]))
    extent = np.zeros(len(dims), np.int64)
    for level in range(top, 0, -1):
        moving = [dims.index(d) for d, _ in reversed(loops[level])]
        for d, bound in loops[level]:
            rest[dims.index(d)] //= bound
        index = [divisor[d, : axis[d]["count"]]["value"].tolist().index(rest[d]) for d in range(len(dims))]
        point = int(np.dot(index, axis["radix"]))
        extents(case, level, point, extent)
        certain_pj, bound_pj = _bound_order(case, path, level, point, np.array([*moving, 0]), len(moving), extent)
        found += [certain_pj, bound_pj]
        path.node[level - 1]["loops"] = path.node[level]["loops"] + len(moving)
        path.node[level - 1]["point"], path.certain_pj[level - 1] = point, certain_pj
    return found


def _energy_pj(problem: Problem, target: Target, mapping: Mapping) -> float:
    """Return what a mapping takes [pJ], infinite where it does not fit."""
    try:
        return evaluate_mapping(problem, target.arch, target.costs, mapping, target.semantics).energy_pj
    except MappingError:
        return math.inf


def _with(level: LevelMapping, reuse: Reuse) -> LevelMapping:
    return replace(level, reuse=reuse)


def test_searches_find_the_optimum_of_the_enumeration() -> None:
    compared = 0
    for seed in range(FIRST, FIRST + CASES // 2):
        case = draw(seed, 120)
        found = told(case)
        if found is None:
            continue
        space, target, problem = found
        result = NativeEngine().search(problem, target, SearchOptions(("energy",)))
        mappings = list(Enumerator(case, problem, target.arch, unhindered(case)).mappings())
        # The enumeration knows no keywords.
        told_of = [Mapping(tuple(map(_with, mapping.levels, space.reuse[::-1]))) for mapping in mappings]
        least_pj = min((_energy_pj(problem, target, mapping) for mapping in told_of), default=math.inf)
        if least_pj == math.inf or result.evaluation is None:
            assert least_pj == math.inf
            assert result.evaluation is None
            continue
        assert result.optimal
        assert result.evaluation.energy_pj == pytest.approx(least_pj, rel=1e-9), seed
        compared += 1
    assert compared > CASES // 10
