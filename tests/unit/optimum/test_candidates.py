"""What is listed before a search: every unrolling once, in the order of the mapspace, and none that fits no mesh."""

import contextlib
import itertools
import random
from collections.abc import Iterator

import numpy as np
import pytest

from differential.draw import draw_case
from differential.native import load
from jouleloop.api.project import load_target
from jouleloop.engines.protocol import Target
from jouleloop.errors import JouleloopError
from jouleloop.mapspace.space import MapSpace, build_mapspace
from jouleloop.mapspace.spatial import arrangements_on, fits_mesh, unrollings
from jouleloop.optimum import candidates
from jouleloop.optimum.optimise import Search
from jouleloop.workload.sizes import parse_layer
from shares import slow_after


def test_a_mesh_is_fitted_where_an_arrangement_is() -> None:
    drawn = random.Random(3)
    found = 0
    for _ in range(2000):
        dims = drawn.randint(1, 5)
        factors = tuple(drawn.choice([1, 1, 2, 3, 4, 5]) for _ in range(dims))
        rank = tuple(drawn.randint(0, 2) for _ in range(dims))
        split = drawn.choice([None, None, *range(dims + 2)])
        fanout = (drawn.randint(1, 12), drawn.randint(1, 12))
        fits = bool(arrangements_on(rank, split, factors, fanout))
        assert fits_mesh(rank, split, factors, fanout) == fits, (rank, split, factors, fanout)
        found += fits
    assert 500 < found < 1500


def drawn_spaces(kind: str) -> Iterator[tuple[MapSpace, Target]]:
    for seed in range(40):
        with contextlib.suppress(JouleloopError):
            problem, target = load(draw_case(seed, kind))
            yield build_mapspace(problem, target.arch, target.constraints), target


def eyeriss_spaces() -> Iterator[tuple[MapSpace, Target]]:
    """Yield spaces with a level that holds and loops nothing, over which unrollings are merged."""
    for text in ("fc:24x16", "conv:C4xM6xP4xQ6xR3xS3"):
        problem = parse_layer(text).problem()
        target = load_target("eyeriss", semantics="timeloop-3.0.3").for_shape(problem.shape)
        yield build_mapspace(problem, target.arch, target.constraints), target


@pytest.mark.parametrize("kind", slow_after(2, ["windows", "eyeriss", "general", "arrays"]))
def test_members_are_all_unrollings_with_their_arrangements(kind: str) -> None:
    compared = merged = 0
    for space, target in eyeriss_spaces() if kind == "eyeriss" else drawn_spaces(kind):
        try:
            search = Search(space, target.costs, target.semantics, mirrored=False)
        except JouleloopError:
            continue
        listed = search.candidates
        wanted = list(unrollings(space))
        assert listed.whole
        assert len(listed.members) == len(wanted)
        merged += len(wanted) - len(listed.ids)
        for u in range(len(listed.ids)):
            compared += compare_members(search, u)
    assert compared > 40
    assert (merged > 0) == (kind == "eyeriss")


def compare_members(search: Search, u: int) -> int:
    """Compare the arrangements of an unrolling with its factors: they may stand further out, products are the same."""
    solver, listed = search.solver, search.candidates
    solver._arrange(u)
    first, last, _ = solver.parts.runs[u].tolist()
    known = solver.arrangements
    compared = 0
    for member in known.members[first:last]:
        options = [[known.loops[n, : known.counts[n]].tolist() for n in range(begin, end)] for begin, end in member]
        for nest in itertools.islice(itertools.product(*options), 20):
            rows = np.ones((len(nest), len(search.dims)), np.int64)
            for level, loops in enumerate(nest):
                for d, factor, _ in loops:
                    rows[level, d] *= factor
            assert (rows.prod(axis=0) == listed.factors[u].prod(axis=0)).all()
            compared += 1
    return compared


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
