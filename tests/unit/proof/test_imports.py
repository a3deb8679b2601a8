"""The proof stands on its own: nothing that it imports, however far down, counts for the search or searches."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from imports import imported_modules
from paths import ROOT

SOURCE = ROOT / "src"
#: What the proof may import itself.
DIRECT = {"proof", "errors", "files", "workload", "arch", "energy", "mapping"}
#: What these rooms stand on.
GROUND = {"documents", "expressions", "names", "units", "validation", "memory"}
FORBIDDEN = ["jouleloop.model.evaluate", "jouleloop.jit", "jouleloop.optimum.solve", "jouleloop.mapspace.space"]


def strangers(source: Path) -> set[str]:
    """Return the modules that the proof reaches and may not, and those that it imports itself and may not."""
    reached, found = set(), set()
    waiting = sorted(f"jouleloop.proof.{path.stem}" for path in (source / "jouleloop" / "proof").glob("*.py"))
    while waiting:
        module = waiting.pop()
        if module in reached:
            continue
        reached.add(module)
        room = module.split(".")[1]
        for other in imported_modules(source, module):
            beyond = other.split(".")[1] if "." in other else ""
            if beyond not in DIRECT | GROUND or (room == "proof" and beyond not in DIRECT):
                found.add(f"{module}: {other}")
            else:
                waiting.append(other)
    return found


def test_the_proof_imports_nothing_that_counts_or_searches() -> None:
    assert strangers(SOURCE) == set()


@pytest.mark.parametrize("forbidden", FORBIDDEN)
@pytest.mark.parametrize("where", ["proof/lemmas.py", "proof/cost.py", "errors.py"])
def test_a_forbidden_import_is_seen(forbidden: str, where: str, tmp_path: Path) -> None:
    shutil.copytree(SOURCE / "jouleloop", tmp_path / "jouleloop", ignore=shutil.ignore_patterns("__pycache__"))
    file = tmp_path / "jouleloop" / where
    file.write_text(file.read_text() + f"\n\ndef late() -> None:\n    import {forbidden}\n")
    assert strangers(tmp_path) != set()


def test_no_kernel_is_loaded_where_a_certificate_is_verified() -> None:
    program = (
        "import sys, jouleloop.proof.form, jouleloop.proof.verify;"
        "rooms = {name.split('.')[1] for name in sys.modules if name.startswith('jouleloop.')};"
        "print(sorted(rooms & {'model', 'optimum', 'search', 'jit', 'mapspace', 'engines'}), 'numba' in sys.modules)"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert run.stdout.split("\n")[0] == "[] False"
