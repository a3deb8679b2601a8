"""Typed tables: what every column holds, and the one writer and reader of their CSV and Parquet files.

Steps of the pipeline hand Parquet to each other, which keeps types, missing values and provenance. CSV is an export for
people and spreadsheets; it can be read back, because the definition of a column says whether ``1``, ``NA`` or an empty
cell is text, a number or nothing.
"""

import csv
import hashlib
import io
import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np
import pandas as pd
import pyarrow as pa

from jouleloop.errors import Fault, InputError
from jouleloop.files import replacing
from jouleloop.layouts import Column, Kind, Layout
from jouleloop.names import plain_cell, safe_cell
from jouleloop.parquet import Where, sealed_parts, write_sealed
from jouleloop.units import WORDS, energies_in, read, written

_VERSION = b"table_version"
_PROVENANCE = b"provenance"
_RESPONSE = "response"
#: Cells of a CSV file that are in memory at a time.
_MOST_CELLS = 200_000
#: Text that is the same in a CSV file.
_HARMLESS = re.compile(r"[A-Za-z][A-Za-z0-9_.:/|() -]*")
_TRUTH = {"True": True, "False": False, "": None}


def write_table(stem: Path, table: pd.DataFrame, layout: Layout, provenance: Mapping[str, Any] | None = None) -> None:
    """Write ``<stem>.parquet`` and ``<stem>.csv``."""
    write_parquet(stem.with_name(f"{stem.name}.parquet"), table, layout, provenance)
    write_csv(stem.with_name(f"{stem.name}.csv"), table, layout)


def write_parquet(path: Path, table: pd.DataFrame, layout: Layout, provenance: Mapping[str, Any] | None = None) -> None:
    """Write ``table`` whole or not at all, each column in its type, ``provenance`` as JSON in the file's metadata.

    Raises `ValueError` for a column that the layout does not define, or values that are not of its kind.
    """
    write_sealed(path, _as_arrow(table, layout, provenance), name=layout.file)


def _as_arrow(table: pd.DataFrame, layout: Layout, provenance: Mapping[str, Any] | None) -> pa.Table:
    arrow = pa.Table.from_pandas(renamed_table(_all_typed(table, layout), written), preserve_index=False)
    extra = {
        _VERSION: str(table.attrs.get("table_version", "")).encode(),
        _PROVENANCE: json.dumps(dict(provenance or {}), sort_keys=True).encode(),
    }
    return arrow.replace_schema_metadata({**(arrow.schema.metadata or {}), **extra})


def _all_typed(table: pd.DataFrame, layout: Layout) -> pd.DataFrame:
    typed = pd.DataFrame({name: _typed(table[name], _defined(layout, str(name)).kind) for name in table.columns})
    return typed.set_axis(table.columns, axis="columns")


def write_batches(
    stem: Path, batches: Iterable[pd.DataFrame], layout: Layout, provenance: Mapping[str, Any] | None = None
) -> None:
    """Write what `write_table` writes of a table that comes in parts of the same columns, one of them in memory."""
    with replacing(stem.with_name(f"{stem.name}.csv")) as exported:

        def groups() -> Iterator[pa.Table]:
            for number, table in enumerate(batches):
                append_csv(exported, table, layout, first=not number)
                yield _as_arrow(table, layout, provenance)

        write_sealed(stem.with_name(f"{stem.name}.parquet"), groups(), name=layout.file)


class Parts:
    """A table that is never whole in memory: its parts are seen once to learn what they share, then read to be written.

    Parameters
    ----------
    layout
        What its columns hold.
    """

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self._parts: dict[Any, tuple[dict[str, Any], Callable[[], Iterable[pd.DataFrame]]]] = {}
        self._empty = pd.DataFrame()

    def add(self, place: Any, part: pd.DataFrame, again: Callable[[], Iterable[pd.DataFrame]]) -> None:
        """Put a part in its ``place`` in the order; ``again`` returns all of that place once more, in as many parts.

        One without rows may fill all.
        """
        if part.empty:
            self._empty = part
            return
        known, _ = self._parts.get(place, ({}, again))
        self._parts[place] = _both(known, dict(part.dtypes)) if known else dict(part.dtypes), again

    def write(self, stem: Path, provenance: Mapping[str, Any] | None = None) -> None:
        """Write what `write_table` writes of all parts in one table."""
        if not self._parts:
            write_table(stem, self._empty, self.layout, provenance)
            return
        parts = [self._parts[place] for place in sorted(self._parts)]
        types: dict[str, Any] = {}
        for number, (own, _) in enumerate(parts):
            types = _both(types, own) if number else own
        alike = (part.reindex(columns=list(types)).astype(types) for _, again in parts for part in again() if len(part))
        write_batches(stem, alike, self.layout, provenance)


def _both(first: Mapping[str, Any], second: Mapping[str, Any]) -> dict[str, Any]:
    """Return the types of the columns of a table that is made of two, by the types of each."""
    return {name: _shared([first.get(name), second.get(name)]) for name in {**first, **second}}


def _shared(kinds: Sequence[Any]) -> Any:
    """Return the type of a column whose parts are of these types, None where one lacks it: that of all in one."""
    given = [kind for kind in dict.fromkeys(kinds) if kind is not None]
    if len(given) == 1 and None not in kinds:
        return given[0]
    numbers = [kind for kind in given if pd.api.types.is_numeric_dtype(kind) and not pd.api.types.is_bool_dtype(kind)]
    if not numbers:
        return "object" if any(pd.api.types.is_bool_dtype(kind) for kind in given) else given[0]
    return next((kind for kind in numbers if pd.api.types.is_extension_array_dtype(kind)), "float64")


def write_csv(path: Path, table: pd.DataFrame, layout: Layout, *, digits: int | None = None) -> None:
    """Write ``table`` whole or not at all; text that a spreadsheet would run as a formula is disarmed.

    Numbers have as many significant ``digits``, or all.

    Raises `ValueError` for a column that the layout does not define.
    """
    with replacing(path) as temporary:
        _write_csv(temporary, table, layout, float_format=None if digits is None else f"%.{digits}g")


def append_csv(path: Path, table: pd.DataFrame, layout: Layout, *, first: bool) -> None:
    """Write a part of a table to the end of ``path``, the ``first`` one with the names of the columns."""
    _write_csv(path, table, layout, more=not first)


def _write_csv(path: Path, table: pd.DataFrame, layout: Layout, *, more: bool = False, **options: Any) -> None:
    shown = table[[name for name in table.columns if _defined(layout, str(name)).exported]].copy(deep=False)
    kinds = list(map(_cell_kind, shown.dtypes))
    # A single empty cell is quoted.
    by_hand = all(kinds) and len(kinds) > 1 and options.get("float_format") is None
    for name, kind in zip(shown.columns, kinds, strict=True) if not by_hand else ():
        if kind in ("text", None):
            shown[name] = shown[name].map(safe_cell)
    shown = renamed_table(shown, written)
    shown.columns = pd.Index([safe_cell(str(name)) for name in shown.columns])
    if not by_hand:
        shown.to_csv(path, mode="a" if more else "w", index=False, lineterminator="\n", header=not more, **options)
        return
    with path.open("a" if more else "w", encoding="utf-8", newline="") as stream:
        if not more:
            csv.writer(stream, lineterminator="\n").writerow(shown.columns)
        rows = max(1, _MOST_CELLS // len(kinds))
        for first in range(0, len(shown), rows):
            part = shown.iloc[first : first + rows]
            cells = (_cells(part.iloc[:, place], kind) for place, kind in enumerate(kinds))
            stream.write("\n".join([*map(",".join, zip(*cells, strict=True)), ""]))


def _cell_kind(kind: Any) -> str | None:
    """Return how cells of a type of columns are written; None where that is left to pandas."""
    types = pd.api.types
    if types.is_string_dtype(kind) and not types.is_object_dtype(kind):
        return "text"
    if kind == "float64":
        return "number"
    return "plain" if types.is_integer_dtype(kind) or types.is_bool_dtype(kind) else None


def _cells(column: "pd.Series[Any]", kind: str | None) -> list[str]:
    """Return the cells of a column as pandas writes them, which takes three times as long."""
    if kind == "number":
        return ["" if math.isnan(value) else repr(value) for value in column.tolist()]
    if kind == "plain":
        known = column.to_numpy() if isinstance(column.dtype, np.dtype) else column.to_numpy(object, na_value="")
        return list(map(str, known.tolist()))
    # Text repeats: what is written of it is worked out once.
    places, found = pd.factorize(column)
    texts = np.array([*map(_text_cell, found), ""], dtype=object)
    return cast("list[str]", texts[places].tolist())


def _text_cell(text: str) -> str:
    """Return how a text stands in a CSV file: quoted where it must be, disarmed where a spreadsheet would run it."""
    if _HARMLESS.fullmatch(text):
        return text
    line = io.StringIO()
    csv.writer(line, lineterminator="\n").writerow([safe_cell(text), ""])
    return line.getvalue()[:-2]


def read_table(
    path: Path, layout: Layout, *, where: Where | None = None, columns: Callable[[str], bool] | None = None
) -> tuple[pd.DataFrame, dict[str, Any]]:
    """Return the table in a Parquet or CSV file and its provenance, which CSV has none of.

    Raises `InputError` where the file is no such table: a Parquet file knows as which it was written.

    Parameters
    ----------
    where
        Of a Parquet file only the rows whose text in these columns is one of these; others are never in memory.
    columns
        Of a Parquet file only the columns of these names.
    """
    if path.suffix == ".parquet":
        arrow = pa.concat_tables(_arrow_parts(path, where, columns, layout))
        provenance = _provenance(arrow)
        return _as_pandas(arrow, path), provenance
    if path.suffix != ".csv":
        raise InputError(Fault("not a table of results", str(path), allowed="a file that ends in .parquet or .csv"))
    return _read_csv(path, layout), {}


def read_parts(
    path: Path, layout: Layout, where: Where | None = None, columns: Callable[[str], bool] | None = None
) -> Iterator[pd.DataFrame]:
    """Yield what `read_table` returns of a Parquet file in parts, one at least, of which one is in memory at a time."""
    return (_as_pandas(part, path) for part in _arrow_parts(path, where, columns, layout))


def _arrow_parts(
    path: Path, where: Where | None, columns: Callable[[str], bool] | None, layout: Layout
) -> Iterator[pa.Table]:
    if not path.exists():
        raise InputError(Fault("no such file: has the run finished?", str(path)))
    # Only the file tells by which of its names a response is known there.
    either = {name: {*values, *_written_either_way(values)} for name, values in (where or {}).items()}
    name = "" if layout.open else layout.file
    return sealed_parts(path, either, columns and (lambda column: columns(read(column))), name)


def _as_pandas(arrow: pa.Table, path: Path) -> pd.DataFrame:
    """Return a table in memory once: ``arrow`` is empty thereafter."""
    try:
        version = (arrow.schema.metadata or {}).get(_VERSION, b"").decode()
        table: pd.DataFrame = renamed_table(arrow.to_pandas(self_destruct=True), read)
    except Exception as error:  # a table that this package did not write may say anything of its columns
        raise InputError(Fault(f"not a table of results: {error}", str(path))) from error
    if version:
        table.attrs["table_version"] = int(version) if version.isdigit() else version
    return table


def _provenance(arrow: pa.Table) -> dict[str, Any]:
    try:
        provenance = json.loads((arrow.schema.metadata or {}).get(_PROVENANCE, b"{}"))
    except ValueError:
        return {}
    return provenance if isinstance(provenance, dict) else {}


def _read_csv(path: Path, layout: Layout) -> pd.DataFrame:
    try:
        cells = pd.read_csv(path, dtype=str, keep_default_na=False)
        cells.columns = pd.Index([str(plain_cell(name)) for name in cells.columns])
        cells = renamed_table(cells, read)
        found = {}
        for name in cells.columns:
            column = layout.column(str(name))
            found[name] = _from_text(cells[name], "any" if column is None else column.kind)
    except FileNotFoundError as error:
        raise InputError(Fault("no such file", str(path))) from error
    except (OSError, ValueError, ArithmeticError, LookupError, TypeError) as error:
        raise InputError(Fault(f"not a CSV table: {error}", str(path))) from error
    return pd.DataFrame(found, columns=cells.columns)


def renamed_table(table: pd.DataFrame, named: Callable[[str], str]) -> pd.DataFrame:
    """Return ``table`` with other names of energies: of its columns, and of the responses that its rows are about."""
    names = {name: named(name) for name in map(str, table.columns)}
    if _RESPONSE in table:
        known = {name: named(str(name)) for name in table[_RESPONSE].unique()}
        if any(name != other for name, other in known.items()):
            table = table.assign(**{_RESPONSE: table[_RESPONSE].map(known)})
    return table if all(name == other for name, other in names.items()) else table.rename(columns=names)


def _written_either_way(names: Iterable[str]) -> list[str]:
    with energies_in(WORDS):
        return [written(name) for name in names]


def content_digest(parts: Iterable[pd.DataFrame]) -> str:
    """Return a digest of the columns of a table that comes in parts, their types and all values."""
    state = hashlib.sha256()
    for number, part in enumerate(parts):
        if not number:
            state.update(repr(list(part.dtypes.items())).encode())
        state.update(pd.util.hash_pandas_object(part, index=False).to_numpy().tobytes())
    return state.hexdigest()


def typed_arrow(table: pd.DataFrame, layout: Layout) -> pa.Table:
    """Return a table as it is written, each column in its type."""
    return pa.Table.from_pandas(_all_typed(table, layout), preserve_index=False)


def _defined(layout: Layout, name: str) -> Column:
    column = layout.column(name)
    if column is None:
        raise ValueError(f"{layout.file}: no definition of the column {name!r}")
    return column


def _typed(values: "pd.Series[Any]", kind: Kind) -> "pd.Series[Any]":
    """Return ``values`` in the type of their kind; a type that suits already stays."""
    types = pd.api.types
    if kind == "text" and not types.is_string_dtype(values.dtype):
        return pd.Series([None if pd.isna(v) else str(v) for v in values], index=values.index, dtype="str")
    if kind == "number" and not types.is_float_dtype(values.dtype):
        return pd.to_numeric(values.astype(object)).astype("float64")
    if kind == "whole" and not types.is_integer_dtype(values.dtype):
        return pd.Series([_whole(value) for value in values], index=values.index, dtype="Int64")
    if kind == "truth" and not types.is_bool_dtype(values.dtype):
        return values.astype("boolean")
    return values


def _whole(value: Any) -> int | None:
    if pd.isna(value):
        return None
    if int(value) != value:
        raise ValueError(f"not a whole number: {value!r}")
    return int(value)


def _from_text(cells: "pd.Series[str]", kind: Kind) -> "pd.Series[Any]":
    """Return the cells of one column of a CSV in the type of its kind; empty cells of numbers are missing."""
    if kind == "text":
        return cells.map(plain_cell).astype("str")
    if kind == "truth":
        return cells.map(_TRUTH).astype("boolean" if (cells == "").any() else "bool")
    if kind == "any":
        return _from_text(cells, _kind_of(cells))
    numbers = pd.Series([float(cell) if cell else float("nan") for cell in cells], index=cells.index, dtype="float64")
    if kind == "number":
        return numbers
    counts = [_whole(float(cell) if "." in cell else int(cell)) if cell else None for cell in cells]
    whole = pd.Series(counts, index=cells.index, dtype="Int64")
    return whole if whole.isna().any() else whole.astype("int64")


def _kind_of(cells: Iterable[str]) -> Kind:
    """Return of which kind the cells of an undefined column are."""
    given = {cell for cell in cells if cell}
    if given and given <= set(_TRUTH):
        return "truth"
    if all(re.fullmatch(r"-?\d+", cell) for cell in given):
        return "whole" if given else "number"
    try:
        for cell in given:
            float(cell)
    except ValueError:
        return "text"
    return "number"
