"""The picture of a mapping: levels as rows, with the tiles that they keep, their loops, fan-out and energy."""

from typing import TYPE_CHECKING

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from jouleloop.model.evaluation import Evaluation
from jouleloop.report.style import BLACK, SERIES, styled

if TYPE_CHECKING:
    from jouleloop.api.results import Result
    from jouleloop.mapping.mapping import LevelMapping

#: Where the parts of a row begin, as shares of its width; a row is one unit high, half of it its box.
_TILES, _LOOPS, _ENERGY, _WIDTH = 0.17, 0.57, 0.87, 1.0
_BOX, _GAP, _EDGE = 0.62, 0.008, 0.004
_ROW_IN, _WIDTH_IN = 0.5, 9.0


def plot_mapping(result: "Result", ax: Axes | None = None) -> Axes:
    """Draw the loop nest of a result, outermost level on top; return the axes.

    A row has the level's tiles [words], its temporal loops from the outside in, and its share of the energy. What
    stands between two rows is unrolled over instances below.
    """
    levels, counts = result.loop_nest.levels, result.counts
    spaces = [space.name for space in result.problem.data_spaces]
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
        panel.set_title(
            f"{result.problem.name} on {result.architecture.name}: {result.energy_pj:,.0f} {result.unit}, "
            f"{result.cycles:,} cycles"
        )
    return panel


def _draw_level(panel: Axes, row: int, level: "LevelMapping", counts: Evaluation, colours: dict[str, str]) -> None:
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
