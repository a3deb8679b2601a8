"""Parquet files under a seal: the digest of the whole file, kept in its footer, so that no damaged bit is believed.

Parquet's own checksums leave out the footer, which says what the pages mean, and most readers do not look at them.
A seal has a fixed length: it is written as zeros, and replaced by the digest of the file that has the zeros.
Tables are written and read in parts, of which one is in memory at a time.
"""

import hashlib
import itertools
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq

from jouleloop.errors import Fault, InputError
from jouleloop.files import reading, replacing

_KEY, _MARK, _NAME = "seal", b"jouleloop-seal:", "sealed_as"
_OPEN = b"0" * 64
_SEAL = re.compile(re.escape(_MARK) + b"(.{64})", re.DOTALL)
_FOOTER_BYTES = 2**24
#: Bytes that are digested, and rows that are read at a time.
_PIECE, PART_ROWS = 2**20, 20_000
#: Rows whose memory is given back at once.
_MANY_ROWS = PART_ROWS // 4

#: The texts that rows have in some columns.
Where = Mapping[str, Collection[str]]


def write_sealed(
    path: Path, table: pa.Table | Iterable[pa.Table], further: Mapping[str, str] | None = None, name: str = ""
) -> None:
    """Write ``table`` whole or not at all; of several, each is a group of rows in the types of the first.

    Raises `InputError` where the folder cannot be written, or the disk is full.

    Parameters
    ----------
    further
        Kept beside the schema's metadata; it may be known only when the last part has been taken.
    name
        What the table is, under the seal: a reader that expects another refuses it.
    """
    tables = iter([table] if isinstance(table, pa.Table) else table)
    first = next(tables)
    schema, tables = first.schema, itertools.chain([first], tables)
    del first  # one part at a time
    with replacing(path) as temporary:
        with pq.ParquetWriter(temporary, schema, compression="zstd", write_page_checksum=True) as writer:
            for part in tables:
                writer.write_table(part.cast(schema))
                rows = part.num_rows
                del part
                _give_back(rows)
            writer.add_key_value_metadata({**(further or {}), _NAME: name, _KEY: (_MARK + _OPEN).decode()})
        with temporary.open("r+b") as stream:
            place = _place(stream)
            if place is None:
                raise RuntimeError("pyarrow left out the key of the seal")
            digest = _digest(stream, place)
            stream.seek(place)
            stream.write(digest)


def read_sealed(path: Path, where: Where | None = None, name: str = "") -> pa.Table:
    """Return the table in ``path``; parameters and errors are those of `sealed_parts`."""
    return pa.concat_tables(sealed_parts(path, where, name=name))


def sealed_parts(
    path: Path, where: Where | None = None, columns: Callable[[str], bool] | None = None, name: str = ""
) -> Iterator[pa.Table]:
    """Yield the table in ``path`` in parts, one at least. Arrow sees nothing but bytes whose seal holds.

    Raises `InputError` where there is no such file, it has no seal, a bit of it differs from what was written, or it
    was written as another table.

    Parameters
    ----------
    where
        Read only the rows whose text in these columns is one of these.
    columns
        Which columns are read, by name; all where it is left out.
    name
        What the table has to be; any where it is left out.
    """
    with reading(path) as stream:
        place = _place(stream)
        if place is None:
            text = "no table of results: it has no seal, so it is damaged or of another program"
            raise InputError(Fault(text, str(path), allowed="a table that jouleloop wrote, or a CSV file"))
        stream.seek(place)
        if stream.read(len(_OPEN)) != _digest(stream, place):
            text = "the file is damaged: its content is not what was written; make it again"
            raise InputError(Fault(text, str(path)))
        try:
            # Read ahead, Arrow starts threads, and a process that leaves while one of them begins may abort.
            with pq.ParquetFile(stream, page_checksum_verification=True, pre_buffer=False) as file:
                _check_name(file, name, path)
                yield from _parts(file, where or {}, columns)
        except (GeneratorExit, InputError):
            raise
        except Exception as error:  # what pyarrow makes of bytes that are no table is of many kinds
            raise InputError(Fault(f"not a Parquet table: {error}", str(path))) from error


def _check_name(file: pq.ParquetFile, name: str, path: Path) -> None:
    written = (file.metadata.metadata or {}).get(_NAME.encode(), b"").decode()
    if name not in ("", written):
        raise InputError(Fault("another table was written under this name", str(path), None, written, name))


def _parts(file: pq.ParquetFile, where: Where, columns: Callable[[str], bool] | None) -> Iterator[pa.Table]:
    schema = file.schema_arrow.with_metadata({**(file.schema_arrow.metadata or {}), **(file.metadata.metadata or {})})
    wanted = [name for name in schema.names if columns is None or columns(name)]
    tested = {name: pa.array(sorted(values), pa.string()) for name, values in where.items()}
    found = [number for number in range(file.num_row_groups) if _may_hold(file.metadata.row_group(number), where)]
    shape = pa.schema([schema.field(name) for name in wanted], schema.metadata)
    none = True
    for batch in file.iter_batches(PART_ROWS, found, list(dict.fromkeys([*wanted, *where])), use_threads=False):
        part, read = pa.Table.from_batches([batch]), batch.num_rows
        for name, values in tested.items():
            from pyarrow.compute import is_in  # noqa: PLC0415 - slow to import, and searches filter nothing

            part = part.filter(is_in(part[name].cast(pa.string()), values))
        if part.num_rows:
            none = False
            rows = [part.select(wanted).cast(shape)]
            del part, batch  # it is for the caller to let them go
            yield rows.pop()
        _give_back(read)
    if none:
        yield shape.empty_table()  # Arrow imports pandas for it


def _give_back(rows: int) -> None:
    """Let Arrow give back what a part of so many ``rows`` took: it keeps that, in pieces that do not suit the next.

    All memory is looked through, which takes longer than to read a small part.
    """
    if rows >= _MANY_ROWS:
        pa.default_memory_pool().release_unused()


def _may_hold(group: pq.RowGroupMetaData, where: Where) -> bool:
    """Whether a group of rows may have any of these texts, by the least and the greatest that it notes."""
    for number in range(group.num_columns):
        column = group.column(number)
        notes = column.statistics if column.path_in_schema in where else None
        if notes is None or not notes.has_min_max:
            continue
        if not any(notes.min <= value <= notes.max for value in where[column.path_in_schema]):
            return False
    return True


def _place(stream: BinaryIO) -> int | None:
    """Return where the digest stands, the last place that looks like one; None where there is no seal."""
    size = stream.seek(0, 2)
    start = max(0, size - _FOOTER_BYTES)
    stream.seek(start)
    found = [seal.start(1) for seal in _SEAL.finditer(stream.read())]
    return start + found[-1] if found else None


def _digest(stream: BinaryIO, place: int) -> bytes:
    """Return the digest of a file whose digest stands at ``place``."""
    state = hashlib.sha256()
    stream.seek(0)
    left = place
    while left and (piece := stream.read(min(left, _PIECE))):
        state.update(piece)
        left -= len(piece)
    state.update(_OPEN)
    stream.seek(place + len(_OPEN))
    while piece := stream.read(_PIECE):
        state.update(piece)
    return state.hexdigest().encode()
