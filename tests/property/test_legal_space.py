"""The mapspace `legal`: every order that the constraints allow, against an enumeration, and its certificates."""

import copy
from dataclasses import replace

import pytest

from bulk import evaluate_nests
from differential.draw import draw_case
from differential.native import load
from jouleloop.engines.protocol import Target
from jouleloop.errors import InputError, JouleloopError
from jouleloop.mapspace.constraints import LoopConstraint
from jouleloop.mapspace.space import FactorSlot, MapSpace, build_mapspace
from jouleloop.optimum.certificate import certify
from jouleloop.optimum.limit import Limit, Watch
from jouleloop.optimum.optimise import search_mapspace
from jouleloop.optimum.result import SearchResult
from jouleloop.proof.form import check_form, digest_of
from jouleloop.proof.verify import Refused, verify
from jouleloop.workload.problem import Problem
from property.test_search_against_brute_force import enumerate_nests

#: Drawn cases in which another order than those of Timeloop's mapper costs less, and few mappings are to be counted.
CHEAPER = (("windows", 283), ("general", 247))
#: Most mappings of an enumeration.
MOST = 400_000


def read(kind: str, seed: int) -> tuple[Problem, dict[str, Target]]:
    """Return a drawn layer and its target in both mapspaces."""
    problem, target = load(draw_case(seed, kind))
    names = ("timeloop", "legal")
    return problem, {name: replace(target, constraints=replace(target.constraints, space=name)) for name in names}


def searched(problem: Problem, target: Target, ticks: int = 60_000_000) -> tuple[MapSpace, SearchResult]:
    space = build_mapspace(problem, target.arch, target.constraints)
    watch = Watch(Limit(ticks=ticks))
    return space, search_mapspace(space, target.costs, semantics=target.semantics, watch=watch)


def ranked(slot: FactorSlot, given: LoopConstraint, dims: tuple[str, ...]) -> FactorSlot:
    """Return a slot whose order is what the constraints state, and nothing else."""
    inner, outer = given.permutation, given.outer_permutation
    places = {d: n for n, d in enumerate(inner)} | {d: 100 + n for n, d in enumerate(outer)}
    return replace(slot, rank=tuple(places.get(d, 50) for d in dims))


def opened(space: MapSpace, target: Target) -> MapSpace:
    """Return Timeloop's mapspace with the orders that its mapper decides left open."""
    given = [target.constraints.level(name) for name in reversed(space.arch.level_names)]
    dims = space.problem.shape.dimensions
    temporal = [ranked(slot, one.temporal, dims) for slot, one in zip(space.temporal, given, strict=True)]
    spatial = [slot and ranked(slot, one.spatial, dims) for slot, one in zip(space.spatial, given, strict=True)]
    return replace(space, temporal=tuple(temporal), spatial=tuple(spatial), name="legal")


@pytest.mark.parametrize(("kind", "seed"), CHEAPER)
def test_it_is_the_least_of_all_orders_and_less_than_timeloops(kind: str, seed: int) -> None:
    problem, targets = read(kind, seed)
    timeloop, legal = targets["timeloop"], targets["legal"]
    space, usual = searched(problem, timeloop)
    _, found = searched(problem, legal)
    nests = enumerate_nests(opened(space, timeloop), MOST)
    assert nests is not None
    energies, _ = evaluate_nests(problem, legal.arch, legal.costs, nests, legal.semantics)
    assert found.optimal
    assert found.evaluation is not None
    assert usual.evaluation is not None
    assert found.evaluation.energy_pj == pytest.approx(energies.min(), rel=1e-11)
    assert found.evaluation.energy_pj < 0.99 * usual.evaluation.energy_pj
    assert found.mapspace_size > usual.mapspace_size


def test_it_holds_timeloops_space_unless_that_passes_over_a_stated_order() -> None:
    shown = 0
    for kind in ("general", "windows", "arrays"):
        for seed in range(16):
            try:
                problem, targets = read(kind, seed)
                (space, usual), (_, found) = (searched(problem, one, 5_000_000) for one in targets.values())
            except JouleloopError:
                continue
            passed = space.spatial[0] is None and target_orders(targets["timeloop"])
            if passed or not usual.optimal or usual.evaluation is None:
                continue
            assert found.lower_bound <= usual.evaluation.energy_pj * (1 + 1e-9), (kind, seed)
            if found.optimal:
                assert found.evaluation is not None
                assert found.evaluation.energy_pj <= usual.evaluation.energy_pj * (1 + 1e-9), (kind, seed)
                shown += 1
    assert shown > 10


def target_orders(target: Target) -> bool:
    """Whether constraints order the innermost loops, which Timeloop's mapper passes over."""
    given = target.constraints.level(target.arch.level_names[-1]).temporal
    return bool(given.permutation or given.outer_permutation)


@pytest.mark.parametrize(("kind", "seed"), CHEAPER)
def test_certificates_name_it_and_hold_for_it_alone(kind: str, seed: int) -> None:
    problem, targets = read(kind, seed)
    target = targets["legal"]
    space, found = searched(problem, target)
    written = certify(space, target.constraints, target.costs, found, target.semantics)
    assert written["space"] == "legal"
    assert verify(check_form(written)).parts > 0
    other = copy.deepcopy(written)
    del other["space"]
    with pytest.raises(InputError):
        check_form(other)
    other["digest"] = digest_of(other)
    # Its mapping has an order that Timeloop's mapper does not try.
    with pytest.raises(Refused, match="order"):
        verify(other)
    usual, answer = searched(problem, targets["timeloop"])
    dearer = certify(usual, targets["timeloop"].constraints, target.costs, answer, target.semantics)
    assert "space" not in dearer
    dearer["space"] = "legal"
    dearer["digest"] = digest_of(dearer)
    with pytest.raises(Refused):
        verify(dearer)


def test_it_is_refused_where_loops_need_not_divide_the_layer() -> None:
    problem, targets = read(*CHEAPER[0])
    target = targets["legal"]
    with pytest.raises(InputError, match="loops divide the layer"):
        build_mapspace(problem, target.arch, target.constraints, imperfect=True)


def test_it_is_part_of_the_identity_of_constraints() -> None:
    _, targets = read(*CHEAPER[0])
    usual, legal = targets["timeloop"].constraints.as_dict(), targets["legal"].constraints.as_dict()
    assert legal.pop("space") == "legal"
    assert usual == legal
