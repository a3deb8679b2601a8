"""What `jouleloop.cli` prints and nobody reads, or has no room for: an exit code, at most one line, no traceback."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from paths import ROOT

MAP = "map --arch eyeriss --layer fc:64x64"


def shell(command: str) -> tuple[int, str]:
    """Return exit code and standard error of a command in a shell."""
    run = subprocess.run(
        ["bash", "-c", command.replace("jouleloop", f"{sys.executable} -m jouleloop")],
        cwd=ROOT,
        env=os.environ | {"COLUMNS": "200"},
        stderr=subprocess.PIPE,
        text=True,
        check=False,
        timeout=600,
    )
    return run.returncode, run.stderr


def test_a_reader_that_goes_away() -> None:
    assert shell(f"set -o pipefail; jouleloop {MAP} --json | true")[1] == ""


@pytest.mark.parametrize(("streams", "code"), [(">&-", 0), (">&- 2>&-", 0), ("</dev/null", 0)])
def test_closed_streams(streams: str, code: int) -> None:
    assert shell(f"jouleloop config {streams}") == (code, "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_no_room_for_the_output() -> None:
    assert shell(f"jouleloop {MAP} >/dev/full") == (2, "error: No space left on device\n")
    assert shell("jouleloop map --arch nosuch --layer fc:64x64 2>/dev/full")[0] != 0


def test_a_warning_is_told_once(tmp_path: Path) -> None:
    """A design is read for its tree, its sections and its constraints, of `explore` by the hundred."""
    text = (ROOT / "arch/two_levels.yaml").read_text()
    design = tmp_path / "twice.yaml"
    design.write_text(text.replace("depth: 2199023255552", "depth: 64, depth: 64"))
    code, err = shell(f"jouleloop map --arch {design} --energy counts --layer fc:8x8 >/dev/null")
    assert (code, err.count("key 'depth' is given twice")) == (0, 1)
