"""Chains of layers whose intermediate tensors stay on the chip: what is fused, and the proven optimum."""
