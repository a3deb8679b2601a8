"""Constraints to the set of legal mappings and its exact size."""
