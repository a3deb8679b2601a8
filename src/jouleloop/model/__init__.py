"""Accesses, energy and cycles of a mapping, count for count as Timeloop's."""

from jouleloop import jit

__all__ = ["jit"]
