"""Fused chains against an enumeration: every prefix, every set of held tensors, every mapping of every part.

Outer loops are executed here step by step: what is on the chip is a set of tiles by name, and words are counted as they
move. Nothing of `jouleloop.fusion` but its chain is used.
"""

import itertools
import math
import os
import random
from collections.abc import Iterator
from typing import NamedTuple

import pytest

from jouleloop.arch.architecture import Architecture, ComputeLevel, StorageLevel
from jouleloop.division import divisors
from jouleloop.energy.costs import EnergyCosts, LevelEnergy
from jouleloop.engines.protocol import Target
from jouleloop.errors import MappingError
from jouleloop.fusion.chain import Chain, chain_of
from jouleloop.fusion.hardware import Fusion
from jouleloop.fusion.search import ChainSearch
from jouleloop.mapping.mapping import LevelMapping, Mapping
from jouleloop.mapping.reuse import Reuse
from jouleloop.mapspace.constraints import Constraints, LevelConstraints, LoopConstraint
from jouleloop.model.evaluate import evaluate_mapping
from jouleloop.workload.problem import Problem
from jouleloop.workload.sizes import parse_layer

#: JOULELOOP_EXAMPLES=500 pytest tests/property/test_fused_chains.py draws as many.
EXAMPLES = int(os.environ.get("JOULELOOP_EXAMPLES", "40"))
#: As Timeloop's mapper orders loops of the innermost level, outermost first, where it does not fan out.
DIMENSIONS = ("K", "N", "M")
SPACES = {"A": "MK", "B": "KN", "Z": "MN"}


class Drawn(NamedTuple):
    chain: Chain
    target: Target


def draw(seed: int) -> Drawn:
    """Return two or three products of small sizes, and a DRAM, a buffer and a few units."""
    rng = random.Random(seed)
    sizes = [rng.choice((1, 2, 2, 3, 4)) for _ in range(rng.choice((3, 3, 4)))]
    tokens = rng.choice((2, 3, 4))
    layers = [parse_layer(f"matmul:M{m}xN{tokens}xK{k}") for k, m in itertools.pairwise(sizes)]
    block, units = rng.choice((1, 1, 2)), rng.choice((1, 2))
    levels = (
        StorageLevel("DRAM", "DRAM", "DRAM", None, 8, block_words=block),
        StorageLevel("Buffer", "Buffer", "SRAM", rng.randint(6, 40), 8),
    )
    energies = tuple(LevelEnergy(one.name, rng.randint(1, 60), rng.randint(1, 60), "drawn") for one in levels)
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
    outputs = Reuse(rmw_first_update=frozenset("Z")) if resumes else Reuse()
    semantics = "timeloop-4" if resumes else "timeloop-3.0.3"
    found = []
    for factors in splits(bounds, 3):
        outer, fan, inner = ([factor[place] for factor in factors] for place in range(3))
        if math.prod(fan) > target.arch.compute.instances:
            continue
        if any(f != fixed.get(d, f) <= b for d, f, b in zip(DIMENSIONS, inner, bounds, strict=True)):
            continue
        loops, inside = ([(d, n) for d, n in zip(DIMENSIONS, part, strict=True) if n > 1] for part in (outer, inner))
        orders = itertools.permutations(inside) if target.arch.compute.instances > 1 else [tuple(inside)]
        for order, own, keep in itertools.product(itertools.permutations(loops), orders, subsets("ABZ")):
            mapping = Mapping(
                (
                    LevelMapping("DRAM", order, (), frozenset("ABZ"), outputs),
                    LevelMapping(
                        "Buffer",
                        own,
                        tuple((d, n, "X") for d, n in zip(DIMENSIONS, fan, strict=True) if n > 1),
                        keep,
                        outputs,
                    ),
                )
            )
            try:
                counted = evaluate_mapping(problem, target.arch, target.costs, mapping, semantics)
            except MappingError:
                continue
            dram, buffer = counted.levels
            moving = {d for d, _ in loops}
            found.append(
                Cost(
                    counted.energy_pj,
                    sum(one.tile_words for one in buffer.data.values()),
                    {name: one.energy_pj for name, one in dram.data.items()},
                    {name: one.fills * target.costs.levels[1].write_pj for name, one in buffer.data.items()},
                    frozenset(name for name in keep if not moving & set(SPACES[name])),
                )
            )
    return found


def subsets(names: str) -> list[frozenset[str]]:
    return [frozenset(c) for n in range(len(names) + 1) for c in itertools.combinations(names, n)]


class Enumeration:
    """All ways to run a chain."""

    def __init__(self, drawn: Drawn) -> None:
        self.chain, self.target = drawn
        self.capacity = drawn.target.arch.levels[1].capacity_words or 0
        self.known: dict[object, list[Cost]] = {}

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

    def moved_pj(self, words: int, *, reads: bool) -> float:
        """Return the energy of a tile that goes in or out at once."""
        dram, buffer = self.target.costs.levels
        vectors = -(-words // self.target.arch.levels[0].block_words)
        return vectors * dram.read_pj + words * buffer.write_pj if reads else vectors * dram.write_pj

    def group_pj(self, first: int, last: int) -> float:
        """Return the least energy of layers that run as one group."""
        problems = self.chain.problems[first : last + 1]
        axes = [("N",) * len(problems)] + ([("M", "K")] if len(problems) == 2 else [])
        least = math.inf
        for factors in itertools.product(*(divisors(problems[0].bound[axis[0]]) for axis in axes)):
            for order in itertools.permutations(zip(factors, axes, strict=True)):
                for held in itertools.product(*(subsets("ABZ") for _ in problems)):
                    least = min(least, self.way_pj(problems, list(order), held))
        return least

    def way_pj(
        self, problems: tuple[Problem, ...], order: list[tuple[int, tuple[str, ...]]], held: tuple[frozenset[str], ...]
    ) -> float:
        """Execute the outer loops and add up what moves; infinite where it does not fit."""
        parts = []
        for place, problem in enumerate(problems):
            cut = {axis[place]: factor for factor, axis in order}
            parts.append({d: problem.bound[d] // cut.get(d, 1) for d in DIMENSIONS})
        last = len(parts) - 1
        shared = [frozenset("B"[: place > 0] + "Z"[: place < last]) for place in range(len(parts))]
        if any(own & names for own, names in zip(shared, held, strict=True)):
            return math.inf
        words = [{name: math.prod(part[d] for d in dims) for name, dims in SPACES.items()} for part in parts]
        kept = [sum(words[place][name] for name in names) for place, names in enumerate(held)]
        total, resident = 0.0, dict[tuple[int, str], tuple[int, ...]]()
        begun: set[tuple[int, tuple[int, ...]]] = set()
        for step in itertools.product(*(range(factor) for factor, _ in order)):
            for place, part in enumerate(parts):
                index = {axis[place]: value for value, (_, axis) in zip(step, order, strict=True)}
                tile = {name: tuple(index.get(d, 0) for d in dims) for name, dims in SPACES.items()}
                resumes = (place, tile["Z"]) in begun
                for name in held[place]:
                    if resident.get((place, name)) == tile[name]:
                        continue
                    if name == "Z" and (place, name) in resident:
                        total += self.moved_pj(words[place][name], reads=False)
                    if name != "Z" or resumes:
                        total += self.moved_pj(words[place][name], reads=True)
                    resident[place, name] = tile[name]
                begun.add((place, tile["Z"]))
                room = self.capacity - sum(kept) + kept[place]
                total += self.part_pj(part, room, shared[place] | held[place], resumes=resumes)
                if total == math.inf:
                    return total
        return total + sum(self.moved_pj(words[place]["Z"], reads=False) for place, name in resident if name == "Z")

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


@pytest.mark.parametrize("seed", range(EXAMPLES))
def test_the_search_finds_what_the_enumeration_finds(seed: int) -> None:
    drawn = draw(seed)
    expected = Enumeration(drawn).chain_pj()
    found = ChainSearch(drawn.chain, (Fusion.at(drawn.target, "Buffer"),) * len(drawn.chain.problems)).run()
    if expected == math.inf:
        assert not found.ok
        return
    assert found.ok
    assert found.optimal
    assert found.energy_pj == pytest.approx(expected, rel=1e-9)
    assert found.energy_pj <= found.apart_pj
