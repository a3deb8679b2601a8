"""The figures of a study: a new one is a function and an entry here; rules, targets, commands and docs follow.

Nothing here draws, so nothing here imports matplotlib: the workflow asks what there is before it draws.
"""

import importlib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, cast

from jouleloop.config.load import LAYERS, Study
from jouleloop.files import read_yaml
from jouleloop.layouts import Layout
from jouleloop.stats.columns import FITS, RESIDUALS, VERDICTS
from jouleloop.tables.layouts import (
    BUFFER_GROWTH,
    CAPACITY,
    CAPACITY_SUMMARY,
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

#: Tables of the tests of growth, which follow from energies and options.
TESTS = (VERDICTS, FITS, RESIDUALS)
#: Tables that compare with energies in joules.
_IN_JOULES = {PUBLISHED, THEORY_CONV_ENERGY}

#: What a figure's file name may say, and what a study has of it.
_OFFERS: Mapping[str, Callable[[Study], Sequence[str]]] = {
    "sweep": lambda study: [sweep.name for sweep in study.tested],
    "variant_sweep": lambda study: [sweep.name for sweep in study.architecture_sweeps],
    "capacity_sweep": lambda study: [sweep.name for sweep in study.capacity_sweeps],
    "network": lambda study: [network.name for network in study.networks],
    "architecture": lambda study: list(study.config.architectures),
}


@cache
def _captions() -> dict[str, str]:
    """Return the captions of all kinds of figures by their names."""
    texts: dict[str, str] = read_yaml(Path(__file__).with_name("captions.yaml"))
    rules = {f"{{{name}}}": texts.pop(name) for name in ("test", "no_test")}
    for rule, words in rules.items():
        texts = {name: text.replace(rule, words) for name, text in texts.items()}
    return texts


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
    def caption(self) -> str:
        """Question, unit, number of points and decision rule, for Snakemake's report, with words in braces."""
        return _captions()[self.name]

    @property
    def tests(self) -> bool:
        """Whether it shows the outcome of a test, which the options decide."""
        return "{margin}" in self.caption

    @property
    def inputs(self) -> tuple[Layout, ...]:
        """The tables that a job draws it from: tests of energies too, where a run has made them."""
        return (*self.needs, *TESTS) if self.tests and ENERGIES in self.needs else self.needs

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
        by_name = {sweep.name: sweep for sweep in study.every}
        return [name for name in _OFFERS[self.subject](study) if self.applies(study, by_name[name])]

    def places(self, study: Study, architectures: Sequence[str] | None = None) -> Iterator[dict[str, str]]:
        """Yield the values of the words in braces for every figure of a study, or of some of its architectures."""
        shown = list(study.config.architectures) if architectures is None else architectures
        for name in self.subjects(study):
            values = [[name] if word == self.subject else shown for word in self.per]
            yield from (dict(zip(self.per, place, strict=True)) for place in product(*values))

    def figure(self, run: "RunTables", place: Mapping[str, str]) -> "ReportFigure | None":
        """Return what ``draw_<name>`` of `study_figures` draws for one place, None where there is nothing to draw."""
        drawers = importlib.import_module("jouleloop.report.study_figures")  # which imports matplotlib
        return cast("ReportFigure | None", getattr(drawers, f"draw_{self.name}")(run, **place))


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


def _has_published_layers(_: Study, sweep: Sweep) -> bool:
    """Whether published energies stand in the file of the sweep's layers."""
    return bool(sweep.points) and {"published_pj", "published_data_pj"} <= dict(sweep.points[0].given).keys()


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


FIGURES = (
    FigureKind("figure4", "figure4", (ENERGIES,), applies=has_figure4, title="paper 002"),
    FigureKind(
        "growth",
        "{sweep}/growth_{architecture}",
        (ENERGIES,),
        applies=lambda study, sweep: not _in_figure4(study, sweep),
    ),
    FigureKind("breakdown", "{sweep}/breakdown_{architecture}", (ENERGIES,)),
    FigureKind("floor", "{sweep}/floor_{architecture}", (ENERGIES,), applies=_has_published_layers),
    FigureKind("laws", "{sweep}/laws_{sweep}", (LAWS, LAW_POINTS)),
    FigureKind("dram_bound", "{sweep}/dram_bound_{sweep}", (THEORY_RATIO,), applies=_is_fc),
    FigureKind("network", "networks/{network}_{architecture}", (NETWORKS,), title="networks"),
    FigureKind(
        "crossover",
        "{sweep}/crossover_{architecture}",
        (ENERGIES,),
        applies=lambda study, sweep: has_parts(study.sweeps, sweep.name),
        beyond=True,
    ),
    FigureKind("published", "{sweep}/published", (PUBLISHED,), applies=is_published),
    FigureKind("conv_energy", "{sweep}/theory", (THEORY_CONV_ENERGY,), applies=lambda _, sweep: sweep.kind == "conv"),
    FigureKind(
        "imperfect",
        "{sweep}/imperfect",
        (THEORY_CONV_ENERGY,),
        applies=lambda study, sweep: sweep.kind == "conv" and bool(imperfect_pairs(study)),
    ),
    FigureKind("variants", "{variant_sweep}/architecture_{architecture}", (ENERGIES,), folder=True),
    FigureKind(
        "buffers",
        "linear_law/{variant_sweep}",
        (THEORY_RATIO, BUFFER_GROWTH),
        applies=lambda study, sweep: _is_fc(study, sweep) and {p.layer.sizes["N"] for p in sweep.points} == {1},
    ),
    FigureKind("capacity", "{capacity_sweep}/capacity_{architecture}", (CAPACITY, CAPACITY_SUMMARY), folder=True),
    FigureKind("residuals", "{sweep}/residuals_{architecture}", (ENERGIES,), always=False),
    FigureKind(
        "architectures",
        "{sweep}/architectures",
        (ENERGIES,),
        applies=lambda study, _: len(study.config.architectures) > 1,
        always=False,
    ),
    FigureKind("heat_map", "{sweep}/heat_map_{architecture}", (ENERGIES,), applies=_has_map, always=False),
)


@dataclass(frozen=True)
class FigureGroup:
    """The figures of one rule; a job draws those of one sweep or network, which share its tables."""

    name: str
    """Of the rule."""
    word: str
    """What stands for the sweep or network in the names of files, a word of `_OFFERS`; empty for the study."""
    subjects: tuple[str, ...]
    """The sweeps or networks; one empty name for the study."""
    kinds: tuple[FigureKind, ...]
    always: bool
    """Whether every run draws them."""

    @property
    def pattern(self) -> str:
        """The word in braces, as it stands in the names of files."""
        return f"{{{self.word}}}" if self.word else ""

    @property
    def shown(self) -> str:
        """What a job draws, for Snakemake's messages."""
        return f"the figures of {{wildcards.{self.word}}}" if self.word else self.name


def figure_groups(study: Study) -> list[FigureGroup]:
    """Return the figures of a study by rule: sweeps that have figures of the same kinds share one."""
    kinds: dict[tuple[str, str, bool], list[FigureKind]] = {}
    for kind in FIGURES:
        for subject in kind.subjects(study):
            # Each figure of the study as a whole has a rule of its own.
            kinds.setdefault((kind.subject or "", subject or kind.name, kind.always), []).append(kind)
    subjects: dict[tuple[str, tuple[FigureKind, ...]], list[str]] = {}
    for (word, subject, _), own in kinds.items():
        subjects.setdefault((word, tuple(own)), []).append(subject)
    groups: list[FigureGroup] = []
    for (word, shown), names in subjects.items():
        name = ("" if shown[0].always else "further_") + _rule_name(study, word, names)
        number = sum(group.name.startswith(name) for group in groups) + 1
        name = name if number == 1 else f"{name}_{number}"
        groups.append(FigureGroup(name, word, tuple(names) if word else ("",), shown, shown[0].always))
    return groups


def _rule_name(study: Study, word: str, names: Sequence[str]) -> str:
    """Return the name of the rule that draws sweeps or networks, or one figure of the study."""
    if not word:
        return names[0]
    kinds = {sweep.kind for sweep in study.sweeps if sweep.name in names}
    return f"figures_{kinds.pop()}" if word == "sweep" and len(kinds) == 1 else f"figures_{word}s"
