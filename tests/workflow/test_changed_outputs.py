"""Files that a run has made and that changed since: each is noticed by a run with nothing to do, and made again."""

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.workflow, pytest.mark.slow]


#: What differs between equal runs: times, versions and memory; so do the notes of chunks, in the folder ``map``.
VARIES = {"timings.csv", "summary.json", "report.html"}


@pytest.fixture(scope="module")
def finished(study: Callable[..., Any], tmp_path_factory: pytest.TempPathFactory) -> Any:
    made = study(tmp_path_factory.mktemp("changed") / "study", outputs={"figure_formats": ["svg"]})
    code, text = made.run("all")
    assert code == 0, text
    return made


def final_files(made: Any) -> dict[Path, bytes]:
    aside = {"logs", "store", "damaged", "parts", "chunks"}  # chunks are written at the start of every run
    files = (path for path in made.results.rglob("*") if path.is_file() and path.name != "study.json")
    return {path: path.read_bytes() for path in files if not aside & set(path.relative_to(made.results).parts)}


def flipped(content: bytes, chance: random.Random) -> bytes:
    damaged = bytearray(content)
    damaged[chance.randrange(len(damaged))] ^= 1 << chance.randrange(8)
    return bytes(damaged)


def test_every_final_file_is_looked_at(finished: Any) -> None:
    """One bit of every table, figure, page and note of a chunk, all at once."""
    sound = final_files(finished)
    assert {path.suffix for path in sound} >= {".parquet", ".csv", ".json", ".svg", ".html", ".txt"}
    chance = random.Random(7)
    for path, content in sound.items():
        path.write_bytes(flipped(content, chance))
    code, text = finished.run("all", "--dry-run")
    assert code == 0, text
    assert all(f"{path.relative_to(finished.folder)} is not what its job wrote" in text for path in sound), text
    code, text = finished.run("all")
    assert code == 0, text
    again = final_files(finished)
    assert again.keys() == sound.keys()
    same = [path for path in sound if path.name not in VARIES and path.parent.name != "map"]
    assert [path for path in same if again[path] != sound[path]] == []
    kept = {path.name for path in (finished.results / "damaged").rglob("*") if path.is_file()}
    assert kept >= {path.name for path in sound if path.suffix in (".csv", ".parquet")}
    code, text = finished.run("all")
    assert code == 0
    assert "Nothing to be done" in text


def test_tables_under_each_others_names_are_made_again(finished: Any) -> None:
    sound = final_files(finished)
    first, second = finished.results / "verdicts.parquet", finished.results / "fits.parquet"
    first.write_bytes(sound[second])
    second.write_bytes(sound[first])
    code, text = finished.run("all")
    assert code == 0, text
    assert final_files(finished)[first] == sound[first]
    assert final_files(finished)[second] == sound[second]


def test_a_note_of_digests_that_is_damaged_is_believed_nothing(finished: Any) -> None:
    chance = random.Random(3)
    sound = final_files(finished)
    for note in (finished.results / "logs").rglob("*.outputs.json"):
        note.write_bytes(flipped(note.read_bytes(), chance))
    code, text = finished.run("all")
    assert code == 0, text
    assert "not what its job wrote" not in text
    assert final_files(finished) == sound
