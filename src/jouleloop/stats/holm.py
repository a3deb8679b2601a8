"""Holm's step-down correction of a family of p-values."""

import numpy as np
import numpy.typing as npt

from jouleloop.errors import Fault, InputError
from jouleloop.stats.regression import FloatArray


def holm(p_values: npt.ArrayLike) -> FloatArray:
    """Return the p-values corrected for their number; NaN (no test made) stays NaN and is not counted.

    Rejecting where the corrected value is at most alpha keeps the chance of any false rejection in the family below
    alpha, whatever the dependence between the tests (Holm 1979).

    Raises `InputError` for values outside [0, 1].
    """
    values = np.asarray(p_values, dtype=np.float64)
    made = np.flatnonzero(~np.isnan(values))
    if ((values[made] < 0) | (values[made] > 1)).any():
        raise InputError(Fault("a p-value is out of range", allowed="between 0 and 1"))
    corrected = np.full(values.shape, np.nan)
    order = made[np.argsort(values[made], kind="stable")]
    steps = values[order] * np.arange(order.size, 0, -1)
    corrected[order] = np.minimum(np.maximum.accumulate(steps), 1.0) if order.size else steps
    return corrected
