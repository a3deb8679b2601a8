"""Real Timeloop as an engine: its inputs, its programs, its outputs."""
