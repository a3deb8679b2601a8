"""The examples of paper 004, Section 6: derived by hand here, computed by the library."""

import itertools
from collections.abc import Sequence
from fractions import Fraction

import pytest

from jouleloop.theory.loop_nest.bounds import analyse, monomial, nest_bounds
from jouleloop.theory.loop_nest.closed_form import closed_form, pieces_beyond_display, theorem_2
from jouleloop.theory.loop_nest.nest import LoopNest, from_supports
from jouleloop.theory.loop_nest.programs import hbl, tile_at
from jouleloop.theory.loop_nest.read import from_einsum
from jouleloop.theory.simplex import Form, Scale

HALF = Fraction(1, 2)


def communication(expression: str, cache: int, **bounds: int) -> float:
    report = analyse(from_einsum(expression, bounds), cache)
    return float({b.name: b for b in nest_bounds(report)}["communication_lower_bound"].value)


def test_matrix_multiplication_has_s_one_half_each() -> None:
    solution = hbl(from_einsum("ik,kj->ij"))
    assert solution.value == Fraction(3, 2)
    assert solution.primal == (HALF, HALF, HALF)
    assert solution.dual == (HALF, HALF, HALF)


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [
        # max(L1 L2 L3 / √M, L1 L2, L2 L3, L1 L3) of Section 6.1, with M = 2^16 and √M = 2^8.
        ((2**12, 2**12, 2**12), 2**28),
        ((2**12, 2**12, 2**8), 2**24),
        ((2**12, 2**12, 2**4), 2**24),
        ((2**12, 2**12, 1), 2**24),
        ((2**4, 2**14, 2**12), 2**26),
        # All fits: the term M, which Section 6.1 leaves out and Section 6.3 explains.
        ((2**4, 2**4, 2**4), 2**16),
    ],
)
def test_matrix_multiplication_communication(sizes: tuple[int, int, int], expected: int) -> None:
    i, k, j = sizes
    assert communication("ik,kj->ij", 2**16, i=i, k=k, j=j) == expected


def test_matrix_vector_reads_the_matrix() -> None:
    assert communication("ik,k->i", 1024, i=5000, k=3000) == 5000 * 3000
    assert closed_form(from_einsum("ik,k->i")).communication_text() == "max(L_i·L_k, M)"


def test_matrix_multiplication_closed_form_is_the_papers_with_the_term_m() -> None:
    form = closed_form(from_einsum("ik,kj->ij"))
    assert form.exponent_text() == "min(3/2, 1 + β_i, 1 + β_k, 1 + β_j, β_i + β_k + β_j)"
    assert form.communication_text() == "max(L_i·L_k·L_j/√M, L_k·L_j, L_i·L_j, L_i·L_k, M)"


def test_family_of_section_6_1_goes_from_alpha_0_to_alpha_2() -> None:
    """λ = (α/2 + (1−α)(1−β), α/2 + (1−α)β, β): the printed "any α <= 1" is neither needed nor enough."""
    beta = Fraction(1, 4)
    solution = tile_at(from_einsum("ab,bc->ac"), Scale(exponents=(Fraction(2), Fraction(2), beta)))

    def member(alpha: Fraction) -> tuple[Fraction, Fraction, Fraction]:
        return (alpha / 2 + (1 - alpha) * (1 - beta), alpha / 2 + (1 - alpha) * beta, beta)

    vertices = {
        tuple(side[0] + side[3] * beta + 2 * (side[1] + side[2]) for side in vertex) for vertex in solution.family
    }
    assert solution.family_complete
    assert vertices == {member(Fraction(0)), member(Fraction(2))}
    first, _, third = member(Fraction(-1))
    assert first + third > 1, "α = −1 <= 1 breaks λ_1 + λ_3 <= 1"


@pytest.mark.parametrize(
    ("expression", "groups"),
    [
        ("nc,cm->nm", ("n", "c", "m")),  # fully connected
        ("whcb,kc->khwb", ("whb", "c", "k")),  # pointwise convolution (6.5)
        ("abcd,cdef->abef", ("ab", "cd", "ef")),  # tensor contraction
    ],
)
def test_contractions_reduce_to_matrix_multiplication(expression: str, groups: tuple[str, str, str]) -> None:
    """Section 6.2: min(3/2, 1 + min Σβ) — and Σ of all β where that is less, which the text leaves out."""
    nest = from_einsum(expression)
    form = closed_form(nest)
    for numbers in [(3, 5, 7), (1, 1, 1), (12, 1, 2), (9, 9, 9), (20, 20, 1), (6, 7, 20), (2, 3, 30)]:
        betas = {
            loop: Fraction(number, 12 * len(group))
            for group, number in zip(groups, numbers, strict=True)
            for loop in group
        }
        scale = Scale(exponents=tuple(betas[loop] for loop in nest.loops))
        sums = [Fraction(number, 12) for number in numbers]
        expected = min(Fraction(3, 2), 1 + min(sums), sum(sums, start=Fraction(0)))
        assert scale.value(form.least(scale).form) == pytest.approx(float(expected))
        assert scale.value(tile_at(nest, scale).exponent) == pytest.approx(float(expected))


def test_n_body_tile_and_caveat() -> None:
    """Section 6.3: tile min(M², L1 M, L2 M, L1 L2); communication the *maximum* of L1 L2 / M, L2, L1, M."""
    form = closed_form(from_einsum("a,b->a"))
    assert form.tile_text() == "min(M^2, L_a·M, L_b·M, L_a·L_b)"
    assert form.communication_text() == "max(L_a·L_b/M, L_b, L_a, M)"
    assert communication("a,b->a", 100, a=1000, b=5000) == 1000 * 5000 / 100
    nest = from_einsum("a,b->a", {"a": 10, "b": 20})
    bounds = {bound.name: bound for bound in nest_bounds(analyse(nest, 100))}
    caveat = bounds["communication_lower_bound"]
    assert caveat.value == 100, "M, though only 10 + 20 + 10 words exist"
    assert not caveat.assumptions_hold
    assert bounds["array_sizes"].value == 40
    assert bounds["communication_lower_bound_with_constants"].value == 40


def test_the_displayed_formula_of_theorem_2_can_miss_the_optimum() -> None:
    """out_xyz = Σ in1_xyp in2_yzq in3_xzr with all bounds √M: 9/4 by tile and certificate, 5/2 by the display.

    By hand: λ = (1/4, 1/4, 1/4) in x, y, z and 1/2 in p, q, r fits (1/4 + 1/4 + 1/2 = 1) and has 9/4; s = 1/2 for the
    inputs, ζ = 1/2 for p, q, r is feasible with 3/2 + 3/4 = 9/4. Without rows p, q, r the HBL LP has the one solution
    s_out = 1, which gives 1 + 3/2; no other set of rows gives less.
    """
    nest = from_einsum("xyp,yzq,xzr->xyz")
    scale = Scale(exponents=(HALF,) * 6)
    assert scale.value(tile_at(nest, scale).exponent) == 9 / 4
    assert scale.value(theorem_2(nest, scale)[0]) == 9 / 4
    assert scale.value(theorem_2(nest, scale, as_displayed=True)[0]) == 5 / 2
    (piece,) = pieces_beyond_display(closed_form(nest))
    assert piece.array_weights == (HALF, HALF, HALF, 0)
    weights = dict(zip(nest.loops, piece.loop_weights, strict=True))
    assert weights == {"x": 0, "y": 0, "z": 0, "p": HALF, "q": HALF, "r": HALF}


def test_the_displayed_formula_is_right_for_up_to_three_arrays() -> None:
    """All nests of three arrays, up to loops of equal support (which act as one): every piece is reached."""
    users = [set(chosen) for size in (1, 2, 3) for chosen in itertools.combinations(range(3), size)]
    for count in range(1, len(users) + 1):
        for columns in itertools.combinations(users, count):
            supports = tuple(tuple(i for i, column in enumerate(columns) if array in column) for array in range(3))
            nest = from_supports(tuple("abcdefg"[:count]), (), ("A", "B", "C"), supports)
            assert not pieces_beyond_display(closed_form(nest))


def test_removing_the_rows_outside_instead_bounds_nothing() -> None:
    """The label of (5.3), "remove rows not in 𝒬": for 𝒬 = {x_3} it would allow tiles of M only, but M·L_3 fits."""
    nest = from_einsum("ac,ab->bc")
    beta = Fraction(1, 4)
    scale = Scale(exponents=(Fraction(2), beta, Fraction(2)))
    # Loops a, c, b; c is x_3. Only row x_3 kept: s_1 + s_3 >= 1, solved by s = (1, 0, 0): k = 1 + β (1 − 1) = 1.
    assert nest.loops[1] == "c"
    assert scale.value(tile_at(nest, scale).exponent) == 1 + 1 / 4


def test_monomials_are_exact_where_rational() -> None:
    nest = from_einsum("ik,kj->ij", {"i": 10, "k": 20, "j": 30})
    assert monomial((-HALF, Fraction(1), Fraction(1), Fraction(1)), nest, 16) == 1500
    assert monomial((HALF, *(Fraction(0),) * 3), nest, 2) == pytest.approx(2**0.5)


def test_ties_of_logarithms_are_decided_exactly() -> None:
    """β = log_M L = 1/2 exactly: 3/2 and 1 + β are equal, which floats cannot tell."""
    scale = Scale(10**30, (10**15,))
    assert scale.sign((Fraction(1, 2), Fraction(-1))) == 0
    assert Scale(10**30, (10**15 + 1,)).sign((Fraction(1, 2), Fraction(-1))) == -1
    assert Scale(10**30, (10**15 - 1,)).sign((Fraction(1, 2), Fraction(-1))) == 1


def test_tile_of_a_thin_matrix_multiplication_is_symbolic() -> None:
    solution = tile_at(from_einsum("ik,kj->ij"), Scale(65536, (4096, 4096, 16)))
    sides = {tuple(round(65536 ** solution.scale.value(side), 6) for side in vertex) for vertex in solution.family}
    assert sides == {(4096.0, 16.0, 16.0), (16.0, 4096.0, 16.0)}


def lemma_1(nest: LoopNest, loop: int, weights: Sequence[Fraction]) -> Form:
    """Return κ of Lemma 1: no tile has more than M^κ points where ``loop`` alone may have a small bound.

    ``weights`` are any ŝ_j >= 0, one an array, that satisfy the HBL constraints of all other loops.
    """
    covered = [sum((weights[array] for array in nest.users(index)), Fraction(0)) for index in range(len(nest.loops))]
    assert min(weights) >= 0
    assert all(total >= 1 for index, total in enumerate(covered) if index != loop)
    slack = [max(Fraction(0), 1 - total) if index == loop else Fraction(0) for index, total in enumerate(covered)]
    return (sum(weights, Fraction(0)), *slack)


@pytest.mark.parametrize("expression", ["ik,kj->ij", "ik,k->i", "nchw,kc->nkhw", "abc,cd,be->ade"])
def test_lemma_1_is_theorem_2_where_one_loop_is_small(expression: str) -> None:
    """The least κ over the pieces of the closed form is the exponent, with every other loop as large as the cache."""
    nest = from_einsum(expression)
    for small in range(len(nest.loops)):
        bounds = [2**16] * len(nest.loops)
        bounds[small] = 2**5
        scale = Scale(2**16, tuple(bounds))
        best, _ = theorem_2(nest, scale)
        found = []
        for piece in closed_form(nest).pieces:
            if all(weight == 0 for loop, weight in enumerate(piece.loop_weights) if loop != small):
                found.append(lemma_1(nest, small, piece.array_weights))
                assert found[-1] == piece.form
        assert not any(scale.less(form, best) for form in found)
        assert any(not scale.less(best, form) for form in found)


def test_lemma_1_of_a_product_by_hand() -> None:
    """With s = 1 for the array without the small loop, a slice each: M points times L of them."""
    product = from_einsum("ik,kj->ij")
    assert lemma_1(product, 0, (Fraction(0), Fraction(1), Fraction(0))) == (1, 1, 0, 0)
    assert lemma_1(product, 0, (HALF, HALF, HALF)) == (Fraction(3, 2), 0, 0, 0)
