"""The pictures of results, in the style of all figures: where energy goes, loop nests, and curves."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from jouleloop.curves.beside import theory_lines
from jouleloop.curves.hardware import dram_words
from jouleloop.mapping.mapping import LevelMapping
from jouleloop.model.evaluation import Evaluation
from jouleloop.report.style import BLACK, SERIES, legend_below, log_ticks, response_axis, styled
from jouleloop.units import PJ, energies_in, said

if TYPE_CHECKING:
    from jouleloop.api.curves import Curve
    from jouleloop.api.network_curve import NetworkCurve

#: Where the parts of a row begin, as shares of its width; a row is one unit high, half of it its box.
_TILES, _LOOPS, _ENERGY, _WIDTH = 0.17, 0.57, 0.87, 1.0
_BOX, _GAP, _EDGE = 0.62, 0.008, 0.004
_ROW_IN, _WIDTH_IN = 0.5, 9.0


def plot_breakdown(rows: list[dict[str, Any]], title: str, unit: str, ax: Axes | None = None) -> Axes:
    """Draw bars of energy [pJ, or ``unit``] a level, stacked by data space; return the axes."""
    table = pd.DataFrame(rows).pivot_table(
        "energy_pj", "level", "data_space", aggfunc="sum", sort=False, fill_value=0.0, observed=True
    )
    with styled():
        panel = plt.subplots(figsize=(6, 0.5 * len(table) + 1.4), layout="constrained")[1] if ax is None else ax
        left = pd.Series(0.0, table.index)
        for color, (space, energies) in zip((*SERIES, BLACK), table.items(), strict=False):
            panel.barh(range(len(table)), energies, left=left, color=color, label=str(space))
            left += energies
        panel.set_yticks(range(len(table)), list(table.index))
        panel.invert_yaxis()
        panel.grid(visible=False, axis="y")
        panel.grid(visible=True, axis="x")
        with energies_in(unit):
            response_axis(panel.xaxis, PJ, said("energy"), float(left.max()))
        panel.set_title(title)
        legend_below(panel, panel.get_legend_handles_labels()[0], ncols=table.shape[1])
    return panel


def plot_mapping(
    levels: Sequence[LevelMapping], counts: Evaluation, spaces: Sequence[str], title: str, ax: Axes | None = None
) -> Axes:
    """Draw a loop nest, outermost level on top; return the axes.

    A row has the level's tiles [words], its temporal loops from the outside in, and its share of the energy. What
    stands between two rows is unrolled over instances below.
    """
    colours = dict(zip(spaces, (*SERIES, BLACK), strict=False))
    with styled():
        panel = plt.subplots(figsize=(_WIDTH_IN, _ROW_IN * (len(levels) + 2)))[1] if ax is None else ax
        for row, level in enumerate(levels):
            _draw_level(panel, row, level, counts, colours)
        share = counts.compute_energy_pj / (counts.energy_pj or 1.0)
        _row(panel, len(levels), counts.compute_name, f"{counts.compute_instances:,} instances", share)
        panel.set(xlim=(-_EDGE, _WIDTH + _EDGE), ylim=(len(levels) + 1, -0.45))
        panel.axis("off")
        for place, heading in ((0, "level"), (_TILES, "tile [words]"), (_LOOPS, "loops"), (_ENERGY, "energy")):
            panel.text(place, -0.25, heading, weight="bold", va="center")
        panel.set_title(f"{title}, {counts.cycles:,} cycles")
    return panel


def _draw_level(panel: Axes, row: int, level: LevelMapping, counts: Evaluation, colours: dict[str, str]) -> None:
    """Draw a row, and between it and the next one what is unrolled there."""
    stats = next((one.data for one in counts.levels if one.name == level.level), {})
    share = sum(one.energy_pj for one in stats.values()) / (counts.energy_pj or 1.0)
    loops = " ".join(f"{dimension}:{bound:,}" for dimension, bound in level.temporal)
    _row(panel, row, level.level, f"for {loops}" if loops else "no loop", share)
    width = (_LOOPS - _TILES) / max(1, len(colours)) - _GAP
    for position, space in enumerate(colours):
        if space not in level.keep:
            continue
        left = _TILES + position * (width + _GAP)
        panel.add_patch(Rectangle((left, row), width, _BOX, color=colours[space], alpha=0.35, lw=0))
        words = f"{stats[space].tile_words:,}" if space in stats else "–"
        panel.text(left + width / 2, row + _BOX / 2, f"{space} {words}", ha="center", va="center", fontsize=6)
    if level.spatial:
        unrolled = " ".join(f"{dimension}:{bound:,} on {axis}" for dimension, bound, axis in level.spatial)
        panel.text(_LOOPS, row + (_BOX + 1) / 2, f"in parallel {unrolled}", va="center", fontsize=6, style="italic")


def _row(panel: Axes, row: int, name: str, loops: str, share: float) -> None:
    panel.add_patch(Rectangle((0, row), _WIDTH, _BOX, fill=False, lw=0.6))
    panel.text(0.008, row + _BOX / 2, name, va="center")
    panel.text(_LOOPS, row + _BOX / 2, loops, va="center", fontsize=7)
    bar = (_WIDTH - _ENERGY) * share
    panel.add_patch(Rectangle((_ENERGY, row + 0.1), bar, _BOX - 0.2, color=BLACK, alpha=0.25, lw=0))
    panel.text(_ENERGY + 0.008, row + _BOX / 2, f"{share:.1%}", va="center", fontsize=7)


def plot_curve(curve: "Curve", ax: Axes | None = None, *, theory: bool = True) -> Axes:
    """Draw a staircase over the capacity, both axes logarithmic, with what the papers say of DRAM words; return axes.

    An energy is drawn beside theory only where it is words: where words of main memory alone cost something.
    """
    question, steps = curve.staircase.question, _drawn(curve.steps)
    words, values = [max(step.words, 1) for step in steps], [step.value for step in steps]
    with styled():
        panel = _plot_steps(words, values, ax, proven=curve.proven)
        drawn = theory and [dram_words(step.result.evaluation) for step in steps if step.result.evaluation] == values
        for line, colour in zip(theory_lines(question, words) if drawn else (), SERIES, strict=False):
            panel.plot(words, [np.nan if value is None else value for value in line.words], color=colour,
                       ls="--" if line.lower else ":", label=line.name)  # fmt: skip
        panel.set(xlabel=f"{question.level} [words]", ylabel=f"{question.objective} [{curve.unit}]")
        panel.set_title(f"{curve.problem.name} on {curve.architecture.name}")
        panel.legend()
    return panel


def plot_network_curve(curve: "NetworkCurve", ax: Axes | None = None) -> Axes:
    """Draw the staircase of a network over the capacity, both axes logarithmic; return the axes."""
    steps = _drawn(curve.steps)
    with styled():
        panel = _plot_steps([max(s.words, 1) for s in steps], [s.value for s in steps], ax, proven=curve.proven)
        panel.set(xlabel=f"{curve.level} [words]", ylabel=f"{curve.objective} [{curve.unit}]", title=curve.name)
        panel.legend()
    return panel


def _drawn(steps: Sequence[Any]) -> Sequence[Any]:
    """Return the steps that a logarithmic axis has, or the only one, of 0 words, which is drawn from 1 word on."""
    return [step for step in steps if step.words > 0] or steps[-1:]


def _plot_steps(words: Sequence[int], values: Sequence[float], ax: Axes | None, *, proven: bool) -> Axes:
    """Draw values that hold from so many words on; a last piece shows that the largest capacity that helps is one."""
    panel = plt.subplots(figsize=(5.0, 3.4), layout="constrained")[1] if ax is None else ax
    label = "least, proven" if proven else "least found"
    last = [4 * words[-1]] if words else []
    panel.step([*words, *last], [*values, *values[-1:]], where="post", color=BLACK, label=label)
    panel.plot(words, values, ".", ms=3, color=BLACK)
    panel.set(xscale="log", yscale="log")
    log_ticks(panel.xaxis)
    log_ticks(panel.yaxis)
    return panel
