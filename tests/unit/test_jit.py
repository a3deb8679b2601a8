"""Compiled kernels: what is stored is loaded, what is damaged is compiled anew."""

import random
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from jouleloop import jit, signals


def weighed(x: float, y: float) -> float:
    """Return something that a wrong constant would show."""
    return 3.0 * x + y if x > 2 else y


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(jit, "folder", lambda: tmp_path)
    assert jit.njit(weighed)(3, 1.0) == 10.0
    return tmp_path


def stored(folder: Path) -> Path:
    (file,) = folder.iterdir()
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
    assert len(list(folder.iterdir())) == 2


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


@pytest.mark.parametrize("length", [0, 16, 32, 500])
def test_a_file_that_ends_early_is_found(folder: Path, length: int) -> None:
    file = stored(folder)
    file.write_bytes(file.read_bytes()[:length])
    assert loads() == 0
    assert loads() == 1


def test_another_version_of_numba_is_another_file(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("numba.__version__", "0.0")
    assert loads() == 0
    assert len(list(folder.iterdir())) == 2


def test_no_room_for_kernels_is_no_failure(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jit, "folder", lambda: folder / "missing")
    assert loads() == 0


def test_parts_are_compiled_into_what_python_calls(folder: Path) -> None:
    part = jit.njit(weighed)

    def both(x: float) -> float:
        return part(x, 1.0) + part(x, 2.0)

    before = set(folder.iterdir())
    assert jit.njit(both)(3.0) == 21.0
    (kernel,) = set(folder.iterdir()) - before
    assert "both" in kernel.name
    # A part can be called from Python all the same, as tests of parts do.
    assert part(3.0, 1.0) == 10.0
    # And a new process takes the whole from the file.
    again = jit.njit(both)
    assert again(3.0) == 21.0
    assert sum(again.made().stats.cache_hits.values()) == 1  # type: ignore[attr-defined]


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
    assert len(list(folder.iterdir())) == 1


def test_a_signal_that_strikes_while_a_kernel_returns() -> None:
    # Without `struck` the interrupt is a SystemError; made by hand, since a test may not depend on when a signal comes.
    inner = SystemError("returned a result with an exception set")
    inner.__cause__ = KeyboardInterrupt()
    outer = SystemError("returned a result with an exception set")
    outer.__cause__ = inner
    assert isinstance(signals.struck(outer), KeyboardInterrupt)
    alone = SystemError("something else")
    assert signals.struck(alone) is alone
