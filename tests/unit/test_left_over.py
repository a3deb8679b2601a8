"""What a killed process leaves half-written is removed; what a living one writes is not."""

import contextlib
import errno
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


@pytest.fixture(params=["as it is", "none", "not implemented", "without effect"], autouse=True)
def _locks(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the file system have locks, none, or such that mean nothing."""
    if request.param == "as it is":
        return

    def flock(handle: int, operation: int) -> None:
        del handle, operation
        if request.param != "without effect":
            raise OSError(errno.ENOLCK if request.param == "none" else errno.ENOSYS, "no locks here")

    monkeypatch.setattr(files, "flock", flock)


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


def test_a_file_of_another_machine_stays_for_a_day(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as elsewhere:
        elsewhere.setattr(files, "_machine", lambda: "01234567")
        writer = files.replacing(tmp_path / "table.csv")
        left = writer.__enter__()
        left.write_text("half")
    # The number of its process says nothing here, where there is no such process.
    monkeypatch.setattr(files, "_lives", lambda _: False)
    assert files.remove_left_over(tmp_path) == []
    os.utime(left, (0, 0))
    shared = files.flock.__module__ == "fcntl"  # then the lock of a living writer is seen
    assert files.remove_left_over(tmp_path) == ([] if shared else [left])
    with contextlib.suppress(files.InputError):
        writer.__exit__(None, None, None)


def test_a_file_that_no_version_named_stays_for_a_day(tmp_path: Path) -> None:
    left = tmp_path / ".table.csv.abc.part.csv"
    left.write_text("half")
    assert files.remove_left_over(tmp_path) == []
    os.utime(left, (0, 0))
    assert files.remove_left_over(tmp_path) == [left]
