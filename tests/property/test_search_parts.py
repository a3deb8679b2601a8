"""The parts of the search one by one, on random designs: so that a hole names its place.

Each nest drawn from a mapspace is followed from the outermost level inward. At every level, what the lemmas call sure
and what they say lies ahead must not exceed what the nest costs.
"""

import math
import os
from fractions import Fraction

import numpy as np
import pytest

from differential.draw import draw_case
from differential.native import load
from jouleloop.engines.protocol import Target
from jouleloop.errors import InputError, JouleloopError
from jouleloop.mapping.mapping import Mapping
from jouleloop.mapspace.space import MapSpace, build_mapspace
from jouleloop.model.arrays import Records
from jouleloop.optimum.arrays import CANONICAL
from jouleloop.optimum.certificate import subject
from jouleloop.optimum.optimise import Search, search_mapspace
from jouleloop.optimum.solve import Solver
from jouleloop.proof.cost import cost_of, nest_of
from jouleloop.proof.design import Design, Factors
from jouleloop.proof.lemmas import Loop
from jouleloop.proof.tables import Bounds
from jouleloop.workload.problem import Problem
from sample import sample_mappings
from shares import by_kind

CASES = int(os.environ.get("JOULELOOP_EXAMPLES", "60"))
KINDS = ("general", "windows", "arrays")
NESTS = 12


def drawn(kind: str, seed: int) -> tuple[MapSpace, Target, Problem]:
    case = draw_case(seed, kind)
    try:
        problem, target = load(case)
        space = build_mapspace(problem, target.arch, target.constraints)
        sample_mappings(space, 1)
    except JouleloopError:
        pytest.skip("not a case that the search takes")
    return space, target, problem


def design_of(space: MapSpace, target: Target) -> Design:
    data = subject(space, target.constraints, target.costs, target.semantics)
    return Design(data)


def spatial_factors(design: Design, mapping: Mapping) -> tuple[Factors, ...]:
    rows = []
    for level in reversed(mapping.levels):
        row = [1] * len(design.dims)
        for d, bound, _ in level.spatial:
            row[design.dims.index(d)] *= bound
        rows.append(tuple(row))
    return tuple(rows)


@by_kind(KINDS, CASES, first=CASES // 3)
def test_bounds_never_exceed_what_a_nest_costs(kind: str, seeds: range) -> None:
    followed = 0
    for seed in seeds:
        try:
            space, target, _ = drawn(kind, seed)
        except pytest.skip.Exception:
            continue
        design = design_of(space, target)
        try:
            mappings = sample_mappings(space, NESTS, seed=seed)
        except JouleloopError:
            continue
        for mapping in mappings:
            followed += follow(design, mapping, (kind, seed))
    assert followed > len(seeds)


def follow(design: Design, mapping: Mapping, where: tuple[str, int]) -> int:
    """Compare certain and inward energy with the cost of a nest at each of its levels; return how often."""
    cost = cost_of(design, nest_of(design, mapping.as_json()))
    if cost is None:
        return 0
    limit = cost[0] / design.unit_pj
    keep = tuple(tuple(space in level.keep for space in design.spaces) for level in reversed(mapping.levels))
    bounds = Bounds(design, keep, design.representative(spatial_factors(design, mapping)))
    top = len(design.levels) - 1
    tile = list(bounds.rest)
    loops: list[Loop] = []
    certain: float = bounds.units()
    assert bounds.once() <= limit, where
    assert certain + bounds.inward(top, tuple(tile), None, (0,) * len(tile), math.inf) <= limit or not fits(
        design, bounds, mapping
    ), where
    if not fits(design, bounds, mapping):
        return 0
    for position, level in enumerate(mapping.levels[:-1]):
        k = top - position
        before = tuple(tile)
        outside = list(loops)
        for d, bound in level.temporal:
            tile[design.dims.index(d)] //= bound
        for d, bound in level.temporal:
            index = design.dims.index(d)
            loops.append((index, bound, tile[index] * bounds.inside[k][index]))
        cut = tuple(tile)
        assert certain + bounds.floor(k, before, cut, *bounds.run_of(outside, before), math.inf) <= limit, (
            where,
            "floor",
            k,
        )
        certain += bounds.certain(k, cut, loops)
        run = bounds.run_of(loops, cut)
        inward, (_, further) = bounds.inward(k - 1, cut, *run, math.inf), bounds.least_at(k, cut, *run)
        assert certain + inward <= limit, (where, "inward", k)
        # Lemma *further in*.
        assert certain + further <= limit, (where, "further", k)
    return 1


def fits(design: Design, bounds: Bounds, mapping: Mapping) -> bool:
    """Whether all tiles of a nest fit: a bound may be infinite where they do not."""
    tile = list(bounds.rest)
    for position, level in enumerate(mapping.levels):
        if not bounds.fits(len(design.levels) - 1 - position, tuple(tile)):
            return False
        for d, bound in level.temporal:
            tile[design.dims.index(d)] //= bound
    return True


@pytest.mark.parametrize("kind", KINDS)
def test_tables_are_no_higher_than_the_exact_lemmas(kind: str) -> None:
    """The compiled tables relax what the verifier takes exactly: limits of factors, and where runs may start."""
    compared = 0
    for seed in range(CASES):
        try:
            space, target, _ = drawn(kind, seed)
            search = Search(space, target.costs, target.semantics)
        except (pytest.skip.Exception, InputError):
            continue
        design = design_of(space, target)
        unrollings = len(search.candidates.ids)
        if not unrollings:
            continue
        solver = search.solver
        solver.list_all()
        assert solver.count == unrollings * space.keep_choices
        for choice, kept in enumerate(space.keeps[:2]):
            keep = tuple(tuple(bool(k) for k in row) for row in kept)
            for u in range(0, unrollings, 7):
                part = choice * unrollings + u
                assert (solver.keep_of(part) == kept).all()
                assert solver.parts.unrolling[part] == u
                sketched_pj = float(solver.bound_pj[part])
                bound_pj = solver.fill_tables(part)
                rows = np.ones((len(keep), len(design.dims)), np.int64)
                rows[:, search.dims] = search.candidates.factors[u]
                bounds = Bounds(design, keep, tuple(tuple(int(f) for f in row) for row in rows))
                top = len(keep) - 1
                exact = math.inf
                if bounds.fits(top, bounds.rest):
                    inward = bounds.inward(top, bounds.rest, None, (0,) * len(bounds.rest), math.inf)
                    exact = max(bounds.once(), bounds.units() + inward)
                limit = math.inf if exact == math.inf else float(int(exact) * design.unit_pj) * (1 + 1e-12) + 1e-12
                assert sketched_pj <= bound_pj <= limit, (kind, seed, u)
                compared += 1
    assert compared > CASES


def test_the_closure_is_what_enumeration_gives() -> None:
    """Without limits on factors, the least over the loops of a level equals that over all its cuts, tile by tile."""
    compared = 0
    for seed in range(CASES):
        try:
            space, target, _ = drawn("general", seed)
            search = Search(space, target.costs, target.semantics)
        except (pytest.skip.Exception, InputError):
            continue
        slots = list(space.temporal)
        if any(m < b for slot in slots for m, b in zip(slot.most, space.problem.bounds, strict=True)):
            continue
        if any(least > 1 for slot in slots for least in slot.least) or len(search.candidates.ids) == 0:
            continue
        design = design_of(space, target)
        u = len(search.candidates.ids) - 1
        rows = np.ones((len(design.levels), len(design.dims)), np.int64)
        rows[:, search.dims] = search.candidates.factors[u]
        keep = tuple(tuple(bool(k) for k in row) for row in space.keeps[0])
        bounds = Bounds(design, keep, tuple(tuple(int(f) for f in row) for row in rows))
        compared += compare_tiles(search, bounds, u, design)
    assert compared > 0


def compare_tiles(search: Search, bounds: Bounds, u: int, design: Design) -> int:
    solver = search.solver
    solver.list_all()
    if solver.fill_tables(u) == math.inf:  # no room, no tables
        return 0
    grid, ahead = solver.case.grid, solver.case.tables.ahead
    top = len(bounds.keep) - 1
    points = int(np.prod([grid.axis[d]["count"] for d in range(len(search.dims))]))
    for point in range(points):
        tile = [1] * len(design.dims)
        for d, whole in enumerate(search.dims):
            digit = (point // grid.axis[d]["radix"]) % grid.axis[d]["count"]
            tile[whole] = int(grid.divisor[d, digit]["value"])
        for k in range(1, top):
            # A fresh run: at least one loop, and none of them goes on with a run outside.
            exact = min(
                (
                    bounds.floor(k, tuple(tile), cut, None, (0,) * len(tile), math.inf)
                    for cut in design.cuts(k, tuple(tile))
                    if cut != tuple(tile)
                ),
                default=math.inf,
            )
            found = float(ahead[k, 1 + point])
            if exact == math.inf:
                continue
            wanted = float(Fraction(int(exact)) * design.unit_pj)
            assert found == pytest.approx(wanted, rel=1e-11, abs=1e-9), (k, tile, found, wanted, str(search.problem))
    return points


@by_kind(KINDS, CASES, first=CASES // 3)
def test_parts_without_a_tie_are_not_searched_again(kind: str, seeds: range, monkeypatch: pytest.MonkeyPatch) -> None:
    started, left_out = Solver.start, 0

    def start_anew(self: Solver, mode: int, best: Records) -> None:
        """Forget before ties are compared what the pass before has found of each part."""
        nonlocal left_out
        if mode == CANONICAL:
            bound_pj = self.parts.value["bound"][: self.count]
            left_out += int(np.isfinite(bound_pj[bound_pj > best[0]["limit_pj"]]).sum())
            bound_pj[np.isfinite(bound_pj)] = 0.0
        started(self, mode, best)

    for seed in seeds:
        try:
            space, target, _ = drawn(kind, seed)
        except pytest.skip.Exception:
            continue
        found = search_mapspace(space, target.costs, semantics=target.semantics)
        with monkeypatch.context() as patch:
            patch.setattr(Solver, "start", start_anew)
            again = search_mapspace(space, target.costs, semantics=target.semantics)
        assert again.mapping == found.mapping, (kind, seed)
    assert left_out > len(seeds)
