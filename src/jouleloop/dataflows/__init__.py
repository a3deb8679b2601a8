"""The papers' algorithms executed step by step, counting every word moved."""
