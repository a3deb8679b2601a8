"""Bounds of the search with factors that divide the layer, beside every nest that they stand for, node by node.

Subproblems of tiny designs are drawn. Every nest of one is written down apart from the search, and evaluated by the
model in every arrangement. No bound on the way to a node may exceed what a nest below it costs.
"""

import itertools
import math
import os
import random
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
import pytest

from differential.case import Case
from differential.draw import draw_case
from differential.linked import draw_linked
from differential.mixed import draw_mixed
from differential.native import load
from differential.open import OPEN
from differential.shared import draw_shared
from differential.strided import draw_passed, draw_strided
from differential.tiny import FAMILIES, draw_tiny
from jouleloop.errors import JouleloopError
from jouleloop.mapspace.space import build_mapspace
from jouleloop.model.arrays import SPATIAL, TEMPORAL, Ints
from jouleloop.model.evaluate import count_nest
from jouleloop.model.kernel import box_words
from jouleloop.optimum import regroup
from jouleloop.optimum.arrays import SPREAD
from jouleloop.optimum.descend import _bound_order
from jouleloop.optimum.groups import Groups, groups_of
from jouleloop.optimum.mesh import find_neighbours, has_windows
from jouleloop.optimum.optimise import Search
from jouleloop.optimum.order import free_group
from jouleloop.optimum.path import asks, enter_pj, extents, floor_pj_of, least_cycles, next_cut
from property.test_residual_nodes import orders_of
from sample import ordered_factors
from shares import by_kind, check_all

CASES = int(os.environ.get("JOULELOOP_EXAMPLES", "24"))
#: Most nests of a subproblem in all arrangements, subproblems of a design, of one whose ways are walked, and of one
#: that are looked at.
MOST_NESTS, MOST_PARTS, MOST_WALKED, PARTS = 1500, 20_000, 500, 3
ROUNDING = 1e-11
_SEMANTICS = ("timeloop-3.0.3", "timeloop-3.0.3", "timeloop-2023-04", "timeloop-4", "timeloop-2024")

#: Multicasts told apart at once, after a walk over states, and not at all.
WALKS = ({"_TRIED": 1e-9}, {"_TRIED": 1e12, "_SOME_TABLES": 0}, {"_TRIED": 1e12})

#: Loops of a level, innermost first: dimension and factor. Of a nest by level, the outermost first.
Loops = tuple[tuple[int, int], ...]
#: Nests by the loops of the outermost level, then of the next; last energy [pJ] and cycles.
Tree = dict[Loops, Any]

DRAWS: dict[str, Callable[[int], Case]] = {
    **{f: partial(draw_tiny, family=f, imperfect=False, semantics=_SEMANTICS) for f in FAMILIES},
    "strided": partial(draw_strided, limit=1500),
    "passed": draw_passed,
    "linked": draw_linked,
    **OPEN,
    "shared": draw_shared,
    "mixed": lambda seed: draw_mixed(seed, semantics=("timeloop-2024", "timeloop-4", "timeloop-3.0.3")[seed % 3]),
    "general": draw_case,
    "arrays": partial(draw_case, kind="arrays"),
}

#: How many times as many are drawn of those that take little.
TIMES = {"linked": 30, "turned": 10, "grouped": 2, "spread": 12, "told": 10}


def search_of(kind: str, seed: int) -> Search | None:
    """Return the search of a case with its subproblems listed, where it is searched."""
    case = DRAWS[kind](seed)
    try:
        problem, target = load(case)
        named = {0: {"space": "legal"}, 1: {"axes": "free"}}.get(seed % 5, {})
        constraints = replace(target.constraints, **named)
        space = build_mapspace(problem, target.arch, constraints)
        search = Search(space, target.costs, case.semantics, by_energy=bool(seed % 2))
    except JouleloopError:
        return None
    if space.rounded or not 0 < len(search.candidates.ids) * math.prod(map(len, search.columns)) <= MOST_PARTS:
        return None
    search.solver.list_all()
    if seed % 3:
        search.solver.tell_arrangements()
    return search


@dataclass
class Part:
    """A subproblem, and what is known of its nests."""

    search: Search
    number: int
    name: str
    #: Whether neighbours are looked at, and the energy [pJ] from which on nothing counts.
    neighbours: bool = False
    limit_pj: float = math.inf
    compared: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.solver = self.search.solver
        self.sketch_pj = float(self.solver.bound_pj[self.number])
        self.unrolling = int(self.solver.parts.unrolling[self.number])
        self.keep = self.solver.keep_of(self.number)
        self.solver.fill_tables(self.number)
        self.axis, self.divisor = self.solver.case.grid.axis, self.solver.case.grid.divisor
        self.top, self.dims = self.search.levels - 1, len(self.axis)
        self.inside = self.solver.case.unrolled.inside.copy()
        self.names = [int(d) for d in self.search.dims]
        slots, rests = self.search.space.temporal, self.axis["rest"].tolist()
        #: By dimension all factors of its temporal loops, innermost level first.
        self.times = [
            ordered_factors(rest, tuple((slot.fixed[d], slot.most[d], slot.least[d]) for slot in slots))
            for d, rest in zip(self.names, rests, strict=True)
        ]
        self.ranks = [[slot.rank[d] for d in self.names] for slot in slots]
        candidates, u = self.search.candidates, self.unrolling
        #: By member of the unrolling and level the places of its arrangements.
        self.members = [
            [range(*candidates.arranged(level, n)) for level, n in enumerate(member)]
            for member in candidates.members[candidates.group[u] : candidates.group_end[u]].tolist()
        ]

    @property
    def nests(self) -> int:
        """How many nests there are in all arrangements, as far as is counted."""
        found = 0
        for times in itertools.islice(itertools.product(*self.times), MOST_NESTS + 1):
            rows = zip(self.ranks, zip(*times, strict=True), strict=True)
            found += math.prod(len(orders_of(rank, row)) for rank, row in rows)
        return found * sum(math.prod(map(len, member)) for member in self.members)

    def fits(self, factors: Sequence[Sequence[int]], kept: np.ndarray) -> bool:
        """Whether every tile fits its level, what passes through levels included, and fills as much as it has to."""
        levels, layer, tile = self.search.hardware.levels, self.search.layer, np.ones(self.dims, np.int64)
        for k, row in enumerate(factors):
            tile *= np.array(row)
            words = np.array([box_words(coef, tile * self.inside[k]) for coef in layer.coef])
            held, passed = words[self.keep[k]].sum(), words[kept[k]].sum()
            if passed > levels[k]["capacity_words"] or held < levels[k]["least_words"]:
                return False
        return True

    @cached_property
    def tree(self) -> Tree:
        """All nests that fit, with the least energy and the fewest cycles of all arrangements."""
        search, case = self.search, self.solver.case
        nest, work = self.solver.path.nest, self.solver.work
        nest.keep[:] = self.keep | search.layer.reuse["no_coalesce"].astype(bool)
        counts, loops = search.candidates.loops
        found: Tree = {}
        for times in itertools.product(*self.times):
            factors = list(zip(*times, strict=True))
            if not self.fits(factors, nest.keep):
                continue
            rows = zip(self.ranks, factors, strict=True)
            for orders in itertools.product(*(orders_of(rank, row) for rank, row in rows)):
                for k, order in enumerate(orders):
                    nest.counts[k, TEMPORAL] = len(order)
                    for i, d in enumerate(order):
                        nest.loops[k, TEMPORAL, i] = d, factors[k][d], 0
                least_pj, least = math.inf, math.inf
                for chosen in itertools.chain(*(itertools.product(*member) for member in self.members)):
                    for k, n in enumerate(chosen):
                        nest.counts[k, SPATIAL] = counts[n]
                        nest.loops[k, SPATIAL] = loops[n]
                    pj, cycles = count_nest(case.target, nest, work)[:2]
                    least_pj, least = min(least_pj, pj), min(least, cycles if pj < math.inf else least)
                if least_pj < math.inf:
                    at = found
                    for order, row in zip(orders[:0:-1], factors[:0:-1], strict=True):
                        at = at.setdefault(tuple((d, row[d]) for d in order[::-1]), {})
                    at[tuple((d, factors[0][d]) for d in orders[0][::-1])] = least_pj, least
        return found

    def check(self, bound_pj: float, least_pj: float, *where: object) -> None:
        """Assert that a bound is not above what the cheapest of its nests costs, below the limit."""
        if least_pj < self.limit_pj:
            told = (self.name, *where, bound_pj / max(least_pj, 1e-300), self.neighbours, self.limit_pj)
            assert bound_pj <= least_pj * (1 + ROUNDING), told
            self.compared.append(bound_pj / least_pj if least_pj else 1.0)

    def follow(self, level: int, nests: Tree) -> tuple[float, float]:
        """Compare the bounds of a node, and of all further in, with its nests; return their least energy and cycles."""
        if level == 0:
            return tuple(map(min, zip(*nests.values(), strict=True)))  # type: ignore[return-value]
        cuts = defaultdict(list)
        for loops in nests:
            cuts[frozenset(loops)].append(loops)
        found = [self._follow_cut(level, nests, orders) for orders in cuts.values()]
        return tuple(map(min, zip(*found, strict=True)))  # type: ignore[return-value]

    def _follow_cut(self, level: int, nests: Tree, orders: list[Loops]) -> tuple[float, float]:
        case, path = self.solver.case, self.solver.path
        index = self._digits(int(path.node[level]["point"]))
        target = index.copy()
        for d, factor in orders[0]:
            part = self.divisor[d, index[d]]["value"] // factor
            target[d] = int(np.flatnonzero(self.divisor[d, : self.axis[d]["count"]]["value"] == part)[0])
        moving = np.zeros(self.dims + 1, np.int64)
        point, n = next_cut(self.axis, self.divisor, case.slots, level, index, target, moving)
        assert point >= 0
        assert n == len(orders[0])
        passes = case.tables.passes[level, point]
        certain_pj = float(path.certain_pj[level])
        floor_pj = certain_pj + floor_pj_of(case, path, level, index, target, moving[:n]) if passes else math.inf
        ordered = [self._follow_order(level, point, loops, nests[loops]) for loops in orders]
        found: tuple[float, float] = tuple(map(min, zip(*ordered, strict=True)))  # type: ignore[assignment]
        self.check(floor_pj, found[0], "cut", level, orders)
        together: dict[Loops, float] = defaultdict(lambda: math.inf)
        for loops, (least_pj, _) in zip(orders, ordered, strict=True):
            moving[:n] = [d for d, _ in loops]
            start, stop = free_group(case.slots, level, moving, n)
            if start == 0 and stop > 1:
                together[loops[:1]] = min(together[loops[:1]], least_pj)
        for loops, least_pj in together.items():
            moving[:n] = [d for d, _ in loops] + [d for d, f in orders[0] if (d, f) not in loops]
            bound_pj = certain_pj + enter_pj(case, path, level, index, target, moving[:n], int(moving[0]))
            self.check(bound_pj, least_pj, "orders", level, loops)
        return found

    def _follow_order(self, level: int, point: int, loops: Loops, nests: Tree) -> tuple[float, float]:
        solver, n = self.solver, len(loops)
        case, path, stack = solver.case, solver.path, solver.stack
        moving, extent = stack.work[5], stack.work[6]
        extents(case, level, point, extent)
        while self.neighbours and asks(case, path, level, point, extent):
            find_neighbours(case, path, solver.arrangements, solver.parts.runs[self.unrolling])
        moving[:n] = [d for d, _ in loops]
        certain_pj, bound_pj = _bound_order(case, path, level, point, moving, n, extent)
        steps = float(solver.parts.steps[self.unrolling])
        cycles = least_cycles(case.target.hardware.levels, path.traffic[level - 1], steps)
        total = int(path.node[level]["loops"]) + n
        path.node[level - 1]["loops"], path.node[level - 1]["point"] = total, point
        path.certain_pj[level - 1] = certain_pj
        least_pj, least = self.follow(level - 1, nests)
        self.check(bound_pj, least_pj, "order", level, loops)
        assert steps <= cycles <= least, (self.name, "cycles", level, loops, cycles, least)
        return least_pj, least

    def _digits(self, point: int) -> Ints:
        return np.array([point // a["radix"] % a["count"] for a in self.axis], np.int64)

    def walk(self, tree: Tree, least_pj: float, *, neighbours: bool = False, limit_pj: float = math.inf) -> None:
        """Fill the tables under a limit, and compare all bounds of the subproblem."""
        solver, top = self.solver, self.top
        solver.parts.stage[self.number], solver.parts.value[self.number]["bound"] = SPREAD, self.sketch_pj
        self.neighbours, self.limit_pj = neighbours, limit_pj
        solver.parts.stand[0]["tabled"] = -1
        self.check(solver.fill_tables(self.number, limit_pj), least_pj, "tables")
        solver.case.mesh.ask[0]["asked"] = neighbours
        path = solver.path
        path.node[top]["loops"], path.node[top]["point"] = 0, int(solver.parts.stand[0]["points"]) - 1
        assert self.follow(top, tree)[0] == least_pj


def least_of(tree: Tree, levels: int) -> tuple[float, float]:
    """Return the least energy [pJ] and cycles of nests, each alone."""
    found = list(tree.values()) if levels == 1 else [least_of(inner, levels - 1) for inner in tree.values()]
    return min(pj for pj, _ in found), min(cycles for _, cycles in found)


def parts_of(search: Search, rng: random.Random, name: str) -> Iterator[Part]:
    """Yield some subproblems that have few nests, some of which fit."""
    count, left = search.solver.count, PARTS
    for number in rng.sample(range(count), min(count, 20 * PARTS)):
        part = Part(search, number, f"{name}: subproblem {number}")
        if 1 < part.nests <= MOST_NESTS and part.tree:
            yield part
            left -= 1
        if not left:
            return


def check_part(part: Part) -> None:
    """Compare the bounds of one subproblem with all its nests, what is known of neighbours and limits included."""
    search, solver = part.search, part.solver
    least_pj, least = least_of(part.tree, search.levels)
    if solver.parts.runs["first"][part.unrolling] < 0:
        solver._arrange(part.unrolling)
    part.check(part.sketch_pj, least_pj, "sketch")
    rest_pj, fewest = solver.rest()
    part.check(rest_pj, least_pj, "unrollings that were not listed")
    assert fewest <= solver.parts.steps[part.unrolling] <= least, part.name
    part.walk(part.tree, least_pj)
    if has_windows(solver.case.mesh):
        part.walk(part.tree, least_pj, neighbours=True)
    for limit_pj in (least_pj * (1 + 1e-9) + 1e-300, least_pj * 1.1 + 1e-300):
        part.walk(part.tree, least_pj, limit_pj=limit_pj)


def check_groups(groups: Groups, part: Part, others: Sequence[int]) -> None:
    """Compare bounds of groups of unrollings with the cheapest nest of one of them."""
    solver, ids, u = part.solver, groups.parts.ids, part.unrolling
    least_pj, _ = least_of(part.tree, part.search.levels)
    part.limit_pj = math.inf
    for limit_pj in (math.inf, least_pj * (1 + 1e-9)):
        for _ in groups.look_outside(limit_pj):
            pass
        for own in ([u], sorted({u, *others}), list(range(len(ids)))):
            part.check(groups.bound_pj(part.keep, ids[own], limit_pj), least_pj, "group", own, limit_pj)
    walks = [(one, regroup.Walks(groups)) for one in WALKS] if solver.count <= MOST_WALKED else ()
    # The second limit is read from the walks of the first, the third is not.
    limits_pj = (1.2 * least_pj, least_pj * (1 + 1e-9), 1.3 * least_pj)
    for (changes, walk), limit_pj in itertools.product(walks, limits_pj):
        with pytest.MonkeyPatch.context() as patch:
            for name, value in changes.items():
                patch.setattr(regroup, name, value)
            found = regroup.regrouped(walk, limit_pj, lambda: regroup.Most(10**9, 10**9))
            left = [one for one in found if not isinstance(one, int)]
        for one in left:
            if isinstance(one, float):
                part.check(one, max(least_pj, limit_pj), "groups")
                continue
            own = (one.unrolling == u) & (one.choice == solver.parts.choice[part.number])
            own[int(one.stand[0]["parts"]) :] = False
            assert own.sum() == 1, (part.name, "left out", limit_pj / least_pj)
            part.check(float(one.value["bound"][own][0]), least_pj, "regrouped")


def check_design(kind: str, seed: int) -> tuple[int, int]:
    """Check some subproblems of a design; return the bounds compared, and those that are 0.9 of what a nest costs."""
    search, bounds, close = search_of(kind, seed), 0, 0
    if search is None:
        return bounds, close
    rng = random.Random(seed)
    groups = groups_of(search.solver.case, search.solver.parts)
    for part in parts_of(search, rng, f"{kind}-{seed}"):
        check_part(part)
        # Where all costs nothing the search compares all ties, and bounds no groups.
        if groups is not None and least_of(part.tree, search.levels)[0] > 0.0:
            others = rng.sample(range(len(search.candidates.ids)), min(4, len(search.candidates.ids)))
            check_groups(groups, part, others)
        bounds, close = bounds + len(part.compared), close + sum(bool(share > 0.9) for share in part.compared)
    return bounds, close


@by_kind(DRAWS, CASES, first=2, fewer=dict.fromkeys(("general", "linked", "spread"), 1), times=TIMES)
def test_no_bound_exceeds_a_nest_that_it_stands_for(kind: str, seeds: range) -> None:
    check_all(partial(check_design, kind), seeds, 20)
