"""Parquet files under a seal: the digest of the whole file, kept in its footer, so that no damaged bit is believed.

Parquet's own checksums leave out the footer, which says what the pages mean, and most readers do not look at them.
A seal has a fixed length: it is written as zeros, and replaced by the digest of the file that has the zeros.
"""

import hashlib
import itertools
import re
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from jouleloop.errors import Fault, InputError
from jouleloop.files import read_bytes, replacing

_KEY, _MARK = "seal", b"jouleloop-seal:"
_OPEN = b"0" * 64
_SEAL = re.compile(re.escape(_MARK) + b"(.{64})", re.DOTALL)
_FOOTER_BYTES = 2**24


def write_sealed(path: Path, table: pa.Table | Iterable[pa.Table]) -> None:
    """Write ``table`` whole or not at all; of several, which are of one schema, each is a group of rows.

    Raises `InputError` where the folder cannot be written, or the disk is full.
    """
    tables = iter([table] if isinstance(table, pa.Table) else table)
    first = next(tables)
    with replacing(path) as temporary:
        with pq.ParquetWriter(temporary, first.schema, compression="zstd", write_page_checksum=True) as writer:
            for part in itertools.chain([first], tables):
                writer.write_table(part)
            writer.add_key_value_metadata({_KEY: (_MARK + _OPEN).decode()})
        with temporary.open("r+b") as stream:
            content = stream.read()
            place = _place(content)
            if place is None:
                raise RuntimeError("pyarrow left out the key of the seal")
            stream.seek(place)
            stream.write(_digest(content, place))


def read_sealed(path: Path, where: Mapping[str, Collection[str]] | None = None) -> pa.Table:
    """Return the table in ``path``; one that was written without a seal is taken as it is.

    Raises `InputError` where there is no such file, a bit of it differs from what was written, or it is no table.

    Parameters
    ----------
    where
        Read only the rows whose text in these columns is one of these.
    """
    content = read_bytes(path)
    place = _place(content)
    if place is not None and content[place : place + len(_OPEN)] != _digest(content, place):
        raise InputError(Fault("the file is damaged: its content is not what was written; make it again", str(path)))
    try:
        wanted = [(name, "in", list(values)) for name, values in (where or {}).items()]
        return pq.read_table(pa.BufferReader(content), page_checksum_verification=True, filters=wanted or None)
    except Exception as error:  # what pyarrow makes of bytes that are no table is of many kinds
        raise InputError(Fault(f"not a Parquet table: {error}", str(path))) from error


def _place(content: bytes) -> int | None:
    """Return where the digest stands, the last place that looks like one; None where there is no seal."""
    found = [seal.start(1) for seal in _SEAL.finditer(content, max(0, len(content) - _FOOTER_BYTES))]
    return found[-1] if found else None


def _digest(content: bytes, place: int) -> bytes:
    state = hashlib.sha256(memoryview(content)[:place])
    state.update(_OPEN)
    state.update(memoryview(content)[place + len(_OPEN) :])
    return state.hexdigest().encode()
