"""Limits on memory end in one line and an exit code, whichever they are."""

import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from jouleloop import memory
from paths import ROOT

MB = 10**6


def limited(which: int, amount: int, *arguments: str) -> tuple[int, str]:
    """Return exit code and output of a command under a limit [bytes]."""
    run = subprocess.run(
        [sys.executable, "-m", "jouleloop", *arguments],
        cwd=ROOT,
        env=os.environ | {"COLUMNS": "200"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=600,
        preexec_fn=lambda: resource.setrlimit(which, (amount, amount)),
    )
    return run.returncode, run.stdout


@pytest.mark.parametrize("amount_mb", [60, 300, 999])
def test_a_limit_that_is_too_low_is_refused_at_the_start(amount_mb: int) -> None:
    code, text = limited(resource.RLIMIT_AS, amount_mb * MB, "map", "--arch", "eyeriss", "--layer", "fc:64x64")
    assert code == 2
    assert text == f"error: the limit on memory of {amount_mb} MB (ulimit -v) is too low; allowed: at least 1,000 MB\n"


def test_under_the_least_limit_a_layer_is_searched() -> None:
    code, text = limited(resource.RLIMIT_AS, 1000 * MB, "map", "--arch", "eyeriss", "--layer", "fc:64x64")
    assert (code, "energy" in text) == (0, True), text


def test_what_cannot_fail_is_not_begun_without_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    memory.need(2**50)
    monkeypatch.setattr(resource, "getrlimit", lambda _: (10**9, 10**9))
    with pytest.raises(MemoryError):
        memory.need(10**9)
    assert memory.lack() == "not enough memory (allowed: 1,000 MB by ulimit -v, 1,000 MB by ulimit -d)"


@pytest.mark.parametrize(
    ("line", "file", "text"),
    [
        ("0::/jobs/one", "jobs/memory.max", "500000000\n"),
        ("4:memory:/jobs/one", "memory/jobs/one/memory.limit_in_bytes", "500000000\n"),
        ("4:cpu,memory:/docker/of/the/host", "memory/memory.limit_in_bytes", "500000000\n"),
    ],
)
def test_limits_of_control_groups(
    line: str, file: str, text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory, "_GROUPS", tmp_path)
    given = Path.read_text
    monkeypatch.setattr(
        Path, "read_text", lambda path, **how: line if str(path) == "/proc/self/cgroup" else given(path, **how)
    )
    assert memory.group_limit() is None
    (tmp_path / file).parent.mkdir(parents=True)
    (tmp_path / file).write_text(text)
    assert memory.group_limit() == 500_000_000
    assert memory.group_kills() == 0
    (tmp_path / file).with_name("memory.oom_control").write_text("under_oom 0\noom_kill 3\n")
    assert memory.group_kills() == 3


@pytest.mark.parametrize(
    ("error", "lacks"),
    [
        (MemoryError(), True),
        (OSError(12, "Cannot allocate memory"), True),
        (ImportError("lib.so: failed to map segment from shared object"), True),
        (RuntimeError("can't start new thread"), True),
        (RuntimeError("no"), False),
        (ImportError("No module named 'x'"), False),
    ],
)
def test_what_a_lack_of_memory_looks_like(error: Exception, lacks: bool) -> None:
    assert memory.is_lack(error) is lacks
    outer = RuntimeError("because of that")
    outer.__cause__ = error
    assert memory.is_lack(outer) is lacks
