"""The further sections as plain tables: rows left out, theory, laws, savings, networks, the run, provenance."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from jouleloop.report.html.numbers import compact, percent, quantity
from jouleloop.report.html.plain import Cell, PlainTable, figure, text
from jouleloop.report.html.sources import ReportTables
from jouleloop.tables.networks import SUMS, TOTAL
from jouleloop.tables.savings import factor_pairs, savings_table

_MOST_ROWS = 500


def left_out_table(tables: ReportTables) -> tuple[dict[str, int], PlainTable | None]:
    """Return how many rows have each status, and the rows that no test could use, by name."""
    statuses = {str(name): int(count) for name, count in tables.every["status"].value_counts().sort_index().items()}
    failed = tables.every[tables.every["status"] != "ok"][["sweep", "architecture", "layer", "status", "reason"]]
    missing = tables.left_out[tables.left_out["response"] != "all"]
    count = len(failed) + len(missing)
    shown = failed.head(_MOST_ROWS).itertuples(index=False)
    rows = [tuple(text(value) for value in (*row[:3], "all", *row[3:])) for row in shown]
    columns = ["sweep", "architecture", "layer", "response", "status", "reason"]
    more = missing[columns].head(_MOST_ROWS - len(rows)).itertuples(index=False)
    rows += [tuple(text(value) for value in row) for row in more]
    if not rows:
        return statuses, None
    note = f"The first {_MOST_ROWS} of {count} rows; all are in left_out.csv." if count > _MOST_ROWS else ""
    return statuses, PlainTable(
        f"Which layers have no energy, and why? {count} rows in no test.",
        ("Sweep", "Architecture", "Layer", "Response", "Status", "Reason"),
        tuple(rows),
        note,
    )


def theory_table(verdicts: pd.DataFrame) -> PlainTable | None:
    """Return measured over bound for every test that has bounds, or None where none has."""
    rows = []
    for side in ("lower", "upper"):
        column = f"theory_{side}_ratio_min"
        if column not in verdicts.columns:
            continue
        for _, row in verdicts[verdicts[column].notna()].iterrows():
            ratios = [figure(row.get(f"theory_{side}_ratio_{name}")) for name in ("min", "median", "max", "at_largest")]
            crossed = row.get(f"theory_{side}_crossed")
            names = [text(row[name]) for name in ("sweep", "architecture", "response_label")]
            rows.append((*names, text(f"{side} bound"), *ratios, figure(crossed)))
    if not rows:
        return None
    return PlainTable(
        "How near to theory is the measurement? Measured over bound; a lower bound allows no ratio below 1, an upper "
        "bound none above 1.",
        ("Sweep", "Architecture", "Response", "Bound", "Least", "Median", "Greatest", "At largest size", "Crossed"),
        tuple(rows),
    )


def law_table(laws: pd.DataFrame | None) -> PlainTable | None:
    """Return the exact laws of every sweep and architecture with the number of layers that obey each."""
    if laws is None or not {"sweep", "architecture", "law", "points", "formula_data"} <= set(laws.columns):
        return None
    shown = laws.head(_MOST_ROWS)
    rows = tuple(
        (
            text(row["sweep"]),
            text(row["architecture"]),
            text(row["law"]),
            figure(row["points"]),
            text(row["formula_data"]),
        )
        for _, row in shown.iterrows()
    )
    return PlainTable(
        "Which exact law does the data energy of each layer obey? Counts of accesses times energies per access, in the "
        "layer's sizes; coefficients in pJ, none of them fitted.",
        ("Sweep", "Architecture", "Law", "Layers", "Data energy E"),
        rows,
        f"The first {_MOST_ROWS} of {len(laws)} laws; all are in laws.csv." if len(laws) > _MOST_ROWS else "",
    )


def savings_section(tables: ReportTables) -> PlainTable | None:
    """Return what imperfect factors save, a row a sweep or network and architecture that has rows of both kinds."""
    table = savings_table(tables.every, factor_pairs(tables.provenance.get("architectures", {})))
    shares = ("saved_mean", "saved_most", "saved_total", "saved_bound")
    rows = tuple(
        (
            *(text(row[name]) for name in ("sweep", "architecture")),
            *(figure(row[name]) for name in ("layers", "proven", "only")),
            *(Cell(percent(float(row[name]), 3), float(row[name])) for name in shares),
            text(row["saved_most_layer"]),
        )
        for _, row in table.iterrows()
    )
    if not rows:
        return None
    return PlainTable(
        "What would loops that need not divide save? Imperfect factors beside perfect ones, over the layers that both "
        "map: of a layer's data energy on average and at most, and of the total energy of all layers.",
        (
            *("Sweep or network", "Architecture", "Layers", "Proven", "Mapped by imperfect factors alone"),
            *("Saved on average", "At most", "Of all energy", "What bounds leave", "Most on layer"),
        ),
        rows,
    )


def search_noise_section(noise: pd.DataFrame | None) -> PlainTable | None:
    """Return p-values and verdicts on proven optima beside those of a search within 0.1 %, or None without them.

    Shown are the tests that the search moves, and those with a published p-value.
    """
    both = [f"{name}_{search}" for name in ("quadratic_p", "verdict") for search in ("proven", "heuristic")]
    wanted = {"sweep", "architecture", "response", *both, "layers", "layers_missed", "excess_max"}
    if noise is None or not wanted <= set(noise.columns):
        return None
    moved = noise["verdict_proven"] != noise["verdict_heuristic"]
    shown = noise[moved | noise["published_p"].notna()] if "published_p" in noise.columns else noise
    rows = tuple(
        (
            *(text(row[name]) for name in ("sweep", "architecture", "response")),
            figure(row.get("published_p")),
            figure(row["quadratic_p_proven"]),
            figure(row["quadratic_p_heuristic"]),
            text(_moved(str(row["verdict_proven"]), str(row["verdict_heuristic"]))),
            Cell(f"{row['layers_missed']:.0f} of {row['layers']:.0f}", float(row["layers_missed"])),
            Cell(percent(float(row["excess_max"]), 2), float(row["excess_max"])),
        )
        for _, row in shown.head(_MOST_ROWS).iterrows()
    )
    headings = (
        *("Sweep", "Architecture", "Response", "p published", "p on proven optima", "p of the search within 0.1 %"),
        *("Verdict", "Layers above their optimum", "At most by"),
    )
    return PlainTable(
        "What does a heuristic search do to the p-values? Every layer searched again as Timeloop's mapper does: "
        "energies within 0.1 % count as equal, and the delay decides. No p-value where the energies are exact.",
        headings,
        rows,
        f"{int(moved.sum())} of {len(noise)} verdicts move; shown are these and the tests with a published p-value.",
    )


def _moved(before: str, after: str) -> str:
    return before if before == after else f"{before}\N{NO-BREAK SPACE}\N{RIGHTWARDS ARROW}\N{NO-BREAK SPACE}{after}"


def published_table(published: pd.DataFrame | None) -> PlainTable | None:
    """Return own over published energies, a row a sweep and architecture."""
    if published is None or not {"architecture", "sweep", "ratio", "ours_is"} <= set(published.columns):
        return None
    rows = []
    for (sweep, architecture), part in published.groupby(["sweep", "architecture"], sort=True):
        ratio = part["ratio"].astype(float)
        counts = [figure(int((part["ours_is"] == name).sum())) for name in ("equal", "below", "above")]
        ends = [figure(value) for value in (ratio.min(), ratio.median(), ratio.max())]
        rows.append((text(sweep), text(architecture), figure(len(part)), *counts, *ends))
    return PlainTable(
        "Are the published energies optimal? Total energy of our optimum over the published one, under the semantics "
        "of the published runs; below 1 the published search stopped short.",
        ("Sweep", "Architecture", "Points", "Equal", "Ours below", "Ours above", "Least", "Median", "Greatest"),
        tuple(rows),
    )


def network_tables(networks: pd.DataFrame | None) -> tuple[PlainTable | None, list[dict[str, Any]]]:
    """Return the totals of the networks as a table, and every network's layers by level for its chart."""
    if networks is None or networks.empty:
        return None, []
    energy = [name for name in networks.columns if name.endswith("_pj") and name not in ("total_pj", "data_pj")]
    rows, charts = [], []
    for (network, architecture), part in networks.groupby(["network", "architecture"], sort=False):
        for _, total in part[part["layer"].isin(SUMS)].iterrows():
            per_mac = float(total["total_pj"]) / float(total["macs"]) if total["macs"] else None
            rows.append(
                (
                    text(network if total["layer"] == TOTAL else f"{network} {total['layer']}"),
                    text(architecture),
                    figure(total["count"]),
                    figure(total["macs"]),
                    figure(total["total_pj"], "pJ"),
                    figure(total.get("data_pj"), "pJ"),
                    figure(per_mac, "pJ"),
                    figure(total["cycles"]),
                    text(total["status"]),
                )
            )
        # A layer without a mapping keeps its place in the network, with a bar of no height.
        layers = part[~part["layer"].isin(SUMS)]
        weights = layers["count"].to_numpy(dtype=float)
        parts = {name: layers[name].fillna(0).to_numpy(dtype=float) * weights for name in energy}
        charts.append(
            {
                "network": str(network),
                "architecture": str(architecture),
                "layers": [str(name) for name in layers["layer"]],
                "counts": compact(weights),
                "columns": {name: compact(values) for name, values in parts.items() if values.sum() > 0},
            }
        )
    headings = (
        "Network",
        "Architecture",
        "Layers run",
        "MACs",
        "Total energy",
        "Data energy",
        "Per MAC",
        "Cycles",
        "Status",
    )
    caption = "What does a whole network cost? Sums over its layers, each as often as the network runs it."
    return PlainTable(caption, headings, tuple(rows)), charts


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
    for _, row in layers.head(_MOST_ROWS).iterrows():
        macs, energy_pj = int(row["macs"]) * int(row["count"]), float(row["total_pj"]) * float(row["count"])
        names = [text(row[name]) for name in ("network", "architecture", "layer")]
        numbers = (figure(row["count"]), figure(macs), figure(energy_pj, "pJ"), figure(energy_pj / macs, "pJ"))
        known = "proven" if row["optimal"] else f"gap {percent(float(row['gap']), 2)}"
        rows.append((*names, *numbers, text(known if row["status"] == "ok" else str(row["status"]))))
    return PlainTable(
        "What does each layer cost? All its runs together, in the order of the network.",
        ("Network", "Architecture", "Layer", "Runs", "MACs", "Energy", "Per MAC", "Optimum"),
        tuple(rows),
        f"The first {_MOST_ROWS} of {len(layers)} layers; all are in networks.csv." if len(layers) > _MOST_ROWS else "",
    )


def run_tables(summary: Mapping[str, Any] | None) -> list[PlainTable]:
    """Return the summary of the run: its plain values first, then a table for each group of values or list of rows."""
    if not summary:
        return []
    plain = {key: value for key, value in summary.items() if not isinstance(value, (dict, list))}
    found = [_pairs("The run", plain)] if plain else []
    for key, value in summary.items():
        title = _words(key).capitalize()
        if isinstance(value, dict) and value:
            nested = all(isinstance(entry, dict) for entry in value.values())
            rows = [{"": name, **entry} for name, entry in value.items()] if nested else None
            found.append(_records(title, rows) if rows else _pairs(title, value))
        elif isinstance(value, list) and value:
            records = all(isinstance(entry, dict) for entry in value)
            found.append(_records(title, value if records else [{"value": entry} for entry in value]))
    return found


def provenance_tables(provenance: Mapping[str, Any]) -> list[PlainTable]:
    """Return versions, what every architecture was computed with, and the hashes of all inputs."""
    if not provenance:
        return []
    found = [_pairs("With which versions was the table made?", provenance.get("versions", {}))]
    architectures: Mapping[str, Mapping[str, Any]] = provenance.get("architectures", {})
    apart = ("files", "energies")
    keys = dict.fromkeys(key for entry in architectures.values() for key in entry if key not in apart)
    rows = [(text(name), *(text(_plain(entry.get(key))) for key in keys)) for name, entry in architectures.items()]
    headings = ("Architecture", *(_words(key).capitalize() for key in keys))
    found.append(PlainTable("How was every architecture computed?", headings, tuple(rows)))
    accesses = [
        {"architecture": name, **access}
        for name, entry in architectures.items()
        for access in entry.get("energies", [])
    ]
    if accesses:
        found.append(_records("What does an access cost, and who says so?", accesses))
    files = {path: digest for entry in architectures.values() for path, digest in entry.get("files", {}).items()}
    files |= {path: digest for entry in provenance.get("sweeps", {}).values() for path, digest in entry.items()}
    hashes = tuple((text(path), text(digest)) for path, digest in files.items())
    found.append(PlainTable("From which files? SHA-256 of every input.", ("File", "SHA-256"), hashes))
    known = {"versions", "architectures", "sweeps"}
    rest = {key: value for key, value in provenance.items() if key not in known}
    return [*found, *run_tables(rest)]


def _pairs(caption: str, values: Mapping[str, Any]) -> PlainTable:
    return PlainTable(caption, ("What", "Value"), tuple((text(_words(k)), _cell(k, v)) for k, v in values.items()))


def _records(caption: str, records: list[dict[str, Any]]) -> PlainTable:
    keys = dict.fromkeys(key for record in records for key in record)
    rows = tuple(tuple(_cell(key, record.get(key)) for key in keys) for record in records)
    return PlainTable(caption, tuple(_words(key).capitalize() for key in keys), rows)


def _cell(key: str, value: Any) -> Cell:
    if isinstance(value, bool) or value is None or not isinstance(value, (int, float)):
        return text(_plain(value))
    if key.endswith("_pj"):
        return figure(value, "pJ")
    if key.endswith("share"):
        return Cell(percent(float(value)), float(value))
    return figure(value)


def _plain(value: Any) -> Any:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(str(_plain(entry)) for entry in value)
    if isinstance(value, dict):
        return ", ".join(f"{_words(key)}: {_plain(entry)}" for key, entry in value.items())
    return "none" if value is None else value


def _words(key: str) -> str:
    # Energies carry their unit in the cell.
    return str(key).removesuffix("_pj").replace("_", " ")
