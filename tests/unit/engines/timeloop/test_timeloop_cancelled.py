"""A job that is cancelled while it waits for Timeloop leaves no program running."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

PROGRAM = """#!/bin/sh
trap "" INT
echo $$ > pid
sleep 100
"""
JOB = """
import sys
from pathlib import Path
from jouleloop.engines.timeloop.process import run_program
run_program([sys.argv[1]], Path(sys.argv[2]), time_limit_s=60)
"""


def alive(process: int) -> bool:
    try:
        return "Z" not in Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False


def until(happens: Callable[[], object]) -> bool:
    end = time.monotonic() + 30
    while time.monotonic() < end:
        if happens():
            return True
        time.sleep(0.05)
    return False


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_the_program_ends_with_its_job(tmp_path: Path, number: signal.Signals) -> None:
    program, pid = tmp_path / "program", tmp_path / "pid"
    program.write_text(PROGRAM)
    program.chmod(0o755)
    job = subprocess.Popen([sys.executable, "-c", JOB, str(program), str(tmp_path)], stderr=subprocess.DEVNULL)
    assert until(lambda: pid.exists() and pid.read_text().strip())
    started = int(pid.read_text())
    assert alive(started)
    job.send_signal(number)
    try:
        assert job.wait(30) != 0
        assert until(lambda: not alive(started))
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(started, signal.SIGKILL)
