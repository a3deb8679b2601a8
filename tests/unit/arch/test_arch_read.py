"""Architecture files: the shipped ones against the authors' v0.3 files, and everything that must be refused."""

from pathlib import Path

import pytest

from jouleloop.arch.architecture import Architecture
from jouleloop.arch.read import architecture_from, component_classes, is_section, read_architecture
from jouleloop.errors import InputError
from jouleloop.expressions import ExpressionError, evaluate
from paths import REFERENCE, ROOT
from written_architecture import to_architecture_v03, write_architecture_v04

RUNS = REFERENCE / "timeloop_runs"


def identity(arch: Architecture) -> dict[str, object]:
    return {**arch.as_dict(), "name": ""}


@pytest.mark.parametrize("name", ["eyeriss", "simba"])
def test_shipped_architecture_equals_the_authors(name: str) -> None:
    shipped = read_architecture(ROOT / "arch" / f"{name}.yaml")
    authors = read_architecture(RUNS / f"{name}_like.v03.yaml")
    assert identity(shipped) == identity(authors)


def test_sizes_as_timeloop_prints_them() -> None:
    eyeriss = read_architecture(ROOT / "arch" / "eyeriss.yaml")
    sizes = {level.name: (level.capacity_words, level.instances) for level in eyeriss.levels}
    assert sizes == {
        "DRAM": (None, 1),
        "shared_glb": (65536, 1),
        "DummyBuffer": (16, 14),
        "ifmap_spad": (12, 168),
        "weights_spad": (192, 168),
        "psum_spad": (16, 168),
    }
    assert eyeriss.fanout == ((1, 1), (14, 1), (1, 12), (1, 1), (1, 1), (1, 1))
    simba = read_architecture(ROOT / "arch" / "simba.yaml")
    assert [level.capacity_words for level in simba.levels] == [None, 65536, 65536, 32768, 128, 1]
    assert [level.cluster_size for level in simba.levels] == [1, 1, 1, 1, 1, 64]
    assert simba.fanout == ((1, 1), (16, 1), (1, 4), (1, 1), (1, 4), (1, 1))


@pytest.mark.parametrize("name", ["eyeriss", "simba"])
def test_written_files_read_back(name: str, tmp_path: Path) -> None:
    arch = read_architecture(ROOT / "arch" / f"{name}.yaml")
    (tmp_path / "out.yaml").write_text(write_architecture_v04(arch))
    assert identity(read_architecture(tmp_path / "out.yaml")) == identity(arch)
    assert identity(architecture_from(to_architecture_v03(arch))) == identity(arch)


MINIMAL = """
architecture:
  version: 0.4
  nodes:
  - !Component {name: DRAM, class: DRAM, attributes: {width: 64, datawidth: 8}}
  - !Component {name: buffer, class: SRAM, attributes: {depth: %s, width: 8, datawidth: 8}}
  - !Component {name: mac, class: intmac}
"""


def read(text: str, tmp_path: Path, **options: object) -> Architecture:
    file = tmp_path / "arch.yaml"
    file.write_text(text)
    return read_architecture(file, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("expression", "words"),
    [
        ("64", 64),
        ("8 * 8", 64),
        ("2**6 if 1 < 2 else 3", 64),
        ("isqrt(4096) if not 0 else 1", 64),
        ("1e2", 100),
        ("factorial(4) + 40", 64),
        ("fabs(-64) * cos(0)", 64),
        ("ceil(degrees(pi) - 116)", 64),
    ],
)
def test_attributes_are_evaluated(expression: str, words: int, tmp_path: Path) -> None:
    assert read(MINIMAL % expression, tmp_path).level("buffer").capacity_words == words


def test_names_come_from_containers_variables_and_other_nodes(tmp_path: Path) -> None:
    text = """
variables: {version: 0.4, rows: 4, technology: "45nm"}
architecture:
  version: 0.4
  nodes:
  - !Container {name: top, attributes: {base: rows * 2}}
  - !Component {name: DRAM, class: DRAM, attributes: {width: 64, datawidth: 8}}
  - !Component {name: big, class: SRAM, attributes: {depth: base * 16, width: half * 2, half: 4, datawidth: 8}}
  - !Container {name: array, spatial: {meshX: rows, meshY: base}}
  - !Component
    name: small
    class: regfile
    attributes:
      depth: max(big.attributes["depth"] // array.spatial.meshX, ceil(log2(9)))
      width: 8
      datawidth: 8
  - !Component {name: mac, class: intmac}
"""
    arch = read(text, tmp_path)
    assert arch.level("big").capacity_words == 128
    assert arch.level("small").capacity_words == 32
    assert (arch.compute.mesh_x, arch.compute.mesh_y) == (4, 8)
    assert arch.level("small").attributes["technology"] == "45nm"


def test_spatial_levels_follow_the_front_end(tmp_path: Path) -> None:
    text = """
architecture:
  version: 0.4
  nodes:
  - !Component {name: DRAM, class: DRAM, attributes: {width: 64, datawidth: 8}}
  - !Container {name: PE, spatial: {meshX: 4}, constraints: {spatial: {permutation: [C, M], split: 1}}}
  - !Container {name: lane, spatial: {meshY: 2}}
  - !Component {name: mac, class: intmac}
"""
    assert read(text, tmp_path).level_names == ("DRAM", "inter_PE_spatial")
    assert read(text, tmp_path).fanout == ((1, 1), (4, 2))
    arch = read(text, tmp_path, spatial_levels=True)
    assert arch.level_names == ("DRAM", "inter_PE_spatial", "inter_lane_spatial")
    assert arch.fanout == ((1, 1), (4, 1), (1, 2))
    arch = read(text, tmp_path, spatial_levels=False)
    assert arch.fanout == ((4, 2),)
    assert arch.fanout_names == {"PE": "DRAM", "lane": "DRAM"}


def test_a_mesh_among_the_attributes_gives_way_to_the_fan_outs(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    text = """
architecture:
  version: 0.4
  nodes:
  - !Component {name: DRAM, class: DRAM, attributes: {width: 64, datawidth: 8, instances: 1, meshX: 1}}
  - !Container {name: PE, spatial: {meshX: 4, meshY: 2}}
  - !Component {name: mac, class: intmac, attributes: {meshX: 8, meshY: 2, instances: 8}}
"""
    arch = read(text, tmp_path)
    assert arch.fanout == ((4, 2),)
    assert [record.getMessage() for record in caplog.records] == [
        "mac.attributes.meshX: passed over; the fan-outs under spatial give 4"
    ]


def test_jinja_top_file_includes_others(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "small").mkdir()
    (tmp_path / "small" / "arch.yaml").write_text(MINIMAL % "{{ depth }}")
    top = tmp_path / "top.yaml.jinja2"
    top.write_text(
        "{{add_to_path(cwd())}}\n"
        "{% set file = cwd() ~ '/' ~ architecture ~ '/arch.yaml' %}\n"
        "{% if path_exists(file) %}\narchitecture: {{include(file, 'architecture')}}\n{% endif %}\n"
        "components: {version: 0.4, classes: {{include_all('small/*.yaml', 'nothing.here')}}}\n"
    )
    arch = read_architecture(top, variables={"architecture": "small", "depth": 48})
    assert arch.level("buffer").capacity_words == 48
    assert not caplog.records
    with pytest.raises(InputError, match="needs a variable"):
        read_architecture(top, variables={"architecture": "small"})
    read_architecture(top, variables={"architecture": "small", "depth": 48, "dept": 49})
    read_architecture(ROOT / "arch/simba.yaml", variables={"depth": 8})
    asked = "a variable that no template asks for (got"
    assert [record.getMessage() for record in caplog.records] == [
        f"{top}: {asked} 'dept'); allowed: architecture, depth; did you mean 'depth'?",
        f"{ROOT / 'arch/simba.yaml'}: {asked} 'depth'); allowed: --set",
    ]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("  - !Component {name: mac, class: intmac}", ""), "no compute"),
        (("version: 0.4", "version: 0.9"), "unsupported version"),
        (("architecture:", "architectre:"), "did you mean|no architecture"),
        (("name: buffer, class", "nmae: buffer, class"), "did you mean 'name'"),
        (("class: intmac", "class: gizmo"), "no compute"),
        (("name: buffer", "name: DRAM"), "have one name"),
        (("depth: 8", "depth: -8"), "must be a whole number"),
        (("depth: 8", "depth: dept * 2"), "unknown name 'dept'"),
        (("depth: 8", "depth: depth * 2"), "defined by itself"),
        (("width: 8, datawidth: 8", "width: 9, datawidth: 8"), "no multiple"),
        (("width: 8, datawidth: 8", "width: 8, datawidth: 8, instances: 2"), "not what the fan-outs .* Timeloop ends"),
        (("width: 8, datawidth: 8", "width: 8, datawidth: 8, tile_partition_supported: true"), "not supported"),
        (("!Component {name: buffer", "!Pipelined {name: buffer"), "!Pipelined is not supported"),
        (("!Component {name: buffer", "!Python {name: buffer"), "unknown tag at line 6 .*allowed: !Architecture"),
        (("depth: 8", "depht: 8"), "has no size.*did you mean 'depth'"),
        (("!Component {name: buffer", "!!python/object:os.system {name: buffer"), "could not determine"),
        (("{name: mac, class: intmac}", "{name: mac, class: intmac, sparse_optimizations: {a: 1}}"), "sparse"),
        (("  nodes:", "  nodes: 3\n  other:"), "must be a list"),
        (("architecture:", "globals: {expression_custom_functions: [f.py]}\narchitecture:"), "no such file"),
    ],
)
def test_refused(change: tuple[str, str], message: str, tmp_path: Path) -> None:
    text = MINIMAL % "8"
    assert change[0] in text
    with pytest.raises(InputError, match=message) as caught:
        read(text.replace(change[0], change[1], 1), tmp_path)
    assert all(
        fault.source == str(tmp_path / "arch.yaml") for fault in caught.value.faults if "one name" not in message
    )


def test_a_tree_hands_down_what_names_itself(tmp_path: Path) -> None:
    tree = (
        "architecture: {version: 0.3, subtree: [{name: s, attributes: {technology: 65nm}, subtree: [{name: t, "
        "attributes: {technology: technology}, local: [{name: DRAM, class: DRAM, attributes: {technology: technology}},"
        " {name: mac, class: intmac}]}]}]}"
    )
    assert read(tree, tmp_path).levels[0].attributes["technology"] == "65nm"


def test_arrays_of_cells_are_containers(tmp_path: Path) -> None:
    text = "variables: {version: 0.4, CIM_ARCHITECTURE: False}\n" + (MINIMAL % "8").lstrip()
    wide = text.replace(
        "  - !Component {name: mac", "  - !ArrayContainer {name: row, spatial: {meshX: 4}}\n  - !Component {name: mac"
    )
    assert read(wide, tmp_path).compute.instances == 4 * read(text, tmp_path).compute.instances


def test_all_faults_are_reported(tmp_path: Path) -> None:
    text = (MINIMAL % "-1").replace("class: intmac}", "class: intmac, attributes: {datawidth: 0}}")
    with pytest.raises(InputError) as caught:
        read(text, tmp_path)
    assert len(caught.value.faults) == 2


def test_components_that_timeloop_passes_by(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    more = "!Component {name: adder, class: gizmo}\n  - !Component {name: noc, class: XY_NoC}\n  - "
    arch = read((MINIMAL % "8").replace("!Component {name: mac", f"{more}!Component {{name: mac"), tmp_path)
    assert arch == read(MINIMAL % "8", tmp_path)
    assert "adder: class gizmo passed by" in caplog.text
    assert "noc: class XY_NoC passed by" in caplog.text


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os')",
        "().__class__",
        "'a' * 10**9",
        "9**9**9",
        "[x for x in range(9)]",
        "lambda: 1",
        "1/0",
        "f'{1:999999999}'",
        "f'{1!r}'",
        "[1] * 10**9",
        "['a'] * 9",
        "abs.real",
        "'a'.get(1)",
        "a" * 3000,
        "range(10**9)",
        "pow(2, 10**9)",
    ],
)
def test_expressions_run_no_code(text: str) -> None:
    with pytest.raises(ExpressionError):
        evaluate(text, {})


def test_v03_ranges_and_meshes(tmp_path: Path) -> None:
    base = (RUNS / "eyeriss_like.v03.yaml").read_text()
    with pytest.raises(InputError, match="not the 168 instances"):
        read(base.replace("meshX: 14, read", "meshX: 13, read", 1), tmp_path)
    with pytest.raises(InputError, match="not a multiple"):
        read(
            base.replace("DummyBuffer[0..13]", "DummyBuffer[0..8]").replace("1, meshX: 14}", "1, meshX: 9}", 1),
            tmp_path,
        )
    with pytest.raises(InputError, match="side by side"):
        read(base + "      - {name: other, local: []}\n", tmp_path)


def test_front_end_output_and_merge_keys(tmp_path: Path) -> None:
    arch = read(
        """
dumped_by_timeloop_front_end: true
globals: {expression_custom_functions: [f.py]}
architecture:
  version: '0.4'
  subtree:
  - name: top
    local:
    - {name: "DRAM[1..1]", class: DRAM, attributes: {width: 64, datawidth: 8, meshX: 1, meshY: 1}}
    - {name: "inter_PE_spatial[1..1]", class: dummy_storage, attributes: &dummy {width: 1, depth: 1, datawidth: 1}}
    - {name: "buffer[1..8]", class: regfile, attributes: {<<: *dummy, depth: size * 2, size: 3, meshX: 4, meshY: 2}}
    - {name: "mac[1..8]", class: intmac, attributes: {meshX: 4, meshY: 2}}
""",
        tmp_path,
    )
    assert arch.fanout == ((1, 1), (4, 2), (1, 1))
    assert arch.level("buffer").capacity_words == 6
    with pytest.raises(InputError, match="given twice"):
        read(MINIMAL % "8, depth: 9", tmp_path)


def test_what_stands_around_a_component_counts_for_estimators_alone(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Timeloop 3.0.3 hands nothing down, so eight PEs lie in one row, whatever mesh their subtree states."""
    text = """
architecture:
  version: 0.3
  subtree:
  - name: top
    local: [{name: DRAM, class: DRAM, attributes: {width: 64, word-bits: 8}}]
    subtree:
    - name: PE[0..7]
      attributes: {meshX: 4, meshY: 2, technology: 45nm}
      local:
      - {name: spad, class: regfile, attributes: {depth: 4, width: 8, word-bits: 8}}
      - {name: mac, class: intmac}
"""
    assert read(text, tmp_path).fanout == ((8, 1), (1, 1))
    said = [record.getMessage() for record in caplog.records]
    assert [line.split(":")[0] for line in said] == [
        f"{name}.attributes.{key}" for name in ("spad", "mac") for key in ("meshX", "meshY")
    ]


def test_settings_of_the_program_are_passed_by_unless_they_count(tmp_path: Path) -> None:
    text = MINIMAL % "8" + "\nmodel: {verbose: True, auto_bypass_on_failure: %s}\n"
    assert read(text % "False", tmp_path) == read(MINIMAL % "8", tmp_path)
    assert read(text % "True", tmp_path).auto_bypass
    with pytest.raises(InputError, match="auto_bypass_on_failure: must be true or false"):
        read(text % "2", tmp_path)


def test_flattened_lists_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="order of the levels is lost"):
        read("architecture: {version: 0.3, local: [{name: a.b, class: DRAM}]}", tmp_path)


def test_main_memory_of_stated_size(tmp_path: Path) -> None:
    text = (MINIMAL % "8").replace(
        "name: DRAM, class: DRAM, attributes: {", "name: MainMemory, class: SRAM, attributes: {depth: 4096, "
    )
    assert read(text, tmp_path).levels[0].capacity_words == 4096 * 8


def test_all_spellings_survive_writing(tmp_path: Path) -> None:
    text = (MINIMAL % "8").replace("datawidth: 8}}\n  - !Component {name: mac", "datawidth: 8, multiple_buffering: 2, "
        "min_utilization: 0.5, read_bandwidth: 1.5}}\n  - !Component {name: mac")  # fmt: skip
    arch = read(text, tmp_path)
    assert arch.level("buffer").effective_words == 4
    assert arch.level("buffer").min_utilization == 0.5
    v03 = to_architecture_v03(arch)
    assert identity(architecture_from(v03)) == identity(arch)
    written = v03["architecture"]["subtree"][0]["local"][1]["attributes"]
    # Timeloop 3.0.x reads only the first, later versions only the second.
    assert written["multiple-buffering"] == written["multiple_buffering"] == 2
    front_end = read(write_architecture_v04(arch), tmp_path)
    assert identity(front_end) == identity(arch)
    assert "multiple-buffering" not in write_architecture_v04(arch)


TREE = """
architecture:
  version: %s
  subtree:
  - name: system
    local:
    - {name: memory, class: DRAM, attributes: {word-bits: 8}}
    - {name: buffer, class: %s, attributes: {word-bits: 8, depth: 16, %s}}
    - {name: "mac[0..3]", class: intmac, attributes: {datawidth: 8}}
"""


def test_a_plain_file_may_say_only_what_timeloop_reads(tmp_path: Path) -> None:
    assert read(TREE % (0.3, "SRAM", "multiple-buffering: 2"), tmp_path).level("buffer").effective_words == 8
    with pytest.raises(InputError, match=r"multiple_buffering: Timeloop 3\.0\.3 does not read this spelling"):
        read(TREE % (0.3, "SRAM", "multiple_buffering: 2"), tmp_path)
    # What it would take anyway does no harm; what another spelling says counts, as in Timeloop.
    assert read(TREE % (0.3, "SRAM", "multiple_buffering: 1"), tmp_path).level("buffer").effective_words == 16
    arch = read(
        TREE.replace("word-bits: 8, depth", "datawidth: 16, word_bits: 16, depth") % (0.3, "SRAM", "n: 1"), tmp_path
    )
    assert arch.level("buffer").word_bits == 16
    # A tree of version 0.4 is the front end's, for versions of Timeloop that read underscores.
    arch = read(TREE % (0.4, "SRAM", "multiple_buffering: 2"), tmp_path)
    assert (arch.plain, arch.level("buffer").effective_words) == (False, 8)


def test_an_attribute_set_in_a_plain_file_gets_timeloops_spelling(tmp_path: Path) -> None:
    file = tmp_path / "arch.yaml"
    file.write_text(TREE % (0.3, "SRAM", "n: 1"))
    arch = read_architecture(file, changes=(("buffer.multiple_buffering", 4), ("buffer.word_bits", 4)))
    assert (arch.level("buffer").effective_words, arch.level("buffer").word_bits) == (4, 4)


def test_the_class_and_not_the_subclass_makes_a_dram(tmp_path: Path) -> None:
    arch = read(TREE % (0.3, "storage, subclass: DRAM_cache", "n: 1"), tmp_path)
    assert (arch.level("buffer").is_dram, arch.level("buffer").klass) == (False, "DRAM_cache")
    assert not architecture_from(to_architecture_v03(arch)).level("buffer").is_dram
    arch = read(TREE % (0.3, "DRAM, subclass: cache", "n: 1"), tmp_path)
    assert (arch.level("buffer").is_dram, arch.level("buffer").reduces) == (True, False)
    assert architecture_from(to_architecture_v03(arch)).level("buffer").is_dram


def test_keys_of_a_tree_that_timeloop_passes_over(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    tree = (
        "architecture: {version: 0.3, bank: 1, subtree: [{name: s, local: [{name: DRAM, class: DRAM, color: red},"
        " {name: mac, class: intmac, actions: [{name: compute}]}]}]}"
    )
    assert read(tree, tmp_path).level_names == ("DRAM",)
    assert "bank: passed over" in caplog.text
    assert "color: passed over" in caplog.text
    assert "actions: passed over" in caplog.text  # Accelergy's; it looks like required_actions
    with pytest.raises(InputError, match="unknown key"):
        read(tree.replace("bank: 1", "subtrees: 1"), tmp_path)


def test_compound_components_in_several_sections() -> None:
    """The front end joins sections whose names hold that word; one that only resembles it is a fault."""
    parts = {"components_mac": {"classes": [{"name": "mac_compute"}]}, "components_reg": [{"name": "reg_storage"}]}
    found = component_classes(parts)
    assert found is not None
    assert [one["name"] for one in found] == ["mac_compute", "reg_storage"]
    assert component_classes({"compound_components": {"version": 0.4}}) is None
    assert is_section("components_mac")
    assert not is_section("component_mac")


def test_a_spelling_that_changes_nothing_is_no_fault(tmp_path: Path) -> None:
    """Timeloop 4 knows `network_word_bits` alone; without wires it makes no difference."""
    text = "architecture: {version: 0.3, subtree: [{name: s, local: [{name: DRAM, class: DRAM, attributes: {%s}}, \
{name: mac, class: intmac}]}]}"
    path = tmp_path / "a.yaml"
    path.write_text(text % "network-word-bits: 8")
    assert read_architecture(path, later=True).level_names == ("DRAM",)
    path.write_text(text % "network-word-bits: 8, wire-energy: 1, tile-width: 10")
    with pytest.raises(InputError, match="Timeloop 4 does not read this spelling"):
        read_architecture(path, later=True)


SHARED = """
variables: {version: 0.3, rows: 4, half: rows, "rows*2": 8}
architecture:
  version: 0.3
  subtree:
  - name: chip
    local:
    - {name: DRAM, class: DRAM, attributes: {width: 16, word-bits: 16}}
    - {name: outer, class: SRAM, attributes: {width: 16, depth: 64, network_read: noc, network_update: noc}}
    - name: buffer
      class: SRAM
      attributes: {depth: rows*2, width: 16, word-bits: 16, network_fill: noc, network_drain: noc, %s}
    - {name: noc, class: Legacy, attributes: {word-bits: 16, energy-per-hop: 0.5, router-energy: 0.25}}
    subtree:
    - name: PE[0..3]
      local:
      - {name: mac, class: intmac, attributes: {meshX: half, network_operand: noc, network_result: %s}}
"""


def test_a_network_of_several_levels_is_one_and_counted_for_the_innermost(tmp_path: Path) -> None:
    arch = read(SHARED % ("network_read: noc, network_update: noc", "noc"), tmp_path)
    assert [level.network.name for level in arch.levels] == ["", "noc", "noc"]
    assert [(level.network.hop_pj, level.network.router_pj) for level in arch.levels][1:] == [(0.0, 0.0), (0.5, 0.25)]
    assert arch.level("buffer").capacity_words == 8  # a variable may be called like an expression
    other = "{name: bus, class: Legacy, attributes: {word-bits: 16}}"
    text = SHARED.replace("    subtree:\n    - name: PE", f"    - {other}\n    subtree:\n    - name: PE")
    with pytest.raises(InputError, match="stands at two levels"):  # here the inner one carries words in alone
        read(text % ("network_read: noc, network_update: bus", "bus"), tmp_path)


def test_a_variable_of_a_plain_file_is_no_fraction(tmp_path: Path) -> None:
    """Timeloop reads 0 where a text stands for a number that need not be whole."""
    text = SHARED % ("network_read: noc, network_update: noc, read_bandwidth: half", "noc")
    with pytest.raises(InputError, match="read_bandwidth"):
        read(text, tmp_path)


def test_a_spelling_that_timeloop_passes_over_ends_nothing(tmp_path: Path) -> None:
    """Of a sparse design without its sparse optimizations: 3.0.3 knows these keys with underscores alone."""
    stated = "network_read: noc, network_update: noc, metadata-block-size: 0, metadata-datawidth: 3"
    arch = read(SHARED % (f"{stated}, metadata_storage_width: 16", "noc"), tmp_path)
    assert arch.level("buffer").capacity_words == 8
    read_by_timeloop = stated.replace("metadata-datawidth", "metadata_datawidth")
    with pytest.raises(InputError, match="metadata_storage_width: is no multiple of 3 bits"):
        read(SHARED % (f"{read_by_timeloop}, metadata_storage_width: 16", "noc"), tmp_path)
