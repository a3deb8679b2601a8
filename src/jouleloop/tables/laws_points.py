"""The laws of one sweep on one architecture: what each point obeys, and what is said of the laws that were chosen."""

import hashlib
import itertools
import json
import math
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa

from jouleloop.columns import content_digest
from jouleloop.mapping.compact import parse_compact, parse_kept
from jouleloop.mapping.mapping import Mapping as NestMapping
from jouleloop.model.symbolic import LevelCosts, Symbol, nest_symbols, symbolic_energies
from jouleloop.stats.expression import evaluate_variable
from jouleloop.stats.laws import (
    COMPUTE,
    NONE,
    EnergyLaw,
    IntArray,
    Law,
    LawPoint,
    NestLaws,
    Terms,
    action_pj,
    evaluate,
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
from jouleloop.study.kept import Kept
from jouleloop.workload.problem import Problem
from jouleloop.workload.sweep import Sweep

#: The sizes of a fully-connected layer.
FC = ("C", "M")
#: Points that are as rows at a time, and points of a group that are not worked out a second time.
FEW = 2000
#: A law derived from other bounds must reproduce a point's energies to this, or the point gets one of its own.
_SAME = 1e-12
_REPRODUCED = 1e-9
#: What is kept beside points: how many they are; rows of laws and of terms, by the number of the law.
_COUNT, _LAWS = "points", "laws"

#: Returns the rows of a sweep on an architecture, in parts.
Rows = Callable[[str, Sweep], Iterable[pd.DataFrame]]
#: Returns the terms of the law that most points of a group obey, in pJ.
Common = Callable[[], Terms]


class _Point(NamedTuple):
    row: dict[str, Any]
    problem: Problem
    symbols: tuple[Symbol, ...]
    nest: NestLaws | None
    laws: list[LawPoint]
    partial_pj: float


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
class Place:
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

    def found(self) -> Iterator[tuple[dict[str, Any], Problem]]:
        """Yield the usable rows with what they are rows of."""
        layers = {point.layer.label: point.layer for point in self.sweep.points}
        for rows in usable(self.rows(self.architecture, self.sweep)):
            variable = evaluate_variable(self.sweep.variable, rows)
            for row in rows.assign(variable=variable).to_dict(orient="records"):
                yield {str(k): v for k, v in row.items()}, layers[row["layer"]].problem()


class SweepLaws:
    """The laws of the usable points of a sweep, which do not depend on those of other sweeps.

    Points are looked at twice: to find the laws that each obeys, and, when those that hold for most points of all
    sweeps are known, to write them down. Both are kept by all that decides them.

    Parameters
    ----------
    folder
        Where they are kept.
    room
        As by `room_between`.
    """

    def __init__(self, place: Place, folder: Path, room: Iterator[object]) -> None:
        self.sweep = place.sweep
        self._place, self._folder, self._room = place, folder, room
        self._met: list[_Point] = []
        self._nests: dict[str, list[NestLaws]] = defaultdict(list)
        self._levels: dict[str, LevelCosts] = {}
        self._energies: dict[int, EnergyLaw] = {}
        # The keys of results say what layers, architecture and energies are.
        content = content_digest(place.rows(place.architecture, place.sweep))
        inputs = [place.sweep.name, place.sweep.variable, list(place.sizes), place.job.target.factors, content]
        self._candidates = Kept(folder, f"law_candidates-{place.name}", __name__, inputs)
        self._written: Kept | None = None

    def candidates(self) -> tuple[IntArray, IntArray, int]:
        """Return the laws that each point obeys: pairs of its position and a law's number, and how many points are."""
        further: dict[str, str] = {}
        self._candidates.made(lambda: self._find(further), further)
        pairs = pd.concat(self._candidates.parts(), ignore_index=True)
        return pairs["point"].to_numpy(), pairs["law"].to_numpy(), int(self._candidates.further()[_COUNT])

    def _find(self, further: dict[str, str]) -> Iterator[pa.Table]:
        points, count, first = self._points(), 0, True
        # One table at least tells the types.
        while (part := list(itertools.islice(points, FEW))) or first:
            pairs = [(at, number) for at, point in enumerate(part, count) for number in _numbers(point)]
            at, laws = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
            yield pa.table({"point": at, "law": laws})
            count, first = count + len(part), False
        further[_COUNT] = str(count)

    def _points(self) -> Iterator[_Point]:
        """Yield all points; the first ones stay in memory where there is room."""
        yield from self._met
        for row, problem in itertools.islice(self._place.found(), len(self._met), None):
            point = self._point(row, problem)
            if next(self._room, None) is not None:
                self._met.append(point)
            yield point

    def energy(self, position: int, number: int) -> EnergyLaw:
        """Return a law of the point in a position, in pJ."""
        # Those before are looked at, too: the same as when all are.
        points = iter(self._met) if position < len(self._met) else self._points()
        return self._energy(next(itertools.islice(points, position, None)), number)

    def _energy(self, point: _Point, number: int) -> EnergyLaw:
        if number not in self._energies:
            law = next(entry.law for entry in point.laws if entry.number == number)
            self._energies[number] = law.energy_terms(self._levels, Fraction(self._place.job.target.costs.compute_pj))
        return self._energies[number]

    def write(self, chosen: IntArray, number: int, common: Common) -> None:
        """Write down that points obey the ``chosen`` laws, and what the ``common`` one, of that ``number``, gives."""
        inputs = [self._candidates.digest, hashlib.sha256(chosen.tobytes()).hexdigest(), number]
        self._written = Kept(self._folder, f"law_points-{self._place.name}", __name__, inputs)
        further: dict[str, str] = {}
        self._written.made(lambda: self._write(chosen, number, common(), further), further)
        self._met.clear()
        self._nests.clear()

    def points(self, names: Mapping[int, str]) -> Iterator[pd.DataFrame]:
        """Yield the rows of points in parts, with the names of laws."""
        for part in self._kept.parts():
            yield part.assign(**{name: part[name].map(names).fillna("") for name in ("law", "common_law")})

    @property
    def _kept(self) -> Kept:
        if self._written is None:
            raise RuntimeError("laws are read before they are written")
        return self._written

    @cached_property
    def rows(self) -> dict[int, dict[str, Any]]:
        """The rows of laws by number, without names."""
        return {number: row for number, row, _ in self._said}

    @cached_property
    def terms(self) -> dict[int, list[dict[str, Any]]]:
        """The rows of the terms of laws by number, without names."""
        return {number: rows for number, _, rows in self._said}

    @cached_property
    def _said(self) -> list[Any]:
        found: list[Any] = json.loads(self._kept.further()[_LAWS])
        return found

    def _write(self, chosen: IntArray, common: int, terms: Terms, further: dict[str, str]) -> Iterator[pa.Table]:
        obeying: dict[int, _Obeying] = {}
        numbered = zip(chosen.tolist(), self._points(), strict=True)
        schema = None
        while part := list(itertools.islice(numbered, FEW)):
            rows = []
            for number, point in part:
                entry = next((law for law in point.laws if law.number == number), None)
                if entry is not None:
                    structure = structure_text(point.row["mapping"], point.symbols, entry, self._place.fc)
                    of_law = obeying.setdefault(number, _Obeying(point, entry))
                    of_law.add(structure, [self._size(point, size) for size in self._place.sizes])
                rows.append(self._point_row(point, entry, common, terms))
            table = pa.Table.from_pandas(pd.DataFrame(rows), schema, preserve_index=False)
            schema = table.schema
            yield table
        said = [
            (number, self._law_row(number, found), list(self._terms(found.entry.law)))
            for number, found in obeying.items()
        ]
        further[_LAWS] = json.dumps(said)

    def _point(self, row: dict[str, Any], problem: Problem) -> _Point:
        mapping = parse_compact(str(row["mapping"]), parse_kept(str(row["kept"])))
        target = self._place.job.target.for_shape(problem.shape)
        symbols = nest_symbols(problem, target.arch, mapping, early=bool(mapping.imperfect))
        values = [symbol.value for symbol in symbols]
        # Counts of loops that end early hold for one nest, so numbers do; its laws are those of long nests.
        early = bool(mapping.imperfect)
        skeleton = f"{re.sub(r'[0-9,]+', '', str(row['mapping']))} {problem.shape.name}"
        known = [] if early else self._nests[skeleton]
        nest = next((one for one in known if _reproduced(one, values, row, _SAME)), None)
        if nest is None:
            nest = self._counted(problem, mapping, () if early else self._place.sizes)
            known.append(nest)
            if not _reproduced(nest, values, row, _REPRODUCED):
                return _Point(row, problem, symbols, None, [], math.nan)
        laws = [] if early else nest.laws(symbols)
        if self._place.job.target.factors == "imperfect":
            laws += self._laws_of_long_nests(problem, mapping, nest, values)
        return _Point(row, problem, symbols, nest, laws, float(nest.partial_pj(values)))

    def _counted(self, problem: Problem, mapping: NestMapping, sizes: Sequence[str]) -> NestLaws:
        target = self._place.job.target.for_shape(problem.shape)
        symbolic = symbolic_energies(problem, target.arch, target.costs, mapping, target.semantics, sizes)
        self._levels |= symbolic.levels
        return NestLaws(symbolic, self._place.sizes)

    def _laws_of_long_nests(
        self, problem: Problem, mapping: NestMapping, nest: NestLaws, values: Sequence[int]
    ) -> list[LawPoint]:
        """Return the laws of the first nest of the same loops, all long, whose counts give those of this one."""
        arch = self._place.job.target.arch
        for long in long_nests(problem, mapping, self._place.sizes):
            key = str(long)
            if not self._nests[key]:
                self._nests[key].append(self._counted(*long, self._place.sizes))
            symbols = nest_symbols(problem, arch, mapping, early=bool(long[1].imperfect))
            if self._nests[key][0].agrees(nest, [symbol.value for symbol in symbols], values):
                return self._nests[key][0].laws(symbols)
        return []

    def _law_row(self, number: int, obeying: "_Obeying") -> dict[str, Any]:
        point, entry = obeying.point, obeying.entry
        energy = self._energy(point, number)
        return {
            "points": obeying.points,
            "formula_data": polynomial_text(energy.data_pj, fc=self._place.fc),
            "formula_total": polynomial_text(energy.total_pj, fc=self._place.fc),
            "divisibility": divisibility_text(point.symbols, entry, fc=self._place.fc),
            "structure": structure_text(point.row["mapping"], point.symbols, entry, self._place.fc),
            "structures": len(obeying.structures),
            "example_layer": point.row["layer"],
            "example_mapping": point.row["mapping"],
            **{
                f"{size}_{side}": ends[i]
                for i, size in enumerate(self._place.sizes)
                for side, ends in (("min", obeying.least), ("max", obeying.most))
            },
            **{f"data_{name}_pj": c for name, c in self._coefficients(energy.data_pj)},
            **{f"compute_{name}_pj": c for name, c in self._coefficients(energy.compute_pj)},
        }

    def _coefficients(self, terms: Terms) -> Iterator[tuple[str, float]]:
        """Yield names and coefficients of products of sizes; tiles are many, and have no columns of their own."""
        for monomial, coefficient in terms:
            if not any("/" in name for name, _ in monomial):
                yield monomial_name(monomial, fc=self._place.fc), float(coefficient)

    def _terms(self, law: Law) -> Iterator[dict[str, Any]]:
        for place, *pair in law.counts:
            costs = action_pj(self._levels, place, Fraction(self._place.job.target.costs.compute_pj))
            for action, terms, cost in zip(("read", "write"), pair, costs, strict=True):
                for monomial, accesses in terms:
                    yield {
                        "level": place[0] if place != COMPUTE else self._place.job.target.arch.compute.name,
                        "data_space": place[1],
                        "action": action if place != COMPUTE else "compute",
                        "monomial": monomial_name(monomial, fc=self._place.fc),
                        "accesses": str(accesses),
                        "access_pj": float(cost),
                        "coefficient_pj": float(accesses * cost),
                    }

    def _point_row(self, point: _Point, entry: LawPoint | None, common: int, terms: Terms) -> dict[str, Any]:
        row = point.row
        sizes = {**point.problem.bound, **point.problem.coefficient}

        def value(terms: Terms) -> float:
            return float(evaluate(terms, sizes)) + point.partial_pj

        law = self._energy(point, entry.number) if entry else None
        total_pj = value(law.total_pj) if law else math.nan
        return {
            "architecture": self._place.architecture,
            "sweep": self._place.sweep.name,
            "layer": row["layer"],
            "variable": row["variable"],
            **{f"{name}_size": sizes.get(name, 1) for name in self._place.sizes},
            "law": entry.number if entry else NONE,
            "growing": growing_text(row["mapping"], point.symbols, entry.growing, fc=self._place.fc) if entry else "",
            "data_pj": row["data_pj"],
            "law_data_pj": value(law.data_pj) if law else math.nan,
            "total_pj": row["total_pj"],
            "law_total_pj": total_pj,
            "partial_vectors_pj": point.partial_pj,
            "relative_error": abs(total_pj / row["total_pj"] - 1),
            "common_law": common,
            "common_law_data_pj": value(terms) if common != NONE else math.nan,
        }

    @staticmethod
    def _size(point: _Point, name: str) -> int:
        return {**point.problem.bound, **point.problem.coefficient}.get(name, 1)


def _numbers(point: _Point) -> dict[int, None]:
    return dict.fromkeys(law.number for law in point.laws)


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
