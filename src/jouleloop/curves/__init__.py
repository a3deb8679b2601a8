"""How the optimum of a layer grows with its hardware: the least value against the capacity of one level, proven."""
