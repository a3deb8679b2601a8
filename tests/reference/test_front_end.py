"""Architectures and problems through Timeloop's front end and back; see front_end/README.md."""

import json
import lzma
from dataclasses import replace
from pathlib import Path

import pytest

from jouleloop.arch.read import read_architecture
from jouleloop.energy.choice import costs_of, sources_of
from jouleloop.engines.native import NativeEngine
from jouleloop.engines.protocol import SearchOptions, Target
from jouleloop.mapspace.read_design import read_design
from jouleloop.workload.sizes import parse_layer
from jouleloop.workload.timeloop_problem import read_problem
from paths import REFERENCE, ROOT
from written_architecture import write_architecture_v04


@pytest.mark.parametrize("name", ["eyeriss", "simba"])
def test_what_the_front_end_writes_is_what_it_was_given(name: str, tmp_path: Path) -> None:
    processed = tmp_path / "processed.yaml"
    processed.write_bytes(lzma.decompress((REFERENCE / "front_end" / f"{name}.yaml.xz").read_bytes()))
    ours, theirs = read_architecture(ROOT / "arch" / f"{name}.yaml", spatial_levels=True), read_architecture(processed)
    assert theirs.level_names == ours.level_names
    assert theirs.fanout == ours.fanout
    for mine, back in zip(ours.levels, theirs.levels, strict=True):
        # The front end states of every memory, a DRAM too, that it adds what it receives.
        assert replace(back, attributes=mine.attributes, path=mine.path) == mine
        assert back.reduces
    units = ours.compute
    assert replace(theirs.compute, attributes=units.attributes, path=units.path) == units
    problem, layer = read_problem(processed), parse_layer("conv:C8xM16xP12xQ12xR3xS3").problem()
    assert (problem.bound, problem.coefficient) == (layer.bound, layer.coefficient)
    assert [space.projection for space in problem.data_spaces] == [space.projection for space in layer.data_spaces]


@pytest.mark.parametrize("name", ["eyeriss", "simba"])
def test_what_is_written_for_the_front_end_reads_back(name: str, tmp_path: Path) -> None:
    arch = read_architecture(ROOT / "arch" / f"{name}.yaml")
    path = tmp_path / "arch.yaml"
    path.write_text(write_architecture_v04(arch))
    assert read_architecture(path).fanout == arch.fanout


PARTS = 4


@pytest.mark.parametrize("part", range(PARTS))
def test_what_constraints_say_is_what_the_front_end_makes_of_them(part: int, tmp_path: Path) -> None:
    """Designs of version 0.4 with its own constraints, through the front end to the real mapper: the same optimum."""
    lines = lzma.decompress((REFERENCE / "front_end" / "designs.jsonl.xz").read_bytes()).decode().splitlines()
    wrong, found = [], 0
    for case in map(json.loads, lines[part::PARTS]):
        for name in ("arch", "problem", "ert"):
            (tmp_path / f"{name}.yaml").write_text(case[name])
        problem = read_problem(tmp_path / "problem.yaml")
        design = read_design((tmp_path / "arch.yaml", tmp_path / "problem.yaml"))
        costs = costs_of(design.arch, sources_of(tmp_path / "ert.yaml"))
        target = Target(design.arch, costs, design.constraints, "timeloop-4")
        result = NativeEngine().search(problem, target, SearchOptions((case["objective"],)))
        if result.evaluation is None:
            value: object = result.status
        else:
            energy_pj, cycles = result.evaluation.energy_pj, result.evaluation.cycles
            value = pytest.approx(energy_pj * cycles if case["objective"] == "edp" else energy_pj, rel=1e-9)
            found += 1
        if value != case["real"]:
            wrong.append((case["number"], value, case["real"]))
    assert wrong == []
    assert found > 20
