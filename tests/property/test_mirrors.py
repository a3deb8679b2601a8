"""Symmetric unrollings: they cost the same to the last bit, stand in the same mapspace, and no search needs both."""

import contextlib
import os
import random
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from differential.case import Case
from differential.draw import KINDS, draw_case
from differential.native import load
from jouleloop.engines.protocol import Target
from jouleloop.errors import JouleloopError, MappingError
from jouleloop.mapping.mapping import Mapping
from jouleloop.mapspace.space import MapSpace, build_mapspace
from jouleloop.mapspace.spatial import arrangements_of
from jouleloop.model.evaluate import evaluate_mapping
from jouleloop.optimum.mirror import Mirror, find_mirrors
from jouleloop.optimum.optimise import Search, search_mapspace
from sample import sample_mappings
from shares import by_kind, slow_after

CASES = int(os.environ.get("JOULELOOP_EXAMPLES", "60"))
NESTS = 12
#: Most factorizations of a mapspace that is searched.
_MOST = 5000
#: What is alike in a square convolution.
_TWINS = {"Q": "P", "S": "R", "Hstride": "Wstride", "Hdil": "Wdil", "t": "s"}
_NO_CONSTRAINTS: dict[str, Any] = {f"{which}_constraints": {"targets": []} for which in ("architecture", "mapspace")}


def square(case: Case, constrained: bool) -> Case:
    """Return a case whose windows are as wide as high, perhaps without its constraints."""
    problem = case.problem["problem"]
    sizes = {name: problem["instance"].get(_TWINS.get(name), size) for name, size in problem["instance"].items()}
    rng = random.Random(case.name)
    if rng.random() < 0.3:
        dims = rng.sample(problem["shape"]["dimensions"], 2)
        sizes[dims[0]] = sizes[dims[1]]
    return replace(
        case,
        problem={"problem": {**problem, "instance": sizes}},
        constraints=case.constraints if constrained else _NO_CONSTRAINTS,
        semantics=rng.choice((case.semantics, case.semantics, "timeloop-4")),
    )


def wired(target: Target) -> Target:
    """Return a target whose networks take energy."""
    levels = [
        replace(one, network=replace(one.network, hop_pj=0.37, router_pj=0.11, ingress_pj=0.13))
        for one in target.arch.levels
    ]
    return replace(target, arch=replace(target.arch, levels=tuple(levels)))


def drawn(kind: str, seed: int, constrained: bool) -> tuple[MapSpace, Target] | None:
    with contextlib.suppress(JouleloopError):
        problem, target = load(square(draw_case(seed, kind), constrained))
        if seed % 3 == 2:
            target = wired(target)
        return build_mapspace(problem, target.arch, target.constraints), target
    return None


def image_of(space: MapSpace, mirror: Mirror, mapping: Mapping) -> Mapping:
    names = space.problem.shape.dimensions
    other = {name: names[d] for name, d in zip(names, mirror.image.tolist(), strict=True)}
    levels = [
        replace(
            level,
            temporal=tuple((other[d], bound) for d, bound in level.temporal),
            spatial=tuple((other[d], bound, axis) for d, bound, axis in level.spatial),
        )
        for level in mapping.levels
    ]
    return Mapping(tuple(levels))


def cost(space: MapSpace, target: Target, mapping: Mapping) -> tuple[float, int] | None:
    try:
        found = evaluate_mapping(
            space.problem, target.arch, target.costs, mapping, target.semantics, check_capacity=False
        )
    except MappingError:
        return None
    return found.energy_pj, found.cycles


def stands(space: MapSpace, mirror: Mirror, mapping: Mapping) -> bool:
    """Whether a mapspace has a mapping, whatever the order of innermost loops that no fan-out is below; or loops of it
    are said to be turned."""
    names = space.problem.shape.dimensions
    turned = False
    for k, level in enumerate(reversed(mapping.levels)):
        time, place = space.temporal[k], space.spatial[k]
        order = [names.index(d) for d, _ in reversed(level.temporal)]
        ranks = [time.rank[d] for d in order]
        if ranks != sorted(ranks) and (k > 0 or place is not None):
            return False
        factors = [1] * len(names)
        for d, bound in level.temporal:
            factors[names.index(d)] = bound
        for d, factor in enumerate(factors):
            if (time.fixed[d] or factor) != factor or not time.least[d] <= factor <= time.most[d]:
                return False
        loops = tuple((names.index(d), bound, "XY".index(axis)) for d, bound, axis in level.spatial)
        unrolled = [1] * len(names)
        for d, bound, _ in loops:
            unrolled[d] = bound
        if place is None:
            continue
        along = np.array([f > 1 or place.split is not None for f in unrolled])
        turned = turned or bool((mirror.turned[k] & along & along[:, None]).any())
        if loops not in arrangements_of(place, tuple(unrolled), space.arch.fanout[-1 - k]):
            return turned
    return True


@pytest.mark.parametrize("kind", slow_after(2, KINDS))
def test_images_cost_the_same(kind: str) -> None:
    compared = differ = 0
    for seed in range(CASES):
        one = drawn(kind, seed, constrained=seed % 4 == 3)
        if one is not None:
            more = compare_images(*one, seed)
            compared, differ = compared + more[0], differ + more[1]
    assert compared > CASES
    assert differ > CASES // 2


def compare_images(space: MapSpace, target: Target, seed: int) -> tuple[int, int]:
    """Compare mappings with their images; return how many were compared, and how many were not their own image."""
    compared = differ = 0
    with contextlib.suppress(JouleloopError):
        for mapping in sample_mappings(space, NESTS, seed=seed):
            for mirror in find_mirrors(space, space.problem.projection_array):
                image = image_of(space, mirror, mapping)
                found = cost(space, target, mapping)
                assert found == cost(space, target, image), (mapping, image)
                assert stands(space, mirror, image), (mapping, image)
                compared += found is not None
                differ += image != mapping
    return compared, differ


def searched(kind: str, seeds: range) -> Iterator[tuple[MapSpace, Target]]:
    for seed in seeds:
        one = drawn(kind, seed, constrained=seed % 2 == 1)
        if one is not None and one[0].index_factorizations < _MOST:
            yield one


@by_kind(["general", "windows", "arrays"], CASES, first=CASES // 3)
def test_searches_find_the_same_without_images(kind: str, seeds: range, monkeypatch: pytest.MonkeyPatch) -> None:
    left_out = 0
    for n, (space, target) in enumerate(searched(kind, seeds)):
        objective = (("energy",), ("delay",), ("edp",), ("energy", "delay"))[n % 4]
        try:
            found = search_mapspace(space, target.costs, objective=objective, semantics=target.semantics)
            left_out += Search(space, target.costs, target.semantics).candidates.mirrored
        except JouleloopError:
            continue
        with monkeypatch.context() as patch:
            patch.setattr("jouleloop.optimum.optimise.find_mirrors", lambda *_: [])
            whole = search_mapspace(space, target.costs, objective=objective, semantics=target.semantics)
        assert (found.status, found.optimal) == (whole.status, whole.optimal)
        assert found.mapping == whole.mapping
        assert found.evaluation == whole.evaluation
    assert left_out > len(seeds) // 10
