"""Nests on grids of processors: results equal einsum, words counted by messages, never below the bound."""

import math

import numpy as np
import pytest

from jouleloop.errors import AssumptionError
from jouleloop.theory.loop_nest.closed_form import closed_form
from jouleloop.theory.loop_nest.execute_tiles import best_grid, least_touched_words, random_inputs, run_grid
from jouleloop.theory.loop_nest.read import from_einsum
from jouleloop.theory.loop_nest.tables import processors_table

NESTS = (
    ("ik,kj->ij", {"i": 6, "k": 9, "j": 4}),
    ("abc,cd->abd", {"a": 3, "b": 4, "c": 5, "d": 6}),
    ("a,b->a", {"a": 12, "b": 10}),
    ("xyp,yzq,xzr->xyz", {"x": 4, "y": 4, "z": 4, "p": 3, "q": 2, "r": 3}),
)


@pytest.mark.parametrize(("text", "bounds"), NESTS)
@pytest.mark.parametrize("processors", [1, 2, 4, 6])
def test_every_grid_computes_the_nest_and_touches_no_less_than_the_bound(
    text: str, bounds: dict[str, int], processors: int
) -> None:
    nest = from_einsum(text, bounds)
    inputs = random_inputs(nest)
    expected = np.einsum(text, *inputs)
    least = least_touched_words(closed_form(nest), math.ceil(nest.operations / processors))
    grid = best_grid(nest, processors)
    for tried in {grid, (processors, *(1,) * (len(bounds) - 1)) if processors <= nest.bounds[0] else grid}:
        done = run_grid(nest, tried, inputs)
        assert np.array_equal(done.results[0], expected)
        assert sum(done.operations) == nest.operations
        assert max(done.touched_words) >= least * (1 - 1e-12)
        # Every word has one owner, so that what is touched and not moved adds up to the arrays.
        assert sum(done.touched_words) - sum(done.moved_words) == sum(nest.array_sizes_words)
    assert max(run_grid(nest, grid, inputs).touched_words) == min(
        max(run_grid(nest, one, inputs).touched_words)
        for one in np.ndindex(*(processors + 1,) * len(bounds))
        if math.prod(one) == processors and all(p <= size for p, size in zip(one, nest.bounds, strict=True))
    )


def test_blocks_of_matrix_multiplication_are_cubes_where_they_can_be() -> None:
    nest = from_einsum("ik,kj->ij", {"i": 12, "k": 12, "j": 12})
    assert best_grid(nest, 8) == (2, 2, 2)
    done = run_grid(nest, (2, 2, 2), random_inputs(nest))
    assert set(done.touched_words) == {3 * 36} == {round(least_touched_words(closed_form(nest), 6**3))}
    assert set(done.moved_words) == {3 * 18}  # half of every block is another processor's


def test_the_table_of_examples_is_near_the_bound() -> None:
    table = processors_table((4, 16))
    assert table["touched_over_least"].between(1, 1.13).all()


def test_what_is_no_grid_is_refused() -> None:
    nest = from_einsum("ik,kj->ij", {"i": 2, "k": 2, "j": 2})
    with pytest.raises(AssumptionError, match="no grid of processors"):
        best_grid(nest, 7)
