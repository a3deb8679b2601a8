"""Tests that the code which is written for variables, arrays and calls computes what Python does."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from numba.core.runtime import _nrt_python, rtsys

from jouleloop import jit
from jouleloop.jit import machine, njit
from shares import slow_after


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep what is compiled here for one test."""
    monkeypatch.setattr(jit, "folder", lambda: tmp_path)


def items(table: Any, row: Any, i: int, j: int) -> float:
    """Read and write items by numbers of either sign."""
    table[i, j] = table[-1, j] + row[i - 3]
    table[i][j - 1] += row[-2]
    row[i] = table[j, -1]
    for k in range(-2, 2):
        row[k] += table[k, k]
    return float(table[i, j] * row[j])


def parts(box: Any, i: int) -> float:
    """Read parts of an array, and items of the parts."""
    layer = box[i]
    line = box[i, -1]
    line[0] = 7.0
    layer[1, 1] = line[2]
    return float(layer[1].sum() + line.shape[0] + layer.size + box[:, 0, 1].sum() + layer[0, 1:3].sum())


def steps(n: int, step: int) -> int:
    """Count through ranges, none of them and all of their items."""
    total = 0
    for a in range(n):
        for b in range(a, n, 2):
            for c in range(b, -1, -1):
                total = total * 3 % 1000003 + c - b
    for d in range(n, 1):
        total += d
    for e in range(0, 2 * n, step):
        total -= e
    last = 0
    for last in range(n):
        if last == 3:
            break
    return total + 1000 * last


def branches(numbers: Any, limit: int) -> int:
    """Assign in some branches, in loops, and after them."""
    best = -1
    for i in range(len(numbers)):
        now = numbers[i]
        if now > limit:
            double = 2 * now
            if best < 0 or double < best:
                best, limit = double, limit + 1
        elif now == limit:
            now += 1
            best = best + now
    while best > 100:
        half = best // 2
        best = half - 1
    return best + limit


def filled(table: Any, value: float) -> float:
    """Give all items one value, and some of them another."""
    table[:] = value
    flags = np.ones((2, 3), np.bool_)
    flags[:] = False
    table[1:, 0] = 2
    row = table[0]
    row[:] = 3
    return float(table.sum()) + flags.sum()


def copied(table: Any, row: Any, small: Any) -> float:
    """Give arrays, and parts of them, the items of others: that overlap, of other types, of one item for all."""
    table[1] = row
    table[2, 1][:] = table[2, 0]
    table[0][:] = table[1]
    table[:-1] = table[1:]
    flat = row.copy()
    flat[1:] = row[:-1]
    row[:] = flat
    row[:] = small
    whole = np.zeros_like(table)
    whole[:] = table
    return float(whole.sum() + flat[0, 0])


def moved(row: Any, n: int) -> float:
    """Copy parts of one array that overlap, both ways."""
    both = row.reshape((2, -1))
    both[0] = row[n : n + both.shape[1]]
    both[1] = row[:-n][: both.shape[1]]
    return float(both[0, 0])


def divided(numbers: Any, by: Any) -> int:
    """Divide numbers of either sign by others, and by constants."""
    total = 0
    for i in range(numbers.shape[0]):
        n = numbers[i]
        for j in range(by.shape[0]):
            total = 3 * total + 100 * (n // by[j]) + n % by[j]
        total += 7 * (n // 4) + 11 * (n % 4) + 13 * (n // -3) + 17 * (n % -3)
        n //= 5
        total += n
        n %= 3
        total = (total + n) % 1000003
    return total


def mixed(flags: Any, numbers: Any) -> float:
    """Calculate with numbers of several types, some of them constant."""
    total = 0.0
    for i in range(flags.shape[0]):
        total += flags[i] * 2 + (numbers[i] - 1) ** 2 + 2**i + numbers[i] / 4 + numbers[i] // 0.3 + numbers[i] % 0.7
        if (flags[i] & (numbers[i] > 2)) | (i >= 3 != flags[i]):
            total -= (int(numbers[i]) << 2) ^ 5
    return total


class Box(NamedTuple):
    """Arrays that are handed over together."""

    rows: Any
    line: Any


def lent(box: Box, n: int) -> Any:
    """Make arrays beside parts of an argument, which are kept, swapped, written to and returned."""
    rows, made = box.rows, np.zeros(3)
    row = rows[0]
    for i in range(n):
        part = rows[i]
        made[i] = part[i]
        row = part if i % 2 else made
        box.line[i] += row.sum() + rows[1:, i].sum()
    return (box.line if n > 1 else row), made, rows[n - 1]


def misfit(table: Any, row: Any) -> None:
    """Assign a row that does not fit."""
    table[1] = row


@njit
def share(row: Any, of: int) -> float:
    """Divide, and fail with a zero."""
    return float(row[0] // of)


@njit
def shares(table: Any, of: int) -> float:
    """Hand on parts, and what fails."""
    total = 0.0
    for i in range(table.shape[0]):
        total += share(table[i], of)
    return total


@njit
def longest(table: Any) -> Any:
    """Return a part of an array that is made here."""
    doubled = table * 2
    return doubled[1]


CALLS = [
    (items, lambda: (np.arange(12.0).reshape(3, 4), np.arange(5.0), 2, 1)),
    (items, lambda: (np.arange(24.0).reshape(4, 6)[:, ::2], np.arange(10.0)[::2], 1, 2)),
    (items, lambda: (np.asfortranarray(np.arange(12).reshape(3, 4)), np.arange(5.0), 2, 1)),
    (parts, lambda: (np.arange(24.0).reshape(2, 3, 4), 1)),
    (parts, lambda: (np.arange(24, dtype=np.int16).reshape(2, 3, 4), -1)),
    (steps, lambda: (7, 3)),
    (steps, lambda: (2, 1)),
    (branches, lambda: (np.array([3, 9, 4, 4, 5, 12, 1, 200]), 4)),
    (branches, lambda: (np.array([400, 900]), 4)),
    (filled, lambda: (np.zeros((3, 4)), 1.5)),
    (filled, lambda: (np.zeros((3, 4), np.int64), 4)),
    (copied, lambda: (np.arange(24.0).reshape(4, 3, 2), np.ones((3, 2)), np.arange(6).reshape(3, 2))),
    (divided, lambda: (np.arange(-9, 10), np.array([1, 2, 3, 5, -1, -2, -7]))),
    (divided, lambda: (np.arange(-9, 10, dtype=np.int32), np.array([2, -3], np.int32))),
    (mixed, lambda: (np.array([True, False, True, False, True]), np.arange(5.0))),
    (moved, lambda: (np.arange(10.0), 2)),
    (moved, lambda: (np.arange(12), 1)),
    # These take a second each to compile.
    (copied, lambda: (np.arange(24).reshape(4, 3, 2), np.ones((3, 2), np.int64), np.full((3, 1), 4, np.int32))),
    (copied, lambda: (np.arange(48.0).reshape(4, 3, 4)[:, :, ::2], np.ones((3, 2)), np.ones((1, 2), np.int16))),
]


@pytest.mark.parametrize(
    ("function", "given"), slow_after(len(CALLS) - 2, CALLS), ids=lambda one: getattr(one, "__name__", "")
)
def test_same_as_python(
    function: Callable[..., Any], given: Callable[[], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A kernel returns what the function does, writes the same to arrays, and is compiled once."""
    times = []
    compiling = machine._compile
    monkeypatch.setattr(machine, "_compile", lambda *a: (times.append(1), compiling(*a))[1])
    ours, theirs = given(), given()
    assert njit(function)(*ours) == function(*theirs)
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(a, b)
    assert times == [1]


def test_what_fails_is_told() -> None:
    """An error passes through all functions between it and Python."""
    table = np.arange(6.0).reshape(2, 3)
    assert shares(table, 2) == 0.0 + 1.0
    with pytest.raises(ZeroDivisionError):
        shares(table, 0)


def test_rest_of_nothing_is_told() -> None:
    """Quotient and rest of whole numbers need a divisor."""
    for numbers in (np.arange(3), np.arange(3, dtype=np.int32)):
        with pytest.raises(ZeroDivisionError):
            njit(divided)(numbers, np.zeros(1, numbers.dtype))


@pytest.mark.parametrize("n", [1, 2, 3])
def test_what_is_lent_is_held_and_let_go(n: int) -> None:
    """Arrays of an argument are held while a part of them is in use, and no longer; all that is made is freed."""

    def box() -> Box:
        return Box(np.arange(9.0).reshape(3, 3), np.ones(3))

    _nrt_python.memsys_enable_stats()
    made, given, expected = njit(lent), box(), lent(box(), n)
    held, before = [sys.getrefcount(one) for one in given], rtsys.get_allocation_stats()
    found = made(given, n)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)
    kept = [one.copy() for one in found]
    del one, given
    for one, other in zip(found, kept, strict=True):
        np.testing.assert_array_equal(one, other)
    del one, found, other
    given = box()
    for _ in range(10):
        made(given, n)
    after = rtsys.get_allocation_stats()
    assert [sys.getrefcount(one) for one in given] == held
    assert after.alloc - before.alloc == after.free - before.free
    assert after.mi_alloc - before.mi_alloc == after.mi_free - before.mi_free


@pytest.mark.parametrize("length", [2, 4])
def test_an_array_that_does_not_fit_is_told(length: int) -> None:
    """Nothing is written past the end of a row."""
    table = np.arange(6.0).reshape(2, 3)
    with pytest.raises(ValueError, match="cannot assign slice"):
        njit(misfit)(table, np.zeros(length))
    np.testing.assert_array_equal(table, np.arange(6.0).reshape(2, 3))


def test_part_outlives_its_array() -> None:
    """A part that is returned holds the array."""
    table = np.arange(6.0).reshape(2, 3)
    for _ in range(100):
        np.testing.assert_array_equal(longest(table), [6.0, 8.0, 10.0])
