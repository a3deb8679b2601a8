"""What processes that compile kernels begin with, where they are forked from one that imports this."""

import numba

from jouleloop.jit import machine  # noqa: F401

# Only then has numba read what it knows of all types.
numba.njit(lambda: 0.0)()
