"""Factors and splits by expressions over the sizes of a layer."""

from pathlib import Path
from typing import Any

import pytest

from jouleloop.errors import InputError
from jouleloop.mapspace.read_design import read_design
from jouleloop.mapspace.space import FREE, build_mapspace
from jouleloop.workload.sizes import parse_layer

DESIGN = """
architecture:
  version: 0.4
  nodes:
  - !Component {name: DRAM, class: DRAM, attributes: {width: 64, datawidth: 8}}
  - !Component
    name: buffer
    class: SRAM
    attributes: {depth: 512, width: 8, datawidth: 8}
    constraints: {temporal: {factors: %s}}
  - !Container
    name: PE
    spatial: {meshX: 4, meshY: 2}
    constraints: {spatial: {factors: %s, split: %s}}
  - !Component {name: mac, class: intmac, attributes: {datawidth: 8}}
"""


def space_of(tmp_path: Path, temporal: str = "[]", spatial: str = "[]", split: str = "0") -> Any:
    path = tmp_path / "design.yaml"
    path.write_text(DESIGN % (temporal, spatial, split))
    design = read_design([path])
    return build_mapspace(parse_layer("conv:C4xM16xP6xR3").problem(), design.arch, design.constraints)


@pytest.mark.parametrize(
    ("text", "dimension", "factor"),
    [
        ("P=P//2", "P", 3),
        ("M=spec.problem.instance['M'] // C", "M", 4),
        ("('C=' + str(min(C, 2)))", "C", 2),
        ("'M=' + str(PE.get_fanout())", "M", 8),
        ("P=int(P / 3)", "P", 2),
    ],
)
def test_factors_by_expression(text: str, dimension: str, factor: int, tmp_path: Path) -> None:
    space = space_of(tmp_path, f'["{text}"]')
    at = space.problem.shape.dimensions.index(dimension)
    buffer = space.arch.level_names[::-1].index("buffer")
    assert space.temporal[buffer].fixed[at] == factor
    others = [f for d, f in enumerate(space.temporal[buffer].fixed) if d != at and space.problem.bounds[d] > 1]
    assert set(others) == {FREE}


def test_a_limit_and_a_split_by_expression(tmp_path: Path) -> None:
    space = space_of(tmp_path, spatial='["M<=M//8"]', split="len(spec.problem.instance) - 6")
    slot = next(slot for slot in space.spatial if slot is not None)
    assert slot.most[space.problem.shape.dimensions.index("M")] == 2
    assert slot.split == len(space.problem.bound) + len(space.problem.coefficient) - 6


def test_a_capacity_by_expression(tmp_path: Path) -> None:
    (tmp_path / "design.yaml").write_text(DESIGN % ("[]", "[]", "0"))
    rules = "constraints:\n  targets:\n  - {target: buffer, type: temporal, maximize_dims: [[C], [M]], %s}\n"
    (tmp_path / "rules.yaml").write_text(rules % "maximize_dims_capacity: (16 * 4) // C")
    found = read_design([tmp_path / "design.yaml", tmp_path / "rules.yaml"])
    space = build_mapspace(parse_layer("conv:C4xM16xP6xR3").problem(), found.arch, found.constraints)
    buffer = space.arch.level_names[::-1].index("buffer")
    fixed = dict(zip(space.problem.shape.dimensions, space.temporal[buffer].fixed, strict=True))
    assert (fixed["C"], fixed["M"]) == (4, 4)  # C as a whole, and of M what fills 16 words


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('["M=M/3"]', "is no factor"),
        ('["M=Z+1"]', "unknown name"),
        ('["M=inf*M"]', "factor"),
        ("[\"'M=' + str(PX.get_fanout())\"]", "no level or container is called 'PX'"),
        ('["P=P//2", P=2]', "contradicts P=2"),
    ],
)
def test_what_says_no_factor_is_refused(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=message):
        space_of(tmp_path, text)
