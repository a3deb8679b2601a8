"""Timeloop's mapping formats: its own printed nests, its directives, and what is refused."""

from pathlib import Path
from typing import Any

import pytest

from jouleloop.arch.architecture import Architecture
from jouleloop.arch.read import read_architecture
from jouleloop.errors import MappingError
from jouleloop.mapping.formats import from_levels, read_timeloop_mapping, to_timeloop_mapping
from jouleloop.mapping.nest import parse_map_txt, print_nest, read_map_txt
from jouleloop.workload.sizes import parse_layer
from paths import REFERENCE, ROOT

RUNS = REFERENCE / "timeloop_runs"
LAYER = parse_layer("fc:1024x128").problem()


@pytest.fixture(scope="module")
def eyeriss() -> Architecture:
    return read_architecture(ROOT / "arch" / "eyeriss.yaml")


@pytest.mark.parametrize("name", ["eyeriss", "simba"])
def test_printed_nest_is_timeloops_to_the_byte(name: str) -> None:
    arch = read_architecture(ROOT / "arch" / f"{name}.yaml")
    file = RUNS / f"fc_{name}_1024x128.map.txt"
    nest = read_map_txt(file, LAYER, arch)
    assert print_nest(nest.mapping, LAYER, arch) == file.read_text()
    assert nest.tiles[arch.level_names[0]] == {"Weights": 131072, "Inputs": 1024, "Outputs": 128}


def test_directives_of_the_reference_kind(eyeriss: Architecture) -> None:
    layer = parse_layer("conv:C3xM64xP55xQ55xR11xS11/stride4").problem()
    directives: list[Any] = [
        {"target": "DRAM", "type": "temporal", "permutation": "PRNSCQM", "factors": {"C": 3, "P": 11}},
        {"target": "shared_glb", "type": "temporal", "permutation": "MPSCRQN", "factors": "M=32 P=5 Q=0"},
        {"target": "shared_glb", "type": "spatial", "split": 7, "permutation": "NCPRSQM", "factors": "M2"},
        {"target": "PE", "type": "spatial", "split": 4, "permutation": "NPQRSCM", "factors": ["S=0"]},
        {"target": "weights_spad", "type": "temporal", "permutation": "NMPQSCR", "factors": "R=11"},
        {"target": "weights_spad", "type": "datatype", "keep": ["Weights"], "bypass": ["Inputs", "Outputs"]},
    ]
    mapping = read_timeloop_mapping({"mapping": directives}, layer, eyeriss)
    assert mapping.compact() == (
        "DRAM C3 P11 | shared_glb Q55 P5 M32 M2X | DummyBuffer S11Y | ifmap_spad | weights_spad R11 | psum_spad"
    )
    assert mapping.levels[4].keep == {"Weights"}
    assert read_timeloop_mapping(to_timeloop_mapping(mapping, layer, eyeriss), layer, eyeriss) == mapping


def only(level: str = "DRAM", kind: str = "temporal", **more: Any) -> list[Any]:
    return [{"target": level, "type": kind, **more}]


@pytest.mark.parametrize(
    ("directives", "message"),
    [
        (only(factors="C=1024"), "factors of M multiply to 1"),
        (only(factors="C=1024 M=256"), "factors of M multiply to 256, the layer has 128"),
        (only(factors="C=1024 M=128 K=2"), "unknown dimension"),
        (only("DRM", factors="C=0 M=0"), "did you mean 'DRAM'"),
        (only("shared_glb", "spatial", factors="M=0") + only(factors="C=0"), "fan-out is 14"),
        (only("shared_glb", "spatial", factors="M=2", split=0) + only(factors="C=0 M=64"), "along Y, the fan-out is 1"),
        (only(factors="C=0 M=0") + only(factors="C=1"), "second time"),
        (only(factors="C=0 M<=128"), "states exact factors"),
        (only(factors="C=0 M=43,42"), "loops of M end at 42, the layer has 128"),
        (only(factors="C=0 M=0", no_spatial_reuse=["Inputs"]), "unknown key"),
        (only(factors="C=0 M=0") + only(kind="skew"), "skewed mappings are not supported"),
        (only(factors="C=0 M=0") + only("shared_glb", "bypass", keep=["Inputs"], bypass=["Inputs"]), "both keeps"),
        ("text", "is no mapping"),
        ({"type": "fused", "nodes": []}, "several layers at once"),
    ],
)
def test_refused_directives(directives: Any, message: str, eyeriss: Architecture) -> None:
    with pytest.raises(MappingError, match=message):
        read_timeloop_mapping(directives, LAYER, eyeriss)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("for C in [0:64)", "for C in [0:63)", "factors of C multiply to 1008"),
        ("for C in [0:64)", "for C in [0:64,63)", "loops of C end at"),
        ("shared_glb", "sharde_glb", "did you mean 'shared_glb'"),
        ("(Spatial-Y)", "(Spatial-X)", "along X, the fan-out is 1"),
        ("for C in [0:64)", "if C in [0:64)", "is no line of a loop nest"),
    ],
)
def test_refused_nests(old: str, new: str, message: str, eyeriss: Architecture) -> None:
    text = (RUNS / "fc_eyeriss_1024x128.map.txt").read_text()
    with pytest.raises(MappingError, match=message):
        parse_map_txt(text.replace(old, new, 1), LAYER, eyeriss)


def test_lists_of_levels(eyeriss: Architecture) -> None:
    levels = [{"level": "DRAM", "temporal": [["C", 1024], ["M", 128]], "tile": {"W": 1, "I": 1, "O": 1}}]
    mapping = from_levels(levels, LAYER, eyeriss, keep={"shared_glb": ["Inputs", "Outputs"]})
    assert mapping.levels[1].keep == {"Inputs", "Outputs"}
    with pytest.raises(MappingError, match="is no loop"):
        from_levels([{"level": "DRAM", "temporal": [["C"]]}], LAYER, eyeriss)
    with pytest.raises(MappingError, match="is given twice"):
        from_levels([*levels, *levels], LAYER, eyeriss)


def test_what_is_kept_where_nothing_is_said(tmp_path: Path) -> None:
    file = tmp_path / "arch.yaml"
    file.write_text("""
architecture:
  version: 0.4
  nodes:
  - !Component {name: DRAM, class: DRAM, attributes: {width: 64, datawidth: 8}}
  - !Component
    name: buffer
    class: SRAM
    attributes: {depth: 64, width: 8, datawidth: 8}
    constraints: {dataspace: {bypass: [Weights]}}
  - !Container {name: PE, spatial: {meshX: 4}, constraints: {spatial: {permutation: [C, M]}}}
  - !Component
    name: register
    class: regfile
    attributes: {depth: 64, width: 8, datawidth: 8}
    constraints: {dataspace: {keep_only: [Outputs]}}
  - !Component {name: mac, class: intmac}
""")
    arch = read_architecture(file)
    layer = parse_layer("fc:8x4").problem()
    directives = only(factors="C=0 M=2") + only("PE", "spatial", factors="M=2")
    mapping = read_timeloop_mapping(directives, layer, arch)
    assert [sorted(level.keep) for level in mapping.levels] == [
        ["Inputs", "Outputs", "Weights"],
        ["Inputs", "Outputs"],
        [],
        ["Outputs"],
    ]
    assert mapping.compact() == "DRAM M2 C8 | buffer | inter_PE_spatial M2X | register"
    assert from_levels([{"level": "DRAM", "temporal": [["C", 8], ["M", 4]]}], layer, arch).levels[3].keep == {"Outputs"}


@pytest.mark.parametrize("name", ["eyeriss", "simba"])
def test_shipped_examples_are_timeloops_mappings(name: str) -> None:
    arch = read_architecture(ROOT / "arch" / f"{name}.yaml")
    mapping = read_timeloop_mapping(ROOT / "mappings" / "examples" / f"{name}-fc-1024x128.yaml", LAYER, arch)
    assert print_nest(mapping, LAYER, arch) == (RUNS / f"fc_{name}_1024x128.map.txt").read_text()
