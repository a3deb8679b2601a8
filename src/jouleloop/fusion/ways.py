"""Ways to run a group: a prefix and what each layer holds; and what no mappings of the parts of a way are below."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

from jouleloop.engines.protocol import Target
from jouleloop.fusion.chain import Chain
from jouleloop.fusion.hardware import Fusion
from jouleloop.fusion.plan import Group, Loop, Part
from jouleloop.optimum.result import SearchResult
from jouleloop.workload.problem import Problem

#: Sums of doubles may differ in their last bits by the order of their terms.
ROUNDING = 1e-12
#: What a layer may hold, how many words that is, and what the layer takes at least then [pJ].
Holding = tuple[frozenset[str], int, float]


@dataclass(frozen=True)
class Way:
    """One way to run a group: its parts, what each layer holds, and what no mappings of the parts are below."""

    prefix: tuple[Loop, ...]
    parts: tuple[Part, ...]
    held: tuple[frozenset[str], ...]
    waiting: tuple[int, ...]
    """By layer that runs, the words of overlaps that wait beside its tiles."""
    bounds_pj: tuple[float, ...]
    tight: bool
    """Whether the bounds know what parts take on the chip for which that of the layer does not hold."""

    @property
    def bound_pj(self) -> float:
        """Energy of the group at least."""
        return sum(self.bounds_pj)

    @property
    def held_words(self) -> list[int]:
        """By layer, the words that it holds."""
        return [sum(map(part.words, held)) for part, held in zip(self.parts, self.held, strict=True)]


@dataclass
class Bounds:
    """What layers take at least (docs/fusion.md, lemma *outside and inside*).

    Parameters
    ----------
    search
        Returns the optimum of a problem on a target.
    """

    chain: Chain
    fusions: tuple[Fusion, ...]
    search: Callable[[Problem, Target], SearchResult]
    _inside: dict[Problem, float] = field(default_factory=dict)

    def options(self, part: Part, able: frozenset[str], place: int) -> list[Holding]:
        """Return what a layer may hold, how many words that is, and what the layer takes at least then."""
        inside = self._inside_parts(part, place)
        return [
            (names, sum(map(part.words, names)), inside + self._outside(part, names, place))
            for names in part.holdable(able)
        ]

    def as_layer(self, part: Part, place: int) -> bool:
        """Return whether the bound of the layer holds: parts are equal, and constraints mean the same for them."""
        fusion = self.fusions[place]
        return part.regular and (fusion.depends_on_sizes() or not fusion.ignores(part.whole, part.problem))

    def _inside_parts(self, part: Part, place: int) -> float:
        """Return what a layer takes inside the outermost level at least, without searches of its parts."""
        fusion = self.fusions[place]
        operations = sum(times * fusion.target.costs.compute_pj * problem.macs for problem, times, _ in part.runs)
        if not self.as_layer(part, place):
            return operations
        total = self.inside_pj(place)
        for space in part.whole.data_spaces:
            if space.name in part.shared and not space.read_write:
                filled = sum(times * problem.tensor_words(space) for problem, times, _ in part.runs)
                total -= fusion.filled_pj(filled)
        return max(operations, total)

    def _inside_each(self, part: Part, held: frozenset[str], place: int) -> float:
        """Return the same by the bound of each part: inputs on the chip are filled when they change, or not at all."""
        fusion, total = self.fusions[place], 0.0
        spared = [s for s in part.whole.data_spaces if s.name in part.shared | held and not s.read_write]
        for problem, times, _ in part.runs:
            least = self._least_inside(problem, fusion) - sum(fusion.filled_pj(problem.tensor_words(s)) for s in spared)
            total += times * max(least, fusion.target.costs.compute_pj * problem.macs)
        changes = [change for space in spared if space.name in held for change in part.visits(space)]
        return total + sum(times * fusion.filled_pj(words) for times, words in changes)

    def _outside(self, part: Part, held: frozenset[str], place: int) -> float:
        """Return what a layer takes at the outermost level at least."""
        fusion, total = self.fusions[place], 0.0
        for space in part.whole.data_spaces:
            if space.name in part.shared:
                continue
            moved = part.visits(space)
            if space.name not in held:
                moved = [(times, problem.tensor_words(space)) for problem, times, _ in part.runs]
            for times, words in moved:
                total += times * (fusion.written_pj(words) if space.read_write else fusion.read_pj(words))
            if space.read_write:
                back = max(0, sum(times for times, _ in moved) - part.fresh)
                total += back * fusion.read_pj(part.words(space.name))
        return total

    def tightened(self, group: Group, way: Way) -> Way:
        """Return a way with bounds that know what parts take on the chip for which that of the layer does not hold."""
        bounds = list(way.bounds_pj)
        for place, (part, held) in enumerate(zip(way.parts, way.held, strict=True)):
            layer = group.first + place
            if not self.as_layer(part, layer):
                least = self._inside_each(part, held, layer) + self._outside(part, held, layer)
                bounds[place] = max(bounds[place], least)
        return replace(way, bounds_pj=tuple(bounds), tight=True)

    def inside_pj(self, place: int) -> float:
        """Energy [pJ] of a whole layer at least where the outermost level costs nothing."""
        problem, fusion = self.chain.problems[place], self.fusions[place]
        return 0.0 if fusion.depends_on_sizes() else self._least_inside(problem, fusion)

    def _least_inside(self, problem: Problem, fusion: Fusion) -> float:
        if problem not in self._inside:
            self._inside[problem] = self.search(problem, fusion.free_outside()).lower_bound
        return self._inside[problem]


def choices(options: list[list[Holding]], room: int, below_pj: float) -> Iterator[tuple[Holding, ...]]:
    """Yield one option a layer, in all ways that fit the room and take less than ``below_pj`` by their bounds."""
    if not options:
        if below_pj > 0.0:
            yield ()
        return
    ahead = sum(min(bound for *_, bound in later) for later in options[1:])
    for option in options[0]:
        if option[1] <= room and (option[2] + ahead) * (1 - ROUNDING) < below_pj:
            for others in choices(options[1:], room - option[1], below_pj - option[2] * (1 - ROUNDING)):
                yield (option, *others)
