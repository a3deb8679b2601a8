"""Affine nests with bounds: pieces, parallelepipeds that attain them, boxes that do not, points listed one by one."""

import math
from fractions import Fraction

import numpy as np
import pytest

from jouleloop.theory.loop_nest.affine import affine_closed_form, affine_tile, image_words, rectangle_exponent
from jouleloop.theory.loop_nest.closed_form import closed_form
from jouleloop.theory.loop_nest.read import from_einsum, parse_nest
from jouleloop.theory.loop_nest.tables import affine_table
from jouleloop.theory.simplex import Scale

CONVOLUTION = "I[c,x+r] F[c,k,r] O[k,x]"
SKEWED = "A[x,y] B[x+y,z]"


@pytest.mark.parametrize("text", ["ik,kj->ij", "i,ij->j", "xyp,yzq,xzr->xyz", "ab,bc,cd->ad"])
def test_projective_nests_have_the_closed_form_of_theorem_2(text: str) -> None:
    nest = from_einsum(text)
    assert {piece.form for piece in affine_closed_form(nest).pieces} == {p.form for p in closed_form(nest).pieces}


def test_a_convolution_with_small_filters_has_the_pieces_of_001() -> None:
    """Of a long filter r the exponent is 2; of a short one 3/2 + β_r / 2, 001 Theorem 2.1's third term."""
    form = affine_closed_form(parse_nest(CONVOLUTION))
    assert form.exponent_text() == (
        "min(2, 1 + β_x, 3/2 + 1/2·β_r, 1 + β_c + β_r, 1 + β_r + β_k, β_c + β_x + β_r + β_k)"
    )


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (1, 2))])
def test_pieces_parallelepipeds_and_listed_points_agree(seed: int) -> None:
    table = affine_table(points=3, nests=12, seed=seed)
    assert (table["attained"] == table["instances"]).all()
    assert (table["array_over_cache"] < 8).all()
    assert (table["extent_over_bound"] < 4).all()
    assert (table["points_over_power"] > 1 / 16).all()
    boxes = table.set_index("nests")
    for name in (name for name in boxes.index if "convolution" in name):
        assert boxes.loc[name, "attained_by_box"] == boxes.loc[name, "instances"]


def test_a_skewed_tile_beats_every_box() -> None:
    """A tile along x - y holds M² points where the largest box holds M^(3/2): both listed here for M = 64."""
    nest, long = parse_nest(SKEWED), (Fraction(2),) * 3
    tile = affine_tile(nest, long)
    assert (tile.exponent, rectangle_exponent(nest, long)) == (2, Fraction(3, 2))
    points = tile.points(64)
    assert len(np.unique(points, axis=0)) == len(points) == 64**2
    assert max(image_words(matrix, points) for matrix in nest.arrays.values()) <= 2 * 64
    best = max(
        x * y * (64 // (x + y - 1)) for x in range(1, 65) for y in range(1, 64 // x + 1)
    )  # all boxes x by y by z that fit
    assert best < 64**1.5 < len(points) / 2


def test_integer_boxes_of_convolutions_with_small_filters_come_near_the_piece() -> None:
    """The best of all integer boxes over M^f stays between 0.6 and 1 and grows with M: no region below every piece."""
    form = affine_closed_form(parse_nest(CONVOLUTION))
    for taps in (1, 2, 3, 5, 7, 11):
        shares = []
        for cache in (64, 256, 1024):
            exponents = {"c": 9.0, "x": 9.0, "k": 9.0, "r": math.log(taps, cache)}
            exponent = min(
                float(piece.cache_weight)
                + sum(float(z) * exponents[loop] for z, loop in zip(piece.loop_weights, form.nest.loops, strict=True))
                for piece in form.pieces
            )
            shares.append(_largest_box(cache, taps) / cache**exponent)
        assert 0.6 < shares[0] <= shares[1] <= shares[2] <= 1 + 1e-9


def _largest_box(cache: int, taps: int) -> int:
    best = 0
    for r in range(1, taps + 1):
        for c in range(1, cache // r + 1):
            for k in range(1, cache // (c * r) + 1):
                x = min(cache // k, cache // c - r + 1)
                best = max(best, c * k * r * x)
    return best


def test_the_exponent_is_that_of_the_pieces_between_their_corners_too() -> None:
    nest = parse_nest(CONVOLUTION)
    form = affine_closed_form(nest)
    random = np.random.default_rng(5)
    for _ in range(10):
        exponents = tuple(Fraction(int(a), int(b)) for a, b in random.integers(1, 30, (len(nest.loops), 2)))
        scale = Scale(exponents=exponents)
        assert scale.exact(form.least(scale).form) == affine_tile(nest, exponents).exponent
