"""Mesh neighbours of a fan-out: what links serve at most, against the model, and on whole nests of random designs."""

import os
import random
from collections.abc import Iterator

import numpy as np
import pytest

from differential.draw import draw_case
from differential.native import load
from jouleloop.errors import JouleloopError
from jouleloop.mapspace.space import build_mapspace
from jouleloop.model.arrays import AXIS, BOUND, DIM, FANOUT_X, FANOUT_Y
from jouleloop.model.links import count_classes, fill_offsets, neighbour_links
from jouleloop.optimum.arrays import (
    ASKED,
    BOXES,
    COUNT,
    ENERGY,
    FARTHEST,
    FIRST,
    INSTANCES_BELOW,
    KNOWN,
    LAST,
    LOOPS,
    POINT,
    RADIX,
    REACH,
    SERVED_BOXES,
    SERVED_INSTANCES,
    VALUE,
    new_best,
    new_counters,
)
from jouleloop.optimum.descend import _evaluate_leaf
from jouleloop.optimum.mesh import find_neighbours
from jouleloop.optimum.optimise import Search
from jouleloop.optimum.path import asks, cross, place_loops
from jouleloop.optimum.words import find_reach, number_of, shape_of

CASES = int(os.environ.get("JOULELOOP_EXAMPLES", "60"))
KINDS = ("windows", "arrays")
PARTS, TILES, NESTS = 3, 4, 6


def searches(kind: str) -> list[tuple[int, Search]]:
    """Searches of random designs, each with unrollings."""
    found = []
    for seed in range(CASES):
        try:
            problem, target = load(draw_case(seed, kind))
            search = Search(build_mapspace(problem, target.arch, target.constraints), target.costs, target.semantics)
        except JouleloopError:
            continue
        if len(search.candidates.ids) and search.levels > 1:
            found.append((seed, search))
    return found


def known_parts(kind: str) -> Iterator[tuple[Search, int, random.Random]]:
    """Draw parts and make each the case at hand, its neighbours asked for; yield its search and unrolling."""
    for seed, search in searches(kind):
        rng, solver = random.Random(seed), search.solver
        for part in rng.sample(range(solver.count), min(PARTS, solver.count)):
            u = int(solver.parts.unrolling[part])
            solver.fill_tables(part)
            if solver.parts.runs[u, FIRST] < 0:
                solver._arrange(u)
            solver.case.mesh.ask[ASKED] = 1
            yield search, u, rng


def look_at(search: Search, u: int, level: int, target: list[int], extent: np.ndarray) -> bool:
    """Find the neighbours of a tile below a level where they are asked for; return whether they are."""
    solver = search.solver
    point = int(np.dot(target, solver.case.grid.axis[:, RADIX]))
    asked = bool(asks(solver.case, solver.path, level, point, extent))
    if asked:
        find_neighbours(solver.case, solver.path, solver.arrangements, solver.parts.runs[u])
        assert not asks(solver.case, solver.path, level, point, extent)
    return asked


@pytest.mark.parametrize("kind", KINDS)
def test_links_serve_no_more_boxes_and_instances(kind: str) -> None:
    """Of every arrangement and every move, what the model links is counted, whatever the tile."""
    compared = shapes = 0
    for search, u, rng in known_parts(kind):
        case = search.solver.case
        for level in range(1, search.levels):
            for _ in range(TILES):
                target = [rng.randrange(count) for count in case.grid.axis[:, COUNT]]
                extent = case.grid.divisor[range(len(target)), target, VALUE] * case.unrolled.inside[level - 1]
                shapes += look_at(search, u, level, target, extent)
                for v in np.flatnonzero(case.keep[level - 1]).tolist():
                    compared += compare_links(search, search.solver.parts.runs[u], level, v, extent, rng)
    assert compared > CASES
    assert shapes > CASES // 2


def compare_links(search: Search, run: np.ndarray, level: int, v: int, extent: np.ndarray, rng: random.Random) -> int:
    """Compare moves that lead from one instance to another, tiles of these extents below the level."""
    solver = search.solver
    case, coef = solver.case, solver.case.layer.coef[v]
    reach, side, factors = np.zeros((REACH, len(coef)), np.int64), case.unrolled.side[v], case.unrolled.factors[level]
    distances = find_reach(coef, side, extent, factors, reach)
    place = shape_of(coef, side, extent, factors, reach, case.mesh.unit[level, v])[0] if distances > 1 else 0
    fan, served = case.mesh.fan[level, v, place], case.mesh.served[level, v, place]
    if distances == 1 or not fan[KNOWN]:
        return 0
    instances = int(fan[INSTANCES_BELOW])
    compared = 0
    for member in range(run[FIRST], run[LAST]):
        for a in range(*solver.arrangements.members[member, level].tolist()):
            loops = solver.arrangements.loops[a, : solver.arrangements.counts[a]].copy()
            along = [int(np.prod(loops[loops[:, AXIS] == way, BOUND])) for way in (0, 1)]
            columns, rows = (max(n, int(case.spec[level, f])) for n, f in zip(along, (FANOUT_X, FANOUT_Y), strict=True))
            loops[:, 2] = extent[loops[:, DIM]]
            offsets, codes = np.zeros((instances, len(coef)), np.int64), np.zeros(instances, np.int64)
            most = (coef * (extent * (factors - 1))).sum(axis=1)
            fill_offsets(coef, loops, len(loops), offsets, codes, most)
            assert len(set(codes.tolist())) == fan[BOXES]
            for _ in range(6):
                need = offsets[rng.randrange(instances)] - offsets[rng.randrange(instances)]
                far = reach[FARTHEST]
                if not need.any() or any(n and not m for n, m in zip(need, far, strict=True)):
                    continue
                linked = np.zeros(instances, np.bool_)
                number = neighbour_links(offsets, offsets, need, columns, rows, linked)
                left = count_classes(codes, ~linked, np.empty(instances, np.int64))
                key = sum(number_of(reach, r, int(n)) for r, n in enumerate(need) if far[r])
                assert number <= served[key, SERVED_INSTANCES]
                assert fan[BOXES] - left <= served[key, SERVED_BOXES]
                compared += number > 0
    return compared


@pytest.mark.parametrize("kind", KINDS)
def test_no_nest_costs_less_than_what_is_certain(kind: str) -> None:
    assert sum(compare_nest(search, u, rng) for search, u, rng in known_parts(kind) for _ in range(NESTS)) > CASES


def compare_nest(search: Search, u: int, rng: random.Random) -> int:
    """Draw a nest from the outermost level inward; compare what is certain with the cost of its best arrangement."""
    solver = search.solver
    case, path = solver.case, solver.path
    axis, divisor = case.grid.axis, case.grid.divisor
    dims = len(axis)
    index = [int(count) - 1 for count in axis[:, COUNT]]
    path.node[-1, LOOPS], path.node[-1, POINT] = 0, int(np.dot(index, axis[:, RADIX]))
    for level in range(search.levels - 1, 0, -1):
        target = [
            rng.choice([k for k in range(w + 1) if divisor[d, w, VALUE] % divisor[d, k, VALUE] == 0])
            for d, w in enumerate(index)
        ]
        moving = [d for d in range(dims) if index[d] != target[d]]
        rng.shuffle(moving)
        point, total = int(np.dot(target, axis[:, RADIX])), int(path.node[level, LOOPS]) + len(moving)
        place_loops(case, path, level, point, np.array([*moving, 0]), len(moving))
        extent = np.array([divisor[d, target[d], VALUE] * case.unrolled.inside[level - 1, d] for d in range(dims)])
        look_at(search, u, level, target, extent)
        path.certain_pj[level - 1] = path.certain_pj[level] + cross(case, path, search.elided, level, total, extent)
        path.node[level - 1, LOOPS], path.node[level - 1, POINT] = total, point
        index = target
    found_pj = _evaluate_leaf(
        ENERGY,
        search.elided,
        search.compute_pj,
        case,
        path,
        solver.parts.runs[u],
        solver.arrangements,
        solver.work,
        new_best(),
        new_counters(),
        search.new_found(),
        np.zeros(dims, np.int64),
        np.full(search.levels, -1, np.int64),
    )
    assert path.certain_pj[0] <= found_pj * (1 + 1e-12), str(search.problem)
    return 1
