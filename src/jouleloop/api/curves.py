"""The optimum of a layer against the capacity of one level: what the command ``curve`` is built on."""

import signal
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jouleloop
from jouleloop.api.hardware import Architecture
from jouleloop.api.layers import LayerLike, problem_of
from jouleloop.api.results import Result
from jouleloop.api.rows import frame, html_table
from jouleloop.api.run import ArchitectureLike, Interrupted, architecture_of
from jouleloop.curves.hardware import level_of
from jouleloop.curves.kept import KeptSearches
from jouleloop.curves.staircase import Limits, Point, Question, Staircase, Step, walk
from jouleloop.errors import Fault, InputError, raise_all
from jouleloop.files import is_whole
from jouleloop.mapspace.space import build_mapspace
from jouleloop.model.semantics import rules_of
from jouleloop.optimum.limit import INTERRUPT, Limit, Watch
from jouleloop.signals import asked_by_signals, interrupts_raise
from jouleloop.study.progress import long_searches
from jouleloop.units import energies_in, renamed
from jouleloop.workload.problem import Problem

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

#: Version of the plain form of a curve; it changes when a key changes its name or meaning.
SCHEMA = "jouleloop/curve/1"


@dataclass(frozen=True)
class Curve:
    """The staircase of one layer on one architecture.

    Attributes
    ----------
    architecture, problem
        What was mapped, onto what; the capacity in ``architecture`` does not matter.
    staircase
        The steps, the smallest capacity first, and what is proven.
    """

    architecture: Architecture
    problem: Problem
    staircase: Staircase

    @property
    def level(self) -> str:
        """The level whose capacity varies."""
        return self.staircase.question.level

    @property
    def steps(self) -> tuple[Step, ...]:
        """Ranges of capacities with one least value each, the smallest capacity first."""
        return self.staircase.steps

    @property
    def proven(self) -> bool:
        """Whether every step is proven, and none is missing between the least and the largest capacity."""
        return self.staircase.proven

    @property
    def stopped(self) -> str:
        """What ended the walk early: ``steps``, ``seconds``, ``interrupt`` or ``failed``; else nothing."""
        return self.staircase.stopped

    @property
    def unit(self) -> str:
        """Unit of the values."""
        return self.staircase.question.unit

    @property
    def largest_words(self) -> int | None:
        """The largest capacity that helps [words of a tile]; None where nothing is known of it."""
        top = self.steps[-1] if self.steps else None
        return top.words if top is not None and top.most_words is None and top.proven else None

    def rows(self) -> list[dict[str, Any]]:
        """Return a record a step: capacities, value, what else its mapping costs, what is proven."""
        return self.staircase.rows()

    def table(self) -> "pd.DataFrame":
        """Return `rows` as a table; energies [pJ], or words where accesses are counted."""
        table = frame(self.rows(), self._energies)
        return table.astype({"most_words": "Int64"}) if len(table) else table

    @property
    def _energies(self) -> str:
        return self.architecture.target(self.problem).costs.unit

    def certificate(self, step: Step, watch: Watch | None = None) -> dict[str, Any]:
        """Return the proof that no mapping that fits ``step.most_words`` is better, as plain data.

        ``jouleloop check`` verifies it. Those of all steps prove the curve: each step begins one word above the next
        lower one.

        Raises
        ------
        InputError
            Where the step is not proven.
        KeyboardInterrupt
            Where the watch stopped it.
        """
        from jouleloop.optimum.certificate import certify  # noqa: PLC0415 - loads more kernels

        if not step.optimal:
            raise InputError(Fault("is not proven, there is no certificate", "step", value=step.words))
        target = self.staircase.question.at(step.most_words)
        imperfect = target.constraints.factors == "imperfect"
        rounds = rules_of(target.semantics).rounds_factors
        space = build_mapspace(self.problem, target.arch, target.constraints, imperfect=imperfect, rounds=rounds)
        return certify(space, target.constraints, target.costs, step.result, target.semantics, watch)

    def plot(self, ax: "Axes | None" = None, *, theory: bool = True) -> "Axes":
        """Draw the staircase over the capacity, both logarithmic; return the axes.

        ``theory`` adds the lower bounds of the papers, where the value is DRAM words or an energy and they speak of
        the layer.
        """
        from jouleloop.api.plot import plot_curve  # noqa: PLC0415 - matplotlib is slow to import

        return plot_curve(self, ax, theory=theory)

    def as_dict(self) -> dict[str, Any]:
        """Return plain data, as ``--json`` prints it."""
        question = self.staircase.question
        with energies_in(self._energies):
            steps = [
                {**renamed(row), "loops": step.result.mapping and step.result.mapping.as_json()}
                for row, step in zip(self.rows(), self.steps, strict=True)
            ]
        return {
            "schema": SCHEMA,
            "version": jouleloop.__version__,
            "architecture": self.architecture.name,
            "level": self.level,
            "problem": {"name": self.problem.name, **self.problem.as_dict()},
            "semantics": question.target.semantics,
            "objective": question.objective,
            "unit": self.unit,
            "proven": self.proven,
            "complete": self.staircase.complete,
            "stopped": self.stopped,
            "reason": self.staircase.reason,
            "largest_words": self.largest_words,
            "searches": self.staircase.searches,
            "steps": steps,
        }

    def result(self, step: Step) -> Result:
        """Return the `Result` of a step: its mapping on the architecture with the capacity of that step.

        Energies are those that the architecture has at that capacity; of a reference table they are the same.
        """
        level = self.architecture.level(self.level)
        hardware = self.architecture.with_({f"{level.name}.entries": step.capacity_words})
        return Result(hardware, self.problem, replace(step.result, engine="native"))

    def __repr__(self) -> str:
        head = f"{self.problem.name} on {self.architecture.name}, {self.level}"
        if not self.steps:
            return f"<Curve {head}: no step, {self.staircase.reason or self.stopped}>"
        proven = ", proven" if self.proven else ""
        first, last = self.steps[0], self.steps[-1]
        values = f"{first.value:,.0f} {self.unit} at {first.words:,} words to {last.value:,.0f} at {last.words:,}"
        return f"<Curve {head}: {len(self.steps)} steps, {values}{proven}>"

    def _repr_html_(self) -> str:
        rows = [(f"{s.words:,}", f"{s.value:,.0f}", "yes" if s.proven else "no") for s in self.steps]
        return f"<p>{escape(repr(self)[1:-1])}</p>{html_table(('words', self.unit, 'proven'), rows)}"


# Every option is a keyword of its own, as in `search` and on the command line: calls give one or two of them.
def curve(
    architecture: ArchitectureLike,
    layer: LayerLike,
    level: str | None = None,
    *,
    objective: str = "energy",
    constraints: str | Path | None = None,
    least_words: int = 0,
    most_words: int | None = None,
    steps: int | None = None,
    seconds: float | None = None,
    store: str | Path | None = None,
    progress: Callable[[int, Point], None] | None = None,
) -> Curve:
    """Return the least energy, cycles or DRAM words of a layer against the capacity of one level, every step proven.

    Energies per access stay as the architecture has them, whatever the capacity.

    Parameters
    ----------
    architecture, layer, constraints
        As in `search`.
    level
        The level whose capacity varies; the outermost of limited capacity without it.
    objective
        ``energy``, ``delay``, ``edp``, or ``dram-words``: words that main memory reads and writes.
    least_words, most_words
        Capacities between which it is wanted [words that a tile may fill]; all without them.
    steps, seconds
        Where it stops, from the largest capacity downward.
    store
        File of what was searched: the same call goes on from there.
    progress
        Called after each search with the number of steps so far and the search.

    Raises
    ------
    InputError
        Where a name is unknown, a file is wrong, or the level has to be filled to a share.
    Interrupted
        A `KeyboardInterrupt`, at Ctrl-C; its ``result`` has the steps so far.
    """
    _check(least_words, most_words, steps, seconds)
    problem = problem_of(layer)
    hardware = architecture_of(architecture, problem, constraints)
    question = question_of(hardware, problem, level, objective, least_words, most_words)
    watch = Watch(Limit(seconds))
    tell = long_searches("jouleloop") if sys.stderr.isatty() else None
    limits = Limits(steps, watch, tell, progress)
    if not interrupts_raise():
        return walked(hardware, question, limits, store)
    with asked_by_signals(watch.stop, [signal.SIGINT]):
        found = walked(hardware, question, limits, store)
    if found.stopped == INTERRUPT:
        raise Interrupted(found)
    return found


def question_of(
    hardware: Architecture,
    problem: Problem,
    level: str | None,
    objective: str,
    least_words: int = 0,
    most_words: int | None = None,
) -> Question:
    """Return what a curve is of; raise `InputError` with what is wrong with it."""
    _check(least_words, most_words)
    target = hardware.target(problem)
    return Question(problem, target, level_of(target.arch, level).name, objective, least_words, most_words)


def _check(least_words: Any, most_words: Any, steps: Any = None, seconds: Any = None) -> None:
    """Refuse capacities and limits that are none; raise `InputError` with all that is wrong with them."""
    low = least_words if is_whole(least_words) else 0
    wholes = (("least_words", least_words, 0), ("most_words", most_words, low), ("steps", steps, 1))
    faults = [
        Fault("must be a whole number", name, value=value, allowed=f"{lowest} or more")
        for name, value, lowest in wholes
        if value is not None and not (is_whole(value) and value >= lowest)
    ]
    if seconds is not None and not (isinstance(seconds, (int, float)) and seconds >= 0):
        faults.append(Fault("must be a number", "seconds", value=seconds, allowed="0 or more"))
    raise_all(faults)


def walked(hardware: Architecture, question: Question, limits: Limits, store: str | Path | None = None) -> Curve:
    """Return the curve of a question, as far as its limits allow; what is searched is kept in ``store``."""
    known = None if store is None else KeptSearches(Path(store), question)
    try:
        found = walk(question, limits, known)
    finally:
        if known is not None:
            known.write()
    return Curve(hardware, question.problem, found)
