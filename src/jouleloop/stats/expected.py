"""The growths that theory can expect: a transform of the variable and the degree of a polynomial in it."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from jouleloop.errors import Fault, InputError, unknown
from jouleloop.stats.regression import FloatArray


@dataclass(frozen=True)
class Growth:
    """An expected growth: ``E`` is a polynomial of ``degree`` in ``u = transform(x)``."""

    name: str
    """As written in a sweep's YAML."""
    degree: int
    """Degree of the polynomial in ``u``; the additive coefficient is always there."""
    transform: Callable[[FloatArray], FloatArray]
    """From the sweep's variable to the regressor ``u``."""
    regressor: str
    """``u`` in words, with ``{x}`` for the variable."""
    adjective: str
    """The growth in words, with ``{x}`` for the variable, as in "grows …"."""
    base: Callable[[FloatArray], FloatArray]
    """From the variable to the one whose power is fitted by the exponent and whose forms are compared."""
    base_text: str = "{x}"
    """``base`` in words."""

    def regressors(self, x: FloatArray) -> FloatArray:
        """Return ``u`` for every ``x``.

        Raises `InputError` where ``x`` is negative, below one under a logarithm, or zero under a division.
        """
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            u = self.transform(x)
        # Below one, x log x falls with x.
        logarithmic = self.transform is _x_log_x
        bad = (x < logarithmic) | ~np.isfinite(u)
        if bad.any():
            raise InputError(
                Fault(
                    f"the variable of {self.name} growth is out of range",
                    value=float(x[bad][0]),
                    allowed="numbers from one up"
                    if logarithmic
                    else "numbers from zero up"
                    if self.transform is _identity
                    else "positive numbers",
                )
            )
        return u


def _identity(x: FloatArray) -> FloatArray:
    return x


def _inverse(x: FloatArray) -> FloatArray:
    return 1.0 / x


def _square(x: FloatArray) -> FloatArray:
    return x * x


def _inverse_square(x: FloatArray) -> FloatArray:
    return 1.0 / (x * x)


def _x_log_x(x: FloatArray) -> FloatArray:
    return x * np.log(x)


GROWTHS: dict[str, Growth] = {
    growth.name: growth
    for growth in (
        Growth("constant", 0, _identity, "{x}", "does not depend on {x}", _identity),
        Growth("linear", 1, _identity, "{x}", "grows linearly in {x}", _identity),
        Growth("nlogn", 1, _x_log_x, "{x} ln {x}", "grows like {x} log {x}", _identity),
        Growth("quadratic", 2, _identity, "{x}", "grows quadratically in {x}", _identity),
        Growth("cubic", 3, _identity, "{x}", "grows cubically in {x}", _identity),
        Growth("inverse_linear", 1, _inverse, "1/{x}", "grows linearly in 1/{x}", _inverse, "1/{x}"),
        Growth("inverse_quadratic", 2, _inverse, "1/{x}", "grows quadratically in 1/{x}", _inverse, "1/{x}"),
        Growth("linear_in_square", 1, _square, "{x}²", "grows linearly in {x}²", _square, "{x}²"),
        Growth(
            "linear_in_inverse_square",
            1,
            _inverse_square,
            "1/{x}²",
            "grows linearly in 1/{x}²",
            _inverse_square,
            "1/{x}²",
        ),
    )
}
"""Every growth a sweep can expect, by name."""

_ALIASES = {"x log x": "nlogn", "n log n": "nlogn", "xlogx": "nlogn", "inverse": "inverse_linear"}


def growth_named(name: str | Growth) -> Growth:
    """Return the growth called ``name``; raise `InputError` with the nearest known name where there is none."""
    if isinstance(name, Growth):
        return name
    key = _ALIASES.get(name.strip().lower(), name.strip().lower().replace("-", "_").replace(" ", "_"))
    if key not in GROWTHS:
        raise InputError(unknown(name, GROWTHS, "growth", field="growth"))
    return GROWTHS[key]
