"""Whole Timeloop inputs: several files, and a jinja2 top file as the exercises write it."""

import shutil
from pathlib import Path

import pytest

from jouleloop.documents.load import load_document
from jouleloop.errors import InputError
from jouleloop.mapping.formats import read_timeloop_mapping
from jouleloop.mapspace.read_design import read_design
from jouleloop.workload.layer import Layer
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
    assert read_design([*parts, EXERCISES / "problem.yaml"]) == design
    with pytest.raises(InputError, match="no such file"):
        read_design([*parts, tmp_path / "missing.yaml"])
    (tmp_path / "odd.yaml").write_text("maper: {}\n")
    with pytest.raises(InputError, match="did you mean 'mapper'"):
        read_design([*parts, tmp_path / "odd.yaml"])
    with pytest.raises(InputError, match="has no architecture"):
        read_design([EXERCISES / "problem.yaml"])


def test_the_front_end_joins_sections_of_several_files(tmp_path: Path) -> None:
    """Shape and sizes of a layer in two files, constraints in sections of any name that holds the word."""
    parts = [EXERCISES / "simba_like" / "arch.yaml", EXERCISES / "problem.yaml"]
    before = read_design(parts)
    level = before.arch.level_names[1]
    factors = "{target: %s, type: temporal, factors: [%s]}"
    (tmp_path / "a.yaml").write_text(f"glb_constraints: {{targets: [{factors % (level, 'N=1')}]}}\n")
    (tmp_path / "b.yaml").write_text(f"constraints: {{targets: [{factors % (level, 'R=1')}]}}\n")
    joined = read_design([*parts, tmp_path / "a.yaml", tmp_path / "b.yaml"]).constraints.level(level).temporal.factors
    assert joined == before.constraints.level(level).temporal.factors | {"N": 1, "R": 1}
    (tmp_path / "c.yaml").write_text("problem: {instance: {M: 7}}\n")
    with pytest.raises(InputError, match=r"c.yaml: problem.instance.M: is stated twice.*problem.yaml"):
        read_design([*parts, tmp_path / "c.yaml"])
    (tmp_path / "c.yaml").write_text("problem: {instance: {M: 32}}\n")
    assert read_design([*parts, tmp_path / "c.yaml"]).problem == before.problem


DESIGN = """
architecture:
  version: 0.2
  subtree:
  - name: top
    local: [{name: DRAM, class: DRAM, attributes: {width: 64, word-bits: 8}}]
    subtree:
    - name: PE[0..3]
      local:
      - {name: spad, class: regfile, attributes: {depth: 64, width: 8, word-bits: 8}}
      - {name: mac, class: intmac}
problem: {shape: cnn-layer, R: 1, S: 1, P: 4, Q: 4, C: 4, K: 4, N: 1}
"""
_TARGETS = "[{target: spad, type: temporal, factors: C=2}, {target: spad, type: bypass, bypass: [Inputs]}]"
_OTHERS = "[{target: spad, type: temporal, factors: C=4}]"
#: Two constraints in every form that Timeloop reads them in.
FORMS = {
    "targets": f"targets: {_TARGETS}",
    "list": "\n- {name: spad, type: temporal, factors: C2}\n- {name: spad, type: bypassing, bypass: [Inputs]}",
    "constraints": f"constraints: {_TARGETS}\n  targets: {_OTHERS}",
    "named": f"constraints: mine\n  constraints_mine: {_TARGETS}\n  constraints_other: {_OTHERS}",
    "below": "targets: [{name: spad, constraints: [{type: temporal, attributes: {factors: C=2}}, "
    "{type: bypassing, attributes: {bypass: [Inputs]}}]}]",
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("section", ["mapspace", "mapspace_constraints", "architecture_constraints"])
def test_constraints_count_in_every_form(form: str, section: str, tmp_path: Path) -> None:
    file = tmp_path / "design.yaml"
    text = FORMS[form]
    file.write_text(f"{DESIGN}{section}:{'' if text.startswith(chr(10)) else chr(10) + '  '}{text}\n")
    level = read_design([file]).constraints.level("spad")
    assert (level.temporal.factors, level.bypass) == ({"C": 2}, {"Inputs"})
    alone = read_design([file], which="arch-only").constraints.level("spad")
    assert (alone == level) == (section == "architecture_constraints")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("mapspace: {constraints: mine}", "named and not there"),
        ("mapspace: {targets: 3}", "must be a list"),
        ("mapspace: {targets: [3]}", "must be a mapping"),
        ("mapspace: {targets: [{name: spad, constraints: 3}]}", "must be a list"),
        ("mapspace: {targets: [{name: spad, constraints: [3]}]}", "must be a mapping"),
        ("mapspace: {target: []}", "unknown key"),
        ("mapspace: {template: skew}", "not supported"),
        ("mapspace: {targets: []}\nmapspace_constraints: {targets: []}", "stands beside mapspace"),
        (
            "mapspace: [{target: spad, type: temporal, factors: C=2, attributes: {permutation: C}}]",
            "stands beside attributes",
        ),
    ],
)
def test_a_section_that_timeloop_reads_otherwise_is_refused(text: str, said: str, tmp_path: Path) -> None:
    file = tmp_path / "design.yaml"
    file.write_text(f"{DESIGN}{text}\n")
    with pytest.raises(InputError, match=said):
        read_design([file])


def test_what_timeloop_passes_over_in_attributes_does_not_count(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "design.yaml"
    stated = "{target: DRAM, type: spatial, attributes: {permutation: CK, split: 1}}"
    file.write_text(f"{DESIGN}mapspace: {{targets: [{stated}]}}\n")
    assert read_design([file]).constraints.level("DRAM").spatial.split is None
    assert "split: passed over" in caplog.text


def test_loops_may_end_early_where_a_design_says_so(tmp_path: Path) -> None:
    file = tmp_path / "design.yaml"
    file.write_text(f"{DESIGN}mapspace: {{template: ruby, targets: []}}\n")
    assert read_design([file]).constraints.factors == "imperfect"


def test_what_is_said_of_containers_that_do_not_fan_out_is_dropped(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """As by the front end: a template with meshes as variables names a container at a mesh of 1 x 1, too."""
    text = """
architecture:
  version: 0.4
  nodes:
  - !Component {name: DRAM, class: DRAM, attributes: {width: 8, datawidth: 8}}
  - !Container {name: chip, spatial: {meshX: %d}}
  - !Component {name: spad, class: regfile, attributes: {depth: 64, width: 8, datawidth: 8}}
  - !Component {name: mac, class: intmac, attributes: {datawidth: 8}}
constraints: {targets: [{target: chip, type: spatial, factors: [C=2]}]}
mapping:
- {target: DRAM, type: temporal, factors: [C=%d]}
- {target: chip, type: spatial, factors: [C=%d]}
"""
    problem = Layer.of("fc", 4, 1).problem()
    for mesh, factors in ((2, {"C": 2}), (1, {})):
        (tmp_path / "arch.yaml").write_text(text % (mesh, 4 // mesh, mesh))
        design = read_design([tmp_path / "arch.yaml"], spatial_levels=True)
        assert design.constraints.level("inter_chip_spatial").spatial.factors == factors
        mapping = read_timeloop_mapping(load_document(tmp_path / "arch.yaml"), problem, design.arch)
        assert mapping.levels[0].temporal == (("C", 4 // mesh),)
        assert caplog.text.count("(chip spatial): passed over") == (0 if factors else 2)


def test_sizes_of_a_layer_may_be_variables(tmp_path: Path) -> None:
    """The front end evaluates them; a number of base 60 is a text to it, as to Timeloop."""
    (tmp_path / "design.yaml").write_text(
        "variables: {version: 0.4, HIDDEN: 24}\n"
        "problem:\n  version: 0.4\n  instance: {C: HIDDEN * 2, M: HIDDEN // 3, R: 1, S: 1, P: 5, Q: 1, N: 1}\n"
        "architecture:\n  version: 0.4\n  nodes:\n"
        "  - !Component {name: DRAM, class: DRAM, attributes: {width: 8, datawidth: 8, network_type: 1:1}}\n"
        "  - !Component {name: mac, class: intmac}\n"
    )
    problem = read_design([tmp_path / "design.yaml"]).problem
    assert problem is not None
    assert (problem.bound["C"], problem.bound["M"], problem.bound["P"]) == (48, 8, 5)
    text = (tmp_path / "design.yaml").read_text().replace("HIDDEN // 3", "WIDTH")
    (tmp_path / "design.yaml").write_text(text)
    with pytest.raises(InputError, match=r"instance\.M: must be a positive whole number \(got 'WIDTH'\)"):
        read_design([tmp_path / "design.yaml"])


def test_sizes_of_a_layer_beside_a_plain_file_are_looked_up_as_they_stand(tmp_path: Path) -> None:
    """Timeloop evaluates nothing, so a variable may be called like an expression."""
    (tmp_path / "arch.yaml").write_text(
        "architecture:\n  version: 0.3\n  subtree:\n  - name: chip\n    local:\n"
        "    - {name: DRAM, class: DRAM, attributes: {width: 8, word-bits: 8}}\n"
        "    - {name: mac, class: intmac}\n"
    )
    (tmp_path / "layer.yaml").write_text("problem: {instance: {C: H*2, M: H, R: 1, S: 1, P: 5, Q: 1, N: 1}}\n")
    (tmp_path / "variables.yaml").write_text("variables: {version: 0.3, H: 24, 'H*2': 48}\n")
    problem = read_design(sorted(tmp_path.glob("*.yaml"))).problem
    assert problem is not None
    assert (problem.bound["C"], problem.bound["M"], problem.bound["P"]) == (48, 24, 5)
    (tmp_path / "variables.yaml").write_text("variables: {version: 0.3, H: 24}\n")
    with pytest.raises(InputError, match=r"instance\.C: must be a positive whole number \(got 'H\*2'\)"):
        read_design(sorted(tmp_path.glob("*.yaml")))
