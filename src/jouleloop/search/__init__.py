"""The optimum over a mapspace, with a certificate."""

from jouleloop import jit

__all__ = ["jit"]
