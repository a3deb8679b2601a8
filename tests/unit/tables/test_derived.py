"""Tables that follow from energies: a sweep in memory at a time, and kept by what its rows say."""

import weakref
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import yaml

from jouleloop.config.load import Study, load_study
from jouleloop.study.plan import jobs_of
from jouleloop.study.store import ResultStore
from jouleloop.tables import derived
from jouleloop.tables.collect import write_energies
from jouleloop.tables.derived import Derived
from paths import ROOT
from shares import slow_after

LAYERS = 8
TABLES = ("verdicts", "theory_ratio", "buffer_growth")
LAWS = ("laws", "law_points", "law_terms")


def study_of(folder: Path, names: list[str], *, more: int = 0) -> Study:
    """Return a study of sweeps of few layers each; the first has some ``more``."""
    for number, name in enumerate(names):
        stop = 16 * (LAYERS + (0 if number else more))
        sweep = {
            "kind": "fc",
            "ranges": {"C": {"start": 16, "stop": stop, "step": 16}, "M": [16 * (number + 1)]},
            "variable": "C",
            "expected": "linear",
        }
        (folder / f"{name}.yaml").write_text(yaml.safe_dump(sweep))
    config = yaml.safe_load((ROOT / "config/config.yaml").read_text())
    paths = [str(folder / f"{name}.yaml") for name in names]
    return load_study(config | {"sweeps": paths, "architectures": {"simba": config["architectures"]["simba"]}}, ROOT)


def made(folder: Path, study: Study, monkeypatch: pytest.MonkeyPatch) -> Derived:
    monkeypatch.chdir(ROOT)
    results = folder / "results"
    write_energies(jobs_of(study), (*study.sweeps, *study.architecture_sweeps), ResultStore(results / "store"), results)
    return Derived(study, results)


def write_tests(derived: Derived) -> None:
    derived.write_theory_ratio()
    derived.write_growth()


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many rows of energies are in memory, each time that some are read."""
    alive: list[weakref.ref[pd.DataFrame]] = []
    counts = []
    read = derived.read_table

    def watched(*arguments: Any, **options: Any) -> Any:
        table, provenance = read(*arguments, **options)
        alive.append(weakref.ref(table))
        counts.append(sum(len(found) for one in alive if (found := one()) is not None))
        return table, provenance

    monkeypatch.setattr(derived, "read_table", watched)
    return counts


def test_rows_in_memory_do_not_grow_with_the_number_of_sweeps(
    tmp_path: Path, held: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    names = ["one", "two", "three", "four", "five"]
    monkeypatch.setattr("jouleloop.parquet.PART_ROWS", LAYERS)  # a larger table is not held whole
    write_tests(made(tmp_path, study_of(tmp_path, names), monkeypatch))
    assert len(pd.read_parquet(tmp_path / "results/theory_ratio.parquet")) == LAYERS * len(names)
    assert max(held) <= 2 * LAYERS  # one that is read, and one that is about to go


def test_an_edited_sweep_is_made_anew_and_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = ["b", "a"]
    write_tests(made(tmp_path, study_of(tmp_path, names), monkeypatch))
    parts = tmp_path / "results/parts"
    before = {path.name for path in parts.iterdir()}
    assert len(before) == 4
    edited = made(tmp_path, study_of(tmp_path, names, more=2), monkeypatch)
    write_tests(edited)
    after = {path.name for path in parts.iterdir()}
    assert sorted(name.split("-")[1] for name in before & after) == ["a", "a"]
    assert len(after) == 4
    kept = {name: (tmp_path / f"results/{name}.csv").read_bytes() for name in TABLES}
    for path in parts.iterdir():
        path.unlink()
    write_tests(edited)
    assert kept == {name: (tmp_path / f"results/{name}.csv").read_bytes() for name in TABLES}


def test_laws_are_found_anew_for_an_edited_sweep_and_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def written() -> dict[str, bytes]:
        return {name: (tmp_path / f"results/{name}.csv").read_bytes() for name in LAWS}

    names = ["b", "a"]
    made(tmp_path, study_of(tmp_path, names), monkeypatch).write_laws()
    parts = tmp_path / "results/parts"
    before = {path.name: path.stat().st_mtime_ns for path in parts.iterdir()}
    assert sorted(name[:-25] for name in before) == [
        f"{table}-simba@{sweep}" for table in ("law_candidates", "law_points") for sweep in ("a", "b")
    ]
    edited = made(tmp_path, study_of(tmp_path, names, more=2), monkeypatch)
    edited.write_laws()
    after = {path.name: path.stat().st_mtime_ns for path in parts.iterdir()}
    assert {name[:-25] for name, _ in set(before.items()) & set(after.items())} == {
        "law_candidates-simba@a",
        "law_points-simba@a",
    }
    kept = written()
    for path in parts.iterdir():
        path.unlink()
    edited.write_laws()
    assert written() == kept
    # What points obey is kept, which laws were chosen is not: points are worked out once more.
    for path in parts.glob("law_points*"):
        path.unlink()
    edited.write_laws()
    assert written() == kept


@pytest.mark.parametrize("changed", slow_after(1, ["code_digest", "_versions"]))
def test_nothing_is_kept_from_other_code_or_other_versions(
    changed: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = made(tmp_path, study_of(tmp_path, ["b", "a"]), monkeypatch)
    write_tests(found)
    found.write_laws()
    before = {path.name for path in (tmp_path / "results/parts").iterdir()}
    monkeypatch.setattr(f"jouleloop.study.kept.{changed}", lambda *_: "another")
    write_tests(found)
    found.write_laws()
    after = {path.name for path in (tmp_path / "results/parts").iterdir()}
    assert len(after) == len(before) == 8
    assert not before & after


def test_tables_made_in_parts_are_those_made_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = made(tmp_path, study_of(tmp_path, ["b", "a"]), monkeypatch)
    names = (*TABLES, "residuals", "fits", "laws", "law_points", "law_terms")

    def written() -> dict[str, bytes]:
        for path in (tmp_path / "results").glob("parts/*"):
            path.unlink()
        again = Derived(found.study, found.folder)
        write_tests(again)
        again.write_laws()
        return {name: (tmp_path / f"results/{name}.csv").read_bytes() for name in names}

    whole = written()
    monkeypatch.setattr("jouleloop.parquet.PART_ROWS", 3)
    monkeypatch.setattr("jouleloop.tables.derived._FEW", 2)
    for module in ("laws_found", "laws_points"):
        monkeypatch.setattr(f"jouleloop.tables.{module}.FEW", 2)
    assert written() == whole
