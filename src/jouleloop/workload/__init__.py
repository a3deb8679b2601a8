"""A layer as a problem: dimensions, data spaces and projections; knows nothing of hardware."""
