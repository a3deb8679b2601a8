"""Sealed Parquet files: a flipped bit, a lost piece or foreign bytes are a fault, never a number."""

import random
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from jouleloop import parquet
from jouleloop.columns import read_parts, read_table, write_parquet
from jouleloop.errors import InputError
from jouleloop.layouts import Column, Layout
from jouleloop.parquet import read_sealed, write_sealed
from jouleloop.tables.layouts import ANY
from overwritten import overwrite

TABLE = pa.table({"layer": ["a", "b", None], "energy_pj": [0.1, 2.0**60, 3.0], "cycles": [1, 2, None]})

LAYER = Column("layer", "text", "", "A layer.")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "table.parquet"
    write_sealed(path, TABLE)
    return path


def test_what_is_written_is_read_by_us_and_by_others(path: Path) -> None:
    assert read_sealed(path).equals(TABLE)
    assert pq.read_table(path).equals(TABLE)


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="threads are counted as Linux tells them")
def test_reading_starts_no_thread(path: Path) -> None:
    """Arrow's own may abort a process that ends while they begin."""
    code = (
        "import sys, pathlib; from jouleloop.parquet import read_sealed; tasks = pathlib.Path('/proc/self/task')\n"
        "before = len(list(tasks.iterdir())); read_sealed(pathlib.Path(sys.argv[1]))\n"
        "sys.exit(len(list(tasks.iterdir())) - before)"
    )
    assert subprocess.run([sys.executable, "-c", code, str(path)], check=False).returncode == 0


def test_the_same_table_is_the_same_bytes(path: Path) -> None:
    first = path.read_bytes()
    write_sealed(path, TABLE)
    assert path.read_bytes() == first


def test_every_flipped_bit_is_found_or_harmless(path: Path) -> None:
    sound = path.read_bytes()
    refused = 0
    for place in range(len(sound)):
        damaged = bytearray(sound)
        damaged[place] ^= 1 << place % 8
        overwrite(path, damaged)
        try:
            found = read_sealed(path)
        except InputError:
            refused += 1
        else:
            assert found.equals(TABLE)
    assert refused == len(sound)


def test_a_seal_cannot_be_switched_off(path: Path) -> None:
    """Without its mark a file was taken as it is, and what else was damaged ended Python inside Arrow."""
    sound = path.read_bytes()
    mark = sound.index(b"jouleloop-seal:")
    for place in range(8 * len(b"jouleloop-seal:")):
        damaged = bytearray(sound)
        damaged[mark + place // 8] ^= 1 << place % 8
        damaged[len(sound) // 3] ^= 1
        overwrite(path, damaged)
        with pytest.raises(InputError, match="no seal"):
            read_sealed(path)
    pq.write_table(TABLE, path)
    with pytest.raises(InputError, match="no seal"):
        read_sealed(path)


def test_a_table_under_the_name_of_another_is_refused(tmp_path: Path) -> None:
    frame = TABLE.to_pandas()[["layer"]]
    first, second = Layout("first", "", (LAYER,)), Layout("second", "", (LAYER,))
    write_parquet(tmp_path / "first.parquet", frame, first)
    (tmp_path / "second.parquet").write_bytes((tmp_path / "first.parquet").read_bytes())
    assert len(read_table(tmp_path / "second.parquet", first)[0]) == 3
    with pytest.raises(InputError, match=r"another table was written.*first.*second"):
        read_table(tmp_path / "second.parquet", second)
    with pytest.raises(InputError, match="another table was written"):
        list(read_parts(tmp_path / "second.parquet", second))
    assert len(read_table(tmp_path / "second.parquet", ANY)[0]) == 3


def test_a_piece_that_is_lost_is_found(path: Path) -> None:
    sound = path.read_bytes()
    chance = random.Random(1)
    for _ in range(200):
        start = chance.randrange(len(sound))
        overwrite(path, sound[:start] + sound[start + chance.choice((1, 8, len(sound))) :])
        with pytest.raises(InputError, match=r"table\.parquet"):
            read_sealed(path)


@pytest.mark.parametrize("seed", range(4))
def test_damage_without_a_seal_is_no_traceback(tmp_path: Path, seed: int) -> None:
    path = tmp_path / "other.parquet"
    write_parquet(path, TABLE.to_pandas(), ANY, {"versions": {"jouleloop": "1"}})
    sound = path.read_bytes().replace(b"jouleloop-seal", b"jouleloop-none")
    chance = random.Random(seed)
    refused = 0
    for _ in range(300):
        damaged = bytearray(sound)
        for _ in range(chance.choice((1, 2, 5))):
            damaged[chance.randrange(len(damaged) // 2, len(damaged))] = chance.randrange(256)
        overwrite(path, damaged)
        try:
            read_table(path, ANY)
        except InputError:
            refused += 1
    assert refused > 30


def test_memory_is_given_back_of_many_rows_alone(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[int] = []
    monkeypatch.setattr(parquet, "_MANY_ROWS", 100)
    pool = SimpleNamespace(release_unused=lambda: given.append(1))
    monkeypatch.setattr(parquet.pa, "default_memory_pool", lambda: pool)
    for rows, times in ((99, 0), (100, 2)):
        given.clear()
        table = pa.table({"n": range(rows)})
        write_sealed(path, table)
        assert read_sealed(path).equals(table)
        assert len(given) == times
