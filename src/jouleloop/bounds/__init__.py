"""Theory: lower and upper bounds, one module a subject, every function cites theorem and equation."""

from jouleloop import jit

__all__ = ["jit"]
