"""Tables to and from files: Parquet with provenance in its metadata, and CSV that a spreadsheet can open safely."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from jouleloop.errors import Fault, InputError
from jouleloop.files import replacing
from jouleloop.names import safe_cell

_VERSION = b"table_version"
_PROVENANCE = b"provenance"


def write_parquet(path: Path, table: pd.DataFrame, provenance: Mapping[str, Any]) -> None:
    """Write ``table`` whole or not at all, with ``provenance`` as JSON in the file's metadata."""
    arrow = pa.Table.from_pandas(table, preserve_index=False)
    extra = {
        _VERSION: str(table.attrs.get("table_version", "")).encode(),
        _PROVENANCE: json.dumps(provenance, sort_keys=True).encode(),
    }
    arrow = arrow.replace_schema_metadata({**(arrow.schema.metadata or {}), **extra})
    with replacing(path) as temporary:
        pq.write_table(arrow, temporary, compression="zstd")


def read_parquet(path: Path) -> tuple[pd.DataFrame, dict[str, Any]]:
    """Return the table in ``path`` and its provenance; raise `InputError` where it is no such file."""
    try:
        arrow = pq.read_table(path)
    except FileNotFoundError as error:
        raise InputError(Fault("no such file: has the run finished?", str(path))) from error
    except (OSError, pa.ArrowException) as error:
        raise InputError(Fault(f"not a Parquet table: {error}", str(path))) from error
    table: pd.DataFrame = arrow.to_pandas()
    metadata = arrow.schema.metadata or {}
    version = metadata.get(_VERSION, b"").decode()
    if version:
        table.attrs["table_version"] = int(version) if version.isdigit() else version
    return table, json.loads(metadata.get(_PROVENANCE, b"{}"))


def write_csv(path: Path, table: pd.DataFrame) -> None:
    """Write ``table`` whole or not at all; text that a spreadsheet would run as a formula is disarmed."""
    safe = table.copy()
    for name in safe.columns:
        if pd.api.types.is_object_dtype(safe[name].dtype) or pd.api.types.is_string_dtype(safe[name].dtype):
            safe[name] = safe[name].map(safe_cell)
    safe.columns = pd.Index([safe_cell(str(name)) for name in safe.columns])
    with replacing(path) as temporary:
        safe.to_csv(temporary, index=False, lineterminator="\n")
