"""All mappings of a layer that no other beats in energy, cycles and words of one level; docs/fronts.md has the proof.

The capacity of the level falls: from any on, down to where no mapping fits. At each there is a front of energy and
cycles; it changes where its mapping that fills most words no longer fits.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from jouleloop.curves.hardware import held_words, level_of, with_words
from jouleloop.engines.native import NativeEngine
from jouleloop.engines.protocol import SearchOptions, Target
from jouleloop.exploration.front import TIE, LayerFront, counted, layer_front
from jouleloop.optimum.result import SearchResult
from jouleloop.workload.problem import Problem


@dataclass(frozen=True)
class CapacityFront:
    """The front of energy, cycles and words of a level.

    Attributes
    ----------
    points
        What the searches found, the least energy first, then the fewest cycles.
    words
        Words that the tiles of each fill in one instance of the level, the least for its energy and cycles.
    last
        The front at the last capacity: empty, or ended by a search that had to stop.
    """

    points: tuple[SearchResult, ...]
    words: tuple[int, ...]
    last: LayerFront

    @property
    def complete(self) -> bool:
        """Whether every mapping takes at least as much of all three as one of the points."""
        return bool(self.points) and not self.last.last.stopped and self.last.last.status == "no_mapping"


def capacity_front(
    engine: NativeEngine, problem: Problem, target: Target, level: str | None, options: SearchOptions | None = None
) -> CapacityFront:
    """Return the front of energy, cycles and words of a level; without a name of the outermost of limited capacity.

    Energies and bandwidths stay, whatever the capacity. ``options`` limit each search; one that stops ends the front.

    Raises `InputError` where the level cannot vary.
    """
    name = level_of(target.arch, level).name
    found: list[tuple[SearchResult, int]] = []
    capacity: int | None = None
    known: Callable[[int | None], SearchResult | None] = lambda _: None  # noqa: E731
    while True:
        front = layer_front(engine, problem, with_words(target, name, capacity), options, known)
        held = [held_words(counted(point), name) for point in front.points]
        found += zip(front.points, held, strict=True)
        if not front.complete or not max(held):
            kept = _unbeaten(found)
            return CapacityFront(tuple(p for p, _ in kept), tuple(words for _, words in kept), front)
        capacity = max(held) - 1
        known = _known(front, held, capacity)


def _known(front: LayerFront, held: list[int], capacity: int) -> Callable[[int | None], SearchResult | None]:
    """Return what tells the searches that a smaller capacity leaves as they are: those whose mapping still fits."""

    def known(most_cycles: int | None) -> SearchResult | None:
        for point, words in zip(front.points, held, strict=True):
            if most_cycles is None or counted(point).cycles <= most_cycles:
                return point if words <= capacity else None
        return replace(front.last, most_cycles=most_cycles)

    return known


def _unbeaten(found: list[tuple[SearchResult, int]]) -> list[tuple[SearchResult, int]]:
    """Return the points that no other one matches in all three, the least energy first."""
    order = sorted(found, key=lambda one: (counted(one[0]).energy_pj, counted(one[0]).cycles, one[1]))
    pairs = [(counted(point).energy_pj * (1 - TIE), counted(point).cycles, words) for point, words in order]
    values = np.array(pairs).reshape(-1, 3)
    kept: list[int] = []
    for place in range(len(order)):
        if not kept or not (values[kept] <= values[place] / (1 - TIE, 1, 1)).all(axis=1).any():
            kept.append(place)
    return [order[place] for place in kept]
