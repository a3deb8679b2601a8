"""The law behind every point of an energies table: exact energies in the layer's sizes, and the classes of mappings."""

import itertools
import math
import re
from array import array
from collections import defaultdict
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from jouleloop.mapping.compact import parse_compact, parse_kept
from jouleloop.mapping.mapping import Mapping as NestMapping
from jouleloop.model.symbolic import LevelCosts, Symbol, nest_symbols, symbolic_energies
from jouleloop.stats.expression import evaluate_variable
from jouleloop.stats.laws import (
    COMPUTE,
    NONE,
    EnergyLaw,
    Law,
    LawPoint,
    NestLaws,
    Place,
    Terms,
    action_pj,
    evaluate,
    fewest_laws,
)
from jouleloop.stats.laws_nests import long_nests
from jouleloop.stats.laws_words import (
    divisibility_text,
    growing_text,
    monomial_name,
    polynomial_text,
    structure_text,
)
from jouleloop.study.compute import Job
from jouleloop.workload.layer import Layer
from jouleloop.workload.problem import Problem
from jouleloop.workload.sweep import Sweep

_FC = ("C", "M")
#: A law derived from other bounds must reproduce a point's energies to this, or the point gets one of its own.
_SAME = 1e-12
_REPRODUCED = 1e-9

#: Columns of the tables where no point has a law.
_LAW_COLUMNS = ["architecture", "sweep", "law", "points", "formula_data", "formula_total"]
_POINT_COLUMNS = ["architecture", "sweep", "layer", "variable", "law", "data_pj", "law_data_pj", "common_law_data_pj"]
_NO_POINTS = pd.DataFrame(columns=_POINT_COLUMNS)
#: Texts of the table of energies that laws do not follow from.
_UNUSED = ("key", "reason", "engine", "energy_table", "estimator", "objective", "semantics", "constraints", "stopped")
_TERM_COLUMNS = ["architecture", "law", "level", "data_space", "action", "monomial", "accesses", "coefficient_pj"]
#: What is told of a point besides its energies.
_TOLD = ("layer", "mapping", "kept")
#: Points that are as rows at a time, and points of a group that are not worked out a second time.
_FEW = 2000

#: Returns the rows of a sweep on an architecture, in parts.
Rows = Callable[[str, Sweep], Iterable[pd.DataFrame]]


@dataclass(frozen=True)
class LawTables:
    """The tables of laws.

    Attributes
    ----------
    laws
        One row per architecture, sweep and law: results/laws.csv.
    points
        One row per point: results/law_points.csv.
    terms
        One row per law, level, data space, action and monomial: results/law_terms.csv.
    """

    laws: pd.DataFrame
    points: pd.DataFrame
    terms: pd.DataFrame


def is_used(name: str) -> bool:
    """Whether laws need the column of that name of a table of energies."""
    return name not in _UNUSED


class _Row(NamedTuple):
    """A row of the table of energies, and the nest that it tells of."""

    sweep: Sweep
    row: dict[str, Any]
    problem: Problem
    mapping: NestMapping
    symbols: tuple[Symbol, ...]


class _Point(NamedTuple):
    """A row with its laws."""

    row: _Row
    nest: NestLaws | None
    laws: Iterable[LawPoint]
    """Read once, where they are not a list."""
    partial_pj: float

    def law(self, number: int) -> LawPoint | None:
        """Return the law of that number, if it is one of them."""
        return next((law for law in self.laws if law.number == number), None)


def law_tables(energies: pd.DataFrame, jobs: Mapping[str, Job], sweeps: Sequence[Sweep]) -> LawTables:
    """Return the laws of all usable points of ``sweeps``; see `LawsFound`."""

    def rows(architecture: str, sweep: Sweep) -> list[pd.DataFrame]:
        return [energies[(energies["architecture"] == architecture) & (energies["sweep"] == sweep.name)]]

    found = LawsFound(jobs, sweeps, rows)
    points = [part for _, again in found.points() for part in again()]
    return LawTables(found.laws(), pd.concat(points or [_NO_POINTS], ignore_index=True), found.terms())


class LawsFound:
    """The laws of all usable points of sweeps, whose rows are in memory a part at a time.

    Sweeps of one architecture whose laws are in the same sizes share their classes and numbers: all fully-connected
    ones, for instance.
    """

    def __init__(self, jobs: Mapping[str, Job], sweeps: Sequence[Sweep], rows: Rows) -> None:
        self._groups: list[_Group] = []
        for architecture, job in jobs.items():
            members: dict[tuple[str, tuple[str, ...]], list[Sweep]] = defaultdict(list)
            for sweep in sweeps:
                sizes = _sizes(sweep, rows(architecture, sweep))
                if sizes is not None:
                    members[sweep.points[0].layer.kind.base, sizes].append(sweep)
            numbered = 0
            for (_, sizes), own in members.items():
                self._groups.append(_Group(architecture, job, sizes, numbered, own, rows))
                numbered += self._groups[-1].count

    def points(self) -> Iterator[tuple[pd.DataFrame, Callable[[], Iterator[pd.DataFrame]]]]:
        """Yield the parts of the table of points: the first row of each, and what yields all of them.

        When all were yielded, laws and terms are complete.
        """
        for group in self._groups:
            yield group.head(), group.write
        if not self._groups:
            yield _NO_POINTS, lambda: iter([_NO_POINTS])

    def laws(self) -> pd.DataFrame:
        """Return the table of laws."""
        rows = [row for group in self._groups for row in group.law_rows()]
        return _ordered(pd.DataFrame(rows, columns=None if rows else _LAW_COLUMNS))

    def terms(self) -> pd.DataFrame:
        """Return the table of terms."""
        rows = [row for group in self._groups for row in group.term_rows()]
        return pd.DataFrame(rows, columns=None if rows else _TERM_COLUMNS)


def _usable(parts: Iterable[pd.DataFrame]) -> Iterator[pd.DataFrame]:
    """Yield the rows with energies, a few at a time."""
    for part in parts:
        rows = part[part["status"] == "ok"]
        for first in range(0, len(rows), _FEW):
            yield rows.iloc[first : first + _FEW]


def _sizes(sweep: Sweep, parts: Iterable[pd.DataFrame]) -> tuple[str, ...] | None:
    """Return the sizes that the laws of a sweep are in: n and m of fully-connected layers, else all that vary.

    None where it has no usable points.
    """
    kind = sweep.points[0].layer.kind
    least: dict[str, Any] = {}
    most: dict[str, Any] = {}
    for rows in _usable(parts):
        for column in (column for column, _ in kind.fields if column in rows.columns):
            least[column] = min(least.get(column, math.inf), rows[column].min())
            most[column] = max(most.get(column, -math.inf), rows[column].max())
    if not least:
        return None
    ones = ("N", "R", "S", "P", "Q", "groups")
    if kind.base == "conv" and all(least[name] == most[name] == 1 for name in ones):
        return _FC
    return tuple(name for column, name in kind.fields if column in least and least[column] < most[column])


class _Group:
    """The laws of the sweeps of one architecture that are in the same sizes.

    Points are looked at twice: to find the laws that each obeys, and, when those that hold for most are known, to write
    them down. Between, numbers are in memory: of each point its nest, what it costs beyond a law, and its laws.
    """

    def __init__(
        self, architecture: str, job: Job, sizes: tuple[str, ...], first: int, sweeps: Sequence[Sweep], rows: Rows
    ) -> None:
        self.architecture, self.job, self.sizes = architecture, job, sizes
        self.sweeps, self.rows = sweeps, rows
        self.fc = sizes == _FC
        self.nests: dict[str, list[NestLaws]] = defaultdict(list)
        self._first: list[_Point] = []
        self._levels: dict[str, LevelCosts] = {}
        #: What points have in common, and which of it is each one's; the laws of others are looked for again.
        self._shared: dict[int, NestLaws] = {}
        self._nest_of, self._partial_pj = array("q"), array("d")
        points, laws = array("i"), array("q")
        count = 0
        for count, row in enumerate(self._rows(), 1):
            point = self._point(row)
            found = list(point.laws)
            if count <= _FEW:
                self._first.append(point._replace(laws=found))
            if point.nest:
                self._levels |= point.nest.symbolic.levels
            shared = self._is_shared(row) and point.nest is not None
            if point.nest and shared:
                self._shared[id(point.nest)] = point.nest
            self._nest_of.append(id(point.nest) if shared else NONE)
            self._partial_pj.append(point.partial_pj)
            for number in dict.fromkeys(law.number for law in found):
                points.append(count - 1)
                laws.append(number)
        self._chosen = fewest_laws(np.asarray(points), np.asarray(laws), count)
        numbers, at, obeyed = np.unique(self._chosen, return_index=True, return_counts=True)
        order = [i for i in np.lexsort((at, -obeyed)) if self._chosen[at[i]] != NONE]
        self.count = len(order)
        self._names = {int(numbers[i]): f"{architecture}-{first + place}" for place, i in enumerate(order, 1)}
        self._obeying: dict[int, dict[str, _Obeying]] = {number: {} for number in self._names}
        self._energies: dict[int, EnergyLaw] = {}
        most = order[0] if order else None
        self._common = None if most is None else self._energy(self._point_at(int(at[most])).law(int(numbers[most])))

    def _rows(self) -> Iterator[_Row]:
        arch = self.job.target.arch
        for sweep in self.sweeps:
            layers = _layers(sweep)
            next(layers)
            for rows in _usable(self.rows(self.architecture, sweep)):
                named = [name for name in rows.columns if name in _TOLD or str(name).endswith("_pj")]
                told = rows[named].assign(variable=evaluate_variable(sweep.variable, rows))
                for values in zip(*(told[name].to_numpy(object) for name in told.columns), strict=True):
                    row = dict(zip(map(str, told.columns), values, strict=True))
                    mapping = parse_compact(str(row["mapping"]), parse_kept(str(row["kept"])))
                    problem = layers.send(row["layer"]).problem()
                    symbols = nest_symbols(problem, arch, mapping, early=bool(mapping.imperfect))
                    yield _Row(sweep, row, problem, mapping, symbols)

    def _is_shared(self, row: _Row) -> bool:
        """Whether the laws of a point are those of its nest."""
        return not row.mapping.imperfect and self.job.target.factors != "imperfect"

    def _point_at(self, position: int) -> _Point:
        if position < len(self._first):
            return self._first[position]
        return self._again(position, next(itertools.islice(self._rows(), position, None)))

    def _again(self, position: int, row: _Row) -> _Point:
        """Return a point that was looked at before."""
        nest = self._shared.get(self._nest_of[position])
        return _Point(row, nest, nest.laws(row.symbols), self._partial_pj[position]) if nest else self._point(row)

    def _energy(self, entry: LawPoint | None) -> EnergyLaw | None:
        """Return a law in pJ."""
        if entry is None:
            return None
        if entry.number not in self._energies:
            compute_pj = Fraction(self.job.target.costs.compute_pj)
            self._energies[entry.number] = entry.law.energy_terms(self._levels, compute_pj)
        return self._energies[entry.number]

    def head(self) -> pd.DataFrame:
        """Return a row of a point, for the types of its columns."""
        return pd.DataFrame([self._point_row(self._first[0], None)])

    def write(self) -> Iterator[pd.DataFrame]:
        """Yield the rows of points in parts, and count what obeys each law."""
        further = itertools.islice(enumerate(self._rows()), len(self._first), None) if len(self._chosen) > _FEW else ()
        points = itertools.chain(self._first, itertools.starmap(self._again, further))
        numbered = zip(self._chosen, points, strict=True)
        while part := [self._noted(int(number), point) for number, point in itertools.islice(numbered, _FEW)]:
            yield pd.DataFrame(part)

    def _noted(self, number: int, point: _Point) -> dict[str, Any]:
        """Count a point for its law, and return its row."""
        entry = point.law(number)
        if entry is not None:
            mapping, symbols = point.row.row["mapping"], point.row.symbols
            obeying = self._obeying[number].setdefault(point.row.sweep.name, _Obeying(point.row, entry))
            obeying.add(structure_text(mapping, symbols, entry, self.fc), [self._size(point, s) for s in self.sizes])
        return self._point_row(point, entry)

    def law_rows(self) -> Iterator[dict[str, Any]]:
        """Yield the rows of laws, those that most points obey first."""
        return (self._law_row(number, found) for number, own in self._obeying.items() for found in own.values())

    def term_rows(self) -> Iterator[dict[str, Any]]:
        """Yield the rows of terms in the same order of laws."""
        for number, own in self._obeying.items():
            yield from self._terms(number, next(iter(own.values())).entry.law)

    def _point(self, row: _Row) -> _Point:
        values = [symbol.value for symbol in row.symbols]
        # Counts of loops that end early hold for one nest, so numbers do; its laws are those of long nests.
        early = bool(row.mapping.imperfect)
        skeleton = f"{re.sub(r'[0-9,]+', '', str(row.row['mapping']))} {row.problem.shape.name}"
        known = [] if early else self.nests[skeleton]
        for nest in known:
            energies, partial = nest.energies_pj(values)
            if _reproduced(energies, row.row, _SAME):
                break
        else:
            nest = self._counted(row.problem, row.mapping, () if early else self.sizes)
            known.append(nest)
            energies, partial = nest.energies_pj(values)
            if not _reproduced(energies, row.row, _REPRODUCED):
                return _Point(row, None, [], math.nan)
        laws = [] if early else nest.laws(row.symbols)
        if self.job.target.factors == "imperfect":
            laws = itertools.chain(laws, self._laws_of_long_nests(row.problem, row.mapping, nest, values))
        return _Point(row, nest, laws, float(partial))

    def _counted(self, problem: Problem, mapping: NestMapping, sizes: Sequence[str]) -> NestLaws:
        target = self.job.target.for_shape(problem.shape)
        symbolic = symbolic_energies(problem, target.arch, target.costs, mapping, target.semantics, sizes)
        return NestLaws(symbolic, self.sizes)

    def _laws_of_long_nests(
        self, problem: Problem, mapping: NestMapping, nest: NestLaws, values: Sequence[int]
    ) -> Iterator[LawPoint]:
        """Yield the laws of the first nest of the same loops, all long, whose counts give those of this one."""
        arch = self.job.target.arch
        for long in long_nests(problem, mapping, self.sizes):
            key = str(long)
            if not self.nests[key]:
                self.nests[key].append(self._counted(*long, self.sizes))
            symbols = nest_symbols(problem, arch, mapping, early=bool(long[1].imperfect))
            if self.nests[key][0].agrees(nest, [symbol.value for symbol in symbols], values):
                yield from self.nests[key][0].laws(symbols)
                return

    def _law_row(self, number: int, obeying: "_Obeying") -> dict[str, Any]:
        point, entry = obeying.row, obeying.entry
        energy = self._energies[number]
        return {
            "architecture": self.architecture,
            "sweep": point.sweep.name,
            "law": self._names[number],
            "points": obeying.points,
            "formula_data": polynomial_text(energy.data_pj, fc=self.fc),
            "formula_total": polynomial_text(energy.total_pj, fc=self.fc),
            "divisibility": divisibility_text(point.symbols, entry, fc=self.fc),
            "structure": structure_text(point.row["mapping"], point.symbols, entry, self.fc),
            "structures": len(obeying.structures),
            "example_layer": point.row["layer"],
            "example_mapping": point.row["mapping"],
            **{
                f"{size}_{side}": ends[i]
                for i, size in enumerate(self.sizes)
                for side, ends in (("min", obeying.least), ("max", obeying.most))
            },
            **{f"data_{name}_pj": c for name, c in self._coefficients(energy.data_pj)},
            **{f"compute_{name}_pj": c for name, c in self._coefficients(energy.compute_pj)},
        }

    def _coefficients(self, terms: Terms) -> Iterator[tuple[str, float]]:
        """Yield names and coefficients of products of sizes; tiles are many, and have no columns of their own."""
        for monomial, coefficient in terms:
            if not any("/" in name for name, _ in monomial):
                yield monomial_name(monomial, fc=self.fc), float(coefficient)

    def _terms(self, number: int, law: Law) -> Iterator[dict[str, Any]]:
        for place, *pair in law.counts:
            costs = action_pj(self._levels, place, Fraction(self.job.target.costs.compute_pj))
            for action, terms, cost in zip(("read", "write"), pair, costs, strict=True):
                for monomial, accesses in terms:
                    yield {
                        "architecture": self.architecture,
                        "law": self._names[number],
                        "level": place[0] if place != COMPUTE else self.job.target.arch.compute.name,
                        "data_space": place[1],
                        "action": action if place != COMPUTE else "compute",
                        "monomial": monomial_name(monomial, fc=self.fc),
                        "accesses": str(accesses),
                        "access_pj": float(cost),
                        "coefficient_pj": float(accesses * cost),
                    }

    def _point_row(self, point: _Point, entry: LawPoint | None) -> dict[str, Any]:
        row = point.row.row
        sizes = {**point.row.problem.bound, **point.row.problem.coefficient}
        law = self._energy(entry)
        data_pj = total_pj = common_pj = math.nan
        if law:
            data, compute = evaluate(law.data_pj, sizes), evaluate(law.compute_pj, sizes)
            data_pj, total_pj = float(data) + point.partial_pj, float(data + compute) + point.partial_pj
        if self._common:
            own = self._common is law
            common_pj = data_pj if own else float(evaluate(self._common.data_pj, sizes)) + point.partial_pj
        return {
            "architecture": self.architecture,
            "sweep": point.row.sweep.name,
            "layer": row["layer"],
            "variable": row["variable"],
            **{f"{name}_size": sizes.get(name, 1) for name in self.sizes},
            "law": self._names[entry.number] if entry else "",
            "growing": growing_text(row["mapping"], point.row.symbols, entry.growing, fc=self.fc) if entry else "",
            "data_pj": row["data_pj"],
            "law_data_pj": data_pj,
            "total_pj": row["total_pj"],
            "law_total_pj": total_pj,
            "partial_vectors_pj": point.partial_pj,
            "relative_error": abs(total_pj / row["total_pj"] - 1),
            "common_law": next(iter(self._names.values()), ""),
            "common_law_data_pj": common_pj,
        }

    @staticmethod
    def _size(point: _Point, name: str) -> int:
        problem = point.row.problem
        return {**problem.bound, **problem.coefficient}.get(name, 1)


class _Obeying:
    """The points of a sweep that obey a law: the first of them, how many, their structures and sizes."""

    def __init__(self, row: _Row, entry: LawPoint) -> None:
        self.row, self.entry = row, entry
        self.points = 0
        self.structures: set[str] = set()
        self.least: list[int] = []
        self.most: list[int] = []

    def add(self, structure: str, sizes: list[int]) -> None:
        """Count a point in."""
        self.points += 1
        self.structures.add(structure)
        self.least = list(map(min, self.least or sizes, sizes))
        self.most = list(map(max, self.most or sizes, sizes))


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


def _ordered(table: pd.DataFrame) -> pd.DataFrame:
    """Return the laws with the columns of coefficients last."""
    coefficients = [name for name in table.columns if re.fullmatch(r"(data|compute)_.*_pj", str(name))]
    rest = [name for name in table.columns if name not in coefficients]
    return table[[*rest, *coefficients]]
