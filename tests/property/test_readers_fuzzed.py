"""Coverage-guided fuzzing of every reader for a bounded time: nothing but faults, no hang, no file anywhere else."""

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from paths import ROOT
from waiting import LIMIT_S

SECONDS = 20


@pytest.mark.slow
@pytest.mark.skipif(
    importlib.util.find_spec("atheris") is None,
    reason="atheris is not installed: there is one for Linux on x86-64 only (pip install -e '.[dev]')",
)
def test_every_reader_for_a_while(tmp_path: Path) -> None:
    fuzzed, here = tmp_path / "fuzzed", tmp_path / "here"
    here.mkdir()
    done = subprocess.run(
        [sys.executable, str(ROOT / "tests/fuzz/fuzz_loaders.py"), str(SECONDS), str(fuzzed)],
        cwd=here,
        env=os.environ | {"PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"},
        capture_output=True,
        text=True,
        errors="replace",
        timeout=LIMIT_S,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    runs = re.search(r"Done (\d+) runs", done.stderr)
    assert runs is not None, done.stderr[-3000:]
    assert int(runs[1]) > 50
    assert list(here.iterdir()) == []
    assert {path.name for path in fuzzed.iterdir()} == {"corpus", "work"}
