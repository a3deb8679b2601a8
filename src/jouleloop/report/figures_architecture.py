"""Figures of sweeps over an architecture: energy per multiply-accumulate against an attribute, the best marked."""

from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib import colormaps
from matplotlib.axes import Axes

from jouleloop.columns import write_table
from jouleloop.errors import Fault, InputError
from jouleloop.report.style import (
    BEST,
    SEQUENTIAL,
    SERIES,
    ReportFigure,
    new_figure,
    response_axis,
    save_figure,
    styled,
)
from jouleloop.stats.regression import FloatArray
from jouleloop.stats.table import data_spaces
from jouleloop.tables.layouts import VARIANTS
from jouleloop.tables.variants import ALL_LAYERS, shown_attribute, variants_table
from jouleloop.units import energies_in, unit_of
from jouleloop.workload.sweep import Sweep

_MARKERS = "osD^vPX*"
#: Values further apart than this ratio are drawn on a logarithmic axis.
_WIDE = 8
#: More labels on an axis would run into each other.
_MANY_TICKS = 12


def architecture_figure(energies: pd.DataFrame, sweep: Sweep, architecture: str) -> ReportFigure:
    """Draw energy per multiply-accumulate against the attribute that a sweep varies.

    One layer on one line: its levels are stacked below the total. Several layers, or several attributes: a line each.

    Raises `InputError` where no point of the sweep has a mapping on the architecture.
    """
    table = variants_table(energies, sweep)
    table = table[table["architecture"] == architecture]
    usable = table[table["status"] == "ok"]
    if usable.empty:
        reason = str(table["reason"].iloc[0]) if len(table) else "the sweep was not run on it"
        raise InputError(Fault(f"no point of {sweep.name} has a mapping on {architecture}: {reason}", sweep.source))
    attribute = shown_attribute(table, sweep)
    others = [path for path in sweep.attributes if path != attribute and usable[path].nunique() > 1]
    lines = list(usable.groupby(["layer", *others], sort=False))
    with styled():
        figure, [[panel]] = new_figure(1, 1)
        ticks = _positions(usable[attribute])
        if len(lines) == 1:
            _stack_levels(panel, energies, sweep, architecture, attribute, ticks)
        for (key, line), colour, marker in zip(lines, _colours(len(lines)), _cycle(len(lines)), strict=True):
            ordered = line.assign(at=line[attribute].map(ticks)).sort_values("at", kind="stable")
            label = "total" if len(lines) == 1 else _label(key, others)
            panel.plot(ordered["at"], ordered["pj_per_mac"], marker=marker, ms=3.5, color=colour, label=label)
            best = ordered[ordered["best"]]
            if len(best):
                panel.plot(best["at"], best["pj_per_mac"], "*", ms=11, color=BEST, zorder=5)
        panel.plot([], [], "*", ms=9, color=BEST, label="least energy")
        _axis(panel, attribute, ticks)
        response_axis(panel.yaxis, "pJ", "energy per MAC", float(usable["pj_per_mac"].max()))
        panel.set_ylim(bottom=0)
        panel.set_title(architecture.capitalize())
        panel.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), fontsize="small")
    return ReportFigure(f"architecture_{architecture}", figure, _caption(table, usable, sweep, architecture, attribute))


def write_architecture_sweep(energies: pd.DataFrame, sweep: Sweep, results: Path) -> None:
    """Write the table of a sweep's variants, and draw energy per MAC on every architecture that has a mapping."""
    table = variants_table(energies, sweep)
    with energies_in(unit_of(energies["energy_table"].dropna())):
        write_table(results / "architecture" / sweep.name, table, VARIANTS)
        for name in dict.fromkeys(table["architecture"][table["status"] == "ok"]):
            save_figure(architecture_figure(energies, sweep, str(name)), results / "figures" / sweep.name)


def _caption(table: pd.DataFrame, usable: pd.DataFrame, sweep: Sweep, architecture: str, attribute: str) -> str:
    best = usable[usable["best"]].drop_duplicates(["layer"])
    words = "; ".join(f"{row.layer}: {row.variant} with {row.pj_per_mac:.4g} pJ" for row in best.head(6).itertuples())
    unmapped = len(table) - len(usable)
    left_out = f" {unmapped} points have no mapping or no energies and are left out." if unmapped else ""
    return (
        f"Question: with which {attribute} does sweep {sweep.name} cost least on {architecture.capitalize()}? "
        f"Total energy per multiply-accumulate at the best mapping, energies per access estimated for every variant "
        f"({', '.join(sorted(set(usable['estimator'])))}). Unit: J. {len(usable)} points.{left_out} Stars: {words}."
    )


def _positions(values: pd.Series) -> dict[object, float]:
    """Return where each value lies on the axis: numbers where they are, text side by side."""
    distinct = list(dict.fromkeys(values))
    if all(isinstance(value, (int, float, np.number)) for value in distinct):
        return {value: float(value) for value in distinct}
    return {value: float(index) for index, value in enumerate(distinct)}


def _axis(panel: Axes, attribute: str, ticks: dict[object, float]) -> None:
    places = sorted(ticks.items(), key=lambda item: item[1])
    numbers = all(isinstance(value, (int, float, np.number)) for value, _ in places)
    if numbers and places[0][1] > 0 and places[-1][1] / places[0][1] >= _WIDE:
        panel.set_xscale("log", base=2)
    if not numbers or len(places) <= _MANY_TICKS:
        panel.set_xticks([at for _, at in places], [str(value) for value, _ in places], rotation=30, ha="right")
        panel.minorticks_off()
    panel.set_xlabel(attribute)


def _stack_levels(
    panel: Axes, energies: pd.DataFrame, sweep: Sweep, architecture: str, attribute: str, ticks: dict[object, float]
) -> None:
    rows = energies[(energies["sweep"] == sweep.name) & (energies["architecture"] == architecture)]
    rows = (
        rows[rows["status"] == "ok"]
        .assign(at=lambda frame: frame[attribute].map(ticks))
        .sort_values("at", kind="stable")
    )
    macs = rows["macs"].to_numpy(dtype=np.float64)
    parts: dict[str, FloatArray] = {"compute": rows["compute_pj"].to_numpy(dtype=np.float64) / macs}
    for column in energies.columns:
        for space in data_spaces(energies):
            level = column.removesuffix(f"_{space}_pj")
            if level != column:
                values = rows[column].fillna(0).to_numpy(dtype=np.float64) / macs
                parts[level] = parts.get(level, np.zeros(len(rows))) + values
    drawn = {name: values for name, values in parts.items() if values.max(initial=0) > 0}
    palette = colormaps[SEQUENTIAL]
    colours = [palette(0.15 + 0.7 * index / max(len(drawn) - 1, 1)) for index in range(len(drawn))]
    panel.stackplot(rows["at"], list(drawn.values()), labels=list(drawn), colors=colours, alpha=0.55, lw=0)


def _label(key: tuple[object, ...], others: list[str]) -> str:
    layer, *values = key
    words = [] if layer == ALL_LAYERS and values else [str(layer)]
    return ", ".join(words + [f"{path} = {value}" for path, value in zip(others, values, strict=True)])


def _colours(count: int) -> list[str]:
    return ["black"] if count == 1 else [SERIES[index % len(SERIES)] for index in range(count)]


def _cycle(count: int) -> list[str]:
    return [_MARKERS[index % len(_MARKERS)] for index in range(count)]
