"""Tables made of results, and the one place where tables are written and read."""
