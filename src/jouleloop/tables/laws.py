"""The law behind every point of an energies table: exact energies in the layer's sizes, and the classes of mappings."""

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

import pandas as pd

from jouleloop.mapping.compact import parse_compact, parse_kept
from jouleloop.mapping.mapping import Mapping as NestMapping
from jouleloop.model.symbolic import Symbol, nest_symbols, symbolic_energies
from jouleloop.stats.expression import evaluate_variable
from jouleloop.stats.laws import (
    COMPUTE,
    EnergyLaw,
    LawBook,
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
_TERM_COLUMNS = ["architecture", "law", "level", "data_space", "action", "monomial", "accesses", "coefficient_pj"]


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


class _Point(NamedTuple):
    sweep: Sweep
    row: dict[str, Any]
    problem: Problem
    symbols: tuple[Symbol, ...]
    nest: NestLaws | None
    laws: list[LawPoint]
    partial_pj: float


def law_tables(energies: pd.DataFrame, jobs: Mapping[str, Job], sweeps: Sequence[Sweep]) -> LawTables:
    """Return the laws of all usable points of ``sweeps``.

    Sweeps of one architecture whose laws are in the same sizes share their classes and numbers: all fully-connected
    ones, for instance.
    """
    laws: list[dict[str, Any]] = []
    points: list[dict[str, Any]] = []
    terms: list[dict[str, Any]] = []
    for architecture, job in jobs.items():
        groups: dict[tuple[str, tuple[str, ...]], list[tuple[Sweep, pd.DataFrame]]] = defaultdict(list)
        for sweep in sweeps:
            rows = energies[(energies["architecture"] == architecture) & (energies["sweep"] == sweep.name)]
            rows = rows[rows["status"] == "ok"]
            if len(rows):
                groups[sweep.points[0].layer.kind.base, _sizes(sweep, rows)].append((sweep, rows))
        numbered = 0
        for (_, sizes), members in groups.items():
            found = _Group(architecture, job, sizes, numbered)
            found.add(members)
            laws += found.laws
            points += found.points
            terms += found.terms
            numbered += found.count
    return LawTables(
        _ordered(pd.DataFrame(laws, columns=None if laws else _LAW_COLUMNS)),
        pd.DataFrame(points, columns=None if points else _POINT_COLUMNS),
        pd.DataFrame(terms, columns=None if terms else _TERM_COLUMNS),
    )


def _sizes(sweep: Sweep, rows: pd.DataFrame) -> tuple[str, ...]:
    """Return the sizes that the laws of a sweep are in: n and m of fully-connected layers, else all that vary."""
    kind = sweep.points[0].layer.kind
    if kind.base == "conv" and (rows[["N", "R", "S", "P", "Q", "groups"]] == 1).all(axis=None):
        return _FC
    return tuple(name for column, name in kind.fields if column in rows.columns and rows[column].nunique() > 1)


class _Group:
    """The laws of the sweeps of one architecture that are in the same sizes."""

    def __init__(self, architecture: str, job: Job, sizes: tuple[str, ...], first: int) -> None:
        self.architecture, self.job, self.sizes, self.first = architecture, job, sizes, first
        self.fc = sizes == _FC
        self.book = LawBook()
        self.nests: dict[str, list[NestLaws]] = defaultdict(list)
        self.count = 0
        self._energies: dict[int, EnergyLaw] = {}
        self.laws: list[dict[str, Any]] = []
        self.points: list[dict[str, Any]] = []
        self.terms: list[dict[str, Any]] = []

    def add(self, members: Iterable[tuple[Sweep, pd.DataFrame]]) -> None:
        """Find the laws of all points, and write the rows."""
        found = []
        for sweep, rows in members:
            layers = {point.layer.label: point.layer for point in sweep.points}
            variable = evaluate_variable(sweep.variable, rows)
            records = rows.assign(variable=variable).to_dict(orient="records")
            found += [
                self._point(sweep, {str(k): v for k, v in row.items()}, layers[row["layer"]].problem())
                for row in records
            ]
        chosen = fewest_laws([point.laws for point in found])
        obeyed: dict[int, list[int]] = defaultdict(list)
        for index, entry in enumerate(chosen):
            if entry is not None:
                obeyed[entry.number].append(index)
        ranked = sorted(obeyed, key=lambda number: (-len(obeyed[number]), obeyed[number][0]))
        names = {number: f"{self.architecture}-{self.first + i + 1}" for i, number in enumerate(ranked)}
        self.count = len(ranked)
        self._energies = {number: self._priced(number, found[obeyed[number][0]]) for number in ranked}
        for number in ranked:
            first = obeyed[number][0]
            self._write_terms(names[number], number, found[first])
            by_sweep: dict[str, list[int]] = defaultdict(list)
            for index in obeyed[number]:
                by_sweep[found[index].sweep.name].append(index)
            for indices in by_sweep.values():
                self._write_law(names[number], [(found[i], chosen[i]) for i in indices])
        for point, entry in zip(found, chosen, strict=True):
            self._write_point(point, entry, names, ranked[:1])

    def _priced(self, number: int, point: _Point) -> EnergyLaw:
        """Return a law in pJ; ``point`` is one that obeys it."""
        if point.nest is None:
            raise ValueError("a point without a nest obeys no law")
        compute_pj = Fraction(self.job.target.costs.compute_pj)
        return self.book.laws[number].energy_terms(point.nest.symbolic.levels, compute_pj)

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
        return NestLaws(symbolic, self.sizes, self.book)

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

    def _write_law(self, name: str, members: list[tuple[_Point, LawPoint | None]]) -> None:
        point, entry = members[0]
        if entry is None:
            return
        energy = self._energies[entry.number]
        structures = {structure_text(p.row["mapping"], p.symbols, e, self.fc) for p, e in members if e}
        self.laws.append(
            {
                "architecture": self.architecture,
                "sweep": point.sweep.name,
                "law": name,
                "points": len(members),
                "formula_data": polynomial_text(energy.data_pj, fc=self.fc),
                "formula_total": polynomial_text(energy.total_pj, fc=self.fc),
                "divisibility": divisibility_text(point.symbols, entry, fc=self.fc),
                "structure": structure_text(point.row["mapping"], point.symbols, entry, self.fc),
                "structures": len(structures),
                "example_layer": point.row["layer"],
                "example_mapping": point.row["mapping"],
                **{
                    f"{size}_{side}": pick(self._size(p, size) for p, _ in members)
                    for size in self.sizes
                    for side, pick in (("min", min), ("max", max))
                },
                **{f"data_{name}_pj": c for name, c in self._coefficients(energy.data_pj)},
                **{f"compute_{name}_pj": c for name, c in self._coefficients(energy.compute_pj)},
            }
        )

    def _coefficients(self, terms: Terms) -> Iterator[tuple[str, float]]:
        """Yield names and coefficients of products of sizes; tiles are many, and have no columns of their own."""
        for monomial, coefficient in terms:
            if not any("/" in name for name, _ in monomial):
                yield monomial_name(monomial, fc=self.fc), float(coefficient)

    def _write_terms(self, name: str, number: int, point: _Point) -> None:
        if point.nest is None:
            return
        for place, *pair in self.book.laws[number].counts:
            costs = action_pj(point.nest.symbolic.levels, place, Fraction(self.job.target.costs.compute_pj))
            for action, terms, cost in zip(("read", "write"), pair, costs, strict=True):
                for monomial, accesses in terms:
                    self.terms.append(
                        {
                            "architecture": self.architecture,
                            "law": name,
                            "level": place[0] if place != COMPUTE else self.job.target.arch.compute.name,
                            "data_space": place[1],
                            "action": action if place != COMPUTE else "compute",
                            "monomial": monomial_name(monomial, fc=self.fc),
                            "accesses": str(accesses),
                            "access_pj": float(cost),
                            "coefficient_pj": float(accesses * cost),
                        }
                    )

    def _write_point(
        self, point: _Point, entry: LawPoint | None, names: Mapping[int, str], common: Sequence[int]
    ) -> None:
        row = point.row
        sizes = {**point.problem.bound, **point.problem.coefficient}

        def value(terms: Terms) -> float:
            return float(evaluate(terms, sizes)) + point.partial_pj

        law = self._energies[entry.number] if entry else None
        total_pj = value(law.total_pj) if law else math.nan
        self.points.append(
            {
                "architecture": self.architecture,
                "sweep": point.sweep.name,
                "layer": row["layer"],
                "variable": row["variable"],
                **{f"{name}_size": sizes.get(name, 1) for name in self.sizes},
                "law": names[entry.number] if entry else "",
                "growing": growing_text(row["mapping"], point.symbols, entry.growing, fc=self.fc) if entry else "",
                "data_pj": row["data_pj"],
                "law_data_pj": value(law.data_pj) if law else math.nan,
                "total_pj": row["total_pj"],
                "law_total_pj": total_pj,
                "partial_vectors_pj": point.partial_pj,
                "relative_error": abs(total_pj / row["total_pj"] - 1),
                "common_law": names[common[0]] if common else "",
                "common_law_data_pj": value(self._energies[common[0]].data_pj) if common else math.nan,
            }
        )

    @staticmethod
    def _size(point: _Point, name: str) -> int:
        return {**point.problem.bound, **point.problem.coefficient}.get(name, 1)


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
