"""A second opinion on the search: random designs, Timeloop's mapspace restated from its source, runs of the real one.

Nothing here imports `jouleloop.mapspace` or `jouleloop.optimum`, except `differential.native`, which asks them.
"""
