"""Convolution tiles on Gemmini (the experiment of paper 001)."""
