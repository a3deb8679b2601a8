"""What is compiled in advance is all that searches and evaluations ask for."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from paths import ROOT

_LATER = """
import jouleloop as jl

for arch, layer, factors in (
    ("eyeriss", "conv:C4xM8xP7xQ7xR3xS3/stride2", "perfect"),
    ("manticore", "fc:64x48", "perfect"),
    ("simba", "fc:10x14", "imperfect"),
    ("eyeriss", "conv:C4xM8xP7xQ7xR3xS3", "imperfect"),
):
    hardware = jl.Architecture.read(arch, factors=factors)
    found = jl.search(hardware, layer)
    jl.evaluate(hardware, layer, found.mapping)
    if (arch, factors) == ("eyeriss", "imperfect"):  # the others hand words on to neighbours
        jl.evaluate(hardware, layer, found.mapping, residuals="exact")
"""


@pytest.mark.slow
def test_nothing_is_left_to_compile(tmp_path: Path) -> None:
    def run(*arguments: str) -> set[str]:
        environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
        done = subprocess.run(
            [sys.executable, *arguments], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return {path.name for path in tmp_path.glob("kernels-*/*") if not path.name.startswith(".")}

    perfect = run("-m", "jouleloop.api.warm", "perfect")
    assert any(name.startswith("optimum.solve.run_parts") for name in perfect)
    compiled = run("-m", "jouleloop.api.warm", "imperfect")
    assert compiled > perfect
    assert run("-c", _LATER) == compiled
