"""The laws that each point of a sweep on an architecture obeys."""

import itertools
import math
import re
from array import array
from collections import defaultdict
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

import pandas as pd

from jouleloop.mapping.compact import parse_compact, parse_kept
from jouleloop.mapping.mapping import Mapping as NestMapping
from jouleloop.model.symbolic import LevelCosts, Symbol, nest_symbols, symbolic_energies
from jouleloop.stats.expression import evaluate_variable
from jouleloop.stats.laws import NONE, EnergyLaw, LawPoint, NestLaws, Place
from jouleloop.stats.laws_nests import long_nests
from jouleloop.study.compute import Job
from jouleloop.workload.layer import Layer
from jouleloop.workload.problem import Problem
from jouleloop.workload.sweep import Sweep

#: The sizes of a fully-connected layer.
FC = ("C", "M")
#: Points that are as rows at a time, and points of a group that are not worked out a second time.
FEW = 2000
#: A law derived from other bounds must reproduce a point's energies to this, or the point gets one of its own.
_SAME = 1e-12
_REPRODUCED = 1e-9
#: What is told of a point besides its energies.
_TOLD = ("layer", "mapping", "kept")

#: Returns the rows of a sweep on an architecture, in parts.
Rows = Callable[[str, Sweep], Iterable[pd.DataFrame]]


class Row(NamedTuple):
    """A row of the table of energies, and the nest that it tells of."""

    row: dict[str, Any]
    problem: Problem
    mapping: NestMapping
    symbols: tuple[Symbol, ...]


class RowLaws(NamedTuple):
    """A row with its laws."""

    row: Row
    nest: NestLaws | None
    laws: Iterable[LawPoint]
    """Read once, where they are not a list."""
    partial_pj: float

    def law(self, number: int) -> LawPoint | None:
        """Return the law of that number, if it is one of them."""
        return next((law for law in self.laws if law.number == number), None)


def usable(parts: Iterable[pd.DataFrame]) -> Iterator[pd.DataFrame]:
    """Yield the rows with energies, a few at a time."""
    for part in parts:
        rows = part[part["status"] == "ok"]
        for first in range(0, len(rows), FEW):
            yield rows.iloc[first : first + FEW]


def room_between() -> Iterator[object]:
    """Return an item for each point of a group that may stay in memory between."""
    return iter(range(FEW))


@dataclass(frozen=True)
class SweepOn:
    """A sweep on an architecture, and the sizes that its laws are in."""

    architecture: str
    job: Job
    sizes: tuple[str, ...]
    sweep: Sweep
    rows: Rows
    """Of the table of energies."""

    @property
    def fc(self) -> bool:
        """Whether sizes are those of fully-connected layers."""
        return self.sizes == FC

    @property
    def name(self) -> str:
        """A name that no other place has."""
        return f"{self.architecture}@{self.sweep.name}"


class FoundLaws:
    """The usable points of a sweep with their laws, as often as they are asked for.

    Parameters
    ----------
    room
        As by `room_between`.
    """

    def __init__(self, place: SweepOn, room: Iterator[object]) -> None:
        self._place, self._room = place, room
        self._met: list[RowLaws] = []
        self._nests: dict[str, list[NestLaws]] = defaultdict(list)
        self._energies: dict[int, EnergyLaw] = {}
        self.levels: dict[str, LevelCosts] = {}
        """What the levels of the nests cost that were met."""
        # Of nests that points have in common, and which of it is each one's; the laws of others are looked for again.
        self._shared: dict[int, NestLaws] = {}
        self._nest_of, self._partial_pj = array("q"), array("d")
        self._count: int | None = None

    def points(self) -> Iterator[RowLaws]:
        """Yield all points; the first ones stay in memory where there is room, of others what nest they have."""
        yield from self._met
        if len(self._met) == self._count:
            return
        for at, row in enumerate(itertools.islice(self._rows(), len(self._met), None), len(self._met)):
            if at < len(self._partial_pj):
                yield self._again(at, row)
                continue
            point = self._point(row)
            shared = self._is_shared(row) and point.nest is not None
            if point.nest and shared:
                self._shared[id(point.nest)] = point.nest
            self._nest_of.append(id(point.nest) if shared else NONE)
            self._partial_pj.append(point.partial_pj)
            point = point._replace(laws=list(point.laws))
            if len(self._met) == at and next(self._room, None) is not None:
                self._met.append(point)
            yield point
        self._count = len(self._partial_pj)

    def _again(self, position: int, row: Row) -> RowLaws:
        """Return a point that was looked at before."""
        nest = self._shared.get(self._nest_of[position])
        return RowLaws(row, nest, nest.laws(row.symbols), self._partial_pj[position]) if nest else self._point(row)

    def _rows(self) -> Iterator[Row]:
        arch = self._place.job.target.arch
        sweep = self._place.sweep
        layers = _layers(sweep)
        next(layers)
        for rows in usable(self._place.rows(self._place.architecture, sweep)):
            named = [name for name in rows.columns if name in _TOLD or str(name).endswith("_pj")]
            told = rows[named].assign(variable=evaluate_variable(sweep.variable, rows))
            for values in zip(*(told[name].to_numpy(object) for name in told.columns), strict=True):
                row = dict(zip(map(str, told.columns), values, strict=True))
                mapping = parse_compact(str(row["mapping"]), parse_kept(str(row["kept"])))
                problem = layers.send(row["layer"]).problem()
                symbols = nest_symbols(problem, arch, mapping, early=bool(mapping.imperfect))
                yield Row(row, problem, mapping, symbols)

    def _is_shared(self, row: Row) -> bool:
        """Whether the laws of a point are those of its nest."""
        return not row.mapping.imperfect and self._place.job.target.factors != "imperfect"

    def _point(self, row: Row) -> RowLaws:
        values = [symbol.value for symbol in row.symbols]
        # Counts of loops that end early hold for one nest, so numbers do; its laws are those of long nests.
        early = bool(row.mapping.imperfect)
        skeleton = f"{re.sub(r'[0-9,]+', '', str(row.row['mapping']))} {row.problem.shape.name}"
        known = [] if early else self._nests[skeleton]
        for nest in known:
            energies, partial = nest.energies_pj(values)
            if _reproduced(energies, row.row, _SAME):
                break
        else:
            nest = self._counted(row.problem, row.mapping, () if early else self._place.sizes)
            known.append(nest)
            energies, partial = nest.energies_pj(values)
            if not _reproduced(energies, row.row, _REPRODUCED):
                return RowLaws(row, None, [], math.nan)
        laws = [] if early else nest.laws(row.symbols)
        if self._place.job.target.factors == "imperfect":
            laws = itertools.chain(laws, self._laws_of_long_nests(row.problem, row.mapping, nest, values))
        return RowLaws(row, nest, laws, float(partial))

    def _counted(self, problem: Problem, mapping: NestMapping, sizes: Sequence[str]) -> NestLaws:
        target = self._place.job.target.for_shape(problem.shape)
        symbolic = symbolic_energies(problem, target.arch, target.costs, mapping, target.semantics, sizes)
        self.levels |= symbolic.levels
        return NestLaws(symbolic, self._place.sizes)

    def _laws_of_long_nests(
        self, problem: Problem, mapping: NestMapping, nest: NestLaws, values: Sequence[int]
    ) -> Iterator[LawPoint]:
        """Yield the laws of the first nest of the same loops, all long, whose counts give those of this one."""
        arch = self._place.job.target.arch
        for long in long_nests(problem, mapping, self._place.sizes):
            key = str(long)
            if not self._nests[key]:
                self._nests[key].append(self._counted(*long, self._place.sizes))
            symbols = nest_symbols(problem, arch, mapping, early=bool(long[1].imperfect))
            if self._nests[key][0].agrees(nest, [symbol.value for symbol in symbols], values):
                yield from self._nests[key][0].laws(symbols)
                return

    def energy(self, position: int, number: int) -> EnergyLaw:
        """Return a law of the point in a position, in pJ."""
        # Those before are looked at, too: the same as when all are.
        points = iter(self._met) if position < len(self._met) else self.points()
        entry = next(itertools.islice(points, position, None)).law(number)
        if entry is None:
            raise RuntimeError("a point does not obey a law that it obeyed before")
        return self.energy_of(entry)

    def energy_of(self, entry: LawPoint) -> EnergyLaw:
        """Return a law of a point that was met, in pJ."""
        if entry.number not in self._energies:
            compute_pj = Fraction(self._place.job.target.costs.compute_pj)
            self._energies[entry.number] = entry.law.energy_terms(self.levels, compute_pj)
        return self._energies[entry.number]

    def clear(self) -> None:
        """Forget the points that were met."""
        for known in (self._met, self._nests, self._shared):
            known.clear()


def _reproduced(energies_pj: Mapping[Place, float], row: Mapping[str, Any], tolerance: float) -> bool:
    return all(
        abs(energy - row[f"{level}_{space.lower()}_pj"]) <= tolerance * energy
        for (level, space), energy in energies_pj.items()
    )


def _layers(sweep: Sweep) -> Generator[Layer, str]:
    """Yield the layer of the name that is sent, found at once where they are sent in order; first, any one."""
    label = yield sweep.points[0].layer
    for layer in (point.layer for point in sweep.points):
        name = layer.label
        while name == label:
            label = yield layer
    by_label = {point.layer.label: point.layer for point in sweep.points}
    while True:
        label = yield by_label[label]
