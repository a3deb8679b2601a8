"""Compiled kernels: what is stored is loaded, what is damaged is compiled anew."""

import multiprocessing
import os
import random
import re
import runpy
import shutil
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
from jouleloop.jit import machine, store
from jouleloop.sources import PACKAGE
from paths import ROOT


def weighed(x: float, y: float) -> float:
    """Return something that a wrong constant would show."""
    return 3.0 * x + y if x > 2 else y


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(jit, "folder", lambda: tmp_path)
    assert jit.njit(weighed)(3, 1.0) == 10.0
    return tmp_path


def kept(folder: Path) -> list[Path]:
    """Return the folders of the kernels."""
    return [path for path in folder.iterdir() if not path.name.startswith(".")]


def files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def hits(kernel: Any) -> int:
    """Return how often a kernel was loaded that Python called."""
    made = [made for (one, _, _), made in machine._MADE.items() if one is kernel]
    return sum(sum(one.dispatcher.stats.cache_hits.values()) for one in made)


def loads() -> int:
    """Call a new stand-in of the kernel, and return how often it was loaded."""
    kernel = jit.njit(weighed)
    assert kernel(3, 1.0) == 10.0
    return hits(kernel)


def test_what_is_stored_is_loaded(folder: Path) -> None:
    assert loads() == 1
    # Other types are another folder.
    assert jit.njit(weighed)(3.0, 1.0) == 10.0
    assert len(kept(folder)) == 2


def test_every_flipped_bit_is_found(folder: Path) -> None:
    seed = random.SystemRandom().randrange(2**32)
    chance = random.Random(seed)
    for file in 3 * files(folder):
        damaged = bytearray(file.read_bytes())
        damaged[chance.randrange(len(damaged))] ^= 1 << chance.randrange(8)
        file.write_bytes(damaged)
        assert loads() == 0, f"seed {seed}, {file.name}"
        # It was compiled anew, and stored in the place of what was damaged.
        assert loads() == 1, f"seed {seed}, {file.name}"


def test_a_kernel_under_the_name_of_another_is_found(folder: Path) -> None:
    """Both are intact, and taking one for the other ended the process."""
    [first] = kept(folder)
    assert jit.njit(weighed)(3.0, 1.0) == 10.0
    [second] = set(kept(folder)) - {first}
    shutil.rmtree(second)
    shutil.copytree(first, second)
    kernel = jit.njit(weighed)
    assert kernel(3.0, 1.0) == 10.0
    assert hits(kernel) == 0


def test_files_of_kernels_that_are_exchanged_are_found(folder: Path) -> None:
    assert jit.njit(weighed)(3.0, 1.0) == 10.0
    one, other = [path for path in files(folder) if path.suffix == ".nbc"]
    content = one.read_bytes()
    one.write_bytes(other.read_bytes())
    other.write_bytes(content)
    assert loads() == 0
    assert loads() == 1


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
    for file in [path for path in files(folder) if path.stat().st_size > length]:
        file.write_bytes(file.read_bytes()[:length])
        assert loads() == 0
        assert loads() == 1


def test_another_version_of_numba_is_another_file(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "_machine", lambda: ("3.99", "0.0"))
    assert loads() == 0
    assert len(kept(folder)) == 2


def test_no_room_for_kernels_is_no_failure(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "taken").touch()
    monkeypatch.setattr(jit, "folder", lambda: folder / "taken")
    assert loads() == 0


def test_parts_are_compiled_into_what_python_calls(folder: Path) -> None:
    part = jit.njit(weighed)

    def both(x: float) -> float:
        return part(x, 1.0) + part(x, 2.0)

    before = set(kept(folder))
    assert jit.njit(both)(3.0) == 21.0
    (kernel,) = [path for path in set(kept(folder)) - before if "both" in path.name]
    # The part is kept for what else it is linked into; the whole needs it no more.
    for path in set(kept(folder)) - before - {kernel}:
        shutil.rmtree(path)
    # A part can be called from Python all the same, as tests of parts do.
    assert part(3.0, 1.0) == 10.0
    # And a new process takes the whole from the folder.
    again = jit.njit(both)
    assert again(3.0) == 21.0
    assert hits(again) == 1


KERNELS = """
from typing import NamedTuple
from jouleloop.jit import machine, njit, record

@record
class Given(NamedTuple):
    x: float
    by: float

@njit
def part(x):
    return x + 1.0

@njit(apart=True)
def shared(given):
    return part(given.x) / given.by

@njit
def within(given):
    return shared(given)

@njit
def doubled(x):
    return 2.0 * part(x)

@njit
def third(given):
    return doubled(given.x) - given.by

@njit
def first(given):
    return 2.0 * within(given)

@njit
def second(given):
    return 3.0 * shared(given)

def loaded():
    made = machine._MADE.items()
    return sorted(k.name.split(".")[-1] for (k, _, _), m in made if m.dispatcher.stats.cache_hits)
"""


@pytest.fixture
def run_kernels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], str]:
    """Return what prints what some code prints in a process of its own, where the kernels above are called.

    It is forked from one that has loaded numba and none of them.
    """
    (tmp_path / "kernels_apart.py").write_text(KERNELS)
    script, printed = tmp_path / "script.py", tmp_path / "printed"
    server = multiprocessing.get_context("forkserver")
    monkeypatch.setenv("PYTHONPATH", f"{PACKAGE.parent}:{ROOT / 'tests'}")
    server.set_forkserver_preload(["loaded"])
    start = f"""
import os, sys
os.environ["NUMBA_CACHE_DIR"] = {str(tmp_path)!r}
sys.path.insert(0, {str(tmp_path)!r})
sys.stdout = open({str(printed)!r}, "w")
from kernels_apart import *
"""

    def run(code: str) -> str:
        script.write_text(start + code)
        process = server.Process(target=runpy.run_path, args=(str(script),))
        process.start()
        process.join()
        assert process.exitcode == 0
        return printed.read_text().strip()

    return run


def homes(tmp_path: Path) -> dict[str, Path]:
    """Return the folders of the kernels above, those that Python called behind others."""
    (home,) = tmp_path.glob("kernels-*")
    return {path.name.split("-")[0].split(".")[-1]: path for path in home.glob("kernels_apart*")}


def test_a_kernel_apart_is_compiled_once(tmp_path: Path, run_kernels: Callable[[str], str]) -> None:
    assert run_kernels("print(first(Given(3.0, 2.0)), second(Given(3.0, 2.0)))") == "4.0 6.0"
    # What is no kernel apart is in the others; the one that is has its own code, before Python ever calls it.
    assert sorted(homes(tmp_path)) == ["first", "part", "second", "shared", "within"]
    assert run_kernels("print(second(Given(3.0, 2.0)), loaded())") == "6.0 ['second', 'shared']"
    error = "try: first(Given(3.0, 0.0))\nexcept ZeroDivisionError: print('told')"
    assert run_kernels(error) == "told"
    assert run_kernels("print(shared(Given(3.0, 2.0)))") == "2.0"


@pytest.mark.parametrize("lost", ["removed", "damaged"])
def test_a_lost_kernel_apart_is_compiled_again(lost: str, tmp_path: Path, run_kernels: Callable[[str], str]) -> None:
    run_kernels("first(Given(3.0, 2.0))")
    shared = homes(tmp_path)["shared"]
    if lost == "removed":
        shutil.rmtree(shared)
    else:
        [code] = shared.rglob("*.nbc")
        code.write_bytes(code.read_bytes()[:-1])
    # Code that calls it is still loaded from its folder.
    assert run_kernels("print(first(Given(3.0, 2.0)), loaded())") == "4.0 ['first', 'part']"
    assert run_kernels("print(first(Given(3.0, 2.0)), loaded())") == "4.0 ['first', 'shared']"
    assert run_kernels("print(second(Given(5.0, 2.0)))") == "9.0"


@pytest.mark.parametrize("lost", ["removed", "damaged"])
def test_what_calls_a_lost_part_is_compiled_again(lost: str, tmp_path: Path, run_kernels: Callable[[str], str]) -> None:
    """Code of a part names the parts that it calls as they were: LLVM ends the process where it finds no such name."""
    third = "print(third(Given(3.0, 2.0)), loaded())"
    assert run_kernels(third) == "6.0 []"
    assert run_kernels(third) == "6.0 ['third']"
    shutil.rmtree(homes(tmp_path)["third"])
    assert run_kernels(third) == "6.0 ['doubled', 'part']"
    shutil.rmtree(homes(tmp_path)["third"])
    if lost == "removed":
        shutil.rmtree(homes(tmp_path)["part"])
    else:
        [code] = homes(tmp_path)["part"].rglob("*.nbc")
        code.write_bytes(code.read_bytes()[:-1])
    # What is compiled first gives the part another name.
    assert run_kernels(f"first(Given(3.0, 2.0)); {third}") == "6.0 []"
    shutil.rmtree(homes(tmp_path)["third"])
    assert run_kernels(third) == "6.0 ['doubled', 'part']"


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


@pytest.mark.usefixtures("folder")
def test_no_named_tuple_leaves_a_kernel() -> None:
    # numba makes it in Python, where a signal that waits strikes, and goes on with nothing in its place: a crash.
    def pair(x: float) -> tuple[int, Pair]:
        return 1, Pair(x, x)

    for _ in range(2):  # what is kept is refused as well
        with pytest.raises(TypeError, match="named tuple"):
            jit.njit(pair)(1.0)


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
    assert len([one for one, _, _ in machine._MADE if one is of_row]) == 1


def test_jit_uses_the_public_face_of_numba() -> None:
    text = "".join(path.read_text() for path in (PACKAGE / "jit").glob("*.py"))
    assert not re.findall(r"numba\.core|llvmlite|SLF001", text)
    assert "numba" in text


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


def test_without_a_home_kernels_lie_in_a_folder_that_ends_with_the_process(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    asked = "from jouleloop import jit; jit.folder(); print(jit.folder(), jit.folder().is_dir())"
    home = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "file" / "home"), "TMPDIR": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", asked], env=home, capture_output=True, text=True, check=True)
    place, was_there = done.stdout.split()
    assert Path(place).parent == tmp_path
    assert was_there == "True"
    assert not Path(place).exists()
    assert done.stderr.count("cannot be written, so this process compiles kernels") == 1
