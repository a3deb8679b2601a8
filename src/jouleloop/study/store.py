"""The store of results: segments of Parquet files, written whole, named by their content, never changed.

A segment appears by one rename, so a process killed at any moment leaves complete segments only. A writer removes no
segments but its own, after it has merged them in one, so any number of processes and machines may share the folder, on
network file systems too. A segment whose content does not match its name is left out (and its points are computed
again). The index tells the keys of many segments in one file; it is made of them, and made anew where it is missing.
"""

import contextlib
import errno
import hashlib
import json
import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from jouleloop.errors import Fault, InputError
from jouleloop.files import is_file
from jouleloop.parquet import read_sealed, sealed_parts, write_sealed

_SCHEMA = pa.schema([("key", pa.string()), ("record", pa.string())])
_PREFIX = "segment-"
_FAILED = "failed"
#: Which keys each segment has, and how many segments are opened before that is noted.
_INDEX, _MANY = "index.parquet", 16
#: Folders of the results of searches that a limit of so many seconds stopped.
_STOPPED = "stopped-"
#: Values of one array of text.
_MOST_TEXTS = 8192
#: How often the folder is listed anew when segments were merged meanwhile.
_TRIES = 10


class ResultStore:
    """Results by key in one folder.

    Attributes
    ----------
    damaged
        Segments that could not be read, found so far.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.damaged: list[Path] = []
        self._unusable: set[Path] = set()
        self._segments: dict[Path, tuple[str, ...]] = {}
        self._vanished = 0
        self._opened = 0

    @property
    def failed(self) -> "ResultStore":
        """The store of the attempts that failed: `read` falls back on it, `keys` does not count them as done."""
        return ResultStore(self.folder / _FAILED)

    def stopped(self, seconds: float) -> "ResultStore":
        """The store of the searches that a limit stopped: `read` falls back on it, under a higher one they are new."""
        return ResultStore(self.folder / f"{_STOPPED}{seconds:g}")

    def _limits(self) -> list[float]:
        """Return the limits [s] that have stopped searches, the highest first."""
        return sorted(
            (float(path.name.removeprefix(_STOPPED)) for path in self.folder.glob(f"{_STOPPED}*")), reverse=True
        )

    def keys(self, seconds: float | None = None) -> set[str]:
        """Return the keys of all results that are stored at this moment, failed attempts left out.

        Searches that were stopped count under a limit of ``seconds`` that is no higher than theirs.
        """
        found: set[str] = set()
        if seconds is not None:
            limits = [limit for limit in self._limits() if limit >= seconds]
            return self.keys().union(*(self.stopped(limit).keys() for limit in limits))
        for _ in range(_TRIES):
            before = self._vanished
            found = {key for path in self._paths() for key in self._keys_of(path)}
            if self._vanished == before:
                break
        self._note_keys()
        return found

    def read(self, wanted: Iterable[str]) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield (key, record) of the wanted results that are stored, one segment in memory at a time."""
        from pydantic_core import from_json  # noqa: PLC0415 - half of the time of `json`; a search reads nothing

        missing = set(wanted)
        for _ in range(_TRIES):
            before = self._vanished
            for path in self._paths():
                hits = missing.intersection(self._keys_of(path))
                table = self._table(path) if hits else None
                if table is None:
                    continue
                missing -= hits
                for key, text in zip(table["key"].to_pylist(), table["record"].to_pylist(), strict=True):
                    if key in hits:
                        hits.discard(key)
                        yield key, from_json(text)
            # What a merged segment held is in another one by now.
            if not missing or self._vanished == before:
                break
        if self.folder.name == _FAILED or self.folder.name.startswith(_STOPPED):
            return
        for other in [*(self.stopped(limit) for limit in self._limits()), self.failed]:
            for key, record in other.read(missing) if missing else ():
                missing.discard(key)
                yield key, record

    def check_writable(self) -> None:
        """Raise `InputError` where nothing can be stored: before hours of searches, not after them."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=self.folder):
                pass
        except OSError as error:
            raise InputError(Fault(f"cannot be written: {error.strerror}", str(self.folder))) from error

    def write(self, results: Mapping[str, Mapping[str, Any]]) -> Path | None:
        """Store ``results`` as one segment; return its path, or None where there is nothing to store.

        Raises `InputError` where the folder cannot be written, or the disk is full; then nothing is stored.
        """
        if not results:
            return None
        keys = sorted(results)
        return self._write(keys, [json.dumps(results[key], sort_keys=True, separators=(",", ":")) for key in keys])

    def merge(self, segments: Sequence[Path]) -> Path | None:
        """Replace own ``segments`` by one that holds the results of all; None where there is nothing to merge.

        A reader that meets a segment between listing and opening it finds its results in the new one.
        """
        tables = {path: table for path in dict.fromkeys(segments) if (table := self._table(path)) is not None}
        if len(tables) < 2:
            return None
        rows: dict[str, str] = {}
        for table in tables.values():
            rows |= zip(table["key"].to_pylist(), table["record"].to_pylist(), strict=True)
        keys = sorted(rows)
        merged = self._write(keys, [rows[key] for key in keys])
        for path in tables:
            if path != merged:
                path.unlink(missing_ok=True)
                self._segments.pop(path, None)
        return merged

    def _write(self, keys: list[str], records: list[str]) -> Path:
        content = _content_digest(keys, records)
        path = self.folder / f"{_PREFIX}{content}.parquet"
        if is_file(path) and self._table(path) is not None:
            return path
        write_sealed(path, pa.Table.from_arrays([_texts(keys), _texts(records)], schema=_SCHEMA), name=content)
        # It may stand in the place of a damaged one.
        self._unusable.discard(path)
        self._segments.pop(path, None)
        return path

    def _refuse(self, path: Path) -> None:
        self._unusable.add(path)
        if path not in self.damaged:
            self.damaged.append(path)

    @cached_property
    def _index(self) -> dict[str, tuple[str, ...]]:
        """The keys of segments by their names, as a run before noted them: a segment never changes."""
        try:
            table = read_sealed(self.folder / _INDEX)
            return dict(zip(table["segment"].to_pylist(), map(tuple, table["keys"].to_pylist()), strict=True))
        except (InputError, KeyError, TypeError):
            return {}

    def _note_keys(self) -> None:
        """Note the keys of all segments where many had to be opened to see them; the last of several writers stays."""
        if self._opened < _MANY:
            return
        self._opened = 0
        noted = {path.name: list(keys) for path, keys in self._segments.items() if path not in self._unusable}
        # Who may only read does without.
        with contextlib.suppress(InputError):
            write_sealed(self.folder / _INDEX, pa.table({"segment": list(noted), "keys": list(noted.values())}))

    def _paths(self) -> list[Path]:
        try:
            names = [name for name in os.listdir(self.folder) if name.startswith(_PREFIX)]  # noqa: PTH208 - not its lack
            found = [self.folder / name for name in names if name.endswith(".parquet")]
            return sorted(path for path in found if path not in self._unusable)
        except FileNotFoundError:
            return []
        except OSError as error:
            raise InputError(Fault(f"cannot be read: {error.strerror}", str(self.folder))) from error

    def _keys_of(self, path: Path) -> tuple[str, ...]:
        if path not in self._segments and path.name in self._index:
            self._segments[path] = self._index[path.name]
        if path not in self._segments:
            self._opened += 1
            try:
                parts = sealed_parts(path, columns="key".__eq__, name=_content_of(path))
                self._segments[path] = tuple(key for part in parts for key in part["key"].to_pylist())
            except (InputError, KeyError) as error:
                if _is_gone(error):
                    self._vanished += 1
                    return ()
                self._refuse(path)
                self._segments[path] = ()
        return self._segments[path]

    def _table(self, path: Path) -> pa.Table | None:
        try:
            table = read_sealed(path, name=_content_of(path))
            sound = table.schema.equals(_SCHEMA)
        except InputError as error:
            if _is_gone(error):
                self._vanished += 1
                self._segments.pop(path, None)
                return None
            sound = False
        if not sound:
            self._refuse(path)
            return None
        return table


def _content_of(path: Path) -> str:
    """Return the digest that a segment is named by, and sealed as."""
    return path.stem.removeprefix(_PREFIX)


def _is_gone(error: Exception) -> bool:
    """Whether a file was removed after it was seen: on a network file system, by another machine (ESTALE)."""
    cause = error.__cause__
    return isinstance(cause, FileNotFoundError) or getattr(cause, "errno", None) == errno.ESTALE


def _texts(values: list[str]) -> pa.ChunkedArray:
    """Return ``values`` as Arrow's text; its own conversion imports pandas, for half a second."""
    parts = []
    # Offsets of a part have 32 bits.
    for first in range(0, len(values), _MOST_TEXTS):
        content = [value.encode() for value in values[first : first + _MOST_TEXTS]]
        ends = np.cumsum([0, *map(len, content)], dtype=np.int32)
        parts.append(pa.StringArray.from_buffers(len(content), pa.py_buffer(ends), pa.py_buffer(b"".join(content))))
    return pa.chunked_array(parts, pa.string())


def _content_digest(keys: list[str], records: list[str]) -> str:
    state = hashlib.sha256()
    for key, record in zip(keys, records, strict=True):
        state.update(f"{key}\n{record}\n".encode())
    return state.hexdigest()[:32]
