"""What a comment costs: nothing. What an edit of code costs: exactly what rests on it."""

import shutil
from pathlib import Path

import pytest

from jouleloop import sources
from jouleloop.jit import cache_folder, kernel_modules
from jouleloop.sources import PACKAGE, digest_of, with_imports


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a copy of the package."""
    folder = tmp_path_factory.mktemp("sources") / "jouleloop"
    shutil.copytree(PACKAGE, folder, ignore=shutil.ignore_patterns("__pycache__"))
    return folder


@pytest.fixture(scope="module")
def before(package: Path) -> tuple[str, str]:
    return digests(package)


def digests(package: Path) -> tuple[str, str]:
    """Return what names the folder of the kernels, and what is in the key of results."""
    results = digest_of(with_imports([package / "engines/native.py"], package), package)
    return cache_folder(package).name, results


def edited(package: Path, module: str, text: str, monkeypatch: pytest.MonkeyPatch) -> tuple[str, str]:
    """Return the digests of the package with ``text`` at the end of a module, the one that is parsed anew."""
    path, parsed = package / module, sources._parsed
    sound = path.read_text()
    path.write_text(sound + text)
    monkeypatch.setattr(sources, "_parsed", lambda one: (parsed.__wrapped__ if one == path else parsed)(one))
    try:
        return digests(package)
    finally:
        path.write_text(sound)


def test_words_are_no_code(tmp_path: Path) -> None:
    def code_of(text: str) -> str:
        folder = tmp_path / str(len(list(tmp_path.iterdir())))
        folder.mkdir()
        (folder / "module.py").write_text(text)
        return digest_of([folder / "module.py"], folder)

    code = '"""Module."""\nX = 1\n\ndef f(a):\n    """Say."""\n    return a  # why\n'
    assert code_of(code) == code_of("X=1\n\n\n'an attribute'\ndef f( a ):\n    return a\n")
    assert code_of(code) != code_of(code.replace("X = 1", "X = 2"))
    assert code_of('def f():\n    """Say."""\n') == code_of("def f():\n    pass\n")
    assert code_of('def f():\n    return "a"\n') != code_of('def f():\n    return "b"\n')


@pytest.mark.parametrize("module", ["model/kernel.py", "theory/fully_connected/search.py", "engines/verify.py"])
def test_words_compile_nothing_and_discard_no_result(
    package: Path, before: tuple[str, str], module: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = '\n# A comment.\n"""And a text that stands by itself."""\n'
    assert edited(package, module, words, monkeypatch) == before


@pytest.mark.parametrize(
    ("module", "kernels", "results"),
    [
        ("model/kernel.py", True, True),
        ("model/arrays.py", True, True),
        ("optimum/optimise.py", False, True),
        ("mapspace/space.py", False, True),
        ("theory/fully_connected/search.py", True, False),
        ("engines/verify.py", False, False),
        ("arch/read.py", False, False),
        ("report/style.py", False, False),
    ],
)
def test_code_costs_what_rests_on_it(
    package: Path,
    before: tuple[str, str],
    module: str,
    monkeypatch: pytest.MonkeyPatch,
    *,
    kernels: bool,
    results: bool,
) -> None:
    after = edited(package, module, "\nADDED = 1\n", monkeypatch)
    assert (after[0] != before[0], after[1] != before[1]) == (kernels, results)


def test_every_module_with_kernels_counts() -> None:
    with_kernels = {path for path in PACKAGE.rglob("*.py") if "@njit" in path.read_text() and path.parent.name != "jit"}
    assert with_kernels
    assert with_kernels <= kernel_modules()


def test_kernels_are_compiled_by_jit_alone() -> None:
    # numba's own cache sees neither what a kernel calls nor a damaged file.
    others = [path for path in PACKAGE.rglob("*.py") if path.parent.name != "jit"]
    assert not [path.name for path in others if "import numba" in path.read_text() or "nb.njit" in path.read_text()]


def test_readers_of_files_decide_no_result() -> None:
    names = {path.relative_to(PACKAGE).as_posix() for path in with_imports([PACKAGE / "engines/native.py"])}
    assert {"model/kernel.py", "optimum/optimise.py", "workload/problem.py"} <= names
    assert not any(name.startswith(("report", "tables", "config", "study", "stats", "cli")) for name in names)
