"""The cross-check as a page of its own: one HTML file without references to anything outside it."""

import html
import math
from collections.abc import Iterable, Sequence

import pandas as pd

_SHOWN = 200
_STYLE = """
body{font:16px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:72rem;padding:0 1rem;color:#1a1a1a;background:#fff}
table{border-collapse:collapse;margin:1rem 0;font-size:.9rem;width:100%}
caption{text-align:left;font-weight:600;padding:.4rem 0}
th,td{padding:.25rem .6rem;border-bottom:1px solid #ccc;text-align:right;vertical-align:top}
th{background:#f2f2f2}td.text,th.text{text-align:left;overflow-wrap:anywhere}
td.different{font-weight:600;background:#fde8d8}
.wide{overflow-x:auto}
@media (prefers-color-scheme:dark){body{color:#eee;background:#181818}
th{background:#2a2a2a}td.different{background:#5a3210}}
"""


def crosscheck_page(points: pd.DataFrame, summary: pd.DataFrame) -> str:
    """Return the page on the two tables of `jouleloop.study.confirm.crosscheck_table`."""
    by = ", ".join(sorted(set(points["confirmed_by"])))
    counts = points["status"].value_counts()
    confirmed = int(counts.get("equal", 0) + counts.get("different", 0))
    equal = int(counts.get("equal", 0))
    semantics = ", ".join(sorted(set(points["semantics"])))
    lead = (
        f"{len(points)} optima of the native search were evaluated again by {by} (counting rules {semantics}): "
        f"{equal} of {confirmed} evaluated points agree in every field"
        + (f", {int(counts['different'])} do not" if counts.get("different") else "")
        + (f"; {int(counts['not_confirmed'])} could not be evaluated" if counts.get("not_confirmed") else "")
        + (f"; {int(counts['no_optimum'])} have no optimum to evaluate" if counts.get("no_optimum") else "")
        + "."
    )
    parts = [
        "<p>" + html.escape(lead) + "</p>",
        _table(
            "Energy, cycles and utilization by architecture and sweep", *_totals(points), text=("architecture", "sweep")
        ),
        _table("Every field, by quantity", *_quantities(summary), text=("architecture", "quantity", "where")),
    ]
    unequal = points[points["status"] != "equal"]
    if len(unequal):
        columns = ["architecture", "sweep", "layer", "status", "largest_difference", "largest_at", "reason"]
        rows = unequal[columns].head(_SHOWN).astype(object).to_numpy().tolist()
        title = "Points that do not agree" + (
            f" (the first {_SHOWN} of {len(unequal)})" if len(unequal) > _SHOWN else ""
        )
        text = ("architecture", "sweep", "layer", "status", "largest_at", "reason")
        parts.append(_table(title, columns, rows, text=text))
    parts.append(
        "<p>Lower and higher: the native value stands below or above Timeloop's. Counts are compared as integers, "
        "energies to 1e-9, words of networks to the two decimals that Timeloop prints. Every point: "
        "<code>crosscheck.csv</code>; by sweep and quantity: <code>crosscheck_summary.csv</code>.</p>"
    )
    return (
        "<!DOCTYPE html>\n<html lang='en'><head><meta charset='utf-8'><meta name='viewport' "
        "content='width=device-width'><title>Cross-check with Timeloop</title><style>"
        + _STYLE
        + "</style></head>\n<body><main><h1>Cross-check with Timeloop</h1>\n"
        + "\n".join(parts)
        + "\n</main></body></html>\n"
    )


def _totals(points: pd.DataFrame) -> tuple[list[str], list[list[object]]]:
    rows: list[list[object]] = []
    for (architecture, sweep), group in points.groupby(["architecture", "sweep"], sort=False):
        checked = group[group["status"].isin(("equal", "different"))]
        row: list[object] = [architecture, sweep, len(group), len(checked)]
        for name in ("energy", "cycles", "utilization"):
            verdicts = checked[f"{name}_is"]
            row += [int((verdicts == kind).sum()) for kind in ("equal", "lower", "higher")]
        rows.append([*row, float(checked["largest_difference"].abs().max())])
    headings = ["architecture", "sweep", "points", "evaluated"]
    headings += [
        f"{name} {kind}" for name in ("energy", "cycles", "utilization") for kind in ("equal", "lower", "higher")
    ]
    return [*headings, "largest difference"], rows


def _quantities(summary: pd.DataFrame) -> tuple[list[str], list[list[object]]]:
    rows: list[list[object]] = []
    for (architecture, quantity), group in summary.groupby(["architecture", "quantity"], sort=False):
        worst = group.iloc[int(group["largest_difference"].abs().fillna(-1.0).to_numpy().argmax())]
        counts = [int(group[name].sum()) for name in ("fields", "equal", "lower", "higher", "only_one_has")]
        largest = float(worst["largest_difference"])
        rows.append([architecture, quantity, *counts, largest, worst["largest_at"]])
    headings = ["architecture", "quantity", "fields", "equal", "lower", "higher", "only one has"]
    return [*headings, "largest difference", "where"], rows


def _table(title: str, headings: Sequence[str], rows: Iterable[Sequence[object]], *, text: Sequence[str]) -> str:
    def cell(value: object, heading: str, tag: str) -> str:
        shown = value if isinstance(value, str) else _number(value)
        unequal = (
            tag == "td" and heading.endswith(("lower", "higher", "difference", "only one has")) and value not in (0, "")
        )
        unequal = unequal and not (isinstance(value, float) and math.isnan(value))
        classes = " ".join(name for name, on in (("text", heading in text), ("different", unequal)) if on)
        attribute = f" class='{classes}'" if classes else ""
        scope = " scope='col'" if tag == "th" else ""
        return f"<{tag}{attribute}{scope}>{html.escape(shown)}</{tag}>"

    head = "".join(cell(heading, heading, "th") for heading in headings)
    body = "".join(
        "<tr>" + "".join(cell(value, heading, "td") for heading, value in zip(headings, row, strict=True)) + "</tr>\n"
        for row in rows
    )
    return (
        f"<div class='wide'><table><caption>{html.escape(title)}</caption><thead><tr>{head}</tr></thead>"
        f"<tbody>\n{body}</tbody></table></div>"
    )


def _number(value: object) -> str:
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return "–" if math.isnan(value) else "0" if value == 0 else f"{value:+.3g}"
    return str(value)
