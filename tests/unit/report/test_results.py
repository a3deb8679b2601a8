"""What is made after an edit: the bytes of a run from empty results, and no more figures than show the edit."""

import contextlib
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jinja2
import pytest
import yaml

from jouleloop.config.load import Study, load_study
from jouleloop.report import draw, style
from jouleloop.report.html import page
from jouleloop.stats.columns import VERDICTS
from jouleloop.study.plan import jobs_of
from jouleloop.study.store import ResultStore
from jouleloop.tables.collect import write_energies
from jouleloop.tables.layouts import LAWS, THEORY_RATIO
from made import make
from paths import ROOT
from shares import slow_after

SWEEPS = ("inputs", "outputs")
ONE_FORMAT, TWO_FORMATS = ({"figure_formats": names} for names in (["svg"], ["svg", "png"]))
STAGES = ("theory_ratio", "growth", "laws")
MADE = [layout.file for layout in (VERDICTS, LAWS, THEORY_RATIO)]


def study_of(project: Path, layers: int, **further: Any) -> Study:
    """Return a study of two sweeps, of which one has so many layers, whose figures have one format."""
    for sweep, number in zip(SWEEPS, (layers, 5), strict=True):
        sizes = [{"C": 16 * n, "M": 16} if sweep == "inputs" else {"C": 16, "M": 16 * n} for n in range(1, number + 1)]
        text = {"kind": "fc", "layers": sizes, "variable": "C" if sweep == "inputs" else "M", "expected": "linear"}
        (project / f"{sweep}.yaml").write_text(yaml.safe_dump(text))
    config = yaml.safe_load((ROOT / "config/config.yaml").read_text()) | {"outputs": ONE_FORMAT} | further
    paths = [str(project / f"{sweep}.yaml") for sweep in SWEEPS]
    return load_study(config | {"sweeps": paths, "architectures": {"simba": config["architectures"]["simba"]}}, ROOT)


def written(study: Study, folder: Path) -> dict[str, bytes]:
    """Return all files that are made of a study, by name."""
    write_energies(jobs_of(study), (*study.sweeps, *study.architecture_sweeps), ResultStore(folder / "store"), folder)
    (folder / "timings.csv").unlink()  # of this machine
    make(study, folder, stages=STAGES, figures=["breakdown", "laws", "dram_bound"], page=MADE)
    paths = [path for path in folder.rglob("*") if path.is_file() and "store" not in path.parts]
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, bytes]]:
    """Return the project and the files of a study; tests copy its results."""
    project = tmp_path_factory.mktemp("first")
    with contextlib.chdir(ROOT):
        return project, written(study_of(project, 5), project / "results")


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The figures that were drawn, one after another."""
    names: list[str] = []
    save: Callable[..., Any] = style.save_figure

    def noted(figure: Any, folder: Path, *arguments: Any) -> Any:
        names.append(f"{folder.name}/{figure.name}")
        return save(figure, folder, *arguments)

    monkeypatch.setattr(style, "save_figure", noted)
    return names


FIGURES = ("breakdown_simba", "laws_{}", "dram_bound_{}")


def of(*sweeps: str) -> list[str]:
    return sorted(f"{sweep}/{name.format(sweep)}" for sweep in sweeps for name in FIGURES)


def test_an_edit_makes_what_is_made_from_empty(
    tmp_path: Path, drawn: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    before = written(study_of(tmp_path, 5, outputs=TWO_FORMATS), tmp_path / "results")
    assert sorted(drawn) == of(*SWEEPS)
    drawn.clear()
    edited = study_of(tmp_path, 6, outputs=TWO_FORMATS)
    after = written(edited, tmp_path / "results")
    assert sorted(drawn) == of("inputs")
    assert written(edited, tmp_path / "empty") == after
    same = {name for name, content in after.items() if before.get(name) == content}
    changed = {name for name in after if name.startswith("figures/")} - same
    assert changed == {f"figures/{name}.{ending}" for name in of("inputs") for ending in ("svg", "png")}
    assert not {"energies.csv", "verdicts.csv", "laws.csv", "theory_ratio.csv", "report.html"} & same


@pytest.mark.parametrize(("changed", "value"), slow_after(1, [("code_digest", "another"), ("versions", {})]))
def test_other_versions_and_other_code_draw_all_again(
    changed: str,
    value: Any,
    tmp_path: Path,
    first: tuple[Path, dict[str, bytes]],
    drawn: list[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(ROOT)
    project, files = first
    study = study_of(project, 5)
    shutil.copytree(project / "results", tmp_path / "results")
    assert written(study, tmp_path / "results") == files
    assert drawn == []
    monkeypatch.setattr(draw, changed, lambda *_: value)
    written(study, tmp_path / "results")
    assert sorted(drawn) == of(*SWEEPS)


def test_another_margin_tests_again(
    tmp_path: Path, first: tuple[Path, dict[str, bytes]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    project, before = first
    shutil.copytree(project / "results", tmp_path / "results")
    after = written(study_of(project, 5, statistics={"margin": 0.5}), tmp_path / "results")
    assert before["verdicts.csv"] != after["verdicts.csv"]
    assert {name for name in after if name.startswith("parts/growth")}.isdisjoint(before)


def page_of(study: Study, folder: Path) -> bytes:
    make(study, folder, page=MADE)
    return (folder / "report.html").read_bytes()


def test_templates_are_compiled_once(
    tmp_path: Path, first: tuple[Path, dict[str, bytes]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "caches"))
    project, files = first
    study, folder, shown = study_of(project, 5), tmp_path / "results", files["report.html"]
    shutil.copytree(project / "results", folder)
    assert page_of(study, folder) == shown
    kept = sorted((tmp_path / "caches/jouleloop/templates").iterdir())
    assert kept
    compiled: list[str] = []
    compile_text = jinja2.Environment.compile
    monkeypatch.setattr(
        jinja2.Environment, "compile", lambda self, *a, **k: compiled.append(a[1]) or compile_text(self, *a, **k)
    )
    assert page_of(study, folder) == shown
    assert compiled == []
    content = kept[0].read_bytes()
    kept[0].write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    assert page_of(study, folder) == shown
    assert len(compiled) == 1
    assert kept[0].read_bytes() == content
    monkeypatch.setattr(page, "code_digest", lambda _: "another")
    assert page_of(study, folder) == shown
    assert len(compiled) == 1 + len(kept)
