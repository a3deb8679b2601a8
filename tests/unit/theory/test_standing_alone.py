"""Room `jouleloop.theory` stands alone: all that its modules import, through others too, is the ground."""

import ast
import os
import shutil
import subprocess
import sys
from pathlib import Path

from paths import ROOT

PACKAGE = ROOT / "src" / "jouleloop"
GROUND = {
    "columns",  # the table writer, and the definitions it follows
    "layouts",
    "errors",
    "files",
    "jit",  # compiled functions, kept between runs
    "terminal",  # tables on the terminal, and options that commands share
}


def imported(path: Path) -> set[str]:
    """Return the modules of the house that a module imports, wherever in it the import stands."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: an import relative to its place"
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    return {name for name in found if name.split(".")[0] == "jouleloop"}


def test_theory_imports_the_ground_alone() -> None:
    modules = sorted((PACKAGE / "theory").rglob("*.py"))
    assert len(modules) > 50
    strangers = {
        f"{path.relative_to(PACKAGE)}: {name}"
        for path in modules
        for name in imported(path)
        if name.split(".")[1] not in GROUND | {"theory"}
    }
    assert strangers == set()


def with_what_they_import(rooms: set[str]) -> set[str]:
    """Return rooms and all that they import in turn."""
    reached: set[str] = set()
    waiting = set(rooms)
    while waiting:
        room = waiting.pop()
        reached.add(room)
        file = PACKAGE / f"{room}.py"
        modules = [file] if file.exists() else (PACKAGE / room).rglob("*.py")
        found = {name.split(".")[1] for path in modules for name in imported(path) if "." in name}
        waiting |= {one for one in found if (PACKAGE / f"{one}.py").exists() or (PACKAGE / one).is_dir()} - reached
    return reached


def test_no_room_of_the_ground_leads_to_one_that_knows_layers_or_hardware() -> None:
    """Whatever the ground imports in turn is neither a room of the pipeline nor theory again."""
    above = {"arch", "energy", "engines", "mapping", "mapspace", "model", "optimum", "tables", "theory", "workload"}
    reached = with_what_they_import(GROUND)
    assert reached >= GROUND
    assert reached & above == set()


def test_a_copy_of_theory_and_the_ground_works_without_the_rest(tmp_path: Path) -> None:
    package = tmp_path / "jouleloop"
    package.mkdir()
    (package / "__init__.py").touch()
    for room in with_what_they_import(GROUND) | {"theory"}:
        if (PACKAGE / room).is_dir():
            shutil.copytree(PACKAGE / room, package / room, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(PACKAGE / f"{room}.py", package)
    for data in PACKAGE.glob("*.csv"):
        shutil.copy(data, package)
    program = """if True:
        import sys
        from jouleloop.theory.commands import bounds, dataflow
        from jouleloop.theory.exhibits import exhibits
        dataflow()(["nest", "ik,kj->ij", "--bounds", "i=4,k=4,j=4", "--cache", "16"], standalone_mode=False)
        bounds()(["fc", "-n", "6", "-m", "7", "-B", "3"], standalone_mode=False)
        print(sorted({name.split(".")[1] for name in sys.modules if name.startswith("jouleloop.")}), len(exhibits()))
    """
    environment = {**os.environ, "PYTHONPATH": str(tmp_path), "COLUMNS": "200"}
    command = [sys.executable, "-P", "-c", program]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "general_lower_bound" in done.stdout
    assert "'theory'" in done.stdout.splitlines()[-1]
