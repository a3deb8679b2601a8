"""What is listed before a search: every unrolling once, in the order of the mapspace, and none that fits no mesh."""

import itertools
import random

import numpy as np
import pytest

from differential.draw import draw_case
from differential.native import load
from jouleloop.errors import JouleloopError
from jouleloop.mapspace.space import build_mapspace
from jouleloop.mapspace.spatial import arrangements_of, fits_mesh, unrollings
from jouleloop.optimum import candidates
from jouleloop.optimum.optimise import Search


def test_a_mesh_is_fitted_where_an_arrangement_is() -> None:
    drawn = random.Random(3)
    found = 0
    for _ in range(2000):
        dims = drawn.randint(1, 5)
        factors = tuple(drawn.choice([1, 1, 2, 3, 4, 5]) for _ in range(dims))
        rank = tuple(drawn.randint(0, 2) for _ in range(dims))
        split = drawn.choice([None, None, *range(dims + 2)])
        fanout = (drawn.randint(1, 12), drawn.randint(1, 12))
        fits = bool(arrangements_of(rank, split, factors, fanout))
        assert fits_mesh(rank, split, factors, fanout) == fits, (rank, split, factors, fanout)
        found += fits
    assert 500 < found < 1500


@pytest.mark.parametrize("kind", ["general", "windows", "arrays"])
def test_members_are_all_unrollings_with_their_arrangements(kind: str) -> None:
    compared = merged = 0
    for seed in range(40):
        try:
            problem, target = load(draw_case(seed, kind))
            space = build_mapspace(problem, target.arch, target.constraints)
            search = Search(space, target.costs, target.semantics)
        except JouleloopError:
            continue
        listed = search.candidates
        wanted = list(unrollings(space))
        assert listed.whole
        assert len(listed.members) == len(wanted), seed
        merged += len(listed.ids) < len(wanted)
        solver = search.solver if wanted else None
        for u in range(len(listed.ids)):
            assert solver is not None
            solver._arrange(u)
            first, last, _ = solver.parts.runs[u].tolist()
            known = solver.arrangements
            for member in known.members[first:last]:
                options = [
                    [known.loops[n, : known.counts[n]].tolist() for n in range(begin, end)] for begin, end in member
                ]
                for nest in itertools.islice(itertools.product(*options), 20):
                    rows = np.ones((len(nest), len(search.dims)), np.int64)
                    for level, loops in enumerate(nest):
                        for d, factor, _ in loops:
                            rows[level, d] *= factor
                    # Factors may stand further out in the one that represents them; their products are the same.
                    assert (rows.prod(axis=0) == listed.factors[u].prod(axis=0)).all(), seed
                    compared += 1
    assert compared > 40
    assert merged or kind != "general"


def test_a_listing_is_cut_short_where_there_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    cut = 0
    for seed in range(20):
        try:
            problem, target = load(draw_case(seed, "general"))
            space = build_mapspace(problem, target.arch, target.constraints)
            whole = Search(space, target.costs, target.semantics)
            with monkeypatch.context() as patch:
                patch.setattr(candidates, "MOST_UNROLLINGS", 3)
                some = Search(space, target.costs, target.semantics)
        except JouleloopError:
            continue
        if some.candidates.whole:
            continue
        cut += 1
        if len(some.candidates.ids):
            assert not some.solver.whole
            bounds_pj, _ = some.solver.open_bounds()
            assert bounds_pj.min() <= whole.solver.bound_pj.min() * (1 + 1e-12)
    assert cut > 3
