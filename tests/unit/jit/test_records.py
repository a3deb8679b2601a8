"""Tests that kernels without copies of records compute what Python does, and count references as Python does."""

import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
from llvmlite import ir

from jouleloop.jit.machine import make
from jouleloop.jit.records import mark, without_copies


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


UNIT = Step(1.0, 0.0)


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


def rebuilt(tree: Tree, count: int) -> float:
    """Make records in a loop, and read the last but one beside the last."""
    leaf = tree.left
    total = 0.0
    for i in range(count):
        old = leaf
        leaf = Leaf(leaf.weight, leaf.row, leaf.scale + i)
        total += read(old, i) + 3.0 * read(leaf, i)
        if i % 3 == 2:
            leaf = tree.right
    return total


def decided(tree: Tree, count: int) -> float:
    """Read a record that was given, or one that is a constant."""
    total = 0.0
    for i in range(count):
        step = tree.step if i % 2 else UNIT
        total += step.up * tree.left.row[i] + step.down
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


@pytest.mark.parametrize("function", [handed_on, rebuilt, decided, made])
def test_kernels_compute_what_python_does(function: Any) -> None:
    given, compared = a_tree(), a_tree()
    np.testing.assert_array_equal(kernel(function)(given, 6), in_python(function)(compared, 6))
    for one, other in zip((*given.left, *given.right), (*compared.left, *compared.right), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("function", [handed_on, rebuilt, decided, made])
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

    with pytest.raises(ValueError, match="does not fit"):
        kernel(write)(a_tree(), 3)


@pytest.fixture
def handing_on() -> Any:
    """Return a module in which a function loads its argument, stores a copy, and calls another with the copy."""
    number, record = ir.DoubleType(), ir.LiteralStructType([ir.DoubleType(), ir.IntType(64)])
    module = ir.Module()
    kind = ir.FunctionType(number, [record.as_pointer()])
    called, function = ir.Function(module, kind, "called"), ir.Function(module, kind, "function")
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    copy = mark(builder.alloca(record))
    builder.store(record(None), copy)
    whole = builder.load(mark(function.args[0]))
    builder.store(whole, copy)
    builder.ret(builder.fadd(builder.extract_value(whole, 0), builder.call(called, [copy])))
    return module


def test_what_was_given_is_handed_on_without_a_copy(handing_on: Any) -> None:
    without_copies(handing_on)
    left = [one.opname for one in handing_on.get_global("function").blocks[0].instructions]
    assert left == ["getelementptr", "load", "call", "fadd", "ret"]


def test_a_copy_that_is_changed_stays(handing_on: Any) -> None:
    function = handing_on.get_global("function")
    copy = next(one for one in function.blocks[0].instructions if one.opname == "alloca")
    builder = ir.IRBuilder(function.blocks[0])
    builder.position_before(function.blocks[0].terminator)
    builder.store(builder.insert_value(builder.load(copy), ir.DoubleType()(1.0), 0), copy)
    without_copies(handing_on)
    call = next(one for one in function.blocks[0].instructions if one.opname == "call")
    assert call.args[0] is copy
