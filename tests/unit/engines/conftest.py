"""What tests of external engines share."""

from pathlib import Path
from typing import Any

import pytest

from jouleloop.engines.timeloop import process
from waiting import until


@pytest.fixture
def mark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file that a program writes a number to: however short its time limit, no signal is sent to it before."""
    path, send = tmp_path / "pid", process._send

    def send_later(*arguments: Any) -> None:
        until(lambda: path.exists() and path.read_text().strip())
        send(*arguments)

    monkeypatch.setattr(process, "_send", send_later)
    return path
