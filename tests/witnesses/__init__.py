"""Slow, plain programs that the theory is compared with."""
