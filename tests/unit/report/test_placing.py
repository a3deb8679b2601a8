"""Ticks and labels are measured once for each place that a layout tries: the same bytes as asked again."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from jouleloop.report import placing, style
from jouleloop.report.style import (
    ReportFigure,
    letter_panels,
    log_ticks,
    new_figure,
    response_axis,
    save_figure,
    styled,
)


def panels_with_long_labels() -> Any:
    """Panels whose ticks change as the layout leaves less room for them, one with an offset beside its axis."""
    figure, axes = new_figure(2, 3)
    for number, panel in enumerate(panel for row in axes for panel in row):
        x = np.linspace(0, 10.0 ** (2 * number), 40)
        panel.plot(x, 1e6 + x / 1e3, label="some layers")
        panel.set_xlabel("size n")
        response_axis(panel.yaxis, "pJ", "data energy", 10.0 ** (number + 6))
        panel.legend()
    axes[1][2].yaxis.set_major_formatter("{x:.9g} of a long unit")
    axes[0][0].set_xlim(1e9, 1e9 + 1)
    return figure


def panels_that_share() -> Any:
    figure, axes = new_figure(1, 3, sharey=True)
    for number, panel in enumerate(axes[0]):
        panel.plot(np.arange(1.0, 30), np.arange(1.0, 30) ** number)
        panel.set(yscale="log", xscale="log", xlabel="n", ylabel="words")
        log_ticks(panel.xaxis)
    return figure


def map_with_colours() -> Any:
    figure, axes = new_figure(1, 2)
    shown = axes[0][0].imshow(np.arange(12.0).reshape(3, 4) * 1e5)
    figure.colorbar(shown, ax=axes[0][0], label="energy [pJ]")
    axes[0][1].barh(["a long name of a layer", "b"], [1, 2])
    letter_panels(axes[0])
    return figure


@pytest.mark.parametrize("make", [panels_with_long_labels, panels_that_share, map_with_colours])
def test_the_same_bytes_as_without(make: Callable[[], Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def written(name: str) -> list[bytes]:
        with styled():
            figure = make()
        return [path.read_bytes() for path in save_figure(ReportFigure("shown", figure, "a caption"), tmp_path / name)]

    calls: list[int] = []
    update = placing._Measured.ticks
    monkeypatch.setattr(placing._Measured, "ticks", lambda self: calls.append(1) or update(self))
    measured = written("once")
    assert make is panels_that_share or calls

    @contextmanager
    def asked_again(figure: Any) -> Iterator[Any]:
        yield figure._get_renderer()

    monkeypatch.setattr(placing, "_measured_once", asked_again)
    assert written("again") == measured


@pytest.mark.parametrize("make", [panels_with_long_labels, panels_that_share, map_with_colours])
@pytest.mark.parametrize(
    ("made_once", "instead", "asked"),
    [
        ("copy_ticks", lambda _: None, "matplotlib.axis.Tick.__init__"),
        ("texts_laid_out_once", nullcontext, "matplotlib.text.Text._get_layout"),
    ],
)
def test_what_is_made_once_gives_the_same_bytes(
    make: Callable[[], Any],
    made_once: str,
    instead: Callable[..., Any],
    asked: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    calls = [0]
    owner, _, method = asked.rpartition(".")
    place, _, name = owner.rpartition(".")
    kind = getattr(import_module(place), name)
    call = getattr(kind, method)

    def counted(*arguments: Any, **options: Any) -> Any:
        calls[0] += 1
        return call(*arguments, **options)

    monkeypatch.setattr(kind, method, counted)

    def written(folder: str) -> tuple[list[bytes], int]:
        calls[0] = 0
        with styled():
            figure = make()
        paths = save_figure(ReportFigure("shown", figure, "a caption"), tmp_path / folder)
        return [path.read_bytes() for path in paths], calls[0]

    files, few = written("once")
    assert getattr(kind, method) is counted  # Matplotlib is left as it was
    monkeypatch.setattr(style, made_once, instead)
    others, many = written("again")
    assert files == others
    assert few < many
