"""Fused convolutions against an enumeration: every prefix, who computes overlaps, what is held, every mapping.

Outer loops are executed step by step. What a layer computes is a set of positions, read through the window of the next
one. Nothing of `jouleloop.fusion` but its chain is used.
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
from jouleloop.mapspace.constraints import Constraints
from jouleloop.model.evaluate import evaluate_mapping
from jouleloop.workload.problem import Problem
from jouleloop.workload.sizes import parse_layer
from shares import slow_after

#: JOULELOOP_EXAMPLES=500 pytest tests/property/test_fused_windows.py draws as many.
EXAMPLES = int(os.environ.get("JOULELOOP_EXAMPLES", "16"))
WINDOWS = {"P": "R", "Q": "S"}
SPACES = ("Weights", "Inputs", "Outputs")


class Drawn(NamedTuple):
    """Sizes by layer, P and Q of each the values that it writes; and the hardware."""

    sizes: list[dict[str, int]]
    strides: list[int]
    target: Target

    @property
    def chain(self) -> Chain:
        return chain_of("drawn", [parse_layer(text(*one)) for one in zip(self.sizes, self.strides, strict=True)])


def text(sizes: dict[str, int], stride: int) -> str:
    return "conv:" + "x".join(f"{d}{n}" for d, n in sizes.items()) + (f"/stride{stride}" if stride > 1 else "")


def draw(seed: int) -> Drawn:
    """Return two or three convolutions with windows along one rank, or along two with one channel."""
    rng = random.Random(seed)
    flat = rng.random() < 0.4
    count = 2 if flat else rng.choice((2, 2, 3))
    channels = [1 if flat else rng.choice((1, 1, 2, 3)) for _ in range(count + 1)]
    sizes: list[dict[str, int]] = []
    strides: list[int] = []
    extent = {"P": rng.choice((2, 4) if not flat else (2, 3)), "Q": rng.choice((2, 3)) if flat else 1}
    for place in reversed(range(count)):
        stride = rng.choice((1, 1, 1, 2)) if place else 1
        window = {d: rng.choice((1, 2, 3) if not flat else (1, 2)) if d == "P" or flat else 1 for d in "PQ"}
        sizes.insert(0, {"C": channels[place], "M": channels[place + 1], **extent, "R": window["P"], "S": window["Q"]})
        strides.insert(0, stride)
        read = {d: stride * (extent[d] - 1) + window[d] for d in "PQ"}
        extent = {d: max(1, n - rng.randint(0, min(2, window[d] - 1))) if n > 1 else 1 for d, n in read.items()}
    levels = (
        StorageLevel("DRAM", "DRAM", "DRAM", None, 8, block_words=rng.choice((1, 1, 2))),
        StorageLevel("Buffer", "Buffer", "SRAM", rng.randint(6, 36), 8),
    )
    energies = tuple(LevelEnergy(one.name, rng.randint(1, 60), rng.randint(1, 60), "drawn") for one in levels)
    arch = Architecture("drawn", levels, ComputeLevel("mac", "mac", "intmac", 8, 1))
    costs = EnergyCosts("drawn", energies, rng.choice((0.5, 9.0)), "drawn")
    return Drawn(sizes, strides, Target(arch, costs, Constraints("none")))


class Cost(NamedTuple):
    """One mapping of a part."""

    energy_pj: float
    filled_words: int
    moved_pj: dict[str, float]
    whole: frozenset[str]


def mappings(problem: Problem, target: Target, resumes: bool) -> list[Cost]:
    """Return what every mapping of a part costs."""
    outputs = Reuse(rmw_first_update=frozenset(["Outputs"])) if resumes else Reuse()
    semantics = "timeloop-4" if resumes else "timeloop-3.0.3"
    moving = {d: n for d, n in problem.bound.items() if n > 1}
    found = []
    for factors in itertools.product(*map(divisors, moving.values())):
        outer = [(d, n) for d, n in zip(moving, factors, strict=True) if n > 1]
        inner = tuple((d, n // f) for (d, n), f in zip(moving.items(), factors, strict=True) if n > f)
        for order, keep in itertools.product(itertools.permutations(outer), subsets(SPACES)):
            levels = (
                LevelMapping("DRAM", order, (), frozenset(SPACES), outputs),
                LevelMapping("Buffer", inner, (), keep, outputs),
            )
            try:
                counted = evaluate_mapping(problem, target.arch, target.costs, Mapping(levels), semantics)
            except MappingError:
                continue
            dram, buffer = counted.levels
            fills = {name: one.fills * target.costs.levels[1].write_pj for name, one in buffer.data.items()}
            cut = {d for d, _ in outer}
            found.append(
                Cost(
                    counted.energy_pj,
                    sum(one.tile_words for one in buffer.data.values()),
                    {name: dram.data[name].energy_pj + pj for name, pj in fills.items()},
                    frozenset(s.name for s in problem.data_spaces if s.name in keep and not cut & s.dimensions),
                )
            )
    return found


def subsets(names: tuple[str, ...]) -> list[frozenset[str]]:
    return [frozenset(c) for n in range(len(names) + 1) for c in itertools.combinations(names, n)]


class Axis(NamedTuple):
    """A loop: by layer and iteration, the positions that it computes; by link and iteration, those that are read."""

    dimension: str
    computed: list[list[set[int]]]
    read: list[list[set[int]]]

    def overlap(self, link: int) -> int:
        """Return how many positions are there before an iteration that reads them."""
        done: set[int] = set()
        most = 0
        for made, read in zip(self.computed[link], self.read[link], strict=True):
            most = max(most, len((read & done) - made))
            done |= made
        return most

    def tile(self, link: int) -> int:
        return max(len(a | b) for a, b in zip(self.computed[link], self.read[link], strict=True))


def axis_of(drawn: Drawn, first: int, last: int, dimension: str, factor: int, *, again: bool) -> Axis:
    """Return what a loop over rows or columns makes layers first to last compute."""
    size = drawn.sizes[last][dimension]
    tile = size // factor
    computed = [[set(range(n * tile, (n + 1) * tile)) for n in range(factor)]]
    reads: list[list[set[int]]] = []
    for place in range(last, first, -1):
        stride, window = drawn.strides[place], drawn.sizes[place][WINDOWS[dimension]]
        there = drawn.sizes[place - 1][dimension]
        padding = max(0, stride * (drawn.sizes[place][dimension] - 1) + window - there)
        done: set[int] = set()
        made, read = [], []
        for number, positions in enumerate(computed[0]):
            touched = {stride * p + r - (padding + 1) // 2 for p in positions for r in range(window)}
            hull = set(range(min(touched), max(touched) + 1)) & set(range(there)) if touched else set()
            upto = there if number == factor - 1 else max(hull, default=-1) + 1
            made.append((set(range(upto)) - done) | (hull if again else set()))
            read.append(hull)
            done |= made[-1]
        computed.insert(0, made)
        reads.insert(0, read)
    return Axis(dimension, computed, reads)


class Way(NamedTuple):
    """A prefix as it is executed: loops outermost first, channels as the factor that cuts them."""

    first: int
    last: int
    loops: tuple[Axis | int, ...]

    @property
    def steps(self) -> Iterator[tuple[int, ...]]:
        counts = (loop if isinstance(loop, int) else len(loop.computed[0]) for loop in self.loops)
        return itertools.product(*map(range, counts))


class Enumeration:
    """All ways to run a chain."""

    def __init__(self, drawn: Drawn, *, recompute: bool) -> None:
        self.drawn, self.recompute = drawn, recompute
        self.capacity = drawn.target.arch.levels[1].capacity_words or 0
        self.known: dict[object, list[Cost]] = {}

    def part_pj(
        self, sizes: dict[str, int], stride: int, room: int, on_chip: frozenset[str], *, resumes: bool
    ) -> float:
        """Return the least energy of a part without what is on the chip already."""
        key = (text(sizes, stride), resumes)
        if key not in self.known:
            self.known[key] = mappings(parse_layer(key[0]).problem(), self.drawn.target, resumes)
        return min(
            (
                one.energy_pj - sum(one.moved_pj[name] for name in on_chip)
                for one in self.known[key]
                if one.filled_words <= room and on_chip <= one.whole
            ),
            default=math.inf,
        )

    def moved_pj(self, words: int, *, reads: bool) -> float:
        """Return the energy of a tile that goes in or out at once."""
        dram, buffer = self.drawn.target.costs.levels
        vectors = -(-words // self.drawn.target.arch.levels[0].block_words)
        return vectors * dram.read_pj + words * buffer.write_pj if reads else vectors * dram.write_pj

    def ways(self, first: int, last: int) -> Iterator[Way]:
        """Yield every prefix."""
        choices: list[list[Axis | int | None]] = []
        for dimension in WINDOWS:
            loops: list[Axis | int | None] = [None]
            for factor in divisors(self.drawn.sizes[last][dimension])[1:]:
                kept = axis_of(self.drawn, first, last, dimension, factor, again=False)
                loops.append(kept)
                if self.recompute and any(kept.overlap(link) for link in range(last - first)):
                    loops.append(axis_of(self.drawn, first, last, dimension, factor, again=True))
            choices.append(loops)
        channels = self.drawn.sizes[last]["C"] if last == first + 1 else 1
        choices.append([None, *divisors(channels)[1:]])
        for chosen in itertools.product(*choices):
            for order in itertools.permutations(loop for loop in chosen if loop is not None):
                yield Way(first, last, order)

    def strips(self, way: Way, link: int) -> list[int]:
        """Return by loop the words of a shared tensor that wait."""
        sizes = self.drawn.sizes[way.first + link]
        tiles = {d: sizes[d] for d in "MPQ"}
        tiles |= {loop.dimension: loop.tile(link) for loop in way.loops if not isinstance(loop, int)}
        tiles["M"] //= math.prod(loop for loop in way.loops if isinstance(loop, int))
        found = []
        for place, loop in enumerate(way.loops):
            if isinstance(loop, int):
                found.append(0)
                continue
            inside = ["M" if isinstance(one, int) else one.dimension for one in way.loops[place + 1 :]]
            extents = tiles | {d: sizes[d] for d in inside} | {loop.dimension: loop.overlap(link)}
            found.append(math.prod(extents.values()))
        return found

    def cut(self, way: Way, step: tuple[int, ...], place: int) -> dict[str, int]:
        """Return the sizes of a layer in one step."""
        sizes = dict(self.drawn.sizes[way.first + place])
        for value, loop in zip(step, way.loops, strict=True):
            if isinstance(loop, int):
                own = "C" if way.first + place == way.last else "M"
                sizes[own] //= loop
            else:
                sizes[loop.dimension] = len(loop.computed[place][value])
        return sizes

    def words(self, sizes: dict[str, int], stride: int) -> dict[str, int]:
        read = [stride * (sizes[d] - 1) + sizes[window] for d, window in WINDOWS.items()]
        return {
            "Weights": sizes["C"] * sizes["M"] * sizes["R"] * sizes["S"],
            "Inputs": sizes["C"] * math.prod(read),
            "Outputs": sizes["M"] * sizes["P"] * sizes["Q"],
        }

    def way_pj(self, way: Way, held: tuple[frozenset[str], ...]) -> float:
        """Execute the outer loops and add up what moves; infinite where it does not fit."""
        count = way.last - way.first + 1
        shared = [
            frozenset((["Inputs"] if place else []) + (["Outputs"] if place < count - 1 else []))
            for place in range(count)
        ]
        if any(own & names for own, names in zip(shared, held, strict=True)):
            return math.inf
        strips = [self.strips(way, link) for link in range(count - 1)]
        kept = [0] * count
        for step in way.steps:
            for place in range(count):
                sizes = self.cut(way, step, place)
                if min(sizes.values()):
                    words = self.words(sizes, self.drawn.strides[way.first + place])
                    kept[place] = max(kept[place], sum(words[name] for name in held[place]))
        total, resident = 0.0, dict[tuple[int, str], tuple[int, ...]]()
        last_words, begun = 0, set[tuple[int, ...]]()
        for step in way.steps:
            for place in range(count):
                stride, sizes = self.drawn.strides[way.first + place], self.cut(way, step, place)
                if not min(sizes.values()):
                    continue
                words = self.words(sizes, stride)
                moves = self.moving(way, place)
                tile = {name: tuple(v for v, on in zip(step, moves[name], strict=True) if on) for name in SPACES}
                resumes = place == count - 1 and tile["Outputs"] in begun
                if resumes and any(sizes[d] > 1 and sizes[window] > 1 for d, window in WINDOWS.items()):
                    return math.inf
                for name in held[place]:
                    if resident.get((place, name)) == tile[name]:
                        continue
                    if name == "Outputs":
                        if (place, name) in resident:
                            total += self.moved_pj(last_words, reads=False)
                        last_words = words[name]
                    if name != "Outputs" or resumes:
                        total += self.moved_pj(words[name], reads=True)
                    resident[place, name] = tile[name]
                if place == count - 1:
                    begun.add(tile["Outputs"])
                waiting = sum(map(sum, strips))
                if place and strips[place - 1]:
                    waiting -= strips[place - 1][-1]
                room = self.capacity - sum(kept) + kept[place] - waiting
                total += self.part_pj(sizes, stride, room, shared[place] | held[place], resumes=resumes)
                if total == math.inf:
                    return total
        written = any(name == "Outputs" for _, name in resident)
        return total + (self.moved_pj(last_words, reads=False) if written else 0.0)

    def moving(self, way: Way, place: int) -> dict[str, list[bool]]:
        """Return by data space which loops move it."""
        own = "C" if way.first + place == way.last else "M"
        dims = [own if isinstance(loop, int) else loop.dimension for loop in way.loops]
        moves = {"Weights": "CMRS", "Inputs": "CPQ", "Outputs": "MPQ"}
        return {name: [d in moved for d in dims] for name, moved in moves.items()}

    def group_pj(self, first: int, last: int) -> float:
        """Return the least energy of layers that run as one group."""
        holdings = list(itertools.product(subsets(SPACES), repeat=last - first + 1))
        return min(self.way_pj(way, held) for way in self.ways(first, last) for held in holdings)

    def chain_pj(self) -> float:
        """Return the least energy over all cuts into groups."""
        best = [0.0]
        for end, (sizes, stride) in enumerate(zip(self.drawn.sizes, self.drawn.strides, strict=True)):
            alone = self.part_pj(sizes, stride, self.capacity, frozenset(), resumes=False)
            best.append(min([best[end] + alone, *(best[start] + self.group_pj(start, end) for start in range(end))]))
        return best[-1]


@pytest.mark.parametrize("seed", slow_after(EXAMPLES // 2, range(EXAMPLES)))
def test_the_search_finds_what_the_enumeration_finds(seed: int) -> None:
    drawn = draw(seed)
    recompute = bool(seed % 2)
    expected = Enumeration(drawn, recompute=recompute).chain_pj()
    fusions = (Fusion.at(drawn.target, "Buffer"),) * len(drawn.sizes)
    found = ChainSearch(drawn.chain, fusions, recompute=recompute).run()
    if expected == math.inf:
        assert not found.ok
        return
    assert found.ok
    assert found.optimal
    assert found.energy_pj == pytest.approx(expected, rel=1e-9)
    assert found.energy_pj <= found.apart_pj


@pytest.mark.parametrize("seed", range(4 * EXAMPLES))
def test_what_is_on_the_chip_fits_in_what_is_set_aside(seed: int) -> None:
    """Every position that is read later is there: in the tile of the layer that runs, or in a strip."""
    drawn = draw(seed)
    counted = Enumeration(drawn, recompute=False)
    last = len(drawn.sizes) - 1
    for way, link in itertools.product(counted.ways(0, last), range(last)):
        strips = counted.strips(way, link)
        steps = list(way.steps)
        made = [positions(way, step, link, "computed", drawn) for step in steps]
        read = [positions(way, step, link, "read", drawn) for step in steps]
        later: set[tuple[int, ...]] = set()
        for place in reversed(range(len(steps))):
            before = set[tuple[int, ...]]().union(*made[:place])
            # While the writer runs its tile is what it computes, while the reader runs, what it reads.
            assert len((before & (later | read[place])) - made[place]) <= sum(strips)
            beside = (before | made[place]) & later
            assert len(beside - read[place] - made[place]) <= sum(strips[:-1])
            later |= read[place]
        assert set[tuple[int, ...]]().union(*made) >= later


def positions(way: Way, step: tuple[int, ...], link: int, what: str, drawn: Drawn) -> set[tuple[int, ...]]:
    """Return channel, row and column of all that a step computes, or reads, of a shared tensor."""
    sizes = drawn.sizes[way.first + link]
    ranges: dict[str, set[int]] = {d: set(range(sizes[d])) for d in "MPQ"}
    for value, loop in zip(step, way.loops, strict=True):
        if isinstance(loop, int):
            tile = sizes["M"] // loop
            ranges["M"] = set(range(value * tile, (value + 1) * tile))
        else:
            ranges[loop.dimension] = getattr(loop, what)[link][value]
    return set(itertools.product(*ranges.values()))
