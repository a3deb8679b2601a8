"""The charted points as compact columns: sizes, energies, fits and mappings of every sweep and architecture."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from jouleloop.report.html.charted import GROUP, MOST_POINTS, even, select
from jouleloop.report.html.mappings import loops_of, stored_accesses
from jouleloop.report.html.networks import network_groups
from jouleloop.report.html.numbers import compact
from jouleloop.report.html.sources import ReportTables
from jouleloop.report.selection import fitted_line
from jouleloop.stats.expected import growth_named
from jouleloop.stats.table import ALL_RESPONSES, Response, find_responses
from jouleloop.tables.published import read_published

_LINE_POINTS = 80
#: What the store is asked by.
_KEYED = ["architecture", "sweep", "key"]


@dataclass(frozen=True)
class EmbedLimits:
    """How much is embedded, so that the page stays small."""

    points: int = MOST_POINTS
    """Points of all sweeps together; beyond, every sweep and architecture shows evenly spaced sizes."""
    accesses: int = 3_000
    """Points with tile sizes and accesses."""

    def halved(self) -> "EmbedLimits":
        """Return half of each, the accesses first."""
        if self.accesses > 200:
            return EmbedLimits(self.points, self.accesses // 4)
        return EmbedLimits(self.points // 2, self.accesses)


@dataclass(frozen=True)
class ChartData:
    """What the page's scripts draw from, and how much of the tables it is."""

    data: dict[str, Any]
    """Plain data for JSON."""
    points: int
    charted: int
    with_accesses: int
    """Points tested, points embedded, and those of them with tile sizes and accesses."""


def chart_data(tables: ReportTables, limits: EmbedLimits) -> ChartData:
    """Return the points of all tested sweeps in the order of the verdicts."""
    responses = _responses(tables)
    ok = tables.energies[tables.energies["status"] == "ok"]
    groups = [_Group(key, tables, ok) for key in tables.verdicts[GROUP].drop_duplicates().itertuples(index=False)]
    total = sum(len(group.points) for group in groups)
    share = min(1.0, limits.points / total) if total else 1.0
    for group in groups:
        group.thin(share)
    charted = sum(len(group.points) for group in groups)
    share = min(1.0, limits.accesses / charted) if charted else 1.0
    chosen = pd.concat([group.rows.loc[group.spread(share)] for group in groups]) if groups else tables.energies[:0]
    networks = network_groups(tables)
    layers = [group.rows for group in networks]
    # Of a run with very many layers as many as there are points with accesses.
    keyed = [rows.reindex(columns=_KEYED) for rows in (chosen, *layers) if len(rows)]
    known = pd.concat(keyed).iloc[: 2 * limits.accesses] if keyed else chosen
    accesses, spaces = stored_accesses(known.dropna(subset="key") if "key" in known else known, tables.store)
    shared: dict[int, int] = {}  # the same mapping found by several sweeps is embedded once
    listed: list[Any] = []
    for index in known.index:
        if index in accesses and id(accesses[index]) not in shared:
            shared[id(accesses[index])] = len(listed)
            listed.append(accesses[index])
    positions = {index: shared[id(found)] for index, found in accesses.items()}
    sweeps: dict[str, dict[str, Any]] = {}
    for group in groups:
        entry = sweeps.setdefault(group.sweep, _sweep_entry(group.sweep, tables))
        entry["groups"].append(group.as_json(responses, positions))
    data = {
        "spaces": spaces,
        "responses": {name: {"label": r.label, "unit": r.unit} for name, r in responses.items()},
        "sweeps": list(sweeps.values()),
        "accesses": listed,
        "networks": [group.as_json(positions) for group in networks],
    }
    tested = tables.charted.total if tables.charted else total
    return ChartData(data, tested, charted, sum(index in positions for index in chosen.index))


def _responses(tables: ReportTables) -> dict[str, Response]:
    """Return the tested responses by name, with the columns that each is the sum of."""
    known = {entry.name: entry for entry in find_responses(tables.energies, ALL_RESPONSES)}
    rows = tables.verdicts.drop_duplicates("response")[["response", "response_label", "unit"]]
    found = {}
    for name, label, unit in rows.itertuples(index=False):
        columns = known[name].columns if name in known else (str(name),)
        found[str(name)] = Response(str(name), columns, str(label), "" if pd.isna(unit) else str(unit))
    return found


def _sweep_entry(name: str, tables: ReportTables) -> dict[str, Any]:
    first = tables.verdicts[tables.verdicts["sweep"] == name].iloc[0]
    return {"name": name, "variable": str(first["variable"]), "groups": []}


class _Group:
    """One sweep on one architecture (one engine, one energy table)."""

    def __init__(self, key: Any, tables: ReportTables, energies: pd.DataFrame) -> None:
        self.sweep, self.architecture, self.engine, self.energy_table = (
            "" if pd.isna(part) else str(part) for part in key
        )
        self.tables = tables
        self.verdicts = select(tables.verdicts, key)
        self.fits = select(tables.fits, key)
        residuals = select(tables.residuals, key)
        # All responses of a layer have its size; the first is the one whose best layers are marked.
        self.points = residuals.drop_duplicates("layer").sort_values(["variable", "layer"], kind="stable")
        rows = select(energies, key)
        indices = pd.Series(rows.index, index=rows["layer"])
        self.rows = rows.loc[indices.loc[self.points["layer"]]]

    def thin(self, share: float) -> None:
        """Keep evenly spaced points only."""
        if share < 1:
            kept = even(len(self.points), max(50, int(share * len(self.points))))
            self.points, self.rows = self.points.iloc[kept], self.rows.iloc[kept]

    def spread(self, share: float) -> pd.Index:
        """Return the rows of evenly spaced points, the first and the last among them."""
        return self.rows.index[even(len(self.rows), max(20, int(share * len(self.rows))))]

    def as_json(self, responses: Mapping[str, Response], accesses: Mapping[int, int]) -> dict[str, Any]:
        """Return the group as plain data."""
        own = {name: responses[name] for name in self.verdicts["response"]}
        columns = _columns(self.rows, own)
        loops = loops_of(self.rows["mapping"] if "mapping" in self.rows.columns else [""] * len(self.rows))
        x = self.points["variable"].to_numpy(dtype=np.float64)
        fits = {str(row["response"]): row for _, row in self.fits.iterrows()}
        verdicts = {str(row["response"]): row for row in reversed(self.verdicts.to_dict("records"))}
        growths = {str(row["expected"]) for row in fits.values()}
        lines = np.linspace(x.min(), x.max(), _LINE_POINTS) if x.size else x
        return {
            "architecture": self.architecture,
            "engine": self.engine,
            "energy_table": self.energy_table,
            "layers": [str(name) for name in self.points["layer"]],
            "x": compact(x, 12),
            "best": [int(flag) for flag in self.points["on_lower_envelope"]],
            "macs": compact(self.rows["macs"], 15) if "macs" in self.rows.columns else None,
            "optimal": [int(flag) for flag in self.rows["optimal"]] if "optimal" in self.rows.columns else None,
            "columns": columns,
            "bandwidth": self._bandwidth(),
            "dimensions": self._dimensions(),
            "other": self._other(own),
            "levels": loops.levels,
            "loops": loops.texts,
            "accesses": [accesses.get(int(index), -1) for index in self.rows.index],
            "regressors": {name: _regressors(name, x) for name in sorted(growths)},
            "responses": {
                name: self._response(name, entry, verdicts[name], fits.get(name), lines) for name, entry in own.items()
            },
            "published": self._published(),
            **self._laws(),
        }

    def _bandwidth(self) -> float | None:
        """Return the most words that the outermost level moves in a cycle, both ways; None where it is unlimited."""
        stated = self.tables.provenance.get("architectures", {}).get(self.architecture, {})
        ways = stated.get("dram_words_per_cycle") or {}
        if ways.get("shared"):
            return float(ways["shared"])
        reads, writes = ways.get("read"), ways.get("write")
        return float(reads) + float(writes) if reads and writes else None

    def _dimensions(self) -> list[str]:
        """Return the dimensions of the layers in the order of their shape; none where the sweep's file is gone."""
        sweep = self.tables.sweeps.get(self.sweep)
        return list(sweep.points[0].layer.problem().shape.dimensions) if sweep is not None and sweep.points else []

    def _other(self, own: Mapping[str, Response]) -> dict[str, list[int | float | None]]:
        """Return the responses of the same layers in the run that this one is compared with."""
        if self.tables.other is None:
            return {}
        rows = self.tables.other.rows(self.sweep, self.architecture, self.points["layer"])
        values = {
            name: rows[list(entry.columns)].sum(axis=1, skipna=False)
            for name, entry in own.items()
            if set(entry.columns) <= set(rows.columns)
        }
        return {name: compact(column) for name, column in values.items() if column.notna().any()}

    def _response(self, name: str, entry: Response, verdict: Any, fit: Any, lines: Any) -> dict[str, Any]:
        found: dict[str, Any] = {
            "columns": list(entry.columns),
            "verdict": str(verdict["verdict"]),
            "reason": str(verdict["reason"]),
            "expected": str(verdict["expected"]),
        }
        if fit is not None and not pd.isna(fit["c1"]) and lines.size:
            coefficients = [fit[f"c{i}"] for i in range(1, 5) if f"c{i}" in fit and not pd.isna(fit[f"c{i}"])]
            found["c"] = [float(value) for value in coefficients]
            found["line"] = [compact(lines, 7), compact(fitted_line(fit, lines), 7)]
        bounds = {side: f"theory_{side}_{name}" for side in ("lower", "upper")}
        found["bounds"] = {
            side: compact(self.rows[column].to_numpy(dtype=np.float64))
            for side, column in bounds.items()
            if column in self.rows.columns and self.rows[column].notna().any()
        }
        return found

    def _laws(self) -> dict[str, Any]:
        """Return the law of every point by name, and the laws' formulas, where the run has derived them."""
        laws, points = self.tables.laws, self.tables.law_points
        if laws is None or points is None:
            return {}
        here = [
            table[(table["sweep"] == self.sweep) & (table["architecture"] == self.architecture)]
            for table in (laws, points)
        ]
        of_layer = dict(zip(here[1]["layer"].astype(str), here[1]["law"].fillna("").astype(str), strict=True))
        formulas = dict(zip(here[0]["law"].astype(str), here[0]["formula_data"].astype(str), strict=True))
        return {"law": [of_layer.get(str(name), "") for name in self.points["layer"]], "formulas": formulas}

    def _published(self) -> dict[str, Any] | None:
        """Return published data energies where the sweep's variable is what they are listed by."""
        sweep = self.tables.sweeps.get(self.sweep)
        table = read_published(sweep, self.architecture) if sweep is not None else None
        if sweep is None or table is None or sweep.variable != sweep.published_parameter:
            return None
        shown = {"data_pj": "published_data_pj", "total_pj": "published_pj"}
        return {
            "x": compact(table["parameter"], 12),
            **{name: compact(table[column]) for name, column in shown.items() if column in table.columns},
        }


def _columns(rows: pd.DataFrame, responses: Mapping[str, Response]) -> dict[str, list[int | float | None]]:
    """Return the columns that the responses and the breakdown need; parts that are always zero are left out."""
    wanted = dict.fromkeys(column for entry in responses.values() for column in entry.columns)
    wanted |= dict.fromkeys(entry.columns[0] for entry in find_responses(rows, ["total", "compute", "spaces"]))
    wanted |= dict.fromkeys(
        ["cycles", "utilization", *(name for name in map(str, rows) if name.startswith("dram_words_"))]
    )
    found = {}
    for name in wanted:
        if name not in rows.columns:
            continue
        values = pd.to_numeric(rows[name], errors="coerce").to_numpy(dtype=np.float64)
        if np.isfinite(values).any() and (name in responses or np.nansum(np.abs(values)) > 0):
            found[name] = compact(values)
    return found


def _regressors(growth: str, x: Any) -> list[int | float | None] | None:
    """Return what the fit is a polynomial in, or None where it is the variable itself."""
    values = growth_named(growth).regressors(x)
    return None if np.array_equal(values, x) else compact(values, 12)
