"""The answer of a search: the best mapping, and the certificate that nothing in the mapspace is better."""

from dataclasses import dataclass, field, replace
from typing import Any, Literal

from jouleloop.mapping.mapping import Mapping
from jouleloop.model.arrays import Records
from jouleloop.model.evaluation import Evaluation
from jouleloop.model.objective import OBJECTIVES
from jouleloop.optimum.limit import gap_of

Status = Literal["ok", "no_mapping", "invalid", "failed"]


@dataclass(frozen=True)
class Profile:
    """Where a search spent its time."""

    parts: int
    tables: int
    """Unrollings under a choice of what is kept; tables filled for them, some of them twice."""
    seconds: dict[str, float]
    """CPU seconds by stage: finding the unrollings, the search itself, comparing ties; and about how much of the last
    two went into tables (one is filled once more and timed)."""
    levels: dict[str, dict[str, int]]
    """By level, outermost first: nodes entered; tiles looked at, without room, left out; orders priced, left out; and
    children that were left out when their turn came."""


@dataclass(frozen=True)
class SearchResult:
    """What a search found and what it proves."""

    status: Status
    """``ok``; ``no_mapping`` where the mapspace holds no valid mapping; ``invalid`` where the constraints cannot be
    applied to the layer at all; ``failed`` where the engine broke."""
    reason: str = ""
    """For every status but ``ok``: what went wrong, with the level and constraint concerned."""
    mapping: Mapping | None = None
    evaluation: Evaluation | None = None
    objective: tuple[str, ...] = ("energy",)
    most_cycles: int | None = None
    """What all mappings were limited to that were compared, if they were."""
    lower_bound: float = 0.0
    """No mapping of the mapspace is below this value of the first objective (pJ, cycles or pJ x cycles)."""
    optimal: bool = False
    """Claimed only where the search was exhaustive or every pruned part had a bound no better than the result."""
    stopped: str = ""
    """What ended the search before it ended by itself: ``budget``, ``nodes``, ``seconds``, ``interrupt`` or ``memory``
    (too many parts); else nothing. Where it was ``seconds`` or ``interrupt``, another run may find something else."""
    proof: str = ""
    """In words, what proves it."""
    mapspace_size: int = 0
    """Number of mappings in the mapspace: index factorizations x permutations x spatial splits x bypasses."""
    index_factorizations: int = 0
    visited: int = 0
    """Mappings evaluated in full."""
    pruned: dict[str, int] = field(default_factory=dict, hash=False)
    """Nodes of the search cut off, by reason."""
    seconds: float = 0.0
    engine: str = "native"
    profile: Profile | None = field(default=None, repr=False, compare=False)
    """Where the time went, if the watch asked for it."""

    @property
    def gap(self) -> float | None:
        """How far above its lower bound the value of the mapping is, relatively; None where there is none."""
        if self.evaluation is None or self.objective[0] not in OBJECTIVES:
            return None
        return gap_of(OBJECTIVES[self.objective[0]].value(self.evaluation), self.lower_bound)

    def as_json(self) -> dict[str, Any]:
        """Return plain JSON data."""
        return {
            "status": self.status,
            "reason": self.reason,
            "engine": self.engine,
            "objective": list(self.objective),
            **({} if self.most_cycles is None else {"most_cycles": self.most_cycles}),
            "mapping": None if self.mapping is None else self.mapping.as_json(),
            "mapping_compact": None if self.mapping is None else self.mapping.compact(),
            "evaluation": None if self.evaluation is None else self.evaluation.as_json(),
            "lower_bound": self.lower_bound,
            "optimal": self.optimal,
            "gap": self.gap,
            "stopped": self.stopped,
            "proof": self.proof,
            "mapspace_size": self.mapspace_size,
            "index_factorizations": self.index_factorizations,
            "visited": self.visited,
            "pruned": self.pruned,
            "seconds": self.seconds,
        }


def counted(result: SearchResult, counters: Records) -> SearchResult:
    """Return the answer with what the counters of its search say."""
    pruned = {"bound": "cut_bound", "capacity": "cut_capacity", "nodes": "nodes"}
    return replace(
        result,
        visited=int(counters[0]["visited"]),
        pruned={name: int(counters[0][place]) for name, place in pruned.items()},
    )
