"""The hardware of a fused chain: the level where shared tensors live, what words to it cost, and targets of parts."""

import math
from dataclasses import dataclass, replace
from functools import cached_property

from jouleloop.engines.protocol import Target
from jouleloop.errors import Fault, InputError, raise_all, unknown
from jouleloop.mapspace.constraints import LevelConstraints
from jouleloop.model.evaluation import Evaluation
from jouleloop.model.semantics import rules_of
from jouleloop.workload.problem import Problem

#: Rules under which partial sums may be read back in the first step of a part.
_RESUMING = "timeloop-4"


@dataclass(frozen=True)
class Fusion:
    """An architecture with the level at which chains are fused.

    Attributes
    ----------
    target
        Architecture, energies, constraints and rules for one shape of problem.
    place
        Index of the level, outermost first: levels outside it hold no shared tensor.
    """

    target: Target
    place: int

    @classmethod
    def at(cls, target: Target, level: str | None) -> "Fusion":
        """Return the fusion at a level, by default the outermost on the chip; raise `InputError` where none can be."""
        names = target.arch.level_names
        if len(names) < 2:
            raise InputError(Fault("no level on the chip can keep a shared tensor", "architecture", value=names[0]))
        if level is not None and level not in names[1:]:
            raise InputError(unknown(level, names[1:], "level on the chip", field="level"))
        found = cls(target, names.index(level) if level else 1)
        one = target.arch.levels[found.place]
        faults = [
            Fault(f"fusion is not counted where {what}", None, "level", one.name)
            for what, holds in (
                ("several instances keep parts of a tensor", one.instances > 1),
                ("a level has no capacity", one.effective_words is None),
                ("a level has to be filled", one.min_utilization > 0),
                ("networks take energy", bool(target.costs.wired(target.arch))),
                ("outer levels have several instances", target.arch.levels[0].instances > 1),
                ("every order of loops counts", target.constraints.space != "timeloop"),
                ("loops may end early", target.constraints.factors != "perfect"),
                ("first fills of outputs count", not rules_of(target.semantics).first_fills_elided),
            )
            if holds
        ]
        raise_all(faults)
        return found

    @property
    def level(self) -> str:
        """Name of the level."""
        return self.target.arch.level_names[self.place]

    @cached_property
    def capacity_words(self) -> int:
        """Words that tiles may fill there."""
        return self.target.arch.levels[self.place].effective_words or 0

    def keepable(self, problem: Problem) -> frozenset[str]:
        """Return the data spaces that constraints let the level keep."""
        bypassed = self.target.constraints.level(self.level).bypass
        return frozenset(space.name for space in problem.data_spaces) - bypassed

    def _prices(self, place: int) -> tuple[float, float, float]:
        later = rules_of(self.target.semantics).charges_updates
        read, fill, update = self.target.costs.levels[place].charged_pj(later=later)
        return read, fill, update

    def _vectors(self, place: int, words: int) -> int:
        return -(-words // self.target.arch.levels[place].block_words)

    def read_pj(self, words: int) -> float:
        """Energy [pJ] of words that are read at the outermost level."""
        return self._vectors(0, words) * self._prices(0)[0]

    def filled_pj(self, words: int) -> float:
        """Energy [pJ] of words that are filled into the level."""
        return self._vectors(self.place, words) * self._prices(self.place)[1]

    def read_in_pj(self, words: int) -> float:
        """Energy [pJ] of words that are read at the outermost level and filled into the level."""
        return self.read_pj(words) + self.filled_pj(words)

    def written_pj(self, words: int) -> float:
        """Energy [pJ] of finished words that are written at the outermost level."""
        return self._vectors(0, words) * self._prices(0)[2]

    def on_chip_pj(self, evaluation: Evaluation, name: str) -> float:
        """Energy [pJ] that a part pays for moving a data space to the level and out of it, as it was counted."""
        outside = sum(one.data[name].energy_pj for one in evaluation.levels[: self.place] if name in one.data)
        fills = evaluation.levels[self.place].data[name].fills
        return outside + self.filled_pj(math.ceil(fills))

    @cached_property
    def free_outside(self) -> Target:
        """The target with an outermost level that costs nothing and is not constrained: what a bound counts."""
        target, outermost = self.target, self.target.arch.level_names[0]
        free = replace(target.costs.levels[0], read_pj=0.0, write_pj=0.0, leak_pj=0.0, later_pj=None)
        costs = replace(target.costs, levels=(free, *target.costs.levels[1:]))
        levels = {name: one for name, one in target.constraints.levels.items() if name != outermost}
        return replace(target, costs=costs, constraints=replace(target.constraints, levels=levels))

    @property
    def kept(self) -> frozenset[str]:
        """Data spaces that constraints make the level keep."""
        return self.target.constraints.level(self.level).keep

    def beside_level(self, problem: Problem) -> "Fusion | None":
        """Return the same with an outermost level that costs what it does above the level.

        None where constraints tell what the level keeps, or words are cheaper further out.
        """
        target, nodes, own = self.target, self.target.arch.levels, self._prices(self.place)
        counts = [-(-node.block_words // nodes[self.place].block_words) for node in nodes[: self.place]]
        above = [[pj - n * least for pj, least in zip(self._prices(k), own, strict=True)] for k, n in enumerate(counts)]
        if self.keepable(problem) == self.kept or min(min(read, update) for read, _, update in above) < 0:
            return None
        first = replace(target.costs.levels[0], read_pj=above[0][0], write_pj=above[0][2], later_pj=None)
        return replace(
            self, target=replace(target, costs=replace(target.costs, levels=(first, *target.costs.levels[1:])))
        )

    def free_to_level(self, problem: Problem, *, resumes: bool) -> Target:
        """Return the same where fills of the level cost nothing, for a layer that begins outputs or goes on.

        What may pass the level is asked for there, for no more than further out.
        """
        read_pj, _, update_pj = self._prices(self.place)
        target = _later(self.free_outside)
        levels = list(target.costs.levels)
        levels[self.place] = replace(levels[self.place], later_pj=(read_pj, 0.0, update_pj))
        target = replace(target, costs=replace(target.costs, levels=tuple(levels)))
        if self.beside_level(problem) is not None:
            names, limits = frozenset(space.name for space in problem.data_spaces), dict(target.constraints.levels)
            limits[self.level] = replace(target.constraints.level(self.level), keep=names, bypass=frozenset())
            nodes = list(target.arch.levels)
            nodes[self.place] = replace(nodes[self.place], capacity_words=None)
            arch = replace(target.arch, levels=tuple(nodes))
            target = replace(target, arch=arch, constraints=replace(target.constraints, levels=limits))
        return _resuming(target, problem) if resumes else target

    @cached_property
    def depends_on_sizes(self) -> bool:
        """Whether constraints mean other factors for a part than for the layer."""
        limits = map(self.target.constraints.level, self.target.arch.level_names)
        loops = [loops for one in limits for loops in (one.temporal, one.spatial)]
        return any(one.maximize or one.stated or 0 in one.factors.values() for one in loops)

    @cached_property
    def _fixed(self) -> tuple[tuple[str, int], ...]:
        """Dimensions and their fixed factors inside the outermost level."""
        limits = map(self.target.constraints.level, self.target.arch.level_names[1:])
        return tuple(item for one in limits for loops in (one.temporal, one.spatial) for item in loops.factors.items())

    def ignores(self, whole: Problem, part: Problem) -> bool:
        """Whether a fixed factor inside the outermost level holds for a layer, and is too large for a part."""
        least, most = part.bound, whole.bound
        return any(least[d] < factor <= most[d] for d, factor in self._fixed)

    def target_of(
        self, problem: Problem, whole: frozenset[str], capacity_words: int, *, resumes: bool
    ) -> Target | None:
        """Return the target of a part, None where constraints contradict what is kept whole.

        Parameters
        ----------
        whole
            Data spaces that the level keeps whole: nothing outside it loops over them.
        capacity_words
            Words of the level that the part may fill.
        resumes
            Whether the part goes on from partial sums instead of nothing.
        """
        target = self.target
        kept = sorted({d for s in problem.data_spaces if s.name in whole for d in s.dimensions if problem.bound[d] > 1})
        levels = dict(target.constraints.levels)
        for place, name in enumerate(target.arch.level_names[: self.place]):
            if _asks_otherwise(target.constraints.level(name), kept, whole, outermost=not place):
                return None
        for place, name in enumerate(target.arch.level_names[: self.place + 1]):
            levels[name] = _whole(target.constraints.level(name), kept, whole, place, self.place)
        constraints = replace(target.constraints, levels=levels)
        nodes = list(target.arch.levels)
        nodes[self.place] = replace(nodes[self.place], capacity_words=capacity_words, multiple_buffering=1.0)
        found = replace(target, arch=replace(target.arch, levels=tuple(nodes)), constraints=constraints)
        return _resuming(found, problem) if resumes else found


def _whole(
    given: LevelConstraints, kept: list[str], whole: frozenset[str], place: int, inside: int
) -> LevelConstraints:
    """Return the constraints of a level with no loops over what is kept whole further in."""
    if place == inside:
        return replace(given, keep=given.keep | whole)
    if place:
        given = replace(given, bypass=given.bypass | whole)
    once = dict.fromkeys(kept, 1)
    loops = [replace(one, factors=once | dict(one.factors)) for one in (given.temporal, given.spatial)]
    return replace(given, temporal=loops[0], spatial=loops[1])


def _asks_otherwise(given: LevelConstraints, kept: list[str], whole: frozenset[str], *, outermost: bool) -> bool:
    """Whether constraints of an outer level ask for a loop over what is kept whole, or keep it there."""
    loops = given.temporal, given.spatial
    asked = any(one.factors.get(d, 1) != 1 or one.min_factors.get(d, 1) > 1 for one in loops for d in kept)
    return asked or (not outermost and bool(given.keep & whole))


def _resuming(target: Target, problem: Problem) -> Target:
    """Return the target of a part that goes on from partial sums."""
    outputs = frozenset(space.name for space in problem.data_spaces if space.read_write)
    levels = dict(target.constraints.levels)
    for name in target.arch.level_names:
        one = levels.get(name, LevelConstraints())
        levels[name] = replace(one, reuse=replace(one.reuse, rmw_first_update=outputs))
    return _later(replace(target, constraints=replace(target.constraints, levels=levels)))


def _later(target: Target) -> Target:
    """Return the target by rules that know resumed outputs, with the same counts where no window slides."""
    if rules_of(target.semantics).knows_no_coalesce:
        return target
    levels = tuple(replace(one, leak_pj=0.0, later_pj=None) for one in target.costs.levels)
    return replace(target, semantics=_RESUMING, costs=replace(target.costs, levels=levels))
