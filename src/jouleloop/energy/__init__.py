"""Component and attributes to energy per action, in pJ."""
