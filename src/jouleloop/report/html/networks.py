"""Networks on the page: their totals, their layers, and the mapping of every layer."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from jouleloop.report.html.mappings import loops_of
from jouleloop.report.html.numbers import PlainTable, compact, figure, percent, quantity, text
from jouleloop.report.html.sections import MOST_ROWS, not_all
from jouleloop.report.html.sources import ReportTables
from jouleloop.stats.table import find_responses
from jouleloop.tables.networks import SUMS, TOTAL


def network_totals(networks: pd.DataFrame | None) -> PlainTable | None:
    """Return the totals of the networks as a table, or None without any."""
    if networks is None or networks.empty:
        return None
    rows = []
    for _, total in networks[networks["layer"].isin(SUMS)].iterrows():
        network, whole = str(total["network"]), total["layer"] == TOTAL
        names = (network if whole else f"{network} {total['layer']}", total["architecture"])
        per_mac = float(total["total_pj"]) / float(total["macs"]) if total["macs"] else None
        energies = (total["total_pj"], total.get("data_pj"), per_mac)
        counts = (figure(total["count"]), figure(total["macs"]))
        parts = (*map(text, names), *counts, *(figure(energy, "pJ") for energy in energies))
        rows.append((*parts, figure(total["cycles"]), text(total["status"])))
    sums = ("Layers run", "MACs", "Total energy", "Data energy", "Per MAC", "Cycles")
    headings = ("Network", "Architecture", *sums, "Status")
    caption = "What does a whole network cost? Sums over its layers, each as often as the network runs it."
    return PlainTable(caption, headings, tuple(rows))


@dataclass(frozen=True)
class NetworkGroup:
    """The layers of one network on one architecture, in its order."""

    rows: pd.DataFrame
    """Rows of the table of energies; no other group of the page has the same index."""
    counts: tuple[int, ...]
    """How often the network runs each."""
    dimensions: tuple[tuple[str, ...], ...]
    """The dimensions of each layer's shape; none where the network's file is gone."""

    def as_json(self, accesses: Mapping[int, int]) -> dict[str, Any]:
        """Return the group as plain data, energies those of one run; ``accesses`` are positions by index."""
        rows = self.rows
        names = [entry.columns[0] for entry in find_responses(rows, ["total", "compute", "spaces"])]
        values = {name: pd.to_numeric(rows[name], errors="coerce").to_numpy(dtype=np.float64) for name in names}
        values |= {"cycles": rows["cycles"].to_numpy(dtype=np.float64, na_value=np.nan)}
        loops = loops_of(rows["mapping"] if "mapping" in rows.columns else [""] * len(rows))
        shapes = list(dict.fromkeys(self.dimensions))
        first = rows.iloc[0]
        return {
            "network": str(first["sweep"]),
            **{name: str(first[name]) for name in ("architecture", "engine", "energy_table")},
            "layers": [str(name) for name in rows["layer"]],
            "status": [str(name) for name in rows["status"]],
            "counts": list(self.counts),
            "macs": compact(rows["macs"], 15),
            "optimal": [int(flag) for flag in rows["optimal"]],
            "columns": {name: compact(column) for name, column in values.items() if np.nansum(np.abs(column)) > 0},
            "levels": loops.levels,
            "loops": loops.texts,
            "accesses": [accesses.get(int(index), -1) for index in rows.index],
            "shapes": shapes,
            "shape": [shapes.index(one) for one in self.dimensions],
        }


def network_groups(tables: ReportTables) -> list[NetworkGroup]:
    """Return the layers of every network and architecture, in the order of the table of networks."""
    networks, points = tables.networks, tables.network_points
    if networks is None or points is None:
        return []
    found, begin = [], 0
    for (network, architecture), part in networks.groupby(["network", "architecture"], sort=False):
        layers = part[~part["layer"].isin(SUMS)]
        rows = points[(points["sweep"] == network) & (points["architecture"] == architecture)]
        if list(rows["layer"]) != list(layers["layer"]):
            continue  # of another run than the table of energies
        begin -= len(rows)
        sweep = tables.sweeps.get(str(network))
        known = sweep.points if sweep is not None and len(sweep.points) == len(rows) else ()
        shapes = tuple(point.layer.problem().shape.dimensions for point in known) or ((),) * len(rows)
        counts = tuple(int(count) for count in layers["count"])
        found.append(NetworkGroup(rows.set_index(np.arange(begin, begin + len(rows))), counts, shapes))
    return found


def network_headline(networks: pd.DataFrame | None) -> str:
    """Return what every network costs on every architecture, in one line."""
    if networks is None:
        return ""
    totals = networks[networks["layer"] == TOTAL]
    parts = []
    for network, rows in totals.groupby("network", sort=False):
        costs = [
            f"{quantity(float(row['total_pj']), 'pJ')} on {row['architecture']}"
            if row["status"] == "ok"
            else f"no total on {row['architecture']} ({row['status']})"
            for _, row in rows.iterrows()
        ]
        parts.append(f"{network} costs {', '.join(costs)}")
    return "; ".join(parts)


def network_layer_table(networks: pd.DataFrame | None) -> PlainTable | None:
    """Return every layer of every network, in its order, with its energy as often as the network runs it."""
    if networks is None or networks.empty:
        return None
    layers = networks[~networks["layer"].isin(SUMS)]
    rows = []
    for _, row in layers.head(MOST_ROWS).iterrows():
        macs, energy_pj = int(row["macs"]) * int(row["count"]), float(row["total_pj"]) * float(row["count"])
        names = [text(row[name]) for name in ("network", "architecture", "layer")]
        numbers = (figure(row["count"]), figure(macs), figure(energy_pj, "pJ"), figure(energy_pj / macs, "pJ"))
        known = "proven" if row["optimal"] else f"gap {percent(float(row['gap']), 2)}"
        rows.append((*names, *numbers, text(known if row["status"] == "ok" else str(row["status"]))))
    return PlainTable(
        "What does each layer cost? All its runs together, in the order of the network.",
        ("Network", "Architecture", "Layer", "Runs", "MACs", "Energy", "Per MAC", "Optimum"),
        tuple(rows),
        not_all(len(layers), "layers", "networks"),
    )
