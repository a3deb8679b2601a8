"""The protocol that every back end follows, and the inputs it takes."""

from dataclasses import dataclass
from typing import Any, Protocol

from jouleloop.arch.architecture import Architecture
from jouleloop.energy.costs import EnergyCosts
from jouleloop.mapping.mapping import Mapping
from jouleloop.mapspace.constraints import Constraints
from jouleloop.model.evaluation import Evaluation
from jouleloop.model.semantics import RULES
from jouleloop.optimum.result import SearchResult
from jouleloop.workload.problem import Problem

#: Semantics of the model by Timeloop version; see docs/validation.md.
SEMANTICS = tuple(RULES)


@dataclass(frozen=True)
class Target:
    """The hardware a layer is mapped onto: architecture, energies, constraints, semantics."""

    arch: Architecture
    costs: EnergyCosts
    constraints: Constraints
    semantics: str = SEMANTICS[0]


@dataclass(frozen=True)
class SearchOptions:
    """What a search is told besides the layer and the target."""

    objective: tuple[str, ...] = ("energy",)
    """Names of `jouleloop.model.objective.OBJECTIVES`; the later ones decide between equals."""
    seed: int = 0
    """Of an engine that takes random decisions."""
    budget: int | None = None
    """The most mappings to evaluate; None for a proof."""
    seconds: float | None = None
    """Of wall clock, after which a search stops with what it has; None for a proof. What is found then varies."""

    most_cycles: int | None = None
    """What a mapping may take at most; None: all are compared. The native engine alone follows it."""

    def as_dict(self) -> dict[str, Any]:
        """Return what determines a result, as plain data; seconds do not, for where they end a search it says so."""
        told = {"objective": list(self.objective), "seed": self.seed, "budget": self.budget}
        return told if self.most_cycles is None else told | {"most_cycles": self.most_cycles}


#: What is asked for where nothing is said: the least energy, with its proof.
PROVEN = SearchOptions()


class Engine(Protocol):
    """A back end that evaluates mappings and searches mapspaces."""

    name: str

    def evaluate(self, problem: Problem, target: Target, mapping: Mapping) -> Evaluation:
        """Return what ``mapping`` costs; raise `MappingError` where it is none of this problem and target."""

    def search(self, problem: Problem, target: Target, options: SearchOptions = PROVEN) -> SearchResult:
        """Return the best mapping of the mapspace."""
