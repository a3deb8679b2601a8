"""Designs as they are found: expressions that call functions of their own, variables in parts, arrays of CiMLoop."""

from pathlib import Path

import pytest

from jouleloop.arch.read import read_architecture
from jouleloop.errors import InputError
from jouleloop.mapspace.read_design import DescribedDesign, read_design
from jouleloop.mapspace.space import build_mapspace

TOP = """
{{add_to_path('include')}}
globals: {version: 0.4, expression_custom_functions: [bits.py]}
globals_more: {version: 0.4, environment_variables: {A: 1}}
variables:
- {version: 0.4, BITS: 4}
- UNIT: BITS * (2 if is_signed(HIST) else 1)
  HIST: ([0] * 2 + [1] * 2)
  MEAN: mean_of(HIST)
  CIM_ARCHITECTURE: True
  CIM_UNIT_DEPTH_CELLS: 2
  CIM_UNIT_WIDTH_CELLS: 1
  ENCODED_INPUT_BITS: UNIT
  ENCODED_WEIGHT_BITS: 1
  ENCODED_OUTPUT_BITS: 1
  N_WEIGHT_SLICES: 2
architecture:
  version: 0.4
  nodes:
  - !Hierarchical
    nodes:
    - !Component {name: top, class: dummy_storage, attributes: {depth: 4294967295, width: 8, datawidth: 8}}
    - !Component
      name: reader
      class: dummy_storage
      attributes: {depth: ARRAY_PARALLEL_INPUTS * row.get_fanout(), width: UNIT, datawidth: UNIT, level: MEAN}
      constraints:
        dataspace: {keep_only: [Inputs], no_coalesce: ["*"]}
        temporal:
          factors_only:
          - f"X={BITS}"
          - P=-1
    - !ArrayContainer
      name: row
      spatial: {meshY: 8}
      constraints:
        spatial:
          no_reuse: [Inputs]
          factors:
          - ("C=" + str(row.get_fanout() // 2))
      max_utilization:
        spatial:
          factors:
          - ("C=" + str(row.get_fanout()))
    - !Component
      name: cell
      class: dummy_storage
      attributes: {depth: CIM_UNIT_DEPTH_CELLS, width: UNIT, datawidth: UNIT}
      constraints:
        dataspace: {keep_only: [Weights]}
        temporal: {maximize_dims: [M], maximize_dims_capacity: attributes.depth}
    - !Component {name: units, class: free_mac}
problem:
  version: 0.4
  histograms: {Inputs: [1]}
  instance: {C: 8, M: 4, P: 4, X: UNIT}
  shape:
    dimensions: [C, M, P, X]
    data_spaces:
    - {name: Weights, projection: [[[C]], [[M]]]}
    - {name: Inputs, projection: [[[C]], [[P]], [[X]]]}
    - {name: Outputs, projection: [[[M]], [[P]]], read_write: true}
"""
BITS = '''
def is_signed(hist):
    """The first half counts."""
    return sum(hist[: len(hist) // 2]) != 0


def mean_of(hist):
    total = 0
    for value in hist:
        total += value
    return total
'''


def read(folder: Path, text: str = TOP, functions: str = BITS, **variables: str) -> DescribedDesign:
    (folder / "include").mkdir(exist_ok=True)
    (folder / "include/bits.py").write_text(functions)
    (folder / "top.yaml.jinja2").write_text(text)
    return read_design([folder / "top.yaml.jinja2"], variables=variables, later=True)


def test_expressions_have_the_values_of_the_front_end(tmp_path: Path) -> None:
    design = read(tmp_path)
    assert design.problem is not None
    assert design.problem.bound == {"C": 8, "M": 4, "P": 4, "X": 4}
    reader, cell = design.arch.level("reader"), design.arch.level("cell")
    # 8 rows, of which each has inputs of its own.
    assert (reader.capacity_words, reader.word_bits, cell.capacity_words) == (64, 4, 2)
    own = design.constraints.level("reader")
    # A sign leaves a factor open.
    assert (own.temporal.factors, own.reuse.no_coalesce) == ({"X": 4, "C": 1, "M": 1}, {"Weights", "Inputs", "Outputs"})
    assert design.constraints.level("inter_row_spatial").spatial.factors == {"C": 4}
    assert design.constraints.level("inter_row_spatial").spatial.split == 0
    assert build_mapspace(design.problem, design.arch, design.constraints).size > 1


def test_variables_of_the_template_replace_those_of_the_design(tmp_path: Path) -> None:
    assert read(tmp_path, BITS="6").arch.level("reader").word_bits == 6
    filled = read(tmp_path, MAX_UTILIZATION="True").problem
    assert filled is not None
    # All rows are filled; two cells a unit, two slices a weight.
    assert filled.bound == {"C": 8, "M": 4, "P": 4, "X": 4}


def test_the_layer_that_fills_all_arrays_is_the_one_that_expressions_read(tmp_path: Path) -> None:
    """They are evaluated before the layer grows, and the design stays one for the layer that it becomes."""
    text = TOP.replace("level: MEAN", "level: MEAN, seen: spec.problem.instance.C").replace("C: 8, M", "C: 4, M")
    design = read(tmp_path, text, MAX_UTILIZATION="True")
    assert design.problem is not None
    assert design.problem.bound["C"] == dict(design.arch.layer_sizes)["C"] == 8
    assert build_mapspace(design.problem, design.arch, design.constraints).size > 1


def test_a_design_from_before_arrays_were_optional_has_them(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    before = read(tmp_path, MAX_UTILIZATION="True")
    assert "CIM_ARCHITECTURE" not in caplog.text
    older = read(tmp_path, TOP.replace("  CIM_ARCHITECTURE: True\n", ""), MAX_UTILIZATION="True")
    assert (older.arch.as_dict(), older.problem, older.constraints) == (
        before.arch.as_dict(),
        before.problem,
        before.constraints,
    )
    assert "CIM_ARCHITECTURE: is missing, and taken as True" in caplog.text


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("width: UNIT, datawidth: UNIT, level", "width: MEAN, datawidth: 1, level"), "no code of its own"),
        (("is_signed(HIST)", "is_sined(HIST)"), "unknown name 'is_sined'"),
        (("  CIM_UNIT_DEPTH_CELLS: 2\n", ""), "CIM_UNIT_DEPTH_CELLS: is missing"),
        (("meshY: 8", "meshY: 8, meshX: 2"), "an array has one axis"),
        (("- {version: 0.4, BITS: 4", "- {version: 0.4, UNIT: 3, BITS: 4"), "in two parts"),
        (("[bits.py]", "[bytes.py]"), "no such file"),
        (('f"X={BITS}"', 'f"X={BIT}"'), "unknown name 'BIT'"),
    ],
)
def test_what_counts_and_has_no_value_is_named(change: tuple[str, str], message: str, tmp_path: Path) -> None:
    assert change[0] in TOP
    with pytest.raises(InputError, match=message):
        read(tmp_path, TOP.replace(*change))


def test_functions_of_a_design_end(tmp_path: Path) -> None:
    """Nothing of a design runs without end: functions are expressions, and few of them are evaluated."""
    twice = "def is_signed(h):\n    return is_signed(h) + is_signed(h)\n"
    with pytest.raises(InputError, match=r"defined by itself|more than"):
        read(tmp_path, functions=twice)
    with pytest.raises(InputError, match="no file with Python"):
        read(tmp_path, functions="def is_signed(:")


def test_a_merge_comes_before_merges_in_later_keys(tmp_path: Path) -> None:
    """Keys are done in turn (Accelergy ``merge_check``): what came in first wins."""
    text = """
defaults: &defaults {attributes: {width: 8, depth: 4}}
more: &more {width: 16, datawidth: 8}
architecture:
  version: 0.4
  nodes:
  - !Component {name: DRAM, class: DRAM, attributes: {width: 64, datawidth: 8}}
  - !Component {name: late, class: SRAM, <<<: *defaults, attributes: {<<<: *more}}
  - !Component {name: early, class: SRAM, attributes: {<<<: *more}, <<<: *defaults}
  - !Component {name: mac, class: intmac}
"""
    path = tmp_path / "arch.yaml"
    path.write_text(text.replace("defaults:", "defaults_ignore:").replace("more: &", "more_ignore: &"))
    arch = read_architecture(path)
    assert [arch.level(name).block_words for name in ("late", "early")] == [1, 2]
