"""Every route to the tile exponent of paper 004 gives the same number, on random nests with exact log-bounds."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from jouleloop.theory.loop_nest.closed_form import closed_form, theorem_2
from jouleloop.theory.loop_nest.nest import LoopNest, from_supports
from jouleloop.theory.loop_nest.programs import hbl, tile_at
from jouleloop.theory.simplex import Scale


@st.composite
def nests(draw: st.DrawFn, most_loops: int = 6, most_arrays: int = 5) -> LoopNest:
    loops = draw(st.integers(1, most_loops))
    arrays = draw(st.integers(1, most_arrays))
    supports = [draw(st.sets(st.integers(0, loops - 1))) for _ in range(arrays)]
    for loop in range(loops):
        if not any(loop in support for support in supports):
            supports[draw(st.integers(0, arrays - 1))].add(loop)
    return from_supports(
        tuple(f"x{i}" for i in range(loops)),
        (),
        tuple(f"A{j}" for j in range(arrays)),
        tuple(tuple(sorted(support)) for support in supports),
    )


exponents = st.fractions(0, 2, max_denominator=12)


def incidence(nest: LoopNest) -> np.ndarray:
    return np.array([[loop in support for loop in range(len(nest.loops))] for support in nest.supports], dtype=float)


@given(nests(), st.data())
@settings(max_examples=50, deadline=None)
def test_lp_dual_closed_form_and_theorem_2_agree_exactly(nest: LoopNest, data: st.DataObject) -> None:
    compare(nest, data)


@pytest.mark.slow
@given(nests(), st.data())
@settings(max_examples=100, deadline=None)
def test_they_agree_on_more_nests(nest: LoopNest, data: st.DataObject) -> None:
    compare(nest, data)


def compare(nest: LoopNest, data: st.DataObject) -> None:
    scale = Scale(exponents=tuple(data.draw(exponents) for _ in nest.loops))
    solution = tile_at(nest, scale)
    value = scale.exact(solution.exponent)
    # The primal point is feasible and the dual point is feasible with the same objective: that proves the optimum.
    sides = [scale.exact(side) for side in solution.tile_exponents]
    assert sum(sides) == value
    assert all(0 <= side <= beta for side, beta in zip(sides, scale.exponents, strict=True))
    assert all(sum(sides[loop] for loop in support) <= 1 for support in nest.supports)
    for loop in range(len(nest.loops)):
        assert solution.loop_weights[loop] + sum(solution.array_weights[a] for a in nest.users(loop)) >= 1
    # Theorem 2 by subsets and by pieces, from the enumerated vertices.
    assert scale.exact(closed_form(nest).least(scale).form) == value
    assert scale.exact(theorem_2(nest, scale)[0]) == value
    # The formula as displayed is an upper bound, not always the least.
    assert scale.exact(theorem_2(nest, scale, as_displayed=True)[0]) >= value


@given(nests(), st.data())
@settings(max_examples=60, deadline=None)
def test_agrees_with_an_independent_solver(nest: LoopNest, data: st.DataObject) -> None:
    scale = Scale(exponents=tuple(data.draw(exponents) for _ in nest.loops))
    matrix = incidence(nest)
    bounds = [(0, float(beta)) for beta in scale.exponents]
    answer = linprog(-np.ones(len(nest.loops)), A_ub=matrix, b_ub=np.ones(len(matrix)), bounds=bounds)
    assert -answer.fun == pytest.approx(scale.value(tile_at(nest, scale).exponent), abs=1e-9)
    large = linprog(np.ones(len(matrix)), A_ub=-matrix.T, b_ub=-np.ones(len(nest.loops)), bounds=(0, None))
    assert large.fun == pytest.approx(float(hbl(nest).value), abs=1e-9)


@given(nests(most_loops=4, most_arrays=4), st.data())
@settings(max_examples=25, deadline=None)
def test_the_2_to_the_d_formula_term_by_term(nest: LoopNest, data: st.DataObject) -> None:
    """Every subset 𝒬 literally: an LP a subset, with ζ_j = max(0, 1 − Σ ŝ) for j in 𝒬."""
    scale = Scale(exponents=tuple(data.draw(exponents) for _ in nest.loops))
    loops, arrays = len(nest.loops), len(nest.arrays)
    matrix = incidence(nest)
    least = np.inf
    for small in itertools.product((False, True), repeat=loops):
        betas = [float(beta) * within for beta, within in zip(scale.exponents, small, strict=True)]
        costs = np.concatenate([np.ones(arrays), betas])
        help_columns = np.diag([1.0 if q else 0.0 for q in small])
        answer = linprog(
            costs, A_ub=-np.hstack([matrix.T, help_columns]), b_ub=-np.ones(loops), bounds=(0, None), method="highs"
        )
        least = min(least, answer.fun)
    assert scale.value(theorem_2(nest, scale)[0]) == pytest.approx(least, abs=1e-9)


@given(nests(most_loops=5, most_arrays=4), st.data())
@settings(max_examples=60, deadline=None)
def test_every_tile_of_the_family_is_optimal_and_mixtures_too(nest: LoopNest, data: st.DataObject) -> None:
    cache = data.draw(st.sampled_from([2, 7, 64, 1000, 2**16]))
    values = {name: data.draw(st.sampled_from([1, 2, 3, 8, 49, 64, 1000, 10**6])) for name in nest.loops}
    nest = nest.with_bounds(values)
    solution = tile_at(nest, Scale(cache, nest.bounds))
    scale = solution.scale
    points = [[scale.value(side) for side in vertex] for vertex in solution.family]
    points.append([sum(column) / len(points) for column in zip(*points, strict=True)])
    for point in points:
        assert sum(point) == pytest.approx(scale.value(solution.exponent), abs=1e-9)
        assert all(-1e-9 <= side <= beta + 1e-9 for side, beta in zip(point, scale.values[1:], strict=True))
        assert all(sum(point[loop] for loop in support) <= 1 + 1e-9 for support in nest.supports)


@given(nests(most_loops=4, most_arrays=3), st.data())
@settings(max_examples=30, deadline=None)
def test_the_family_is_the_whole_optimal_face(nest: LoopNest, data: st.DataObject) -> None:
    """The largest and the least of random directions over the optimal face, by an LP, are reached at its vertices."""
    scale = Scale(exponents=tuple(data.draw(exponents) for _ in nest.loops))
    solution = tile_at(nest, scale)
    assert solution.family_complete
    matrix = incidence(nest)
    direction = np.array([data.draw(st.integers(-3, 3)) for _ in nest.loops], dtype=float)
    rows = np.vstack([matrix, -np.ones(len(nest.loops))])
    right = np.append(np.ones(len(matrix)), -scale.value(solution.exponent) + 1e-10)
    bounds = [(0, float(beta)) for beta in scale.exponents]
    answer = linprog(-direction, A_ub=rows, b_ub=right, bounds=bounds, method="highs")
    vertices = np.array([[scale.value(side) for side in vertex] for vertex in solution.family])
    assert (vertices @ direction).max() == pytest.approx(-answer.fun, abs=1e-6)
