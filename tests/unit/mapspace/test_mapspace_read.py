"""Constraint files: Timeloop's spellings, sets by name, contradictions."""

from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from jouleloop.arch.architecture import Architecture
from jouleloop.arch.read import read_architecture
from jouleloop.documents.keywords import KEYWORDS
from jouleloop.energy.choice import costs_of, sources_of
from jouleloop.errors import InputError
from jouleloop.mapspace.constraints import Constraints, LevelConstraints, LoopConstraint
from jouleloop.mapspace.read import build_constraints, read_constraints, read_mapper
from jouleloop.mapspace.space import FREE, FactorSlot, MapSpace, build_mapspace
from jouleloop.mapspace.write import to_timeloop_targets
from jouleloop.model.semantics import rules_of
from jouleloop.model.support import Use
from jouleloop.optimum.optimise import search_mapspace
from jouleloop.optimum.supported import check_search
from jouleloop.workload.layer import CONV, Layer
from paths import ROOT


@pytest.fixture(scope="module")
def simba() -> Architecture:
    return read_architecture(ROOT / "arch" / "simba.yaml")


def test_sets_are_selected_by_name(simba: Architecture) -> None:
    file = ROOT / "mappings" / "simba.yaml"
    full, arch = read_constraints(file, simba), read_constraints(file, simba, "arch-only")
    assert full.level("PEAccuBuffer").spatial.factors["C"] == 4
    assert "C" not in arch.level("PEAccuBuffer").spatial.factors
    assert full.level("DRAM").temporal.permutation == ("R", "S", "C", "M", "N")
    assert arch.level("DRAM") == arch.level("nothing")
    with pytest.raises(InputError, match="did you mean 'arch-only'"):
        read_constraints(file, simba, "arch-onyl")


def test_eyeriss_sets_are_the_same() -> None:
    eyeriss = read_architecture(ROOT / "arch" / "eyeriss.yaml")
    file = ROOT / "mappings" / "eyeriss.yaml"
    full = read_constraints(file, eyeriss)
    assert full.levels == read_constraints(file, eyeriss, "arch-only").levels
    assert full.level("weights_spad").temporal.factors["R"] == 0
    assert full.level("DummyBuffer").spatial.split == 4
    assert full.level("shared_glb").bypass == {"Weights"}
    assert read_mapper(file)["algorithm"] == "linear-pruned"


@pytest.mark.parametrize("name", ["eyeriss", "simba"])
def test_written_targets_read_back(name: str) -> None:
    arch = read_architecture(ROOT / "arch" / f"{name}.yaml")
    constraints = read_constraints(ROOT / "mappings" / f"{name}.yaml", arch)
    again = build_constraints(to_timeloop_targets(constraints), arch, CONV, name=constraints.name)
    assert again.as_dict() == constraints.as_dict()


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ({"factors": "N=1 C=0 M<=4"}, ({"N": 1, "C": 0}, {"M": 4}, {})),
        ({"factors": ["N=1", "C=0", "M<=4"]}, ({"N": 1, "C": 0}, {"M": 4}, {})),
        ({"factors": "N=1,C>=2,M<4"}, ({"N": 1}, {"M": 3}, {"C": 2})),
        ({"factors": "N1 C4"}, ({"N": 1, "C": 4}, {}, {})),
        ({"factors": [["C", "=", 3]]}, ({"C": 3}, {}, {})),
        ({"factors_only": ["C=3"]}, ({"C": 3, "M": 1, "R": 1, "S": 1, "N": 1, "P": 1, "Q": 1}, {}, {})),
        ({"no_iteration_over_dataspaces": ["Weights"]}, ({"C": 1, "M": 1, "R": 1, "S": 1}, {}, {})),
        ({"must_iterate_over_dataspaces": ["Outputs"]}, ({"C": 1, "R": 1, "S": 1}, {}, {})),
    ],
)
def test_factor_spellings(target: dict[str, Any], expected: tuple[dict[str, int], ...], simba: Architecture) -> None:
    item = {"target": "DRAM", "type": "temporal", **target}
    loops = build_constraints([item], simba, CONV, name="x").level("DRAM").temporal
    assert (loops.factors, loops.max_factors, loops.min_factors) == expected


@pytest.mark.parametrize(
    ("permutation", "inner", "outer"),
    [
        ("RSC MN", "RSCMN", ""),
        ("RS_PQ", "RS", "PQ"),
        ("_N", "", "N"),
        (["R", "S", "*", "P"], "RS", "P"),
        ("R,S", "RS", ""),
        ("R S", "RS", ""),
    ],
)
def test_permutations(permutation: Any, inner: str, outer: str, simba: Architecture) -> None:
    item = {"target": "DRAM", "type": "temporal", "permutation": permutation}
    loops = build_constraints([item], simba, CONV, name="x").level("DRAM").temporal
    assert ("".join(loops.permutation), "".join(loops.outer_permutation)) == (inner, outer)


GB = {"target": "GlobalBuffer"}
LAST = {"target": "PEWeightRegs"}
#: Leaves the search no choice of what to keep.
KEEPS = [
    {"target": name, "type": "bypass", "keep": ["Weights", "Inputs", "Outputs"]}
    for name in ("GlobalBuffer", "PEInputBuffer", "PEWeightBuffer", "PEAccuBuffer", "PEWeightRegs")
]


@pytest.mark.parametrize(
    ("targets", "message"),
    [
        ([{**GB, "type": "bypass", "keep": ["Inputs"], "bypass": ["Inputs"]}], "both keeps and bypasses Inputs"),
        ([{**GB, "type": "bypass", "keep": ["Input"]}], "did you mean 'Inputs'"),
        ([{**GB, "type": "temporal", "factors": "C=2"}, {**GB, "type": "temporal", "factors": "C=4"}], "contradicts"),
        ([{**GB, "type": "temporal", "factors": "C=8 C<=4"}], "contradicts"),
        ([{**GB, "type": "temporal", "factors": "C>=8 C<=4"}], "contradicts"),
        ([{**GB, "type": "temporal", "factors": "C<=4"}, {**GB, "type": "temporal", "factors": "C=8"}], "contradicts"),
        ([{**GB, "type": "temporal", "factors": "K=1"}], "unknown dimension"),
        ([{**GB, "type": "temporal", "factors": "C=5,3"}], "only a mapping states residual ends"),
        ([{**GB, "type": "temporal", "permutation": "CC"}], "names C twice"),
        ([{**GB, "type": "temporal", "permutaton": "C"}], "did you mean 'permutation'"),
        ([{**GB, "type": "temporal", "factors": "C="}], "is no factor"),
        ([{**GB, "type": "spatial", "split": -1}], "must be a whole number"),
        ([{**GB, "type": "spatial", "no_link_transfer": ["Input"]}], "did you mean 'Inputs'"),
        ([{**GB, "type": "spatial", "no_link_transfer": ["Inputs"]}] * 2, "a second time"),
        ([{**GB, "type": "temporal", "no_reuse": "Inputs"}], "must be a list of data spaces"),
        ([{**GB, "type": "utilization", "min": 0.5}], "innermost storage level"),
        ([{**LAST, "type": "utilization", "min": 5}], "must be a share"),
        ([{**LAST, "type": "parallelism", "min": 0.5}] * 2, "a second time"),
        ([{**GB, "type": "temporal", "maximize_dims": "C"}], "must be a list of dimensions"),
        ([{**GB, "type": "temporal", "maximize_dims": ["K"]}], "unknown dimension"),
        ([{**GB, "type": "temporl"}], "did you mean 'temporal'"),
        ([{"target": "GlobalBufer", "type": "temporal"}], "did you mean 'GlobalBuffer'"),
        (["nonsense"], "must be a mapping"),
    ],
)
def test_refused_constraints(targets: list[Any], message: str, simba: Architecture) -> None:
    with pytest.raises(InputError, match=message):
        build_constraints(targets, simba, CONV, name="x")


def test_constraints_on_nodes(tmp_path: Path) -> None:
    file = tmp_path / "arch.yaml"
    file.write_text("""
architecture:
  version: 0.4
  nodes:
  - !Component {name: DRAM, class: DRAM, attributes: {width: 64, datawidth: 8}}
  - !Container {name: PE, spatial: {meshX: 4}, constraints: {spatial: {permutation: [C, M], split: 1, factors: [R=1]}}}
  - !Parallel
    nodes:
    - !Component
      name: a
      class: regfile
      attributes: {depth: 1, width: 8, datawidth: 8}
      constraints: {dataspace: {keep: [Weights]}}
    - !Component
      name: b
      class: regfile
      attributes: {depth: 1, width: 8, datawidth: 8}
      constraints: {dataspace: {keep: [Outputs]}}
    - !Nothing {constraints: {dataspace: {keep: [Inputs]}}}
  - !Component {name: mac, class: intmac}
""")
    arch = read_architecture(file)
    found = build_constraints(arch.constraints, arch, CONV, name="inline")
    assert found.level("a").keep == {"Weights"}
    assert found.level("a").bypass == {"Inputs", "Outputs"}
    assert found.level("b").bypass == {"Inputs", "Weights"}
    dummy = found.level("inter_PE_spatial")
    assert dummy.spatial.permutation == ("C", "M")
    assert dummy.spatial.split == 1
    assert set(dummy.temporal.factors.values()) == {1}
    assert dummy.bypass == {"Inputs", "Outputs", "Weights"}


def test_a_spatial_factor_above_the_dimension_is_ignored(simba: Architecture) -> None:
    """Timeloop warns and leaves the dimension open, so only with a layer's bounds is a factor too many for a mesh."""
    target = {"target": "PEInputBuffer", "type": "spatial", "factors": "M=99"}
    constraints = build_constraints([*KEEPS, target], simba, CONV, name="one")
    space = build_mapspace(Layer.of("fc", C=4, M=4).problem(), simba, constraints)
    slot = space.spatial[simba.level_names[::-1].index("PEInputBuffer")]
    assert slot is not None
    assert slot.fixed[CONV.dimensions.index("M")] == FREE


def test_a_factor_with_a_sign_is_passed_over(simba: Architecture, caplog: pytest.LogCaptureFixture) -> None:
    targets = [{"target": "GlobalBuffer", "type": "temporal", "factors": ["C=-1", "M<=-2", "P=3"]}]
    loops = build_constraints(targets, simba, CONV, name="x").level("GlobalBuffer").temporal
    assert (loops.factors, loops.max_factors) == ({"P": 3}, {})
    assert "C=-1 passed over, as by Timeloop" in caplog.text


def test_spatial_factors_beyond_a_fan_out_leave_no_mapping(simba: Architecture) -> None:
    target = {**GB, "type": "spatial", "factors": "C=8 M=4"}
    constraints = build_constraints([*KEEPS, target], simba, CONV, name="one")
    space = build_mapspace(Layer.of("fc", C=8, M=8).problem(), simba, constraints)
    costs = costs_of(simba, sources_of(ROOT / "arch/energy/simba-45nm-accelergy03.yaml"))
    result = search_mapspace(space, costs)
    assert result.status == "no_mapping"
    assert "GlobalBuffer (fan-out 16 x 1) has to unroll" in result.reason


@pytest.mark.parametrize(("bound", "fits"), [(1, True), (4, False)])
def test_a_whole_dimension_at_two_levels_must_be_one(bound: int, fits: bool, simba: Architecture) -> None:
    targets = [{**GB, "type": kind, "factors": "M=0"} for kind in ("temporal", "spatial")]
    constraints = build_constraints([*KEEPS, *targets], simba, CONV, name="one")
    problem = Layer.of("fc", C=4, M=bound).problem()
    if fits:
        assert build_mapspace(problem, simba, constraints).index_factorizations > 0
    else:
        with pytest.raises(InputError, match="M = 4 is not divisible by the product of its constrained factors, 16"):
            build_mapspace(problem, simba, constraints)


def test_a_keyword_has_one_row_and_names_a_field_that_holds_it() -> None:
    names = [one.name for one in KEYWORDS]
    assert len(set(names)) == len(names)
    held = {one.field for one in KEYWORDS if one.field}
    loops, whole = ({field.name for field in fields(of)} for of in (LoopConstraint, Constraints))
    assert held <= loops | whole
    # Who refuses one looks for it in the mapspace and its slots.
    slots, spaces = ({field.name for field in fields(of)} for of in (FactorSlot, MapSpace))
    assert {one.field for one in KEYWORDS if one.unsearched} <= slots | spaces
    assert all(set(one.kinds) <= {"temporal", "spatial", "bypass"} for one in KEYWORDS)


def test_a_number_of_0_is_not_what_is_not_stated() -> None:
    none, stated = (Constraints("c", {"L": LevelConstraints(LoopConstraint(capacity=n))}).as_dict() for n in (None, 0))
    assert none != stated


def test_a_keyword_is_refused_by_whom_its_row_names(simba: Architecture) -> None:
    inner = {"target": simba.level_names[-1], "type": "parallelism", "min": 0.5}
    found = build_constraints([inner], simba, CONV, name="c")
    space = build_mapspace(Layer.of("fc", C=4, M=4).problem(), simba, found)
    costs = costs_of(simba, sources_of(ROOT / "arch/energy/simba-45nm-accelergy03.yaml"))
    rules = rules_of("timeloop-3.0.3")
    check_search(Use.PERFECT, space, costs, rules)
    with pytest.raises(InputError) as refused:
        check_search(Use.IMPERFECT, space, costs, rules)
    (fault,) = refused.value.faults
    assert (fault.field, fault.value, fault.allowed) == ("constraints", 0.5, "constraints without min")
    assert "least parallelism" in fault.message
