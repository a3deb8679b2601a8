"""The lower envelope of the authors' notebooks: minima over boxes of sizes, regressed, with a test valid for minima."""

from dataclasses import dataclass

import numpy as np
from scipy.stats import t as student

from jouleloop.errors import Fault, InputError
from jouleloop.stats.quadratic import quadratic_test
from jouleloop.stats.regression import FloatArray, checked_points, fit_polynomial

SHUFFLES = 999
"""Permutations behind a p-value, and the seed that they are drawn with."""
BLOCKS = 10
"""Blocks of successive sizes that the jackknife leaves out in turn, where there are so many minima."""
_SEED = 20240229


@dataclass(frozen=True)
class Envelope:
    """The regression of minima over boxes of sizes."""

    n: int
    """Minima, one a box."""
    slope: float
    intercept: float
    r_squared: float
    """Of the line through the minima; the slope in the unit of the response per unit of the size."""
    quadratic_p: float
    """P-value of a quadratic term by ordinary least squares on the scaled size, as the notebooks test: not valid for
    minima, whose scatter is neither normal nor alike."""
    shuffled_p: float
    """P-value of the same statistic among shuffles of response over size: exact where they are exchangeable."""
    jackknife_p: float
    """P-value of the same statistic by its error from leaving out one block of sizes after the other: about its level
    also where neighbours scatter alike."""


def box_minima(x: FloatArray, y: FloatArray, members: int) -> np.ndarray[tuple[int], np.dtype[np.intp]]:
    """Return the position of the least ``y`` in each box of ``members`` successive different values of ``x``.

    A last box that is not full is left out, as in the notebooks; of equal minima the first one counts.
    """
    _, rank = np.unique(x, return_inverse=True)
    box = rank // members
    full = (int(rank.max()) + 1) // members
    order = np.lexsort((np.arange(x.size), y, box))
    first = np.flatnonzero(np.diff(box[order], prepend=-1))
    return np.asarray(order[first][:full], dtype=np.intp)


def lower_regression(x: FloatArray, y: FloatArray, members: int, shuffles: int = SHUFFLES) -> Envelope:
    """Return the regression of the box minima of ``y`` over ``x``, and how far from a line it is among shuffles.

    Under the null the ratios y / x are exchangeable between layers, so that the envelope is a line through zero, but
    for the scatter that minima have. Each shuffle deals the ratios anew and takes minima and statistic as for the
    data. The p-value is the share of shuffles, the data among them, whose statistic is as large: at most at its level
    whatever the ratios' distribution.

    Raises `InputError` for anything but vectors of numbers of one length, or fewer than four full boxes.
    """
    sizes, response = checked_points(x, y)
    if members < 1 or np.unique(sizes).size // max(members, 1) < 4 or (sizes <= 0).any():
        raise InputError(Fault("an envelope needs sizes above zero and four full boxes", value=int(sizes.size)))
    chosen = box_minima(sizes, response, members)
    u, least = sizes[chosen], response[chosen]
    line = fit_polynomial(u, least, 1)
    intercept, slope = line.powers_of_u()
    found = abs(_curvature(u, least))
    generator = np.random.default_rng(_SEED)
    ratios = response / sizes
    as_large = 1
    for _ in range(shuffles):
        dealt = sizes * generator.permutation(ratios)
        again = box_minima(sizes, dealt, members)
        as_large += bool(abs(_curvature(sizes[again], dealt[again])) >= found)
    return Envelope(
        chosen.size,
        float(slope),
        float(intercept),
        line.r_squared,
        quadratic_test(u, least, 1e-12).p_value,
        as_large / (shuffles + 1),
        _jackknife_p(u, least),
    )


def _curvature(u: FloatArray, y: FloatArray) -> float:
    """Return the share of a parabola at the largest size, fitted with weights of one over the size.

    What scatters in proportion to the size has even scatter over it, so that large layers do not decide alone.
    """
    z = u / u.max()
    design = np.column_stack([1 / z, np.ones(z.size), z])
    coefficients, *_ = np.linalg.lstsq(design, y / u, rcond=None)
    return float(coefficients[2]) / float(coefficients.sum())


def _jackknife_p(u: FloatArray, y: FloatArray) -> float:
    """Return the p-value of the share of a parabola, by Student's t with one degree of freedom less than blocks."""
    blocks = min(BLOCKS, u.size)
    left_out = [np.delete(np.arange(u.size), block) for block in np.array_split(np.arange(u.size), blocks)]
    shares = [_curvature(u[kept], y[kept]) for kept in left_out]
    error = ((blocks - 1) * float(np.var(shares))) ** 0.5
    return float(2 * student.sf(abs(_curvature(u, y)) / error, blocks - 1)) if error else float("nan")
