"""Figures of paper 002's theory: a dataflow as in Figures 2 and 3, and bounds beside exact optima."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from jouleloop.errors import Fault, InputError
from jouleloop.files import read_text
from jouleloop.theory.fully_connected.dataflows import bounded_inputs, fixed_inputs
from jouleloop.theory.fully_connected.exact import exact_minimum
from jouleloop.theory.fully_connected.formulas import FcLayer
from jouleloop.theory.fully_connected.optima import from_csv
from jouleloop.theory.fully_connected.schedule import Run, Step, run

_BY_OUTPUT = "#4c72b0"
_BY_INPUT = "#dd8452"
MOST_PICTURED = 2_500
"""Pairs beyond which a picture of single pairs cannot be read."""


def draw_run(done: Run) -> Figure:
    """Draw a dataflow: the matrix of pairs, each with the time t of the read that made it.

    As in 002 Figures 2 and 3 every read is an arrow, vertical and black for an output, horizontal and white for an
    input, in the direction in which its side is gone through; dark cells were made by the former, light ones by the
    latter. Reads that make no pair stand outside the matrix. The strip below shows Buffer after every read.

    Raises `InputError` where there are more than 2,500 pairs.
    """
    schedule = done.schedule
    n, m, p = schedule.inputs, schedule.outputs, done.reads
    if n * m > MOST_PICTURED:
        raise InputError(Fault("too many pairs to picture", value=n * m, allowed=f"<= {MOST_PICTURED}"))
    unit = 0.32
    figure = Figure(figsize=(max(5.0, unit * max(n, p) + 1.5), unit * (2 * m + n) + 2.2), layout="constrained")
    matrix, strip = figure.subplots(2, 1, height_ratios=[m, n + m])
    _arrows(matrix, done.steps)
    for step in done.steps:
        colour = _BY_OUTPUT if step.read.vertex.side == "y" else _BY_INPUT
        for x, y in sorted(step.new_pairs):
            matrix.add_patch(mpl.patches.Rectangle((x - 0.5, y - 0.5), 1, 1, facecolor=colour, edgecolor="white"))
            matrix.text(x, y, str(step.time), ha="center", va="center", fontsize=7, color="white")
        for vertex in sorted(step.contents):
            row = vertex.index if vertex.side == "x" else n + vertex.index
            new = vertex == step.read.vertex
            shade = (_BY_OUTPUT if vertex.side == "y" else _BY_INPUT) if new else "#c8c8c8"
            strip.add_patch(
                mpl.patches.Rectangle((step.time - 0.5, row - 0.5), 1, 1, facecolor=shade, edgecolor="white")
            )
    _axes(matrix, n, m, [f"x{i}" for i in range(1, n + 1)], [f"y{j}" for j in range(1, m + 1)])
    matrix.set_title(
        f"{schedule.title}: n = {n}, m = {m}, β = {schedule.buffer_words};"
        f" μ = {done.output_reads}, ν = {done.input_reads}, 2μ + ν = {done.accesses}\n"
        "number: the read t at which the pair first meets\n"
        "blue, black arrows: an output is read; orange, white arrows: an input is read",
        fontsize=8,
        pad=14,
    )
    names = [f"x{i}" for i in range(1, n + 1)] + [f"y{j}" for j in range(1, m + 1)]
    _axes(strip, p, n + m, [str(t) if t % 5 == 0 or t == 1 else "" for t in range(1, p + 1)], names)
    strip.set_title("Buffer after read t", fontsize=8, loc="left")
    return figure


def _arrows(axes: Any, steps: Sequence[Step]) -> None:
    """Draw an arrow for every read, in the middle one of the cells that it makes."""
    previous = {"x": 0, "y": 0}
    for position, step in enumerate(steps):
        side, index = step.read.vertex.side, step.read.vertex.index
        following = next(
            (later.read.vertex.index for later in steps[position + 1 :] if later.read.vertex.side == side), 0
        )
        # After a jump the direction is that of the next read.
        jumped = abs(index - previous[side]) > 1 and following
        half = 0.36 if (following > index if jumped else index > previous[side]) else -0.36
        previous[side] = index
        made = sorted(pair[1 if side == "x" else 0] for pair in step.new_pairs)
        # Below the number of a light cell, left of that of a dark one; outside the matrix where no pair is new.
        across = made[len(made) // 2] + (0.34 if side == "x" else -0.36) if made else 0.2
        start, end = (index - half, across), (index + half, across)
        colour = ("white" if made else _BY_INPUT) if side == "x" else "black"
        axes.annotate(
            "",
            xy=end if side == "x" else end[::-1],
            xytext=start if side == "x" else start[::-1],
            arrowprops={
                "arrowstyle": "-|>",
                "color": colour,
                "linewidth": 0.8,
                "mutation_scale": 5,
                "shrinkA": 0,
                "shrinkB": 0,
            },
            annotation_clip=False,
        )


def draw_gap(path: Path) -> Figure:
    """Draw the table of optima at ``path``: the exact least 2μ + ν less the bounds of eqs. (19) and (20)."""
    table = from_csv(read_text(path))
    figure = Figure(figsize=(8, 3.6), layout="constrained")
    left, right = figure.subplots(1, 2, sharey=True)
    for axes, holds, title in ((left, True, "assumptions of eq. (20) hold"), (right, False, "assumptions do not hold")):
        chosen = table[table["decided"] & (table["assumptions_hold"] == holds)]
        for name, beside, colour in (("lower_bound_20", -0.17, _BY_INPUT), ("lower_bound_19", 0.17, _BY_OUTPUT)):
            gaps = Counter(zip(chosen["outputs"], chosen["upper_accesses"] - chosen[name].astype(float), strict=True))
            # The area of a point is the number of layers it stands for.
            axes.scatter(
                [m + beside for m, _ in gaps],
                [gap for _, gap in gaps],
                s=[8.0 * count for count in gaps.values()],
                color=colour,
                alpha=0.6,
                linewidths=0,
            )
        axes.axhline(0, color="black", linewidth=0.8)
        axes.set_title(f"{title} ({len(chosen)} layers)", fontsize=9, loc="left")
        axes.set_xlabel("outputs m")
        axes.set_xticks(sorted(table["outputs"].unique()))
    left.set_ylabel("exact − bound (accesses)")
    handles = [Patch(color=colour, label=f"eq. ({number})") for number, colour in ((20, _BY_INPUT), (19, _BY_OUTPUT))]
    figure.legend(
        handles=handles, title="area: number of layers", loc="outside right center", fontsize=8, title_fontsize=8
    )
    return figure


def draw_algorithm_1() -> Figure:
    """Draw Algorithm 1 of 002 on a small layer, run and checked."""
    return draw_run(run(fixed_inputs(12, 8, 6, 2)))


def draw_algorithm_2() -> Figure:
    """Draw Algorithm 2 of 002 on a small layer, run and checked."""
    return draw_run(run(bounded_inputs(10, 10, 6, 3)))


def draw_cheaper_by_search() -> Figure:
    """Draw a schedule found by search that is cheaper than both algorithms."""
    return draw_run(run(exact_minimum(FcLayer(6, 7, 3)).schedule()))


def _axes(axes: Any, width: int, height: int, columns: list[str], rows: list[str]) -> None:
    axes.set_xlim(0.5, width + 0.5)
    axes.set_ylim(height + 0.5, 0.5)
    axes.set_aspect("equal")
    axes.set_xticks(range(1, width + 1), columns, fontsize=6)
    axes.set_yticks(range(1, height + 1), rows, fontsize=6)
    axes.tick_params(length=0)
