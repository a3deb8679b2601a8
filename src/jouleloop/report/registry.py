"""The figures of a study: a new one is a function and an entry here; rules, targets, commands and docs follow.

Nothing here draws, so nothing here imports matplotlib: the workflow asks what there is before it draws.
"""

import importlib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, cast

from jouleloop.config.load import LAYERS, Study
from jouleloop.layouts import Layout
from jouleloop.tables.layouts import (
    BUFFER_GROWTH,
    ENERGIES,
    LAW_POINTS,
    LAWS,
    NETWORKS,
    PUBLISHED,
    THEORY_CONV_ENERGY,
    THEORY_RATIO,
)
from jouleloop.tables.transformers import has_parts
from jouleloop.units import PJ
from jouleloop.workload.sweep import Sweep

if TYPE_CHECKING:  # they import statistics and matplotlib
    from jouleloop.report.run_tables import RunTables
    from jouleloop.report.style import ReportFigure

FIGURE4_SWEEPS = ("fc_inputs", "fc_outputs", "fc_weights")
FIGURE4_ARCHITECTURES = ("simba", "eyeriss")

#: Tables that compare with energies in joules.
_IN_JOULES = {PUBLISHED, THEORY_CONV_ENERGY}

#: What a figure's file name may say, and what a study has of it.
_OFFERS: Mapping[str, Callable[[Study], Sequence[str]]] = {
    "sweep": lambda study: [sweep.name for sweep in study.tested],
    "variant_sweep": lambda study: [sweep.name for sweep in study.architecture_sweeps],
    "network": lambda study: [network.name for network in study.networks],
    "architecture": lambda study: list(study.config.architectures),
}


@dataclass(frozen=True)
class FigureKind:
    """One kind of figure."""

    name: str
    """As in rules, labels and commands."""
    stem: str
    """Its file below ``results/figures`` without ending; the words in braces say per what it is drawn, see
    `_OFFERS`."""
    needs: tuple[Layout, ...]
    """The tables it is drawn from."""
    draw: str
    """``module:function`` below `jouleloop.report`; called with the `RunTables` and the words in braces by name."""
    caption: str
    """Question, unit, number of points and decision rule, for Snakemake's report; may name the words in braces,
    ``layers``, ``margin`` and ``alpha``."""
    applies: Callable[[Study, Sweep], bool] = lambda _study, _sweep: True
    """Whether a sweep (or network) has it."""
    beyond: bool = False
    """Whether it shows more than the rows of its sweep."""
    always: bool = True
    """Whether the default run draws it; ``snakemake figures`` and `jouleloop figures` draw all."""
    folder: bool = False
    """Whether its files are known only once it is drawn, since some places have nothing to draw: then its folder is the
    target."""
    title: str = ""
    """Heading in Snakemake's report, where the sweep or network is none."""

    @property
    def per(self) -> tuple[str, ...]:
        """What there is one figure of each of: words of `_OFFERS`."""
        return tuple(dict.fromkeys(re.findall(r"{(\w+)}", self.stem)))

    @property
    def subject(self) -> str | None:
        """What it shows: a sweep, a network, or None for the study."""
        return next((word for word in self.per if word != "architecture"), None)

    def subjects(self, study: Study) -> list[str]:
        """Return the sweeps or networks that have it; one empty name where the study itself does."""
        if self.subject is None:
            return [""] if any(self.applies(study, sweep) for sweep in study.sweeps) else []
        if study.unit != PJ and not _IN_JOULES.isdisjoint(self.needs):
            return []
        by_name = {sweep.name: sweep for sweep in (*study.sweeps, *study.architecture_sweeps)}
        return [name for name in _OFFERS[self.subject](study) if self.applies(study, by_name[name])]

    def places(self, study: Study, architectures: Sequence[str] | None = None) -> Iterator[dict[str, str]]:
        """Yield the values of the words in braces for every figure of a study, or of some of its architectures."""
        shown = list(study.config.architectures) if architectures is None else architectures
        for name in self.subjects(study):
            values = [[name] if word == self.subject else shown for word in self.per]
            yield from (dict(zip(self.per, place, strict=True)) for place in product(*values))

    def figure(self, run: "RunTables", place: Mapping[str, str]) -> "ReportFigure | None":
        """Return the drawing for one place, None where there is nothing to draw."""
        module, _, function = self.draw.partition(":")
        return cast(
            "ReportFigure | None",
            getattr(importlib.import_module(f"jouleloop.report.{module}"), function)(run, **place),
        )


def _is_fc(_: Study, sweep: Sweep) -> bool:
    return all(point.layer.kind.name == "fc" for point in sweep.points)


def _has_map(_: Study, sweep: Sweep) -> bool:
    """Whether the layers vary in inputs n and outputs m, with at most one layer for every (n, m)."""
    if any(point.layer.kind.base != "conv" for point in sweep.points):
        return False
    places = [(point.layer.sizes["C"], point.layer.sizes["M"]) for point in sweep.points]
    inputs, outputs = ({place[axis] for place in places} for axis in (0, 1))
    return len(set(places)) == len(places) and len(inputs) > 1 and len(outputs) > 1 and len(places) > len(inputs)


def imperfect_pairs(study: Study) -> dict[str, str]:
    """Return the architectures that a study has with perfect and, all else equal, with imperfect factors."""
    entries = study.config.architectures
    return {
        name: other
        for name, entry in entries.items()
        for other, twin in entries.items()
        if entry.factors != "imperfect" == twin.factors and twin.model_copy(update={"factors": entry.factors}) == entry
    }


def has_figure4(study: Study, _: Sweep) -> bool:
    """Whether a study has all sweeps of Figure 4."""
    return set(FIGURE4_SWEEPS) <= {sweep.name for sweep in study.tested}


def _in_figure4(study: Study, sweep: Sweep) -> bool:
    """Whether Figure 4 shows the growth of a sweep already, on every architecture."""
    shown = set(study.config.architectures) <= set(FIGURE4_ARCHITECTURES) and not sweep.published
    return shown and sweep.name in FIGURE4_SWEEPS and has_figure4(study, sweep)


def is_published(study: Study, sweep: Sweep) -> bool:
    """Whether a sweep of the project has published energies on an architecture of the study."""
    inside = f"/{LAYERS.name}/" in f"/{sweep.source}"
    return study.unit == PJ and inside and bool(set(dict(sweep.published)) & set(study.config.architectures))


_RULE = (
    "**Decision rule:** confirmed where the 90 % interval of the next power's share at the largest size "
    "lies inside ±{margin} (two one-sided tests at {alpha}), exact where residuals are rounding noise, "
    "refuted or inconclusive otherwise; the verdicts are in the table of verdicts."
)
_NO_TEST = "**Decision rule:** none, no test is made here."

FIGURES = (
    FigureKind(
        "figure4",
        "figure4",
        (ENERGIES,),
        "study_figures:draw_figure4",
        "**Question:** does the data energy of fully-connected layers grow linearly in inputs n, outputs m "
        "and weights mn (paper 002, Figure 4)? Simba left, Eyeriss right; bars are the cheapest mappings of "
        "the layers, dashed the least-squares fit of the linear growth that theory expects. **Unit:** J. "
        "**n:** {layers} layers. " + _RULE,
        applies=has_figure4,
        title="paper 002",
    ),
    FigureKind(
        "growth",
        "{sweep}/growth_{architecture}",
        (ENERGIES,),
        "study_figures:draw_growth",
        "**Question:** does the data energy of sweep {sweep} grow as theory expects? Bars are the cheapest "
        "mappings of the layers, dashed the least-squares fit of the expected growth, circles published "
        "values where there are any. **Unit:** J. **n:** {layers} layers on each architecture, less those "
        "without a mapping. " + _RULE,
        applies=lambda study, sweep: not _in_figure4(study, sweep),
    ),
    FigureKind(
        "breakdown",
        "{sweep}/breakdown_{architecture}",
        (ENERGIES,),
        "study_figures:draw_breakdown",
        "**Question:** where does the energy of sweep {sweep} go? Stacked from below: compute, then every "
        "storage level (colour) by data space (hatch: none weights, rising lines inputs, falling lines "
        "outputs). **Unit:** J. **n:** {layers} layers; those of one size are averaged. **Decision rule:** "
        "none, no test is made here; the growth of every level is in the table of verdicts.",
    ),
    FigureKind(
        "laws",
        "{sweep}/laws_{sweep}",
        (LAWS, LAW_POINTS),
        "study_figures:draw_laws",
        "**Question:** which exact law does the data energy of each layer of sweep {sweep} obey, and what "
        "are the steps between the bars? Left the layers in the colour of their law; right their energy "
        "over that of the architecture's most common law: a step wherever the sizes divide otherwise and "
        "another class of mapping is cheapest. **Unit:** J; share. **n:** {layers} layers on each "
        "architecture. **Decision rule:** none is needed: every law is an exact sum of access counts times "
        "energies per access (coefficients in pJ), none of them fitted.",
    ),
    FigureKind(
        "dram_bound",
        "{sweep}/dram_bound_{sweep}",
        (THEORY_RATIO,),
        "study_figures:draw_dram_bound",
        "**Question:** how near is the DRAM traffic of the cheapest mappings of sweep {sweep} to the lower "
        "bound of paper 002? Left the words moved against the least number that any dataflow must move "
        "(both logarithmic, the bound is the diagonal); right their ratio. **Unit:** words. **n:** {layers} "
        "layers on each architecture. **Decision rule:** a layer below the dashed line would refute the "
        "bound, or the model; a layer on it is optimal.",
        applies=_is_fc,
    ),
    FigureKind(
        "network",
        "networks/{network}_{architecture}",
        (NETWORKS,),
        "study_figures:draw_network",
        "**Question:** which layers of {network} cost the energy, and where does it go? Every distinct "
        "layer times how often the network runs it, stacked by level (colour) and data space (hatch); the "
        "bars add up to the energy of the network (paper 002, equation (1)). **Unit:** J. **n:** every "
        "distinct layer that has a mapping. " + _NO_TEST,
        title="networks",
    ),
    FigureKind(
        "crossover",
        "{sweep}/crossover_{architecture}",
        (ENERGIES,),
        "study_figures:draw_crossover",
        "**Question:** where does attention cost more than the rest of the transformer of sweep {sweep}? Energy of all "
        "blocks by part: projections, feed-forward, attention; lines where attention overtakes the projections "
        "(dotted) and those with the feed-forward part (dashed). **Unit:** J. **n:** {layers} values. " + _NO_TEST,
        applies=lambda study, sweep: has_parts(study.sweeps, sweep.name),
        beyond=True,
    ),
    FigureKind(
        "published",
        "{sweep}/published",
        (PUBLISHED,),
        "study_figures:draw_published",
        "**Question:** are the published energies of sweep {sweep} optimal? Published total energies and "
        "our proven optima under the constraints and counting rules of the published runs "
        "(timeloop-2023-04), and their ratio point by point. **Unit:** J; ratio. **n:** every published "
        "point. **Decision rule:** a ratio of 1 is an optimum; below 1 the published search stopped short; "
        "above 1 it searched a wider mapspace.",
        applies=is_published,
    ),
    FigureKind(
        "conv_energy",
        "{sweep}/theory",
        (THEORY_CONV_ENERGY,),
        "study_figures:draw_conv_energy",
        "**Question:** how near are the words that the best mappings of sweep {sweep} move from and to DRAM "
        "to those of the two dataflows of the energy model for convolutions (write-once outputs; read-once "
        "inputs) and to a lower bound for any dataflow? **Unit:** words. **n:** {layers} layers. "
        "Derivation: ``docs/theory-convolution-energy.md``. " + _NO_TEST,
        applies=lambda _, sweep: sweep.kind == "conv",
    ),
    FigureKind(
        "imperfect",
        "{sweep}/imperfect",
        (THEORY_CONV_ENERGY,),
        "study_figures:draw_imperfect",
        "**Question:** what do loops that need not divide save on sweep {sweep}? Circles are the cheapest mappings "
        "with perfect factors, dots those with imperfect ones, dashed what theory's least DRAM words cost. "
        "**Unit:** J. **n:** {layers} layers. " + _NO_TEST,
        applies=lambda study, sweep: sweep.kind == "conv" and bool(imperfect_pairs(study)),
    ),
    FigureKind(
        "variants",
        "{variant_sweep}/architecture_{architecture}",
        (ENERGIES,),
        "study_figures:draw_variants",
        "**Question:** which size of the architecture costs the least energy? Energy per "
        "multiply-accumulate against an attribute of the architecture: every variant with its own energies "
        "per access and its own best mapping; stars mark the least energy. **Unit:** J per operation. "
        "**n:** every variant that has a mapping. " + _NO_TEST,
        folder=True,
    ),
    FigureKind(
        "buffers",
        "linear_law/{variant_sweep}",
        (THEORY_RATIO, BUFFER_GROWTH),
        "study_figures:draw_buffers",
        "**Question:** at which buffer does the linear law break? Left the DRAM words of inputs and outputs over "
        "n + 2m, the least that can move, against the buffer over the crossover 1 + mn/(n + 2m), beside equation (28) "
        "of paper 002; right the largest deviation of all DRAM words and of those of inputs and outputs from a line in "
        "n, by buffer, filled where linear growth is not confirmed. **Unit:** words. **n:** every layer and buffer of "
        "sweep {variant_sweep} with a mapping. " + _RULE,
        applies=lambda study, sweep: _is_fc(study, sweep) and {p.layer.sizes["N"] for p in sweep.points} == {1},
    ),
    FigureKind(
        "residuals",
        "{sweep}/residuals_{architecture}",
        (ENERGIES,),
        "study_figures:draw_residuals",
        "**Question:** what is left of the data energy of sweep {sweep} when the expected growth is taken "
        "out, and does divisibility explain it? Left the relative residual against the variable, right "
        "against the number of index factorisations over three levels; diamonds are the best layers of "
        "their size. **Unit:** share of the fitted value. **n:** {layers} layers, less those without a "
        "mapping. " + _RULE,
        always=False,
    ),
    FigureKind(
        "architectures",
        "{sweep}/architectures",
        (ENERGIES,),
        "study_figures:draw_architectures",
        "**Question:** which architecture is cheaper on sweep {sweep}, and does the order change with size? "
        "Data energy per multiply-accumulate of the cheapest mappings. **Unit:** J per operation. **n:** "
        "{layers} layers on each architecture. " + _RULE,
        applies=lambda study, _: len(study.config.architectures) > 1,
        always=False,
    ),
    FigureKind(
        "heat_map",
        "{sweep}/heat_map_{architecture}",
        (ENERGIES,),
        "study_figures:draw_heat_map",
        "**Question:** which shapes of layer are cheap in sweep {sweep}? Data energy per "
        "multiply-accumulate over inputs n and outputs m; white where there is no mapping; the colours end "
        "at the 98 % quantile. **Unit:** pJ per operation. **n:** {layers} layers. " + _NO_TEST,
        applies=_has_map,
        always=False,
    ),
)
