"""Accesses of charted points: read from the store, and kept by sweep and architecture beside it."""

from pathlib import Path
from typing import Any

import pandas as pd

from jouleloop.report.html.mappings import stored_accesses
from jouleloop.study.store import ResultStore

COUNTS = ("tile_words", "instances", "reads", "fills", "updates")


def record(first: int, spaces: tuple[str, ...] = ("Inputs", "Weights")) -> dict[str, Any]:
    """Return what a store holds of a result, with counts from ``first`` on."""
    data = {space: {name: first + place for place, name in enumerate(COUNTS)} for space in spaces}
    return {"evaluation": {"levels": [{"data": data}, {"data": {}}]}}


def shown(first: int) -> list[list[list[int]]]:
    """Return the accesses of such a record as the page has them."""
    return [[[space, *range(first, first + 5)] for space in (0, 1)], []]


def points(**keys: str) -> pd.DataFrame:
    """Return rows of a table of energies on one architecture, by sweep the keys of its results, a letter each."""
    rows = [{"architecture": "simba", "sweep": sweep, "key": key} for sweep, own in keys.items() for key in own]
    return pd.DataFrame(rows, index=range(10, 10 + len(rows)))


def stored(folder: Path, **records: dict[str, Any]) -> Path:
    """Return the folder of a store with some records."""
    ResultStore(folder / "store").write(records)
    return folder / "store"


def emptied(store: Path) -> Path:
    """Return the folder of a store that lost all results."""
    for segment in store.iterdir():
        segment.unlink()
    return store


def kept(folder: Path) -> list[str]:
    """Return of what accesses are kept."""
    return sorted(path.name.rpartition("-")[0] for path in (folder / "parts").glob("*"))


def test_accesses_are_kept_by_sweep(tmp_path: Path) -> None:
    store, asked = stored(tmp_path, a=record(1), b=record(10)), points(one="ab", two="b")
    found, spaces = stored_accesses(asked, store)
    assert (found, spaces) == ({10: shown(1), 11: shown(10), 12: shown(10)}, ("Weights", "Inputs", "Outputs"))
    assert found[11] is found[12]
    assert kept(tmp_path) == ["accesses-simba@one", "accesses-simba@two"]
    again, spaces_again = stored_accesses(asked, emptied(store))
    assert (again, spaces_again) == (found, spaces)
    assert again[11] is again[12]


def test_an_edited_sweep_is_read_again(tmp_path: Path) -> None:
    store = stored(tmp_path, a=record(1), b=record(10))
    stored_accesses(points(one="a", two="b"), store)
    stored(tmp_path, c=record(20))
    assert stored_accesses(points(one="ca", two="b"), store)[0] == {10: shown(20), 11: shown(1), 12: shown(10)}
    assert kept(tmp_path) == ["accesses-simba@one", "accesses-simba@two"]


def test_damaged_ones_are_read_again(tmp_path: Path) -> None:
    store, asked = stored(tmp_path, a=record(1)), points(one="a")
    stored_accesses(asked, store)
    (path,) = (tmp_path / "parts").iterdir()
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    assert stored_accesses(asked, store)[0] == {10: shown(1)}
    assert path.read_bytes() != bytes(content)


def test_what_lacks_a_result_is_not_kept(tmp_path: Path) -> None:
    store, asked = stored(tmp_path, a=record(1)), points(one="ab")
    assert stored_accesses(asked, store)[0] == {10: shown(1)}
    assert kept(tmp_path) == []
    stored(tmp_path, b=record(5))
    assert stored_accesses(asked, store)[0] == {10: shown(1), 11: shown(5)}


def test_other_data_spaces_are_not_kept(tmp_path: Path) -> None:
    store, asked = stored(tmp_path, a=record(1, ("Mask",)), b=record(2)), points(one="a", two="b")
    found, spaces = stored_accesses(asked, store)
    assert spaces == ("Weights", "Inputs", "Outputs", "Mask")
    assert found == {10: [[[3, 1, 2, 3, 4, 5]], []], 11: shown(2)}
    assert kept(tmp_path) == []


def test_nothing_is_kept_where_no_file_can_be(tmp_path: Path) -> None:
    store = stored(tmp_path, a=record(1))
    (tmp_path / "parts").write_text("a file, no folder")
    assert stored_accesses(points(one="a"), store)[0] == {10: shown(1)}
