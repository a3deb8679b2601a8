"""What a killed process leaves half-written is removed; what a living one writes is not."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from jouleloop import files

_WRITES = """
import sys, time
from pathlib import Path
from jouleloop.files import replacing
with replacing(Path(sys.argv[1])) as temporary:
    temporary.write_text("half")
    print("writing", flush=True)
    time.sleep(1000)
"""


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "_INSTANT_SECONDS", -1)


@pytest.mark.skipif(not files._LOCKS, reason="the system has no locks")
def test_a_killed_writer_leaves_nothing(tmp_path: Path) -> None:
    path = tmp_path / "store" / "table.parquet"
    with subprocess.Popen([sys.executable, "-c", _WRITES, str(path)], stdout=subprocess.PIPE) as writer:
        assert writer.stdout is not None
        assert writer.stdout.readline() == b"writing\n"
        # It lives: nothing is taken from it.
        assert files.remove_left_over(tmp_path) == []
        writer.send_signal(signal.SIGKILL)
        writer.wait()
    (left,) = path.parent.iterdir()
    assert files.remove_left_over(tmp_path) == [left]
    assert not list(path.parent.iterdir())


def test_whole_files_stay(tmp_path: Path) -> None:
    files.write_text(tmp_path / "whole.txt", "text")
    (tmp_path / ".hidden").write_text("not ours")
    assert files.remove_left_over(tmp_path) == []
    assert sorted(path.name for path in tmp_path.iterdir()) == [".hidden", "whole.txt"]


def test_without_locks_a_file_stays_for_a_day(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "_LOCKS", False)
    left = tmp_path / ".table.csv.abc.part.csv"
    left.write_text("half")
    assert files.remove_left_over(tmp_path) == []
    os.utime(left, (0, 0))
    assert files.remove_left_over(tmp_path) == [left]
