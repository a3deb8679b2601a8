"""Exact counts in closed form against an execution of every step, and against Timeloop's counts of perfect factors."""

import random
from itertools import product
from typing import Any

import pytest

from differential.exact_walk import walk
from differential.imperfect import draw_design, draw_mapping
from differential.native import load
from jouleloop.api.project import load_target
from jouleloop.errors import JouleloopError, MappingError
from jouleloop.mapping.mapping import LevelMapping, Mapping
from jouleloop.model.evaluate import evaluate_mapping
from jouleloop.model.exact_evaluation import evaluate_exactly
from jouleloop.workload.problem import Problem
from jouleloop.workload.sizes import parse_layer
from shares import by_kind

KINDS = ("general", "windows", "arrays")


def _small(seed: int, kind: str) -> tuple[Problem, Any, Mapping] | None:
    """Return a random problem of few operations, a target and a mapping whose loops end early."""
    rng = random.Random(f"exact/{kind}/{seed}")
    case = draw_design(seed, kind)
    instance = case.problem["problem"]["instance"]
    left = 400
    names = case.problem["problem"]["shape"]["dimensions"]
    for name in rng.sample(names, k=len(names)):
        instance[name] = min(instance[name], rng.randint(1, 7), max(1, left))
        left //= instance[name]
    try:
        problem, target = load(case)
    except JouleloopError:
        return None
    mapping = draw_mapping(random.Random(f"exact mapping/{kind}/{seed}"), problem, target.arch)
    return (problem, target, mapping) if mapping.imperfect else None


@by_kind(KINDS, 160, first=40)
def test_closed_form_is_the_execution(kind: str, seeds: range) -> None:
    compared = 0
    for seed in seeds:
        drawn = _small(seed, kind)
        if drawn is None:
            continue
        problem, target, mapping = drawn
        try:
            counted = evaluate_exactly(problem, target.arch, target.costs, mapping, target.semantics)
        except MappingError:
            continue
        compared += 1
        _compare(problem, target, mapping, counted, f"{kind}-{seed} {mapping.compact()}")
    assert compared >= 0.3 * len(seeds)


def _compare(problem: Problem, target: Any, mapping: Mapping, counted: Any, name: str) -> None:
    truth = walk(problem, target.arch, mapping)
    assert (counted.compute_cycles, counted.computes) == (truth["steps"], truth["operations"]), name
    for space in problem.data_spaces:
        outermost = next(level.level for level in mapping.levels if space.name in level.keep)
        for level in counted.levels:
            if space.name not in level.data:
                continue
            data = level.data[space.name]
            read, received, seen = truth[level.name, space.name]
            wanted = [read, 0, received, seen]
            if space.read_write:
                elided = target.semantics == "timeloop-3.0.3" and level.name != outermost
                wanted = [read - seen, read, received - seen * elided, seen]
            got = [n * data.instances for n in (data.reads, data.updates, data.fills, data.partition_words)]
            assert got == pytest.approx(wanted), (name, level.name, space.name)


@pytest.mark.slow
def test_perfect_factors_are_counted_as_timeloop_counts_them() -> None:
    """But for windows that slide along several loops: Timeloop runs iterations 0 and 1 of each only."""
    compared = 0
    for kind, seed in product(KINDS, range(160)):
        case = draw_design(seed, kind)
        rng = random.Random(f"perfect/{kind}/{seed}")
        for name in case.problem["problem"]["shape"]["dimensions"]:
            case.problem["problem"]["instance"][name] = rng.choice((1, 2, 2, 4, 4, 8))
        try:
            problem, target = load(case)
            mapping = draw_mapping(rng, problem, target.arch)
            ours = evaluate_exactly(problem, target.arch, target.costs, mapping, target.semantics)
            theirs = evaluate_mapping(problem, target.arch, target.costs, mapping, target.semantics)
        except JouleloopError:
            continue
        long = any(end > 2 for level in mapping.levels for _, end in level.temporal)
        if mapping.imperfect or (long and (problem.slides or problem.leaves_gaps)):
            continue
        compared += 1
        for level, wanted in zip(ours.levels, theirs.levels, strict=True):
            for space, data in level.data.items():
                for field in ("tile_words", "reads", "updates", "fills", "reductions"):
                    assert getattr(data, field) == getattr(wanted.data[space], field), (mapping.compact(), space, field)
    assert compared >= 40


def test_what_is_not_counted_exactly_is_refused_by_name() -> None:
    problem = parse_layer("conv:C2xM1xP5xQ1xR3xS1").problem()
    target = load_target("eyeriss", semantics="timeloop-3.0.3", constraints="none").for_shape(problem.shape)
    spaces = frozenset(space.name for space in problem.data_spaces)
    spatial = {"shared_glb": (("P", 2, "X"),), "DummyBuffer": (("R", 3, "Y"),)}
    temporal = {"DRAM": (("C", 2), ("P", 3))}
    levels = tuple(
        LevelMapping(name, temporal.get(name, ()), spatial.get(name, ()), spaces if at in (0, 5) else frozenset())
        for at, name in enumerate(target.arch.level_names)
    )
    mapping = Mapping(levels, (("P", 5),))
    with pytest.raises(MappingError, match=r"dimensions of one rank that are unrolled together .got 'P, R'"):
        evaluate_exactly(problem, target.arch, target.costs, mapping)
