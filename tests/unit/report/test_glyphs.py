"""Fonts of PDFs are cut once: what was kept gives the same file, and what was damaged is cut again."""

from pathlib import Path

import numpy as np
import pytest
from matplotlib.backends import _backend_pdf_ps as backend

from jouleloop.report import glyphs
from jouleloop.report.style import ReportFigure, new_figure, save_figure, styled

FONTS_ARE_KEPT = hasattr(backend, "SubsetResults")


def written(folder: Path, label: str = "energy [pJ]") -> bytes:
    with styled():
        figure, ((panel,),) = new_figure(1, 1)
        panel.plot(np.arange(5.0), np.arange(5.0) ** 2)
        panel.set_xlabel(label)
    (path,) = save_figure(ReportFigure("shown", figure, "a caption"), folder, ["pdf"])
    return path.read_bytes()


@pytest.fixture
def cuts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[int]:
    """Note every font that is cut, with an empty cache."""
    if not FONTS_ARE_KEPT:
        pytest.skip("this Matplotlib cuts fonts each time")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "caches"))
    glyphs.cut_fonts_once()
    found: list[int] = []
    make = backend.get_glyphs_subset.args[0]

    def cut(font: object, wanted: set[int]) -> object:
        found.append(len(wanted))
        return make(font, wanted)

    monkeypatch.setattr(backend, "get_glyphs_subset", type(backend.get_glyphs_subset)(glyphs._cut, cut, saved()))
    return found


def saved() -> object:
    return backend.font_as_file.args[0]


def test_a_font_is_cut_once(cuts: list[int], tmp_path: Path) -> None:
    first = written(tmp_path)
    assert len(cuts) == 1
    assert written(tmp_path) == first
    assert len(cuts) == 1
    assert written(tmp_path, "energy [µJ]") != first
    assert len(cuts) == 2
    assert len(list((tmp_path / "caches/jouleloop/fonts").iterdir())) == 2


def test_another_version_cuts_again(cuts: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = written(tmp_path)
    monkeypatch.setattr(glyphs, "_versions", lambda: ["another"])
    assert written(tmp_path) == first
    assert len(cuts) == 2


def test_what_was_damaged_is_cut_again(cuts: list[int], tmp_path: Path) -> None:
    first = written(tmp_path)
    (path,) = (tmp_path / "caches/jouleloop/fonts").iterdir()
    content = bytearray(path.read_bytes())
    for place in (3, len(content) // 2, len(content) - 1):
        path.write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
        assert written(tmp_path) == first
    assert len(cuts) == 4
    assert path.read_bytes() == content


def test_without_a_cache_figures_are_drawn(cuts: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = written(tmp_path)
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert written(tmp_path) == first
    assert written(tmp_path) == first
    assert len(cuts) == 3


def test_ticks_that_stay_are_those_of_every_format(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def pictures(name: str) -> list[bytes]:
        with styled():
            figure, (panels,) = new_figure(1, 3)
            panels[0].plot([1, 1000], [1e-9, 3e-9])  # with a power of ten above its axis
            panels[1].loglog([1, 1e5], [3, 2e7])
            panels[2].bar([1, 2, 3], [0.1, 7, 3])
        return [path.read_bytes() for path in save_figure(ReportFigure(name, figure, ""), tmp_path)]

    kept = pictures("figure")
    monkeypatch.setattr("jouleloop.report.placing._fix_ticks", lambda _: None)
    assert pictures("figure") == kept
