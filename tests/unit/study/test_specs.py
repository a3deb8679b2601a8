"""Timeloop inputs of a run: in words that Timeloop itself reads, and the same design again when read back."""

from pathlib import Path

import pytest
import yaml

from jouleloop.api.project import target_files
from jouleloop.energy.choice import costs_of, sources_of
from jouleloop.mapspace.read_design import read_design
from jouleloop.mapspace.space import build_mapspace
from jouleloop.optimum.optimise import search_mapspace
from jouleloop.study.specs import timeloop_input
from jouleloop.study.targets import TargetSet
from jouleloop.workload.sizes import parse_layer


@pytest.mark.parametrize("name", ["eyeriss", "simba"])
@pytest.mark.parametrize("layer", ["fc:16x32", "conv:C4xM8xP4xQ4xR3xS3"])
def test_a_spec_is_the_same_search(name: str, layer: str, tmp_path: Path) -> None:
    targets = TargetSet(target_files(name))
    problem = parse_layer(layer).problem()
    path = tmp_path / "spec.yaml"
    path.write_text(timeloop_input(targets, problem))
    design = read_design([path])
    assert design.problem is not None
    assert design.problem.projection_array.tolist() == problem.projection_array.tolist()
    assert design.problem.bounds == problem.bounds
    costs = costs_of(design.arch, sources_of(path))
    given = targets.for_shape(problem.shape)
    theirs = search_mapspace(build_mapspace(design.problem, design.arch, design.constraints), costs)
    ours = search_mapspace(build_mapspace(problem, given.arch, given.constraints), given.costs)
    assert theirs.evaluation is not None
    assert ours.evaluation is not None
    assert theirs.evaluation.energy_pj == pytest.approx(ours.evaluation.energy_pj, rel=1e-12)


def test_a_spec_has_the_words_of_3_0_3() -> None:
    text = timeloop_input(TargetSet(target_files("simba")), parse_layer("fc:16x32").problem())
    found = yaml.safe_load(text)
    assert list(found) == ["architecture", "ERT", "ART", "problem", "architecture_constraints", "mapper"]
    assert found["architecture"]["version"] == 0.3
    assert "data-spaces" in found["problem"]["shape"]
    assert set(found["mapper"]) >= {"optimization-metrics", "num-threads", "live-status"}
    assert not any("_" in key for key in found["mapper"])
