"""Figures of several sweeps are drawn by several processes; what is wrong in one of them is told."""

import os
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml

from jouleloop.config.load import load_study
from jouleloop.errors import Fault, InputError
from jouleloop.report import draw
from jouleloop.report.registry import FIGURES
from jouleloop.report.run_tables import RunTables
from jouleloop.report.style import ReportFigure, new_figure
from jouleloop.stats.options import StatisticsOptions
from jouleloop.study.store import ResultStore
from jouleloop.tables.collect import write_energies
from jouleloop.tables.derived import Derived
from jouleloop.tables.layouts import ENERGIES, LAW_POINTS
from jouleloop.workload.sweep import load_sweep
from paths import ROOT

SWEEPS = [load_sweep(ROOT / "layers" / f"{name}.yaml") for name in ("fc_inputs", "fc_outputs")]

#: As kinds of figures have: functions that cannot be sent to another process.
KINDS: list[Any] = [
    SimpleNamespace(stem=f"{{sweep}}/{name}", subject="sweep", places=lambda _: [{"sweep": s} for s in ("one", "two")])
    for name in ("growth", "breakdown")
]


def drawn_by(folder: Path, processes: int) -> dict[str, int]:
    draw.draw_all(KINDS, SimpleNamespace(study=None), folder, ["png"], processes)  # type: ignore[arg-type]
    return {path.relative_to(folder).as_posix(): int(path.read_text()) for path in sorted(folder.rglob("*/*"))}


def note_process(kind: Any, _run: Any, place: dict[str, str], folder: Path, _formats: Any, **_: Any) -> None:
    (folder / kind.stem.format(**place)).write_text(str(os.getpid()))


def test_one_process_draws_all_of_a_sweep(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(draw, "draw", note_process)
    alone = drawn_by(tmp_path / "alone", 1)
    assert list(alone) == ["one/breakdown", "one/growth", "two/breakdown", "two/growth"]
    assert set(alone.values()) == {os.getpid()}
    shared = drawn_by(tmp_path / "shared", 4)
    assert list(shared) == list(alone)
    assert shared["one/breakdown"] == shared["one/growth"]
    assert (os.getpid() in shared.values()) == (sys.platform != "linux")


@pytest.mark.parametrize("processes", [1, 2])
def test_a_mistake_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, processes: int) -> None:
    def refuse(_kind: Any, _run: Any, place: dict[str, str], _folder: Path, _formats: Any, **_: Any) -> None:
        if place["sweep"] == "two":
            raise InputError(Fault("lacks a table", "results"))

    monkeypatch.setattr(draw, "draw", refuse)
    with pytest.raises(InputError, match="results: lacks a table"):
        drawn_by(tmp_path, processes)


def test_what_shows_the_same_is_left_as_it_is(tmp_path: Path) -> None:
    rows = {"fc_inputs": "rows", "fc_outputs": "others"}
    run: Any = SimpleNamespace(
        unit="pJ",
        study=SimpleNamespace(sweeps=SWEEPS, config=SimpleNamespace(statistics=StatisticsOptions())),
        only=[],
        step=lambda _: 1,
        sweep=lambda name: next(sweep for sweep in SWEEPS if sweep.name == name),
        content=lambda _layout, name: rows[name],
    )
    drawn: list[str] = []

    def figure(_run: Any, place: dict[str, str]) -> ReportFigure:
        drawn.append(place["sweep"])
        return ReportFigure("growth", new_figure(1, 1)[0], "caption")

    kind: Any = SimpleNamespace(
        name="growth",
        stem="{sweep}/growth",
        subject="sweep",
        beyond=False,
        needs=["energies"],
        caption="within ±{margin}",
        figure=figure,
    )
    kind.places = lambda _: [{"sweep": sweep.name} for sweep in SWEEPS]

    def draw_again() -> list[str]:
        drawn.clear()
        draw.draw_all([kind], run, tmp_path, ["png", "svg", "pdf"], 1)
        return list(drawn)

    assert draw_again() == ["fc_inputs", "fc_outputs"]
    assert draw_again() == []
    rows["fc_outputs"] = "an edit"
    assert draw_again() == ["fc_outputs"]
    (tmp_path / "fc_inputs" / "growth.svg").unlink()
    assert draw_again() == ["fc_inputs"]
    run.study.config.statistics = StatisticsOptions(margin=0.5)
    assert draw_again() == ["fc_inputs", "fc_outputs"]
    kind.caption = "no test is made here"
    assert draw_again() == ["fc_inputs", "fc_outputs"]
    run.study.config.statistics = StatisticsOptions(margin=0.4)
    assert draw_again() == []
    kind.beyond = True
    draw_again()
    rows["fc_outputs"] = "another edit"
    assert draw_again() == ["fc_inputs", "fc_outputs"]


def test_of_a_large_sweep_some_layers_are_drawn_the_same_of_each_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sweep = {"kind": "fc", "ranges": {"C": {"start": 8, "stop": 192, "step": 8}}, "fixed": {"M": 4}, "variable": "C"}
    (tmp_path / "many.yaml").write_text(yaml.safe_dump(sweep | {"expected": "linear"}))
    config = yaml.safe_load((ROOT / "config/config.yaml").read_text())
    only = {"simba": config["architectures"]["simba"]}
    study = load_study(config | {"sweeps": [str(tmp_path / "many.yaml")], "architectures": only}, ROOT)
    monkeypatch.chdir(ROOT)
    results = tmp_path / "results"
    write_energies(study, ResultStore(results / "store"), results)
    made = Derived(study, results)
    made.write_growth()
    made.write_laws()
    whole = RunTables(study, results, tested=True)
    content = whole.content(ENERGIES, "many")
    monkeypatch.setattr("jouleloop.report.run_tables.MOST_LAYERS", 6)
    some = [RunTables(study, results, tested=tested) for tested in (True, False)]
    layers = [set(run.rows("many")["layer"]) for run in (whole, *some)]
    assert len(layers[0]) == 24
    assert 0 < len(layers[1]) < 24
    assert layers[1] < layers[0]
    for run in some:
        assert set(run.table(LAW_POINTS, "many")["layer"]) == layers[1]
        assert set(run.analysis("many").residuals["layer"]) == layers[1]
        assert list(run.analysis("many").verdicts["n"]) == [24]
        assert run.content(ENERGIES, "many") == content
    place = {"sweep": "many", "architecture": "simba"}
    for kind in FIGURES:
        if kind.name in ("growth", "breakdown", "laws", "residuals"):
            (file,) = draw.draw(kind, some[0], {name: place[name] for name in kind.per}, results / "figures", ["svg"])
            assert "Of the 24 layers of the sweep about one in 4 is drawn" in file.read_text()
