"""Compare any two tables of results: rows that only one has, and every shared column, row by row."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from jouleloop.columns import read_table, renamed_table
from jouleloop.errors import Fault, InputError, raise_all, unknown
from jouleloop.tables.layouts import ANY, LAYOUTS
from jouleloop.units import energies_in, unit_of, written

#: Columns that tell rows apart wherever they stand, in this order.
_IDENTITY = (
    *("architecture", "sweep", "network", "layer", "response", "quantity", "form", "parameter", "variable"),
    *("N", "C", "M", "R", "S", "P", "Q", "w_stride", "h_stride", "groups", "padding", "n", "m", "beta", "name", "case"),
)
#: Text columns whose values decide whether two tables differ; other text is told only.
_DECIDING_TEXT = ("status", "verdict")


@dataclass(frozen=True)
class FieldComparison:
    """One column that both tables have, over the rows that both have."""

    field: str
    kind: str
    """``number`` or ``text``."""
    decides: bool
    """Whether a difference here makes the tables different."""
    rows: int
    equal: int = 0
    lower: int = 0
    higher: int = 0
    """Rows in which the value of the first table is equal to that of the second, below, above it. Unequal text counts
    in ``different``."""
    different: int = 0
    missing_in_first: int = 0
    missing_in_second: int = 0
    """Rows in which only one of them has no value."""
    largest_difference: float | None = None
    largest_relative: float | None = None
    """First less second where that is largest relative to the second, and that ratio; None where nothing differs, or
    where the second is 0."""
    where: str = ""
    first: Any = None
    second: Any = None
    """The row where the difference is largest, and its two values."""

    @property
    def differs(self) -> bool:
        """Whether any row differs."""
        return self.equal < self.rows


@dataclass(frozen=True)
class TableComparison:
    """Two tables compared."""

    keys: tuple[str, ...]
    """Columns by which rows are matched."""
    rows: int
    only_in_first: tuple[str, ...]
    only_in_second: tuple[str, ...]
    """Rows that only one has, as text."""
    columns_only_in_first: tuple[str, ...]
    columns_only_in_second: tuple[str, ...]
    """Columns that only one has."""
    fields: tuple[FieldComparison, ...]

    @property
    def differ(self) -> bool:
        """Whether the tables differ in their rows, or in a field that decides."""
        rows = bool(self.only_in_first or self.only_in_second)
        return rows or any(field.differs for field in self.fields if field.decides)

    def as_json(self) -> dict[str, Any]:
        """Return plain JSON data."""
        return {"differ": self.differ, **asdict(self)}


def read_any(path: Path) -> pd.DataFrame:
    """Return the table in a Parquet or CSV file, whichever it is, its columns called as there.

    Raises `InputError` where the file is no such table.
    """
    known = {layout.file: layout for layout in LAYOUTS}
    table = read_table(path, known.get(path.stem, ANY))[0]
    with energies_in(unit_of(table["energy_table"].dropna() if "energy_table" in table else ())):
        return renamed_table(table, written)


def compare_tables(
    first: pd.DataFrame,
    second: pd.DataFrame,
    *,
    on: Sequence[str] = (),
    only: Sequence[str] = (),
    ignore: Sequence[str] = (),
    relative: float = 1e-9,
    absolute: float = 0.0,
    text: bool = False,
) -> TableComparison:
    """Compare two tables of results.

    Raises `InputError` where a column is named that one of the tables has not, or no columns tell the rows apart.

    Parameters
    ----------
    on
        Columns that identify a row; by default the usual ones that both tables have, as many as are needed.
    only, ignore
        Columns that are compared, and columns that are not; by default all that both have are.
    relative, absolute
        Differences up to ``absolute`` plus ``relative`` times the larger magnitude count as equal.
    text
        Whether differing text (mappings, engines, reasons) makes tables different; ``status`` always does.
    """
    shared = [name for name in first.columns if name in set(second.columns)]
    faults = _faults(first, second, on, only, ignore)
    faults += [
        Fault("must not be negative", field=name, value=value)
        for name, value in (("relative", relative), ("absolute", absolute))
        if not value >= 0
    ]
    raise_all(faults)
    keys = list(on) or _keys(first, second, shared)
    for which, table in (("first", first), ("second", second)):
        if table.duplicated(keys).any():
            row = table[table.duplicated(keys)].iloc[0]
            raise InputError(
                Fault(f"the {which} table has several rows for {_label(row, keys)}", field="on", value=", ".join(keys))
            )
    a, b = _indexed(first, keys), _indexed(second, keys)
    in_first, in_second = set(a.index), set(b.index)
    both = [label for label in a.index if label in in_second]
    compared = [name for name in (only or shared) if name not in keys and name not in ignore]
    fields = [
        _compare(name, a.loc[both, name], b.loc[both, name], relative, absolute, text=text, chosen=name in only)
        for name in compared
    ]
    return TableComparison(
        tuple(keys),
        len(both),
        tuple(label for label in a.index if label not in in_second),
        tuple(label for label in b.index if label not in in_first),
        tuple(name for name in first.columns if name not in shared),
        tuple(name for name in second.columns if name not in shared),
        tuple(fields),
    )


def _faults(
    first: pd.DataFrame, second: pd.DataFrame, on: Sequence[str], only: Sequence[str], ignore: Sequence[str]
) -> list[Fault]:
    """Return a fault for every column that is named and that one of the tables, or of ``ignore`` both, has not."""
    shared = [name for name in first.columns if name in set(second.columns)]
    known = set(first.columns) | set(second.columns)
    named = [("on", name, shared) for name in on] + [("only", name, shared) for name in only]
    named += [("ignore", name, sorted(known)) for name in ignore]
    return [unknown(name, among, "column", field=option) for option, name, among in named if name not in among]


def _keys(first: pd.DataFrame, second: pd.DataFrame, shared: Sequence[str]) -> list[str]:
    """Return as many of the usual columns as tell the rows of both tables apart."""
    candidates = [name for name in _IDENTITY if name in shared]
    candidates += [
        name for name in shared if name not in candidates and not pd.api.types.is_numeric_dtype(first[name].dtype)
    ]
    keys: list[str] = []
    for position, name in enumerate(candidates):
        keys.append(name)
        # Names come first and are all used: two sweeps may share every layer.
        names_done = position + 1 >= len(candidates) or candidates[position + 1] not in _IDENTITY[:4]
        if names_done and not first.duplicated(keys).any() and not second.duplicated(keys).any():
            return keys
    allowed = f"columns of both: {', '.join(map(str, shared)) or 'none'}"
    raise InputError(Fault("no columns tell the rows apart in both tables", field="on", allowed=allowed))


def _label(row: "pd.Series[Any]", keys: Sequence[str]) -> str:
    return " ".join(_text(row[key]) if isinstance(row[key], str) else f"{key}={_text(row[key])}" for key in keys)


def _indexed(table: pd.DataFrame, keys: Sequence[str]) -> pd.DataFrame:
    labels = [_label(row, keys) for _, row in table[list(keys)].astype(object).iterrows()]
    return table.set_axis(pd.Index(labels, dtype=object), axis=0)


def _compare(
    name: str,
    first: "pd.Series[Any]",
    second: "pd.Series[Any]",
    relative: float,
    absolute: float,
    *,
    text: bool,
    chosen: bool,
) -> FieldComparison:
    a, b = _numbers(first), _numbers(second)
    if a is None or b is None:
        return _compare_text(name, first, second, decides=text or chosen or name in _DECIDING_TEXT)
    lacks_a, lacks_b = np.isnan(a), np.isnan(b)
    there = ~(lacks_a | lacks_b)
    with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
        gap = a - b
        same = (a == b) | (np.abs(gap) <= absolute + relative * np.maximum(np.abs(a), np.abs(b)))
        share = np.where(b != 0, gap / np.abs(b), np.copysign(np.inf, gap))
    unequal = there & ~same
    values: dict[str, Any] = {}
    if unequal.any():
        at = int(np.argmax(np.where(unequal, np.abs(share), -1.0)))
        values = {
            "largest_difference": float(gap[at]) if np.isfinite(gap[at]) else None,
            "largest_relative": float(share[at]) if np.isfinite(share[at]) else None,
            "where": str(first.index[at]),
            # An infinity is no number of JSON.
            "first": float(a[at]) if np.isfinite(a[at]) else str(a[at]),
            "second": float(b[at]) if np.isfinite(b[at]) else str(b[at]),
        }
    return FieldComparison(
        name,
        "number",
        True,
        len(first),
        equal=int((there & same).sum() + (lacks_a & lacks_b).sum()),
        lower=int((unequal & (a < b)).sum()),
        higher=int((unequal & (a > b)).sum()),
        missing_in_first=int((lacks_a & ~lacks_b).sum()),
        missing_in_second=int((lacks_b & ~lacks_a).sum()),
        **values,
    )


def _numbers(column: "pd.Series[Any]") -> np.ndarray[Any, np.dtype[np.float64]] | None:
    """Return the column as numbers, NaN where empty; None where it holds text or truth values."""
    if pd.api.types.is_bool_dtype(column.dtype):
        return None
    if not pd.api.types.is_numeric_dtype(column.dtype) and not column.isna().all():
        return None
    return pd.to_numeric(column, errors="coerce").to_numpy(dtype=np.float64, na_value=np.nan)


def _compare_text(name: str, first: "pd.Series[Any]", second: "pd.Series[Any]", *, decides: bool) -> FieldComparison:
    a, b = [_text(value) for value in first], [_text(value) for value in second]
    empty_first = sum(not x and bool(y) for x, y in zip(a, b, strict=True))
    empty_second = sum(bool(x) and not y for x, y in zip(a, b, strict=True))
    unequal = [position for position, (x, y) in enumerate(zip(a, b, strict=True)) if x != y]
    at = unequal[0] if unequal else None
    return FieldComparison(
        name,
        "text",
        decides,
        len(a),
        equal=len(a) - len(unequal),
        different=len(unequal) - empty_first - empty_second,
        missing_in_first=empty_first,
        missing_in_second=empty_second,
        where="" if at is None else str(first.index[at]),
        first=None if at is None else a[at],
        second=None if at is None else b[at],
    )


def _text(value: Any) -> str:
    if value is None or value is pd.NA or (isinstance(value, float) and np.isnan(value)):
        return ""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)
