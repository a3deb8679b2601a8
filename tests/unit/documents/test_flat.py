"""The form of 2019: a flat list of levels, innermost first."""

from pathlib import Path

import pytest

from jouleloop.arch.read import read_architecture
from jouleloop.documents.load import load_document
from jouleloop.errors import InputError

FLAT = """
arch:
  arithmetic: {instances: 16, word-bits: 8, meshX: 4}
  storage:
  - {name: Registers, entries: 2, instances: 16, word-bits: 8, meshX: 4, technology: SRAM}
  - {name: Buffer, attributes: {sizeKB: 4, instances: 1, word-bits: 16, block-size: 4}}
  - {name: DRAM, technology: DRAM, instances: 1, word-bits: 8, block-size: 64}
"""


def _write(folder: Path, text: str) -> Path:
    (folder / "flat.yaml").write_text(text)
    return folder / "flat.yaml"


def test_levels_stand_innermost_first(tmp_path: Path) -> None:
    arch = read_architecture(_write(tmp_path, FLAT))
    assert [level.name for level in arch.levels] == ["DRAM", "Buffer", "Registers"]
    assert [level.capacity_words for level in arch.levels] == [None, 2048, 2]
    assert [level.is_dram for level in arch.levels] == [True, False, False]
    assert arch.compute.name == "__ARITH__"
    assert (arch.levels[2].instances, arch.levels[2].mesh_x) == (16, 4)


def test_sections_have_their_later_names(tmp_path: Path) -> None:
    constraint = "{target: Buffer, type: temporal, factors: C1}"
    data = load_document(_write(tmp_path, f"{FLAT}arch_constraints: [{constraint}]\n"))
    assert set(data) == {"architecture", "architecture_constraints"}
    inside = load_document(_write(tmp_path, f"{FLAT}  constraints: [{constraint}]\n"))
    assert inside["architecture_constraints"] == data["architecture_constraints"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (FLAT + "architecture: {}\n", "arch: stands beside architecture"),
        (FLAT + "  constraints: []\narch_constraints: []\n", "architecture_constraints: stand in the architecture"),
        (FLAT + "  stroage: []\n", "did you mean 'storage'"),
        (FLAT.replace("instances: 1,", ""), "storage[1].instances: has to be stated"),
        ("arch: {arithmetic: {instances: 1}, storage: 3}\n", "architecture.storage: must be a list"),
        ("arch: {arithmetic: 5, storage: [7]}\n", "architecture.arithmetic: must be a mapping"),
        (FLAT.replace("name: Buffer, ", ""), "storage[1]: has no name"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(InputError) as error:
        read_architecture(_write(tmp_path, text))
    assert said in str(error.value)
    assert "flat.yaml" in str(error.value)
