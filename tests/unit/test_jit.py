"""Compiled kernels: what is stored is loaded, what is damaged is compiled anew."""

import os
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from numba.core.runtime import _nrt_python
from numba.core.runtime.nrt import rtsys

from jouleloop import jit, signals
from jouleloop.sources import PACKAGE


def weighed(x: float, y: float) -> float:
    """Return something that a wrong constant would show."""
    return 3.0 * x + y if x > 2 else y


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(jit, "folder", lambda: tmp_path)
    assert jit.njit(weighed)(3, 1.0) == 10.0
    return tmp_path


def files(folder: Path) -> list[Path]:
    return [path for path in folder.iterdir() if not path.name.startswith(".")]


def stored(folder: Path) -> Path:
    (file,) = files(folder)
    return file


def loads() -> int:
    """Call a new dispatcher of the kernel, and return how often it was loaded."""
    kernel = jit.njit(weighed)
    assert kernel(3, 1.0) == 10.0
    hits: dict[object, int] = kernel.made().stats.cache_hits  # type: ignore[attr-defined]
    return sum(hits.values())


def test_what_is_stored_is_loaded(folder: Path) -> None:
    assert loads() == 1
    # Other types are another file.
    assert jit.njit(weighed)(3.0, 1.0) == 10.0
    assert len(files(folder)) == 2


def test_every_flipped_bit_is_found(folder: Path) -> None:
    file = stored(folder)
    sound = file.read_bytes()
    seed = random.SystemRandom().randrange(2**32)
    chance = random.Random(seed)
    for _ in range(20):
        damaged = bytearray(sound)
        damaged[chance.randrange(len(sound))] ^= 1 << chance.randrange(8)
        file.write_bytes(damaged)
        assert loads() == 0, f"seed {seed}"
        # It was compiled anew, and stored in the place of what was damaged.
        assert loads() == 1, f"seed {seed}"


def test_a_kernel_under_the_name_of_another_is_found(folder: Path) -> None:
    """Both are intact, and taking one for the other ended the process."""
    first = stored(folder)
    assert jit.njit(weighed)(3.0, 1.0) == 10.0
    [second] = set(files(folder)) - {first}
    second.write_bytes(first.read_bytes())
    kernel = jit.njit(weighed)
    assert kernel(3.0, 1.0) == 10.0
    assert sum(kernel.made().stats.cache_hits.values()) == 0  # type: ignore[attr-defined]


def test_a_folder_of_a_process_alone_ends_with_it(tmp_path: Path) -> None:
    """As of a process whose home cannot be written; it says once why it compiles."""
    (tmp_path / "taken").touch()
    script = "from jouleloop import jit; folder = jit.folder(); assert folder.is_dir(); jit.folder(); print(folder)"
    variables = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "taken"), "TMPDIR": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", script], env=variables, capture_output=True, text=True, check=True)
    made = Path(done.stdout.strip())
    assert made.parent == tmp_path
    assert not made.exists()
    assert done.stderr.count("cannot be written") == 1


@pytest.mark.parametrize("length", [0, 16, 32, 500])
def test_a_file_that_ends_early_is_found(folder: Path, length: int) -> None:
    file = stored(folder)
    file.write_bytes(file.read_bytes()[:length])
    assert loads() == 0
    assert loads() == 1


def test_another_version_of_numba_is_another_file(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("numba.__version__", "0.0")
    assert loads() == 0
    assert len(files(folder)) == 2


def test_no_room_for_kernels_is_no_failure(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "taken").touch()
    monkeypatch.setattr(jit, "folder", lambda: folder / "taken")
    assert loads() == 0


def test_parts_are_compiled_into_what_python_calls(folder: Path) -> None:
    part = jit.njit(weighed)

    def both(x: float) -> float:
        return part(x, 1.0) + part(x, 2.0)

    before = set(files(folder))
    assert jit.njit(both)(3.0) == 21.0
    (kernel,) = set(files(folder)) - before
    assert "both" in kernel.name
    # A part can be called from Python all the same, as tests of parts do.
    assert part(3.0, 1.0) == 10.0
    # And a new process takes the whole from the file.
    again = jit.njit(both)
    assert again(3.0) == 21.0
    assert sum(again.made().stats.cache_hits.values()) == 1  # type: ignore[attr-defined]


KERNELS = """
from jouleloop.jit import njit

@njit
def part(x):
    return x + 1.0

@njit(apart=True)
def shared(x, by):
    return part(x) / by

@njit
def within(x, by):
    return shared(x, by)

@njit
def first(x, by):
    return 2.0 * within(x, by)

@njit
def second(x, by):
    return 3.0 * shared(x, by)
"""


@pytest.fixture
def run_kernels(tmp_path: Path) -> Callable[[str], str]:
    """Return what prints what some code prints in a process of its own, where the kernels above are called."""
    (tmp_path / "kernels_apart.py").write_text(KERNELS)
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path), "PYTHONPATH": f"{PACKAGE.parent}:{tmp_path}"}

    def run(code: str) -> str:
        command = [sys.executable, "-c", f"from kernels_apart import *\n{code}"]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    return run


def of_shared(tmp_path: Path) -> dict[str, Path]:
    (home,) = tmp_path.glob("kernels-*")
    return {path.name.split("-")[0].split(".")[-1]: path for path in home.glob("kernels_apart*")}


def test_a_kernel_apart_is_compiled_once(tmp_path: Path, run_kernels: Callable[[str], str]) -> None:
    assert run_kernels("print(first(3.0, 2.0), second(3.0, 2.0), shared(3.0, 2.0))") == "4.0 6.0 2.0"
    kept = of_shared(tmp_path)
    # What is no kernel apart is in the others; the one that is has its own file, before Python ever calls it.
    assert sorted(kept) == ["first", "second", "shared"]
    assert run_kernels("print(second(3.0, 2.0), second.made().stats.cache_hits.total())") == "6.0 1"
    error = "try: first(3.0, 0.0)\nexcept ZeroDivisionError: print('told')"
    assert run_kernels(error) == "told"


@pytest.mark.parametrize("lost", ["removed", "damaged"])
def test_a_lost_kernel_apart_is_compiled_again(lost: str, tmp_path: Path, run_kernels: Callable[[str], str]) -> None:
    run_kernels("first(3.0, 2.0)")
    shared = of_shared(tmp_path)["shared"]
    whole = shared.read_bytes()
    if lost == "removed":
        shared.unlink()
    else:
        shared.write_bytes(whole[:-1])
    # Code that calls it is still loaded from its file.
    assert run_kernels("print(first(3.0, 2.0), first.made().stats.cache_hits.total())") == "4.0 1"
    assert shared.stat().st_size > len(whole) // 2
    assert run_kernels("print(second(5.0, 2.0))") == "9.0"


def test_reading_modules_with_kernels_does_not_load_numba() -> None:
    code = (
        "import sys\n"
        "import jouleloop.optimum.optimise, jouleloop.model.evaluate, jouleloop.theory.fully_connected.bounds\n"
        "sys.exit('numba' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


class Pair(NamedTuple):
    """Two numbers."""

    first: float
    second: float


def test_no_named_tuple_leaves_a_kernel(folder: Path) -> None:
    # numba makes it in Python, where a signal that waits strikes, and goes on with nothing in its place: a crash.
    def pair(x: float) -> tuple[int, Pair]:
        return 1, Pair(x, x)

    with pytest.raises(TypeError, match="named tuple"):
        jit.njit(pair)(1.0)
    assert len(files(folder)) == 1


class Rows(NamedTuple):
    """Two arrays."""

    first: Any
    second: Any


@pytest.mark.usefixtures("folder")
def test_named_tuples_and_references_of_parts() -> None:
    # Named tuples go by their address, and parts that make no array count no references: neither shows.
    @jit.njit
    def of_row(rows: Rows, i: int, twice: bool) -> float:
        row = rows.first[i]
        return (2.0 if twice else 1.0) * row[0] + rows.second[i]

    @jit.njit
    def shifted(rows: Rows, n: int) -> Rows:
        fresh = np.zeros_like(rows.first)
        fresh[:] = rows.first
        for i in range(n):
            fresh[i, 0] += 1.0
        return Rows(fresh, rows.second)

    def total(rows: Rows, rounds: int) -> float:
        found = 0.0
        for _ in range(rounds):
            rows = shifted(rows, rows.second.shape[0])
            for i in range(rows.second.shape[0]):
                found += of_row(rows, i, True) - of_row(rows, i, False)
        return found

    rows = Rows(np.arange(6.0).reshape(3, 2), np.arange(3.0))
    kernel = jit.njit(total)
    before = sys.getrefcount(rows.first), sys.getrefcount(rows.second)
    assert kernel(rows, 4) == sum(6.0 + 3 * k for k in range(1, 5))
    assert kernel(rows, 100) == sum(6.0 + 3 * k for k in range(1, 101))
    assert (sys.getrefcount(rows.first), sys.getrefcount(rows.second)) == before
    _nrt_python.memsys_enable_stats()
    live = rtsys.get_allocation_stats()
    kernel(rows, 100)
    after = rtsys.get_allocation_stats()
    _nrt_python.memsys_disable_stats()
    assert after.alloc - live.alloc == after.free - live.free >= 100
    # A constant is no type of its own.
    assert len(of_row.made().overloads) == 1  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "lacking", ["numba.core.codegen.JITCodeLibrary", "numba.core.compiler_machinery.PassManager.add_pass_after"]
)
def test_another_numba_compiles_all_the_same(lacking: str, tmp_path: Path) -> None:
    code = f"""
import importlib, numba
*path, name = "core.{lacking}".split(".")
import numba.core.codegen, numba.core.compiler_machinery
owner = numba
for part in path[1:]:
    owner = getattr(owner, part)
delattr(owner, name)
from jouleloop.jit import njit
import second
print(second.whole(3.0))
"""
    (tmp_path / "second.py").write_text(
        "from jouleloop.jit import njit\n\n@njit\ndef part(x):\n    return x + 1.0\n\n"
        "@njit\ndef whole(x):\n    return 2.0 * part(x)\n"
    )
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path), "PYTHONPATH": f"{PACKAGE.parent}:{tmp_path}"}
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False
        )
        assert (done.returncode, done.stdout) == (0, "8.0\n"), done.stderr
        assert done.stderr.count("\n") == 1
        assert "numba" in done.stderr


def test_kernels_of_versions_that_nobody_uses_are_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(jit.KEPT_VERSIONS + 3):
        old = tmp_path / f"kernels-{number:016}"
        old.mkdir()
        (old / "one").write_text("code")
        os.utime(old, (number, number))
    (tmp_path / "mine").mkdir()
    monkeypatch.setattr(jit, "cache_folder", lambda: tmp_path / "kernels-new")
    assert jit.folder.__wrapped__() == tmp_path / "kernels-new"
    left = sorted(path.name for path in tmp_path.iterdir())
    assert left == [*(f"kernels-{n:016}" for n in range(4, jit.KEPT_VERSIONS + 3)), "kernels-new", "mine"]


def test_a_signal_that_strikes_while_a_kernel_returns() -> None:
    # Without `struck` the interrupt is a SystemError; made by hand, since a test may not depend on when a signal comes.
    inner = SystemError("returned a result with an exception set")
    inner.__cause__ = KeyboardInterrupt()
    outer = SystemError("returned a result with an exception set")
    outer.__cause__ = inner
    assert isinstance(signals.struck(outer), KeyboardInterrupt)
    alone = SystemError("something else")
    assert signals.struck(alone) is alone
