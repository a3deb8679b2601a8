"""Choices of what is kept: a search over all of them finds what the best of searches over each finds."""

import itertools
from dataclasses import replace

import numpy as np

from differential.draw import draw_case
from differential.native import load
from jouleloop.errors import JouleloopError
from jouleloop.mapspace.space import MapSpace, build_mapspace
from jouleloop.optimum.optimise import Search, search_mapspace


def opened(space: MapSpace) -> MapSpace:
    """Return the mapspace with every level but the outermost free to keep what it likes."""
    inner = len(space.temporal) - 1
    column = np.array([(*choice, True) for choice in itertools.product((True, False), repeat=inner)])
    return replace(space, columns=(column,) * len(space.columns))


def test_the_search_over_all_choices_is_the_best_of_those_over_each() -> None:
    compared = 0
    for kind, seed in itertools.product(("general", "windows", "arrays"), range(8)):
        try:
            problem, target = load(draw_case(seed, kind))
            space = opened(build_mapspace(problem, target.arch, target.constraints))
        except JouleloopError:
            continue
        if space.keep_choices > 16 or space.index_factorizations > 5_000:
            continue
        whole = search_mapspace(space, target.costs, semantics=target.semantics)
        found = []
        for keep in space.keeps:
            one = replace(space, columns=tuple(keep[:, v : v + 1].T for v in range(len(space.columns))))
            result = search_mapspace(one, target.costs, semantics=target.semantics)
            if result.evaluation is not None:
                found.append(result.evaluation.energy_pj)
        if not found:
            assert whole.status == "no_mapping"
            continue
        assert whole.evaluation is not None
        assert whole.optimal
        assert whole.evaluation.energy_pj == min(found), (kind, seed)
        compared += 1
    assert compared > 2


def test_every_choice_follows_once_and_its_bound_is_no_lower() -> None:
    """The parts that are made one after another are all choices, and each has the bound it has alone."""
    followed = 0
    for seed in range(5):
        try:
            problem, target = load(draw_case(seed, "general"))
            space = opened(build_mapspace(problem, target.arch, target.constraints))
            search = Search(space, target.costs, target.semantics)
        except JouleloopError:
            continue
        unrollings = len(search.candidates.ids)
        if not unrollings or unrollings * space.keep_choices > 4_000:
            continue
        solver = search.solver
        least_pj = solver.bound_pj.copy()
        solver.list_all()
        parts, count = solver.parts, unrollings * space.keep_choices
        assert solver.count == count
        pairs = np.stack([parts.choice[:count], parts.unrolling[:count]], axis=1)
        assert len(np.unique(pairs, axis=0)) == count
        for c, keep in enumerate(space.keeps):
            alone = replace(space, columns=tuple(keep[:, v : v + 1].T for v in range(len(space.columns))))
            bounds_pj = Search(alone, target.costs, target.semantics).solver.bound_pj
            own = parts.value["bound"][c * unrollings : (c + 1) * unrollings]
            np.testing.assert_allclose(own, bounds_pj, rtol=1e-12)
            assert (solver.keep_of(c * unrollings) == keep).all()
            assert (own >= least_pj * (1 - 1e-12)).all()
            followed += 1
    assert followed > 4
