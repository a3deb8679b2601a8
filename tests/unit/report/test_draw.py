"""What is drawn again after an edit, and what a figure that cannot be drawn costs."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml

from jouleloop.config.load import load_study
from jouleloop.errors import InputError
from jouleloop.report import draw
from jouleloop.report.registry import FIGURES
from jouleloop.report.run_tables import RunTables
from jouleloop.report.style import ReportFigure, new_figure
from jouleloop.stats.options import StatisticsOptions
from jouleloop.study.plan import jobs_of
from jouleloop.study.store import ResultStore
from jouleloop.tables.collect import write_energies
from jouleloop.tables.derived import Derived
from jouleloop.tables.layouts import ENERGIES, LAW_POINTS
from jouleloop.workload.sweep import load_sweep
from paths import ROOT

SWEEPS = [load_sweep(ROOT / "layers" / f"{name}.yaml") for name in ("fc_inputs", "fc_outputs")]

#: As kinds of figures have.
KINDS: list[Any] = [
    SimpleNamespace(stem=f"{{sweep}}/{name}", subject="sweep", places=lambda _: [{"sweep": s} for s in ("one", "two")])
    for name in ("growth", "breakdown")
]


def test_a_figure_that_fails_costs_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(kind: Any, _run: Any, place: dict[str, str], folder: Path, _formats: Any, **_: Any) -> None:
        if kind is KINDS[0]:
            raise ValueError("cannot be drawn")
        (folder / kind.stem.format(**place)).with_suffix(".png").write_text("drawn")

    monkeypatch.setattr(draw, "draw", refuse)
    (tmp_path / "two").mkdir()
    (tmp_path / "two/growth.png").write_text("of another run")
    with pytest.raises(InputError, match="two/growth: not drawn: cannot be drawn"):
        draw.draw_all(KINDS, SimpleNamespace(study=None), "two", tmp_path, ["png"])  # type: ignore[arg-type]
    assert [path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*.*")] == ["two/breakdown.png"]


def test_a_folder_in_the_place_of_a_figure_costs_no_other(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    kinds: Any = [
        SimpleNamespace(
            name=name,
            stem=f"{{sweep}}/{name}",
            subject="sweep",
            beyond=False,
            needs=[],
            tests=False,
            caption="",
            places=lambda _: [{"sweep": "fc_inputs"}],
            figure=lambda *_: ReportFigure("shown", new_figure(1, 1)[0], "caption"),
        )
        for name in ("growth", "breakdown")
    ]
    (tmp_path / "fc_inputs/growth.png/inside").mkdir(parents=True)
    with pytest.raises(InputError, match="fc_inputs/growth: not drawn"):
        draw.draw_all(kinds, run_of({}), "fc_inputs", tmp_path, ["png", "svg"])
    assert {path.name for path in (tmp_path / "fc_inputs").iterdir() if path.is_file()} == {
        "breakdown.png",
        "breakdown.svg",
    }
    assert caplog.text == "", "the fault says it all"


def run_of(rows: dict[str, str]) -> Any:
    """Return what stands for the tables of a run."""
    return SimpleNamespace(
        unit="pJ",
        study=SimpleNamespace(sweeps=SWEEPS, config=SimpleNamespace(statistics=StatisticsOptions())),
        only=[],
        step=lambda _: 1,
        sweep=lambda name: next(sweep for sweep in SWEEPS if sweep.name == name),
        content=lambda _layout, name: rows[name],
    )


def test_what_shows_the_same_is_left_as_it_is(tmp_path: Path) -> None:
    rows = {"fc_inputs": "rows", "fc_outputs": "others"}
    run = run_of(rows)
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
        tests=True,
        caption="caption",
        figure=figure,
    )
    kind.places = lambda _: [{"sweep": sweep.name} for sweep in SWEEPS]

    def draw_again() -> list[str]:
        drawn.clear()
        for sweep in SWEEPS:
            draw.draw_all([kind], run, sweep.name, tmp_path, ["png", "svg", "pdf"])
        return list(drawn)

    assert draw_again() == ["fc_inputs", "fc_outputs"]
    assert draw_again() == []
    rows["fc_outputs"] = "an edit"
    assert draw_again() == ["fc_outputs"]
    (tmp_path / "fc_inputs" / "growth.svg").unlink()
    assert draw_again() == ["fc_inputs"]
    run.study.config.statistics = StatisticsOptions(margin=0.5)
    assert draw_again() == ["fc_inputs", "fc_outputs"]
    kind.tests = False
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
    write_energies(jobs_of(study), (*study.sweeps, *study.architecture_sweeps), ResultStore(results / "store"), results)
    made = Derived(study, results)
    for stage in ("theory_ratio", "growth", "laws"):
        made.write(stage)
    whole = RunTables(study, results, tested=True)
    content = whole.content(ENERGIES, "many")
    monkeypatch.setattr("jouleloop.report.run_tables.MOST_LAYERS", 6)
    some = [RunTables(study, results, tested=tested) for tested in (True, False)]
    layers = [set(run.table(ENERGIES, "many")["layer"]) for run in (whole, *some)]
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
