"""Many optima of one design or of many designs: fronts of energy and cycles, and the best design of a space, proven."""
