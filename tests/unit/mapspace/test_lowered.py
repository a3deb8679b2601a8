"""Loops of bound 1: the front end puts them before what a split parts, where it reads the constraints at all."""

from pathlib import Path

import pytest

from jouleloop.arch.read import read_architecture
from jouleloop.mapspace.read import build_constraints, read_constraints
from jouleloop.mapspace.space import build_mapspace
from jouleloop.workload.sizes import parse_layer

DESIGN = """
architecture:
  version: 0.4
  nodes:
  - !Component {name: DRAM, class: DRAM, attributes: {width: 64, datawidth: 8}}
  - !Container
    name: PE
    spatial: {meshX: 4, meshY: 2}
%s
  - !Component {name: buffer, class: SRAM, attributes: {depth: 512, width: 8, datawidth: 8}}
  - !Component {name: mac, class: intmac, attributes: {datawidth: 8}}
"""
SPATIAL = "factors: [N=1, P=1, Q=1, R=1, S=1], permutation: [C, M], split: %d"
TARGETS = "architecture_constraints: {targets: [{target: PE, type: spatial, %s}]}"


@pytest.mark.parametrize(("split", "in_file", "in_node"), [(1, "C", ""), (2, "CM", ""), (6, "CM", "C")])
def test_what_is_unrolled_along_the_first_axis(split: int, in_file: str, in_node: str, tmp_path: Path) -> None:
    bare, full, given = (tmp_path / f"{name}.yaml" for name in ("bare", "full", "given"))
    bare.write_text(DESIGN % "")
    full.write_text(DESIGN % f"    constraints: {{spatial: {{{SPATIAL % split}}}}}")
    given.write_text(TARGETS % (SPATIAL % split))
    arch, own = read_architecture(bare), read_architecture(full)
    problem = parse_layer("conv:C8xM8xP4").problem()
    names = problem.shape.dimensions
    for design, constraints, expected in (
        (arch, read_constraints(given, arch), in_file),
        (own, build_constraints(own.constraints, own, problem.shape, name="own"), in_node),
    ):
        slot = next(one for one in build_mapspace(problem, design, constraints).spatial if one is not None)
        assert {d for d in "CM" if slot.rank[names.index(d)] < slot.split} == set(expected)
