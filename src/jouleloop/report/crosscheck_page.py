"""The cross-check as a page of its own: one HTML file without references to anything outside it."""

import math
from collections import Counter

import pandas as pd

from jouleloop.report.html import environment

_SHOWN = 200
_ORDERS = ("equal", "lower", "higher")
#: Columns of words, and endings of the columns in which a number other than 0 says that something differs.
_WORDS = ("architecture", "sweep", "quantity", "layer", "status", "largest_at", "where", "reason")
_UNEQUAL = ("lower", "higher", "difference", "only one has")


def crosscheck_page(points: pd.DataFrame, summary: pd.DataFrame) -> str:
    """Return the page on the two tables of `jouleloop.tables.crosscheck.crosscheck_table`."""
    tables = {
        "Energy, cycles and utilization by architecture and sweep": _totals(points),
        "Every field, by quantity": _quantities(summary),
    }
    unequal = points[points["status"] != "equal"]
    if len(unequal):
        columns = ["architecture", "sweep", "layer", "status", "largest_difference", "largest_at", "reason"]
        more = f" (the first {_SHOWN} of {len(unequal)})" if len(unequal) > _SHOWN else ""
        tables[f"Points that do not agree{more}"] = unequal[columns].head(_SHOWN).astype(object)
    template = environment(keep_trailing_newline=True).get_template("crosscheck.html.j2")
    return template.render(
        points=len(points),
        by=", ".join(sorted(set(points["confirmed_by"]))),
        semantics=", ".join(sorted(set(points["semantics"]))),
        counts=Counter(points["status"]),
        tables=tables,
        words=_WORDS,
        unequal=_UNEQUAL,
        number=_number,
        zip=zip,
    )


def _totals(points: pd.DataFrame) -> pd.DataFrame:
    rows: list[dict[str, object]] = []
    for (architecture, sweep), group in points.groupby(["architecture", "sweep"], sort=False):
        checked = group[group["status"].isin(("equal", "different"))]
        row = {"architecture": architecture, "sweep": sweep, "points": len(group), "evaluated": len(checked)}
        for name in ("energy", "cycles", "utilization"):
            row |= {f"{name} {order}": int((checked[f"{name}_is"] == order).sum()) for order in _ORDERS}
        rows.append(row | {"largest difference": float(checked["largest_difference"].abs().max())})
    return pd.DataFrame(rows, dtype=object)


def _quantities(summary: pd.DataFrame) -> pd.DataFrame:
    rows: list[dict[str, object]] = []
    for (architecture, quantity), group in summary.groupby(["architecture", "quantity"], sort=False):
        worst = group.iloc[int(group["largest_difference"].abs().fillna(-1.0).to_numpy().argmax())]
        row = {"architecture": architecture, "quantity": quantity}
        row |= {name.replace("_", " "): int(group[name].sum()) for name in ("fields", *_ORDERS, "only_one_has")}
        rows.append(row | {"largest difference": float(worst["largest_difference"]), "where": worst["largest_at"]})
    return pd.DataFrame(rows, dtype=object)


def _number(value: object) -> str:
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return "–" if math.isnan(value) else "0" if value == 0 else f"{value:+.3g}"
    return str(value)
