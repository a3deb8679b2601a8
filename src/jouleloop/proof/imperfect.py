"""The argument for imperfect factors: a tree over all unrollings and all ends, level by level from the innermost."""

import itertools
import math
from collections.abc import Iterator
from typing import Any, NamedTuple

from jouleloop.proof.cost import cost_of, shown
from jouleloop.proof.crossings import Crossing, Unrolling
from jouleloop.proof.design import Design, Factors, Keep, Nest, Slot
from jouleloop.proof.limits import NEST_STEPS, Verdict
from jouleloop.proof.rules import Refused, check_bound
from jouleloop.proof.times import Ends, Times


def knows(design: Design) -> bool:
    """Whether the lemmas hold: two dimensions that loop move a rank at most, and only one moves an output's."""
    for ranks, written in zip(design.ranks, design.written, strict=True):
        moving = [[d for d in rank if design.bounds[d] > 1] for rank in ranks]
        every = list(itertools.chain(*moving))
        if len(set(every)) < len(every) or any(len(own) > (1 if written else 2) for own in moving):
            return False
    return not design.gapped


def unrollings(design: Design) -> Iterator[Unrolling]:
    """Every choice of spatial factors that constraints and fan-outs admit; fixed ones may leave units without work."""
    options = [tuple(design.spatial_factors(k, design.bounds, divide=False)) for k in range(len(design.levels))]
    for factors in itertools.product(*options):
        choices = [
            list(itertools.product(*((False, True) if f > 1 and slot and slot.fixed[d] else (False,) for d, f in row)))
            for slot, row in zip(design.spatial, map(enumerate, factors), strict=True)
        ]
        for idle in itertools.product(*choices):
            yield factors, idle


def ends(slot: Slot, d: int, passes: int) -> list[tuple[int, int]]:
    """Every choice of ends that leave as many passes, from the least to the largest."""
    fixed = slot.fixed[d]
    if fixed is not None:
        return [(fixed, fixed)] if fixed == 1 or passes > 1 else []
    found, end, high = [], slot.least[d], min(slot.most[d], passes)
    while end <= high:
        left = -(-passes // end)
        last = min(high, (passes - 1) // (left - 1)) if left > 1 else high
        found.append((end, last))
        end = last + 1
    return found


class Node(NamedTuple):
    """A choice of ends up to a level: tiles at least and at most, the energy so far [pJ], boundaries left open.

    ``once_pj``: that of words once through alone. ``outside``: by level, the passes of its temporal loops together with
    all outside, and the crossings into the level inside it.
    """

    chain: tuple[Ends, ...]
    extent: Factors
    largest: Factors
    sure_pj: float
    once_pj: float
    pending: tuple[Crossing, ...] = ()
    outside: tuple[tuple[Factors, list[Crossing]], ...] = ()


class Part(Times):
    """One unrolling under one choice of what is kept; nothing in it may be below a limit [pJ]."""

    def __init__(self, design: Design, keep: Keep, unrolling: Unrolling, limit_pj: float, verdict: Verdict) -> None:
        super().__init__(design, keep, unrolling)
        self.limit_pj, self.verdict = limit_pj, verdict
        self.root_pj = self.computes_pj() + sum(crossing.once_pj for crossing in self.crossings)
        #: A mapping below the limit, and what it costs [pJ].
        self.better: tuple[str, float] | None = None

    def innermost(self) -> Node:
        """Return the node where nothing is chosen, without the boundary outside it."""
        ones = (1,) * len(self.dims)
        return Node((), ones, ones, self.root_pj, self.root_pj)

    def grown(self, node: Node, chosen: Ends) -> Node:
        """Return what stands inside once the ends of a level are chosen."""
        rows = list(zip(self.factors[len(node.chain)], chosen, strict=True))
        extent = tuple(e * f * c[0] for e, (f, c) in zip(node.extent, rows, strict=True))
        largest = tuple(e * f * c[1] for e, (f, c) in zip(node.largest, rows, strict=True))
        return node._replace(chain=(*node.chain, chosen), extent=extent, largest=largest)

    def left(self, node: Node) -> Factors:
        """Return the passes outside a tile."""
        return tuple(-(-b // e) for b, e in zip(self.design.bounds, node.extent, strict=True))

    def crossed(self, node: Node) -> Node:
        """Return a node with the boundary outside it."""
        k, left = len(node.chain), self.left(node)
        passes = tuple(-(-n // f) for n, f in zip(left, self.factors[k], strict=True))
        more, entered = self.entered(k, node.extent, node.largest, left)
        outside, pending = (*node.outside, (passes, entered)), (*node.pending, *entered)
        return Node(*node[:3], node.sure_pj + more, node.once_pj + more, pending, outside)

    def enter(self, node: Node) -> tuple[Node | None, float]:
        """Return a node with the boundary outside it, None where no mapping follows; and its bound [pJ]."""
        k = len(node.chain)
        if k == self.levels:
            whole = all(e >= b for e, b in zip(node.extent, self.design.bounds, strict=True))
            return (node, node.sure_pj) if whole else (None, math.inf)
        for n, factor, idle in zip(self.left(node), self.factors[k], self.idle[k], strict=True):
            if factor > 1 and (n < 2 or (n < factor) is not idle):
                return None, math.inf
        node = self.crossed(node)
        return node, node.sure_pj + self.ahead(k, node.outside[k][0], None, node.pending)

    def children(self, node: Node) -> Iterator[tuple[Ends, Node | None, float]]:
        """Yield every choice of ends of the next level, its node if it is not left out, and its bound [pJ]."""
        k, slot = len(node.chain), self.design.temporal[len(node.chain)]
        passes = node.outside[k][0]
        choices = [ends(slot, d, n) for d, n in enumerate(passes)]
        for chosen in itertools.product(*(choice[::-1] for choice in choices)):
            inside = self.grown(node, chosen)
            if not self.design.fits(k, self.keep[k], inside.extent, inside.largest):
                continue
            looping = [d for d, c in enumerate(chosen) if c[0] > 1]
            child: Node | None = None
            bound = node.sure_pj + (self.ahead(k, passes, chosen, node.pending) if looping else 0.0)
            if bound < self.limit_pj:
                waits = (one for one in node.pending if not any(self.moves[one.space][d] for d in looping))
                child, bound = self.enter(inside._replace(sure_pj=bound, pending=tuple(waits)))
                if child is None:
                    continue
            if bound >= self.limit_pj:
                child = None
                self.verdict.took(cuts=1)
            yield chosen, child, bound

    def each(self, node: Node) -> None:
        """Look at every choice of ends, of those that a complete node stands for, level by level."""
        if self.orders(node, count=False):
            self._single(node.chain, self.innermost())

    def _single(self, chain: tuple[Ends, ...], inside: Node) -> None:
        k = len(inside.chain)
        if k == self.levels:
            self.orders(inside, count=True)
            return
        inside = self.crossed(inside)
        if inside.once_pj >= self.limit_pj:
            self.verdict.took(cuts=1)
            return
        for chosen in itertools.product(*(range(low, high + 1) for low, high in chain[k])):
            grown = self.grown(inside, tuple((c, c) for c in chosen))
            if self.design.fits(k, self.keep[k], grown.extent):
                self._single(chain, grown)

    def orders(self, node: Node, *, count: bool) -> bool:
        """Try every order of loops that can still win, the outermost level first; return whether there is any."""
        chain, passes = node.chain, [passes for passes, _ in node.outside]

        def choose(k: int, sure: float, placed: list[tuple[int, ...]]) -> bool:
            if k < 0:
                if count:
                    self.count_all(chain, placed)
                return True
            found = False
            looping = [d for d, c in enumerate(chain[k]) if c[0] > 1]
            for order in self.design.temporal[k].orders(looping):
                here = [order, *placed]
                more = 0.0
                for one in node.outside[k][1]:
                    asked, filled = self.ordered(one, k, here, passes, chain)
                    more += max(0.0, float(one.price(asked, filled)) - one.once_pj)
                if sure + more >= self.limit_pj:
                    self.verdict.took(cuts=1)
                    continue
                found = choose(k - 1, sure + more, here) or found
                if found and not count:
                    return True
                if k == 0 and all(f == 1 for f in self.factors[0]):
                    # Where nothing is unrolled inside the innermost loops, their order is nobody's matter.
                    break
            return found

        return choose(self.levels - 1, node.once_pj, [])

    def count_all(self, chain: tuple[Ends, ...], placed: list[tuple[int, ...]]) -> None:
        """Count a nest on every arrangement."""
        temporal = tuple(tuple((d, c[d][0]) for d in reversed(order)) for order, c in zip(placed, chain, strict=True))
        for spatial in self.design.arrangements(self.factors):
            nest = Nest(self.keep, temporal, spatial)
            self.verdict.took(NEST_STEPS, nests=1)
            cost = cost_of(self.design, nest, self.limit_pj)
            if cost is not None and float(cost[0]) < self.limit_pj:
                self.better = shown(self.design, nest), float(cost[0])


def parts_of(design: Design, limit_pj: float, verdict: Verdict) -> Iterator[Part]:
    """Return every subproblem that an argument has to cover."""
    for unrolling in unrollings(design):
        for keep in design.keeps:
            yield Part(design, keep, unrolling, limit_pj, verdict)


def argument(part: Part) -> dict[str, Any]:
    """Return the argument for a part: its bound, or the nodes that no bound leaves out."""
    root, bound = part.enter(part.innermost())
    found: dict[str, Any] = {
        "keep": [[int(kept) for kept in level] for level in part.keep],
        "unrolling": [list(level) for level in part.factors],
        "idle": [[int(idle) for idle in level] for level in part.idle],
    }
    if root is None:
        return found | {"lemma": "empty", "bound_pj": None}
    if bound >= part.limit_pj:
        return found | {"lemma": "bound", "bound_pj": bound}
    return found | {"lemma": "nodes", **_expanded(part, root)}


def check_part(part: Part, written: dict[str, Any]) -> None:
    """Raise `Refused` unless the argument holds: nothing is expanded that the file does not list."""
    root, bound = part.enter(part.innermost())
    if root is not None and written["lemma"] == "nodes":
        _expanded(part, root, written)
    elif root is not None:
        check_bound(bound, written["bound_pj"] or 0.0, "the part", rules_out=bound >= part.limit_pj)


def _expanded(part: Part, node: Node, written: dict[str, Any] | None = None) -> dict[str, Any]:
    """Return the least bound of the children that are left out, and the nodes of all others.

    Where a node is written, raise `Refused` if it does not list such a child, or states more than that bound.
    """
    least, nodes = math.inf, []
    if len(node.chain) == part.levels:
        part.each(node)
        if written is not None and part.better is not None:
            raise Refused("{} costs {!r} pJ, less than claimed".format(*part.better))
        return {"bound_pj": None, "nodes": []}
    listed = {tuple(map(tuple, child["ends"])): child for child in (written or {"nodes": []})["nodes"]}
    for chosen, child, bound in part.children(node):
        if child is None:
            least = min(least, bound)
        elif written is not None and chosen not in listed:
            what = f"the ends {chosen} of {part.design.levels[len(node.chain)].name}"
            check_bound(bound, 0.0, what, rules_out=False)
        else:
            nodes.append({"ends": [list(pair) for pair in chosen], **_expanded(part, child, listed.get(chosen))})
    if written is not None:
        claimed_pj = math.inf if written["bound_pj"] is None else written["bound_pj"]
        check_bound(least, claimed_pj, "what a node leaves out", rules_out=True)
    return {"bound_pj": None if least == math.inf else least, "nodes": nodes}
