"""Figures of where the energy goes: stacks by level and data space, energy per MAC, DRAM words against a bound."""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.patches import Patch
from matplotlib.ticker import PercentFormatter

from jouleloop.errors import Fault, InputError
from jouleloop.report.figures import macs_of
from jouleloop.report.selection import architectures_of, require_columns
from jouleloop.report.style import (
    FIT,
    SEQUENTIAL,
    SERIES,
    ReportFigure,
    draw_bars,
    hatches,
    legend_below,
    log_ticks,
    new_figure,
    response_axis,
    size_axis,
    styled,
)
from jouleloop.stats.cases import SweepDescription
from jouleloop.stats.expression import evaluate_variable
from jouleloop.stats.regression import FloatArray
from jouleloop.stats.table import data_spaces, find_responses, response_values

_MANY_STACKS = 64
_COMPUTE = "#bdbdbd"
#: Ratios closer to one are one, summed in another order.
_SAME = 1e-9
#: Below this share the rest is too thin to be seen beside the outermost level.
_DWARFED = 0.3


def breakdown_figure(energies: pd.DataFrame, sweep: SweepDescription, architecture: str) -> ReportFigure:
    """Draw total energy as stacks: compute, then each level (colour) split by data space (hatch).

    Left in joules, right as shares. Where the outermost level is nearly all of it, the shares are those of the rest,
    since nothing else could be seen.

    Layers that share a size are averaged; of more than 64 sizes, evenly spaced ones are drawn.

    Raises `InputError` for an unknown sweep or architecture, or a table without energies per level and data space.
    """
    [name] = architectures_of(energies, sweep.name, architecture)
    with styled():
        figure, [[left, right]] = new_figure(1, 2)
        rows = _usable(energies, sweep.name, name)
        x = evaluate_variable(sweep.variable, rows)
        parts = energy_parts(rows)
        legend_below(left, _draw_stacks(left, x, parts, sweep.label), ncols=3, at=0.4)
        left.set_title(name.capitalize())
        response_axis(left.yaxis, "pJ", "total energy", float(left.get_ylim()[1]))
        total = np.sum(list(parts.values()), axis=0)
        outer = next(level for level, _ in parts if level != "compute")
        rest = np.sum([values for (level, _), values in parts.items() if level != outer], axis=0) / total
        dwarfed = bool(rest.max() < _DWARFED)
        shares = {key: values / total * (not (dwarfed and key[0] == outer)) for key, values in parts.items()}
        _draw_stacks(right, x, shares, sweep.label)
        right.set_title(f"all but {outer}" if dwarfed else "shares")
        right.set_ylabel("share of total energy")
        right.yaxis.set_major_formatter(PercentFormatter(1, decimals=None))
        right.set_ylim(0, None if dwarfed else 1)
    caption = (
        f"Question: where does the energy of sweep {sweep.name} go? Stacked from below: compute, then every level of "
        "the storage hierarchy (colour), split by data space (hatch: none weights, rising lines inputs, falling lines "
        f"outputs). Unit: J, right share of the total. {name.capitalize()} n = {len(rows)} layers; layers of one size "
        "are averaged. No test is made here; the levels' own growth is in the table of verdicts."
    )
    return ReportFigure(f"breakdown_{sweep.name}_{name}", figure, caption)


def energy_parts(rows: pd.DataFrame) -> dict[tuple[str, str], FloatArray]:
    """Return what the energy of every row [pJ] is made of, by (level, data space); compute comes first.

    Raises `InputError` where the table has no energies per level and data space.
    """
    entries = find_responses(rows, ["spaces"])
    if not entries:
        raise InputError(Fault("the energies table has no energies per level and data space"))
    parts: dict[tuple[str, str], FloatArray] = {}
    if "compute_pj" in rows.columns:
        parts["compute", "compute"] = np.nan_to_num(rows["compute_pj"].to_numpy(dtype=np.float64))
    for entry in entries:
        values = response_values(rows, entry)
        stem = entry.name.removesuffix("_pj")
        space = next(s for s in data_spaces(rows) if stem.endswith(f"_{s}"))
        if values is not None and np.nansum(values) > 0:
            parts[stem.removesuffix(f"_{space}"), space] = np.nan_to_num(values)
    return parts


def stack_bars(
    panel: Axes, place: FloatArray, width: float | FloatArray, parts: dict[tuple[str, str], FloatArray]
) -> list[Patch]:
    """Draw bars at ``place`` stacked from ``parts``, levels by colour and data spaces by hatch; return the legend."""
    levels = list(dict.fromkeys(level for level, _ in parts))
    # By the place of a level in its hierarchy, as in the report's page.
    stored = [level for level in levels if level != "compute"]
    colours = {"compute": _COMPUTE} | {level: SERIES[i % len(SERIES)] for i, level in enumerate(stored)}
    base = np.zeros(place.size)
    hatch = hatches(dict.fromkeys(space for _, space in parts if space != "compute")) | {"compute": ""}
    for (level, space), height in parts.items():
        draw_bars(panel, place, height, width, base, fc=colours[level], hatch=hatch[space], ec="white")
        base = base + height
    handles = [Patch(facecolor=colours[level], label=level.replace("_", " ")) for level in reversed(levels)]
    spaces = [space for space in hatch if space != "compute"]
    return handles + [Patch(facecolor="#dddddd", hatch=hatch[s], edgecolor="#444444", label=s) for s in spaces]


def _draw_stacks(panel: Axes, x: FloatArray, parts: dict[tuple[str, str], FloatArray], label: str) -> list[Patch]:
    """Draw the mean parts of every size as a stack; return the legend."""
    sizes, group = np.unique(x, return_inverse=True)
    chosen = np.arange(sizes.size)
    if sizes.size > _MANY_STACKS:
        wanted = np.linspace(sizes[0], sizes[-1], _MANY_STACKS)
        chosen = np.unique(np.abs(sizes[:, np.newaxis] - wanted).argmin(axis=0))
    counts = np.bincount(group)
    means = {key: np.bincount(group, values)[chosen] / counts[chosen] for key, values in parts.items()}
    # Each at its size, as wide as its nearer neighbour allows: evenly spaced, linear growth in mn would look quadratic.
    place = sizes[chosen]
    gaps = np.diff(place, prepend=-np.inf, append=np.inf)
    width = 0.85 * np.minimum(gaps[:-1], gaps[1:])
    handles = stack_bars(panel, place, np.where(np.isfinite(width), width, 1.0), means)
    size_axis(panel.xaxis, label, float(place.max(initial=0)))
    return handles


def heat_map_figure(energies: pd.DataFrame, sweep: str, architecture: str) -> ReportFigure:
    """Draw data energy per multiply-accumulate over (n, m) = (C, M); layers without mapping stay white.

    Raises `InputError` for an unknown sweep or architecture, a missing column, or a sweep with two layers of the same n
    and m.
    """
    require_columns(energies, ["C", "M", "data_pj"])
    [name] = architectures_of(energies, sweep, architecture)
    import seaborn as sns  # noqa: PLC0415 - slow to import, and no other figure needs it

    with styled():
        figure, [[panel]] = new_figure(1, 1)
        rows = _usable(energies, sweep, name)
        if rows.duplicated(["C", "M"]).any():
            raise InputError(Fault(f"sweep {sweep} has several layers with the same n and m: no map of (n, m)"))
        everything = energies[(energies["sweep"] == sweep) & (energies["architecture"] == name)]
        grid = (
            rows.assign(per_mac=rows["data_pj"] / macs_of(rows))
            .pivot_table(index="M", columns="C", values="per_mac")
            .reindex(index=sorted(everything["M"].unique(), reverse=True), columns=sorted(everything["C"].unique()))
        )
        steps = max(1, len(grid) // 8)
        top = float(np.nanquantile(grid.to_numpy(), 0.98)) if len(rows) else None
        sns.heatmap(
            grid,
            ax=panel,
            cmap=SEQUENTIAL,
            xticklabels=steps,
            yticklabels=steps,
            vmax=top,
            cbar_kws={"label": "pJ per MAC", "extend": "max"},
            rasterized=True,
        )
        panel.set_title(name.capitalize())
        panel.grid(visible=False)
        panel.set_xlabel("inputs n")
        panel.set_ylabel("outputs m")
    caption = (
        "Question: which shapes of layer are cheap? Energy (data_pj) per multiply-accumulate over "
        f"the number of inputs n and of outputs m, sweep {sweep}. Unit: pJ per MAC. {name.capitalize()} "
        f"n = {len(rows)} of {len(everything)} layers; white: no mapping; the colours end at the 98 % quantile. "
        "No test is made here."
    )
    return ReportFigure(f"heatmap_{sweep}_{name}", figure, caption)


def dram_bound_figure(energies: pd.DataFrame, sweep: SweepDescription, bound_column: str) -> ReportFigure:
    """Draw DRAM words of every layer against the lower bound in ``bound_column``, as a roofline.

    Left, both logarithmic, the bound is the diagonal, and no point may lie below it; right, the ratio.

    Raises `InputError` for an unknown sweep or a missing column.
    """
    words = find_responses(energies, ["dram_words"])
    require_columns(energies, [bound_column])
    if not words:
        raise InputError(Fault("the energies table has no column 'dram_words_…'"))
    counted = []
    with styled():
        figure, [[left, right]] = new_figure(1, 2)
        ends: list[float] = []
        ratios: list[float] = []
        names = architectures_of(energies, sweep.name)
        for place, (name, colour, marker) in enumerate(zip(names, SERIES, "osD^vPX*", strict=False)):
            rows = _usable(energies, sweep.name, name)
            # Architectures that move the same words show around each other, not on top of each other.
            size = 2.5 + 2.0 * (len(names) - 1 - place)
            moved = response_values(rows, words[0])
            bound = rows[bound_column].to_numpy(dtype=np.float64)
            if moved is None:
                continue
            known = np.isfinite(moved) & np.isfinite(bound) & (bound > 0) & (moved > 0)
            moved, bound = moved[known], bound[known]
            ratios += [*(moved / bound)]
            for panel, values in ((left, moved), (right, moved / bound)):
                panel.plot(bound, values, marker, ms=size, mfc="none", mew=0.8, color=colour, label=name.capitalize())
            ends += [*bound, *moved]
            below = int((moved < bound * (1 - 1e-9)).sum())
            counted.append(f"{name.capitalize()} n = {bound.size}, {below} below the bound")
        if ends:
            span = np.array([min(ends), max(ends)])
            left.plot(span, span, "--", color=FIT, label="lower bound")
            right.axhline(1, ls="--", color=FIT)
            if all(abs(ratio - 1) < _SAME for ratio in ratios):
                right.set_title("every layer moves just the bound")
        left.set_yscale("log")
        for panel in (left, right):
            panel.set_xscale("log")
            panel.grid(visible=True, which="major", axis="both")
            panel.set_xlabel("lower bound [DRAM words]")
            log_ticks(panel.xaxis)
        log_ticks(left.yaxis)
        left.set_ylabel("moved [DRAM words]")
        right.set_ylabel("moved / lower bound")
        left.legend(loc="upper left")
    caption = (
        f"Question: how near to theory's lower bound is the DRAM traffic of sweep {sweep.name}? Unit: words. "
        f"{'; '.join(counted)}. Decision rule: a layer below the dashed line would refute the bound (or the model)."
    )
    return ReportFigure(f"dram_bound_{sweep.name}", figure, caption)


def _usable(energies: pd.DataFrame, sweep: str, architecture: str) -> pd.DataFrame:
    rows = energies[(energies["sweep"] == sweep) & (energies["architecture"] == architecture)]
    return rows[rows["status"] == "ok"]
