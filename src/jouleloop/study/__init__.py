"""A configuration becomes a plan, and the plan results in the store: chunks, keys, locks, progress."""
