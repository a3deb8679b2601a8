"""A figure of the theory to a file: whole or not at all, and the same bytes in every run."""

from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure

from jouleloop.errors import Fault, InputError
from jouleloop.files import replacing

_METADATA = {".svg": {"Date": None}, ".png": {"Software": None}}
# Text stays text; without a salt of its own every SVG gets random identifiers.
_RC: Any = {"svg.fonttype": "none", "svg.hashsalt": "jouleloop"}


def write_figure(figure: Figure, path: Path) -> None:
    """Write ``figure`` as SVG or PNG, without a date.

    Raises `InputError` where the path has another ending or cannot be written.
    """
    if path.suffix not in _METADATA:
        raise InputError(Fault("unknown picture format", value=path.name, allowed=", ".join(_METADATA)))
    with mpl.rc_context(_RC), replacing(path) as temporary:
        figure.savefig(temporary, format=path.suffix[1:], dpi=150, metadata=_METADATA[path.suffix])
