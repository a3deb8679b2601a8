"""Figures of fronts and of designs, in the style of all figures."""

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure

from jouleloop.report.style import (
    BLUE,
    PANEL_HEIGHT_IN,
    PANEL_WIDTH_IN,
    SEQUENTIAL,
    VERMILION,
    log_ticks,
    response_axis,
    size_axis,
    styled,
)
from jouleloop.units import PJ, energies_in, said


def draw_front(
    cycles: Sequence[float],
    energies_pj: Sequence[float],
    knee: int | None,
    title: str,
    unit: str = PJ,
    ax: Axes | None = None,
) -> Axes:
    """Draw energy [pJ, or ``unit`` words] over cycles, a point an optimum, and mark the knee; return the axes.

    Steps join the points: what lies above them is attained, nothing lies below.
    """
    with styled(), energies_in(unit):
        panel = _panel() if ax is None else ax
        size = 3 if len(cycles) <= 100 else 0
        panel.step(cycles, energies_pj, where="post", color=BLUE, marker="o", markersize=size, lw=0.9)
        if knee is not None:
            _mark(panel, "knee", cycles[knee], energies_pj[knee], 5)
        size_axis(panel.xaxis, "cycles", max(cycles))
        response_axis(panel.yaxis, PJ, said("energy"), max(energies_pj))
        panel.set_title(title)
    return panel


def _panel() -> Axes:
    figure = Figure(figsize=(1.4 * PANEL_WIDTH_IN, 1.2 * PANEL_HEIGHT_IN), layout="constrained")
    return figure.subplots()


def _mark(panel: Axes, word: str, x: float, y: float, size: int) -> None:
    panel.plot([x], [y], "D", color=VERMILION, markersize=size)
    panel.annotate(word, (x, y), textcoords="offset points", xytext=(6, 5), color=VERMILION)


def draw_designs(
    points: Sequence[tuple[float, float, float]],
    best: int | None,
    across: str,
    unit: str,
    title: str,
    ax: Axes | None = None,
) -> Axes:
    """Draw designs as points (across, value, area [um2] as colour if it is not 0), mark the best; return the axes."""
    with styled():
        panel = _panel() if ax is None else ax
        xs, ys, areas = zip(*points, strict=True) if points else ((), (), ())
        if any(areas):
            drawn = panel.scatter(xs, ys, s=8, c=[area / 1e6 for area in areas], cmap=SEQUENTIAL)
            panel.figure.colorbar(drawn, ax=panel, label="area [mm2]")
        else:
            panel.plot(xs, ys, "o", color=BLUE, markersize=3)
        if best is not None:
            _mark(panel, "best", xs[best], ys[best], 6)
        if across == "cycles":
            size_axis(panel.xaxis, "cycles", max(xs, default=0.0))
        else:
            panel.set_xlabel(across)
        response_axis(panel.yaxis, unit, "energy" if unit == PJ else "value", max(ys, default=0.0))
        panel.set_title(title)
    return panel


def draw_capacity_front(
    cycles: Sequence[float],
    energies_pj: Sequence[float],
    words: Sequence[int],
    level: str,
    title: str,
    unit: str = PJ,
    ax: Axes | None = None,
) -> Axes:
    """Draw energy [pJ, or ``unit`` words] over cycles, the words of a level as colour; return the axes."""
    with styled(), energies_in(unit):
        panel = _panel() if ax is None else ax
        shades = LogNorm(max(1, min(words)), max(2, *words))
        drawn = panel.scatter(cycles, energies_pj, s=8, c=[max(1, one) for one in words], cmap=SEQUENTIAL, norm=shades)
        bar = panel.figure.colorbar(drawn, ax=panel, label=f"{level} [words]")
        log_ticks(bar.ax.yaxis)
        size_axis(panel.xaxis, "cycles", max(cycles))
        response_axis(panel.yaxis, PJ, said("energy"), max(energies_pj))
        panel.set_title(title)
    return panel
