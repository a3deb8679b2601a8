"""The laws of one sweep on one architecture: which its points may have, and what is said of those that were chosen."""

import hashlib
import itertools
import json
import math
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from jouleloop.columns import content_digest
from jouleloop.stats.laws import COMPUTE, NONE, IntArray, Law, LawPoint, Terms, action_pj, evaluate
from jouleloop.stats.laws_words import divisibility_text, growing_text, monomial_name, polynomial_text, structure_text
from jouleloop.study.kept import Kept
from jouleloop.tables.laws_found import FEW, FoundLaws, Row, RowLaws, SweepOn

#: What is kept beside points: how many they are; rows of laws and of terms, by the number of the law.
_COUNT, _LAWS = "points", "laws"

#: Returns the terms of the law that most points of a group obey, in pJ.
Common = Callable[[], Terms]


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
        self._place, self._folder = place, folder
        self.found = FoundLaws(place, room)
        """The laws that points obey."""
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
        points, count, first = self.found.points(), 0, True
        # One table at least tells the types.
        while (part := list(itertools.islice(points, FEW))) or first:
            pairs = [(at, number) for at, point in enumerate(part, count) for number in _numbers(point)]
            at, laws = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
            yield pa.table({"point": at, "law": laws})
            count, first = count + len(part), False
        further[_COUNT] = str(count)

    def write(self, chosen: IntArray, number: int, common: Common) -> None:
        """Write down that points obey the ``chosen`` laws, and what the ``common`` one, of that ``number``, gives."""
        inputs = [self._candidates.digest, hashlib.sha256(chosen.tobytes()).hexdigest(), number]
        self._written = Kept(self._folder, f"law_points-{self._place.name}", __name__, inputs)
        further: dict[str, str] = {}
        self._written.made(lambda: self._write(chosen, number, common(), further), further)
        self.found.clear()

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
        numbered = zip(chosen.tolist(), self.found.points(), strict=True)
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

    def _law_row(self, obeying: "_Obeying") -> dict[str, Any]:
        point, entry = obeying.row, obeying.entry
        energy = self.found.energy_of(entry)
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
            costs = action_pj(self.found.levels, place, Fraction(self._place.job.target.costs.compute_pj))
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

    def _point_row(self, point: RowLaws, entry: LawPoint | None, common: int, terms: Terms) -> dict[str, Any]:
        row = point.row.row
        sizes = {**point.row.problem.bound, **point.row.problem.coefficient}
        law = self.found.energy_of(entry) if entry else None
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
    def _size(point: RowLaws, name: str) -> int:
        problem = point.row.problem
        return {**problem.bound, **problem.coefficient}.get(name, 1)


def _numbers(point: RowLaws) -> dict[int, None]:
    return dict.fromkeys(law.number for law in point.laws)


class _Obeying:
    """The points of a sweep that obey a law: the first of them, how many, their structures and sizes."""

    def __init__(self, row: Row, entry: LawPoint) -> None:
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
