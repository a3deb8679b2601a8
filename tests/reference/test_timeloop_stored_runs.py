"""The parsers against outputs of real Timeloop runs, 3.0.3 and later."""

import re
from pathlib import Path

import pytest

from jouleloop.engines.timeloop.outputs import parse_evaluation, parse_map, read_evaluation, read_mapping
from jouleloop.engines.timeloop.text import parse_statistics
from jouleloop.workload.layer import Layer
from jouleloop.workload.problem import Problem

RUNS = Path(__file__).parent / "timeloop_runs"
FC = Layer.of("fc", 1024, 128).problem()
#: Bounds that the loops of the stored mappings multiply to.
CONV = Layer.of("conv", 3, 32, 3, 3, 1, 112, 112).problem()
STORED = [("fc_eyeriss_1024x128", FC), ("fc_simba_1024x128", FC), ("later_eyeriss_like", CONV), ("mapper_ok", None)]


def test_eyeriss_mapping_is_the_printed_one() -> None:
    mapping = read_mapping(RUNS / "fc_eyeriss_1024x128", "timeloop-mapper")
    assert mapping.compact() == (
        "DRAM | shared_glb C64 M8X | DummyBuffer C8Y | ifmap_spad | weights_spad C2 | psum_spad M16"
    )
    keep = {level.level: "".join(sorted(name[0] for name in level.keep)) for level in mapping.levels}
    assert keep == {
        "DRAM": "IOW",
        "shared_glb": "IO",
        "DummyBuffer": "",
        "ifmap_spad": "I",
        "weights_spad": "W",
        "psum_spad": "O",
    }
    mapping.check_factors(FC)


def test_eyeriss_counts_and_energies() -> None:
    found = read_evaluation(RUNS / "fc_eyeriss_1024x128", "timeloop-mapper", FC)
    # 1024 x 128 operations at 2.20035 pJ on 64 of 168 units.
    assert (found.computes, found.compute_instances, found.cycles) == (131072, 64, 2048)
    assert found.compute_energy_pj == pytest.approx(131072 * 2.20035, rel=1e-12)
    assert found.utilization == pytest.approx(64 / 168)
    # 128 updates of 4-word blocks at 75.2148 pJ; 1024 reads at 74.1442 and 1024 fills at 75.2148 pJ a block.
    glb = found.level("shared_glb").data
    assert glb["Outputs"].energy_pj == pytest.approx(32 * 75.2148, rel=1e-12)
    assert glb["Inputs"].energy_pj == pytest.approx(256 * (74.1442 + 75.2148), rel=1e-12)
    assert (glb["Inputs"].tile_words, glb["Inputs"].reads, glb["Inputs"].fills) == (1024, 1024, 1024)
    assert found.levels[0].name == "DRAM"
    dram = found.level("DRAM").data
    assert sum(stats.energy_pj for stats in dram.values()) == (131072 + 1024 + 128) / 4 * 512
    psum = found.level("psum_spad").data["Outputs"]
    assert (psum.reads, psum.updates, psum.fills, psum.reductions) == (2032, 2048, 0, 2032)
    network = found.networks["shared_glb<==>DummyBuffer"]
    assert network["Inputs"].ingress == ((8, 1, 1024.0),)
    assert network["Outputs"].ingress == ((1, 8, 128.0),)
    assert set(found.networks) == {"shared_glb<==>DummyBuffer", "DummyBuffer<==>ifmap_spad"}
    assert found.networks["DummyBuffer<==>ifmap_spad"]["Outputs"].reductions == 112


def test_energy_of_clustered_registers_is_per_instance_in_the_xml() -> None:
    found = read_evaluation(RUNS / "fc_simba_1024x128", "timeloop-mapper", FC)
    registers = found.level("PEWeightRegs").data["Weights"]
    # 256 utilized instances in 4 clusters of 64, 512 reads and 512 fills each, 0.4890075 pJ a cluster access.
    assert (registers.instances, registers.clusters) == (256, 4)
    assert registers.energy_pj == pytest.approx(4 * (512 + 512) * 0.4890075376884422, rel=1e-12)
    assert found.utilization == 1.0


@pytest.mark.parametrize(("name", "problem"), STORED, ids=[name for name, _ in STORED])
def test_text_alone_agrees_with_the_xml(name: str, problem: Problem | None) -> None:
    problem = problem or Layer.of("fc", 7, 11).problem()
    text = (RUNS / name / "timeloop-mapper.stats.txt").read_text()
    exact = parse_evaluation(text, (RUNS / name / "timeloop-mapper.map+stats.xml").read_text(), problem)
    rough = parse_evaluation(text, None, problem)
    assert rough.cycles == exact.cycles
    assert rough.energy_pj == pytest.approx(exact.energy_pj, rel=1e-6)
    for level in rough.levels:
        for space, stats in level.data.items():
            twin = exact.level(level.name).data[space]
            for key in ("reads", "updates", "fills", "tile_words", "partition_words", "instances", "clusters"):
                assert getattr(stats, key) == getattr(twin, key), (level.name, space, key)
            assert stats.energy_pj == pytest.approx(twin.energy_pj, abs=0.00501)


def test_later_output_groups_levels_and_marks_the_compute() -> None:
    mapping = read_mapping(RUNS / "later_eyeriss_like", "timeloop-mapper")
    assert mapping.compact() == (
        "DRAM P8 Q2 M4 | shared_glb P14 Q4 | inter_PE_column_spatial Q14X | inter_PE_spatial C3Y S3Y | ifmap_spad"
        " | weights_spad R3 | psum_spad M8"
    )
    mapping.check_factors(CONV)
    found = read_evaluation(RUNS / "later_eyeriss_like", "timeloop-mapper", CONV)
    assert [level.name for level in found.levels] == [level.level for level in mapping.levels]
    assert found.utilization == pytest.approx(0.75)
    # The total printed is 5469.65 fJ per compute, leakage included.
    assert found.energy_pj / found.computes == pytest.approx(5.46965, abs=5e-6)
    assert found.energy_pj > found.compute_energy_pj + found.data_energy_pj


def test_later_simba_adds_up() -> None:
    stats = (RUNS / "later_simba_like" / "timeloop-mapper.stats.txt").read_text()
    found = read_evaluation(RUNS / "later_simba_like", "timeloop-mapper", CONV)
    printed = float(re.findall(r"Total += ([\d.]+)", stats)[-1])
    assert found.energy_pj / found.computes == pytest.approx(printed / 1e3, abs=5e-6)


def test_probes_differ_in_first_fills_and_in_shared_inputs() -> None:
    problem = Layer.of("conv", 1, 1, R=2, P=2).problem()
    new, old, main, later = (
        read_evaluation(RUNS / f"probe_{release}", "timeloop-model", problem)
        for release in ("3.0.3", "2023-04", "2024", "later")
    )
    fills = [
        tuple(found.level("Buffer").data[name].fills for name in ("Outputs", "Inputs"))
        for found in (new, old, main, later)
    ]
    # Two outputs, each filled at first or not; two windows of two inputs that share one.
    assert fills == [(0, 4), (2, 4), (0, 4), (0, 3)]
    assert new.level("Buffer").data["Weights"] == old.level("Buffer").data["Weights"]
    # One fill of the buffer (1 pJ) and one read of the backing store (2 pJ) less.
    assert main.energy_pj - later.energy_pj == 3.0
    # Half a pJ leaks in each of four cycles.
    assert main.energy_pj - new.energy_pj == 2.0


def test_tiles_of_the_map() -> None:
    _, tiles = parse_map((RUNS / "fc_simba_1024x128" / "timeloop-mapper.map.txt").read_text())
    assert tiles["DRAM"] == {"Weights": 131072, "Inputs": 1024, "Outputs": 128}
    assert tiles["PEWeightRegs"] == {"Weights": 1}


def test_utilization_is_a_share_in_both_forms() -> None:
    for name, share in (("fc_eyeriss_1024x128", 0.38), ("later_eyeriss_like", 0.75)):
        statistics = parse_statistics((RUNS / name / "timeloop-mapper.stats.txt").read_text())
        assert statistics.summary["Utilization"] == pytest.approx(share)
