"""All mappings of a layer that no other beats in energy and cycles; `docs/fronts.md` has the proof.

The method is that of a limit that falls (Haimes, Lasdon and Wismer 1971): the least energy of all mappings, then the
least energy of those with fewer cycles, until none has fewer.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from jouleloop.engines.native import NativeEngine
from jouleloop.engines.protocol import SearchOptions, Target
from jouleloop.model.evaluation import Evaluation
from jouleloop.optimum.result import SearchResult
from jouleloop.workload.problem import Problem

#: Energies closer than this, relatively, are ties, as in the search.
TIE = 1e-11


@dataclass(frozen=True)
class LayerFront:
    """The front of one layer.

    Attributes
    ----------
    points
        What the searches found, the least energy first: energies rise, cycles fall.
    last
        The search that ended it: no mapping has fewer cycles, or it had to stop.
    """

    points: tuple[SearchResult, ...]
    last: SearchResult

    @property
    def complete(self) -> bool:
        """Whether every mapping costs at least as much energy and as many cycles as one of the points."""
        return bool(self.points) and not self.last.stopped and self.last.status == "no_mapping"

    @property
    def missing(self) -> str:
        """What is known of the mappings that no point is compared with; nothing where the front is complete."""
        if self.complete:
            return ""
        if not self.last.stopped:
            return f"{self.last.status}: {self.last.reason}" if self.last.reason else self.last.status
        most, found = self.last.most_cycles, self.last
        which = "no mapping" if most is None else f"no mapping of at most {most:,} cycles"
        return f"stopped ({found.stopped}): {which} has less than {found.lower_bound:,.2f} pJ"


def layer_front(
    engine: NativeEngine,
    problem: Problem,
    target: Target,
    options: SearchOptions | None = None,
    known: Callable[[int | None], SearchResult | None] = lambda _: None,
) -> LayerFront:
    """Return the front of energy and cycles of a layer.

    Parameters
    ----------
    options
        Limits of each search. A search that stops ends the front.
    known
        Returns the search for the least energy of at most so many cycles, where it is known.
    """
    told = replace(options or SearchOptions(), objective=("energy",), most_cycles=None)
    points: list[SearchResult] = []
    while True:
        found = known(told.most_cycles) or engine.search(problem, target, told)
        if not found.optimal or found.stopped or found.evaluation is None:
            return LayerFront(tuple(points), found)
        # A search may leave ties of other cycles to the next one.
        if points and found.evaluation.energy_pj <= counted(points[-1]).energy_pj * (1 + TIE):
            points.pop()
        points.append(found)
        told = replace(told, most_cycles=found.evaluation.cycles - 1)


def counted(found: SearchResult) -> Evaluation:
    """Return what the mapping of a point costs."""
    assert found.evaluation is not None  # noqa: S101 - points have one
    return found.evaluation


def knee_of(cycles: Sequence[float], energies: Sequence[float]) -> int | None:
    """Return the place of the point farthest below the line between the ends, both axes from 0 to 1.

    None where fewer than three points leave no knee, or no point lies below the line.
    """
    if len(cycles) < 3:
        return None
    width, height = cycles[0] - cycles[-1], energies[-1] - energies[0]
    below = [
        (cycles[0] - one) / width - (energy - energies[0]) / height
        for one, energy in zip(cycles, energies, strict=True)
    ]
    place = max(range(len(below)), key=below.__getitem__)
    return place if below[place] > 0 else None
