"""Fronts of energy, cycles and the capacity of one level by name: ``front --capacity`` is built on it."""

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jouleloop
from jouleloop.api.hardware import Architecture
from jouleloop.api.layers import LayerLike, problem_of
from jouleloop.api.results import Result
from jouleloop.api.rows import frame
from jouleloop.api.run import ArchitectureLike, architecture_of, options_of
from jouleloop.curves.hardware import capacity_of, level_of
from jouleloop.engines.native import NativeEngine
from jouleloop.engines.protocol import SearchOptions
from jouleloop.exploration.capacity import CapacityFront, capacity_front
from jouleloop.units import energies_in, renamed
from jouleloop.workload.problem import Problem

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

#: Version of the plain form; it changes when a key changes its name or meaning.
SCHEMA = "jouleloop/capacity-front/1"


@dataclass(frozen=True)
class FrontByCapacity:
    """All mappings of a layer that no other beats in energy, cycles and words of one level, whatever its capacity.

    Attributes
    ----------
    architecture, problem
        What was mapped onto what; the capacity in ``architecture`` does not matter.
    level
        The level whose capacity varies.
    found
        The points, the least energy first, with the words that each needs.
    """

    architecture: Architecture
    problem: Problem
    level: str
    found: CapacityFront = field(repr=False)

    @property
    def complete(self) -> bool:
        """Whether every mapping takes at least as much of all three as one of the points, proven."""
        return self.found.complete

    @property
    def words(self) -> tuple[int, ...]:
        """Words that each point needs in one instance of the level."""
        return self.found.words

    @property
    def missing(self) -> str:
        """What is known of mappings that no point is compared with; nothing where the front is complete."""
        return "" if self.complete else self.found.last.missing

    @property
    def unit(self) -> str:
        """What energies are in: ``pJ``, or ``words`` where accesses are counted instead."""
        return self.architecture.target(self.problem).costs.unit

    def result(self, place: int) -> Result:
        """Return the mapping of a point on the architecture with the capacity that it needs."""
        level = level_of(self.architecture.target(self.problem).arch, self.level)
        capacity = capacity_of(level, self.words[place])
        hardware = self.architecture.with_({f"{self.level}.entries": capacity})
        return Result(hardware, self.problem, replace(self.found.points[place], engine="native"))

    def rows(self) -> list[dict[str, Any]]:
        """Return a record a point."""
        rows = []
        for point, words in zip(self.found.points, self.words, strict=True):
            assert point.evaluation is not None and point.mapping is not None  # noqa: S101, PT018 - points have both
            cost = {"total_pj": point.evaluation.energy_pj, "cycles": point.evaluation.cycles}
            rows.append({"words": words, **cost, "mapping": point.mapping.compact()})
        return rows

    def table(self) -> "pd.DataFrame":
        """Return `rows` as a table; energies [pJ], or words where accesses are counted."""
        return frame(self.rows(), self.unit)

    def plot(self, ax: "Axes | None" = None) -> "Axes":
        """Draw energy over cycles, the words of the level as colour; return the axes."""
        from jouleloop.exploration.draw import draw_capacity_front  # noqa: PLC0415 - matplotlib is slow to import

        rows = self.rows()
        cycles, energies = ([row[name] for row in rows] for name in ("cycles", "total_pj"))
        title = f"{self.problem.name} on {self.architecture.name}: {len(rows)} optima"
        return draw_capacity_front(cycles, energies, self.words, self.level, title, self.unit, ax)

    def as_dict(self) -> dict[str, Any]:
        """Return plain data, as ``--json`` prints it."""
        with energies_in(self.unit):
            points = [
                {**renamed(row), "loops": point.mapping and point.mapping.as_json()}
                for row, point in zip(self.rows(), self.found.points, strict=True)
            ]
        return {
            "schema": SCHEMA,
            "version": jouleloop.__version__,
            "architecture": self.architecture.name,
            "problem": self.problem.name,
            "level": self.level,
            "complete": self.complete,
            "missing": self.missing,
            "points": points,
        }

    def __repr__(self) -> str:
        proof = "complete" if self.complete else "not proven complete"
        head = f"{self.problem.name} on {self.architecture.name}, {self.level}"
        return f"<FrontByCapacity {head}: {len(self.words)} points, {proof}>"


def front_by_capacity(
    architecture: ArchitectureLike,
    layer: LayerLike,
    level: str | None = None,
    *,
    constraints: str | Path | None = None,
    budget: int | None = None,
    seconds: float | None = None,
) -> FrontByCapacity:
    """Return all mappings of a layer that no other beats in energy, cycles and words of one level, proven complete.

    Energies per access and bandwidths stay as the architecture has them, whatever the capacity. ``level`` is the
    outermost of limited capacity without a name; other parameters are those of `front`.

    Raises
    ------
    InputError
        Where a name is unknown, a file is wrong, or the level has to be filled to a share.
    """
    problem = problem_of(layer)
    hardware = architecture_of(architecture, problem, constraints)
    options = options_of("energy", budget, seconds)
    return front_by_capacity_told(hardware, problem, level, NativeEngine(), options)


def front_by_capacity_told(
    hardware: Architecture, problem: Problem, level: str | None, engine: NativeEngine, options: SearchOptions
) -> FrontByCapacity:
    """Return the front as far as its limits allow; see `front_by_capacity`."""
    target = hardware.target(problem)
    name = level_of(target.arch, level).name
    return FrontByCapacity(hardware, problem, name, capacity_front(engine, problem, target, name, options))
