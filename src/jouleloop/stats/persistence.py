"""How far scatter that persists along the range can move a power's coefficient, read off the powers above it."""

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from scipy import special

from jouleloop.stats.regression import FloatArray, PolynomialFit, distinct_values, inner, orthonormal, powers_of

POWERS = 6
"""Powers above the tested one that the scale of the scatter is read off, where there are sizes for so many."""


BLOCKS = 16
"""Blocks of neighbouring sizes whose means a walk steps between; smooth scatter goes up and down over so few."""


class PersistentError(NamedTuple):
    """Standard error of the coefficient of a fit's highest power, and its degrees of freedom."""

    error: float
    freedom: int


def persistent_error(fit: PolynomialFit) -> PersistentError | None:
    """Return the error of the highest coefficient of ``fit`` where the scatter is a random walk over the sizes.

    Neighbours that tile alike deviate alike, so errors of independent points are too small. A random walk is the
    most persistent scatter that is allowed for. Its covariance with orthonormal polynomials of the sizes is known, but
    for its scale. Up to `POWERS` polynomials above the tested one give the scale: under a normal random walk as chi
    squared over its degrees of freedom, exactly. Scatter that persists less has relatively more in high powers, so the
    scale and with it the error come out too large, never too small. None where there are no powers above.

    References
    ----------
    Müller (2007) and Müller and Watson (2008) for inference from few low frequencies.
    """
    highest = min(fit.degree + POWERS, distinct_values(fit.u) - 1)
    freedom = highest - fit.degree
    if freedom < 1:
        return None
    u = fit.u.tobytes()
    q, (rise, triangle) = powers_of(u, highest).q, _walk(u, fit.degree, highest)
    scores: list[float] = []
    for j in range(freedom):
        known = math.fsum(scores[i] * float(triangle[i, j]) for i in range(j))
        scores.append((inner(q[:, fit.degree + 1 + j], fit.y) - known) / float(triangle[j, j]))
    scale = math.sqrt(math.fsum(score * score for score in scores) / freedom)
    return PersistentError(abs(scale * rise / float(fit.r[-1, -1])), freedom)


@lru_cache(maxsize=32)
def _walk(u: bytes, degree: int, highest: int) -> tuple[float, FloatArray]:
    """Return the error of a random walk's product with the tested polynomial, and the triangle of those above it.

    Both come from what a unit step before each size but the first adds to these products.
    """
    polynomials = powers_of(u, highest).q[:, degree:]
    _, group = np.unique(np.frombuffer(u), return_inverse=True)
    sums = np.zeros((int(group.max()) + 1, polynomials.shape[1]))
    np.add.at(sums, group, polynomials)
    steps = np.asarray(np.cumsum(sums[::-1], axis=0)[::-1][1:], dtype=np.float64)
    _, triangle = orthonormal(steps[:, 1:])
    triangle.flags.writeable = False
    return math.sqrt(inner(steps[:, 0], steps[:, 0])), triangle


def rise_p_values(u: FloatArray, y: FloatArray) -> tuple[float, float]:
    """Return the errors of saying that ``y`` rises with ``u``, and that it falls, where it may be a random walk.

    A symmetric walk steps up as often as down, however much its steps differ in size: a binomial test of the steps
    between the means of up to `BLOCKS` blocks of neighbouring sizes.
    """
    sizes, group = np.unique(u, return_inverse=True)
    block = np.arange(sizes.size) * min(BLOCKS, sizes.size) // sizes.size
    members = block[group]
    counts = np.bincount(members)
    steps = np.diff(np.bincount(members, weights=y) / counts)
    up, down = int((steps > 0).sum()), int((steps < 0).sum())
    return float(special.bdtrc(up - 1, up + down, 0.5)), float(special.bdtrc(down - 1, up + down, 0.5))
