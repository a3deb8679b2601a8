"""Tests that kernels read records as Python does, and count references as Python does."""

import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
from numba.core.errors import TypingError

from jouleloop.jit.machine import make
from jouleloop.jit.records import register


class Leaf(NamedTuple):
    """Two arrays and a number."""

    row: Any
    weight: Any
    scale: float


class Step(NamedTuple):
    """Two numbers."""

    up: float
    down: float


class Tree(NamedTuple):
    """Records in a record."""

    left: Leaf
    right: Leaf
    order: Any
    step: Step


for one in (Leaf, Step, Tree):
    register(one)


def kernel(function: Callable[..., Any]) -> Any:
    """Return a kernel that is not kept."""
    return make(function, {}, kept=False)


@kernel
def read(leaf: Leaf, i: int) -> float:
    """Read fields, and write to an array that another field may be."""
    leaf.weight[i] += 1.0
    return float(leaf.row[i] * leaf.weight[i] * leaf.scale)


@kernel
def read_both(tree: Tree, i: int) -> float:
    """Hand on parts of a record."""
    return read(tree.left, i) - 2.0 * read(tree.right, int(tree.order[i]))


@kernel
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


def made(tree: Tree, count: int) -> Any:
    """Return an array that is made of a record's."""
    found = tree.left.row
    for i in range(count):
        if i % 2:
            found = found + tree.right.row
        read(tree.left, i)
    return found[1:]


def a_tree() -> Tree:
    """Return a record of records."""
    draw = np.random.default_rng(5)
    shared, order = draw.random(6), draw.permutation(6)
    return Tree(Leaf(draw.random(6), shared, 0.5), Leaf(shared, draw.random(6), 1.5), order, Step(0.25, 3.0))


def in_python(function: Any) -> Any:
    """Return a function of this module that calls those of Python."""
    names = dict(function.__globals__)
    for name in ("read", "read_both", "chosen"):
        plain = names[name].py_func
        names[name] = type(plain)(plain.__code__, names)
    return type(function)(function.__code__, names)


@pytest.mark.parametrize("function", [handed_on, decided, made])
def test_kernels_compute_what_python_does(function: Any) -> None:
    given, compared = a_tree(), a_tree()
    np.testing.assert_array_equal(kernel(function)(given, 6), in_python(function)(compared, 6))
    for one, other in zip((*given.left, *given.right), (*compared.left, *compared.right), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("function", [handed_on, decided, made])
def test_no_reference_is_kept_or_lost(function: Any) -> None:
    tree, compiled = a_tree(), kernel(function)
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
        kernel(write)(a_tree(), 3)


def test_a_record_goes_as_one_address() -> None:
    given = kernel(decided)
    given(a_tree(), 3)
    [signature] = given.signatures
    assert [type(one).__name__ for one in signature] == ["RecordType", "Integer"]


def test_an_array_that_is_returned_outlives_its_record() -> None:
    def last(tree: Tree, i: int) -> Any:
        return tree.left.row[i:]

    found = kernel(last)(a_tree(), 4)
    noise = [np.full(6, 7.0) for _ in range(100)]
    np.testing.assert_array_equal(found, a_tree().left.row[4:])
    assert len(noise) == 100


def test_a_field_that_is_no_field_is_refused() -> None:
    def lost(tree: Tree) -> Any:
        return tree.right.no_such_field

    with pytest.raises(TypingError, match="no_such_field"):
        kernel(lost)(a_tree())
