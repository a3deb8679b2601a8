"""The rows of the tables of verdicts, fits and residuals."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from jouleloop.stats.cases import FitCase
from jouleloop.stats.deciding import sizes_needed
from jouleloop.stats.growth import GrowthTest
from jouleloop.stats.regression import FloatArray, checked_points
from jouleloop.stats.residuals import LowerEnvelope, ResidualStructure, residual_structure
from jouleloop.stats.table import DIMENSIONS, TABLE_VERSION

#: What is said of measured over bound, and what counts as rounding there.
_RATIOS = ("ratio_min", "ratio_median", "ratio_max", "ratio_at_largest")
_ROUNDING = 1e-9


def verdict_row(case: FitCase, test: GrowthTest, omitted: int) -> dict[str, Any]:
    """Return the row of results/verdicts.csv; ``omitted`` counts the layers left out."""
    excess, leading, misfit = test.verdict.excess, test.verdict.leading, test.verdict.misfit
    spec = test.specification
    exponent, quadratic = test.exponent, test.quadratic
    layers = case.rows["layer"]
    return case.key | {
        "response": case.response.name,
        "response_label": case.response.label,
        "unit": case.response.unit,
        "variable": case.sweep.label,
        "expected": case.growth.name,
        "n": test.n,
        "n_left_out": omitted,
        "variable_min": test.x_min,
        "variable_max": test.x_max,
        "verdict": test.verdict.outcome.value,
        "reason": test.verdict.reason,
        "exact": test.exact,
        "excess_power": excess.degree if excess else case.growth.degree + 1,
        "excess_share": excess.share if excess else math.nan,
        "excess_low": _finite(excess.low) if excess else math.nan,
        "excess_high": _finite(excess.high) if excess else math.nan,
        "margin": excess.margin if excess else math.nan,
        "equivalence_p": excess.p_value if excess else math.nan,
        "beyond_margin_p": excess.beyond_p_value if excess else math.nan,
        "leading_share": leading.share if leading else math.nan,
        "leading_low": _finite(leading.low) if leading else math.nan,
        "leading_high": _finite(leading.high) if leading else math.nan,
        "misfit_parts": misfit.parts if misfit else 0,
        "misfit_deviation": misfit.deviation if misfit else math.nan,
        "misfit_low": _finite(misfit.low) if misfit else math.nan,
        "misfit_high": _finite(misfit.high) if misfit else math.nan,
        "sizes_needed": sizes_needed(test),
        "confirmation_p": test.verdict.confirmation_p,
        "quadratic_p": quadratic.p_value if quadratic else math.nan,
        "published_p": case.published_p,
        "r_squared": test.r_squared,
        "max_relative_deviation": test.max_relative_deviation,
        "max_deviation_layer": str(layers.iloc[test.max_deviation_index]) if test.max_deviation_index >= 0 else "",
        "exponent": exponent_of(test),
        "exponent_low": round(_finite(exponent.low), 6) if exponent else math.nan,
        "exponent_high": round(_finite(exponent.high), 6) if exponent else math.nan,
        "exponent_expected": exponent.expected if exponent else math.nan,
        "exponent_agrees": exponent.agrees if exponent else "",
        "best_form": test.forms[0].name if test.forms else "",
        "best_form_weight": test.forms[0].weight if test.forms else math.nan,
        "forms": " ".join(f"{form.name}:{form.difference:.4g}" for form in test.forms),
        "reset_p": spec.reset_p,
        "rainbow_p": spec.rainbow_p,
        "breusch_pagan_p": spec.breusch_pagan_p,
        "durbin_watson": spec.durbin_watson,
        "durbin_watson_p": spec.durbin_watson_p,
        "cook_max": spec.cook_max,
        "cook_layer": str(layers.iloc[spec.cook_index]) if spec.cook_index >= 0 else "",
        "influential_points": spec.influential,
        "table_version": TABLE_VERSION,
    }


def fit_row(case: FitCase, test: GrowthTest) -> dict[str, Any]:
    """Return the row of results/fits.csv."""
    coefficients = dict(enumerate(test.coefficients, start=1))
    quadratic = test.quadratic
    return case.key | {
        "response": case.response.name,
        "unit": case.response.unit,
        "variable": case.sweep.label,
        "expected": case.growth.name,
        "regressor": case.growth.regressor.format(x=case.sweep.label),
        "n": test.n,
        **{f"c{i}": coefficients.get(i, math.nan) for i in range(1, 5)},
        "r_squared": test.r_squared,
        "max_relative_deviation": test.max_relative_deviation,
        "exact": test.exact,
        "quadratic_a": quadratic.a if quadratic else math.nan,
        "quadratic_b": quadratic.b if quadratic else math.nan,
        "quadratic_c": quadratic.c if quadratic else math.nan,
        "quadratic_r_squared": quadratic.r_squared if quadratic else math.nan,
        "quadratic_p": quadratic.p_value if quadratic else math.nan,
        "quadratic_note": quadratic.note if quadratic else test.verdict.reason,
        "published_p": case.published_p,
    }


def structure_of(case: FitCase, test: GrowthTest) -> ResidualStructure | None:
    """Return the residual structure over the dimensions that vary, or None where nothing was fitted."""
    if not test.residuals:
        return None
    varying = [d for d in DIMENSIONS if d in case.rows.columns and case.rows[d].nunique(dropna=False) > 1]
    columns = {d: case.rows[d].to_numpy() for d in varying if pd.api.types.is_numeric_dtype(case.rows[d])}
    if any((np.asarray(values) < 1).any() or not np.equal(np.mod(values, 1), 0).all() for values in columns.values()):
        return None
    return residual_structure(test, case.sizes, columns)


def structure_row(structure: ResidualStructure | None) -> dict[str, Any]:
    """Return the columns on divisibility."""
    return {
        "divisibility_correlation": structure.correlation if structure else math.nan,
        "divisibility_p": structure.p_value if structure else math.nan,
    }


def envelope_row(envelope: LowerEnvelope | None) -> dict[str, Any]:
    """Return the columns on the layers that no larger one undercuts."""
    return {
        "envelope_n": envelope.test.n if envelope else 0,
        "envelope_verdict": envelope.test.verdict.outcome.value if envelope else "",
        "envelope_exponent": exponent_of(envelope.test) if envelope else math.nan,
    }


def residual_rows(
    case: FitCase, test: GrowthTest, structure: ResidualStructure | None, best: Sequence[int]
) -> pd.DataFrame:
    """Return one row per point; ``best`` are the positions on the lower envelope."""
    n = len(case.rows)
    envelope = np.zeros(n, dtype=bool)
    envelope[list(best)] = True
    return pd.DataFrame(
        {
            **{name: [value] * n for name, value in case.key.items()},
            "response": case.response.name,
            "layer": case.rows["layer"].array,
            "variable": case.sizes,
            "measured": case.values,
            "fitted": test.predict(case.sizes),
            "relative_residual": structure.relative_residuals if structure else np.full(n, np.nan),
            "divisors": structure.divisors if structure else np.zeros(n, dtype=np.int64),
            "factorisations": structure.factorisations if structure else np.zeros(n, dtype=np.int64),
            "on_lower_envelope": envelope,
        }
    )


def theory_row(case: FitCase) -> dict[str, Any]:
    """Return the columns on theory, from ``theory_lower_<response>`` and ``theory_upper_<response>`` where given.

    Where theory counts something else than the table (reads of biases, for instance), ``theory_measured_<response>``
    is what its bounds are compared with.
    """
    row: dict[str, Any] = {}
    measured = _theory_column(case, "measured")
    values = case.values if measured is None else measured
    for side in ("lower", "upper"):
        found: dict[str, Any] = {**dict.fromkeys(_RATIOS, math.nan), "crossed": pd.NA}
        bound = _theory_column(case, side)
        if bound is not None and (known := np.isfinite(bound) & np.isfinite(values)).any():
            found = bound_ratios(case.sizes[known], values[known], bound[known], lower=side == "lower")
        row |= {f"theory_{side}_{name}": value for name, value in found.items()}
    return row


def bound_ratios(x: npt.ArrayLike, measured: npt.ArrayLike, bound: npt.ArrayLike, *, lower: bool) -> dict[str, float]:
    """Return measured over a ``lower`` bound (no ratio below 1) or an upper one (none above 1), of all points.

    The least ratio, the median, the largest, that at the largest size (the mean of those that share it; a bound of zero
    has none), and how many points lie on the wrong side of the bound by more than rounding.

    Raises `InputError` for anything but vectors of finite numbers of one length.
    """
    (sizes, values), (_, limits) = checked_points(x, measured), checked_points(x, bound)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = np.where(limits == 0, np.nan, values / limits)
    crossed = values < limits * (1 - _ROUNDING) if lower else values > limits * (1 + _ROUNDING)
    sizes, made = sizes[np.isfinite(ratios)], ratios[np.isfinite(ratios)]
    ends = [math.nan] * len(_RATIOS)
    if made.size:
        ends = [made.min(), np.median(made), made.max(), made[sizes == sizes.max()].mean()]
    return {**dict(zip(_RATIOS, map(float, ends), strict=True)), "crossed": int(crossed.sum())}


def _theory_column(case: FitCase, side: str) -> FloatArray | None:
    column = f"theory_{side}_{case.response.name}"
    if column not in case.rows.columns:
        return None
    return pd.to_numeric(case.rows[column], errors="coerce").to_numpy(dtype=np.float64)


def exponent_of(test: GrowthTest) -> float:
    """Return the fitted exponent to six decimals, which is what its search resolves."""
    return round(test.exponent.exponent, 6) if test.exponent else math.nan


def _finite(value: float) -> float:
    return value if math.isfinite(value) else math.nan
