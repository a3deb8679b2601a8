"""Tests that kernels read records as Python does, and count references as Python does."""

import sys
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from numba.core.errors import TypingError

from jouleloop import jit
from jouleloop.jit import machine, njit, record


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep what is compiled here for one test."""
    monkeypatch.setattr(jit, "folder", lambda: tmp_path)


@record
class Leaf(NamedTuple):
    """Two arrays and a number."""

    row: Any
    weight: Any
    scale: float


@record
class Step(NamedTuple):
    """Two numbers."""

    up: float
    down: float


@record
class Tree(NamedTuple):
    """Records in a record."""

    left: Leaf
    right: Leaf
    order: Any
    step: Step


@njit
def read(leaf: Leaf, i: int) -> float:
    """Read fields, and write to an array that another field may be."""
    leaf.weight[i] += 1.0
    return float(leaf.row[i] * leaf.weight[i] * leaf.scale)


@njit
def read_both(tree: Tree, i: int) -> float:
    """Hand on parts of a record."""
    return read(tree.left, i) - 2.0 * read(tree.right, int(tree.order[i]))


@njit
def chosen(tree: Tree, i: int) -> float:
    """Hand on one of two parts."""
    leaf = tree.left if i % 2 else tree.right
    return read(leaf, i)


def handed_on(tree: Tree, count: int) -> float:
    """Hand on what was given."""
    total = 0.0
    for i in range(count):
        total += read_both(tree, i) + chosen(tree, i)
    return total


def decided(tree: Tree, count: int) -> float:
    """Read one of two records, and a record in a record."""
    total = 0.0
    for i in range(count):
        leaf = tree.left if i % 2 else tree.right
        total += tree.step.up * leaf.row[i] + tree.step.down
    return total


def made(tree: Tree, count: int) -> float:
    """Make arrays of a record's, and read a part of the last."""
    found = tree.left.row
    for i in range(count):
        if i % 2:
            found = found + tree.right.row
        read(tree.left, i)
    return float(found[1:].sum() + found[0])


def a_tree() -> Tree:
    """Return a record of records."""
    draw = np.random.default_rng(5)
    shared, order = draw.random(6), draw.permutation(6)
    return Tree(Leaf(draw.random(6), shared, 0.5), Leaf(shared, draw.random(6), 1.5), order, Step(0.25, 3.0))


def in_python(function: Any) -> Any:
    """Return a function of this module that calls those of Python."""
    names = dict(function.__globals__)
    for name in ("read", "read_both", "chosen"):
        plain = names[name].__wrapped__
        names[name] = type(plain)(plain.__code__, names)
    return type(function)(function.__code__, names)


@pytest.mark.parametrize("function", [handed_on, decided, made])
def test_kernels_compute_what_python_does(function: Any) -> None:
    given, compared = a_tree(), a_tree()
    np.testing.assert_array_equal(njit(function)(given, 6), in_python(function)(compared, 6))
    for one, other in zip((*given.left, *given.right), (*compared.left, *compared.right), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("function", [handed_on, decided, made])
def test_no_reference_is_kept_or_lost(function: Any) -> None:
    tree, compiled = a_tree(), njit(function)
    arrays = [*tree.left[:2], *tree.right[:2], tree.order]
    compiled(tree, 6)
    before = [sys.getrefcount(one) for one in arrays]
    for _ in range(5):
        compiled(tree, 6)
    assert [sys.getrefcount(one) for one in arrays] == before


def test_a_slice_that_does_not_fit_is_refused() -> None:
    def write(tree: Tree, count: int) -> None:
        tree.left.row[:count] = tree.right.row

    with pytest.raises(ValueError, match="cannot assign slice"):
        njit(write)(a_tree(), 3)


def test_a_record_goes_as_one_address() -> None:
    given = njit(decided)
    given(a_tree(), 3)
    [kinds] = [kinds for one, kinds, _ in machine._MADE if one is given]
    assert [type(one).__name__ for one in kinds] == ["RecordType", "Integer"]


def test_no_array_of_a_record_leaves_a_kernel() -> None:
    # Nothing would hold what it shows: a kernel counts no references to what a record holds.
    def last(tree: Tree, i: int) -> Any:
        return 1, tree.left.row[i:]

    with pytest.raises(TypeError, match="array of a record"):
        njit(last)(a_tree(), 4)


def test_a_field_that_is_no_field_is_refused() -> None:
    def lost(tree: Tree) -> Any:
        return tree.right.no_such_field

    with pytest.raises(TypingError, match="no_such_field"):
        njit(lost)(a_tree())


def kinds_of(kernel: Any) -> list[str]:
    """Return the names of the types that Python called a kernel with."""
    return [type(kinds[0]).__name__ for one, kinds, from_python in machine._MADE if one is kernel and from_python]


def test_an_array_that_python_holds_is_lent() -> None:
    def total(table: Any, i: int) -> float:
        row = table[i] if i else np.ones(4)
        return float(row.sum())

    table, kernel = np.arange(8.0).reshape(2, 4), njit(total)
    before = sys.getrefcount(table)
    assert [kernel(table, 1), kernel(table, 0)] == [22.0, 4.0]
    assert kinds_of(kernel) == ["LentArray"]
    assert sys.getrefcount(table) == before


def test_an_array_that_leaves_a_kernel_is_held() -> None:
    def last(table: Any, i: int) -> Any:
        return table[i:]

    table, kernel = np.arange(8.0).reshape(2, 4), njit(last)
    before = sys.getrefcount(table)
    part = kernel(table, 1)
    assert sys.getrefcount(table) == before + 1
    np.testing.assert_array_equal(part, table[1:])
    assert kinds_of(kernel) == ["Array"]
    # The next process loads it, and compiles nothing before.
    again = njit(last)
    again(table, 1)
    assert kinds_of(again) == ["Array"]
    [made] = [made for (one, _, _), made in machine._MADE.items() if one is again]
    assert made.dispatcher.stats.cache_hits
