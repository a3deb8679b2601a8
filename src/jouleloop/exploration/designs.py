"""Designs of a space, families of them, and the relaxed design that no member of a family is better than.

`docs/exploration.md` has the lemma. Members of a family have one *structure*: all that decides which mappings there are
and what they count, besides how much fits.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from jouleloop.arch.architecture import StorageLevel
from jouleloop.energy.costs import LevelEnergy
from jouleloop.engines.protocol import Target
from jouleloop.mapspace.constraints import Constraints
from jouleloop.model.arrays import Bools, Floats, Ints
from jouleloop.study.keys import canonical_json
from jouleloop.workload.problem import ProblemShape
from jouleloop.workload.variants import Variant

_BANDWIDTHS = ("read_bandwidth_words", "write_bandwidth_words", "shared_bandwidth_words")


@dataclass(frozen=True)
class Design:
    """One design of a space.

    Attributes
    ----------
    target
        Hardware, energies, constraints and counting rules.
    variant
        What it changes in the architecture, by path.
    others
        Constraints of layers of other shapes.
    """

    target: Target
    variant: Variant = ()
    others: Mapping[ProblemShape, Constraints] = field(default_factory=dict, hash=False)

    @property
    def area_um2(self) -> float | None:
        """Area of all instances [um2]; None where that of a component is not known."""
        return self.target.costs.area_um2

    @property
    def capacity_bits(self) -> int:
        """Bits of all instances of the levels whose capacity is limited."""
        known = [level for level in self.target.arch.levels if level.capacity_words is not None and not level.is_dram]
        return sum(int(level.capacity_words or 0) * level.word_bits * level.instances for level in known)

    @cached_property
    def structure(self) -> str:
        """What members of a family share, as text."""
        arch, costs, less = self.target.arch, self.target.costs, self.numbers[1]
        free = {"capacity_words", "multiple_buffering", "min_utilization", *_BANDWIDTHS}
        known = arch.as_dict()
        levels = [
            {key: value for key, value in one.items() if key not in free} | {"kind": [level.is_dram, level.reduces]}
            for one, level in zip(known["levels"], arch.levels, strict=True)
        ]
        return canonical_json(
            {
                **{key: value for key, value in known.items() if key not in ("name", "levels")},
                "levels": levels,
                "bypass": arch.auto_bypass,
                "names": dict(arch.fanout_names),
                "networks": [[table.name, table.actions] for table in costs.networks],
                "constraints": [one.as_dict() for one in (self.target.constraints, *self.others.values())],
                "semantics": self.target.semantics,
                # Where an energy is negative, more accesses may cost less: then nothing is relaxed.
                "negative": less.tolist() if (less < 0).any() else [],
            }
        )

    @cached_property
    def numbers(self) -> tuple[Floats, Floats]:
        """What may differ within a family: numbers of which more is better, and numbers of which less is."""
        levels = self.target.arch.levels
        bandwidths = [[_limit(getattr(level, name)) for name in _BANDWIDTHS] for level in levels]
        more = [[_limit(level.effective_words), *own] for level, own in zip(levels, bandwidths, strict=True)]
        less = [
            [one.read_pj, one.write_pj, *one.charged_pj(later=True), one.leak_pj] for one in self.target.costs.levels
        ]
        return np.array(more), np.append(np.array(less).ravel(), self.target.costs.compute_pj)


class Space:
    """Designs as arrays.

    Attributes
    ----------
    more, less
        Numbers of which more, or less, is better, by design: shapes (designs, levels, 4) and (designs, energies).
    """

    def __init__(self, designs: Sequence[Design], ids: Sequence[int]) -> None:
        self.designs, self.ids = list(designs), np.array(ids, np.int64)
        self.more = np.stack([design.numbers[0] for design in designs])
        self.less = np.stack([design.numbers[1] for design in designs])
        self.least = np.array([[level.min_utilization for level in one.target.arch.levels] for one in designs])

    def best(self, members: Ints) -> tuple[Floats, Floats]:
        """Return the best of all numbers of some members."""
        return self.more[members].max(axis=0), self.less[members].min(axis=0)

    def at(self, target: Target, shape: ProblemShape) -> Target:
        """Return a target for layers of a shape; members share their constraints."""
        own = self.designs[0].others.get(shape)
        return target if own is None else replace(target, constraints=own)

    def vary(self, members: Ints) -> Bools:
        """Return by level whether members differ in its capacity or in the share of it that a tile has to fill."""
        sizes = np.stack([self.more[members, :, 0], self.least[members]])
        differ: Bools = (sizes != sizes[:, :1]).any(axis=(0, 1))
        return differ

    def alike(self, members: Ints) -> bool:
        """Whether all members have the same numbers, so that every mapping costs the same on each."""
        more, less = self.more[members], self.less[members]
        return bool((more == more[0]).all() and (less == less[0]).all() and not self.vary(members).any())

    def relaxed(self, members: Ints) -> Target:
        """Return the relaxed design of a family: the best of all numbers, or the member where all are alike.

        Every mapping of a member is one of the relaxed design, where it takes no more energy and no more cycles.
        """
        first = self.designs[int(members[0])].target
        if self.alike(members):
            return first
        more, less = self.best(members)
        # A tile that has to fill a share of a smaller level may fill less of a larger one.
        shares = np.where(self.vary(members), 0.0, self.least[members[0]])
        levels = [_level(*one) for one in zip(first.arch.levels, more, shares.tolist(), strict=True)]
        energies = less[:-1].reshape(len(levels), -1)
        costs = replace(
            first.costs,
            levels=tuple(_energy(one, own) for one, own in zip(first.costs.levels, energies, strict=True)),
            compute_pj=float(less[-1]),
            area_um2=None,
        )
        return replace(first, arch=replace(first.arch, levels=tuple(levels)), costs=costs)


def _limit(value: float | None) -> float:
    return np.inf if value is None else float(value)


def _level(level: StorageLevel, more: Floats, least: float) -> StorageLevel:
    words, *bandwidths = (None if number == np.inf else number for number in more.tolist())
    known: dict[str, Any] = dict(zip(_BANDWIDTHS, bandwidths, strict=True))
    held = None if words is None else int(words)
    return replace(level, capacity_words=held, multiple_buffering=1.0, min_utilization=least, **known)


def _energy(one: LevelEnergy, less: Floats) -> LevelEnergy:
    read_pj, write_pj, *later, leak_pj = less.tolist()
    return replace(one, read_pj=read_pj, write_pj=write_pj, later_pj=tuple(later), leak_pj=leak_pj)
