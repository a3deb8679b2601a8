"""A job that is cancelled while it waits for Timeloop leaves no program running."""

import contextlib
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from waiting import LIMIT_S, until

PROGRAM = """#!/bin/sh
trap "" INT
echo $$ > pid
sleep 7200
"""
JOB = """
import sys
from pathlib import Path
from jouleloop.engines.timeloop.process import ProgramWatch, run_program
run_program([sys.argv[1]], Path(sys.argv[2]), ProgramWatch(7200))
"""


def alive(process: int) -> bool:
    try:
        return "Z" not in Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False


@pytest.mark.usefixtures("interruptible")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_the_program_ends_with_its_job(tmp_path: Path, number: signal.Signals) -> None:
    program, pid = tmp_path / "program", tmp_path / "pid"
    program.write_text(PROGRAM)
    program.chmod(0o755)
    job = subprocess.Popen([sys.executable, "-c", JOB, str(program), str(tmp_path)], stderr=subprocess.DEVNULL)
    until(lambda: job.poll() is not None or (pid.exists() and pid.read_text().strip()))
    started = int(pid.read_text())
    assert alive(started)
    job.send_signal(number)
    try:
        assert job.wait(LIMIT_S) != 0
        until(lambda: not alive(started))
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(started, signal.SIGKILL)
