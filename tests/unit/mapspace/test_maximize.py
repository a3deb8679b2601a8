"""``maximize_dims``: the factors that timeloopfe (v4) chose for these sizes and capacities."""

from pathlib import Path
from typing import Any

import pytest

from jouleloop.errors import InputError
from jouleloop.mapspace.read_design import read_design
from jouleloop.mapspace.space import build_mapspace
from jouleloop.workload.sizes import parse_layer

DESIGN = """
architecture:
  version: 0.4
  nodes:
  - !Component {name: DRAM, class: DRAM, attributes: {width: 64, datawidth: 8}}
  - !Component {name: buffer, class: SRAM, attributes: {depth: 512, width: 8, datawidth: 8}}
  - !Container
    name: PE
    spatial: {meshX: %d}
    constraints:
      spatial: {factors: [N=1, P=1, Q=1, R=1], maximize_dims: %s, split: len(spec.problem.instance)}
  - !Component
    name: reg
    class: SRAM
    attributes: {depth: 64, width: 8, datawidth: 8}
    constraints: {temporal: {%s}}
  - !Component {name: mac, class: intmac, attributes: {datawidth: 8}}
"""


def chosen(
    tmp_path: Path, fanout: int, groups: str, temporal: str = "factors_only: []", layer: str = "fc:12x64"
) -> Any:
    path = tmp_path / "design.yaml"
    path.write_text(DESIGN % (fanout, groups, temporal))
    design = read_design([path])
    problem = parse_layer(layer).problem()
    space = build_mapspace(problem, design.arch, design.constraints)
    names = problem.shape.dimensions
    slot = next(slot for slot in space.spatial if slot is not None)
    return {d: f for d, f in zip(names, slot.fixed, strict=True) if f > 1}, dict(
        zip(names, space.temporal[0].fixed, strict=True)
    )


@pytest.mark.parametrize(
    ("fanout", "groups", "expected"),
    [
        (8, "[[M, C]]", {"M": 8}),
        (8, "[[C], [M]]", {}),
        (16, "[C, M]", {"C": 4, "M": 4}),
        (64, "[[C, M]]", {"C": 4, "M": 16}),
        (168, "[[M], [C]]", {"M": 64, "C": 2}),
        (7, "[[M]]", {}),
    ],
)
def test_factors_fill_the_fan_out(tmp_path: Path, fanout: int, groups: str, expected: dict[str, int]) -> None:
    if not expected:
        # 64 in 10 runs of 7 at most, 12 in two of 8: the factor does not divide, and Timeloop refuses the layer.
        with pytest.raises(InputError, match="not divisible"):
            chosen(tmp_path, fanout, groups)
        return
    assert chosen(tmp_path, fanout, groups)[0] == expected


def test_temporal_loops_take_what_is_left(tmp_path: Path) -> None:
    spatial, temporal = chosen(tmp_path, 8, "[[M]]", "maximize_dims: [M, C], maximize_dims_capacity: 4")
    assert spatial == {"M": 8}
    assert (temporal["M"], temporal["C"]) == (4, 1)


@pytest.mark.parametrize(
    ("groups", "temporal", "message"),
    [
        ("[[N]]", "factors_only: []", "constrained already"),
        ("[[M]]", "maximize_dims: [C]", "needs maximize_dims_capacity"),
    ],
)
def test_what_the_front_end_refuses(tmp_path: Path, groups: str, temporal: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        chosen(tmp_path, 8, groups, temporal)
