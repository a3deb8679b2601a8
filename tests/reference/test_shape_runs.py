"""Evaluations of layers of every kind against stored runs of real timeloop-model (see shape_runs/README.md)."""

import json
import lzma
import re
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from jouleloop.arch.read import architecture_from
from jouleloop.energy.choice import costs_of, sources_of
from jouleloop.engines.agreement import compare_evaluations
from jouleloop.mapping.formats import read_timeloop_mapping
from jouleloop.model.evaluate import evaluate_mapping
from jouleloop.workload.kinds import kind_names
from jouleloop.workload.timeloop_problem import problem_from

FOLDER = Path(__file__).parent / "shape_runs"


@cache
def records() -> list[dict[str, Any]]:
    """All stored runs."""
    return [json.loads(line) for line in lzma.open(FOLDER / "kinds.jsonl.xz", "rt", encoding="utf-8")]


@pytest.mark.parametrize("kind", kind_names())
def test_all_fields_are_those_of_timeloop(kind: str, tmp_path: Path) -> None:
    found = [record for record in records() if record["kind"] == kind]
    assert len(found) >= 20
    for record in found:
        design = record["design"]
        arch, problem = architecture_from(design["arch"]), problem_from(design["problem"])
        (tmp_path / "ert.yaml").write_text(yaml.safe_dump(design["ert"]))
        costs = costs_of(arch, sources_of(tmp_path / "ert.yaml"))
        mapping = read_timeloop_mapping(design["mapping"], problem, arch)
        pairs = compare_evaluations(evaluate_mapping(problem, arch, costs, mapping).as_json(), record["evaluation"])
        assert len(pairs) > 20
        # The sum of spatial reductions wraps around in Timeloop where it is below zero.
        below = {pair.field for pair in pairs if pair.quantity == "networks" and (pair.ours or 0.0) < 0}
        different = [pair for pair in pairs if pair.verdict != "equal" and pair.field not in below]
        assert [(record["number"], pair.field, pair.ours, pair.theirs) for pair in different] == []


def test_the_page_counts_what_is_stored() -> None:
    listed = re.findall(r"^\| `(\w+)` \| (\d+) \|$", (FOLDER / "README.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert Counter(record["kind"] for record in records()) == {kind: int(count) for kind, count in listed}
    assert len(records()) >= 300


def test_strides_and_dilations_are_among_them() -> None:
    windows = [record["design"]["problem"]["problem"]["instance"] for record in records()]
    for stem, least in (("stride", 80), ("dilation", 80)):
        assert sum(any(key.endswith(stem) and value > 1 for key, value in sizes.items()) for sizes in windows) >= least
