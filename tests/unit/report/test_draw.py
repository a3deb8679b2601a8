"""Figures of several sweeps are drawn by several processes; what is wrong in one of them is told."""

import os
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from jouleloop.errors import Fault, InputError
from jouleloop.report import draw

#: As kinds of figures have: functions that cannot be sent to another process.
KINDS: list[Any] = [
    SimpleNamespace(stem=f"{{sweep}}/{name}", subject="sweep", places=lambda _: [{"sweep": s} for s in ("one", "two")])
    for name in ("growth", "breakdown")
]


def drawn_by(folder: Path, processes: int) -> dict[str, int]:
    draw.draw_all(KINDS, SimpleNamespace(study=None), folder, ["png"], processes)  # type: ignore[arg-type]
    return {path.relative_to(folder).as_posix(): int(path.read_text()) for path in sorted(folder.rglob("*/*"))}


def note_process(kind: Any, _run: Any, place: dict[str, str], folder: Path, _formats: Any) -> None:
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
    def refuse(_kind: Any, _run: Any, place: dict[str, str], _folder: Path, _formats: Any) -> None:
        if place["sweep"] == "two":
            raise InputError(Fault("lacks a table", "results"))

    monkeypatch.setattr(draw, "draw", refuse)
    with pytest.raises(InputError, match="results: lacks a table"):
        drawn_by(tmp_path, processes)
