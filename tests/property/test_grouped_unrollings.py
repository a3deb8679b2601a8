"""Bounds of groups of unrollings: no mapping of a group costs less, and a search that begins anew finds the same."""

import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from itertools import islice, pairwise

import numpy as np
import pytest

from differential.draw import KINDS, draw_case
from differential.native import load
from differential.strided import draw_strided
from jouleloop.engines.protocol import Target
from jouleloop.errors import JouleloopError, MappingError
from jouleloop.mapping.mapping import Mapping
from jouleloop.mapspace.space import MapSpace, build_mapspace
from jouleloop.model.evaluate import evaluate_mapping
from jouleloop.optimum import optimise, rounds
from jouleloop.optimum.arrays import Parts
from jouleloop.optimum.group_walk import Walk
from jouleloop.optimum.groups import Groups, groups_of
from jouleloop.optimum.limit import Limit, Watch
from jouleloop.optimum.optimise import Search, search_mapspace
from jouleloop.optimum.regroup import Walks
from sample import sample_mappings, unrolled
from shares import by_kind

CASES = int(os.environ.get("JOULELOOP_EXAMPLES", "60"))
NESTS = 12
#: Of general designs, rounds of the second take as long as fifty others: another one stands in its place first.
LAST = {1: 21, 21: 1}
MOST_LEFT = 400
"""Steps of a walk over what is left, after which it is given up."""
_SEMANTICS = ("timeloop-3.0.3", "timeloop-2023-04", "timeloop-4")
_NO_CONSTRAINTS = {f"{which}_constraints": {"targets": []} for which in ("architecture", "mapspace")}


def drawn(kind: str, seed: int) -> tuple[MapSpace, Target, Search] | None:
    """Return a design without constraints, with its search, where that is one the search follows."""
    case = draw_strided(seed, 4000) if kind == "strided" else draw_case(seed, kind, 4000)
    case = replace(case, semantics=_SEMANTICS[seed % 3], constraints=_NO_CONSTRAINTS)
    try:
        problem, target = load(case)
        space = build_mapspace(problem, target.arch, target.constraints)
    except JouleloopError:
        return None
    # Not all rules charge networks, and not all designs are searched then.
    for one in (charged(target), target)[seed % 4 < 2 :]:
        with suppress(JouleloopError):
            space = replace(space, arch=one.arch)
            return space, one, Search(space, one.costs, one.semantics)
    return None


def charged(target: Target) -> Target:
    """Return a target on which wires, routers and ingresses of all networks take energy, and all instances leak."""
    levels = tuple(
        replace(one, network=replace(one.network, hop_pj=0.37, router_pj=0.61, ingress_pj=0.13))
        for one in target.arch.levels
    )
    costs = replace(target.costs, levels=tuple(replace(one, leak_pj=0.03) for one in target.costs.levels))
    return replace(target, arch=replace(target.arch, levels=levels), costs=costs)


def two_unrollings(parts: Parts, own: np.ndarray) -> Parts:
    """Return parts with two unrollings: by level nothing, or some factors."""
    row = np.ascontiguousarray(np.stack([np.ones_like(own), own], axis=1))
    charge = np.zeros((*parts.charge.shape[:2], 2), parts.charge.dtype)
    for k, n in np.ndindex(charge.shape[1:]):
        at = np.flatnonzero((parts.row[k] == row[k, n]).all(axis=1))
        charge[:, k, n] = parts.charge[:, k, at[0]] if len(at) else charge[:, k, n]
    return parts._replace(row=row, ids=np.repeat([[0], [1]], len(own), axis=1), charge=charge)


def second_alone(parts: Parts) -> Parts:
    """Return parts with the second of two unrollings alone."""
    row = np.ascontiguousarray(parts.row[:, 1:])
    return parts._replace(row=row, ids=parts.ids[:1], charge=parts.charge[..., 1:])


def kept(search: Search, mapping: Mapping) -> np.ndarray:
    """Return what a mapping keeps, shape (levels, data spaces)."""
    spaces = search.problem.data_spaces
    return np.array([[one.name in level.keep for one in spaces] for level in reversed(mapping.levels)])


def assert_left(groups: Groups, keep: np.ndarray, limit_pj: float, cost_pj: float) -> bool:
    """Assert that all walks leave the second unrolling under a choice, with a bound no higher than its cost.

    Return whether all were walked to their end: a dear mapping leaves too many choices that cost no more.
    """
    groups.base_pj, groups.column_pj = np.zeros(2), np.zeros((2, *groups.parts.columns.shape))
    walk = None
    for tells in (False, True, None):
        walk = Walk(groups, limit_pj) if tells is None else Walk(groups, limit_pj, walk, tells=tells)
        assert sum(walk.inward_out()) >= groups.lattice.valid.size // 4
        assert walk.fits
        sum(walk.outside_in())
        left = list(islice(walk.left(), MOST_LEFT))
        if len(left) == MOST_LEFT:
            return False
        bounds_pj = [
            one[2]
            for one in left
            if one
            and 1 in one[1]
            and all((own[c] == keep[:, v]).all() for v, (own, c) in enumerate(zip(groups.kept, one[0], strict=True)))
        ]
        assert len(bounds_pj) == 1
        assert bounds_pj[0] <= cost_pj
    return True


@by_kind((*KINDS, "strided"), 2 * CASES, first=CASES // 20, fewer={"wide": CASES // 30})
def test_no_mapping_of_a_group_costs_less_than_its_bound(kind: str, seeds: range) -> None:
    compared, close, walked = 0, 0, 0
    for seed in seeds:
        found = drawn(kind, seed)
        if found is None or not len(found[2].candidates.ids):
            continue
        space, target, search = found
        solver = search.solver
        if groups_of(solver.case, solver.parts) is None:
            continue
        for mapping in sample_mappings(space, NESTS, seed=seed):
            try:
                cost_pj = evaluate_mapping(
                    space.problem, target.arch, target.costs, mapping, target.semantics
                ).energy_pj
            except MappingError:
                continue
            own = unrolled(search, mapping)
            two = two_unrollings(solver.parts, own)
            ids = two.ids
            groups = Groups(solver.case, two)
            alone = groups.bound_pj(kept(search, mapping), ids[1:], np.inf)
            group = groups.bound_pj(kept(search, mapping), ids, np.inf)
            assert 0.0 <= group <= alone * (1 + 1e-9), (kind, seed)
            sole = Groups(solver.case, second_alone(two))
            assert sole.bound_pj(kept(search, mapping), ids[:1], np.inf) == pytest.approx(alone), (kind, seed)
            assert alone <= cost_pj, (kind, seed, alone / cost_pj, mapping)
            if compared % 3 == 0 and cost_pj > 0:
                # What lies outside, over all that may be kept and unrolled, leaves no place of the mapping out.
                limit_pj = cost_pj * (1 + 1e-9)
                assert sum(groups.look_outside(limit_pj)) > 0
                for some in (ids[1:], ids):
                    assert groups.bound_pj(kept(search, mapping), some, limit_pj) <= cost_pj, (kind, seed)
                walked += assert_left(groups, kept(search, mapping), limit_pj, cost_pj)
            compared += 1
            close += alone > 0.5 * cost_pj
    assert compared > len(seeds) // 12
    assert close > compared // 10
    assert walked > compared // 10


@by_kind(KINDS, CASES, first=CASES // 10)
def test_every_level_is_asked_for_its_least_words(kind: str, seeds: range) -> None:
    compared, least = 0, 0
    for seed in seeds:
        found = drawn(kind, seed)
        if found is None or not len(found[2].candidates.ids):
            continue
        space, target, search = found
        parts = search.solver.parts
        if groups_of(search.solver.case, parts) is None:
            continue
        for mapping in sample_mappings(space, NESTS, seed=seed):
            try:
                counts = evaluate_mapping(space.problem, target.arch, target.costs, mapping, target.semantics)
            except MappingError:
                continue
            ids = np.zeros((1, search.levels), np.int64)
            sole = second_alone(two_unrollings(parts, unrolled(search, mapping)))
            boundaries = Groups(search.solver.case, sole).boundaries
            keep = kept(search, mapping)
            for v, space_of in enumerate(space.problem.data_spaces):
                for child, parent in pairwise([-1, *np.flatnonzero(keep[:, v]).tolist()]):
                    data = counts.levels[search.levels - 1 - parent].data[space_of.name]
                    asked = (data.updates if search.layer.read_write[v] else data.reads) * data.instances
                    words = boundaries.least_words(boundaries.group(ids), v, child + 2, parent)
                    assert words <= asked + data.instances * boundaries.lattice.shared[v], (kind, seed, mapping)
                    compared += 1
                    least += words > 0.99 * asked
    assert compared > len(seeds)
    assert least > compared // 100


@by_kind((*KINDS, "strided"), CASES, first=CASES // 4)
def test_a_search_that_begins_anew_finds_the_same(kind: str, seeds: range, monkeypatch: pytest.MonkeyPatch) -> None:
    compared, begun, lowered = 0, [], []
    whole = rounds.regrouped
    monkeypatch.setattr(rounds, "regrouped", lambda *args: begun.append(1) or whole(*args))
    # So that some rounds leave more subproblems than they should.
    monkeypatch.setattr(rounds, "_MOST_AT_FIRST", 1)
    lower = rounds.Rounds.lower
    monkeypatch.setattr(rounds.Rounds, "lower", lambda self: lowered.append(1) or lower(self))
    for seed in seeds:
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
    assert compared > len(seeds) // 10
    assert begun
    assert lowered


@by_kind(("general", "windows", "arrays"), CASES // 2, first=CASES // 6)
def test_rounds_below_the_incumbent_find_the_same(kind: str, seeds: range, monkeypatch: pytest.MonkeyPatch) -> None:
    """Bounds of groups give up at first, and under every second limit after it."""
    asked: list[float] = []
    over: list[float] = []
    whole, higher = rounds.regrouped, rounds.Rounds.higher

    def gives_up(walks: Walks, limit_pj: float, most: Callable[[], int]) -> Iterator[int | float | Parts]:
        asked.append(limit_pj)
        if len(asked) % 3 == 0:
            yield from whole(walks, limit_pj, most)
        else:
            yield from (one for one in whole(walks, limit_pj, most) if isinstance(one, int | float))

    def after_a_round(self: rounds.Rounds) -> Iterator[int | float | Parts]:
        over.append(self.limit_pj)
        return higher(self)

    monkeypatch.setattr(rounds, "regrouped", gives_up)
    monkeypatch.setattr(rounds.Rounds, "higher", after_a_round)
    compared = stopped = 0
    for seed in seeds:
        found = drawn(kind, LAST.get(seed, seed))
        if found is None or found[0].size > 1e9:
            continue
        space, target, _ = found
        answers, watch = [], Watch()
        for many in (np.inf, 0.0):
            asked.clear()
            monkeypatch.setattr(optimise, "_MANY", many)
            monkeypatch.setattr(optimise, "_MANY_TICKS", 1)
            answers.append(search_mapspace(space, target.costs, semantics=target.semantics, watch=watch))
        assert answers[0].mapping == answers[1].mapping, (kind, seed)
        assert answers[0].optimal == answers[1].optimal == (answers[0].mapping is not None), (kind, seed)
        for share in (0.5, 0.75, 0.9) if answers[0].evaluation else ():
            asked.clear()
            early = Watch(Limit(ticks=int(share * watch.worked)))
            part = search_mapspace(space, target.costs, semantics=target.semantics, watch=early)
            assert part.lower_bound <= answers[0].evaluation.energy_pj * (1 + 1e-9), (kind, seed, share)
            if part.evaluation is not None:
                assert part.lower_bound <= part.evaluation.energy_pj, (kind, seed, share)
                assert answers[0].evaluation.energy_pj <= part.evaluation.energy_pj * (1 + 1e-9), (kind, seed, share)
            stopped += bool(part.stopped)
        compared += 1
    assert compared > len(seeds) // 10
    assert stopped > compared // 2
    assert over
