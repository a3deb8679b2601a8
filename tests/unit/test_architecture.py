"""The rooms of docs/architecture.md: exactly those that exist, and no import against their order."""

import ast
import re
from graphlib import TopologicalSorter
from pathlib import Path

from imports import imported_modules
from paths import ROOT

PACKAGE = ROOT / "src" / "jouleloop"


def documented() -> list[str]:
    """Return the rooms in the order of the page's first table."""
    table = (ROOT / "docs" / "architecture.md").read_text().split("\n\n| room", 1)[1].split("\n\n", 1)[0]
    return re.findall(r"^\| `(\w+)`", table, re.MULTILINE)


def imports(path: Path) -> set[str]:
    """Return the rooms that a module imports from, wherever in it the import stands."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            continue
        parts = [name.split(".") for name in names]
        found |= {name[1] for name in parts if name[0] == "jouleloop" and len(name) > 1}
    return found


def test_the_page_names_the_rooms_that_exist() -> None:
    modules = {path.stem for path in PACKAGE.glob("*.py") if not path.stem.startswith("__")}
    folders = {path.name for path in PACKAGE.iterdir() if path.is_dir() and any(path.rglob("*.py"))}
    assert sorted(documented()) == sorted(modules | folders)


def test_no_room_imports_from_a_later_one() -> None:
    order = {room: place for place, room in enumerate(documented())}
    upward = []
    for path in sorted(PACKAGE.rglob("*.py")):
        room = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
        if room in order:
            upward += [
                f"{path.relative_to(ROOT)}: {other}" for other in imports(path) if order.get(other, -1) > order[room]
            ]
    assert upward == []


def test_no_module_imports_itself_by_way_of_others() -> None:
    """No circle, inside a room either, wherever an import stands."""
    source = ROOT / "src"
    names = {".".join(path.relative_to(source).with_suffix("").parts) for path in PACKAGE.rglob("*.py")}
    modules = {name.removesuffix(".__init__") for name in names}
    graph = {name: imported_modules(source, name, for_types=False) - {name} for name in modules}
    # Raises CycleError, with the circle, where there is one.
    assert set(TopologicalSorter(graph).static_order()) >= modules


def test_the_unit_tests_mirror_the_rooms() -> None:
    """A folder of tests is one of the package, and every file in it tests that room, itself or by its commands."""
    unit = ROOT / "tests" / "unit"
    strangers = []
    for path in sorted(unit.rglob("test_*.py")):
        folder = path.relative_to(unit).parent
        if not (PACKAGE / folder).is_dir():
            strangers.append(f"{path.relative_to(ROOT)}: there is no such room")
        elif folder.parts:
            named = set(re.findall(r"\bjouleloop\.(\w+)", path.read_text())) | imports(path)
            if '"-m", "jouleloop"' in path.read_text() or re.search(r"\bcommand_line\b", path.read_text()):
                named.add("cli")
            if not named & {folder.parts[0], "cli"}:
                strangers.append(f"{path.relative_to(ROOT)}: knows nothing of its room")
    assert strangers == []
