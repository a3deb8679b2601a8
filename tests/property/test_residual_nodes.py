"""Bounds of the search with imperfect factors beside every nest that they stand for, node by node.

A subproblem of a tiny design is walked without an incumbent, so no node is left out. Every nest is written down apart
from that walk and evaluated by the model. No bound on the way to a node may exceed what a nest below it is worth.
"""

import itertools
import math
import os
import random
from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
import pytest

from differential.native import load
from differential.residual_space import chains, slots_of
from differential.tiny import FAMILIES, draw_tiny
from jouleloop.errors import JouleloopError
from jouleloop.mapspace.space import MapSpace, build_mapspace
from jouleloop.model.arrays import SPATIAL, TEMPORAL, Bools, NestArrays, new_nest, new_work
from jouleloop.model.evaluate import count_nest, evaluate_residual_nest
from jouleloop.model.kernel import box_words
from jouleloop.model.residual import has_residuals
from jouleloop.optimum.arrays import new_counters
from jouleloop.optimum.driver import Task
from jouleloop.optimum.residual.ahead import ahead_pj
from jouleloop.optimum.residual.bound import bound_part
from jouleloop.optimum.residual.counts import least_cost
from jouleloop.optimum.residual.descend import _close, _enter, _list_ends, _take_end, descend
from jouleloop.optimum.residual.leaf import _more_pj
from jouleloop.optimum.residual.optimise import ImperfectKernel
from jouleloop.optimum.residual.ordered import ordered_pj
from jouleloop.optimum.residual.state import Design, Trial, Unrolled, new_best, new_walk, value_of
from shares import by_kind, check_all

CASES = int(os.environ.get("JOULELOOP_EXAMPLES", "60"))
#: Most nests of a subproblem, subproblems of a design, subproblems of a design that are looked at.
MOST_NESTS, MOST_PARTS, PARTS = 4000, 200_000, 3
ROUNDING = 1e-9

#: Ends of the temporal loops by level and dimension; dimensions of the loops by level, outermost first.
Ends = tuple[tuple[int, ...], ...]
Orders = tuple[tuple[int, ...], ...]


class Part(NamedTuple):
    """A subproblem: its search, what is kept, and its unrolling."""

    kernel: ImperfectKernel
    design: Design
    unrolled: Unrolled
    keep: Bools
    name: str


class Leaf(NamedTuple):
    """A complete node: the least and the largest ends it stands for, the bound on the way to it, and by order."""

    least: Ends
    largest: Ends
    bound: float
    ordered: dict[Orders, float]


def kernel_of(family: str, seed: int) -> ImperfectKernel | None:
    """Return the search of a case, where it is searched."""
    case = draw_tiny(seed, family)
    try:
        problem, target = load(case)
        space = build_mapspace(problem, target.arch, target.constraints, imperfect=True)
        kernel = ImperfectKernel(Task(space, target.costs, (case.objective,), case.semantics), new_counters())
        kernel.fill_parts()
    except JouleloopError:
        return None
    return kernel if 0 < len(kernel.parts) <= MOST_PARTS else None


def temporal_ends(space: MapSpace, d: int) -> dict[tuple[tuple[int, bool], ...], list[tuple[int, ...]]]:
    """Return all ends of a dimension's temporal loops, by its unrolled factors and whether these leave units idle."""
    spatial = [k for k, slot in enumerate(space.spatial) if slot is not None]
    found = defaultdict(list)
    for chain in chains(space.problem.bounds[d], [(slot, d, fan) for slot, fan in slots_of(space)]):
        left, ends, unrolled, rest = space.problem.bounds[d], [], [], iter(chain)
        for k in range(len(space.temporal)):
            factor = next(rest) if k in spatial else 1
            unrolled.append((factor, left < factor))
            left = -(-left // factor)
            ends.append(next(rest))
            left = -(-left // ends[-1])
        found[tuple(unrolled)].append(tuple(ends))
    return found


def orders_of(rank: Sequence[int], ends: Sequence[int]) -> list[tuple[int, ...]]:
    """Return the orders of a level's loops that constraints allow, outermost first."""
    loops = [d for d, end in enumerate(ends) if end > 1]
    orders = itertools.permutations(loops)
    return [one for one in orders if all(rank[a] >= rank[b] for a, b in itertools.pairwise(one))]


def write_loops(nest: NestArrays, ends: Ends, orders: Orders) -> None:
    """Write the temporal loops of a nest."""
    for k, order in enumerate(orders):
        nest.counts[k, TEMPORAL] = len(order)
        for i, d in enumerate(order):
            nest.loops[k, TEMPORAL, i] = d, ends[k][d], 0


def fits(part: Part, ends: Ends) -> bool:
    """Whether every tile fits its level, and fills as much of it as it has to."""
    levels, layer, extent = (
        part.design.target.hardware.levels,
        part.design.target.layer,
        np.ones(len(ends[0]), np.int64),
    )
    for k, row in enumerate(ends):
        extent *= part.unrolled.factors[k] * np.array(row)
        size = np.minimum(extent, layer.bounds)
        words = sum(box_words(coef, size) for coef, kept in zip(layer.coef, part.keep[k], strict=True) if kept)
        if not levels[k]["least_words"] <= words <= levels[k]["capacity_words"]:
            return False
    return True


def values_of(part: Part, ends: Ends, ranks: Sequence[Sequence[int]]) -> dict[Orders, float]:
    """Return what the best arrangement of every order is worth; assert that no closed form is above the model."""
    nest, work, design = new_nest(part.keep), part.kernel.work, part.design
    nest.counts[:, SPATIAL] = part.unrolled.numbers[:, 0]
    found = {}
    for orders in itertools.product(*(orders_of(rank, row) for rank, row in zip(ranks, ends, strict=True))):
        write_loops(nest, ends, orders)
        best, closed = math.inf, -1.0
        for chosen in itertools.product(*(range(number) for _, number in part.unrolled.numbers.tolist())):
            for k, n in enumerate(chosen):
                nest.loops[k, SPATIAL] = part.unrolled.loops[k, n]
            early = has_residuals(design.target.layer.bounds, nest)
            count = evaluate_residual_nest if early else count_nest
            pj, cycles = count(design.target, nest, work)[:2]
            value = value_of(design, pj, cycles)
            if closed < 0.0 or (early and part.kernel.windows):
                least_pj, steps = least_cost(design.target, design.relevant, nest, new_work(*part.keep.shape))
                closed = value_of(design, least_pj, steps) if early or not part.kernel.windows else 0.0
            assert closed <= value * (1 + ROUNDING), (part.name, "closed form", ends, orders, chosen)
            best = min(best, value)
        found[orders] = best
    return found


def leaves(part: Part, ranks: Sequence[Sequence[int]]) -> Iterator[Leaf]:
    """Walk a subproblem as the search does, without an incumbent."""
    design, unrolled, kernel = part.design, part.unrolled, part.kernel
    walk = new_walk(design, unrolled, bound_part(design, unrolled))
    best = new_best(kernel.levels, len(kernel.relevant))
    trial = Trial(new_nest(part.keep), kernel.work, best, new_counters())
    levels, dims = unrolled.factors.shape

    def entered(level: int) -> float:
        """Return the bound of the node before the ends of a level, which `_enter` has written."""
        ends = walk.ends
        least_pj = walk.entered_pj[level]
        if walk.has_choice[level]:
            least_pj += ahead_pj(design, unrolled, walk, level, False)
        inner = -(-ends.passes[level] // ends.beyond[level])
        return value_of(design, least_pj, walk.steps[level] * float(np.prod(inner)))

    def inside(level: int, bound: float) -> Iterator[Leaf]:
        if _enter(design, unrolled, walk, level, trial):
            yield from choose(level, 0, max(bound, entered(level)))

    def choose(level: int, d: int, bound: float) -> Iterator[Leaf]:
        _list_ends(design, unrolled, walk, level, d)
        while walk.left[level, d]:
            _take_end(walk, level, d)
            if d + 1 < dims:
                yield from choose(level, d + 1, bound)
            elif _close(design, unrolled, walk, level, trial):
                rest = -(-walk.ends.passes[level] // (walk.ends.least[level] * walk.ends.beyond[level]))
                steps = walk.steps[level + 1] * float(np.prod(rest))
                closed = max(bound, value_of(design, walk.bound_pj[level + 1], steps))
                yield from (leaf(closed),) if level + 1 == levels else inside(level + 1, closed)

    def leaf(bound: float) -> Leaf:
        base_pj = walk.bound_pj[0] + walk.pressed_pj[levels - 1]
        base_pj += sum(_more_pj(unrolled, v, i) for v, number in enumerate(unrolled.counts) for i in range(number))
        least = tuple(map(tuple, walk.ends.least.tolist()))
        ordered = {}
        for orders in itertools.product(*(orders_of(rank, row) for rank, row in zip(ranks, least, strict=True))):
            write_loops(trial.nest, least, orders)
            more_pj = sum(ordered_pj(design, unrolled, walk, trial.nest, k - 1) for k in range(levels - 1, 0, -1))
            ordered[orders] = value_of(design, base_pj + more_pj, walk.steps[levels])
        return Leaf(least, tuple(map(tuple, walk.ends.largest_end.tolist())), bound, ordered)

    yield from inside(0, value_of(design, walk.bound_pj[0], 1.0))


def passes_of(part: Part, ends: Ends) -> Ends:
    """Return the passes that every level leaves."""
    left, found = part.design.target.layer.bounds.copy(), []
    for k, row in enumerate(ends):
        left = -(-left // part.unrolled.factors[k])
        left = -(-left // np.array(row))
        found.append(tuple(left.tolist()))
    return tuple(found)


def check(part: Part, all_ends: Sequence[Ends], ranks: Sequence[Sequence[int]]) -> tuple[int, int]:
    """Compare every bound of a subproblem with all nests; return the nests, and the bounds that are 0.9 of a value."""
    values = {ends: values_of(part, ends, ranks) for ends in all_ends if fits(part, ends)}
    least = min((min(found.values()) for found in values.values()), default=math.inf)
    covered: dict[Ends, float] = {}
    number = close = 0
    for leaf in leaves(part, ranks):
        rows = zip(itertools.chain(*leaf.least), itertools.chain(*leaf.largest), strict=True)
        for flat in itertools.product(*(range(low, high + 1) for low, high in rows)):
            ends = tuple(zip(*[iter(flat)] * len(leaf.least[0]), strict=True))
            if ends not in values:
                continue
            best, passes = min(values[ends].values()), passes_of(part, ends)
            assert leaf.bound <= best * (1 + ROUNDING), (part.name, "node", leaf.bound / best, leaf[:2], ends)
            covered[passes] = min(covered.get(passes, math.inf), best)
            for orders, value in values[ends].items():
                bound = leaf.ordered[orders]
                assert bound <= value * (1 + ROUNDING), (part.name, "orders", bound / value, leaf[:2], ends, orders)
                number, close = number + 1, close + (bound > 0.9 * value)
    for ends, found in values.items():
        best, passes = min(found.values()), passes_of(part, ends)
        assert covered.get(passes, math.inf) <= best * (1 + ROUNDING), (part.name, "least ends", ends)
    for limit in (math.inf, least * (1 + 1e-6), least * 0.8):
        found_value, cut = searched(part, limit)
        if limit > least:
            assert found_value == pytest.approx(least, rel=ROUNDING), (part.name, "search", limit / least)
        assert cut <= least * (1 + ROUNDING) or limit == math.inf, (part.name, "cut", limit / least)
    return number, close


def searched(part: Part, limit: float) -> tuple[float, float]:
    """Search a subproblem below a limit; return the best value, and what nothing left out is below."""
    kernel = part.kernel
    nest = new_nest(part.keep)
    nest.counts[:, SPATIAL], nest.loops[:, SPATIAL] = part.unrolled.numbers[:, 0], part.unrolled.loops[:, 0]
    best = new_best(kernel.levels, len(kernel.relevant))
    best.mark[0]["value"] = limit
    walk = new_walk(part.design, part.unrolled, bound_part(part.design, part.unrolled))
    assert descend(part.design, part.unrolled, walk, Trial(nest, kernel.work, best, new_counters()))
    mark = best.mark[0]
    return float(mark["value"]) if mark["found"] else math.inf, min(float(mark["cut"]), float(mark["value"]))


def parts_of(kernel: ImperfectKernel, rng: random.Random, where: str) -> Iterator[tuple[Part, list[Ends]]]:
    """Yield some subproblems with all their ends; assert that the search has a subproblem for every mapping."""
    space = kernel.space
    by_dim = [temporal_ends(space, int(d)) for d in kernel.dims]
    if all(kernel.problem.bounds[d] == 1 for d in kernel.dims):
        return
    rows = [kernel._unrolled(n) for n in range(len(kernel.rows))]
    known = {(row.factors.tobytes(), (row.idle > 0).tobytes()): n for n, row in enumerate(rows)}
    keys = list(itertools.islice(itertools.product(*by_dim), 3000))
    rng.shuffle(keys)
    left = PARTS
    for key in keys:
        factors = np.array([[key[d][k][0] for d in range(len(key))] for k in range(kernel.levels)], np.int64)
        idle = np.array([[key[d][k][1] for d in range(len(key))] for k in range(kernel.levels)])
        if any(
            math.prod(row) > math.prod(fan) for row, fan in zip(factors.tolist(), space.arch.fanout[::-1], strict=True)
        ):
            continue
        index = known.get((factors.tobytes(), idle.tobytes()))
        if index is None:
            continue
        all_ends = [
            tuple(zip(*one, strict=True)) for one in itertools.product(*(by_dim[d][k] for d, k in enumerate(key)))
        ]
        keep = rng.choice(space.keeps)
        part = Part(kernel, kernel.design(keep), kernel._unrolled(index), keep, f"{where}: {factors.tolist()}")
        ranks = [[slot.rank[d] for d in kernel.dims] for slot in space.temporal]
        nests = sum(math.prod(len(orders_of(r, row)) for r, row in zip(ranks, e, strict=True)) for e in all_ends)
        if nests * int(np.prod(part.unrolled.numbers[:, 1])) > MOST_NESTS:
            continue
        yield part, all_ends
        left -= 1
        if not left:
            return


@by_kind(FAMILIES, CASES, first=CASES // 6)
def test_no_bound_exceeds_a_nest_that_it_stands_for(kind: str, seeds: range) -> None:
    check_all(partial(check_design, kind), seeds, 20)


def check_design(family: str, seed: int) -> tuple[int, int]:
    """Check some subproblems of a design; return the nests, and the bounds that are close to their value."""
    kernel = kernel_of(family, seed)
    compared = close = 0
    if kernel is not None:
        ranks = [[slot.rank[d] for d in kernel.dims] for slot in kernel.space.temporal]
        for part, all_ends in parts_of(kernel, random.Random(seed), f"{family}-{seed}"):
            number, near = check(part, all_ends, ranks)
            compared, close = compared + number, close + near
    return compared, close
