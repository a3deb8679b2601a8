"""What a search of a chain found: groups, their loops, what is held, the mapping of every part, and what proves it."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from jouleloop.errors import Fault, InputError
from jouleloop.fusion.plan import Loop
from jouleloop.optimum.result import SearchResult
from jouleloop.workload.problem import Problem


@dataclass(frozen=True)
class PartRun:
    """One mapping of a part: iterations of one size that begin its outputs, or that go on from partial sums."""

    problem: Problem
    """What each of them computes."""
    iterations: int
    resumes: bool
    search: SearchResult
    energy_pj: float
    """Of all these iterations, without what is on the chip already."""
    outer_words: int
    """Words that they move at the outermost level."""


@dataclass(frozen=True)
class LayerRun:
    """What one layer of a group costs."""

    name: str
    held: tuple[str, ...]
    """Data spaces that stay at the level of fusion while the loops of its group that do not move them run."""
    held_words: int
    """Words of all that it holds, around its group, too."""
    runs: tuple[PartRun, ...]
    held_pj: float
    """Energy of moving the held data spaces in and out."""
    held_outer_words: int
    held_around: tuple[tuple[str, ...], ...] = ()
    """By group around its own, outermost first, the data spaces that stay while the loops of that one run."""

    @property
    def energy_pj(self) -> float:
        """Energy of the layer [pJ]."""
        return self.held_pj + sum(run.energy_pj for run in self.runs)

    @property
    def outer_words(self) -> int:
        """Words read and written at the outermost level."""
        return self.held_outer_words + sum(run.outer_words for run in self.runs)


@dataclass(frozen=True)
class GroupRun:
    """Layers that run together, or one alone."""

    first: int
    last: int
    prefix: tuple[Loop, ...]
    children: tuple["LayerRun | GroupRun", ...]
    """What an iteration runs: layers, and groups inside with loops of their own."""
    lower_bound_pj: float
    """No way to run these layers in one group takes less [pJ]."""

    @property
    def layers(self) -> tuple[LayerRun, ...]:
        """The layers, also those of groups inside."""
        found: list[LayerRun] = []
        for child in self.children:
            found += child.layers if isinstance(child, GroupRun) else (child,)
        return tuple(found)

    @property
    def energy_pj(self) -> float:
        """Energy of all layers [pJ]."""
        return sum(child.energy_pj for child in self.children)

    @property
    def outer_words(self) -> int:
        """Words read and written at the outermost level."""
        return sum(child.outer_words for child in self.children)


@dataclass(frozen=True)
class ChainResult:
    """The least energy of a chain on an architecture.

    Attributes
    ----------
    layers
        Names of the layers.
    level
        Where shared tensors live.
    groups
        The best way to run the chain; empty where a layer has no mapping.
    apart
        The same with every layer alone.
    lower_bound_pj
        No way to run the chain takes less [pJ].
    searches
        Searches of parts that it rests on, those of whole layers that were known before among them.
    """

    chain: str
    layers: tuple[str, ...]
    architecture: str
    level: str
    unit: str
    groups: tuple[GroupRun, ...]
    apart: tuple[GroupRun, ...]
    lower_bound_pj: float
    searches: int
    reason: str = ""
    seconds: float = field(default=0.0, compare=False)
    argue: "Callable[[ChainResult], dict[str, Any]] | None" = field(default=None, repr=False, compare=False)
    """Writes its certificate."""

    @property
    def ok(self) -> bool:
        """Whether every layer has a mapping."""
        return bool(self.groups)

    @property
    def energy_pj(self) -> float:
        """Energy of the chain [pJ]."""
        return sum(group.energy_pj for group in self.groups)

    @property
    def outer_words(self) -> int:
        """Words read and written at the outermost level."""
        return sum(group.outer_words for group in self.groups)

    @property
    def apart_pj(self) -> float:
        """Energy [pJ] where every layer runs alone."""
        return sum(group.energy_pj for group in self.apart)

    @property
    def apart_outer_words(self) -> int:
        """Words at the outermost level where every layer runs alone."""
        return sum(group.outer_words for group in self.apart)

    @property
    def stopped(self) -> bool:
        """Whether a limit left something open."""
        return not self.optimal and not self.reason

    @property
    def optimal(self) -> bool:
        """Whether the energy is the proven least."""
        # Sums of doubles may differ in their last bits by the order of their terms.
        return self.ok and self.energy_pj * (1 - 1e-12) <= self.lower_bound_pj

    def certificate(self) -> dict[str, Any]:
        """Return the proof of the optimum as plain data, which ``jouleloop check`` verifies with other code.

        Raise `InputError` where nothing is proven, or certificates do not state such chains.
        """
        if self.argue is None or not self.optimal:
            text = self.reason or "a proven optimum"
            raise InputError(Fault("there is no certificate", field="chain", value=self.chain, allowed=text))
        return self.argue(self)

    def as_json(self) -> dict[str, Any]:
        """Return plain JSON data."""
        return {
            "chain": self.chain,
            "layers": list(self.layers),
            "architecture": self.architecture,
            "level": self.level,
            "unit": self.unit,
            "reason": self.reason,
            "energy": self.energy_pj,
            "outer_words": self.outer_words,
            "energy_apart": self.apart_pj,
            "outer_words_apart": self.apart_outer_words,
            "lower_bound": self.lower_bound_pj,
            "optimal": self.optimal,
            "stopped": self.stopped,
            "searches": self.searches,
            "seconds": self.seconds,
            "groups": [_group(group) for group in self.groups],
        }


def _group(group: GroupRun) -> dict[str, Any]:
    return {
        "layers": [layer.name for layer in group.layers],
        "loops": [
            {"factor": loop.factor, "dimensions": list(loop.dimensions), "recomputes": loop.recomputes}
            for loop in group.prefix
        ],
        "energy": group.energy_pj,
        "outer_words": group.outer_words,
        "parts": [_group(one) if isinstance(one, GroupRun) else _layer(one) for one in group.children],
    }


def _layer(layer: LayerRun) -> dict[str, Any]:
    return {
        "layer": layer.name,
        "held": list(layer.held),
        "held_around": list(map(list, layer.held_around)),
        "energy": layer.energy_pj,
        "outer_words": layer.outer_words,
        "runs": [
            {
                "iterations": run.iterations,
                "resumes": run.resumes,
                "sizes": {d: bound for d, bound in run.problem.bound.items() if bound > 1},
                "search": run.search.as_json(),
            }
            for run in layer.runs
        ],
    }
