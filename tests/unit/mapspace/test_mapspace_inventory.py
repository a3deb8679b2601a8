"""What becomes of every key of a design: counted, without effect, passed by or refused."""

from pathlib import Path

import pytest

from jouleloop.mapspace.inventory import COUNTED, NO_EFFECT, PASSED_BY, REFUSED, inventory
from paths import ROOT

DESIGN = """
architecture:
  version: 0.4
  nodes:
  - !Component {name: DRAM, class: DRAM, attributes: {width: 64, datawidth: 8, type: LPDDR4}}
  - !Component {name: adder, class: gizmo}
  - !Component
    name: buffer
    class: SRAM
    attributes: {depth: 64, width: 8, datawidth: 8, n_banks: 2, %s}
    constraints: {temporal: {factors: [C=1], %s}}
  - !Component {name: mac, class: intmac, attributes: {datawidth: 8}}
mapper: {optimization_metrics: [energy], num_threads: 4}
"""


def verdicts(tmp_path: Path, attribute: str = "a: 1", constraint: str = "permutation: [C]") -> dict[str, str]:
    path = tmp_path / "design.yaml"
    path.write_text(DESIGN % (attribute, constraint))
    return {entry.where: entry.verdict for entry in inventory([path])}


def test_a_sound_design(tmp_path: Path) -> None:
    assert verdicts(tmp_path) == {
        "DRAM.attributes.width": COUNTED,
        "DRAM.attributes.datawidth": COUNTED,
        "DRAM.attributes.type": NO_EFFECT,
        "buffer.attributes.depth": COUNTED,
        "buffer.attributes.width": COUNTED,
        "buffer.attributes.datawidth": COUNTED,
        "buffer.attributes.n_banks": NO_EFFECT,
        "buffer.attributes.a": NO_EFFECT,
        "buffer.constraints.temporal.factors": COUNTED,
        "buffer.constraints.temporal.permutation": COUNTED,
        "mac.attributes.datawidth": COUNTED,
        "mapper.optimization_metrics": COUNTED,
        "mapper.num_threads": NO_EFFECT,
        "adder": PASSED_BY,
    }


@pytest.mark.parametrize(
    ("attribute", "constraint", "where"),
    [
        ("network_read: noc", "permutation: [C]", "buffer.attributes.network_read"),
        ("multiple_buffering: -1", "permutation: [C]", "buffer.attributes.multiple_buffering"),
        ("a: 1", "remainders: 1", "buffer.constraints.temporal.remainders"),
        ("network_read: noc", "remainders: 1", "buffer.constraints.temporal.remainders"),
    ],
)
def test_what_is_refused_is_told_once(attribute: str, constraint: str, where: str, tmp_path: Path) -> None:
    path = tmp_path / "design.yaml"
    path.write_text(DESIGN % (attribute, constraint))
    told = [entry for entry in inventory([path]) if entry.where == where]
    assert [entry.verdict for entry in told] == [REFUSED]
    assert told[0].why


def test_the_projects_own_designs_are_counted_whole() -> None:
    for name in ("eyeriss", "simba"):
        entries = inventory([ROOT / "arch" / f"{name}.yaml", ROOT / "mappings" / f"{name}.yaml"])
        assert len(entries) > 40
        assert {entry.verdict for entry in entries} == {COUNTED, NO_EFFECT}


def test_a_mesh_that_levels_name_is_counted(tmp_path: Path) -> None:
    design = tmp_path / "design.yaml"
    design.write_text("""
architecture:
  version: 0.3
  subtree:
  - name: s
    local:
    - {name: DRAM, class: DRAM, attributes: {word-bits: 16, network_read: noc, network_update: noc}}
    - {name: noc, class: XY_NoC, attributes: {energy-per-hop: 0.5, router-energy: 1}}
    - {name: idle, class: XY_NoC, attributes: {energy-per-hop: 0.5}}
    - {name: 'buf[0..3]', class: SRAM, attributes: {entries: 64, network_fill: noc, network_drain: noc, meshX: 4}}
    - {name: 'mac[0..3]', class: mac, attributes: {meshX: 4}}
""")
    found = {entry.where: entry.verdict for entry in inventory([design])}
    assert found["DRAM.attributes.network_read"] == COUNTED
    assert found["noc.attributes.energy-per-hop"] == COUNTED
    assert found["idle"] == PASSED_BY
    assert "noc" not in found
