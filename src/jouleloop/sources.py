"""Hashes of the package's own code: what a module does, not how it is explained, and the modules it rests on."""

import ast
import contextlib
import hashlib
import os
import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path

from jouleloop.errors import InputError
from jouleloop.files import write_text

PACKAGE = Path(__file__).parent

#: What has a body in which a string may stand by itself.
_WITH_TEXT = frozenset({ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef})


def _shape(value: object) -> str:
    """Return a syntax tree as text that every Python writes alike: fields that are empty are left out.

    A string that stands by itself does nothing, wherever it stands.
    """
    kind = type(value)
    if kind is list:
        return f"[{','.join(map(_shape, value))}]"  # type: ignore[call-overload]
    if not isinstance(value, ast.AST):
        return repr(value)
    shown = []
    for name in value._fields:
        part = getattr(value, name, None)
        if name == "body" and kind in _WITH_TEXT:
            part = [line for line in part or [] if not _is_text(line)] or [ast.Pass()]
        if part is not None and part != []:
            shown.append(f"{name}={_shape(part)}")
    return f"{kind.__name__}({','.join(shown)})"


def _is_text(line: ast.stmt) -> bool:
    return isinstance(line, ast.Expr) and isinstance(line.value, ast.Constant) and isinstance(line.value.value, str)


def cache_home() -> Path:
    """Return this package's folder among the user's caches."""
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "jouleloop"


def remembered(name: str, make: Callable[[], str]) -> str:
    """Return what ``make`` returns, 16 hexadecimal digits that follow from the package's sources, remembered for them.

    Reading all sources takes a tenth of the time of parsing some. What is remembered stands beside a hash of it.
    """
    sources = _content()
    path = cache_home() / "digests" / f"{name}-{sources}"
    with contextlib.suppress(OSError, UnicodeDecodeError):
        value, _, check = path.read_text(encoding="ascii").partition(" ")
        if re.fullmatch("[0-9a-f]{16}", value) and check == _check(name, sources, value):
            return value
    value = make()
    with contextlib.suppress(InputError):
        write_text(path, f"{value} {_check(name, sources, value)}")
    return value


@cache
def _content() -> str:
    state = hashlib.sha256()
    for path in sorted(PACKAGE.rglob("*.py")):
        content = path.read_bytes()
        state.update(f"{path.relative_to(PACKAGE).as_posix()} {len(content)}\n".encode() + content)
    return state.hexdigest()[:32]


def _check(*parts: str) -> str:
    return hashlib.sha256(" ".join(parts).encode()).hexdigest()


def digest_of(paths: Iterable[Path], root: Path = PACKAGE) -> str:
    """Return the SHA-256 of the code of several modules, 16 digits of it."""
    state = hashlib.sha256()
    for path in sorted(paths):
        state.update(path.relative_to(root).as_posix().encode())
        state.update(_parsed(path)[0].encode())
    return state.hexdigest()[:16]


@cache
def _parsed(path: Path) -> tuple[str, dict[str, frozenset[str]]]:
    """Return the code of a module, and the names it takes from each module that it imports."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    found: dict[str, frozenset[str]] = {}
    for node in _statements(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            wanted = [(f"{node.module}.{alias.name}", alias.name) for alias in node.names]
        elif isinstance(node, ast.Import):
            wanted = [(alias.name, "*") for alias in node.names]
        else:
            continue
        for name, taken in wanted:
            found[name] = found.get(name, frozenset()) | {taken}
    return _shape(tree), found


def _statements(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield all statements, and what else holds some; expressions, which are most of a tree, are passed over."""
    for name in ("body", "orelse", "finalbody", "handlers", "cases"):
        part = getattr(tree, name, None)
        for node in part if isinstance(part, list) else ():
            yield node
            yield from _statements(node)


def with_imports(
    starts: Iterable[Path], root: Path = PACKAGE, *, follow: Callable[[Path, frozenset[str]], bool] | None = None
) -> set[Path]:
    """Return modules and all modules of this package that they import, directly or not, at any place.

    Parameters
    ----------
    follow
        Asked with a module and the names that are imported from it whether to take it in; all are by default.
    """
    found, waiting = set(starts), list(starts)
    while waiting:
        for name, taken in _parsed(waiting.pop())[1].items():
            path = _file_of(name, root) or _file_of(name.rpartition(".")[0], root)
            if path is not None and path not in found and (follow is None or follow(path, taken)):
                found.add(path)
                waiting.append(path)
    return found


def _file_of(name: str, root: Path) -> Path | None:
    first, *parts = name.split(".")
    if first != "jouleloop":
        return None
    base = root.joinpath(*parts)
    return next((path for path in (base.with_suffix(".py"), base / "__init__.py") if path.is_file()), None)
