"""Which form of growth fits best: AICc among constant, linear, x log x, quadratic and power."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from jouleloop.stats.exponent import exponent_fit
from jouleloop.stats.regression import EPSILON, checked_points, distinct_values, fit_polynomial, inner


@dataclass(frozen=True)
class Form:
    """One form of growth fitted to the points."""

    name: str
    """'constant', 'linear', 'nlogn', 'quadratic' or 'power'."""
    parameters: int
    """Fitted parameters, the variance included."""
    aicc: float
    """Akaike's criterion with the small-sample correction; smaller is better."""
    difference: float
    """``aicc`` minus that of the best form."""
    weight: float
    """Akaike weight among the forms compared."""


def compare_forms(x: npt.ArrayLike, y: npt.ArrayLike) -> tuple[Form, ...]:
    """Return the forms that the points can tell apart, best first.

    Forms with too many parameters for AICc (``n <= parameters + 1``) or, for x log x and the power, sizes not above
    zero, are left out. Sums of squares below the rounding of the response count as that rounding, so that among forms
    that all fit exactly the one with the fewest parameters wins.

    Raises `InputError` for anything but vectors of finite numbers of one length.

    References
    ----------
    Hurvich and Tsai (1989); Burnham and Anderson (2002), Section 2.4.
    """
    u, response = checked_points(x, y)
    n = u.size
    largest = float(np.abs(response).max()) if n else 0.0
    if n < 4 or largest == 0:
        return ()
    distinct = distinct_values(u)
    residual_squares: dict[str, tuple[int, float]] = {}

    def add(name: str, parameters: int, squares: float) -> None:
        if n > parameters + 1:
            residual_squares[name] = (parameters, max(squares, n * (32 * EPSILON * largest) ** 2))

    for name, degree in (("constant", 0), ("linear", 1), ("quadratic", 2)):
        if distinct > degree:
            add(name, degree + 2, fit_polynomial(u, response, degree).sum_of_squares)
    if distinct > 1 and (u > 0).all():
        add("nlogn", 3, fit_polynomial(u * np.log(u), response, 1).sum_of_squares)
        power = exponent_fit(u, response)
        if np.isfinite(power.exponent):
            residual = response - power.c0 - power.c1 * u**power.exponent
            add("power", 4, inner(residual, residual))
    if not residual_squares:
        return ()
    aicc = {
        name: n * np.log(squares / n) + 2 * p + 2 * p * (p + 1) / (n - p - 1)
        for name, (p, squares) in residual_squares.items()
    }
    best = min(aicc.values())
    total = sum(np.exp(-(value - best) / 2) for value in aicc.values())
    ordered = sorted(aicc, key=lambda name: (aicc[name], residual_squares[name][0], name))
    return tuple(
        Form(
            name,
            residual_squares[name][0],
            float(aicc[name]),
            float(aicc[name] - best),
            float(np.exp(-(aicc[name] - best) / 2) / total),
        )
        for name in ordered
    )
