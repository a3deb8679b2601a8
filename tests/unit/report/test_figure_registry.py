"""The registry of figures and the plan that rules read: every entry can be drawn, every target has one rule."""

import inspect
import string

import pytest
import yaml

from jouleloop.report import study_figures
from jouleloop.report.registry import FIGURES, FigureKind
from jouleloop.tables.layouts import LAYOUTS
from jouleloop.workflow import Workflow
from paths import ROOT

EVERYTHING = {
    "sweeps": ["fc_inputs", "fc_outputs", "fc_weights", "conv_stride", "glb_size"],
    "networks": ["alexnet"],
    "outputs": {"specs": True, "search_noise": True},
}


@pytest.fixture
def plan(monkeypatch: pytest.MonkeyPatch) -> Workflow:
    monkeypatch.chdir(ROOT)
    return Workflow(yaml.safe_load((ROOT / "config/config.yaml").read_text()) | EVERYTHING)


@pytest.mark.parametrize("kind", FIGURES, ids=lambda kind: kind.name)
def test_an_entry_is_complete(kind: FigureKind) -> None:
    drawer = getattr(study_figures, f"draw_{kind.name}")
    assert list(inspect.signature(drawer).parameters)[1:] == list(kind.per)
    assert set(kind.needs) <= set(LAYOUTS)
    words = {name for _, name, _, _ in string.Formatter().parse(kind.caption) if name}
    assert words <= {kind.subject or "sweep", "layers", "margin", "alpha"}
    for part in ("**Question:**", "**Unit:**", "**n:**", "**Decision rule:**"):
        assert part in kind.caption


def test_every_file_is_drawn_by_one_rule(plan: Workflow) -> None:
    files = plan.figure_files()
    assert len(set(files)) == len(files)
    assert len({group.name for group in plan.figure_groups}) == len(plan.figure_groups)
    drawn = {(kind.name, subject) for group in plan.figure_groups for kind in group.kinds for subject in group.subjects}
    assert drawn == {(kind.name, subject) for kind in FIGURES for subject in kind.subjects(plan.study)}
    always, further = (
        {kind.name for group in plan.figure_groups for kind in group.kinds if group.always == one}
        for one in (True, False)
    )
    assert always.isdisjoint(further)
    assert {"figure4", "growth", "breakdown", "laws"} <= set(always)
    assert "heat_map" in further
    assert set(plan.figure_files(always=True)) < set(files)
    for file in (
        "results/figures/figure4.png",
        "results/figures/conv_stride/growth_eyeriss.pdf",
        "results/figures/fc_weights/heat_map_eyeriss.png",
        "results/figures/conv_stride/theory.png",
        "results/figures/conv_stride/published.png",
        "results/figures/networks/alexnet_simba.png",
        "results/figures/glb_size",
    ):
        assert file in files
    assert "results/figures/fc_inputs/heat_map_eyeriss.png" not in files
    assert "results/figures/fc_inputs/growth_eyeriss.png" not in files  # Figure 4 shows it
    assert "results/figures/conv_stride/dram_bound_conv_stride.png" not in files


def test_targets_follow_the_configuration(plan: Workflow) -> None:
    assert len(set(plan.targets)) == len(plan.targets)
    for name in ("networks", "published", "theory_conv_energy", "search_noise", "architecture/glb_size"):
        assert f"results/{name}.csv" in plan.targets
    assert "results/specs/simba/alexnet" in plan.targets
    plain = Workflow(yaml.safe_load((ROOT / "config/config.yaml").read_text()))
    assert not any("networks" in name or "search_noise" in name for name in plain.targets)
    specifications = [name for name in plain.targets if "specs" in name]
    assert specifications == ["results/specs/simba.yaml", "results/specs/eyeriss.yaml"]  # no folder of layers
    assert plain.crosscheck[0] not in plain.targets


def test_captions_say_what_is_shown(plan: Workflow) -> None:
    captions = {
        (kind, subject): text
        for group in plan.figure_groups
        for subject in group.subjects
        for kind, text in plan.captions(group)([subject] if subject else []).items()
    }
    assert "of sweep conv_stride grow as theory expects" in captions["growth", "conv_stride"]
    assert "**n:** 1024 layers" in captions["breakdown", "fc_weights"]
    assert "fc_weights 1024" in captions["figure4", ""]
    assert "which layers of alexnet" in captions["network", "alexnet"]
