"""The largest buffer that helps: closed forms against curves."""

import random
from dataclasses import replace

import pytest

from asked import question
from jouleloop.api.layers import problem_of
from jouleloop.curves.largest import Axis, largest_of_convolution, largest_of_product, largest_words
from jouleloop.curves.staircase import Limits, Step, walk
from jouleloop.errors import AssumptionError


def by_depth_of(sizes: tuple[int, int, int]) -> int:
    """The smallest operand, its smallest rank and one word, as Orojenesis states (ISCA 2024, Section IV).

    There each operand's words may be held from a loop of their own on; no single tile is cut.
    """
    least, middle, _ = sorted(sizes)
    return least * middle + least + 1


def top_step(layer: str) -> Step:
    return walk(question(layer), Limits(steps=1)).steps[0]


@pytest.mark.parametrize(
    ("sizes", "timeloop", "by_depth"),
    [((8, 12, 16), 116, 105), ((16, 16, 16), 288, 273), ((6, 20, 30), 146, 127), ((2048,) * 3, 4_198_400, 4_196_353)],
)
def test_products_of_the_table(sizes: tuple[int, int, int], timeloop: int, by_depth: int) -> None:
    assert largest_of_product(*sizes) == timeloop
    assert by_depth_of(sizes) == by_depth
    step = top_step(f"matmul:M{sizes[0]}xK{sizes[1]}xN{sizes[2]}")
    assert step.proven
    assert step.words == timeloop


def drawn(count: int) -> list[str]:
    rng = random.Random(40)
    layers = []
    for _ in range(count):
        sizes = dict(zip("CMPQRS", rng.choices((1, 2, 3, 4, 6), k=6), strict=True))
        text = "x".join(f"{name}{size}" for name, size in sizes.items())
        layers.append(
            f"conv:{text}" + rng.choice(("", "/stride2", "/dilation2", "/stride3")) + rng.choice(("", "/batch2"))
        )
        layers.append("matmul:" + "x".join(f"{name}{rng.choice((1, 2, 3, 5, 8))}" for name in "MNK"))
    return layers


def test_random_layers() -> None:
    asked = {layer: largest_words(problem_of(layer)) for layer in drawn(40)}
    known = {layer: words for layer, words in asked.items() if words is not None}
    assert len(known) > 35
    assert {layer: top_step(layer).words for layer in known} == known
    assert all(top_step(layer).proven for layer in known)


@pytest.mark.parametrize("factors", ["perfect", "imperfect"])
def test_loops_that_end_early_need_as_much(factors: str) -> None:
    asked = question("matmul:M7xK5xN6")
    target = replace(asked.target, constraints=replace(asked.target.constraints, factors=factors))
    curve = walk(replace(asked, target=target), Limits())
    assert curve.proven
    assert curve.steps[-1].words == largest_of_product(7, 5, 6)


def test_a_convolution_by_hand() -> None:
    """64 x 64 channels, 56 x 56 outputs, 3 x 3: the weights, three rows of inputs and one of outputs."""
    axis = Axis(56, 3)
    assert largest_of_convolution(1, 64, 64, (axis, axis)) == 9 * 64 * 64 + 64 * 3 * 58 + 64 * 56


def test_windows_that_do_not_overlap_may_both_run_outside() -> None:
    both, one = Axis(8, 2, stride=2), Axis(8, 3, stride=2)
    assert largest_of_convolution(1, 4, 4, (both, both)) == 64 + 4 * 4 + 4
    assert largest_of_convolution(1, 4, 4, (both, one)) == 96 + 4 * 6 + 4
    assert largest_of_convolution(1, 4, 4, (one, one)) == 144 + 4 * 3 * 17 + 4 * 8


def test_what_the_theorems_do_not_speak_of() -> None:
    with pytest.raises(AssumptionError, match="at a size of 1"):
        largest_of_product(1, 4, 4)
    with pytest.raises(AssumptionError, match="leave input words out"):
        largest_of_convolution(1, 4, 4, (Axis(4, 1, stride=2), Axis(4, 1)))
    assert largest_words(problem_of("conv:C4xM4xP4xQ4xR1xS1/stride2")) is None
    assert largest_words(problem_of("conv:C4xM4xP4xQ4xR3xS3/groups2")) is None
