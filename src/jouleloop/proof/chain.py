"""What a fused chain is, from the file alone: layers, prices of words [`FusedChain.unit_pj`], what parts run on."""

import math
from collections.abc import Iterable
from fractions import Fraction
from typing import Any, NamedTuple

from jouleloop.proof.boxes import values
from jouleloop.proof.design import UNCONSTRAINED, Design, Factors
from jouleloop.proof.stated import Architecture, Problem
from jouleloop.proof.unrolled import kept

Data = dict[str, Any]
_LOOPS = ("temporal", "spatial")


class Task(NamedTuple):
    """What one iteration of a layer computes, what the level keeps whole, and whether it goes on from partial sums."""

    layer: int
    sizes: Factors
    whole: frozenset[str]
    resumes: bool


class Axis(NamedTuple):
    """An axis of a shared tensor: value v of the reader reads so many values, ``reach``, from step v - before."""

    step: int
    reach: int
    before: int


class Layer:
    """One layer: its problem in plain numbers, and what its constraints say of the levels."""

    def __init__(self, data: Data, levels: list[str], level: str) -> None:
        problem = Problem.of(data["problem"])
        self.name: str = data["name"]
        self.problem: Data = data["problem"]
        self.constraints: Data = data["constraints"]
        self.dims, self.bounds = problem.dimensions, tuple(problem.bounds)
        #: By data space the dimensions that move it; by rank, too, each by its place and with its coefficient.
        self.moved = {space.name: {d for rank in space.ranks for d in rank} for space in problem.data_spaces}
        self.ranks = {
            space.name: [{self.dims.index(d): c for d, c in rank.items()} for rank in space.ranks]
            for space in problem.data_spaces
        }
        self.output = next(space.name for space in problem.data_spaces if space.read_write)
        #: What the level of fusion has to keep, and what it may not.
        self.keep, self.bypass = ({*self.limits(level)[key]} for key in ("keep", "bypass"))
        limits = [self.limits(name)[kind] for name in levels[1:] for kind in _LOOPS]
        #: Factors above 1 that are fixed inside the outermost level, by place of the dimension.
        self.fixed = [(self.dims.index(d), n) for one in limits for d, n in one["factors"].items() if n > 1]

    def limits(self, level: str) -> Data:
        """Return the constraints of a level."""
        return self.constraints.get(level, UNCONSTRAINED)  # type: ignore[no-any-return]

    def words(self, sizes: Factors, names: Iterable[str]) -> int:
        """Return the words of some data spaces."""
        return sum([self._words(sizes, name) for name in names])

    @kept
    def _words(self, sizes: Factors, name: str) -> int:
        return math.prod([1 + sum([c * (sizes[d] - 1) for d, c in rank.items()]) for rank in self.ranks[name]])

    @kept
    def least_words(self, sizes: Factors, name: str) -> int:
        """Return the words of a data space without the gaps that a stride may leave, or fewer."""
        return math.prod(values(rank, sizes, sizes) for rank in self.ranks[name])

    @kept
    def slides(self, sizes: Factors) -> bool:
        """Whether two dimensions move one rank."""
        return any(sum(sizes[d] > 1 for d in rank) > 1 for box in self.ranks.values() for rank in box)

    def sized(self, sizes: Factors, changes: dict[str, int]) -> Factors:
        """Return sizes of which some are changed."""
        return tuple([changes.get(d, size) for d, size in zip(self.dims, sizes, strict=True)])

    def axis(self, name: str, dim: str, written: int) -> Axis:
        """Return how a dimension cuts a data space that has so many values along its rank."""
        d = self.dims.index(dim)
        rank = next(rank for rank in self.ranks[name] if d in rank)
        whole = 1 + sum(c * (self.bounds[e] - 1) for e, c in rank.items())
        return Axis(rank[d], whole - rank[d] * (self.bounds[d] - 1), max(0, whole - written + 1) // 2)

    def ignores(self, whole: Factors, part: Factors) -> bool:
        """Whether a fixed factor holds for some sizes, and is too large for a part of them."""
        return any(part[d] < factor <= whole[d] for d, factor in self.fixed)

    @property
    def product(self) -> bool:
        """Whether no two of its dimensions move the same data spaces."""
        open_dims = [d for d, size in zip(self.dims, self.bounds, strict=True) if size > 1]
        return len({tuple(d in one for one in self.moved.values()) for d in open_dims}) == len(open_dims)


class FusedChain:
    """A chain and its hardware, from a file of the form that `jouleloop.proof.stated` describes."""

    def __init__(self, data: Data) -> None:
        self.data, hardware = data, Architecture.of(data["architecture"])
        levels = hardware.levels
        self.names = [level.name for level in levels]
        self.place = self.names.index(data["level"])
        self.layers = [Layer(one, self.names, data["level"]) for one in data["layers"]]
        self.links = [(link["output"], link["input"]) for link in data["links"]]
        self.pairs = [dict(map(tuple, link["axes"])) for link in data["links"]]
        #: By link and dimension that writes it, how it is read.
        self.axes = [
            {a: reader.axis(name, b, writer.bounds[writer.dims.index(a)]) for a, b in pairs.items()}
            for writer, reader, (_, name), pairs in zip(
                self.layers, self.layers[1:], self.links, self.pairs, strict=False
            )
        ]
        self.outermost, level = levels[0], levels[self.place]
        self.block, self.capacity = level.block_words, level.capacity_words or 0
        stated = [levels[0].read_pj, levels[0].write_pj, level.read_pj, level.write_pj, hardware.compute_pj]
        self.unit_pj = Fraction(1, math.lcm(*(energy.denominator for energy in stated)))
        self._read, self._write, read, self._fill, self.operation = (int(energy / self.unit_pj) for energy in stated)
        vectors = [-(-one.block_words // self.block) for one in levels[: self.place]]
        rates = [
            (one.read_pj - n * level.read_pj, one.write_pj - n * level.write_pj)
            for one, n in zip(levels, vectors, strict=False)
        ]
        #: Whether words further out cost as much as at the level, or more.
        self.dear = min(map(min, rates)) >= 0
        self._less = vectors[0] * read, vectors[0] * self._fill

    def read(self, words: int) -> int:
        """Energy of words read at the outermost level."""
        return -(-words // self.outermost.block_words) * self._read

    def written(self, words: int) -> int:
        """Energy of finished words written at the outermost level."""
        return -(-words // self.outermost.block_words) * self._write

    def filled(self, words: int) -> int:
        """Energy of words filled into the level of fusion."""
        return -(-words // self.block) * self._fill

    def spared(self, words: int, *, written: bool) -> int:
        """Energy of reading, or writing, words at the level, as many as pass it in vectors of the outermost one."""
        return -(-words // self.outermost.block_words) * self._less[written]

    def _kept(self, task: Task) -> list[str]:
        """Return the dimensions that no level outside that of fusion may loop over."""
        layer = self.layers[task.layer]
        moving = set().union(*(layer.moved[name] for name in task.whole))
        return [d for d, size in zip(layer.dims, task.sizes, strict=True) if d in moving and size > 1]

    def contradicts(self, task: Task) -> bool:
        """Return whether constraints ask for a loop outside over what is whole, or for keeping it there."""
        layer, kept = self.layers[task.layer], self._kept(task)
        for place, name in enumerate(self.names[: self.place]):
            limits = layer.limits(name)
            for one in (limits[kind] for kind in _LOOPS):
                if any(one["factors"].get(d, 1) != 1 or one["min_factors"].get(d, 1) > 1 for d in kept):
                    return True
            if place and task.whole & {*limits["keep"]}:
                return True
        return False

    @kept
    def _loose(self, k: int) -> tuple[set[int], bool]:
        """Return dimensions of a layer that count by words alone (*what counts*), and whether one choice is kept."""
        layer = self.layers[k]
        design = Design(self.about(Task(k, layer.bounds, frozenset(), False), self.capacity))
        open_dims = {d for d, size in enumerate(design.bounds) if size > 1}
        # They are never unrolled, may loop as they please, and leave no gaps in outputs.
        found = {d for d in open_dims if all((slot.fixed[d] or slot.most[d]) == 1 for slot in design.spatial if slot)}
        fixed = {d: [slot.fixed[d] for slot in design.temporal] for d in found}
        found = {d for d in found if {*fixed[d]} <= {None, 1} and None in fixed[d][: len(self.names) - self.place]}
        found = {d for d in found if all(rank.get(d, 1) == 1 for rank in layer.ranks[layer.output])}
        for _ in open_dims:
            # Nor do those that move a rank with them.
            found -= {d for own in design.ranks for rank in own if rank.keys() & open_dims - found for d in rank}
        return found if design.spatial[0] is None else set(), len(design.keeps) == 1

    def counted(self, task: Task) -> tuple[Any, ...]:
        """Return all of a task on which *every word once* depends, first what is whole (*what counts*)."""
        layer, (loose, settled) = self.layers[task.layer], self._loose(task.layer)
        sizes = (1 if d in loose else size for d, size in enumerate(task.sizes))
        words = ((layer.words(task.sizes, [name]), layer.least_words(task.sizes, name)) for name in layer.moved)
        more = (task.sizes[d] > 1 for d in loose)
        whole = frozenset[str]() if settled else task.whole
        return (whole, task.layer, task.resumes, *sizes, *words, math.prod(task.sizes), *more)

    def passes(self, layer: Layer) -> bool:
        """Whether the level may keep more than it has to, and words that pass it cost no less."""
        return self.dear and layer.keep | layer.bypass != layer.moved.keys()

    def about(self, task: Task, capacity: int) -> Data:
        """Return what a certificate of a task is about, of which the level has so many words left."""
        layer, once, found = self.layers[task.layer], dict.fromkeys(self._kept(task), 1), {}
        for place, name in enumerate(self.names[: self.place]):
            given = layer.limits(name)
            loops = {kind: given[kind] | {"factors": once | given[kind]["factors"]} for kind in _LOOPS}
            found[name] = given | loops | ({"bypass": sorted({*given["bypass"]} | task.whole)} if place else {})
        level = self.names[self.place]
        found[level] = layer.limits(level) | {"keep": sorted(layer.keep | task.whole)}
        return self._about(layer, task.sizes, found, {self.place: {"capacity_words": capacity}}, resumes=task.resumes)

    def inside(self, k: int, sizes: Factors) -> Data:
        """Return the same where fills of the level and the outermost level cost nothing (lemma *cuts*)."""
        layer, level = self.layers[k], self.names[self.place]
        update_pj = self.data["architecture"]["levels"][self.place]["write_pj"]
        free = {0: {"read_pj": 0.0, "write_pj": 0.0}, self.place: {"write_pj": 0.0, "update_pj": update_pj}}
        found = {self.names[0]: UNCONSTRAINED}
        if self.passes(layer):
            free[self.place]["capacity_words"] = None
            found[level] = layer.limits(level) | {"keep": sorted(layer.moved), "bypass": []}
        return self._about(layer, sizes, found, free)

    def _about(
        self, layer: Layer, sizes: Factors, limits: Data, changes: dict[int, Data], *, resumes: bool = False
    ) -> Data:
        levels = [one | changes.get(place, {}) for place, one in enumerate(self.data["architecture"]["levels"])]
        return {
            "objective": "energy",
            "semantics": self.data["semantics"],
            "first_fills_elided": self.data["first_fills_elided"],
            "resumes": resumes,
            "problem": layer.problem | {"bounds": list(sizes)},
            "architecture": self.data["architecture"] | {"levels": levels},
            "constraints": layer.constraints | limits,
        }
