"""What is proposed where a search was stopped: lines of constraints, which cut the space by what they say."""

from pathlib import Path
from typing import Any

import pytest
import yaml

import jouleloop as jl
from jouleloop.cli.notes import narrower


def test_the_lines_cut_the_space_by_what_they_say_and_leave_the_mapping_in(tmp_path: Path) -> None:
    def searched(targets: list[Any]) -> tuple[jl.Result, int]:
        file = tmp_path / "few.yaml"
        file.write_text(yaml.safe_dump({"mapspace_constraints": {"targets": targets}}))
        result = jl.search("manticore", "fc:8x4", constraints=file)
        assert result.search is not None
        return result, result.search.mapspace_size or 0

    wide, whole = searched([])
    lines = narrower(wide)
    targets = yaml.safe_load("\n".join(line for line in lines if line.startswith("  - ")))
    assert 2 <= len(targets) <= 5
    said = [int(line.split(" to 1/")[1].split(":")[0].replace(",", "")) for line in lines if " to 1/" in line]
    for chosen, factor in zip([*([target] for target in targets), targets], said, strict=True):
        narrow, size = searched(chosen)
        assert whole // size == factor > 1
        assert narrow.energy_pj == pytest.approx(wide.energy_pj, rel=1e-9)
