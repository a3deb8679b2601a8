"""Figures of several sweeps are drawn by several processes; what is wrong in one of them is told."""

import os
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from jouleloop.errors import Fault, InputError
from jouleloop.report import draw
from jouleloop.report.style import ReportFigure, new_figure
from jouleloop.stats.options import StatisticsOptions
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
