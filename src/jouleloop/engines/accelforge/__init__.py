"""AccelForge as an engine: its inputs, its own interpreter, its outputs."""
