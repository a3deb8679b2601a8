"""Ways to run a group: a prefix and what each layer holds; and what no mappings of the parts of a way are below."""

import itertools
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from jouleloop.division import divisors
from jouleloop.engines.protocol import Target
from jouleloop.fusion.chain import Chain
from jouleloop.fusion.hardware import Fusion
from jouleloop.fusion.plan import Group, Loop, Part
from jouleloop.optimum.result import SearchResult
from jouleloop.workload.problem import Problem

#: Sums of doubles may differ in their last bits by the order of their terms.
ROUNDING = 1e-13


class Holding(NamedTuple):
    """What a layer may hold, how many words that is, and what the layer takes at least then [pJ]."""

    names: frozenset[str]
    words: int
    least_pj: float


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
    room: int
    """Words of the level that nothing holds."""
    nests: bool
    """Whether groups may lie inside: then the bounds hold whatever these are."""

    @property
    def bound_pj(self) -> float:
        """Energy of the group at least."""
        return sum(self.bounds_pj)

    def on_chip(self, place: int) -> frozenset[str]:
        """Return the data spaces of a layer that are on the chip when an iteration begins."""
        return self.parts[place].shared | self.held[place]


def held_moves(fusion: Fusion, part: Part, held: frozenset[str]) -> tuple[float, int]:
    """Return the energy [pJ], and words at the outermost level, of moving what a part holds in and out."""
    total, words = 0.0, 0
    for space in (space for space in part.whole.data_spaces if space.name in held):
        for times, moved in part.visits(space):
            total += times * (fusion.written_pj(moved) if space.read_write else fusion.read_in_pj(moved))
            words += times * moved
        if space.read_write:
            back, moved = part.periods(space) - part.fresh, part.words(space.name)
            total += back * fusion.read_in_pj(moved)
            words += back * moved
    return total, words


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
    _known: dict[object, float] = field(default_factory=dict)
    _cuts: dict[object, list[tuple[int, float, float]]] = field(default_factory=dict)

    def options(self, group: Group, k: int, part: Part, able: frozenset[str], *, nests: bool) -> list[Holding]:
        """Return what a layer of a group may hold, how many words that is, and what the layer takes at least then."""
        place, fusion = group.first + k, self.fusions[group.first + k]
        inside = self._inside_cut(part, place, alone=group.size < 3) if nests else self._inside_parts(part, place)
        around = sum(held_moves(fusion, *one)[0] for one in group.around(k))
        passing = (fusion.beside_level(part.whole) if nests else None) or fusion
        found = []
        for names in part.holdable(able):
            least = inside + around + self._outside(part, names, place, passing)
            kept = names | fusion.kept - part.shared if nests else ()
            for space in (s for s in part.whole.data_spaces if s.name in kept and not s.read_write):
                least += sum(times * fusion.filled_pj(words) for times, words in part.moves(space, names))
            found.append(Holding(names, sum(map(part.words, names)), least))
        return found

    def as_layer(self, part: Part, place: int) -> bool:
        """Return whether the bound of the layer holds: parts are equal, and constraints mean the same for them."""
        fusion, whole = self.fusions[place], self.chain.problems[place]
        return part.regular and (fusion.depends_on_sizes or not fusion.ignores(whole, part.problem))

    def _operations(self, part: Part, place: int) -> float:
        compute_pj = self.fusions[place].target.costs.compute_pj
        return sum(times * compute_pj * problem.macs for problem, times, _ in part.runs)

    def _inside_parts(self, part: Part, place: int) -> float:
        """Return what a layer takes inside the outermost level at least, without searches of its parts."""
        fusion, operations = self.fusions[place], self._operations(part, place)
        if not self.as_layer(part, place):
            return operations
        repeated = part.iterations // part.fresh
        total = repeated * self.inside_pj(place, part.problem)
        for space in (s for s in part.whole.data_spaces if s.name in part.shared and not s.read_write):
            filled = sum(times * problem.tensor_words(space) for problem, times, _ in part.runs)
            total -= repeated * fusion.filled_pj(filled // repeated)
        return max(operations, total)

    def _inside_cut(self, part: Part, place: int, *, alone: bool) -> float:
        """Return what a layer takes inside the level at least, into whatever its iterations are cut (lemma *cuts*).

        Where groups of one layer ``alone`` lie inside, these ignore no fixed factor.
        """
        fusion, whole, operations = self.fusions[place], self.chain.problems[place], self._operations(part, place)
        smallest = replace(whole, bounds=(1,) * len(whole.bounds))
        known = self.as_layer(part, place) and (alone or not fusion.ignores(part.problem, smallest))
        if fusion.depends_on_sizes or not known:
            return operations
        least, slices = math.inf, part.iterations // part.fresh
        for cuts, begun, resumed in self._summed(place, part):
            least = min(least, begun + (slices * cuts - 1) * resumed if slices * cuts > 1 else begun)
        return max(operations, least)

    def _summed(self, place: int, part: Part) -> list[tuple[int, float, float]]:
        """Return, by how the sums of a part may be cut, how often, and what the layer takes inside the level then.

        First where all its outputs begin, then where all go on.
        """
        fusion, whole = self.fusions[place], self.chain.problems[place]
        size = {d: n for d, n in part.problem.bound.items() if d not in part.output.dimensions}
        key = place, tuple(size.values())
        if key not in self._cuts:
            self._cuts[key] = found = []
            for summed in itertools.product(*map(divisors, size.values())):
                own = dict(zip(size, summed, strict=True))
                problem = replace(whole, bounds=tuple(own.get(d, bound) for d, bound in whole.bound.items()))
                if fusion.ignores(part.problem, problem) or self._least(problem, fusion.free_outside) == math.inf:
                    continue
                targets = [(fusion.free_to_level(problem, resumes=one), one) for one in (False, True)]
                begun, resumed = [self._least(problem, target, resumes=one) for target, one in targets]
                found.append((math.prod(size.values()) // math.prod(summed), begun, resumed))
        return self._cuts[key]

    def _inside_each(self, part: Part, held: frozenset[str], place: int) -> float:
        """Return the same by the bound of each part: inputs on the chip are filled when they change, or not at all."""
        fusion, total = self.fusions[place], 0.0
        spared = [s for s in part.whole.data_spaces if s.name in part.shared | held and not s.read_write]
        for problem, times, _ in part.runs:
            least = self._least(problem, fusion.free_outside)
            least -= sum(fusion.filled_pj(problem.tensor_words(s)) for s in spared)
            total += times * max(least, fusion.target.costs.compute_pj * problem.macs)
        changes = [change for space in spared if space.name in held for change in part.visits(space)]
        return total + sum(times * fusion.filled_pj(words) for times, words in changes)

    def _outside(self, part: Part, held: frozenset[str], place: int, passing: Fusion) -> float:
        """Return what a layer takes at the outermost level at least: ``passing`` prices what may pass the level."""
        total = 0.0
        for space in part.whole.data_spaces:
            if space.name in part.shared:
                continue
            fusion = self.fusions[place] if space.name in held | passing.kept else passing
            moved = part.moves(space, held)
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
                least = self._inside_each(part, held, layer)
                least += self._outside(part, held, layer, self.fusions[layer])
                least += sum(held_moves(self.fusions[layer], *one)[0] for one in group.around(place))
                bounds[place] = max(bounds[place], least)
        return replace(way, bounds_pj=tuple(bounds), tight=True)

    def inside_pj(self, place: int, part: Problem) -> float:
        """Energy [pJ] of a whole layer at least where the outermost level costs nothing, and sums are as in a part."""
        whole, fusion = self.chain.problems[place], self.fusions[place]
        output = next(space for space in whole.data_spaces if space.read_write)
        sizes = tuple(size if d in output.dimensions else part.bound[d] for d, size in whole.bound.items())
        if (place, sizes) not in self._known:
            least = 0.0 if fusion.depends_on_sizes else self._least(replace(whole, bounds=sizes), fusion.free_outside)
            self._known[place, sizes] = least
        return self._known[place, sizes]

    def _least(self, problem: Problem, target: Target, *, resumes: bool = False) -> float:
        """Return what no mapping is below, infinite where there is none."""
        if (problem, target) not in self._known:
            found = self.search(problem, target)
            self._known[problem, target] = math.inf if excludes(found, resumes=resumes) else found.lower_bound
        return self._known[problem, target]


def excludes(found: SearchResult, *, resumes: bool) -> bool:
    """Return whether a search without a mapping proves that there is none.

    Constraints that do not suit a part are ``invalid`` however its outputs begin; where they go on from partial sums,
    the search may be refused instead.
    """
    return not found.stopped and (found.status == "no_mapping" or (found.status == "invalid" and not resumes))


def choices(options: list[list[Holding]], room: int, below_pj: float) -> Iterator[tuple[Holding, ...]]:
    """Yield one option a layer, in all ways that fit the room and take less than ``below_pj`` by their bounds."""
    if not options:
        if below_pj > 0.0:
            yield ()
        return
    ahead = sum(min(one.least_pj for one in later) for later in options[1:])
    for option in options[0]:
        if option.words <= room and (option.least_pj + ahead) * (1 - ROUNDING) < below_pj:
            for others in choices(options[1:], room - option.words, below_pj - option.least_pj * (1 - ROUNDING)):
                yield (option, *others)


def least_list(least: Mapping[tuple[int, int], float], count: int) -> tuple[float, list[tuple[int, int]]]:
    """Return the least sum over lists of runs that cover so many layers, and that list: of ties, the shortest runs."""
    best: list[tuple[float, list[tuple[int, int]]]] = [(0.0, [])]
    for end in range(count):
        lists = [(best[start][0] + least[start, end], start) for start in range(end + 1) if (start, end) in least]
        value, start = min(lists, key=lambda one: (one[0], -one[1]))
        best.append((value, [*best[start][1], (start, end)]))
    return best[-1]


def alike(part: Part) -> Iterator[tuple[Problem, int, bool]]:
    """Yield what iterations of a layer compute, how many compute that alike, and whether they resume partial sums."""
    for problem, iterations, fresh in part.runs:
        if fresh:
            yield problem, fresh, False
        if iterations > fresh:
            yield problem, iterations - fresh, True
