"""Bounds of the verifier with imperfect factors beside every nest that they stand for, node by node.

Subproblems and nests are those of `property.test_residual_nodes`. The verifier walks each without a claim, so it leaves
nothing out. No bound on the way to a node may exceed what a nest below it costs.
"""

import itertools
import math
import os
import random
from collections.abc import Sequence
from functools import partial

from differential.native import load
from differential.tiny import FAMILIES, draw_tiny
from jouleloop.optimum.certificate import subject
from jouleloop.proof.design import Design
from jouleloop.proof.imperfect import Node, Part, knows
from jouleloop.proof.limits import Verdict
from jouleloop.proof.times import Ends
from property import test_residual_nodes as nodes
from property.test_residual_nodes import Orders, fits, kernel_of, parts_of, values_of
from shares import by_kind, check_all

CASES = int(os.environ.get("JOULELOOP_EXAMPLES", "60"))
ROUNDING = 1e-9

#: What nests cost [pJ] by the ends of their loops, innermost level first, and by the orders, outermost loop first.
Values = dict[nodes.Ends, dict[Orders, float]]


class Compared:
    """One subproblem of the verifier, with all its nests."""

    def __init__(self, part: Part, dims: Sequence[int], values: Values, name: str) -> None:
        self.part, self.dims, self.values, self.name = part, dims, values, name
        self.bounds = self.close = 0
        self.seen: set[nodes.Ends] = set()

    def check(self, bound_pj: float, least_pj: float, *where: object) -> None:
        """Assert that a bound is not above the cheapest of its nests."""
        assert bound_pj <= least_pj * (1 + ROUNDING), (self.name, *where, bound_pj / max(least_pj, 1e-300))
        self.bounds += least_pj < math.inf
        self.close += 0.9 * least_pj < bound_pj < math.inf

    def visit(self, node: Node, above_pj: float) -> float:
        """Compare the bounds of a node and of all inside it; return the least energy of its nests."""
        if len(node.chain) < self.part.levels:
            least_pj = math.inf
            for chosen, child, bound_pj in self.part.children(node):
                if child is not None:
                    own_pj = self.visit(child, max(above_pj, bound_pj))
                    self.check(bound_pj, own_pj, "child", node.chain, chosen)
                    least_pj = min(least_pj, own_pj)
            return least_pj
        least_pj = self.single(node.chain, self.part.innermost())
        self.check(above_pj, least_pj, "node", node.chain)
        return least_pj

    def single(self, chain: tuple[Ends, ...], inside: Node) -> float:
        """Compare the bounds of all ends that a complete node stands for; return the least energy of their nests."""
        k = len(inside.chain)
        if k == self.part.levels:
            ends = tuple(tuple(row[d][0] for d in self.dims) for row in inside.chain)
            self.seen.add(ends)
            return self.ordered(inside, self.values[ends]) if ends in self.values else math.inf
        inside = self.part.crossed(inside)
        least_pj = math.inf
        for chosen in itertools.product(*(range(low, high + 1) for low, high in chain[k])):
            grown = self.part.grown(inside, tuple((c, c) for c in chosen))
            if self.part.design.fits(k, self.part.keep[k], grown.extent):
                least_pj = min(least_pj, self.single(chain, grown))
        self.check(inside.once_pj, least_pj, "single", chain, inside.chain)
        return least_pj

    def ordered(self, node: Node, found: dict[Orders, float]) -> float:
        """Compare the bounds of all orders, the outermost level first; return the least energy of their nests."""
        chain, passes = node.chain, [passes for passes, _ in node.outside]

        def choose(k: int, sure_pj: float, placed: list[tuple[int, ...]]) -> float:
            if k < 0:
                here = tuple(tuple(self.dims.index(d) for d in reversed(order)) for order in placed)
                self.check(sure_pj, found[here], "orders", chain, here)
                return found[here]
            least_pj = math.inf
            looping = [d for d, c in enumerate(chain[k]) if c[0] > 1]
            for order in self.part.design.temporal[k].orders(looping):
                more = 0.0
                for one in node.outside[k][1]:
                    asked, filled = self.part.ordered(one, k, [order, *placed], passes, chain)
                    more += max(0.0, float(one.price(asked, filled)) - one.once_pj)
                own_pj = choose(k - 1, sure_pj + more, [order, *placed])
                self.check(sure_pj + more, own_pj, "orders", chain, k, order, placed)
                least_pj = min(least_pj, own_pj)
            return least_pj

        return choose(self.part.levels - 1, node.once_pj, [])


def check_design(family: str, seed: int) -> tuple[int, int]:
    """Check some subproblems of a design; return the bounds compared, and those that are 0.9 of what a nest costs."""
    kernel = kernel_of(family, seed)
    case = draw_tiny(seed, family)
    bounds = close = 0
    if kernel is None or case.objective != "energy":
        return bounds, close
    _, target = load(case)
    design = Design(subject(kernel.space, target.constraints, target.costs, case.semantics))
    if not knows(design):
        return bounds, close
    dims = [int(d) for d in kernel.dims]
    ranks = [[slot.rank[d] for d in dims] for slot in kernel.space.temporal]
    for one, all_ends in parts_of(kernel, random.Random(seed), f"{family}-{seed}"):
        values = {ends: values_of(one, ends, ranks) for ends in all_ends if fits(one, ends)}
        rows = [[1] * len(design.dims) for _ in one.keep]
        idle = [[False] * len(design.dims) for _ in one.keep]
        for k, d in itertools.product(range(len(rows)), range(len(dims))):
            rows[k][dims[d]] = int(one.unrolled.factors[k, d])
            idle[k][dims[d]] = bool(one.unrolled.idle[k, d])
        unrolling = tuple(map(tuple, rows)), tuple(map(tuple, idle))
        keep = tuple(tuple(map(bool, row)) for row in one.keep)
        part = Part(design, keep, unrolling, math.inf, Verdict())
        compared = Compared(part, dims, values, one.name)
        root, bound_pj = part.enter(part.innermost())
        least_pj = math.inf if root is None else compared.visit(root, bound_pj)
        assert set(values) <= compared.seen, (one.name, "left out")
        assert least_pj == min(map(min, map(dict.values, values.values())), default=math.inf), one.name
        bounds, close = bounds + compared.bounds, close + compared.close
    return bounds, close


@by_kind(FAMILIES, CASES, first=CASES // 6)
def test_no_bound_of_the_verifier_exceeds_a_nest_that_it_stands_for(kind: str, seeds: range) -> None:
    check_all(partial(check_design, kind), seeds, 50)
