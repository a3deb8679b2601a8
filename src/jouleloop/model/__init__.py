"""Accesses, energy and cycles of a mapping, count for count as Timeloop's."""
