"""Mesh neighbours of a fan-out: what links serve at most, against the model, and on whole nests of random designs.

And what hops take where words go, and where neighbours hand them on: there accesses cost next to nothing.
"""

import os
import random
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from differential.case import Case, components
from differential.draw import draw_case
from differential.native import load
from differential.problems import space
from differential.shared import few_energies
from jouleloop.arch.architecture import Architecture
from jouleloop.energy.costs import EnergyCosts
from jouleloop.engines.protocol import Target
from jouleloop.errors import JouleloopError
from jouleloop.mapspace.space import build_mapspace
from jouleloop.model.links import count_classes, fill_offsets, neighbour_links
from jouleloop.model.steps import AROUND
from jouleloop.optimum.arrays import ENERGY, REACH, Tally, new_best, new_counters, new_log
from jouleloop.optimum.descend import _evaluate_leaf
from jouleloop.optimum.mesh import find_neighbours
from jouleloop.optimum.optimise import Search
from jouleloop.optimum.path import asks, cross, place_loops
from jouleloop.optimum.words import find_reach, number_of, shape_of

CASES = int(os.environ.get("JOULELOOP_EXAMPLES", "60"))
KINDS = ("windows", "arrays")
PARTS, TILES, NESTS = 3, 4, 6
#: The versions that count energy of networks.
_COUNT_HOPS = ("timeloop-3.0.3", "timeloop-4")


def searches(kind: str, *, wired: bool = False) -> list[tuple[int, Search]]:
    """Searches of `designs`."""
    return [(seed, search) for seed, search, _ in designs(kind, wired=wired)]


def designs(kind: str, *, wired: bool = False) -> list[tuple[int, Search, Target]]:
    """Searches of random designs, each with unrollings; or of the same with networks that take most of the energy."""
    found = []
    for seed in range(CASES):
        case = draw_case(seed, kind)
        if wired:
            case = replace(case, semantics=_COUNT_HOPS[seed % 2])
        try:
            problem, target = load(case)
            if wired:
                target = replace(target, arch=charged(target.arch, seed), costs=nearly_free(target.costs))
            search = Search(build_mapspace(problem, target.arch, target.constraints), target.costs, target.semantics)
        except JouleloopError:
            continue
        if len(search.candidates.ids) and search.levels > 1:
            found.append((seed, search, target))
    return found


def charged(arch: Architecture, seed: int) -> Architecture:
    """Return an architecture all of whose networks charge hops, some of them routers and what goes in."""
    levels = []
    for k, level in enumerate(arch.levels):
        router_pj, ingress_pj = (0.0, 0.7)[(seed + k) % 2], (0.0, 0.0, 0.3)[seed % 3]
        network = replace(level.network, hop_pj=1.0, router_pj=router_pj, ingress_pj=ingress_pj)
        levels.append(replace(level, network=network))
    return replace(arch, levels=tuple(levels))


def nearly_free(costs: EnergyCosts) -> EnergyCosts:
    """Return energies of accesses that are a thousandth of what they were."""
    levels = [replace(one, read_pj=one.read_pj / 1000, write_pj=one.write_pj / 1000) for one in costs.levels]
    return replace(costs, levels=tuple(levels), compute_pj=0.001)


def known_parts(kind: str, *, wired: bool = False, asked: bool = True) -> Iterator[tuple[Search, int, random.Random]]:
    """Draw parts and make each the case at hand, its neighbours asked for; yield its search and unrolling."""
    for seed, search in searches(kind, wired=wired):
        rng, solver = random.Random(seed), search.solver
        for part in rng.sample(range(solver.count), min(PARTS, solver.count)):
            u = int(solver.parts.unrolling[part])
            solver.fill_tables(part)
            if solver.parts.runs["first"][u] < 0:
                solver._arrange(u)
            solver.case.mesh.ask["asked"] = asked
            yield search, u, rng


def look_at(search: Search, u: int, level: int, target: list[int], extent: np.ndarray) -> bool:
    """Find the neighbours of a tile below a level where they are asked for; return whether they are."""
    solver = search.solver
    point = int(np.dot(target, solver.case.grid.axis["radix"]))
    asked = bool(asks(solver.case, solver.path, level, point, extent))
    if asked:
        find_neighbours(solver.case, solver.path, solver.arrangements, solver.parts.runs[u])
        assert not asks(solver.case, solver.path, level, point, extent)
    return asked


@pytest.mark.parametrize("kind", KINDS)
def test_links_serve_no_more_boxes_and_instances_and_no_nest_costs_less(kind: str) -> None:
    """Of every arrangement and every move, what the model links is counted, whatever the tile."""
    compared = shapes = nests = 0
    for search, u, rng in known_parts(kind):
        case = search.solver.case
        for level in range(1, search.levels):
            for _ in range(TILES):
                target = [rng.randrange(count) for count in case.grid.axis["count"]]
                extent = case.grid.divisor[range(len(target)), target]["value"] * case.unrolled.inside[level - 1]
                shapes += look_at(search, u, level, target, extent)
                for v in np.flatnonzero(case.keep[level - 1]).tolist():
                    compared += compare_links(search, search.solver.parts.runs[u], level, v, extent, rng)
        nests += sum(compare_nest(search, u, rng) for _ in range(NESTS))
    assert compared > CASES
    assert shapes > CASES // 2
    assert nests > CASES


def compare_links(search: Search, run: np.ndarray, level: int, v: int, extent: np.ndarray, rng: random.Random) -> int:
    """Compare moves that lead from one instance to another, tiles of these extents below the level."""
    solver = search.solver
    case, coef = solver.case, solver.case.target.layer.coef[v]
    reach, side, factors = np.zeros(len(coef), REACH), case.unrolled.side[v], case.unrolled.factors[level]
    distances = find_reach(coef, side, extent, factors, reach)
    place = shape_of(coef, side, extent, factors, reach, case.mesh.unit[level, v])[0] if distances > 1 else 0
    fan, served = case.mesh.fan[level, v, place], case.mesh.served[level, v, place]
    if distances == 1 or not fan["known"]:
        return 0
    instances = int(fan["instances"])
    compared = 0
    for member in range(run["first"], run["last"]):
        for a in range(*solver.arrangements.members[member, level].tolist()):
            loops = solver.arrangements.loops[a, : solver.arrangements.counts[a]].copy()
            along = [int(np.prod(loops[loops["axis"] == way]["bound"])) for way in (0, 1)]
            columns, rows = (
                max(n, int(case.target.hardware.levels[level][f]))
                for n, f in zip(along, ("fanout_x", "fanout_y"), strict=True)
            )
            around = np.empty(len(loops), AROUND)
            around["dim"], around["bound"] = loops[::-1]["dim"], loops[::-1]["bound"]
            around["step"] = extent[around["dim"]]
            offsets, codes = np.zeros((instances, len(coef)), np.int64), np.zeros(instances, np.int64)
            most = (coef * (extent * (factors - 1))).sum(axis=1)
            fill_offsets(coef, around, most, True, offsets, codes)
            assert len(set(codes.tolist())) == fan["boxes"]
            for _ in range(6):
                need = offsets[rng.randrange(instances)] - offsets[rng.randrange(instances)]
                far = reach["farthest"]
                if not need.any() or any(n and not m for n, m in zip(need, far, strict=True)):
                    continue
                linked = np.zeros(instances, np.bool_)
                number = neighbour_links(offsets, offsets, need, columns, rows, linked)
                left = count_classes(codes, ~linked, np.empty(instances, np.int64))
                key = sum(number_of(reach, r, int(n)) for r, n in enumerate(need) if far[r])
                assert number <= served[key]["instances"]
                assert fan["boxes"] - left <= served[key]["boxes"]
                compared += number > 0
    return compared


@pytest.mark.parametrize("asked", [True, False])
@pytest.mark.parametrize("kind", KINDS)
def test_no_nest_costs_less_than_its_hops_and_links(kind: str, asked: bool) -> None:
    """Hops and links are most of the energy here, so that any that are bounded too high are seen."""
    parts = known_parts(kind, wired=True, asked=asked)
    assert sum(compare_nest(search, u, rng) for search, u, rng in parts for _ in range(NESTS)) > CASES


def test_links_may_serve_some_instances_of_a_box_without_multicasts() -> None:
    """Every box is asked for, yet words go less far than without links: no order of loops bounds that."""
    spaces = [space("T", "P+R*a"), space("W", "R", "M"), space("Z", "P", "M", write=True)]
    shape = {"name": "slides", "dimensions": list("PMR"), "coefficients": [{"name": "a", "default": 2}]}
    problem = {"problem": {"shape": {**shape, "data-spaces": spaces}, "instance": {"P": 3, "M": 2, "R": 101, "a": 2}}}
    unit = {"name": "mac", "class": "intmac", "attributes": {"datawidth": 8, "meshX": 3}}
    buffer = {"name": "buf", "class": "SRAM", "attributes": {"word-bits": 8, "meshX": 3, "depth": 100}}
    node = {"name": "s1[0..11]", "local": [buffer], "subtree": [{"name": "s2", "local": [unit]}]}
    memory = {"name": "DRAM", "class": "DRAM", "attributes": {"word-bits": 8}}
    arch = {"architecture": {"version": 0.3, "subtree": [{"name": "s0", "local": [memory], "subtree": [node]}]}}
    order = {"permutation": "MPR", "split": 1}
    targets = [
        {"target": "DRAM", "type": "spatial", **order, "factors": "P=3 M=2 R=1", "no_multicast_no_reduction": ["T"]},
        {"target": "buf", "type": "temporal", "factors": "P=1 M=1 R=1"},
        {"target": "buf", "type": "bypass", "keep": ["T", "W", "Z"]},
    ]
    constraints = {"architecture_constraints": {"targets": targets}, "mapspace_constraints": {"targets": []}}
    case = Case("slides", arch, problem, constraints, {})
    layer, target = load(replace(case, ert=few_energies(random.Random(0), components(case))))
    outermost, *levels = target.arch.levels
    outermost = replace(outermost, network=replace(outermost.network, hop_pj=1.0))
    target = replace(target, arch=replace(target.arch, levels=(outermost, *levels)))
    search = Search(build_mapspace(layer, target.arch, target.constraints), nearly_free(target.costs), target.semantics)
    solver = search.solver
    assert solver.count == 1
    solver.fill_tables(0)
    solver._arrange(0)
    solver.case.mesh.ask["asked"] = True
    assert compare_nest(search, 0, random.Random(0), whole=True)


def compare_nest(search: Search, u: int, rng: random.Random, *, whole: bool = False) -> int:
    """Draw a nest from the outermost level inward; compare what is certain with the cost of its best arrangement.

    ``whole``: all loops stand at the outermost level.
    """
    solver = search.solver
    case, path = solver.case, solver.path
    axis, divisor = case.grid.axis, case.grid.divisor
    dims = len(axis)
    index = [int(count) - 1 for count in axis["count"]]
    path.node[-1]["loops"], path.node[-1]["point"] = 0, int(np.dot(index, axis["radix"]))
    for level in range(search.levels - 1, 0, -1):
        target = [
            0
            if whole
            else rng.choice([k for k in range(w + 1) if divisor[d, w]["value"] % divisor[d, k]["value"] == 0])
            for d, w in enumerate(index)
        ]
        moving = [d for d in range(dims) if index[d] != target[d]]
        rng.shuffle(moving)
        point, total = int(np.dot(target, axis["radix"])), int(path.node[level]["loops"]) + len(moving)
        place_loops(case, path, level, point, np.array([*moving, 0]), len(moving))
        extent = np.array([divisor[d, target[d]]["value"] * case.unrolled.inside[level - 1, d] for d in range(dims)])
        look_at(search, u, level, target, extent)
        path.certain_pj[level - 1] = path.certain_pj[level] + cross(case, path, level, total, extent)
        path.node[level - 1]["loops"], path.node[level - 1]["point"] = total, point
        index = target
    found_pj = _evaluate_leaf(
        case,
        path,
        solver.parts.runs[u],
        solver.arrangements,
        solver.work,
        Tally(ENERGY, new_best(), new_counters(), search.new_found(), new_log()),
        solver.stack,
    )
    assert path.certain_pj[0] <= found_pj * (1 + 1e-12), str(search.problem)
    return 1
