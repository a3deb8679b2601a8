"""What a fused chain of products is, from the file alone: layers, prices of words, and what parts are mapped onto.

The space is that of `docs/fusion.md`, derived here anew; nothing is taken from `jouleloop.fusion`. Energies are whole
multiples of `FusedChain.unit_pj`.
"""

import math
from collections.abc import Iterable
from fractions import Fraction
from typing import Any, NamedTuple

from jouleloop.proof.design import UNCONSTRAINED, Factors
from jouleloop.proof.stated import Architecture, Problem

Data = dict[str, Any]
_LOOPS = ("temporal", "spatial")


class Task(NamedTuple):
    """What one iteration of a layer computes, what the level keeps whole, and whether it goes on from partial sums."""

    layer: int
    sizes: Factors
    whole: frozenset[str]
    resumes: bool


class Layer:
    """One layer: its problem in plain numbers, and what its constraints say of the levels."""

    def __init__(self, data: Data, levels: list[str], level: str) -> None:
        problem = Problem.of(data["problem"])
        self.name: str = data["name"]
        self.problem: Data = data["problem"]
        self.constraints: Data = data["constraints"]
        self.dims, self.bounds = problem.dimensions, tuple(problem.bounds)
        #: By data space, the dimensions that move it.
        self.moved = {space.name: {d for rank in space.ranks for d in rank} for space in problem.data_spaces}
        self.output = next(space.name for space in problem.data_spaces if space.read_write)
        #: What the level of fusion has to keep, and what it may not.
        self.keep, self.bypass = ({*self.limits(level)[key]} for key in ("keep", "bypass"))
        limits = [self.limits(name)[kind] for name in levels[1:] for kind in _LOOPS]
        #: Factors that are fixed inside the outermost level, by place of the dimension.
        self.fixed = [(self.dims.index(d), factor) for one in limits for d, factor in one["factors"].items()]

    def limits(self, level: str) -> Data:
        """Return the constraints of a level."""
        return self.constraints.get(level, UNCONSTRAINED)  # type: ignore[no-any-return]

    def words(self, sizes: Factors, names: Iterable[str]) -> int:
        """Return the words of some data spaces."""
        own = list(zip(self.dims, sizes, strict=True))
        return sum(math.prod(size for d, size in own if d in self.moved[name]) for name in names)

    def ignores(self, whole: Factors, part: Factors) -> bool:
        """Whether a fixed factor holds for some sizes, and is too large for a part of them."""
        return any(part[d] < factor <= whole[d] for d, factor in self.fixed)

    @property
    def product(self) -> bool:
        """Whether no two of its dimensions move the same data spaces."""
        open_dims = [d for d, size in zip(self.dims, self.bounds, strict=True) if size > 1]
        return len({tuple(d in one for one in self.moved.values()) for d in open_dims}) == len(open_dims)


class FusedChain:
    """A chain and its hardware.

    Parameters
    ----------
    data
        The file as read from JSON, of the form that `jouleloop.proof.stated` describes.
    """

    def __init__(self, data: Data) -> None:
        self.data, hardware = data, Architecture.of(data["architecture"])
        levels = hardware.levels
        self.names = [level.name for level in levels]
        self.place = self.names.index(data["level"])
        self.layers = [Layer(one, self.names, data["level"]) for one in data["layers"]]
        self.links = [(link["output"], link["input"]) for link in data["links"]]
        self.pairs = [dict(map(tuple, link["axes"])) for link in data["links"]]
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

    # What words at the outermost level and at that of fusion cost.

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

    # What a part is mapped onto.

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
