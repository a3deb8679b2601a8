"""What is written for Timeloop says what the problem, architecture, mapping and constraints say."""

from pathlib import Path

import pytest
import yaml

from jouleloop.arch.architecture import Architecture, ComputeLevel, StorageLevel
from jouleloop.energy.costs import EnergyCosts, LevelEnergy
from jouleloop.engines.protocol import Target
from jouleloop.engines.timeloop.inputs import (
    architecture_tree,
    constraint_targets,
    energy_tables,
    mapping_directives,
    write_evaluation,
    write_search,
)
from jouleloop.errors import InputError, MappingError
from jouleloop.mapping.mapping import LevelMapping, Mapping
from jouleloop.mapspace.constraints import Constraints, LevelConstraints, LoopConstraint
from jouleloop.workload.layer import Layer
from jouleloop.workload.timeloop_problem import problem_tree

ALL = frozenset({"Weights", "Inputs", "Outputs"})
ARCH = Architecture(
    "grid",
    (
        StorageLevel("DRAM", "s.DRAM", "DRAM", None, 16, block_words=4),
        StorageLevel("L1", "s.L1", "SRAM", 400, 16, 2, read_bandwidth_words=2.5, multiple_buffering=2.0),
        StorageLevel("Reg", "s.PE.Reg", "regfile", 8, 24, 1, 2, 4, 2),
    ),
    ComputeLevel("mac", "s.PE.mac", "intmac", 8, 4, 2),
)
COSTS = EnergyCosts(
    "t",
    (LevelEnergy("DRAM", 512.0, 500.0, "t"), LevelEnergy("L1", 7.5, 8, "t"), LevelEnergy("Reg", 0.1, 0.2, "t")),
    2.2,
    "t",
)
CONV = Layer.of("conv", 3, 8, 3, 3, 1, 5, 7, 2, 1).problem()
MAPPING = Mapping(
    (
        LevelMapping("DRAM", (("P", 5), ("Q", 7)), (), ALL),
        LevelMapping("L1", (("R", 3), ("C", 3)), (("S", 3, "X"), ("M", 2, "Y")), frozenset({"Inputs", "Outputs"})),
        LevelMapping("Reg", (("M", 4),), (), frozenset({"Weights"})),
    )
)


def test_architecture() -> None:
    tree = architecture_tree(ARCH)
    local = tree["subtree"][0]["local"]
    assert [node["name"] for node in local] == ["DRAM", "L1", "Reg[0..7]", "mac[0..7]"]
    assert [node["class"] for node in local] == ["DRAM", "SRAM", "SRAM", "intmac"]
    # No size of DRAM: Timeloop takes that as unlimited. Defaults are left out.
    assert local[0]["attributes"] == {"word-bits": 16, "block-size": 4, "meshX": 1, "meshY": 1}
    assert local[1]["attributes"]["entries"] == 400
    assert local[1]["attributes"]["read_bandwidth"] == 2.5
    assert local[1]["attributes"]["multiple-buffering"] == 2.0
    assert local[2]["attributes"]["cluster-size"] == 2
    assert local[3]["attributes"] == {"datawidth": 8, "meshX": 4, "meshY": 2}


def test_energies() -> None:
    tables = {table["name"]: table["actions"] for table in energy_tables(ARCH, COSTS)["tables"]}
    assert [(action["name"], action["energy"]) for action in tables["system.DRAM"]] == [
        ("read", 512.0),
        ("write", 500.0),
    ]
    assert [(action["name"], action["energy"]) for action in tables["system.mac"]] == [("compute", 2.2)]


def test_problem() -> None:
    tree = problem_tree(CONV)
    assert tree["instance"] == {
        "C": 3,
        "M": 8,
        "R": 3,
        "S": 3,
        "N": 1,
        "P": 5,
        "Q": 7,
        "Wstride": 2,
        "Hstride": 1,
        "Wdilation": 1,
        "Hdilation": 1,
    }
    spaces = {space["name"]: space for space in tree["shape"]["data-spaces"]}
    assert spaces["Inputs"]["projection"][2] == [["R", "Wdilation"], ["P", "Wstride"]]
    assert spaces["Outputs"]["read-write"] is True
    assert "read-write" not in spaces["Weights"]


def test_mapping_is_written_innermost_first() -> None:
    directives = {(d["target"], d["type"]): d for d in mapping_directives(CONV, ARCH, MAPPING)}
    assert set(directives) == {
        *((level, "temporal") for level in ARCH.level_names),
        *((level, "bypass") for level in ARCH.level_names),
        ("L1", "spatial"),
    }
    assert directives["DRAM", "temporal"]["permutation"].startswith("QP")
    assert directives["L1", "temporal"]["permutation"].startswith("CR")
    assert sorted(directives["L1", "temporal"]["permutation"]) == sorted("CMRSNPQ")
    spatial = directives["L1", "spatial"]
    assert spatial["permutation"].startswith("SM")
    assert spatial["split"] == 1
    assert dict(part.split("=") for part in spatial["factors"].split()) == {
        **dict.fromkeys("CRNPQ", "1"),
        "S": "3",
        "M": "2",
    }
    assert directives["L1", "bypass"]["keep"] == ["Inputs", "Outputs"]
    assert directives["L1", "bypass"]["bypass"] == ["Weights"]


def _with(level: LevelMapping) -> Mapping:
    return Mapping(tuple(level if one.level == level.level else one for one in MAPPING.levels))


@pytest.mark.parametrize(
    ("mapping", "message"),
    [
        (Mapping(MAPPING.levels[:2]), "has the levels"),
        (_with(LevelMapping("Reg", (("M", 4),), (), frozenset({"Psums"}))), "unknown data space"),
        (_with(LevelMapping("Reg", (("M", 2), ("M", 2)), (), ALL)), "two temporal loops over one dimension"),
        (_with(LevelMapping("L1", (("R", 3), ("C", 3)), (("M", 2, "X"), ("S", 3, "Y")), ALL)), "the fan-out is"),
        (_with(LevelMapping("Reg", (), (("M", 4, "X"),), ALL)), "the fan-out is"),
    ],
)
def test_unwritable_mappings(mapping: Mapping, message: str) -> None:
    with pytest.raises(MappingError, match=message):
        mapping_directives(CONV, ARCH, mapping)


def test_constraints() -> None:
    loops = LoopConstraint({"R": 0, "C": 2}, {"M": 4}, {"P": 2}, ("C", "M"), ("Q",), 1)
    level = LevelConstraints(loops, loops, frozenset({"Inputs"}), frozenset({"Weights"}))
    targets = constraint_targets(CONV, ARCH, Constraints("c", {"L1": level, "Reg": level}))
    assert [(target["target"], target["type"]) for target in targets] == [
        ("L1", "temporal"),
        ("L1", "spatial"),
        ("L1", "bypass"),
        ("Reg", "temporal"),
        ("Reg", "bypass"),
    ]
    assert targets[1] == {
        "target": "L1",
        "type": "spatial",
        "factors": "R=0 C=2 M<=4 P>=2",
        "permutation": "CM_Q",
        "split": 1,
    }
    assert targets[2] == {"target": "L1", "type": "bypass", "keep": ["Inputs"], "bypass": ["Weights"]}
    with pytest.raises(InputError, match=r"unknown level.*L9"):
        constraint_targets(CONV, ARCH, Constraints("c", {"L9": level}))


def test_fanout_along_y_is_split_there() -> None:
    outer = StorageLevel("Outer", "s.Outer", "DRAM", None, 16)
    inner = StorageLevel("Inner", "s.Inner", "SRAM", 8, 16, mesh_y=3)
    arch = Architecture("column", (outer, inner), ComputeLevel("mac", "s.mac", "intmac", 16, mesh_y=3))
    free = constraint_targets(CONV, arch, Constraints("none"))
    assert free == [{"target": "Outer", "type": "spatial", "split": 0}]
    ordered = Constraints("c", {"Outer": LevelConstraints(spatial=LoopConstraint(permutation=("M", "C")))})
    assert constraint_targets(CONV, arch, ordered) == [{"target": "Outer", "type": "spatial", "permutation": "MC"}]


def test_files_are_yaml_in_the_order_named(tmp_path: Path) -> None:
    target = Target(ARCH, COSTS, Constraints("none"))
    files = write_evaluation(tmp_path, CONV, target, MAPPING)
    assert files == ["architecture.yaml", "energy.yaml", "problem.yaml", "mapping.yaml"]
    keys = [next(iter(yaml.safe_load((tmp_path / name).read_text()))) for name in files]
    assert keys == ["architecture", "ERT", "problem", "mapping"]
    files = write_search(tmp_path, CONV, target, {"num-threads": 1})
    assert files[-2:] == ["constraints.yaml", "mapper.yaml"]
    assert yaml.safe_load((tmp_path / "mapper.yaml").read_text()) == {"mapper": {"num-threads": 1}}
    assert yaml.safe_load((tmp_path / "constraints.yaml").read_text()) == {"architecture_constraints": {"targets": []}}
