"""The store: its index says what the segments hold, and no damaged bit of either becomes a number."""

import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from jouleloop import parquet
from jouleloop.study import store as module
from jouleloop.study.store import ResultStore
from overwritten import overwrite

RECORDS: dict[str, dict[str, Any]] = {f"{n:064x}": {"energy_pj": 1.5 * n, "status": "ok"} for n in range(60)}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    store = ResultStore(tmp_path)
    keys = list(RECORDS)
    for first in range(0, len(keys), 3):
        store.write({key: RECORDS[key] for key in keys[first : first + 3]})
    assert store.keys() == set(RECORDS)
    return tmp_path


def test_the_index_stands_for_opening_segments(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert (folder / "index.parquet").is_file()
    opened: list[Path] = []

    def noting(source: Any, **options: Any) -> Any:
        path = Path(getattr(source, "name", source))
        if path.name != "index.parquet":
            opened.append(path)
        return real(source, **options)

    real = parquet.pq.ParquetFile
    monkeypatch.setattr(parquet.pq, "ParquetFile", noting)
    assert ResultStore(folder).keys() == set(RECORDS)
    assert opened == []
    # What came later is opened, what went is forgotten.
    ResultStore(folder).write({"new": {"status": "ok"}})
    gone = next(path for path in sorted(folder.glob("segment-*")) if "new" not in ResultStore(folder)._keys_of(path))
    lost = set(ResultStore(folder)._keys_of(gone))
    gone.unlink()
    opened.clear()
    assert ResultStore(folder).keys() == {*RECORDS, "new"} - lost
    assert len(opened) == 1
    assert dict(ResultStore(folder).read(RECORDS)) == {key: RECORDS[key] for key in RECORDS.keys() - lost}


def test_few_segments_need_no_index(tmp_path: Path) -> None:
    ResultStore(tmp_path).write(RECORDS)
    assert ResultStore(tmp_path).keys() == set(RECORDS)
    assert not (tmp_path / "index.parquet").exists()


def test_a_folder_that_can_only_be_read_is_read(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "index.parquet").unlink()

    def refuse(*_: object, **__: object) -> None:
        raise module.InputError(module.Fault("cannot be written", str(folder)))

    monkeypatch.setattr(module, "write_sealed", refuse)
    assert ResultStore(folder).keys() == set(RECORDS)


@pytest.mark.parametrize("name", ["segment-*.parquet", "index.parquet"])
def test_flipped_bits_never_become_a_number(folder: Path, name: str) -> None:
    path = min(folder.glob(name))
    sound = path.read_bytes()
    seed = random.SystemRandom().randrange(2**32)
    chance = random.Random(seed)
    for _ in range(150):
        damaged = bytearray(sound)
        damaged[chance.randrange(len(sound))] ^= 1 << chance.randrange(8)
        overwrite(path, damaged)
        found = dict(ResultStore(folder).read(RECORDS))
        assert all(RECORDS[key] == record for key, record in found.items()), f"seed {seed}"
        assert len(found) >= len(RECORDS) - 3, f"seed {seed}"


def test_results_are_written_merged_and_read_without_pandas(tmp_path: Path) -> None:
    """Each job of a search does that; pandas takes a quarter of a short one to be imported."""
    code = """
import sys
from pathlib import Path
from jouleloop.study.store import ResultStore

store = ResultStore(Path(sys.argv[1]))
segments = [store.write({name: {"status": "ok"}}) for name in ("first", "second")]
assert store.merge(segments) not in segments
assert len(dict(ResultStore(store.folder).read(store.keys()))) == 2
print("pandas" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "False", done.stderr
