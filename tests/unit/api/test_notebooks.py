"""The notebooks in examples/ run, in one process a notebook, and are stored as they run."""

import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

from jouleloop.api import project
from paths import ROOT
from waiting import LIMIT_S

NOTEBOOKS = sorted((ROOT / "examples").glob("*.ipynb"))

#: Executes a notebook as Jupyter does, and prints what its cells end in.
RUN = """
import sys, nbformat
from nbclient import NotebookClient
notebook = nbformat.read(sys.argv[1], 4)
NotebookClient(notebook, timeout=None, resources={"metadata": {"path": sys.argv[2]}}).execute()
nbformat.write(notebook, sys.argv[3])
"""


def texts(path: Path) -> list[str]:
    """Return what the cells of a notebook printed or ended in; pictures and widths of tables are left out."""
    cells = [cell for cell in nbformat.read(path, 4).cells if cell.cell_type == "code"]
    found = [output.get("text") or output["data"].get("text/plain", "") for cell in cells for output in cell.outputs]
    return [text for text in found if "<Figure" not in text and "/tmp" not in text]


def test_there_are_three() -> None:
    assert len(NOTEBOOKS) == 3
    assert project.shipped_root() == ROOT


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_stored_as_it_runs(path: Path, tmp_path: Path) -> None:
    again = tmp_path / path.name
    command = [sys.executable, "-c", RUN, str(path), str(tmp_path), str(again)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    assert done.returncode == 0, done.stderr
    assert texts(again) == texts(path)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_every_cell_was_executed(path: Path) -> None:
    cells = [cell for cell in nbformat.read(path, 4).cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1))
