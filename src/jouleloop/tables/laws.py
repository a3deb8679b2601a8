"""The law behind every point of an energies table: exact energies in the layer's sizes, and the classes of mappings."""

import itertools
import math
import re
from array import array
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
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


class _Point(NamedTuple):
    sweep: Sweep
    row: dict[str, Any]
    problem: Problem
    symbols: tuple[Symbol, ...]
    nest: NestLaws | None
    laws: list[LawPoint]
    partial_pj: float


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
    them down. Between, only the numbers of their laws are in memory.
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
        points, laws = array("q"), array("q")
        count = 0
        for count, point in enumerate(self._points(), 1):
            if count <= _FEW:
                self._first.append(point)
            if point.nest:
                self._levels |= point.nest.symbolic.levels
            for number in dict.fromkeys(law.number for law in point.laws):
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
        self._common = None if most is None else self._energy(self._point_at(int(at[most])), int(numbers[most]))

    def _rows(self) -> Iterator[tuple[Sweep, dict[str, Any], Problem]]:
        for sweep in self.sweeps:
            layers = {point.layer.label: point.layer for point in sweep.points}
            for rows in _usable(self.rows(self.architecture, sweep)):
                variable = evaluate_variable(sweep.variable, rows)
                for row in rows.assign(variable=variable).to_dict(orient="records"):
                    yield sweep, {str(k): v for k, v in row.items()}, layers[row["layer"]].problem()

    def _points(self) -> Iterator[_Point]:
        return itertools.starmap(self._point, self._rows())

    def _point_at(self, position: int) -> _Point:
        if position < len(self._first):
            return self._first[position]
        return self._point(*next(itertools.islice(self._rows(), position, None)))

    def _energy(self, point: _Point, number: int) -> EnergyLaw:
        """Return a law of a point in pJ."""
        if number not in self._energies:
            law = next(entry.law for entry in point.laws if entry.number == number)
            self._energies[number] = law.energy_terms(self._levels, Fraction(self.job.target.costs.compute_pj))
        return self._energies[number]

    def head(self) -> pd.DataFrame:
        """Return a row of a point, for the types of its columns."""
        return pd.DataFrame([self._point_row(self._first[0], None)])

    def write(self) -> Iterator[pd.DataFrame]:
        """Yield the rows of points in parts, and count what obeys each law."""
        further = itertools.islice(self._rows(), len(self._first), None) if len(self._chosen) > _FEW else ()
        points = itertools.chain(self._first, itertools.starmap(self._point, further))
        numbered = zip(self._chosen.tolist(), points, strict=True)
        while part := list(itertools.islice(numbered, _FEW)):
            yield pd.DataFrame([self._noted(number, point) for number, point in part])

    def _noted(self, number: int, point: _Point) -> dict[str, Any]:
        """Count a point for its law, and return its row."""
        entry = next((law for law in point.laws if law.number == number), None)
        if entry is not None:
            obeying = self._obeying[number].setdefault(point.sweep.name, _Obeying(point, entry))
            structure = structure_text(point.row["mapping"], point.symbols, entry, self.fc)
            obeying.add(structure, [self._size(point, size) for size in self.sizes])
        return self._point_row(point, entry)

    def law_rows(self) -> Iterator[dict[str, Any]]:
        """Yield the rows of laws, those that most points obey first."""
        return (self._law_row(number, found) for number, own in self._obeying.items() for found in own.values())

    def term_rows(self) -> Iterator[dict[str, Any]]:
        """Yield the rows of terms in the same order of laws."""
        for number, own in self._obeying.items():
            yield from self._terms(number, next(iter(own.values())).entry.law)

    def _point(self, sweep: Sweep, row: dict[str, Any], problem: Problem) -> _Point:
        mapping = parse_compact(str(row["mapping"]), parse_kept(str(row["kept"])))
        target = self.job.target.for_shape(problem.shape)
        symbols = nest_symbols(problem, target.arch, mapping, early=bool(mapping.imperfect))
        values = [symbol.value for symbol in symbols]
        # Counts of loops that end early hold for one nest, so numbers do; its laws are those of long nests.
        early = bool(mapping.imperfect)
        skeleton = f"{re.sub(r'[0-9,]+', '', str(row['mapping']))} {problem.shape.name}"
        known = [] if early else self.nests[skeleton]
        nest = next((one for one in known if _reproduced(one, values, row, _SAME)), None)
        if nest is None:
            nest = self._counted(problem, mapping, () if early else self.sizes)
            known.append(nest)
            if not _reproduced(nest, values, row, _REPRODUCED):
                return _Point(sweep, row, problem, symbols, None, [], math.nan)
        laws = [] if early else nest.laws(symbols)
        if self.job.target.factors == "imperfect":
            laws += self._laws_of_long_nests(problem, mapping, nest, values)
        return _Point(sweep, row, problem, symbols, nest, laws, float(nest.partial_pj(values)))

    def _counted(self, problem: Problem, mapping: NestMapping, sizes: Sequence[str]) -> NestLaws:
        target = self.job.target.for_shape(problem.shape)
        symbolic = symbolic_energies(problem, target.arch, target.costs, mapping, target.semantics, sizes)
        return NestLaws(symbolic, self.sizes)

    def _laws_of_long_nests(
        self, problem: Problem, mapping: NestMapping, nest: NestLaws, values: Sequence[int]
    ) -> list[LawPoint]:
        """Return the laws of the first nest of the same loops, all long, whose counts give those of this one."""
        arch = self.job.target.arch
        for long in long_nests(problem, mapping, self.sizes):
            key = str(long)
            if not self.nests[key]:
                self.nests[key].append(self._counted(*long, self.sizes))
            symbols = nest_symbols(problem, arch, mapping, early=bool(long[1].imperfect))
            if self.nests[key][0].agrees(nest, [symbol.value for symbol in symbols], values):
                return self.nests[key][0].laws(symbols)
        return []

    def _law_row(self, number: int, obeying: "_Obeying") -> dict[str, Any]:
        point, entry = obeying.point, obeying.entry
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
        row = point.row
        sizes = {**point.problem.bound, **point.problem.coefficient}

        def value(terms: Terms) -> float:
            return float(evaluate(terms, sizes)) + point.partial_pj

        law = self._energy(point, entry.number) if entry else None
        total_pj = value(law.total_pj) if law else math.nan
        return {
            "architecture": self.architecture,
            "sweep": point.sweep.name,
            "layer": row["layer"],
            "variable": row["variable"],
            **{f"{name}_size": sizes.get(name, 1) for name in self.sizes},
            "law": self._names[entry.number] if entry else "",
            "growing": growing_text(row["mapping"], point.symbols, entry.growing, fc=self.fc) if entry else "",
            "data_pj": row["data_pj"],
            "law_data_pj": value(law.data_pj) if law else math.nan,
            "total_pj": row["total_pj"],
            "law_total_pj": total_pj,
            "partial_vectors_pj": point.partial_pj,
            "relative_error": abs(total_pj / row["total_pj"] - 1),
            "common_law": next(iter(self._names.values()), ""),
            "common_law_data_pj": value(self._common.data_pj) if self._common else math.nan,
        }

    @staticmethod
    def _size(point: _Point, name: str) -> int:
        return {**point.problem.bound, **point.problem.coefficient}.get(name, 1)


class _Obeying:
    """The points of a sweep that obey a law: the first of them, how many, their structures and sizes."""

    def __init__(self, point: _Point, entry: LawPoint) -> None:
        self.point, self.entry = point, entry
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


def _reproduced(nest: NestLaws, values: Sequence[int], row: Mapping[str, Any], tolerance: float) -> bool:
    return all(
        abs(energy - row[f"{level}_{space.lower()}_pj"]) <= tolerance * energy
        for (level, space), energy in nest.energies_pj(values).items()
    )


def _ordered(table: pd.DataFrame) -> pd.DataFrame:
    """Return the laws with the columns of coefficients last."""
    coefficients = [name for name in table.columns if re.fullmatch(r"(data|compute)_.*_pj", str(name))]
    rest = [name for name in table.columns if name not in coefficients]
    return table[[*rest, *coefficients]]
