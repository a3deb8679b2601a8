"""Fused chains against an enumeration: every tree of loops, every set of held tensors, every mapping of every part.

Outer loops are executed here step by step: what is on the chip is a set of tiles by name, and words are counted as they
move. Nothing of `jouleloop.fusion` but its chain is used.
"""

import itertools
import math
import os
import random
from collections.abc import Iterator, Sequence
from functools import cache
from typing import NamedTuple, TypeVar

import numpy as np
import pytest

from jouleloop.arch.architecture import Architecture, ComputeLevel, StorageLevel
from jouleloop.division import divisors
from jouleloop.energy.costs import EnergyCosts, LevelEnergy
from jouleloop.engines.protocol import Target
from jouleloop.fusion.chain import Chain, chain_of
from jouleloop.fusion.hardware import Fusion
from jouleloop.fusion.search import ChainSearch
from jouleloop.mapping.reuse import Reuse
from jouleloop.mapspace.constraints import Constraints, LevelConstraints, LoopConstraint
from jouleloop.model.arrays import new_work
from jouleloop.model.encode import encode, nest_arrays
from jouleloop.model.evaluate import count_nest
from jouleloop.model.semantics import rules_of
from jouleloop.workload.problem import Problem
from jouleloop.workload.sizes import parse_layer
from shares import in_shares

#: JOULELOOP_EXAMPLES=500 pytest tests/property/test_fused_chains.py draws as many.
EXAMPLES = int(os.environ.get("JOULELOOP_EXAMPLES", "40"))
#: How many of them `make test` draws.
FIRST = 13
#: As Timeloop's mapper orders loops of the innermost level, outermost first, where it does not fan out.
DIMENSIONS = ("K", "N", "M")
SPACES = {"A": "MK", "B": "KN", "Z": "MN"}
Named = TypeVar("Named")


class Drawn(NamedTuple):
    chain: Chain
    target: Target


def draw(seed: int) -> Drawn:
    """Return two to four products of small sizes, and a DRAM, a buffer and a few units."""
    rng = random.Random(seed)
    long, small = not seed % 8, seed % 8 in (1, 2)
    sizes = [rng.choice((1, 2, 2) if long else (1, 2, 2, 3, 4)) for _ in range(5 if long else rng.choice((3, 4, 4)))]
    tokens = rng.choice((2, 4) if long else (2, 3, 4))
    if small:
        sizes, tokens = [rng.choice((2, 4, 4)) for _ in range(3)], 4
    layers = [parse_layer(f"matmul:M{m}xN{tokens}xK{k}") for k, m in itertools.pairwise(sizes)]
    block, units = rng.choice((1, 1, 2)), rng.choice((1, 2))
    levels = (
        StorageLevel("DRAM", "DRAM", "DRAM", None, 8, block_words=block),
        StorageLevel("Buffer", "Buffer", "SRAM", rng.randint(5, 10) if small else rng.randint(6, 40), 8),
    )
    dear = 20 if small else 1
    energies = tuple(
        LevelEnergy(one.name, rng.randint(1, 60) * scale, rng.randint(1, 60) * scale, "drawn")
        for one, scale in zip(levels, (dear, 1), strict=True)
    )
    arch = Architecture("drawn", levels, ComputeLevel("mac", "mac", "intmac", 8, units))
    # A part that is smaller ignores a factor that its layer has to have.
    fixed = (
        LoopConstraint(factors=dict.fromkeys(rng.sample(DIMENSIONS, 2), 2)) if rng.random() < 0.5 else LoopConstraint()
    )
    constraints = Constraints("drawn", {"Buffer": LevelConstraints(temporal=fixed)})
    return Drawn(chain_of("drawn", layers), Target(arch, EnergyCosts("drawn", energies, 0.5, "drawn"), constraints))


def splits(bounds: list[int], ways: int) -> Iterator[list[tuple[int, ...]]]:
    """Yield, by dimension, every way to write its bound as a product."""
    each = [[c for c in itertools.product(divisors(b), repeat=ways) if math.prod(c) == b] for b in bounds]
    yield from (list(choice) for choice in itertools.product(*each))


class Cost(NamedTuple):
    """One mapping of a part."""

    energy_pj: float
    filled_words: int
    dram_pj: dict[str, float]
    fill_pj: dict[str, float]
    whole: frozenset[str]


def mappings(problem: Problem, target: Target, resumes: bool) -> list[Cost]:
    """Return what every mapping of a part costs."""
    bounds = [problem.bound[d] for d in DIMENSIONS]
    fixed = target.constraints.level("Buffer").temporal.factors
    reuse = Reuse(rmw_first_update=frozenset("Z")) if resumes else Reuse()
    rules = rules_of("timeloop-4" if resumes else "timeloop-3.0.3")
    encoded, work = encode(problem, target.arch, target.costs, rules, [reuse] * 2), new_work(2, len(SPACES))
    number = [problem.shape.dimensions.index(d) for d in DIMENSIONS]
    names = [space.name for space in problem.data_spaces]
    found = []
    for factors in splits(bounds, 3):
        outer, fan, inner = ([factor[place] for factor in factors] for place in range(3))
        if math.prod(fan) > target.arch.compute.instances:
            continue
        if any(f != fixed.get(d, f) <= b for d, f, b in zip(DIMENSIONS, inner, bounds, strict=True)):
            continue
        loops, inside = ([(d, n) for d, n in zip(number, part, strict=True) if n > 1] for part in (outer, inner))
        spread = [(d, n, 0) for d, n in zip(number, fan, strict=True) if n > 1]
        orders = itertools.permutations(inside) if target.arch.compute.instances > 1 else [tuple(inside)]
        moving = {d for d, n in zip(DIMENSIONS, outer, strict=True) if n > 1}
        for order, own, keep in itertools.product(itertools.permutations(loops), orders, subsets("ABZ")):
            held = np.array([[name in keep for name in names], [True] * len(names)])
            energy_pj, *_ = count_nest(encoded, nest_arrays([own, order], [spread, []], held), work)
            filled = int(work.access["tile"][0][held[0]].sum())
            if filled > target.arch.levels[1].capacity_words:
                continue
            fills, dram_pj = work.access["fills"][0].tolist(), work.flow["energy_pj"][1].tolist()
            found.append(
                Cost(
                    energy_pj,
                    filled,
                    dict(zip(names, dram_pj, strict=True)),
                    {name: fills[v] * target.costs.levels[1].write_pj for v, name in enumerate(names) if name in keep},
                    frozenset(name for name in keep if not moving & set(SPACES[name])),
                )
            )
    return found


def subsets(names: Sequence[Named]) -> list[frozenset[Named]]:
    return [frozenset(c) for n in range(len(names) + 1) for c in itertools.combinations(names, n)]


#: Sizes of a layer, in the order of `DIMENSIONS`.
Sized = tuple[int, ...]


def tile_words(bounds: dict[str, int], name: str) -> int:
    return math.prod(bounds[d] for d in SPACES[name])


def times(steps: Sequence[int], each_pj: Sequence[float]) -> float:
    return sum(count * pj for count, pj in zip(steps, each_pj, strict=True) if count)


class Enumeration:
    """All ways to run a chain."""

    def __init__(self, drawn: Drawn) -> None:
        self.chain, self.target = drawn
        self.capacity = drawn.target.arch.levels[1].capacity_words or 0
        self.known: dict[object, list[Cost]] = {}
        self.ways: dict[object, set[tuple[float, float]]] = {}

    def part_pj(self, bounds: dict[str, int], room: int, on_chip: frozenset[str], *, resumes: bool) -> float:
        """Return the least energy of a part without what is on the chip already."""
        problem = parse_layer("matmul:" + "x".join(f"{d}{bounds[d]}" for d in DIMENSIONS)).problem()
        key = (problem, resumes)
        if key not in self.known:
            self.known[key] = mappings(problem, self.target, resumes)
        return min(
            (
                one.energy_pj - sum(one.dram_pj[name] + one.fill_pj[name] for name in on_chip)
                for one in self.known[key]
                if one.filled_words <= room and on_chip <= one.whole
            ),
            default=math.inf,
        )

    def layer_pj(
        self, sizes: Sized, free: int, on_chip: frozenset[str], *, again: bool = True
    ) -> set[tuple[float, float]]:
        """Return what a layer takes in every way to run it in an iteration, where outputs begin and where they go on.

        Beside tiles on the chip so many words are free. It runs at once, or where a tensor is not on the chip ``again``
        under loops of its own, in any order, which leave other tiles there. Ways dearer twice are left out.
        """
        if (sizes, free, on_chip, again) in self.ways:
            return self.ways[sizes, free, on_chip, again]
        bounds, fixed = (
            dict(zip(DIMENSIONS, sizes, strict=True)),
            self.target.constraints.level("Buffer").temporal.factors,
        )
        room = free + sum(tile_words(bounds, name) for name in on_chip)
        found = {tuple(self.part_pj(bounds, room, on_chip, resumes=resumes) for resumes in (False, True))}
        for factors in itertools.product(*map(divisors, sizes)) if again and len(on_chip) < 3 else ():
            inner = {d: n // factor for (d, n), factor in zip(bounds.items(), factors, strict=True)}
            if any(inner[d] < factor <= bounds[d] for d, factor in fixed.items()):
                continue
            for loops in itertools.permutations((d, n) for d, n in zip(DIMENSIONS, factors, strict=True) if n > 1):
                others = [name for name in SPACES if loops and name not in on_chip and loops[-1][0] not in SPACES[name]]
                for held in filter(None, subsets(others)):
                    left = free - sum(tile_words(inner, name) for name in held)
                    if left < 0:
                        continue
                    counted = [self.steps(bounds, loops, held, resumes=resumes) for resumes in (False, True)]
                    for each in self.layer_pj(tuple(inner.values()), left, on_chip | held, again=False):
                        found.add(tuple(moved + times(steps, each) for moved, steps in counted))
        kept = {
            one for one in found if not any(other != one and other <= one and other[1] <= one[1] for other in found)
        }
        self.ways[sizes, free, on_chip, again] = kept
        return kept

    def steps(
        self, bounds: dict[str, int], loops: tuple[tuple[str, int], ...], held: frozenset[str], *, resumes: bool
    ) -> tuple[float, tuple[int, int]]:
        """Run a layer's own loops: return what moves held tiles, and how many steps begin outputs and go on."""
        moved, steps, begun, there = 0.0, [0, 0], set[Region](), dict[str, Region]()
        for step in itertools.product(*(range(factor) for _, factor in loops)):
            now = {d: (0, n) for d, n in bounds.items()}
            for value, (d, factor) in zip(step, loops, strict=True):
                now[d] = (value * (bounds[d] // factor), bounds[d] // factor)
            for name in held:
                tile = region(now, name)
                if there.get(name) != tile:
                    if name == "Z" and name in there:
                        moved += self.moved_pj(words(tile), reads=False)
                    if name != "Z" or resumes or tile in begun:
                        moved += self.moved_pj(words(tile), reads=True)
                    there[name] = tile
            output = region(now, "Z")
            steps[resumes or output in begun] += 1
            begun.add(output)
        if "Z" in held:
            moved += self.moved_pj(words(there["Z"]), reads=False)
        return moved, (steps[0], steps[1])

    def moved_pj(self, words: int, *, reads: bool) -> float:
        """Return the energy of a tile that goes in or out at once."""
        dram, buffer = self.target.costs.levels
        vectors = -(-words // self.target.arch.levels[0].block_words)
        return vectors * dram.read_pj + words * buffer.write_pj if reads else vectors * dram.write_pj

    def group_pj(self, first: int, last: int) -> float:
        """Return the least energy of layers that run as one group."""
        layers = {place: dict(self.chain.problems[place].bound) for place in range(first, last + 1)}
        least = math.inf
        for tree in trees(layers, whole=True):
            least = min(least, Execution(self, tree, least).total)
        return least

    def chain_pj(self) -> float:
        """Return the least energy over all cuts into groups."""
        problems = self.chain.problems
        apart = [self.part_pj(dict(one.bound), self.capacity, frozenset(), resumes=False) for one in problems]
        if math.inf in apart:
            return math.inf
        best = [0.0]
        for end, alone in enumerate(apart):
            ways = [best[end] + alone, *(best[start] + self.group_pj(start, end) for start in range(end))]
            best.append(min(ways))
        return best[-1]


class Tree(NamedTuple):
    """Outer loops, what layers hold while they run, and what an iteration runs: a layer, or a tree in its turn."""

    loops: tuple[tuple[int, tuple[tuple[int, str], ...]], ...]
    """Outermost first: factor, and the dimension of every layer."""
    held: tuple[tuple[int, str], ...]
    children: tuple["Tree | int", ...]


Sizes = dict[int, dict[str, int]]


def loops_of(layers: Sizes) -> Iterator[tuple[tuple[int, tuple[tuple[int, str], ...]], ...]]:
    """Yield every list of outer loops: over columns, and over the rows that one layer writes and one reads."""
    names = [tuple((k, "N") for k in layers)]
    if len(layers) == 2:
        names.append(tuple(zip(layers, "MK", strict=True)))
    for factors in itertools.product(*(divisors(layers[own[0][0]][own[0][1]]) for own in names)):
        yield from itertools.permutations((n, own) for n, own in zip(factors, names, strict=True) if n > 1)


def lists_of(places: list[int]) -> Iterator[list[list[int]]]:
    """Yield every way to cut a list into pieces."""
    if not places:
        yield []
    for size in range(1, len(places) + 1):
        for others in lists_of(places[size:]):
            yield [places[:size], *others]


def trees(layers: Sizes, *, whole: bool) -> Iterator[Tree]:
    """Yield every tree of layers of so many rows and columns; those inside another one have a loop at least."""
    places = list(layers)
    spaces = [(k, name) for k in places for name in SPACES]
    for loops in loops_of(layers):
        if not loops and not whole:
            continue
        sizes = {k: dict(own) for k, own in layers.items()}
        for factor, names in loops:
            for k, dimension in names:
                sizes[k][dimension] //= factor
        # What the innermost loop moves stays for no iteration.
        still = [
            (k, name)
            for k, name in spaces
            if loops and dict(loops[-1][1])[k] not in SPACES[name]
            if not (name == "Z" and k < places[-1]) and not (name == "B" and k > places[0])
        ]
        for pieces in lists_of(places):
            if len(pieces) == 1 and len(places) > 1:
                continue
            inside: list[list[Tree | int]] = [
                [piece[0]] if len(piece) == 1 else list(trees({k: sizes[k] for k in piece}, whole=False))
                for piece in pieces
            ]
            for children in itertools.product(*inside):
                for held in subsets(still):
                    yield Tree(loops, tuple(sorted(held)), children)


Region = tuple[tuple[int, int], ...]


class Execution:
    """Runs a tree step by step; ``total`` is infinite where it does not fit, or is not below a limit."""

    def __init__(self, counted: Enumeration, tree: Tree, limit: float) -> None:
        self.counted, self.limit, self.total = counted, limit, 0.0
        self.layers = sorted(layers_of(tree))
        #: By layer, where its outputs have begun; its part, words beside it, what is there; steps that begin and go on.
        self.begun: dict[int, set[Region]] = {k: set() for k in self.layers}
        self.rooms: dict[int, tuple[Sized, int, frozenset[str]]] = {}
        self.steps = {k: [0, 0] for k in self.layers}
        whole = {k: {d: (0, n) for d, n in counted.chain.problems[k].bound.items()} for k in self.layers}
        self.run(tree, whole, {}, frozenset())
        for k, steps in self.steps.items() if self.total < limit else ():
            self.total += min(times(steps, each) for each in counted.layer_pj(*self.rooms[k]))

    def run(
        self,
        tree: Tree,
        ranges: dict[int, dict[str, tuple[int, int]]],
        around: dict[tuple[int, str], Region],
        kept: frozenset[tuple[str, Region]],
    ) -> None:
        """Run the outer loops of a tree on what it is given: ranges by layer, held tiles, and all that is there."""
        there = dict[tuple[int, str], Region]()
        own = layers_of(tree)
        for step in itertools.product(*(range(factor) for factor, _ in tree.loops)):
            now = {k: dict(ranges[k]) for k in own}
            for value, (factor, names) in zip(step, tree.loops, strict=True):
                for k, dimension in names:
                    start, size = now[k][dimension]
                    now[k][dimension] = (start + value * (size // factor), size // factor)
            fresh = {(k, name): region(now[k], name) for k, name in tree.held}
            for key in tree.held:
                if there.get(key) != fresh[key]:
                    self.leave(there, key)
                    self.enter(key, fresh[key])
                    there[key] = fresh[key]
            held = kept | {named(*key, tile) for key, tile in there.items()}
            for child in tree.children:
                inside = [child] if isinstance(child, int) else layers_of(child)
                ends = {named(inside[0], "B", region(now[inside[0]], "B"))} if inside[0] > own[0] else set()
                ends |= {named(inside[-1], "Z", region(now[inside[-1]], "Z"))} if inside[-1] < own[-1] else set()
                if isinstance(child, int):
                    self.part(child, now[child], around.keys() | there.keys(), held | ends)
                else:
                    self.run(child, now, around | there, held | ends)
                if self.total >= self.limit:
                    self.total = math.inf
                    return
        for key in tree.held:
            self.leave(there, key)

    def enter(self, key: tuple[int, str], tile: Region) -> None:
        """Read a tile that is held now, an output where it has begun."""
        k, name = key
        if name != "Z" or any(within(one, tile) for one in self.begun[k]):
            self.total += self.counted.moved_pj(words(tile), reads=True)

    def leave(self, there: dict[tuple[int, str], Region], key: tuple[int, str]) -> None:
        """Write an output that is no longer held."""
        if key[1] == "Z" and key in there:
            self.total += self.counted.moved_pj(words(there[key]), reads=False)

    def part(
        self,
        k: int,
        now: dict[str, tuple[int, int]],
        held: set[tuple[int, str]],
        kept: frozenset[tuple[str, Region]],
    ) -> None:
        """Run a layer beside all that is kept on the chip."""
        shared = {*(["B"] if k > self.layers[0] else []), *(["Z"] if k < self.layers[-1] else [])}
        on_chip = frozenset(shared | {name for place, name in held if place == k})
        output = region(now, "Z")
        resumes = output in self.begun[k]
        self.begun[k].add(output)
        self.steps[k][resumes] += 1
        if k not in self.rooms:
            mine = set[tuple[object, ...]]().union(*(points(*named(k, name, region(now, name))) for name in on_chip))
            full = mine.union(*(points(*one) for one in kept))
            self.rooms[k] = tuple(now[d][1] for d in DIMENSIONS), self.counted.capacity - len(full), on_chip


def layers_of(tree: Tree) -> list[int]:
    return [k for child in tree.children for k in ([child] if isinstance(child, int) else layers_of(child))]


def region(ranges: dict[str, tuple[int, int]], name: str) -> Region:
    """Return the rows and columns of a data space."""
    return tuple(ranges[d] for d in SPACES[name])


def named(k: int, name: str, tile: Region) -> tuple[str, Region]:
    """Return a tile by the tensor that it is of: what one layer writes the next one reads."""
    return (f"W{k}" if name == "A" else f"T{k + (name == 'Z')}", tile)


def words(tile: Region) -> int:
    return math.prod(size for _, size in tile)


@cache
def points(tensor: str, tile: Region) -> frozenset[tuple[object, ...]]:
    return frozenset((tensor, *point) for point in itertools.product(*(range(s, s + n) for s, n in tile)))


def within(one: Region, other: Region) -> bool:
    return all(a <= b and b + m <= a + n for (b, m), (a, n) in zip(one, other, strict=True))


@in_shares(EXAMPLES, FIRST)
def test_the_search_finds_what_the_enumeration_finds(seeds: range) -> None:
    for seed in seeds:
        if seed:  # 0 takes as long as all others together, and ends with all layers apart as 32 does
            compare(seed)


def compare(seed: int) -> None:
    drawn = draw(seed)
    expected = Enumeration(drawn).chain_pj()
    found = ChainSearch(drawn.chain, (Fusion.at(drawn.target, "Buffer"),) * len(drawn.chain.problems)).run()
    if expected == math.inf:
        assert not found.ok, seed
        return
    assert found.ok, seed
    assert found.optimal, seed
    assert found.energy_pj == pytest.approx(expected, rel=1e-9), seed
    assert found.energy_pj <= found.apart_pj, seed
