"""The one style of all figures: sizes, colours, units, and writing PNG, SVG and PDF with reproducible bytes."""

import math
import string
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_pdf import FigureCanvasPdf
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.patches import PathPatch
from matplotlib.path import Path as Outline
from matplotlib.text import Text
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter
from matplotlib.transforms import ScaledTranslation

from jouleloop.errors import Fault, InputError
from jouleloop.files import replacing
from jouleloop.stats.regression import FloatArray
from jouleloop.units import PJ, energy_unit, said

# Okabe and Ito's palette: distinguishable with every common colour vision, and by lightness in grey print.
BLACK, ORANGE, SKY, GREEN, YELLOW, BLUE, VERMILION, PURPLE = (
    "#000000",
    "#e69f00",
    "#56b4e9",
    "#009e73",
    "#f0e442",
    "#0072b2",
    "#d55e00",
    "#cc79a7",
)
SERIES = (BLUE, ORANGE, GREEN, PURPLE, SKY, VERMILION, YELLOW, BLACK)
BAR, FIT, PUBLISHED, BEST = "#9db7cf", BLACK, VERMILION, GREEN
_HATCHES = ("", "/////", "\\\\\\\\\\", "-----", "|||||", "+++++")
SEQUENTIAL = "viridis"

FORMATS = ("png", "svg", "pdf")
PANEL_WIDTH_IN, PANEL_HEIGHT_IN = 3.5, 2.4
#: Shares that are rounding noise, and the range of the axis that shows them.
ROUNDING, FLAT = 1e-12, 1e-3
"""One column of a two-column page."""

_RC: Any = {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 8,
    # Texts of users are drawn as they are: no sign in them begins a formula.
    "text.parse_math": False,
    "axes.titlesize": 8,
    # Its place without asking all tick labels, for each panel and format: no axis of ours is above its panel.
    "axes.titley": 1.0,
    "axes.labelsize": 8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "axes.grid": True,
    "axes.grid.axis": "y",
    "grid.color": "#e0e0e0",
    "grid.linewidth": 0.5,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "legend.fontsize": 7,
    "legend.frameon": False,
    "hatch.linewidth": 0.4,
    "lines.linewidth": 1.2,
    "figure.facecolor": "white",
    "savefig.dpi": 200,
    # Text stays text: searchable, and readable by a screen reader.
    "svg.fonttype": "none",
    "pdf.fonttype": 42,
    # Matplotlib cuts a font for a PDF into pieces of what this type holds: one piece.
    "ps.fonttype": 42,
    # Without a salt of its own every SVG gets random identifiers.
    "svg.hashsalt": "jouleloop",
}


@dataclass(frozen=True)
class ReportFigure:
    """A drawn figure with its caption and the text for those who cannot see it."""

    name: str
    """File name without ending."""
    figure: Figure
    """The drawing."""
    caption: str
    """Question, unit, number of points and decision rule."""


@contextmanager
def styled() -> Iterator[None]:
    """Draw in the project's style whatever is drawn inside."""
    with mpl.rc_context(_RC):
        yield


def new_figure(rows: int, columns: int, *, sharey: bool | str = False) -> tuple[Figure, list[list[Axes]]]:
    """Return a figure of ``rows`` × ``columns`` panels and its axes, row by row."""
    figure = Figure(figsize=(PANEL_WIDTH_IN * columns, PANEL_HEIGHT_IN * rows), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False, sharey=sharey)  # type: ignore[arg-type]
    letter_panels([panel for row in axes for panel in row])
    return figure, [list(row) for row in axes]


def letter_panels(panels: Sequence[Axes]) -> None:
    """Name the panels of one figure a, b, c …, so that a text can point at them; a single one needs no name."""
    if len(panels) > 1:
        for letter, panel in zip(string.ascii_lowercase, panels, strict=False):
            panel.set_title(f"({letter})", loc="left")


def draw_bars(
    panel: Axes,
    place: FloatArray,
    height: FloatArray,
    width: float | FloatArray,
    base: float | FloatArray = 0.0,
    **look: Any,
) -> None:
    """Draw bars of one look as one shape: an artist a bar takes ten times as long, most of it for hatches."""
    left, low = np.broadcast_arrays(place - np.asarray(width) / 2, base)
    right, high = left + width, low + height
    corners = np.array([(left, low), (right, low), (right, high), (left, high), (left, low)])
    codes = [Outline.MOVETO, Outline.LINETO, Outline.LINETO, Outline.LINETO, Outline.CLOSEPOLY]
    outline = Outline(corners.transpose(2, 0, 1).reshape(-1, 2), codes * len(left))
    # As `add_patch`, which looks for the extremes of each edge as if it were curved.
    shape = PathPatch(outline, linewidth=0, **look)
    panel.add_artist(shape)
    panel.update_datalim(outline.vertices)
    # No room between the bars and the axis that they stand on.
    shape.sticky_edges.y.append(0)
    panel.autoscale_view()


_PREFIXES = {-12: "p", -9: "n", -6: "µ", -3: "m", 0: "", 3: "k"}
_LARGE = {0: "", 3: "k", 6: "M", 9: "G", 12: "T"}
_DECADES = 3
#: Height of the tick labels and of the axis label, which a legend below the panel leaves free.
_LEGEND_BELOW_IN = 0.4
#: Layers side by side as bars at most.
MANY_LAYERS = 80
_SUPERSCRIPTS = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


def response_axis(axis: Axis, unit: str, label: str, largest: float) -> None:
    """Label an axis of values in ``unit`` and show them in the SI unit that suits the ``largest``.

    The plotted values stay in picojoules or words; only the tick labels are divided.
    """
    unit = energy_unit() if unit == PJ else unit
    axis.set_minor_formatter(NullFormatter())
    if unit != PJ:
        size_axis(axis, label, largest, unit=unit)
        return
    exponent = min(max(thousands(largest * 1e-12), -12), 3)
    _divide_ticks(axis, 10.0 ** (exponent + 12))
    axis.set_label_text(f"{label} [{_PREFIXES[exponent]}J]")


def size_axis(axis: Axis, label: str, largest: float, unit: str = "") -> None:
    """Label an axis of sizes or counts; from a hundred thousand on the power of ten moves into the label."""
    exponent = thousands(largest) if largest >= 1e5 else 0
    if exponent:
        _divide_ticks(axis, 10.0**exponent)
    axis.set_label_text(scaled_label(label, exponent, unit))


def scaled_label(label: str, exponent: int, unit: str = "") -> str:
    """Return ``label`` with the power of ten and the unit that the tick labels are in."""
    power = f"10{str(exponent).translate(_SUPERSCRIPTS)}" if exponent else ""
    bracket = " ".join(part for part in (power, unit) if part)
    return f"{label} [{bracket}]" if bracket else label


def thousands(value: float) -> int:
    """Return the power of ten, a multiple of three, below ``value``."""
    return 3 * math.floor(math.log10(value) / 3) if value > 0 else 0


def spans_decades(x: FloatArray) -> bool:
    """Whether many layers lie over more than three decades of a size, so that only a logarithmic axis shows them."""
    return x.size > MANY_LAYERS and 0 < float(x.min()) * 10.0**_DECADES < float(x.max())


def variable_axis(panel: Axes, label: str, x: FloatArray) -> None:
    """Label the axis of a sweep's variable, a logarithmic one where the layers need it."""
    if spans_decades(x):
        panel.set(xscale="log", xlabel=label)
        log_ticks(panel.xaxis)
    else:
        size_axis(panel.xaxis, label, float(x.max(initial=0)))


def legend_below(panel: Axes, handles: Sequence[Artist], *, at: float = 0.5, ncols: int = 1) -> None:
    """Put a legend below the axis label of a panel, ``at`` this share of its width.

    The distance is in inches, so that it holds whatever the height of the panel.
    """
    below = ScaledTranslation(0, -_LEGEND_BELOW_IN, panel.figure.dpi_scale_trans)
    panel.legend(
        handles=list(handles),
        loc="upper center",
        bbox_to_anchor=(at, 0.0),
        bbox_transform=panel.transAxes + below,
        borderaxespad=0.0,
        ncols=ncols,
        columnspacing=0.8,
        handlelength=1.2,
    )


def log_ticks(axis: Axis) -> None:
    """Label a logarithmic axis at 1, 2 and 5 times the powers of ten, in words such as 20k, so that few decades show.

    Over more than three decades the powers of ten suffice.
    """
    low, high = sorted(axis.get_view_interval())
    decades = math.log10(high / low) if low > 0 else math.inf
    axis.set_major_locator(LogLocator(subs=(1.0,) if decades > _DECADES else (1.0, 2.0, 5.0)))
    axis.set_major_formatter(FuncFormatter(_short))
    axis.set_minor_formatter(NullFormatter())


def _short(value: float, _: object = None) -> str:
    """Return a count as 500, 20k or 5M."""
    exponent = min(max(thousands(value * (1 + 1e-9)), 0), 12)
    return f"{value / 10.0**exponent:.3g}{_LARGE[exponent]}"


def _divide_ticks(axis: Axis, divisor: float) -> None:
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value / divisor:.6g}".replace("-", "−")))


def save_figure(
    figure: ReportFigure, folder: Path, formats: Sequence[str] = FORMATS, shown: str = ""
) -> tuple[Path, ...]:
    """Write ``figure`` to ``folder`` in every format, whole or not at all, and return the paths.

    The files hold no date and no random identifier: the same figure gives the same bytes.

    Raises `InputError` for an unknown format or a folder that cannot be written.

    ``shown`` tells the figure from others and is to be found in its files.
    """
    wrong = [name for name in formats if name not in FORMATS]
    if wrong:
        raise InputError(Fault("unknown figure format", value=wrong[0], allowed=", ".join(FORMATS)))
    caption = said(figure.caption)
    if energy_unit() != PJ:
        for text in figure.figure.findobj(Text):
            text.set_text(said(text.get_text()))
    metadata: dict[str, dict[str, Any]] = {
        "png": {"Software": None, "Title": figure.name, "Description": caption, "Comment": shown or None},
        "svg": {
            "Date": None,
            "Creator": None,
            "Title": figure.name,
            "Description": caption,
            "Identifier": shown or None,
        },
        "pdf": {
            **dict.fromkeys(("CreationDate", "ModDate", "Creator", "Producer")),
            "Title": figure.name,
            "Keywords": shown or None,
        },
    }
    paths = []
    with styled():
        canvas = FigureCanvasAgg(figure.figure)
        with _fine(figure.figure):
            _place(figure.figure)
        for name in formats:
            path = folder / f"{figure.name}.{name}"
            with replacing(path) as temporary, _fine(figure.figure):
                _write(canvas, temporary, name, metadata[name])
            paths.append(path)
    return tuple(paths)


def hatches(spaces: Iterable[str]) -> dict[str, str]:
    """Return a hatch for each data space; lines only, since a hatch of dots makes an SVG of megabytes."""
    return {space: _HATCHES[index % len(_HATCHES)] for index, space in enumerate(spaces)}


@contextmanager
def _fine(figure: Figure) -> Iterator[None]:
    """Let a figure have as many dots as its files."""
    dpi = figure.dpi
    figure.dpi = mpl.rcParams["savefig.dpi"]
    try:
        yield
    finally:
        figure.dpi = dpi


def _place(figure: Figure) -> None:
    """Solve the layout of a figure once for all formats: solving again moves things by a hair."""
    engine = figure.get_layout_engine()
    if engine is not None:
        engine.execute(figure)
        figure.set_layout_engine("none")


def _write(canvas: FigureCanvasAgg, path: Path, name: str, metadata: dict[str, Any]) -> None:
    """Draw a figure into a file; `Figure.savefig` draws it twice, to find a layout that is fixed here already."""
    if name == "png":
        canvas.print_png(path, metadata=metadata)  # type: ignore[no-untyped-call]
    elif name == "svg":
        FigureCanvasSVG(canvas.figure).print_svg(path, metadata=metadata)  # type: ignore[no-untyped-call]
    else:
        FigureCanvasPdf(canvas.figure).print_pdf(path, metadata=metadata)  # type: ignore[no-untyped-call]
