"""What a figure shows: rows of the analysed tables for a sweep, architecture and response, and the caption's words."""

from collections.abc import Hashable, Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from jouleloop.errors import Fault, InputError, raise_all, unknown
from jouleloop.stats.expected import growth_named
from jouleloop.stats.regression import FloatArray

#: The response that figures of growth show.
SHOWN = "data_pj"
#: Verdicts from best to worst, and what each says of the points.
MEANINGS = {
    "exact": "every residual is rounding noise",
    "confirmed": "the next power's share is inside the margin",
    "inconclusive": "the points decide neither way",
    "refuted": "the growth is another",
    "not tested": "theory states no growth of it",
}

DECISION_RULE = (
    "Decision rule: confirmed where the 90 % interval of the next power's share at the largest size lies inside the "
    "margin of ±{margin:.3g} %, refuted where the share is beyond it at the level 0.05 or there is no such growth, "
    "exact where all residuals are below 1e-12, inconclusive otherwise."
)


class Tests(NamedTuple):
    """Tests of growth that a figure shows, as their tables have them."""

    verdicts: pd.DataFrame
    fits: pd.DataFrame
    residuals: pd.DataFrame


def architectures_of(table: pd.DataFrame, sweep: str, wanted: str | None = None) -> list[str]:
    """Return the architectures of ``sweep`` in ``table``, sorted, or only the ``wanted`` one.

    Raises `InputError` where the sweep or the architecture is not in the table; names the nearest.
    """
    sweeps = [str(name) for name in table["sweep"].unique()]
    if sweep not in sweeps:
        raise InputError(unknown(sweep, sweeps, "sweep"))
    found = sorted({str(name) for name in table.loc[table["sweep"] == sweep, "architecture"]})
    if wanted is not None and wanted not in found:
        raise InputError(unknown(wanted, found, f"architecture in sweep {sweep}"))
    return found if wanted is None else [wanted]


def one_row(table: pd.DataFrame, sweep: str, architecture: str) -> dict[Hashable, Any]:
    """Return the row of verdicts or fits for the data energy.

    Raises `InputError` where there is none, or several (mixed engines or energy tables: a figure shows one).
    """
    rows = _matching(table, sweep, architecture)
    if len(rows) > 1:
        raise InputError(
            Fault(f"{sweep} on {architecture} was tested with several engines or energy tables: choose one")
        )
    return dict(rows.iloc[0])


def points_of(analysis: Tests, sweep: str, architecture: str) -> pd.DataFrame:
    """Return the tested points of the data energy, by increasing variable."""
    return _matching(analysis.residuals, sweep, architecture).sort_values(["variable", "measured"])


def require_columns(table: pd.DataFrame, names: list[str]) -> None:
    """Raise `InputError` naming every column of ``names`` that ``table`` lacks."""
    raise_all([Fault(f"the energies table has no column {name!r}") for name in names if name not in table.columns])


def fitted_line(fit: Mapping[Hashable, Any], x: FloatArray) -> FloatArray:
    """Return the expected growth's fitted values at ``x`` from a row of results/fits.csv."""
    coefficients = np.array([fit[f"c{i}"] for i in range(1, 5)], dtype=np.float64)
    u = growth_named(str(fit["expected"])).regressors(x)
    return np.asarray(np.polynomial.polynomial.polyval(u, np.nan_to_num(coefficients)), dtype=np.float64)


def growth_caption(rows: list[dict[Hashable, Any]], *, what: str) -> str:
    """Return the caption of a figure of growth: question, unit, number of layers, decision rule, verdicts."""
    first = rows[0]
    growth = growth_named(str(first["expected"])).adjective.format(x=first["variable"])
    question = f"Question: is it true that {first['response_label']} {growth}?"
    verdicts = "; ".join(
        f"{str(r['architecture']).capitalize()} {r['sweep']}: {r['verdict']}, n = {r['n']}" for r in rows
    )
    margins = [float(r["margin"]) for r in rows if not pd.isna(r["margin"])]
    rule = DECISION_RULE.format(margin=100 * (margins[0] if margins else 0.01))
    unit = "J" if first["unit"] == "pJ" else str(first["unit"])
    return f"{what} {question} Unit: {unit}. Verdicts: {verdicts} (n: layers tested). {rule}"


def _matching(table: pd.DataFrame, sweep: str, architecture: str) -> pd.DataFrame:
    architectures_of(table, sweep, architecture)
    rows = table[(table["sweep"] == sweep) & (table["architecture"] == architecture)]
    found = rows[rows["response"] == SHOWN]
    if found.empty:
        raise InputError(unknown(SHOWN, {str(name) for name in rows["response"]}, "response"))
    return found
