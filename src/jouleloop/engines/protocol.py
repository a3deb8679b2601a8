"""The protocol that every back end follows, and the inputs it takes."""

from dataclasses import dataclass
from typing import Protocol

from jouleloop.arch.architecture import Architecture
from jouleloop.energy.costs import EnergyCosts
from jouleloop.mapping.mapping import Mapping
from jouleloop.mapspace.constraints import Constraints
from jouleloop.model.evaluation import Evaluation
from jouleloop.model.semantics import FIRST_FILLS_ELIDED
from jouleloop.search.result import SearchResult
from jouleloop.workload.problem import Problem

#: Semantics of the model by Timeloop version; see docs/validation.md. Only real Timeloop counts as timeloop-4.
SEMANTICS = (*FIRST_FILLS_ELIDED, "timeloop-4")


@dataclass(frozen=True)
class Target:
    """The hardware a layer is mapped onto: architecture, energies, constraints, semantics."""

    arch: Architecture
    costs: EnergyCosts
    constraints: Constraints
    semantics: str = SEMANTICS[0]


class Engine(Protocol):
    """A back end that evaluates mappings and searches mapspaces."""

    name: str

    def evaluate(self, problem: Problem, target: Target, mapping: Mapping) -> Evaluation:
        """Return what ``mapping`` costs; raise `MappingError` where it is none of this problem and target."""

    def search(
        self,
        problem: Problem,
        target: Target,
        *,
        objective: tuple[str, ...] = ("energy",),
        seed: int = 0,
        budget: int | None = None,
    ) -> SearchResult:
        """Return the best mapping of the mapspace; ``budget`` limits the mappings evaluated, never the seconds."""
