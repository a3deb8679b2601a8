"""The argument for imperfect factors: a tree over all unrollings and all ends, level by level from the innermost.

One choice of ends stands for all that leave as many passes, until all levels have theirs. Then each is looked at by
itself, and each order that no lemma leaves out is counted on every arrangement. `Part.children` says what a node has to
cover, and by which bound each child may be left out; the writer expands what is left, and the verifier checks it.
"""

import itertools
import math
from collections.abc import Iterator
from typing import Any, NamedTuple

from jouleloop.proof.cost import cost_of, shown
from jouleloop.proof.crossings import Crossing, Unrolling
from jouleloop.proof.design import Design, Factors, Keep, Nest, Slot
from jouleloop.proof.rules import Refused
from jouleloop.proof.times import Ends, Times


def knows(design: Design) -> bool:
    """Whether the lemmas hold: two dimensions that loop move a rank at most, and only one moves an output's."""
    for ranks, written in zip(design.ranks, design.written, strict=True):
        seen: list[int] = []
        for rank in ranks:
            moving = [d for d in rank if design.bounds[d] > 1]
            if len(moving) > 2 or (written and (len(moving) > 1 or any(rank[d] != 1 for d in moving))):
                return False
            seen += moving
        if len(set(seen)) < len(seen):
            return False
    return True


def unrollings(design: Design) -> Iterator[Unrolling]:
    """Every choice of spatial factors that constraints and fan-outs admit; fixed ones may leave units without work."""
    options = [tuple(design.spatial_factors(k, design.bounds, divide=False)) for k in range(len(design.levels))]
    for factors in itertools.product(*options):
        fixed = [
            [f > 1 and level.spatial is not None and level.spatial.fixed[d] is not None for d, f in enumerate(row)]
            for level, row in zip(design.levels, factors, strict=True)
        ]
        choices = [list(itertools.product(*((False, True) if may else (False,) for may in row))) for row in fixed]
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


#: What counting a nest takes, in bounds.
NEST_STEPS = 20


class Node(NamedTuple):
    """A choice of ends up to a level: tiles at least and at most, the energy so far [pJ], boundaries left open."""

    chain: tuple[Ends, ...]
    extent: Factors
    largest: Factors
    sure_pj: float
    pending: tuple[Crossing, ...]
    passes: Factors
    """Passes of the temporal loops of the next level outward, together with all outside it."""


class Part(Times):
    """One unrolling under one choice of what is kept; nothing in it may be below a limit [pJ]."""

    def __init__(self, design: Design, keep: Keep, unrolling: Unrolling, limit_pj: float) -> None:
        super().__init__(design, keep, unrolling)
        self.limit_pj, self.cuts, self.count = limit_pj, 0, 0
        self.root_pj = self.computes_pj() + sum(crossing.once_pj for crossing in self.crossings)
        #: Steps at most: a bound is one, a nest `NEST_STEPS`; None is any number.
        self.most_steps: int | None = None
        #: A mapping below the limit, and what it costs [pJ].
        self.better: tuple[str, float] | None = None

    @property
    def steps(self) -> int:
        """Work so far: bounds that leave something out, and nests as many times as they take longer."""
        return self.cuts + NEST_STEPS * self.count

    def cut(self) -> None:
        """Count one more bound that leaves something out."""
        self.cuts += 1
        if self.most_steps is not None and self.steps > self.most_steps:
            raise TooLong

    def root(self) -> tuple[Node | None, float]:
        """Return the node where nothing is chosen, None where no mapping follows; and its bound [pJ]."""
        ones = (1,) * len(self.design.bounds)
        return self.enter((), ones, ones, self.root_pj, [])

    def enter(
        self, chain: tuple[Ends, ...], extent: Factors, largest: Factors, sure_pj: float, pending: list[Crossing]
    ) -> tuple[Node | None, float]:
        """Return the node of a chain, None where no mapping follows; and its bound [pJ]."""
        k, bounds = len(chain), self.design.bounds
        if k == self.levels:
            whole = all(e >= b for e, b in zip(extent, bounds, strict=True))
            return (Node(chain, extent, largest, sure_pj, (), ()), sure_pj) if whole else (None, math.inf)
        left = [-(-b // e) for b, e in zip(bounds, extent, strict=True)]
        for d, factor in enumerate(self.factors[k]):
            if factor > 1 and (left[d] < 2 or (left[d] < factor) is not self.idle[k][d]):
                return None, math.inf
        passes = tuple(-(-n // f) for n, f in zip(left, self.factors[k], strict=True))
        more, entered = self.entered(k, extent, largest, left)
        waiting = [*pending, *entered]
        bound = sure_pj + more + self.ahead(k, passes, None, waiting)
        return Node(chain, extent, largest, sure_pj + more, tuple(waiting), passes), bound

    def children(self, node: Node) -> Iterator[tuple[Ends, Node | None, float]]:
        """Yield every choice of ends of the next level, its node if it is not left out, and its bound [pJ]."""
        k, pending = len(node.chain), list(node.pending)
        factors, slot = self.factors[k], self.slots[k]
        choices = [ends(slot, d, n) for d, n in enumerate(node.passes)]
        for chosen in itertools.product(*(choice[::-1] for choice in choices)):
            tile = tuple(e * f * c[0] for e, f, c in zip(node.extent, factors, chosen, strict=True))
            most = tuple(e * f * c[1] for e, f, c in zip(node.largest, factors, chosen, strict=True))
            if not self.design.fits(k, self.keep[k], tile, most):
                continue
            looping = [d for d, c in enumerate(chosen) if c[0] > 1]
            bound = node.sure_pj + (self.ahead(k, node.passes, chosen, pending) if looping else 0.0)
            if bound >= self.limit_pj:
                self.cut()
                yield chosen, None, bound
                continue
            waits = [one for one in pending if not any(self.moves[one.space][d] for d in looping)]
            child, bound = self.enter((*node.chain, chosen), tile, most, bound, waits)
            if child is None:
                continue
            if bound >= self.limit_pj:
                self.cut()
            yield chosen, child if bound < self.limit_pj else None, bound

    def each(self, node: Node) -> None:
        """Look at every choice of ends, of those that a complete node stands for, level by level."""
        chain = list(node.chain)
        if not self.orders(chain, self.passing(chain), count=False):
            return
        ones = (1,) * len(self.design.bounds)

        def choose(k: int, extent: Factors, sure: float, done: list[Ends]) -> None:
            if k == self.levels:
                self.orders(done, self.passing(done), count=True)
                return
            left = [-(-b // e) for b, e in zip(self.design.bounds, extent, strict=True)]
            more, _ = self.entered(k, extent, extent, left)
            if sure + more >= self.limit_pj:
                self.cut()
                return
            for chosen in itertools.product(*(range(low, high + 1) for low, high in chain[k])):
                tile = tuple(e * f * c for e, f, c in zip(extent, self.factors[k], chosen, strict=True))
                if self.design.fits(k, self.keep[k], tile):
                    choose(k + 1, tile, sure + more, [*done, tuple((c, c) for c in chosen)])

        choose(0, ones, self.root_pj, [])

    def passing(self, chain: list[Ends]) -> tuple[float, list[Factors], list[list[Crossing]]]:
        """Return what is sure [pJ] of complete ends; by level the passes, and the crossings into the level inside."""
        sure, extent, largest = self.root_pj, (1,) * len(self.dims), (1,) * len(self.dims)
        passes, crossings = [], []
        for k, chosen in enumerate(chain):
            left = [-(-b // e) for b, e in zip(self.design.bounds, extent, strict=True)]
            more, entered = self.entered(k, extent, largest, left)
            sure += more
            passes.append(tuple(-(-n // f) for n, f in zip(left, self.factors[k], strict=True)))
            crossings.append(entered)
            extent = tuple(e * f * c[0] for e, f, c in zip(extent, self.factors[k], chosen, strict=True))
            largest = tuple(e * f * c[1] for e, f, c in zip(largest, self.factors[k], chosen, strict=True))
        return sure, passes, crossings

    def orders(
        self,
        chain: list[Ends],
        known: tuple[float, list[Factors], list[list[Crossing]]],
        *,
        count: bool,
    ) -> bool:
        """Try every order of loops that can still win, the outermost level first; return whether there is any."""
        sure_pj, passes, crossings = known

        def choose(k: int, sure: float, placed: list[tuple[int, ...]]) -> bool:
            if k < 0:
                if count:
                    self.count_all(chain, placed)
                return True
            found = False
            looping = [d for d, c in enumerate(chain[k]) if c[0] > 1]
            for order in self.design.levels[k].temporal.orders(looping):
                here = [order, *placed]
                more = 0.0
                for one in crossings[k]:
                    asked, filled = self.ordered(one, k, here, passes, chain)
                    more += max(0.0, float(one.price(asked, filled)) - one.once_pj)
                if sure + more >= self.limit_pj:
                    self.cut()
                    continue
                found = choose(k - 1, sure + more, here) or found
                if found and not count:
                    return True
                if k == 0 and all(f == 1 for f in self.factors[0]):
                    # Where nothing is unrolled inside the innermost loops, their order is nobody's matter.
                    break
            return found

        return choose(self.levels - 1, sure_pj, [])

    def count_all(self, chain: list[Ends], placed: list[tuple[int, ...]]) -> None:
        """Count a nest on every arrangement."""
        temporal = tuple(tuple((d, c[d][0]) for d in reversed(order)) for order, c in zip(placed, chain, strict=True))
        for spatial in itertools.product(*(self.design.spatial_orders(k, f) for k, f in enumerate(self.factors))):
            nest = Nest(self.keep, temporal, spatial)
            self.count += 1
            if self.most_steps is not None and self.steps > self.most_steps:
                raise TooLong
            cost = cost_of(self.design, nest, self.limit_pj)
            if cost is not None and float(cost[0]) < self.limit_pj:
                self.better = shown(self.design, nest), float(cost[0])


def parts_of(design: Design, limit_pj: float) -> Iterator[Part]:
    """Return every subproblem that an argument has to cover."""
    for unrolling in unrollings(design):
        for keep in design.keeps:
            yield Part(design, keep, unrolling, limit_pj)


class TooLong(Exception):  # noqa: N818 - a verdict, not an error of the program
    """An argument needs more bounds and nests than allowed."""


def argument(part: Part) -> dict[str, Any]:
    """Return the argument for a part: its bound, or the nodes that no bound leaves out."""
    root, bound = part.root()
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


def _expanded(part: Part, node: Node) -> dict[str, Any]:
    """Return the least bound of the children that are left out, and the nodes of all others."""
    least: float = math.inf
    nodes: list[dict[str, Any]] = []
    if len(node.chain) == part.levels:
        part.each(node)
        return {"bound_pj": None, "nodes": nodes}
    for chosen, child, bound in part.children(node):
        if child is None:
            least = min(least, bound)
        else:
            nodes.append({"ends": [list(pair) for pair in chosen], **_expanded(part, child)})
    return {"bound_pj": None if least == math.inf else least, "nodes": nodes}


def check_part(part: Part, written: dict[str, Any]) -> None:
    """Raise `Refused` unless the argument holds: nothing is expanded that the file does not list."""
    root, bound = part.root()
    if root is None:
        return
    if written["lemma"] == "nodes":
        _check_node(part, root, written)
        return
    _check_bound(part, bound, written["bound_pj"], "the part")


def _check_bound(part: Part, bound: float, claimed_pj: float | None, what: str) -> None:
    if claimed_pj is not None and claimed_pj > bound * (1 + 1e-11):
        raise Refused(f"the bound of {what} is {bound!r} pJ, not {claimed_pj!r}")
    if not bound >= part.limit_pj:
        raise Refused(f"the bound of {what}, {bound!r} pJ, does not rule it out")


def _check_node(part: Part, node: Node, written: dict[str, Any]) -> None:
    if len(node.chain) == part.levels:
        part.each(node)
        if part.better is not None:
            raise Refused("{} costs {!r} pJ, less than claimed".format(*part.better))
        return
    given = {tuple(tuple(pair) for pair in child["ends"]): child for child in written["nodes"]}
    least = math.inf
    for chosen, child, bound in part.children(node):
        listed = given.get(chosen)
        if child is None:
            least = min(least, bound)
        elif listed is None:
            _check_bound(part, bound, None, f"the ends {chosen} of {part.design.levels[len(node.chain)].name}")
        else:
            _check_node(part, child, listed)
    claimed = math.inf if written["bound_pj"] is None else written["bound_pj"]
    if claimed > least * (1 + 1e-11):
        raise Refused(f"what a node leaves out has a bound of {least!r} pJ, not {claimed!r}")
