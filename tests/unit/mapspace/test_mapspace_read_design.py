"""Whole Timeloop inputs: several files, and a jinja2 top file as the exercises write it."""

import shutil
from pathlib import Path

import pytest

from jouleloop.errors import InputError
from jouleloop.mapspace.read_design import read_design
from paths import REFERENCE

EXERCISES = REFERENCE / "exercises"

TOP = """
{{add_to_path(cwd())}}
globals:
  version: 0.4
{% set problem = problem | default('problem.yaml') %}
problem: {{include(problem, 'problem')}}
architecture: {{include(cwd() ~ '/' ~ architecture ~ '/arch.yaml', 'architecture')}}
variables:
  version: 0.4
  technology: "SET ME"
  global_cycle_seconds: 1e-9
mapspace_constraints:
  targets:
  - {target: shared_glb, type: temporal, factors: [N=1]}
mapper:
  version: 0.4
  optimization_metrics: [ edp ]
  num-threads: 4
"""


def test_top_file(tmp_path: Path) -> None:
    shutil.copytree(EXERCISES / "eyeriss_like", tmp_path / "eyeriss_like")
    shutil.copy(EXERCISES / "problem.yaml", tmp_path)
    top = tmp_path / "top.yaml.jinja2"
    top.write_text(TOP)
    design = read_design([top], variables={"architecture": "eyeriss_like"})
    assert design.problem is not None
    assert design.problem.bound == {"C": 3, "M": 32, "R": 3, "S": 3, "N": 1, "P": 112, "Q": 112}
    assert design.problem.coefficient["Wstride"] == 2
    assert design.mapper == {"optimization_metrics": ["edp"], "num_threads": 4}
    assert design.constraints.level("shared_glb").bypass == {"Weights"}
    assert design.constraints.level("shared_glb").temporal.factors == {"N": 1}
    assert design.constraints.level("inter_PE_spatial").spatial.split == 0
    only = read_design([top], variables={"architecture": "eyeriss_like"}, which="arch-only")
    assert only.constraints.level("shared_glb").temporal.factors == {}


def test_several_files_and_their_faults(tmp_path: Path) -> None:
    parts = [EXERCISES / "simba_like" / "arch.yaml", EXERCISES / "problem.yaml"]
    design = read_design(parts)
    assert design.arch.level_names[1] == "GlobalBuffer"
    assert design.problem is not None
    with pytest.raises(InputError, match="problem: stands in"):
        read_design([*parts, EXERCISES / "problem.yaml"])
    with pytest.raises(InputError, match="no such file"):
        read_design([*parts, tmp_path / "missing.yaml"])
    (tmp_path / "odd.yaml").write_text("maper: {}\n")
    with pytest.raises(InputError, match="did you mean 'mapper'"):
        read_design([*parts, tmp_path / "odd.yaml"])
    with pytest.raises(InputError, match="has no architecture"):
        read_design([EXERCISES / "problem.yaml"])
