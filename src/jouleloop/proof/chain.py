"""What a fused chain of products is and costs, from the file alone: groups, prefixes, held data, targets of parts.

The space is that of `docs/fusion.md`, derived here anew; nothing is taken from `jouleloop.fusion`. Energies are whole
multiples of `FusedChain.unit_pj`.
"""

import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

from jouleloop.proof.design import UNCONSTRAINED, Factors, divisors
from jouleloop.proof.stated import Architecture, Problem

Data = dict[str, Any]
#: How a loop of a prefix cuts the layers of a group: its factor, and by layer its dimension.
Loop = tuple[int, tuple[str, ...]]
#: How a loop cuts one layer: its factor, and the dimension.
Cut = tuple[int, str]


class Task(NamedTuple):
    """What one iteration of a layer computes, what the level keeps whole, and whether it goes on from partial sums."""

    layer: int
    sizes: Factors
    whole: frozenset[str]
    resumes: bool


class Run(NamedTuple):
    """A task, how often it runs, and what is on the chip already of what each run would move."""

    task: Task
    times: int
    spared: int


@dataclass(frozen=True)
class Part:
    """What one layer of a way does: its runs, words that it holds, and what moves these."""

    held: frozenset[str]
    held_words: int
    moved: int
    runs: tuple[Run, ...]
    least: int
    """Energy of operations and of what is moved at the outermost level: no mapping is below."""


class Way(NamedTuple):
    """A prefix and what each layer holds; ``room``: words of the level that nothing holds."""

    loops: tuple[Loop, ...]
    parts: tuple[Part, ...]
    room: int

    def room_of(self, part: Part) -> int:
        """Return the words of the level that a part may fill: what no other layer holds."""
        return self.room + part.held_words


class Layer:
    """One layer: its problem in plain numbers, and what its constraints say of the levels."""

    def __init__(self, data: Data) -> None:
        problem = Problem.of(data["problem"])
        self.name: str = data["name"]
        self.problem: Data = data["problem"]
        self.constraints: Data = data["constraints"]
        self.dims, self.bounds = problem.dimensions, tuple(problem.bounds)
        self.size = dict(zip(self.dims, self.bounds, strict=True))
        #: By data space, the dimensions that move it.
        self.moved = {space.name: {d for rank in space.ranks for d in rank} for space in problem.data_spaces}
        self.output = next(space.name for space in problem.data_spaces if space.read_write)

    def limits(self, level: str) -> Data:
        """Return the constraints of a level."""
        return self.constraints.get(level, UNCONSTRAINED)  # type: ignore[no-any-return]

    def words(self, name: str, sizes: Factors) -> int:
        """Return the words of a data space of some sizes."""
        return math.prod(size for d, size in zip(self.dims, sizes, strict=True) if d in self.moved[name])

    def cut(self, cuts: Sequence[Cut]) -> Factors:
        """Return the sizes of a part."""
        factors = {d: factor for factor, d in cuts}
        return tuple(size // factors.get(d, 1) for d, size in zip(self.dims, self.bounds, strict=True))

    def visits(self, name: str, cuts: Sequence[Cut]) -> int:
        """Return for how many runs of iterations a data space stays the same: inner loops that do not move it run."""
        moving = [place for place, (_, d) in enumerate(cuts) if d in self.moved[name]]
        return math.prod(factor for factor, _ in cuts[: moving[-1] + 1]) if moving else 1


class FusedChain:
    """A chain, its hardware, and every way to run it.

    Parameters
    ----------
    data
        The file as read from JSON, of the form that `jouleloop.proof.stated` describes.
    """

    def __init__(self, data: Data) -> None:
        self.data, hardware = data, Architecture.of(data["architecture"])
        self.layers = [Layer(one) for one in data["layers"]]
        self.links = [(link["output"], link["input"]) for link in data["links"]]
        self.pairs = [dict(map(tuple, link["axes"])) for link in data["links"]]
        levels = hardware.levels
        self.names = [level.name for level in levels]
        self.place = self.names.index(data["level"])
        self.outermost, self.level = levels[0], levels[self.place]
        self.capacity = self.level.capacity_words or 0
        stated = [levels[0].read_pj, levels[0].write_pj, self.level.write_pj, hardware.compute_pj]
        self.unit_pj = Fraction(1, math.lcm(*(energy.denominator for energy in stated)))
        self._read, self._write, self._fill, self._operation = (int(energy / self.unit_pj) for energy in stated)

    # What words at the outermost level and at that of fusion cost.

    def read(self, words: int) -> int:
        """Energy of words read at the outermost level."""
        return -(-words // self.outermost.block_words) * self._read

    def written(self, words: int) -> int:
        """Energy of finished words written at the outermost level."""
        return -(-words // self.outermost.block_words) * self._write

    def read_in(self, words: int) -> int:
        """Energy of words read at the outermost level and filled into the level of fusion."""
        return self.read(words) + -(-words // self.level.block_words) * self._fill

    # What ways there are.

    def groups(self) -> Iterator[range]:
        """Yield every run of layers."""
        count = range(len(self.layers))
        yield from (range(first, last + 1) for first in count for last in count[first:])

    def shared(self, group: range) -> list[frozenset[str]]:
        """Return, by layer of a group, what it shares with another one."""
        read = [frozenset[str](), *(frozenset((self.links[k][1],)) for k in group[:-1])]
        write = [*(frozenset((self.links[k][0],)) for k in group[:-1]), frozenset[str]()]
        return [a | b for a, b in zip(read, write, strict=True)]

    def axes(self, group: range) -> list[tuple[str, ...]]:
        """Return the axes that go through all layers of a group: the dimension of each."""
        found: list[tuple[str, ...]] = list(self.pairs[group[0]].items()) if len(group) > 1 else []
        for k in group[1:-1]:
            found = [(*run, self.pairs[k][run[-1]]) for run in found if run[-1] in self.pairs[k]]
        return found

    def prefixes(self, group: range) -> Iterator[tuple[Loop, ...]]:
        """Yield all lists of loops, outermost first: factors that divide the axes, in all orders."""
        choices = []
        for axis in self.axes(group):
            sizes = divisors(self.layers[group[-1]].size[axis[-1]])
            choices.append([None, *((n, axis) for n in sizes[1:])])
        for chosen in itertools.product(*choices):
            yield from itertools.permutations(loop for loop in chosen if loop is not None)

    def ways(self, group: range, prefixes: Iterable[tuple[Loop, ...]] | None = None) -> Iterator[Way]:
        """Yield every way to run a group, by some prefixes or all, whose shared and held data fit the level."""
        shared = self.shared(group)
        if any(names & self._bypassed(k) for names, k in zip(shared, group, strict=True)):
            return
        for loops in self.prefixes(group) if prefixes is None else prefixes:
            cut = [[(factor, dims[place]) for factor, dims in loops] for place in range(len(group))]
            # Shared data of other layers have ended or not begun.
            taken = max(
                sum(self.layers[k].words(name, self.layers[k].cut(own)) for name in names)
                for k, own, names in zip(group, cut, shared, strict=True)
            )
            if taken > self.capacity:
                continue
            options = (list(self.options(k, own, names)) for k, own, names in zip(group, cut, shared, strict=True))
            for parts in itertools.product(*options):
                room = self.capacity - sum(part.held_words for part in parts)
                if room >= taken:
                    yield Way(loops, parts, room)

    def way(self, group: range, loops: tuple[Loop, ...], held: tuple[frozenset[str], ...]) -> Way | None:
        """Return the way of a prefix and what each layer holds, None where it is none."""
        if loops not in self.prefixes(group):
            return None
        return next((way for way in self.ways(group, [loops]) if tuple(part.held for part in way.parts) == held), None)

    def _bypassed(self, k: int) -> set[str]:
        return {*self.layers[k].limits(self.level.name)["bypass"]}

    def options(self, k: int, cuts: Sequence[Cut], shared: frozenset[str]) -> Iterator[Part]:
        """Yield what a layer does for every set of data spaces that it may hold."""
        layer, iterations = self.layers[k], math.prod(factor for factor, _ in cuts)
        able = sorted(layer.moved.keys() - shared - self._bypassed(k))
        able = [name for name in able if layer.visits(name, cuts) < iterations]
        for count in range(len(able) + 1):
            for names in map(frozenset, itertools.combinations(able, count)):
                part = self.part(k, cuts, shared, names)
                if not any(self._contradicts(run.task) for run in part.runs):
                    yield part

    def part(self, k: int, cuts: Sequence[Cut], shared: frozenset[str], held: frozenset[str]) -> Part:
        """Return what a layer does that shares and holds some data spaces."""
        layer, iterations = self.layers[k], math.prod(factor for factor, _ in cuts)
        sizes, whole = layer.cut(cuts), shared | held
        fresh = math.prod(factor for factor, d in cuts if d in layer.moved[layer.output])
        spared = back = moved = 0
        least = iterations * self._operation * math.prod(sizes)
        for name in layer.moved:
            words, written = layer.words(name, sizes), name == layer.output
            visits = layer.visits(name, cuts) if name in held else iterations
            once, again = (self.written(words) if written else self.read_in(words)), self.read_in(words)
            if name in whole:
                spared += once
                back = again if written else back
            if name in held:
                moved += visits * once + (visits - fresh) * again * written
            elif name not in shared:
                least += visits * (self.written(words) if written else self.read(words))
                least += (visits - fresh) * self.read(words) * written
        runs = [Run(Task(k, sizes, whole, False), fresh, spared)]
        if iterations > fresh:
            runs.append(Run(Task(k, sizes, whole, True), iterations - fresh, spared + back))
        return Part(held, sum(layer.words(name, sizes) for name in held), moved, tuple(runs), least + moved)

    # What a part is mapped onto.

    def _kept(self, task: Task) -> list[str]:
        """Return the dimensions that no level outside that of fusion may loop over."""
        layer = self.layers[task.layer]
        moving = set().union(*(layer.moved[name] for name in task.whole))
        return [d for d, size in zip(layer.dims, task.sizes, strict=True) if d in moving and size > 1]

    def _contradicts(self, task: Task) -> bool:
        """Return whether constraints ask for a loop outside over what is whole, or for keeping it there."""
        layer, kept = self.layers[task.layer], self._kept(task)
        for place, name in enumerate(self.names[: self.place]):
            limits = layer.limits(name)
            for one in (limits["temporal"], limits["spatial"]):
                if any(one["factors"].get(d, 1) != 1 or one["min_factors"].get(d, 1) > 1 for d in kept):
                    return True
            if place and task.whole & {*limits["keep"]}:
                return True
        return False

    def about(self, task: Task, capacity: int) -> Data:
        """Return what a certificate of a task is about, of which the level has so many words left."""
        layer, kept = self.layers[task.layer], self._kept(task)
        constraints = dict(layer.constraints)
        for place, name in enumerate(self.names[: self.place + 1]):
            given = dict(layer.limits(name))
            if place == self.place:
                given["keep"] = sorted({*given["keep"]} | task.whole)
            else:
                once = dict.fromkeys(kept, 1)
                for key in ("temporal", "spatial"):
                    given[key] = given[key] | {"factors": once | given[key]["factors"]}
                if place:
                    given["bypass"] = sorted({*given["bypass"]} | task.whole)
            constraints[name] = given
        levels = list(self.data["architecture"]["levels"])
        levels[self.place] = levels[self.place] | {"capacity_words": capacity}
        return {
            "objective": "energy",
            "semantics": self.data["semantics"],
            "first_fills_elided": self.data["first_fills_elided"],
            "resumes": task.resumes,
            "problem": layer.problem | {"bounds": list(task.sizes)},
            "architecture": self.data["architecture"] | {"levels": levels},
            "constraints": constraints,
        }
