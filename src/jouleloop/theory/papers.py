"""The papers whose theory stands here; a new one is a folder and its name in this list."""

PAPERS = ("convolution", "fully_connected", "gemmini", "loop_nest", "manticore")
"""Folders of this room, each with ``commands.py`` and ``exhibits.py``."""
