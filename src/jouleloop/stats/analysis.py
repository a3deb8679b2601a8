"""From a table of energies to the tables of verdicts and fits: every sweep, architecture and response tested."""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from jouleloop.errors import Fault, InputError, raise_all, unknown
from jouleloop.stats.cases import ENERGY, FitCase, SweepDescription
from jouleloop.stats.columns import FAMILIES
from jouleloop.stats.describe import describe
from jouleloop.stats.expected import growth_named
from jouleloop.stats.expression import evaluate_variable
from jouleloop.stats.growth import fit_growth
from jouleloop.stats.options import StatisticsOptions
from jouleloop.stats.regression import FloatArray
from jouleloop.stats.residuals import lower_envelope
from jouleloop.stats.rows import (
    envelope_row,
    fit_row,
    residual_rows,
    structure_of,
    structure_row,
    theory_row,
    verdict_row,
)
from jouleloop.stats.table import (
    ALL_RESPONSES,
    FitRows,
    Response,
    check_table,
    chosen,
    find_responses,
    groups,
    response_values,
    used_columns,
)

__all__ = ["FAMILIES", "Analysis", "SweepDescription", "analyse_table", "gathered", "tested_alone"]

_DIGITS, _P_DIGITS = 10, 6
"""Significant digits of numbers and of p-values: below that, processors and libraries of special functions differ."""


#: Returns tables with those columns that it is asked for, by name.
RowsOf = Callable[[Callable[[str], bool]], Iterable[pd.DataFrame]]


@dataclass(frozen=True)
class Analysis:
    """The results of the statistics."""

    verdicts: pd.DataFrame
    """One row per sweep, architecture (engine, energy table) and response: results/verdicts.csv."""
    fits: pd.DataFrame
    """Coefficients of the expected growth and of the quadratic regression: results/fits.csv."""
    residuals: pd.DataFrame
    """One row per point and response: variable, measured, fitted, relative residual, divisors, factorisations, and
    whether the layer is on the lower envelope."""
    left_out: pd.DataFrame
    """Rows that were not tested, with the reason."""
    paragraphs: dict[str, str]
    """The verdict in words, by sweep."""


@dataclass(frozen=True)
class Tested:
    """Some tests before those of all are put together: numbers in full, p-values as they are."""

    verdicts: list[dict[str, Any]] = field(default_factory=list)
    fits: list[dict[str, Any]] = field(default_factory=list)
    left_out: list[dict[str, Any]] = field(default_factory=list)
    """Rows of those tables."""
    residuals: pd.DataFrame | None = None
    """As `Analysis.residuals`, finished; None where they are kept elsewhere."""


def analyse_table(
    energies: pd.DataFrame,
    sweeps: Sequence[SweepDescription],
    options: StatisticsOptions | None = None,
) -> Analysis:
    """Test every response of every sweep and architecture in ``energies`` against the expected growth.

    Raises `InputError` for a table that cannot be analysed (see `jouleloop.stats.table.check_table`), unknown sweeps,
    growths, responses or columns in a variable; all faults of a kind together.

    Parameters
    ----------
    energies
        The energies table: one row per architecture, sweep and layer.
    sweeps
        The sweeps in it; sweeps that have no rows are an error, as are rows of other sweeps.
    options
        Margins, levels, responses.
    """
    options = options or StatisticsOptions()
    check_table(energies, options)
    described = _described(energies, energies["sweep"].unique(), sweeps)
    responses = find_responses(energies, options.responses)
    found: list[Tested] = []
    for name, rows in energies.groupby("sweep", sort=True):
        for group in groups(rows):
            found += tested_group(group, described[str(name)], responses, options)
    return gathered(found)


def tested_alone(
    columns: pd.DataFrame, rows: RowsOf, sweep: SweepDescription, options: StatisticsOptions
) -> Iterator[Tested]:
    """Yield the tests of one sweep; rows of one architecture and the residuals of one test are in memory at a time.

    Raises `InputError` as `analyse_table`.

    Parameters
    ----------
    columns
        The columns of the table, without rows.
    rows
        Returns the rows of each architecture, by name, with those columns that it is asked for.
    """
    responses = find_responses(columns, options.responses)
    used = used_columns(columns, sweep.variable, responses)
    names: set[Any] = set()
    for energies in rows(used.__contains__):
        check_table(energies, options)
        names |= set(energies["sweep"].unique())
        _described(columns, names, [sweep])
        found = list(groups(energies))
        del energies  # before they are tested, and the next are read
        while found:
            yield from tested_group(found.pop(0), sweep, responses, options)
    _described(columns, names, [sweep])


def gathered(found: Sequence[Tested]) -> Analysis:
    """Return the results of the tests of some sweeps, p-values corrected over all of them."""
    left_out = [row for part in found for row in part.left_out]
    omitted = pd.DataFrame(left_out, columns=_OMITTED)
    residuals = [part.residuals for part in found if part.residuals is not None]
    table = _corrected(pd.DataFrame([row for part in found for row in part.verdicts]))
    return Analysis(
        table,
        _finished(pd.DataFrame([row for part in found for row in part.fits])),
        pd.concat(residuals, ignore_index=True) if residuals else pd.DataFrame(),
        omitted,
        describe(table, omitted),
    )


def tested_group(
    group: FitRows, sweep: SweepDescription, responses: Sequence[Response], options: StatisticsOptions
) -> Iterator[Tested]:
    """Yield the tests of one sweep on one architecture, one by one."""
    refused = _left_out(group)
    yield Tested(left_out=refused)
    for case, missing in _cases(group, sweep, responses):
        try:
            test = fit_growth(case.sizes, case.values, case.growth, options)
        except InputError as error:
            raise error.at(f"sweep {group.sweep}") from error
        if not case.sweep.claims(case.response.name):
            test = test.unclaimed()
        structure = structure_of(case, test)
        envelope = lower_envelope(case.sizes, case.values, case.growth, options)
        verdict = (
            verdict_row(case, test, len(refused) + len(missing))
            | structure_row(structure)
            | envelope_row(envelope)
            | theory_row(case)
        )
        residuals = residual_rows(case, test, structure, envelope.indices if envelope else ())
        found = [Tested([verdict], [fit_row(case, test)], missing, _finished(residuals))]
        del case, test, structure, residuals  # not held while the next is tested: they may be large
        yield found.pop()


_OMITTED = ["sweep", "architecture", "engine", "energy_table", "response", "layer", "status", "reason"]


def _key(group: FitRows) -> dict[str, str]:
    return {
        "sweep": group.sweep,
        "architecture": group.architecture,
        "engine": group.engine,
        "energy_table": group.energy_table,
    }


def _left_out(group: FitRows) -> list[dict[str, Any]]:
    """Return the layers of a group that have no result, with the reason."""
    return [
        _key(group)
        | {"response": "all", "layer": str(row["layer"]), "status": str(row["status"]), "reason": _text(row["reason"])}
        for _, row in group.left_out.iterrows()
    ]


def _cases(
    group: FitRows, sweep: SweepDescription, responses: Sequence[Response]
) -> Iterator[tuple[FitCase, list[dict[str, Any]]]]:
    """Yield what is tested of a group, a response each, and the layers without a value of it."""
    sizes = evaluate_variable(sweep.variable, group.usable, field=f"sweeps.{sweep.name}.variable")
    for response in responses:
        values = response_values(group.usable, response)
        if values is None and response.name not in ENERGY:
            continue  # a level of another architecture
        if values is None:
            values = np.full(len(group.usable), math.nan)
        usable = np.isfinite(values) & np.isfinite(sizes)
        missing = [
            _key(group)
            | {"response": response.name, "layer": str(layer), "status": "ok", "reason": "the value is missing"}
            for layer in group.usable.loc[~usable, "layer"]
        ]
        growth = growth_named(sweep.response_growth.get(response.name, sweep.growth))
        rows = chosen(group.usable, usable)
        yield FitCase(_key(group), sweep, response, growth, rows, sizes[usable], values[usable]), missing


def _corrected(table: pd.DataFrame) -> pd.DataFrame:
    """Put each family's p-values beside themselves, corrected by Holm, and round all numbers."""
    table = _finished(table)
    for family in FAMILIES:
        table.insert(list(table.columns).index(family) + 1, f"{family}_holm", holm(table[family].to_numpy()))
    return _finished(table)


def _described(
    energies: pd.DataFrame, names: Iterable[Any], sweeps: Sequence[SweepDescription]
) -> dict[str, SweepDescription]:
    """Return ``sweeps`` by name; raise `InputError` unless they are those whose ``names`` the table has."""
    described = {sweep.name: sweep for sweep in sweeps}
    faults = []
    if len(described) < len(sweeps):
        faults.append(Fault("a sweep is described twice", field="sweeps"))
    present = {str(name) for name in names}
    faults += [unknown(name, described, "sweep in the energies table") for name in sorted(present - set(described))]
    faults += [Fault("the sweep has no rows in the energies table", field=n) for n in sorted(set(described) - present)]
    known = {response.name for response in find_responses(energies, ALL_RESPONSES)}
    for sweep in sweeps:
        for name in (sweep.growth, *sweep.response_growth.values()):
            try:
                growth_named(name)
            except InputError as error:
                faults += error.at(f"sweep {sweep.name}").faults
        field = f"sweep {sweep.name}.response_growth"
        stated = sorted(set(sweep.response_growth) - known)
        faults += [unknown(name, known, "response of the energies table", field=field) for name in stated]
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


def holm(p_values: npt.ArrayLike) -> FloatArray:
    """Return the p-values corrected for their number; NaN (no test made) stays NaN and is not counted.

    Rejecting where the corrected value is at most alpha keeps the chance of any false rejection in the family below
    alpha, whatever the dependence between the tests (Holm 1979).

    Raises `InputError` for values outside [0, 1].
    """
    values = np.asarray(p_values, dtype=np.float64)
    made = np.flatnonzero(~np.isnan(values))
    if ((values[made] < 0) | (values[made] > 1)).any():
        raise InputError(Fault("a p-value is out of range", allowed="between 0 and 1"))
    corrected = np.full(values.shape, np.nan)
    order = made[np.argsort(values[made], kind="stable")]
    steps = values[order] * np.arange(order.size, 0, -1)
    corrected[order] = np.minimum(np.maximum.accumulate(steps), 1.0) if order.size else steps
    return corrected
