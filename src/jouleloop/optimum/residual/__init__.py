"""The least-energy mapping where loops need not divide, proven."""
