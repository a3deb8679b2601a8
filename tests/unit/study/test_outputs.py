"""The digests of what jobs wrote: found where a file differs, and never a reason for a job to fail."""

import os
import time
from pathlib import Path

import pytest

from jouleloop.study.outputs import changed_outputs, date_back, forget_outputs, note_outputs, set_aside


@pytest.fixture
def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    folder = Path("results")
    (folder / "figures/sizes").mkdir(parents=True)
    (folder / "logs").mkdir()
    (folder / "a.csv").write_text("a\n1\n")
    (folder / "figures/sizes/b.svg").write_text("<svg/>")
    note_outputs(folder / "logs/made.log", [folder / "a.csv", folder / "figures/sizes", folder / "none"])
    return folder


def test_what_differs_is_found(results: Path) -> None:
    assert changed_outputs(results / "logs") == {}
    (results / "a.csv").write_text("a\n2\n")
    (results / "figures/sizes/b.svg").write_text("<svg />")
    together = [results / "a.csv", results / "figures/sizes/b.svg"]
    assert changed_outputs(results / "logs") == dict.fromkeys(together, together)
    set_aside([*together, results / "none"], results)
    assert (results / "damaged/a.csv").read_text() == "a\n2\n"
    assert (results / "damaged/figures/sizes/b.svg").exists()
    assert changed_outputs(results / "logs") == {}


def test_a_job_that_begins_replaces_what_it_wrote(results: Path) -> None:
    forget_outputs(results / "logs/made.log")
    (results / "a.csv").write_text("a\n2\n")
    assert changed_outputs(results / "logs") == {}
    forget_outputs(results / "logs/made.log")


def test_a_damaged_note_is_no_reason_to_make_anything_again(results: Path) -> None:
    [note] = (results / "logs").glob("*.outputs.json")
    note.write_text(note.read_text().replace("a.csv", "b.csv"))
    assert changed_outputs(results / "logs") == {}
    assert not note.exists()


def test_files_from_the_future_are_dated_back_where_snakemake_compares_them(tmp_path: Path) -> None:
    compared = ["energies.parquet", "map/simba-0000.json", "timeloop/simba-0000.done", "specs/simba/tiny/a.yaml"]
    beside = ["store/segment-0.parquet", "logs/energies.log", "chunks/0000.txt", "timeloop/runs/0/stats.txt"]
    now = time.time()
    for name in (*compared, *beside):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
        os.utime(path, (now + 86400, now + 86400))
    os.utime(tmp_path / "specs/simba/tiny", (now + 86400, now + 86400))
    date_back(tmp_path)
    soon = now + 3600
    assert [name for name in (*compared, "specs/simba/tiny") if (tmp_path / name).stat().st_mtime > soon] == []
    assert [name for name in beside if (tmp_path / name).stat().st_mtime < soon] == []


def test_a_folder_whose_files_are_set_aside_is_gone(tmp_path: Path) -> None:
    """Snakemake would take the empty folder for the output of its job."""
    made = tmp_path / "results/specs/simba/tiny"
    made.mkdir(parents=True)
    (made / ".snakemake_timestamp").touch()
    paths = [made / "one.yaml", made / "two.yaml"]
    for path in paths:
        path.write_text(path.name)
    set_aside(paths, tmp_path / "results")
    assert not made.exists()
    assert (tmp_path / "results/damaged/specs/simba/tiny/two.yaml").read_text() == "two.yaml"
