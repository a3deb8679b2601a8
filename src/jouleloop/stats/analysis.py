"""From a table of energies to the tables of verdicts and fits: every sweep, architecture and response tested."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from jouleloop.errors import Fault, InputError, raise_all, unknown
from jouleloop.stats.cases import ENERGY, Case, SweepDescription
from jouleloop.stats.columns import FAMILIES
from jouleloop.stats.describe import describe
from jouleloop.stats.expected import growth_named
from jouleloop.stats.expression import evaluate_variable
from jouleloop.stats.growth import GrowthTest, fit_growth
from jouleloop.stats.holm import holm
from jouleloop.stats.options import StatisticsOptions
from jouleloop.stats.residuals import lower_envelope
from jouleloop.stats.rows import (
    exponent_of,
    fit_row,
    residual_rows,
    structure_of,
    structure_row,
    theory_row,
    verdict_row,
)
from jouleloop.stats.table import ALL_RESPONSES, check_table, find_responses, groups, response_values

__all__ = ["FAMILIES", "Analysis", "SweepDescription", "analyse_table"]

_DIGITS, _P_DIGITS = 10, 6
"""Significant digits of numbers and of p-values: below that, processors and libraries of special functions differ."""


@dataclass(frozen=True)
class Analysis:
    """The results of the statistics.

    Attributes
    ----------
    verdicts
        One row per sweep, architecture (engine, energy table) and response: results/verdicts.csv.
    fits
        Coefficients of the expected growth and of the quadratic regression: results/fits.csv.
    residuals
        One row per point and response: variable, measured, fitted, relative residual, divisors, factorisations, and
        whether the layer is on the lower envelope.
    left_out
        Rows that were not tested, with the reason.
    paragraphs
        The verdict in words, by sweep.
    tests
        The tests behind the rows, by (sweep, architecture, engine, energy table, response).
    """

    verdicts: pd.DataFrame
    fits: pd.DataFrame
    residuals: pd.DataFrame
    left_out: pd.DataFrame
    paragraphs: dict[str, str]
    tests: dict[tuple[str, str, str, str, str], GrowthTest] = field(repr=False)


def analyse_table(
    energies: pd.DataFrame, sweeps: Sequence[SweepDescription], options: StatisticsOptions | None = None
) -> Analysis:
    """Test every response of every sweep and architecture in ``energies`` against the expected growth.

    Parameters
    ----------
    energies
        The energies table: one row per architecture, sweep and layer.
    sweeps
        The sweeps in it; sweeps that have no rows are an error, as are rows of other sweeps.
    options
        Margins, levels, responses.

    Raises
    ------
    InputError
        For a table that cannot be analysed (see `jouleloop.stats.table.check_table`), unknown sweeps, growths,
        responses or columns in a variable; all faults of a kind together.
    """
    options = options or StatisticsOptions()
    check_table(energies, options)
    described = _described(energies, sweeps)
    responses = find_responses(energies, options.responses)
    verdicts: list[dict[str, Any]] = []
    fits: list[dict[str, Any]] = []
    residuals: list[pd.DataFrame] = []
    left_out: list[dict[str, Any]] = []
    tests: dict[tuple[str, str, str, str, str], GrowthTest] = {}
    for group in groups(energies):
        sweep = described[group.sweep]
        key = {
            "sweep": group.sweep,
            "architecture": group.architecture,
            "engine": group.engine,
            "energy_table": group.energy_table,
        }
        left_out += [
            key
            | {"response": "all", "layer": str(r["layer"]), "status": str(r["status"]), "reason": _text(r["reason"])}
            for _, r in group.left_out.iterrows()
        ]
        sizes = evaluate_variable(sweep.variable, group.usable, field=f"sweeps.{sweep.name}.variable")
        for response in responses:
            values = response_values(group.usable, response)
            if values is None and response.name not in ENERGY:
                continue  # a level of another architecture
            if values is None:
                values = np.full(len(group.usable), math.nan)
            usable = np.isfinite(values) & np.isfinite(sizes)
            left_out += [
                key | {"response": response.name, "layer": str(layer), "status": "ok", "reason": "the value is missing"}
                for layer in group.usable.loc[~usable, "layer"]
            ]
            rows = group.usable[usable]
            growth = growth_named(sweep.response_growth.get(response.name, sweep.growth))
            one = Case(key, sweep, response, growth, rows, sizes[usable], values[usable])
            try:
                test = fit_growth(one.sizes, one.values, growth, options)
            except InputError as error:
                raise error.at(f"sweep {sweep.name}") from error
            if not sweep.claims(response.name):
                test = test.unclaimed()
            tests[group.sweep, group.architecture, group.engine, group.energy_table, response.name] = test
            structure = structure_of(one, test)
            envelope = lower_envelope(one.sizes, one.values, growth, options)
            omitted = len(group.left_out) + int((~usable).sum())
            verdicts.append(
                verdict_row(one, test, omitted)
                | structure_row(structure)
                | {
                    "envelope_n": envelope.test.n if envelope else 0,
                    "envelope_verdict": envelope.test.verdict.outcome.value if envelope else "",
                    "envelope_exponent": exponent_of(envelope.test) if envelope else math.nan,
                }
                | theory_row(one)
            )
            fits.append(fit_row(one, test))
            residuals.append(residual_rows(one, test, structure, envelope.indices if envelope else ()))
    table = _finished(pd.DataFrame(verdicts))
    for family in FAMILIES:
        table.insert(list(table.columns).index(family) + 1, f"{family}_holm", holm(table[family].to_numpy()))
    table = _finished(table)
    omitted_table = pd.DataFrame(left_out, columns=[*key, "response", "layer", "status", "reason"])
    return Analysis(
        table,
        _finished(pd.DataFrame(fits)),
        _finished(pd.concat(residuals, ignore_index=True)),
        omitted_table,
        describe(table, omitted_table),
        tests,
    )


def _described(energies: pd.DataFrame, sweeps: Sequence[SweepDescription]) -> dict[str, SweepDescription]:
    described = {sweep.name: sweep for sweep in sweeps}
    faults = []
    if len(described) < len(sweeps):
        faults.append(Fault("a sweep is described twice", field="sweeps"))
    present = {str(name) for name in energies["sweep"].unique()}
    faults += [unknown(name, described, "sweep in the energies table") for name in sorted(present - set(described))]
    faults += [Fault("the sweep has no rows in the energies table", field=n) for n in sorted(set(described) - present)]
    known = {response.name for response in find_responses(energies, ALL_RESPONSES)}
    for sweep in sweeps:
        for name in (sweep.growth, *sweep.response_growth.values()):
            try:
                growth_named(name)
            except InputError as error:
                faults += error.at(f"sweep {sweep.name}").faults
        stated = set(sweep.response_growth) - known
        hint = "names no response of the energies table"
        faults += [Fault(hint, field=f"sweep {sweep.name}.response_growth", value=name) for name in sorted(stated)]
    raise_all(faults)
    return described


def _text(value: Any) -> str:
    return "" if value is None or pd.isna(value) else str(value)


def _finished(table: pd.DataFrame) -> pd.DataFrame:
    """Round every float to its meaningful digits."""
    for name in table.columns[[pd.api.types.is_float_dtype(t) for t in table.dtypes]]:
        digits = _P_DIGITS if str(name).endswith(("_p", "_p_holm")) else _DIGITS
        table[name] = [float(f"{v:.{digits}g}") for v in table[name]]
    return table
