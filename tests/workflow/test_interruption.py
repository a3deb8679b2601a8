"""Runs that are killed, starved or started twice: the next run completes, byte for byte as an undisturbed one."""

import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from waiting import installed, until

pytestmark = [pytest.mark.workflow, pytest.mark.slow]

Make = Callable[..., Any]


def clean(text: str) -> bool:
    """Whether a user sees messages, and no traceback."""
    return "Traceback" not in text


def children(process: int) -> dict[int, str]:
    """Return the command line of every process that descends from ``process``."""
    found: dict[int, str] = {}
    parents = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                stat = (entry / "stat").read_text()
                line = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            except OSError:
                continue
            parents[int(entry.name)] = (int(stat.rpartition(")")[2].split()[1]), line)
    wanted = {process}
    for _ in range(6):
        for number, (parent, line) in parents.items():
            if parent in wanted:
                wanted.add(number)
                found[number] = line
    return found


def segments(folder: Path) -> list[Path]:
    return list(folder.glob("store/segment-*"))


def stopped(number: int, line: str, study: Any) -> bool:
    """Stop the process of a chunk; return whether its output is still to come, and let it go on where it is not."""
    try:
        script = study.folder / next(word for word in line.split() if word.endswith("map_chunk.py"))
        output = re.search(rb"results/map/[\w.-]+\.json", script.read_bytes())
        assert output is not None
        os.kill(number, signal.SIGSTOP)
        until(lambda: Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0] in "TZX")
        if not (study.folder / output[0].decode()).exists():
            return True
        os.kill(number, signal.SIGCONT)
    except OSError:  # it has ended by now
        pass
    return False


ONE_CORE = ("--cores", "1", "results/energies.parquet")


def test_a_killed_worker(study: Make, undisturbed: Any, tmp_path: Path) -> None:
    mine = study(tmp_path / "s")
    run = mine.start(*ONE_CORE)
    found: list[int] = []

    def worker() -> bool:
        if segments(mine.results):
            lines = children(run.process.pid).items()
            chunks = [(number, line) for number, line in lines if "tmp" in line and "map_chunk.py" in line]
            found[:] = [number for number, line in chunks[-1:] if stopped(number, line, mine)]
        return bool(found) or not run.alive()

    until(worker)
    assert found, run.text()
    os.kill(found[-1], signal.SIGKILL)
    code, text = run.wait()
    assert code != 0
    assert "map_chunk" in text
    assert clean(text), text
    assert mine.unfinished() == []
    code, text = mine.run()
    assert code == 0, text
    assert mine.tables() == undisturbed.tables()


def test_snakemake_is_killed(study: Make, undisturbed: Any, tmp_path: Path) -> None:
    mine = study(tmp_path / "s")
    run = mine.start(*ONE_CORE)
    until(lambda: segments(mine.results) or not run.alive())
    # Snakemake alone: its worker goes on without it, as after a kill from outside.
    run.kill(group=False)
    assert run.wait()[0] == -signal.SIGKILL
    assert list((mine.folder / ".snakemake/locks").iterdir())
    assert not (mine.results / "energies.csv").exists()
    assert mine.unfinished() == []
    code, text = mine.run()
    run.kill()
    assert code == 0, text
    assert "The last run was killed: its locks are removed" in text
    assert mine.tables() == undisturbed.tables()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_snakemake_is_told_to_end(study: Make, undisturbed: Any, tmp_path: Path, number: int) -> None:
    mine = study(tmp_path / "s")
    run = mine.start(*ONE_CORE)
    until(lambda: segments(mine.results) or not run.alive())
    # Only Snakemake is told: it ends its jobs, and does not wait until they are done.
    jobs = children(run.process.pid)
    os.kill(run.process.pid, number)
    code, text = run.wait()
    # Snakemake's own end, or ours where it takes too long.
    assert code in (1, 128 + number), text
    assert clean(text), text
    assert "SIGSEGV" not in text, text
    until(lambda: not any((Path("/proc") / str(job) / "exe").exists() for job in jobs))
    assert mine.unfinished() == []
    assert segments(mine.results)
    code, text = mine.run()
    assert code == 0, text
    assert mine.tables() == undisturbed.tables()


def test_everything_is_killed_at_any_moment(study: Make, undisturbed: Any, tmp_path: Path) -> None:
    mine = study(tmp_path / "s")
    for seconds in (2.5, 6.0, 9.0):
        run = mine.start()
        time.sleep(seconds)
        run.kill()
        assert mine.unfinished() == []
    code, text = mine.run()
    assert code == 0, text
    assert mine.tables() == undisturbed.tables()


def test_two_runs_in_one_folder(study: Make, undisturbed: Any, tmp_path: Path) -> None:
    mine = study(tmp_path / "s")
    first = mine.start()
    until(lambda: (mine.folder / ".snakemake/locks").is_dir() and list((mine.folder / ".snakemake/locks").iterdir()))
    code, text = mine.run()
    assert code != 0
    assert "Directory cannot be locked" in text
    assert clean(text), text
    code, text = first.wait()
    assert code == 0, text
    assert mine.tables() == undisturbed.tables()


SWEEP = """\
kind: fc
ranges: {C: {start: 32, stop: 1024, step: 32}, M: {start: 64, stop: 1024, step: 64}}
combine: product
variable: C*M
expected: linear
"""


@pytest.fixture(scope="module")
def swept(study: Make, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A sweep of 512 layers by the command line, undisturbed."""
    mine = study(tmp_path_factory.mktemp("swept") / "s")
    (mine.folder / "layers/many.yaml").write_text(SWEEP)
    code, text = mine.run(*COMMAND)
    assert code == 0, text
    return mine


COMMAND = ("jouleloop", "sweep", "many", "--arch", "eyeriss", "--output", "results")


def copied(swept: Any, folder: Path) -> Any:
    """The project of ``swept`` without its results."""
    shutil.copytree(swept.folder, folder, ignore=shutil.ignore_patterns("results", ".snakemake"))
    return type(swept)(folder)


@pytest.mark.parametrize("wanted", [1, 2, 4])
def test_the_command_line_is_killed(swept: Any, tmp_path: Path, wanted: int) -> None:
    mine = copied(swept, tmp_path / "s")
    run = mine.start(*COMMAND)
    until(lambda: len(segments(mine.results)) >= wanted or not run.alive())
    run.kill()
    assert run.wait()[0] == -signal.SIGKILL
    assert mine.unfinished() == []
    assert not (mine.results / "energies.parquet").exists()
    code, text = mine.run(*COMMAND)
    assert code == 0, text
    assert re.search(r"results searched, [1-9]\d* from the store", text)
    assert mine.tables() == swept.tables()


@pytest.mark.usefixtures("interruptible")
def test_interrupted_from_the_keyboard(swept: Any, tmp_path: Path) -> None:
    mine = copied(swept, tmp_path / "s")
    run = mine.start(*COMMAND)
    until(lambda: segments(mine.results) or not run.alive())
    os.kill(run.process.pid, signal.SIGINT)
    code, text = run.wait()
    assert code == 130
    assert clean(text), text
    code, text = mine.run(*COMMAND)
    assert code == 0, text
    assert mine.tables() == swept.tables()


def test_two_sweeps_into_one_folder(swept: Any, tmp_path: Path) -> None:
    mine = copied(swept, tmp_path / "s")
    runs = [mine.start(*COMMAND) for _ in range(2)]
    for run in runs:
        code, text = run.wait()
        assert code == 0, text
    assert mine.tables() == swept.tables()


@contextmanager
def mounted(folder: Path, size: str) -> Iterator[None]:
    """A file system in memory of its own at ``folder``; skipped where mounting is not allowed."""
    folder.mkdir(parents=True, exist_ok=True)
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        pytest.skip(f"a small file system cannot be mounted here: {done.stderr.strip()}")
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def remount(folder: Path, option: str) -> None:
    subprocess.run(["mount", "-o", f"remount,{option}", str(folder)], check=True)


def test_the_disk_is_full(swept: Any, tmp_path: Path) -> None:
    mine = copied(swept, tmp_path / "s")
    with mounted(mine.results, "48k"):
        code, text = mine.run(*COMMAND)
        assert code == 2, text
        assert "No space left on device" in text
        assert clean(text), text
        assert mine.unfinished() == []
        assert not list(mine.results.glob("energies*"))
        remount(mine.results, "size=64m")
        code, text = mine.run(*COMMAND)
        assert code == 0, text
        assert mine.tables() == swept.tables()


def test_the_disk_of_a_workflow_is_full(study: Make, undisturbed: Any, tmp_path: Path) -> None:
    mine = study(tmp_path / "s")
    with mounted(mine.results, "40k"):
        code, text = mine.run()
        assert code != 0
        assert "No space left on device" in text
        assert clean(text), text
        assert mine.unfinished() == []
        remount(mine.results, "size=64m")
        code, text = mine.run()
        assert code == 0, text
        assert mine.tables() == undisturbed.tables()


def test_results_cannot_be_written(swept: Any, tmp_path: Path) -> None:
    mine = copied(swept, tmp_path / "s")
    with mounted(mine.results, "64m"):
        remount(mine.results, "ro")
        code, text = mine.run(*COMMAND)
        assert code == 2, text
        assert "Read-only file system" in text
        assert str(mine.results.name) in text
        assert clean(text), text
        remount(mine.results, "rw")
        code, text = mine.run(*COMMAND)
        assert code == 0, text
        assert mine.tables() == swept.tables()


def test_results_of_a_workflow_cannot_be_written(study: Make, undisturbed: Any, tmp_path: Path) -> None:
    mine = study(tmp_path / "s")
    with mounted(mine.results, "64m"):
        remount(mine.results, "ro")
        code, text = mine.run()
        assert code != 0
        assert "Read-only file system" in text
        assert clean(text), text
        remount(mine.results, "rw")
        code, text = mine.run()
        assert code == 0, text
        assert mine.tables() == undisturbed.tables()


def edited(mine: Any, text: str, seconds_ago: float) -> None:
    """Write the sweep anew as an editor does at a time when the clock is ``seconds_ago`` behind."""
    path = mine.folder / "layers/tiny.yaml"
    path.write_text(text)
    then = time.time() - seconds_ago
    os.utime(path, (then, then))


def faketime() -> tuple[str, ...]:
    """Return the command that sets the clock of a process two days back; skipped where there is none."""
    if reason := installed(("faketime",), ("faketime",)):
        pytest.skip(f"faketime: {reason}")
    return ("faketime", "-f", "-2d")


@pytest.mark.parametrize("fault", ["clock", "files"])
def test_the_clock_goes_backwards(study: Make, undisturbed: Any, tmp_path: Path, fault: str) -> None:
    mine = study(tmp_path / "s")
    wanted = (mine.folder / "layers/tiny.yaml").read_text()
    # A project that was there before: Snakemake refuses results that are older than what they are made from.
    for path in mine.folder.rglob("*"):
        os.utime(path, (time.time() - 10 * 86400,) * 2)
    edited(mine, wanted.replace("192", "96"), 0)
    code, text = mine.run()
    assert code == 0, text
    # The sweep is edited, and the clock says that this was before all results were written.
    edited(mine, wanted, 2 * 86400)
    prefix = faketime() if fault == "clock" else ()
    if fault == "files":
        for path in mine.results.rglob("*"):
            os.utime(path, (time.time() + 86400, time.time() + 86400))
    code, text = mine.run(prefix=prefix, more={"FAKETIME_DONT_FAKE_MONOTONIC": "1"})
    assert code == 0, text
    assert mine.tables() == undisturbed.tables()
    code, text = mine.run()
    assert code == 0, text
    assert mine.tables() == undisturbed.tables()
