"""The further sections as plain tables: rows left out, theory, laws, savings, the run, provenance."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from jouleloop.report.html.numbers import Cell, PlainTable, figure, number, percent, text
from jouleloop.report.html.sources import ReportTables
from jouleloop.stats.cases import ENERGY
from jouleloop.tables.savings import factor_pairs, savings_table

MOST_ROWS = 500
"""Rows of a table on the page."""
#: Energies closer than this are the same optimum, found by sums in another order.
_SAME = 1e-9


def not_all(count: int, what: str, file: str) -> str:
    """Return what stands below a table of the page whose rows are in ``file``: nothing where it has all of them."""
    return f"The first {MOST_ROWS} of {count} {what}; all are in {file}.csv." if count > MOST_ROWS else ""


def left_out_table(tables: ReportTables) -> tuple[dict[str, int], PlainTable | None]:
    """Return how many rows have each status, and the rows that no test could use, by name."""
    statuses = {str(name): int(count) for name, count in tables.every["status"].value_counts().sort_index().items()}
    failed = tables.every[tables.every["status"] != "ok"][["sweep", "architecture", "layer", "status", "reason"]]
    missing = tables.left_out[tables.left_out["response"] != "all"]
    count = len(failed) + len(missing)
    shown = failed.head(MOST_ROWS).itertuples(index=False)
    rows = [tuple(text(value) for value in (*row[:3], "all", *row[3:])) for row in shown]
    columns = ["sweep", "architecture", "layer", "response", "status", "reason"]
    more = missing[columns].head(MOST_ROWS - len(rows)).itertuples(index=False)
    rows += [tuple(text(value) for value in row) for row in more]
    if not rows:
        return statuses, None
    return statuses, PlainTable(
        f"Which layers have no energy, and why? {count} rows in no test.",
        ("Sweep", "Architecture", "Layer", "Response", "Status", "Reason"),
        tuple(rows),
        not_all(count, "rows", "left_out"),
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
    shown = laws.head(MOST_ROWS)
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
        not_all(len(laws), "laws", "laws"),
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
        for _, row in shown.head(MOST_ROWS).iterrows()
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


def run_tables(summary: Mapping[str, Any] | None) -> list[PlainTable]:
    """Return the summary of the run: its plain values first, then a table for each group of values or list of rows."""
    if not summary:
        return []
    shown = ((key, value) for key, value in summary.items() if key != "version")  # of the file's layout
    plain = {key: value for key, value in shown if value and not isinstance(value, (dict, list))}
    found = [_pairs("The run", plain)] if plain else []
    for key, value in summary.items():
        title = _heading(key)
        if isinstance(value, dict) and value:
            nested = all(isinstance(entry, dict) for entry in value.values())
            rows = [{"name": name, **entry} for name, entry in value.items()] if nested else None
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
    apart = ("files", "energies", "areas")
    keys = dict.fromkeys(key for entry in architectures.values() for key in entry if key not in apart)
    rows = [(text(name), *(text(_plain(entry.get(key))) for key in keys)) for name, entry in architectures.items()]
    headings = ("Architecture", *map(_heading, keys))
    found.append(PlainTable("How was every architecture computed?", headings, tuple(rows)))
    accesses = [
        {"architecture": name, **access}
        for name, entry in architectures.items()
        for access in entry.get("energies", [])
    ]
    if accesses:
        found.append(_records("What does an access cost, and who says so?", accesses))
    areas = [{"architecture": name, **area} for name, entry in architectures.items() for area in entry.get("areas", [])]
    if areas:
        found.append(_records("How large is each component, in µm²?", areas))
    files = {path: digest for entry in architectures.values() for path, digest in entry.get("files", {}).items()}
    files |= {path: digest for entry in provenance.get("sweeps", {}).values() for path, digest in entry.items()}
    hashes = tuple((text(path), text(digest)) for path, digest in files.items())
    found.append(PlainTable("From which files? SHA-256 of every input.", ("File", "SHA-256"), hashes))
    known = {"versions", "architectures", "sweeps"}
    rest = {key: value for key, value in provenance.items() if key not in known}
    return [*found, *run_tables(rest)]


def comparison_table(tables: ReportTables) -> PlainTable | None:
    """Return both runs side by side, a row a test: energies over those of the other run, and both verdicts."""
    other = tables.other
    if other is None:
        return None
    rows = []
    for _, verdict in tables.verdicts[tables.verdicts["response"].isin(ENERGY)].iterrows():
        sweep, architecture, response = (str(verdict[name]) for name in ("sweep", "architecture", "response"))
        here = tables.every[(tables.every["sweep"] == sweep) & (tables.every["architecture"] == architecture)]
        here = here[here["status"] == "ok"].drop_duplicates("layer")
        there = other.rows(sweep, architecture, here["layer"])
        if response not in here.columns or response not in there.columns:
            continue
        ratio = here[response].to_numpy(dtype=np.float64) / there[response].to_numpy(dtype=np.float64)
        both = ratio[np.isfinite(ratio)]
        if not both.size:
            continue
        below, above = int((both < 1 - _SAME).sum()), int((both > 1 + _SAME).sum())
        shares = (float(both.min()), float(np.median(both)), float(both.max()))
        rows.append(
            (
                *(text(value) for value in (sweep, architecture, str(verdict["response_label"]))),
                *(figure(count) for count in (both.size, both.size - below - above, below, above)),
                *(Cell(number(share, 6), share) for share in shares),
                text(str(verdict["verdict"])),
                text(other.verdict(sweep, architecture, response)),
            )
        )
    heads = ("Sweep", "Architecture", "Response", "Layers in both", "Equal", "Lower here", "Higher here")
    ratios = ("Least ratio", "Median", "Largest", "Verdict here", "Verdict there")
    caption = f"How do the energies compare with the run in {other.name}? Energy here over energy there."
    return PlainTable(caption, (*heads, *ratios), tuple(rows))


def _pairs(caption: str, values: Mapping[str, Any]) -> PlainTable:
    return PlainTable(caption, ("What", "Value"), tuple((text(_words(k)), _cell(k, v)) for k, v in values.items()))


def _records(caption: str, records: list[dict[str, Any]]) -> PlainTable:
    found = dict.fromkeys(key for record in records for key in record)
    # What a row is about stands before its numbers.
    keys = sorted(found, key=lambda key: key not in ("architecture", "name", "stage"))
    rows = tuple(tuple(_cell(key, record.get(key)) for key in keys) for record in records)
    return PlainTable(caption, tuple(map(_heading, keys)), rows)


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
    words = str(key).removesuffix("_pj").split("_")
    return " ".join({"cpu": "CPU", "mb": "[MB]", "um2": "[µm²]"}.get(word, word) for word in words)


def _heading(key: str) -> str:
    words = _words(key)
    return words[:1].upper() + words[1:]
