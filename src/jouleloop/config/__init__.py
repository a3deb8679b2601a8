"""The configuration of the workflow: one definition a key, everything else generated from it."""
