"""Growth tests on a table of energies: fits, equivalence, robustness, verdicts."""
