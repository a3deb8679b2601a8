"""The energies table as the statistics need it: checked, cut into groups, its unusable rows and responses named."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from jouleloop.errors import Fault, InputError, nearest, raise_all
from jouleloop.files import is_whole
from jouleloop.stats.options import StatisticsOptions
from jouleloop.stats.regression import FloatArray
from jouleloop.units import energy_unit, said

TABLE_VERSION = 1
"""Version of the energies table that these statistics read; kept in ``attrs['table_version']`` or a column."""

IDENTIFIERS = ("architecture", "sweep", "layer", "status", "reason", "engine", "energy_table")
_SPACES = ("weights", "inputs", "outputs")
_DRAM = "dram_words_"
SETTINGS = ("objective", "semantics", "constraints")
_NOT_LEVELS = {"total_pj", "data_pj", "compute_pj"}


@dataclass(frozen=True)
class Response:
    """One column (or the sum of some) that is tested."""

    name: str
    """As in the results: the column's name."""
    columns: tuple[str, ...]
    """What it is the sum of."""
    label: str
    """In words."""
    unit: str
    """'pJ' or 'words'."""


@dataclass(frozen=True)
class FitRows:
    """The rows of one fit: one sweep on one architecture by one engine with one energy table."""

    architecture: str
    sweep: str
    engine: str
    energy_table: str
    usable: pd.DataFrame
    left_out: pd.DataFrame


_MACHINE = ["architecture", "variant"]
#: Sizes whose divisibility the residuals are compared with.
DIMENSIONS = ("C", "M", "R", "S", "P", "Q", "N")


def check_table(table: pd.DataFrame, options: StatisticsOptions) -> None:
    """Check that ``table`` can be analysed.

    Raises `InputError` for a table of another version, missing columns, no rows, a row given twice, several objectives,
    semantics or sets of constraints for one architecture, or (unless ``allow_mixed``) several engines, or several
    energy tables for one architecture; all faults together.
    """
    _check_version(table)
    faults = [
        Fault(
            f"column {name!r} is missing: not an energies table, or one of an older version; recompute it",
            nearest=nearest(name, (str(c) for c in table.columns)),
        )
        for name in (*IDENTIFIERS, "total_pj", "data_pj")
        if name not in table.columns
    ]
    raise_all(faults)
    if table.empty:
        raise InputError(Fault("the energies table has no rows"))
    faults += [
        Fault(f"column {name!r} has empty cells, the first in row {int(table[name].isna().to_numpy().argmax())}")
        for name in ("architecture", "sweep", "layer", "status")
        if table[name].isna().any()
    ]
    faults += _repeated(table)
    # A variant has energies of its own, as an architecture has.
    said = ["engine", "energy_table", *(name for name in SETTINGS if name in table.columns)]
    table = table.assign(variant=table["variant"].fillna("") if "variant" in table else "")
    table = table[[*_MACHINE, *said]].drop_duplicates()
    faults += [] if options.allow_mixed else _mixed_sources(table)
    faults += _mixed_settings(table)
    raise_all(faults)


def _check_version(table: pd.DataFrame) -> None:
    """Raise `InputError` for a table of another version."""
    version = table.attrs.get("table_version", TABLE_VERSION)
    if "table_version" in table.columns and len(table):
        version = float(pd.to_numeric(table["table_version"], errors="coerce").min())
    if version != TABLE_VERSION:
        older = is_whole(version) and version < TABLE_VERSION
        raise InputError(
            Fault(
                "the energies table is of an older version: recompute it, the results of unchanged points are reused"
                if older
                else "the energies table is of an unknown version",
                value=version,
                allowed=f"version {TABLE_VERSION}",
            )
        )


def _repeated(table: pd.DataFrame) -> list[Fault]:
    """Return a fault where a row is given twice."""
    key = ["architecture", "sweep", "layer", "engine", "energy_table", *(["variant"] if "variant" in table else [])]
    # One that says the same of all rows tells none apart, and looking it up takes time and memory.
    repeated = table[table.duplicated([name for name in key if table[name].nunique(dropna=False) > 1] or key[:1])]
    if repeated.empty:
        return []
    first = repeated.iloc[0]
    row = f"{first['layer']!r} of sweep {first['sweep']!r} on {first['architecture']!r}"
    return [Fault(f"{len(repeated)} rows are given twice, the first is {row}: results of several runs were joined")]


def _mixed_sources(table: pd.DataFrame) -> list[Fault]:
    """Return a fault for several engines, and for every architecture with several energy tables."""
    faults = []
    engines = sorted(table["engine"].dropna().astype(str).unique())
    hint = "analyse them apart, or set statistics.allow_mixed: true to test each by itself"
    if len(engines) > 1:
        faults.append(Fault(f"the table mixes results of the engines {', '.join(engines)}; {hint}"))
    for (architecture, _), rows in table.groupby(_MACHINE, sort=True):
        tables = sorted(rows["energy_table"].dropna().astype(str).unique())
        if len(tables) > 1:
            faults.append(Fault(f"{architecture} mixes the energy tables {', '.join(tables)}; {hint}"))
    return faults


def _mixed_settings(table: pd.DataFrame) -> list[Fault]:
    """Return a fault for every setting that differs within the rows of one fit: they would be pooled."""
    faults = []
    for setting in (name for name in SETTINGS if name in table.columns):
        if table[setting].nunique() < 2:  # as in nearly every table
            continue
        for (architecture, _, engine, _), rows in table.groupby([*_MACHINE, "engine", "energy_table"], sort=True):
            values = sorted(rows[setting].dropna().astype(str).unique())
            if len(values) > 1:
                faults.append(
                    Fault(f"{architecture} ({engine}) mixes {setting} {', '.join(values)}; analyse them apart")
                )
    return faults


def groups(table: pd.DataFrame) -> Iterator[FitRows]:
    """Yield the groups of ``table`` in the order of sweep, architecture, engine, energy table.

    Rows whose status is not 'ok' carry no energy and may lack engine and energy table; they belong to every group of
    their sweep and architecture.
    """
    ok = table["status"] == "ok"
    names = table.assign(engine=table["engine"].fillna(""), energy_table=table["energy_table"].fillna(""))
    # What a test has no use for takes as much memory as what it needs.
    said = [name for name in (*IDENTIFIERS, *SETTINGS) if name in table.columns and name != "layer"]
    for (sweep, architecture), rows in _split(names, "sweep", "architecture"):
        usable, rest = chosen(rows, ok.loc[rows.index]), rows[~ok.loc[rows.index]]
        if usable.empty:
            first = rows.iloc[0]
            yield FitRows(str(architecture), str(sweep), str(first["engine"]), str(first["energy_table"]), usable, rest)
        for (engine, energy_table), part in _split(usable, "engine", "energy_table"):
            same = rest[rest["engine"].isin(["", engine]) & rest["energy_table"].isin(["", energy_table])]
            numbers = part.drop(columns=said)
            yield FitRows(str(architecture), str(sweep), str(engine), str(energy_table), numbers, same)


def _split(table: pd.DataFrame, *by: str) -> Iterator[tuple[Any, pd.DataFrame]]:
    """Yield the rows of each value of some columns, sorted by these; no copy where all rows have one."""
    keys = table[[*by]].drop_duplicates()
    return iter([(tuple(keys.iloc[0]), table)] if len(keys) == 1 else table.groupby([*by], sort=True))


def chosen(table: pd.DataFrame, mask: Any) -> pd.DataFrame:
    """Return the rows where ``mask`` holds; no copy where it holds for all."""
    return table if mask.all() else table[mask]


def used_columns(table: pd.DataFrame, variable: str, responses: Sequence[Response]) -> set[str]:
    """Return the columns of an energies table that tests of these responses over a variable need."""
    found = {*IDENTIFIERS, *SETTINGS, "table_version", "variant", "total_pj", "data_pj", *DIMENSIONS}
    found |= {column for response in responses for column in response.columns}
    found |= {name for name in map(str, table.columns) if name.startswith("theory_")}
    return found | set(re.findall(r"\w+", variable))


def data_spaces(table: pd.DataFrame) -> tuple[str, ...]:
    """Return the data spaces that a table of energies may have: those with DRAM words, and a convolution's."""
    found = (str(column).removeprefix(_DRAM) for column in table.columns if str(column).startswith(_DRAM))
    return tuple(dict.fromkeys((*found, *_SPACES)))


#: Responses that one column holds, and every group of responses that a table may have.
_WHOLE = ("data", "total", "compute")
ALL_RESPONSES = (*_WHOLE, "levels", "spaces", "dram_words")


def find_responses(table: pd.DataFrame, wanted: Sequence[str]) -> list[Response]:
    """Return the responses that ``wanted`` names (see ``StatisticsOptions.responses``), in that order, each once.

    Raises `InputError` for a name that is neither a group of columns nor a column of numbers.
    """
    levels = _levels(table)
    spaces = {f"{level}_{space}_pj" for level in levels for space in data_spaces(table)} & set(table.columns)
    dram = [str(column) for column in table.columns if str(column).startswith(_DRAM)]
    known = {
        **{name: [_energy(f"{name}_pj", f"{name} energy")] * (f"{name}_pj" in table.columns) for name in _WHOLE},
        "levels": [_level(level, table) for level in levels],
        "spaces": [_energy(c, f"energy of {_words(c)}") for c in table.columns if c in spaces],
        "dram_words": [
            Response("dram_words", tuple(dram), "words moved from and to DRAM", "words"),
            *(Response(c, (c,), f"DRAM words of {c.removeprefix(_DRAM)}", "words") for c in dram),
        ]
        if dram
        else [],
    }
    found: dict[str, Response] = {}
    faults: list[Fault] = []
    for name in wanted:
        entries = known.get(name)
        if entries is None and name in table.columns and pd.api.types.is_numeric_dtype(table[name]):
            entries = [Response(name, (name,), _words(name), energy_unit() if name.endswith("_pj") else "")]
        if entries is None:
            allowed = f"{', '.join(known)} or a column of numbers"
            close = nearest(name, [*known, *(str(c) for c in table.columns)])
            faults.append(Fault("unknown response", None, "statistics.responses", name, allowed, close))
        for entry in entries or ():
            found.setdefault(entry.name, entry)
    raise_all(faults)
    return list(found.values())


def response_values(group: pd.DataFrame, response: Response) -> FloatArray | None:
    """Return the response of every row, NaN where missing; None where the architecture has no such level at all.

    A column without any value is one of another problem shape, and left out.
    """
    numbers = [pd.to_numeric(group[column], errors="coerce") for column in response.columns]
    columns = np.column_stack([values.to_numpy(np.float64, na_value=np.nan) for values in numbers])
    given = ~np.isnan(columns).all(axis=0)
    if len(group) and not given.any():
        return None
    total = columns[:, given].sum(axis=1)
    return np.asarray(np.where(np.isfinite(total), total, np.nan), dtype=np.float64)


def _levels(table: pd.DataFrame) -> list[str]:
    """Return the levels, in the order of the columns, from ``<level>_pj`` and ``<level>_<data space>_pj``."""
    levels: dict[str, None] = {}
    for column in (str(c) for c in table.columns):
        if column in _NOT_LEVELS or column.endswith("_bound_pj") or column.startswith("theory_"):
            continue
        if not column.endswith("_pj"):
            continue
        stem = column.removesuffix("_pj")
        for space in data_spaces(table):
            stem = stem.removesuffix(f"_{space}")
        levels.setdefault(stem)
    return list(levels)


def _level(level: str, table: pd.DataFrame) -> Response:
    whole = f"{level}_pj"
    parts = tuple(f"{level}_{space}_pj" for space in data_spaces(table) if f"{level}_{space}_pj" in table.columns)
    columns = (whole,) if whole in table.columns else parts
    return Response(whole, columns, said(f"energy of {_words(whole)}"), energy_unit())


def _energy(column: str, label: str) -> Response:
    return Response(column, (column,), said(label), energy_unit())


def _words(column: str) -> str:
    return column.removesuffix("_pj").replace("_", " ")
