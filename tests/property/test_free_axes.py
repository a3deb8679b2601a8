"""Dimensions along both axes of a fan-out: the mapspace that `axes: free` opens, and its certificates."""

import contextlib
import copy
import itertools
import math
import random
from collections.abc import Iterable
from dataclasses import replace
from functools import cache

import pytest

from differential.draw import draw_case
from differential.native import load
from jouleloop.arch.architecture import Network
from jouleloop.division import divisors
from jouleloop.engines.native import NativeEngine
from jouleloop.engines.protocol import SearchOptions, Target
from jouleloop.engines.timeloop.inputs import constraint_targets
from jouleloop.errors import InputError, JouleloopError
from jouleloop.mapspace.constraints import Constraints, LevelConstraints, LoopConstraint
from jouleloop.mapspace.space import FactorSlot, build_mapspace
from jouleloop.mapspace.spatial import arrangements_of, unrollings
from jouleloop.model.objective import OBJECTIVES
from jouleloop.optimum.certificate import certify, check_known
from jouleloop.optimum.optimise import PerfectKernel
from jouleloop.optimum.result import SearchResult
from jouleloop.proof.form import check_form, digest_of
from jouleloop.proof.verify import Refused, verify
from jouleloop.workload.problem import Problem

KINDS = ("general", "arrays", "wide")
#: A case in which both axes save energy.
CHEAPER = "general 48"


def freed(target: Target) -> Target:
    return replace(target, constraints=replace(target.constraints, axes="free"))


def flat(target: Target) -> Target:
    """Return a design with all instances of each fan-out in one row: every product that fits the mesh fits it."""
    levels = tuple(replace(one, mesh_x=one.instances, mesh_y=1) for one in target.arch.levels)
    compute = replace(target.arch.compute, mesh_x=target.arch.compute.instances, mesh_y=1)
    return replace(target, arch=replace(target.arch, levels=levels, compute=compute))


@cache
def pairs(*, slides: bool = False) -> list[tuple[str, Problem, Target]]:
    """Return layers, whether or not windows slide in them, on drawn designs with a fan-out of two axes, unconstrained.

    Most of their dimensions are larger than an axis, and do not fill both.
    """
    found = []
    for kind, seed in itertools.product(KINDS, range(49)):
        with contextlib.suppress(JouleloopError):
            problem, target = load(draw_case(seed, kind))
            if problem.slides == slides and any(min(fanout) > 1 for fanout in target.arch.fanout):
                drawn = random.Random(seed)
                bounds = tuple(bound if bound == 1 else drawn.choice([2, 6, 12, 16]) for bound in problem.bounds)
                sized = problem if slides else replace(problem, bounds=bounds)
                found.append((f"{kind} {seed}", sized, replace(target, constraints=Constraints("none"))))
    return found


def least(problem: Problem, target: Target) -> SearchResult:
    return NativeEngine().search(problem, target, SearchOptions(budget=2_000))


def test_loops_are_found_where_a_product_of_their_factors_fits() -> None:
    drawn = random.Random(5)
    parted = 0
    for _ in range(1500):
        factors = tuple(drawn.choice([1, 2, 3, 4, 6, 8, 12]) for _ in range(drawn.randint(1, 4)))
        fanout = (drawn.randint(1, 16), drawn.randint(1, 16))
        choices = itertools.product(*map(divisors, factors))
        fits = any(math.prod(x) <= fanout[0] and math.prod(factors) // math.prod(x) <= fanout[1] for x in choices)
        ones = (1,) * len(factors)
        loops = next(iter(arrangements_of(FactorSlot(factors, factors, ones, ones, both=True), factors, fanout)), None)
        assert (loops is not None) == fits, (factors, fanout)
        for axis in (0, 1):
            assert math.prod(f for _, f, on in loops or () if on == axis) <= fanout[axis]
        if loops is not None:
            assert all(math.prod(f for d, f, _ in loops if d == n) == whole for n, whole in enumerate(factors))
            parted += len(loops) > sum(factor > 1 for factor in factors)
    assert parted > 50


def proven(problem: Problem, targets: Iterable[Target]) -> list[SearchResult]:
    """Return the optima up to the first that is not proven."""
    found = (least(problem, one) for one in targets)
    return list(itertools.takewhile(lambda one: one.optimal and one.evaluation is not None, found))


def test_it_costs_no_more_than_axes_apart_and_no_less_than_one_row_of_as_many(monkeypatch: pytest.MonkeyPatch) -> None:
    # What a search that stopped finds outside the tree is not compared.
    monkeypatch.setattr(PerfectKernel, "local_search", lambda *_: None)
    compared = less = 0
    for name, problem, target in pairs():
        try:
            results = proven(problem, (target, freed(target), flat(target)))
        except JouleloopError:
            continue
        if len(results) < 3:
            continue
        apart, free, row = (one.evaluation.energy_pj for one in results if one.evaluation)
        assert row * (1 - 1e-12) <= free <= apart * (1 + 1e-12), name
        assert results[1].mapspace_size >= results[0].mapspace_size, name
        compared += 1
        less += free < apart * (1 - 1e-9)
    assert compared > 8
    assert less > 1


def test_its_unrollings_are_those_of_every_pair_of_loops() -> None:
    shown = 0
    for name, problem, target in itertools.islice(pairs(), 25):
        try:
            space = build_mapspace(problem, target.arch, freed(target).constraints)
            usual = build_mapspace(problem, target.arch, target.constraints)
        except JouleloopError:
            continue
        found = {one.factors for one in unrollings(space)}
        assert found >= {one.factors for one in unrollings(usual)}, name
        shown += len(found)
        for one in unrollings(space):
            for factors, loops, fanout in zip(one.factors, one.arrangements, target.arch.fanout[::-1], strict=True):
                assert all(math.prod(f for d, f, _ in loops[0] if d == n) == whole for n, whole in enumerate(factors))
                assert all(math.prod(f for _, f, on in loops[0] if on == axis) <= fanout[axis] for axis in (0, 1))
    assert shown > 1000


def test_windows_keep_one_axis_a_dimension() -> None:
    for name, problem, target in itertools.islice(pairs(slides=True), 5):
        try:
            space, usual = (build_mapspace(problem, target.arch, t.constraints) for t in (freed(target), target))
        except JouleloopError:
            continue
        assert (space.spatial, space.size) == (usual.spatial, usual.size), name


def test_certificates_state_it_and_hold_for_it_alone() -> None:
    problem, target = next((problem, freed(target)) for name, problem, target in pairs() if name == CHEAPER)
    found = least(problem, target)
    space = build_mapspace(problem, target.arch, target.constraints)
    written = certify(space, target.constraints, target.costs, found, target.semantics)
    assert written["axes"] == "free"
    assert verify(check_form(written)).parts > 0
    other = copy.deepcopy(written)
    del other["axes"]
    other["digest"] = digest_of(other)
    with pytest.raises((Refused, InputError)):
        verify(check_form(other))
    usual = replace(target, constraints=replace(target.constraints, axes="apart"))
    space = build_mapspace(problem, usual.arch, usual.constraints)
    dearer = certify(space, usual.constraints, usual.costs, least(problem, usual), usual.semantics)
    dearer["axes"] = "free"
    dearer["digest"] = digest_of(dearer)
    with pytest.raises(Refused):
        verify(check_form(dearer))
    # Two loops of a dimension along one axis, and more than the mesh holds.
    wide = copy.deepcopy(written)
    level = next(one for one in wide["mapping"] if len({d for d, *_ in one["spatial"]}) < len(one["spatial"]))
    level["spatial"] = [[d, factor, "X"] for d, factor, _ in level["spatial"]]
    wide["digest"] = digest_of(wide)
    with pytest.raises(InputError, match="twice"):
        check_form(wide)
    with pytest.raises(Refused, match="do not fit along X"):
        verify(wide)


@pytest.mark.parametrize("stated", [{"permutation": ("C",)}, {"outer_permutation": ("C",)}, {"split": 1}])
def test_stated_orders_and_splits_stay(stated: dict[str, object]) -> None:
    _, problem, target = next(case for case in pairs() if "C" in case[1].bound)
    names = zip(target.arch.level_names, target.arch.fanout, strict=True)
    level = next(name for name, fanout in names if min(fanout) > 1)
    limits = {level: LevelConstraints(spatial=LoopConstraint(**stated))}  # type: ignore[arg-type]
    spaces = [
        build_mapspace(problem, target.arch, replace(target.constraints, levels=limits, axes=axes))
        for axes in ("apart", "free")
    ]
    at = target.arch.level_names[::-1].index(level)
    assert spaces[0].spatial[at] == spaces[1].spatial[at]


def test_what_it_does_not_hold_for_is_refused() -> None:
    _, problem, target = pairs()[0]
    free = freed(target)
    early = replace(free, constraints=replace(free.constraints, factors="imperfect"))
    rounding = NativeEngine().search(problem, replace(early, semantics="timeloop-4"), SearchOptions(budget=100))
    assert rounding.status == "invalid"
    assert "dimensions along both axes" in rounding.reason
    space = build_mapspace(problem, target.arch, early.constraints, imperfect=True)
    with pytest.raises(InputError, match="certificates of imperfect factors know no dimensions along both axes"):
        check_known(space, early.constraints, early.costs, OBJECTIVES["energy"], "timeloop-3.0.3")
    with pytest.raises(InputError, match="writes a dimension once"):
        constraint_targets(problem, target.arch, free.constraints)
    levels = tuple(replace(one, network=Network(hop_pj=1.0)) for one in target.arch.levels)
    wired = replace(free, arch=replace(free.arch, levels=levels))
    found = NativeEngine().search(problem, wired, SearchOptions(budget=100))
    assert found.status == "invalid"
    assert "both axes" in found.reason
