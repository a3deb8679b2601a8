"""Levels that keep what one further out keeps as cheaply: every mapping costs less without them."""

import contextlib
import itertools
import os
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from differential.case import Case
from differential.draw import KINDS, draw_case
from differential.native import load
from jouleloop.arch.architecture import Architecture
from jouleloop.energy.costs import EnergyCosts
from jouleloop.engines.protocol import Target
from jouleloop.errors import JouleloopError, MappingError
from jouleloop.mapping.mapping import Mapping
from jouleloop.mapspace.space import MapSpace, build_mapspace
from jouleloop.model.evaluate import evaluate_mapping
from jouleloop.model.evaluation import Evaluation
from jouleloop.optimum.optimise import Search, search_mapspace
from sample import sample_mappings
from shares import slow_after

CASES = int(os.environ.get("JOULELOOP_EXAMPLES", "30"))
NESTS, MOST_CHOICES = 12, 64
WIRED = "wired"
_SEMANTICS = ("timeloop-3.0.3", "timeloop-2023-04", "timeloop-4")
_NO_CONSTRAINTS: dict[str, Any] = {f"{which}_constraints": {"targets": []} for which in ("architecture", "mapspace")}


def drawn(kind: str, seed: int, *, constrained: bool) -> tuple[MapSpace, Target] | None:
    """Return a design of a number, many of its levels no cheaper than one further out; of `WIRED` a network charges."""
    # The versions that count energy of networks.
    known = _SEMANTICS[::2] if kind == WIRED else _SEMANTICS
    drawn_from = KINDS[3] if kind == WIRED else kind
    case: Case = replace(draw_case(seed, drawn_from, 400), semantics=known[seed % len(known)])
    if not constrained:
        case = replace(case, constraints=_NO_CONSTRAINTS)
    with contextlib.suppress(JouleloopError):
        problem, target = load(case)
        target = replace(target, costs=flattened(target.costs, seed))
        if kind == WIRED:
            target = replace(target, arch=wired(target.arch, seed))
        return build_mapspace(problem, target.arch, target.constraints), target
    return None


def wired(arch: Architecture, seed: int) -> Architecture:
    """Return an architecture one of whose networks takes energy."""
    levels = list(arch.levels)
    k = seed % len(levels)
    network = replace(levels[k].network, hop_pj=0.37, router_pj=0.11, ingress_pj=seed % 2 * 0.13)
    levels[k] = replace(levels[k], network=network)
    return replace(arch, levels=tuple(levels))


def flattened(costs: EnergyCosts, seed: int) -> EnergyCosts:
    """Return energies of which some inner levels' are no less than those of the level outside."""
    levels = list(costs.levels)
    for k in range(1, len(levels)):
        if (seed + k) % 3:
            read_pj, write_pj = levels[k - 1].read_pj, levels[k - 1].write_pj
            more = (seed * 7 + k) % 4 / 2
            levels[k] = replace(levels[k], read_pj=read_pj + more, write_pj=write_pj + more, later_pj=None)
    return replace(costs, levels=tuple(levels))


def cost(space: MapSpace, target: Target, mapping: Mapping, *, fits: bool = False) -> Evaluation | None:
    with contextlib.suppress(MappingError):
        return evaluate_mapping(
            space.problem, target.arch, target.costs, mapping, target.semantics, check_capacity=fits
        )
    return None


def opened(space: MapSpace) -> MapSpace:
    """Return the mapspace with every level but the outermost free to keep what it likes."""
    inner = len(space.temporal) - 1
    column = np.array([(*choice, True) for choice in itertools.product((True, False), repeat=inner)])
    return replace(space, columns=(column,) * len(space.columns))


def spared(space: MapSpace, search: Search, mapping: Mapping) -> Iterator[Mapping]:
    """Yield the mapping without each level that keeps a data space in a choice which is left out."""
    for v, data in enumerate(space.problem.data_spaces):
        kept = np.array([data.name in level.keep for level in reversed(mapping.levels)])
        needed = {row.tobytes() for row in search.columns[v]}
        known = {row.tobytes() for row in space.columns[v]}
        if kept.tobytes() in needed or kept.tobytes() not in known:
            continue
        for k in np.flatnonzero(kept):
            without = kept.copy()
            without[k] = False
            if without.tobytes() in known:
                levels = list(reversed(mapping.levels))
                levels[k] = replace(levels[k], keep=levels[k].keep - {data.name})
                yield Mapping(tuple(reversed(levels)))


@pytest.mark.parametrize("kind", [*KINDS, WIRED])
def test_a_mapping_of_a_choice_that_is_left_out_costs_more_than_one_with_less(kind: str) -> None:
    compared = 0
    for seed in range(CASES):
        found = drawn(kind, seed, constrained=False)
        if found is None:
            continue
        space, target = found
        try:
            search = Search(space, target.costs, target.semantics, by_energy=True)
        except JouleloopError:
            continue
        for mapping in sample_mappings(space, NESTS, seed=seed):
            whole = cost(space, target, mapping)
            others = list(spared(space, search, mapping))
            if whole is None or not others:
                continue
            found_pj = [other.energy_pj for one in others if (other := cost(space, target, one)) is not None]
            assert found_pj, (kind, seed)
            assert min(found_pj) < whole.energy_pj, (kind, seed)
            if cost(space, target, mapping, fits=True) is not None:
                assert any(cost(space, target, one, fits=True) is not None for one in others), (kind, seed)
            compared += 1
    assert compared > CASES // 2


@pytest.mark.parametrize("most", slow_after(1, [1, CASES // 10 + 1]))
@pytest.mark.parametrize("kind", slow_after(4, sorted((*KINDS, WIRED), key=lambda kind: kind == "arrays")))
def test_a_search_finds_the_same_with_all_choices(kind: str, most: int) -> None:
    fewer = 0
    for seed in range(20 * CASES):
        found = drawn(kind, seed, constrained=True)
        if found is None:
            continue
        space, target = opened(found[0]), found[1]
        if space.keep_choices > MOST_CHOICES or space.index_factorizations > 5_000:
            continue
        try:
            search = Search(space, target.costs, target.semantics, by_energy=True)
            ours = search_mapspace(space, target.costs, semantics=target.semantics)
        except JouleloopError:
            continue
        left_out = sum(map(len, space.columns)) - sum(map(len, search.columns))
        if not left_out:
            continue
        whole = every_choice(space, target)
        assert (ours.evaluation is None) == (whole is None), (kind, seed)
        if whole is not None and ours.evaluation is not None:
            assert ours.evaluation.energy_pj == whole, (kind, seed)
            fewer += 1
            if fewer >= most:
                return
    pytest.fail(f"only {fewer} choices were left out")


def every_choice(space: MapSpace, target: Target) -> float | None:
    """Return the least energy over searches of each choice of what is kept."""
    found = []
    for keep in space.keeps:
        one = replace(space, columns=tuple(keep[:, v : v + 1].T for v in range(len(space.columns))))
        result = search_mapspace(one, target.costs, semantics=target.semantics)
        if result.evaluation is not None:
            found.append(result.evaluation.energy_pj)
    return min(found, default=None)
