"""HBL exponents of random nests: the inequality on random sets, all small subspaces, and another LP solver."""

import itertools
import math
from fractions import Fraction

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from jouleloop.errors import AssumptionError
from jouleloop.theory.loop_nest.hbl import hbl_exponents
from jouleloop.theory.loop_nest.hbl_lattice import kernel, span
from jouleloop.theory.loop_nest.nest import LoopNest
from jouleloop.theory.simplex import minimise
from witnesses.rank_condition import satisfies

coefficients = st.integers(-2, 2)


@st.composite
def nests(draw, largest_rank=3):
    size = draw(st.integers(1, 3))
    arrays = {}
    for number in range(draw(st.integers(1, 3))):
        rows = draw(st.lists(st.tuples(*[coefficients] * size), min_size=1, max_size=largest_rank))
        arrays[f"A{number}"] = tuple(rows)
    try:
        return LoopNest(tuple("ijk"[:size]), arrays)
    except AssumptionError:
        assume(False)


@settings(max_examples=80, deadline=None)
@given(nests(), st.data())
def test_inequality_holds_on_random_sets(nest, data):
    result = hbl_exponents(nest)
    assert result.complete
    points = data.draw(st.sets(st.tuples(*[st.integers(0, 3)] * len(nest.loops)), min_size=1, max_size=30))
    log_product = 0.0
    for name, matrix in nest.arrays.items():
        image = {tuple(sum(a * x for a, x in zip(row, p, strict=True)) for row in matrix) for p in points}
        log_product += float(result.exponents[name]) * math.log(len(image))
    assert math.log(len(points)) <= log_product + 1e-9


@settings(max_examples=50, deadline=None)
@given(nests())
def test_every_small_subspace_satisfies_its_constraint(nest):
    result = hbl_exponents(nest)
    size = len(nest.loops)
    vectors = [v for v in itertools.product(range(-2, 3), repeat=size) if any(v)]
    lines = {span([v], size) for v in vectors}
    planes = {a + b for a, b in itertools.islice(itertools.combinations(sorted(lines, key=repr), 2), 600)}
    for subspace in lines | planes:
        assert satisfies(nest, result.exponents, subspace)


@settings(max_examples=100, deadline=None)
@given(
    st.integers(1, 4).flatmap(
        lambda n: st.tuples(
            st.lists(st.integers(0, 5), min_size=n, max_size=n),
            st.lists(st.lists(st.integers(-3, 4), min_size=n, max_size=n), min_size=1, max_size=6),
        )
    ),
    st.data(),
)
def test_exact_program_agrees_with_highs(program, data):
    costs, rows = program
    rights = data.draw(st.lists(st.integers(-4, 4), min_size=len(rows), max_size=len(rows)))
    other = linprog(costs, A_ub=-np.array(rows), b_ub=-np.array(rights), bounds=(0, None), method="highs")
    try:
        optimum = minimise(costs, rows, rights)
    except AssumptionError:
        assert other.status == 2
        return
    assert other.status == 0
    assert abs(float(optimum.value) - other.fun) < 1e-7


@settings(max_examples=100, deadline=None)
@given(st.integers(1, 4).flatmap(lambda n: st.tuples(*[st.lists(st.tuples(*[coefficients] * n), max_size=3)] * 2)))
def test_subspace_arithmetic(pair):
    first, second = pair
    size = len((first or second or [(0,)])[0])
    a, b = span(first, size), span(second, size)
    meet, join = a.intersect(b), a + b
    assert meet.rank + join.rank == a.rank + b.rank
    assert meet + a == a
    assert join + b == join
    assert a.rank == np.linalg.matrix_rank(np.array(first or [(0,) * size]))
    null = kernel(first or [(0,) * size], size)
    assert null.rank == size - a.rank
    assert all(sum(Fraction(x) * y for x, y in zip(row, line, strict=True)) == 0 for row in null.rows for line in first)


@settings(max_examples=60, deadline=None)
@given(nests(), st.integers(1, 3))
def test_proof_by_splitting_agrees_with_the_closed_lattice(nest, limit):
    closed = hbl_exponents(nest)
    cut = hbl_exponents(nest, lattice_limit=limit)
    assert closed.closed
    assert cut.complete
    assert cut.total == closed.total
    for row in closed.constraints:
        assert satisfies(nest, cut.exponents, row.subgroup)
