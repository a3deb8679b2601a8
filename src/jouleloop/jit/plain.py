"""Makes kernels with numba alone, for versions of it that `jouleloop.jit.machine` does not suit: slower to compile."""

from collections.abc import Callable
from typing import Any

import numba

from jouleloop import jit


def make(function: Callable[..., Any], options: dict[str, Any]) -> Any:
    """Return what `numba.njit` makes of a function, in numba's own cache."""
    # numba sees no change of what a kernel calls; the folder has a name of its own for every version of all kernels.
    settings: Any = numba.config
    settings.CACHE_DIR = str(jit.folder())
    return numba.njit(cache=True, **{name: value for name, value in options.items() if name != "apart"})(function)
