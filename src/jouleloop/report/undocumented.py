"""Matplotlib without its help on artists, for a process that only draws: that help is two fifths of its import."""

import matplotlib.artist


def _no_help(artist: object) -> str:  # noqa: ARG001 - it is called as what it replaces
    """Return no list of an artist's properties."""
    return ""


matplotlib.artist.kwdoc = _no_help
