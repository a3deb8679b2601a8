"""How a group of layers is fused: which outer loops they share, and which tensors stay on the chip between iterations.

A *group* is a run of layers of a chain. Its *prefix* is a list of loops over axes that all its shared tensors have.
In each iteration every layer of the group runs once, on the part of it that the iteration leaves. Tensors that two of
them share live at the *level* of fusion and go no further out. Others may be *held* there while the loops that
do not move them run. Along windows tiles overlap: `jouleloop.fusion.tiles` says who computes what then.
docs/fusion.md states this with an example.
"""

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property

import numpy as np

from jouleloop.division import divisors
from jouleloop.fusion.chain import Axis, Chain, Link
from jouleloop.fusion.tiles import Cut, cuts_of
from jouleloop.optimum.words import values_of
from jouleloop.workload.problem import DataSpace, Problem


@dataclass(frozen=True)
class Loop:
    """A loop of a prefix: how often it runs, and by layer of the group the dimension that it cuts."""

    factor: int
    dimensions: tuple[str, ...]
    recomputes: bool = False
    """Whether overlaps are computed in each iteration that reads them; else they wait at the level."""


@dataclass(frozen=True)
class Group:
    """Layers ``first`` to ``last`` of a chain, both included: a whole group, or one inside an iteration of another."""

    chain: Chain
    first: int
    last: int
    outer: tuple["Outer", ...] = ()
    """By layer, what groups around this one do to it; none around a whole group."""

    @property
    def size(self) -> int:
        """Number of layers."""
        return self.last - self.first + 1

    @cached_property
    def problems(self) -> tuple[Problem, ...]:
        """The layers, as an iteration of the groups around this one has them."""
        return tuple(one[-1][0].problem for one in self.outer) or self.chain.problems[self.first : self.last + 1]

    @cached_property
    def shared(self) -> tuple[frozenset[str], ...]:
        """By layer, its data spaces that are on the chip: those of another layer, too, or held by groups around it."""
        return tuple(one[-1][0].shared | one[-1][1] for one in self.outer) or self.inner

    @cached_property
    def nests(self) -> bool:
        """Whether groups may lie inside: tiles do not overlap, and there are three layers, or two and a product."""
        plain = self.size > 1 and all(
            axis.step == axis.reach == 1 and not axis.before for run in self.links for axis in run.axes
        )
        plain = plain and not any(problem.slides for problem in self.problems)
        return plain and (self.size > 2 or any(map(self.is_product, range(self.size))))

    def is_product(self, place: int) -> bool:
        """Whether a layer is a product: no two of its dimensions move the same data spaces."""
        whole = self.chain.problems[self.first + place]
        moved = [[d in space.dimensions for space in whole.data_spaces] for d, size in whole.bound.items() if size > 1]
        return all(one not in moved[:k] for k, one in enumerate(moved))

    def around(self, place: int) -> "Outer":
        """Return what groups around this one do to a layer."""
        return self.outer[place] if self.outer else ()

    @property
    def links(self) -> tuple[Link, ...]:
        """The tensors between its layers."""
        return self.chain.links[self.first : self.last]

    @cached_property
    def inner(self) -> tuple[frozenset[str], ...]:
        """By layer, its data spaces that another layer of the group has, too."""
        links = self.links
        read = [frozenset[str](), *(frozenset((link.input,)) for link in links)]
        written = [*(frozenset((link.output,)) for link in links), frozenset[str]()]
        return tuple(a | b for a, b in zip(read, written, strict=True))

    @cached_property
    def axes(self) -> dict[tuple[str, ...], tuple[Axis, ...]]:
        """By the dimension that it cuts in each layer, what goes through all: its axis of each shared tensor."""
        found: dict[tuple[str, ...], tuple[Axis, ...]] = {(d,): () for d in self.problems[0].bound}
        for link in self.links:
            ahead = {axis.writer: axis for axis in link.axes}
            found = {
                (*dims, ahead[dims[-1]].reader): (*run, ahead[dims[-1]])
                for dims, run in found.items()
                if dims[-1] in ahead
            }
        return found

    def cuts(self, loop: Loop) -> tuple[Cut, ...]:
        """Return by layer how a loop cuts it."""
        sizes = tuple((d, problem.bound[d]) for d, problem in zip(loop.dimensions, self.problems, strict=True))
        return cuts_of(self.axes[loop.dimensions], sizes, loop.factor, recomputes=loop.recomputes)

    def prefixes(self, *, recompute: bool = False) -> Iterator[tuple[Loop, ...]]:
        """Yield every list of loops, outermost first: all factors that divide the axes, in all orders.

        Parameters
        ----------
        recompute
            Whether loops along which tiles overlap may compute overlaps again.
        """
        choices: list[list[Loop | None]] = []
        for axis in self.axes:
            loops = [Loop(n, axis) for n in divisors(self.problems[-1].bound[axis[-1]]) if n > 1]
            again = [replace(loop, recomputes=True) for loop in loops if any(cut.overlap for cut in self.cuts(loop))]
            choices.append([None, *loops, *(again if recompute else ())])
        for chosen in itertools.product(*choices):
            loops = [loop for loop in chosen if loop is not None]
            yield from self._orders(loops) if self.size == 1 else itertools.permutations(loops)

    def _orders(self, loops: list[Loop]) -> Iterable[tuple[Loop, ...]]:
        """Return orders of a layer's own loops: those that move one tensor first, then another one (lemma *orders*)."""
        spaces = [space for space in self.problems[0].data_spaces if space.name not in self.shared[0]]
        return dict.fromkeys(
            tuple(sorted(loops, key=lambda loop: [loop.dimensions[0] not in space.dimensions for space in order]))
            for order in itertools.permutations(spaces)
        )


@dataclass(frozen=True)
class Part:
    """What one layer of a group does under a prefix.

    Attributes
    ----------
    whole
        The layer.
    shared
        Its data spaces that stay on the chip.
    cuts
        How each loop of the prefix cuts it, outermost first.
    times, begun
        How often groups around run the prefix, and how often its outputs begin then.
    """

    whole: Problem
    shared: frozenset[str]
    cuts: tuple[Cut, ...]
    times: int = 1
    begun: int = 1

    def _sized(self, sizes: Mapping[str, int]) -> Problem:
        return replace(self.whole, bounds=tuple(sizes.get(d, bound) for d, bound in self.whole.bound.items()))

    @cached_property
    def problem(self) -> Problem:
        """What one iteration computes, or the most that one does."""
        return self._sized({cut.dimension: max(size for size, _ in cut.sizes) for cut in self.cuts})

    @cached_property
    def iterations(self) -> int:
        """How often it runs."""
        return self.times * math.prod(cut.iterations for cut in self.cuts)

    @cached_property
    def output(self) -> DataSpace:
        """What it writes."""
        return next(space for space in self.whole.data_spaces if space.read_write)

    @cached_property
    def fresh(self) -> int:
        """In how many iterations its outputs begin; in the others they go on from partial sums."""
        return sum(fresh for _, _, fresh in self.runs)

    @cached_property
    def runs(self) -> tuple[tuple[Problem, int, int], ...]:
        """What iterations compute, how many compute that, and in how many of these outputs begin."""
        found = []
        for sizes in itertools.product(*(cut.sizes for cut in self.cuts)):
            own = [(cut.dimension, size, count) for cut, (size, count) in zip(self.cuts, sizes, strict=True)]
            begun = math.prod(count for dimension, _, count in own if dimension in self.output.dimensions)
            problem = self._sized({dimension: size for dimension, size, _ in own})
            found.append((problem, self.times * math.prod(count for *_, count in own), self.begun * begun))
        return tuple(found)

    @cached_property
    def regular(self) -> bool:
        """Whether the loops are loops of a mapping of the layer: equal parts, each value once."""
        return all(
            len(cut.sizes) == 1 and cut.sizes[0][0] * cut.iterations == self.whole.bound[cut.dimension]
            for cut in self.cuts
        )

    def visits(self, space: DataSpace) -> list[tuple[int, int]]:
        """Return the runs of iterations in which a data space stays the same: how many, and its words in each.

        The loops that move it end a run, and so do those outside them.
        """
        moving = [place for place, cut in enumerate(self.cuts) if cut.dimension in space.dimensions]
        found = []
        cuts = self.cuts[: moving[-1] + 1] if moving else ()
        for sizes in itertools.product(*(cut.sizes for cut in cuts)):
            problem = self._sized({cut.dimension: size for cut, (size, _) in zip(cuts, sizes, strict=True)})
            found.append((self.times * math.prod(count for _, count in sizes), problem.tensor_words(space)))
        return found

    def moves(self, space: DataSpace, held: frozenset[str]) -> list[tuple[int, int]]:
        """Return how often a data space moves in or out, and its words each time, at least: seldom where it is held."""
        if space.name in held:
            return self.visits(space)
        words = _least_words if self.whole.leaves_gaps else Problem.tensor_words
        return [(times, words(problem, space)) for problem, times, _ in self.runs]

    def periods(self, space: DataSpace) -> int:
        """For how many runs of iterations a data space stays the same."""
        return sum(times for times, _ in self.visits(space))

    def words(self, name: str) -> int:
        """Words of a data space in one iteration, at most."""
        return self.problem.tensor_words(name)

    @cached_property
    def strips(self) -> tuple[int, ...]:
        """By loop, the words of the output that wait at the level to be read once more by its next iterations.

        They have the overlap along the loop, all that loops inside it run through, and of outer ranks a tile.
        """
        sizes = {cut.dimension: cut.tile for cut in self.cuts}
        found = []
        for cut in reversed(self.cuts):
            found.append(cut.overlap and self._sized(sizes | {cut.dimension: cut.overlap}).tensor_words(self.output))
            sizes[cut.dimension] = self.whole.bound[cut.dimension]
        return tuple(reversed(found))

    def holdable(self, kept: frozenset[str]) -> Iterator[frozenset[str]]:
        """Yield every set of data spaces that may be held at a level that can keep ``kept``, none first."""
        others = [
            space.name
            for space in self.whole.data_spaces
            if space.name in kept - self.shared and self.periods(space) < self.iterations
        ]
        for number in range(len(others) + 1):
            yield from map(frozenset, itertools.combinations(others, number))


@cache
def _least_words(problem: Problem, space: DataSpace) -> int:
    """Return the words of a data space without the gaps that a stride leaves, or fewer."""
    bounds = np.array(problem.bounds)
    ranks = problem.projection_array[problem.data_spaces.index(space)]
    return math.prod(int(values_of(rank, bounds, bounds)) for rank in ranks)


#: By group around a layer, outermost first: what it makes of the layer, and what the layer holds in it.
Outer = tuple[tuple[Part, frozenset[str]], ...]


def parts_of(group: Group, prefix: Sequence[Loop]) -> tuple[Part, ...]:
    """Return what every layer of a group does under a prefix."""
    cuts = [group.cuts(loop) for loop in prefix]
    times = [(one[-1][0].iterations, one[-1][0].fresh) for one in group.outer] or [(1, 1)] * group.size
    return tuple(
        Part(problem, shared, tuple(by_layer[place] for by_layer in cuts), *times[place])
        for place, (problem, shared) in enumerate(zip(group.problems, group.shared, strict=True))
    )


def waiting_words(parts: Sequence[Part]) -> list[int]:
    """Return, by layer that runs, the words of overlaps that wait at the level beside its own tiles.

    What waits for the next iteration of the innermost loop lies in the tile that the reader has.
    """
    total = sum(sum(part.strips) for part in parts)
    return [total, *(total - (part.strips[-1] if part.strips else 0) for part in parts[:-1])]
