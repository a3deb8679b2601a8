"""Papers 000 and 001: the communication of a convolution; and the energy-complexity model that 002 builds on."""
