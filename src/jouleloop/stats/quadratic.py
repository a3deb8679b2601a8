"""The paper's test: quadratic regression y = a u² + b u + c by statsmodels, and the p-value of a = 0."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from jouleloop.stats.regression import checked_points, distinct_values, fit_polynomial

PUBLISHED_P = {
    ("simba", "fc_inputs"): 0.2447,
    ("simba", "fc_outputs"): 0.6468,
    ("simba", "fc_weights"): 0.0575,
    ("eyeriss", "fc_inputs"): 0.1494,
    ("eyeriss", "fc_outputs"): 0.4801,
    ("eyeriss", "fc_weights"): 0.0531,
}
"""P-values of a = 0 for the data energy against n, m and mn, printed in paper 002, Section 6, after Figure 4."""


@dataclass(frozen=True)
class QuadraticTest:
    """Quadratic regression of a response."""

    a: float
    b: float
    c: float
    """Coefficients of ``u²``, ``u`` and 1, in the unit of the response."""
    p_value: float
    """Of ``a = 0`` in ordinary least squares. NaN where it has no meaning: too few points, or residuals that are
    rounding noise (``exact``)."""
    r_squared: float
    """Of the quadratic fit."""
    n: int
    """Points."""
    exact: bool
    """Whether the residuals of the straight line, or of the parabola, are rounding noise."""
    note: str = ""
    """Why there is no p-value; empty where there is one."""


def quadratic_test(x: npt.ArrayLike, y: npt.ArrayLike, exact_tolerance: float = 1e-12) -> QuadraticTest:
    """Return the quadratic regression of ``y`` on ``x`` and the p-value of its quadratic term.

    The variable is centred and scaled to [-1, 1] first, which changes neither ``a``'s t nor its p-value but keeps the
    regression well conditioned at any size. The regression itself is statsmodels' OLS.

    Raises `InputError` for anything but vectors of finite numbers of one length.

    Parameters
    ----------
    x, y
        Variable and response, shape (n,).
    exact_tolerance
        Residuals below this share of the fitted value are rounding noise, and p-values of noise are not reported.

    References
    ----------
    Paper 002, Section 6: the regression ``a x² + b x + c`` and the null hypothesis ``a = 0`` at the level 0.05.
    """
    u, response = checked_points(x, y)
    nan = float("nan")
    distinct = distinct_values(u)
    if distinct < 3 or u.size < 4:
        note = f"{u.size} points at {distinct} different sizes: a quadratic regression needs 4 points at 3 sizes"
        return QuadraticTest(nan, nan, nan, nan, nan, int(u.size), exact=False, note=note)
    fit = fit_polynomial(u, response, 2)
    c, b, a = (float(value) for value in fit.powers_of_u())
    line = fit_polynomial(u, response, 1)
    for name, candidate in (("linear", line), ("quadratic", fit)):
        if candidate.is_exact(exact_tolerance) and distinct > candidate.degree + 1:
            note = f"exactly {name} to {exact_tolerance:.0e}: the residuals are rounding noise and have no p-value"
            if name == "linear":
                a, (c, b) = 0.0, (float(value) for value in line.powers_of_u())
            return QuadraticTest(a, b, c, nan, candidate.r_squared, int(u.size), exact=True, note=note)
    z = (u - fit.centre) / fit.scale
    # statsmodels takes a second to import, and figures on exact energies do without it.
    from statsmodels.regression.linear_model import OLS  # noqa: PLC0415

    result = OLS(response, np.column_stack([np.ones_like(z), z, z * z])).fit()
    return QuadraticTest(
        a=a,
        b=b,
        c=c,
        p_value=float(result.pvalues[2]),
        r_squared=fit.r_squared,
        n=int(u.size),
        exact=False,
    )
