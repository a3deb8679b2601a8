"""Which modules of the package a module imports, wherever in it the import stands."""

import ast
from collections.abc import Iterator
from pathlib import Path


def imported_modules(source: Path, module: str, *, for_types: bool = True) -> set[str]:
    """Return the package's modules that a module imports, by their whole names; ``for_types`` alone as well."""
    tree = ast.parse(_file(source, module).read_text())  # type: ignore[union-attr]
    nodes = set(ast.walk(tree))
    for node in [] if for_types else list(nodes):
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            nodes -= set(ast.walk(node))
    return {name for node in nodes for name in _named(source, node) if name.startswith("jouleloop.")}


def _named(source: Path, node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom) and node.module:
        for alias in node.names:
            inside = f"{node.module}.{alias.name}"
            yield inside if _file(source, inside) else node.module


def _file(source: Path, module: str) -> Path | None:
    path = source.joinpath(*module.split("."))
    return next((file for file in (path.with_suffix(".py"), path / "__init__.py") if file.is_file()), None)
