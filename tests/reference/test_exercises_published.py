"""Published designs, read from their own files, against the counts, cycles and energies printed for them."""

import json
from pathlib import Path
from typing import Any

import pytest

from jouleloop.arch.architecture import Architecture
from jouleloop.arch.read import read_architecture
from jouleloop.energy.choice import costs_of, sources_of
from jouleloop.mapping.formats import read_timeloop_mapping
from jouleloop.mapping.nest import read_map_txt
from jouleloop.mapspace.read import build_constraints
from jouleloop.model.evaluate import evaluate_mapping
from jouleloop.model.leakage import leakage_pj
from jouleloop.workload.problem import Problem
from jouleloop.workload.timeloop_problem import read_problem

HERE = Path(__file__).parent / "exercises"
EXAMPLES = ("eyeriss_like", "simba_like", "simple_output_stationary", "simple_weight_stationary")
DESIGNS = (*EXAMPLES, "conv1d_3level_bypass", "conv1d_3level_no_bypass", "conv1d_3level_null")


def problem_of(folder: Path) -> Problem:
    own = folder / "problem.yaml"
    return read_problem(own if own.exists() else HERE / "problem.yaml")


@pytest.fixture(params=DESIGNS)
def design(request: pytest.FixtureRequest) -> tuple[Path, Architecture, dict[str, Any]]:
    folder = HERE / str(request.param)
    return folder, read_architecture(folder / "arch.yaml"), json.loads((folder / "stats.json").read_text())


def test_levels_are_the_published_ones(design: tuple[Path, Architecture, dict[str, Any]]) -> None:
    _, arch, stats = design
    stored = [level for level in arch.levels if not level.name.startswith("inter_")]
    published = {name: level for name, level in stats["levels"].items() if name != arch.compute.name}
    assert {level.name for level in stored} == set(published)
    for level in stored:
        shown = published[level.name]
        assert level.capacity_words == shown["size_words"]
        assert (level.word_bits, level.block_words) == (shown["word_bits"], shown["block_words"])
        assert level.cluster_size == shown["cluster_size"]
        assert f"{level.instances} ({level.mesh_x}*{level.mesh_y})" == shown["instances"]
    unit = stats["levels"][arch.compute.name]["instances"]
    assert f"{arch.compute.instances} ({arch.compute.mesh_x}*{arch.compute.mesh_y})" == unit


def test_published_mapping_costs_what_was_published(design: tuple[Path, Architecture, dict[str, Any]]) -> None:
    folder, arch, stats = design
    problem = problem_of(folder)
    mapping = read_timeloop_mapping(folder / "map.yaml", problem, arch)
    costs = costs_of(arch, sources_of(folder / "ERT.yaml"))
    found = evaluate_mapping(problem, arch, costs, mapping, "timeloop-3.0.3")
    assert found.cycles == stats["cycles"]
    assert found.computes == stats["computes"]
    assert round(100 * found.utilization, 2) == stats["utilization_percent"]
    leaks = leakage_pj(costs, found)
    total = found.energy_pj + sum(leaks.values())
    for level in found.levels:
        published = stats["levels"].get(level.name, {"data": {}})
        assert set(level.data) == set(published["data"])
        for space, counts in level.data.items():
            wanted = published["data"][space]
            assert (counts.partition_words, counts.tile_words) == (wanted["partition"], wanted["tile"])
            assert (counts.reads, counts.fills, counts.updates) == (wanted["reads"], wanted["fills"], wanted["updates"])
            assert (counts.instances, counts.reductions) == (wanted["instances"], wanted["reductions"])
            assert counts.energy_pj == pytest.approx(wanted["energy_pj"], abs=0.006)
        if "leakage_pj" in published:
            assert leaks[level.name] == pytest.approx(published["leakage_pj"], abs=0.006)
            shown = stats["fj_per_compute"][level.name]
            assert 1000 * (level.energy_pj + leaks[level.name]) / found.computes == pytest.approx(shown, abs=0.006)
    assert 1000 * total / found.computes == pytest.approx(stats["fj_per_compute"]["Total"], abs=0.006)
    assert total / 1e6 == pytest.approx(stats["energy_uj"], abs=0.006)
    # The runs are of 2024, before Timeloop 4 moved what two windows share only once.
    later = evaluate_mapping(problem, arch, costs, mapping, "timeloop-4")
    if folder.name in ("eyeriss_like", "simple_output_stationary"):
        assert later.energy_pj < total
    else:
        assert later.levels == found.levels
        assert later.energy_pj == pytest.approx(total, rel=1e-12)


def test_constraints_in_the_published_file_hold_for_the_published_mapping(
    design: tuple[Path, Architecture, dict[str, Any]],
) -> None:
    folder, arch, _ = design
    problem = problem_of(folder)
    mapping = read_timeloop_mapping(folder / "map.yaml", problem, arch)
    constraints = build_constraints(arch.constraints, arch, problem.shape, name="inline")
    assert bool(constraints.levels) == (folder.name in EXAMPLES)
    for level in mapping.levels:
        given = constraints.level(level.level)
        assert given.keep <= level.keep
        assert not given.bypass & level.keep
        for loops, limits in (
            (dict(level.temporal), given.temporal),
            ({d: b for d, b, _ in level.spatial}, given.spatial),
        ):
            for dimension, factor in limits.factors.items():
                assert loops.get(dimension, 1) == (factor or problem.bound[dimension])


def test_the_printed_nest_is_the_mapping(design: tuple[Path, Architecture, dict[str, Any]]) -> None:
    folder, arch, _ = design
    problem = problem_of(folder)
    mapping = read_timeloop_mapping(folder / "map.yaml", problem, arch)
    assert read_map_txt(folder / "map.txt", problem, arch).mapping == mapping
