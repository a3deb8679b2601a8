"""Paper 002: the energy complexity of a fully-connected layer."""
