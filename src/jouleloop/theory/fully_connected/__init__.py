"""Paper 002: the energy complexity of a fully-connected layer."""

from jouleloop import jit

__all__ = ["jit"]
