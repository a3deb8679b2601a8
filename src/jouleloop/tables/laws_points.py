"""The laws of one sweep on one architecture: what each point obeys, and what is said of the laws that were chosen."""

import hashlib
import itertools
import json
import math
import re
from array import array
from collections import defaultdict
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
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
    Place,
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
#: What is kept beside points: how many they are; rows of laws and of terms, by the number of the law.
_COUNT, _LAWS = "points", "laws"

#: What is told of a point besides its energies.
_TOLD = ("layer", "mapping", "kept")

#: Returns the rows of a sweep on an architecture, in parts.
Rows = Callable[[str, Sweep], Iterable[pd.DataFrame]]
#: Returns the terms of the law that most points of a group obey, in pJ.
Common = Callable[[], Terms]


class _Row(NamedTuple):
    """A row of the table of energies, and the nest that it tells of."""

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

    def __init__(self, place: SweepOn, folder: Path, room: Iterator[object]) -> None:
        self.sweep = place.sweep
        self._place, self._folder, self._room = place, folder, room
        self._met: list[_Point] = []
        self._nests: dict[str, list[NestLaws]] = defaultdict(list)
        self._levels: dict[str, LevelCosts] = {}
        self._energies: dict[int, EnergyLaw] = {}
        # Of nests that points have in common, and which of it is each one's; the laws of others are looked for again.
        self._shared: dict[int, NestLaws] = {}
        self._nest_of, self._partial_pj = array("q"), array("d")
        self._count: int | None = None
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
        self._count = count
        further[_COUNT] = str(count)

    def _points(self) -> Iterator[_Point]:
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

    def _again(self, position: int, row: _Row) -> _Point:
        """Return a point that was looked at before."""
        nest = self._shared.get(self._nest_of[position])
        return _Point(row, nest, nest.laws(row.symbols), self._partial_pj[position]) if nest else self._point(row)

    def _rows(self) -> Iterator[_Row]:
        arch = self._place.job.target.arch
        sweep = self.sweep
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
                yield _Row(row, problem, mapping, symbols)

    def _is_shared(self, row: _Row) -> bool:
        """Whether the laws of a point are those of its nest."""
        return not row.mapping.imperfect and self._place.job.target.factors != "imperfect"

    def energy(self, position: int, number: int) -> EnergyLaw:
        """Return a law of the point in a position, in pJ."""
        # Those before are looked at, too: the same as when all are.
        points = iter(self._met) if position < len(self._met) else self._points()
        entry = next(itertools.islice(points, position, None)).law(number)
        if entry is None:
            raise RuntimeError("a point does not obey a law that it obeyed before")
        return self._energy(entry)

    def _energy(self, entry: LawPoint) -> EnergyLaw:
        if entry.number not in self._energies:
            compute_pj = Fraction(self._place.job.target.costs.compute_pj)
            self._energies[entry.number] = entry.law.energy_terms(self._levels, compute_pj)
        return self._energies[entry.number]

    def write(self, chosen: IntArray, number: int, common: Common) -> None:
        """Write down that points obey the ``chosen`` laws, and what the ``common`` one, of that ``number``, gives."""
        inputs = [self._candidates.digest, hashlib.sha256(chosen.tobytes()).hexdigest(), number]
        self._written = Kept(self._folder, f"law_points-{self._place.name}", __name__, inputs)
        further: dict[str, str] = {}
        self._written.made(lambda: self._write(chosen, number, common(), further), further)
        for known in (self._met, self._nests, self._shared):
            known.clear()

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
        while True:
            rows = []
            for number, point in itertools.islice(numbered, FEW):
                entry = point.law(number)
                if entry is not None:
                    mapping, symbols = point.row.row["mapping"], point.row.symbols
                    structure = structure_text(mapping, symbols, entry, self._place.fc)
                    of_law = obeying.setdefault(number, _Obeying(point.row, entry))
                    of_law.add(structure, [self._size(point, size) for size in self._place.sizes])
                rows.append(self._point_row(point, entry, common, terms))
            if not rows:
                break
            table = pa.Table.from_pandas(pd.DataFrame(rows), schema, preserve_index=False)
            schema = table.schema
            yield table
        said = [(number, self._law_row(found), list(self._terms(found.entry.law))) for number, found in obeying.items()]
        further[_LAWS] = json.dumps(said)

    def _point(self, row: _Row) -> _Point:
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
                return _Point(row, None, [], math.nan)
        laws = [] if early else nest.laws(row.symbols)
        if self._place.job.target.factors == "imperfect":
            laws = itertools.chain(laws, self._laws_of_long_nests(row.problem, row.mapping, nest, values))
        return _Point(row, nest, laws, float(partial))

    def _counted(self, problem: Problem, mapping: NestMapping, sizes: Sequence[str]) -> NestLaws:
        target = self._place.job.target.for_shape(problem.shape)
        symbolic = symbolic_energies(problem, target.arch, target.costs, mapping, target.semantics, sizes)
        self._levels |= symbolic.levels
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

    def _law_row(self, obeying: "_Obeying") -> dict[str, Any]:
        point, entry = obeying.row, obeying.entry
        energy = self._energy(entry)
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
        row = point.row.row
        sizes = {**point.row.problem.bound, **point.row.problem.coefficient}
        law = self._energy(entry) if entry else None
        data_pj = total_pj = common_pj = math.nan
        if law:
            data, compute = evaluate(law.data_pj, sizes), evaluate(law.compute_pj, sizes)
            data_pj, total_pj = float(data) + point.partial_pj, float(data + compute) + point.partial_pj
        if common != NONE:
            own = entry is not None and entry.number == common
            common_pj = data_pj if own else float(evaluate(terms, sizes)) + point.partial_pj
        return {
            "architecture": self._place.architecture,
            "sweep": self.sweep.name,
            "layer": row["layer"],
            "variable": row["variable"],
            **{f"{name}_size": sizes.get(name, 1) for name in self._place.sizes},
            "law": entry.number if entry else NONE,
            "growing": growing_text(row["mapping"], point.row.symbols, entry.growing, fc=self._place.fc)
            if entry
            else "",
            "data_pj": row["data_pj"],
            "law_data_pj": data_pj,
            "total_pj": row["total_pj"],
            "law_total_pj": total_pj,
            "partial_vectors_pj": point.partial_pj,
            "relative_error": abs(total_pj / row["total_pj"] - 1),
            "common_law": common,
            "common_law_data_pj": common_pj,
        }

    @staticmethod
    def _size(point: _Point, name: str) -> int:
        problem = point.row.problem
        return {**problem.bound, **problem.coefficient}.get(name, 1)


def _numbers(point: _Point) -> dict[int, None]:
    return dict.fromkeys(law.number for law in point.laws)


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
