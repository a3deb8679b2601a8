"""How the energy of a neural-network layer grows with its size, on real accelerators, in theory and in measurement."""

__version__ = "0.1.0"
