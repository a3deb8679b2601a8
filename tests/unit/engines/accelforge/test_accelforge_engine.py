"""The engine accelforge without accelforge: programs that only look like its Python, and the translation both ways."""

import json
import math
import os
import stat
import sys
import textwrap
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from jouleloop.api.project import load_target
from jouleloop.arch.architecture import Network
from jouleloop.cli.app import app
from jouleloop.engines.accelforge import engine as accelforge_engine
from jouleloop.engines.accelforge.engine import AccelforgeEngine, AccelforgeOptions, options_from_environment
from jouleloop.engines.accelforge.inputs import specification
from jouleloop.engines.accelforge.outputs import as_mapping, read_nest
from jouleloop.engines.protocol import SearchOptions
from jouleloop.engines.registry import get_engine, installed_version
from jouleloop.errors import EngineError, InputError, MappingError
from jouleloop.mapping.mapping import LevelMapping, Mapping
from jouleloop.model.evaluate import evaluate_mapping
from jouleloop.workload.layer import CONV, Layer
from jouleloop.workload.sizes import parse_layer
from waiting import LIMIT_S, until

TARGETS = {
    "simba": load_target("simba", semantics="timeloop-3.0.3", constraints="arch-only").for_shape(CONV),
    "eyeriss": load_target("eyeriss", semantics="timeloop-3.0.3").for_shape(CONV),
}
LAYER = parse_layer("fc:64x32")
#: What accelforge would answer for this layer with all loops inside the innermost storage.
NODES = [
    {"kind": "storage", "level": "L0_DRAM", "tensors": ["Inputs", "Outputs", "Weights"]},
    {"kind": "storage", "level": "L1_shared_glb", "tensors": ["Inputs", "Outputs"]},
    {"kind": "spatial", "dimension": "m", "tile": 4.0, "axis": "X", "level": "fanout_1"},
    {"kind": "temporal", "dimension": "c", "tile": 8.0},
    {"kind": "storage", "level": "L3_ifmap_spad", "tensors": ["Inputs"]},
    {"kind": "temporal", "dimension": "m", "tile": 1.0},
    {"kind": "storage", "level": "L4_weights_spad", "tensors": ["Weights"]},
    {"kind": "storage", "level": "L5_psum_spad", "tensors": ["Outputs"]},
    {"kind": "temporal", "dimension": "c", "tile": 1.0},
]
NUMBERS = {
    "Total<SEP>energy": 1234.5,
    "Total<SEP>latency": 256.0,
    "layer<SEP>action<SEP>compute<SEP>None<SEP>compute": 2048.0,
    "layer<SEP>energy<SEP>compute<SEP>None<SEP>compute": 100.0,
    "layer<SEP>action<SEP>L5_psum_spad<SEP>Outputs<SEP>read": 2048.0,
    "layer<SEP>action<SEP>L1_shared_glb<SEP>Inputs<SEP>write": 16.0,
    "layer<SEP>energy<SEP>L1_shared_glb<SEP>Inputs<SEP>write": 16.5,
}
ANSWER = {"status": "ok", "reason": "", "nodes": NODES, "numbers": NUMBERS, "mapspace_size": 12, "visited": 5}


@pytest.fixture
def fake(tmp_path):
    """Return a maker of engines whose Python is a program with ``body``; ``folder`` and ``version`` are known to it."""

    def make(body: str = "", *, version: str = "1.0.467", seconds: float = LIMIT_S) -> AccelforgeEngine:
        path = tmp_path / "python"
        head = f"""\
            #!{sys.executable}
            import json, os, signal, subprocess, sys, time
            from pathlib import Path
            if sys.argv[-1] == "--version":
                print(json.dumps({{"accelforge": "{version}", "python": "3.12.1"}}))
                raise SystemExit
            folder = Path(sys.argv[-1])
            answer = json.loads({json.dumps(ANSWER)!r})
        """
        path.write_text(textwrap.dedent(head) + body + "\n")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        return AccelforgeEngine(AccelforgeOptions(python=path, seconds=seconds))

    return make


def test_an_answer_becomes_a_result(fake):
    engine = fake("(folder / 'answer.json').write_text(json.dumps(answer))")
    result = engine.search(LAYER.problem(), TARGETS["eyeriss"])
    assert (result.status, result.engine, result.mapspace_size, result.visited) == ("ok", "accelforge", 12, 5)
    assert not result.optimal
    assert "accelforge 1.0.467 (uneven, perfect factors)" in result.proof
    evaluation = result.evaluation
    assert (evaluation.energy_pj, evaluation.cycles, evaluation.computes) == (1234.5, 256, 2048)
    # 8 columns hold 1 / 8 of the outputs each; accesses are counted over all of them.
    outputs = evaluation.level("psum_spad").data["Outputs"]
    assert (outputs.instances, outputs.reads, outputs.tile_words, outputs.partition_words) == (8, 256, 1, 4)
    # An access of the global buffer moves 4 words.
    inputs = evaluation.level("shared_glb").data["Inputs"]
    assert (inputs.fills, inputs.energy_pj, inputs.tile_words) == (64, 16.5, 64)
    assert evaluation.utilization == 2048 / 168 / 256


def test_the_request_is_what_the_runner_reads(fake, tmp_path):
    engine = fake("(folder / 'answer.json').write_text(json.dumps(answer))")
    kept = tmp_path / "kept"
    options = replace(engine.options, keep_folders=kept)
    AccelforgeEngine(options).search(LAYER.problem(), TARGETS["eyeriss"])
    (folder,) = kept.iterdir()
    request = json.loads((folder / "request.json").read_text())
    assert request == {"action": "search", "imperfect": False}
    assert (folder / "specification.yaml").is_file()


FAILURES = [
    ("sys.exit(3)", "failed", "exit code 3"),
    ("print('ImportError: No module named accelforge'); sys.exit(1)", "failed", "No module named accelforge"),
    ("os.kill(os.getpid(), signal.SIGSEGV)", "failed", "SIGSEGV"),
    ("", "failed", "left no answer"),
    ("(folder / 'answer.json').write_text('{')", "failed", "left no answer"),
    ("(folder / 'answer.json').write_text('[1]')", "failed", "left no answer"),
    ("(folder / 'answer.json').write_text('{}')", "failed", "None"),
    ("answer['nodes'] = [{'kind': 'temporal'}]", "failed", "cannot be read"),
    ("answer['nodes'] = answer['nodes'][:-1]", "failed", "does not cover the layer"),
    ("answer['nodes'][3]['tile'] = 0.0", "failed", "cannot be read"),
    ("answer['nodes'][0]['level'] = 'L9'", "failed", "cannot be read"),
    ("answer['nodes'] = 7", "failed", "cannot be read"),
    ("answer['numbers'] = {}", "failed", "lacks a number"),
    ("answer['numbers']['layer<SEP>action<SEP>compute<SEP>None<SEP>compute'] = 2047", "failed", "number of operations"),
    ("answer['numbers']['Total<SEP>energy'] = float('nan')", "failed", "is none"),
    ("answer['numbers']['Total<SEP>energy'] = 'x'", "failed", "is none"),
    ("del answer['numbers']['Total<SEP>energy']", "failed", "lacks a number"),
    ("answer = {'status': 'no_mapping', 'reason': 'No pmappings for layer'}", "no_mapping", "No pmappings"),
    ("answer = {'status': 'failed', 'reason': 'KeyError: q'}", "failed", "KeyError: q"),
]


@pytest.mark.parametrize(("body", "status", "reason"), FAILURES)
def test_whatever_goes_wrong_is_a_status_with_a_reason(body, status, reason, fake):
    if "answer" in body and "write_text" not in body:
        body += "\n(folder / 'answer.json').write_text(json.dumps(answer))"
    result = fake(body).search(LAYER.problem(), TARGETS["eyeriss"])
    assert result.status == status
    assert reason in result.reason
    assert result.evaluation is None


def test_a_hang_is_ended_with_all_its_processes(fake, mark):
    engine = fake(
        "child = subprocess.Popen(['sleep', '7200'])\n"
        f"Path({str(mark)!r}).write_text(str(child.pid))\ntime.sleep(7200)",
        seconds=2.0,
    )
    result = engine.search(LAYER.problem(), TARGETS["eyeriss"])
    assert result.status == "failed"
    assert "time limit" in result.reason
    until(lambda: not _runs(int(mark.read_text())))


def _runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_a_sweep_goes_on_after_failures(fake, tmp_path, monkeypatch):
    engine = fake("sys.exit(3)")
    monkeypatch.setenv(accelforge_engine.HOME_VARIABLE, str(engine.options.python))
    path = tmp_path / "two.yaml"
    path.write_text("kind: fc\nvariable: C\nexpected: linear\nlayers: [fc:64x32, fc:128x32]\n")
    arguments = ["sweep", str(path), "--arch", "eyeriss", "--engine", "accelforge", "--output", str(tmp_path / "r")]
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 0, done.output
    table = pd.read_parquet(tmp_path / "r" / "energies.parquet")
    assert list(table["status"]) == ["failed", "failed"]
    assert table["reason"].str.contains("exit code 3").all()


def test_a_nest_without_a_mapping_is_still_shown(fake, monkeypatch):
    # The inputs' tile of the global buffer stands inside the loop over c, that of the outputs outside.
    body = "answer['nodes'].insert(3, answer['nodes'].pop(1))\nanswer['nodes'][3]['tensors'] = ['Inputs']\n"
    body += "answer['nodes'].insert(1, {'kind': 'storage', 'level': 'L1_shared_glb', 'tensors': ['Outputs']})\n"
    engine = fake(body + "(folder / 'answer.json').write_text(json.dumps(answer))")
    monkeypatch.setenv(accelforge_engine.HOME_VARIABLE, str(engine.options.python))
    arguments = ["map", "--arch", "eyeriss", "--layer", "fc:64x32", "--engine", "accelforge"]
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 0, done.output
    assert "[shared_glb: Outputs] M8X" in done.stderr
    assert "1,234.50 pJ" in done.stdout


def test_how_it_is_found(fake, tmp_path, monkeypatch):
    monkeypatch.delenv(accelforge_engine.HOME_VARIABLE, raising=False)
    monkeypatch.setattr(accelforge_engine, "find_spec", lambda _: None)
    with pytest.raises(EngineError, match=r"accelforge not found.*pip install accelforge"):
        installed_version(get_engine("accelforge"))
    monkeypatch.setenv(accelforge_engine.HOME_VARIABLE, str(tmp_path / "nowhere"))
    with pytest.raises(EngineError, match="no Python that can be run"):
        installed_version(get_engine("accelforge"))
    engine = fake()
    environment = tmp_path / "env" / "bin"
    environment.mkdir(parents=True)
    (environment / "python").symlink_to(engine.options.python)
    monkeypatch.setenv(accelforge_engine.HOME_VARIABLE, str(tmp_path / "env"))
    assert installed_version(get_engine("accelforge")) == "accelforge 1.0.467 (uneven, perfect factors)"
    monkeypatch.setenv(accelforge_engine.OPTIONS_VARIABLE, "imperfect=yes,seconds=5")
    assert installed_version(get_engine("accelforge")) == "accelforge 1.0.467 (uneven, imperfect factors)"


@pytest.mark.parametrize(
    ("version", "message"), [("0.9.3", "too old"), ("1", "too old"), ("nonsense", "does not answer")]
)
def test_a_version_that_is_none_or_too_old_is_an_error(version, message, fake):
    with pytest.raises(EngineError, match=message):
        installed_version(fake(version=version))


def test_a_python_that_is_none_is_an_error(tmp_path):
    path = tmp_path / "python"
    path.write_text("#!/bin/sh\necho hello\n")
    path.chmod(0o755)
    with pytest.raises(EngineError, match="does not answer with a version"):
        installed_version(AccelforgeEngine(AccelforgeOptions(python=path)))
    path.write_text("#!/bin/sh\nexit 4\n")
    with pytest.raises(EngineError, match="exit code 4"):
        installed_version(AccelforgeEngine(AccelforgeOptions(python=path)))


@pytest.mark.parametrize(
    "text", ["evn=yes", "imperfet=yes", "imperfect=maybe", "seconds=x", "seconds=0", "seconds=nan"]
)
def test_options_that_are_none_are_input_errors(text):
    with pytest.raises(InputError):
        options_from_environment({accelforge_engine.OPTIONS_VARIABLE: text})


def test_imperfect_factors_are_searched_only_where_the_options_say_so(fake):
    target = TARGETS["eyeriss"]
    target = replace(target, constraints=replace(target.constraints, factors="imperfect"))
    engine = fake("(folder / 'answer.json').write_text(json.dumps(answer))")
    with pytest.raises(InputError, match="factors"):
        engine.search(LAYER.problem(), target)
    engine.options = replace(engine.options, imperfect=True)
    assert engine.search(LAYER.problem(), target).status == "ok"


@pytest.mark.parametrize("options", [{"objective": ("delay",)}, {"seed": 1}, {"budget": 5}])
def test_what_accelforge_cannot_be_asked_is_an_input_error(options, fake):
    with pytest.raises(InputError):
        fake().search(LAYER.problem(), TARGETS["eyeriss"], SearchOptions(**options))


@pytest.mark.parametrize("text", ["conv:C4xM4xP4xQ4xR3xS1", "conv:C4xM4xP4xQ4xR1xS1/stride2"])
def test_layers_that_it_takes_not_are_invalid(text, fake):
    result = fake("raise SystemExit(9)").search(parse_layer(text).problem(), TARGETS["eyeriss"])
    assert result.status == "invalid"
    assert "sliding windows" in result.reason


def test_other_semantics_are_refused(fake):
    target = replace(TARGETS["eyeriss"], semantics="timeloop-2023-04")
    with pytest.raises(EngineError, match="first fills"):
        fake().search(LAYER.problem(), target)


class _Loader(yaml.SafeLoader):
    """Tags become the key ``tag``."""


_Loader.add_multi_constructor("!", lambda loader, tag, node: {"tag": tag, **loader.construct_mapping(node, deep=True)})


def document_of(problem, target, mapping=None):
    return yaml.load(specification(problem, target, mapping).text, Loader=_Loader)


@pytest.mark.parametrize("name", TARGETS)
def test_the_specification_has_our_sizes_and_energies(name):
    target = TARGETS[name]
    nodes = {node["name"]: node for node in document_of(LAYER.problem(), target)["arch"]["nodes"]}
    for position, (level, energy) in enumerate(zip(target.arch.levels, target.costs.levels, strict=True)):
        keep = target.constraints.level(level.name).keep
        node = nodes.get(f"L{position}_{level.name}")
        if node is None:
            assert target.constraints.level(level.name).bypass == {"Inputs", "Outputs", "Weights"}
            continue
        assert node["size"] == ("inf" if level.capacity_words is None else level.effective_words)
        energies = [action["energy"] * level.cluster_size for action in node["actions"]]
        assert energies == pytest.approx([energy.read_pj, energy.write_pj], rel=1e-15)
        assert node["values_per_action"] == {"All": level.block_words}
        if position:
            assert set(node["tensors"]["keep"].split(" | ")) == keep
    spread = [axis["fanout"] for node in nodes.values() for axis in node.get("spatial", [])]
    assert math.prod(spread) == target.arch.compute.instances
    assert nodes["compute"]["actions"] == [{"name": "compute", "energy": target.costs.compute_pj, "throughput": 1}]


def test_networks_that_take_energy_are_refused():
    target = TARGETS["eyeriss"]
    levels = tuple(replace(level, network=Network(router_pj=1.0)) for level in target.arch.levels)
    with pytest.raises(InputError, match="no energy of networks"):
        document_of(parse_layer("fc:4x4").problem(), replace(target, arch=replace(target.arch, levels=levels)))


def test_constraints_are_translated_or_named():
    problem = parse_layer("fc:64x32/batch4").problem()
    translated = specification(problem, TARGETS["eyeriss"])
    nodes = {node["name"]: node for node in yaml.load(translated.text, Loader=_Loader)["arch"]["nodes"]}
    # Partial sums walk over output channels only, so those of one image are held. Nothing is said of the input
    # channels: they do not concern the partial sums, whose storage stands outside a loop over them.
    assert nodes["L5_psum_spad"]["tensors"]["tile_shape"] == [{"expression": "n", "operator": "<=", "value": 1}]
    assert nodes["L3_ifmap_spad"]["tensors"]["tile_shape"] == [{"expression": "n", "operator": "<=", "value": 1}]
    assert "tile_shape" not in nodes["L4_weights_spad"]["tensors"]
    assert nodes["fanout_1"]["spatial"] == [
        {"name": "X", "fanout": 14, "loop_bounds": [{"expression": d, "operator": "==", "value": 1} for d in "cn"]}
    ]
    assert "weights_spad: temporal factor of M" in translated.untranslated
    assert "psum_spad: temporal factor of C" in translated.untranslated
    assert "psum_spad: temporal factor of N" not in translated.untranslated
    assert specification(problem, TARGETS["simba"]).untranslated == ()
    given = replace(TARGETS["simba"].constraints, min_parallelism=0.5)
    assert specification(problem, replace(TARGETS["simba"], constraints=given)).untranslated == ("least parallelism",)
    full = load_target("simba", semantics="timeloop-3.0.3", constraints="full").for_shape(CONV)
    nodes = {node["name"]: node for node in document_of(problem, full)["arch"]["nodes"]}
    bounds = nodes["fanout_4"]["spatial"][0]["loop_bounds"]
    assert {"expression": "c", "operator": "==", "value": 4} in bounds
    assert {"expression": "m", "operator": "==", "value": 1} in bounds


def answered(problem, target, mapping):
    """Return the nodes with which accelforge would answer the evaluation of ``mapping``."""
    nodes = []
    for node in document_of(problem, target, mapping)["mapping"]["nodes"]:
        if node["tag"] == "Storage":
            nodes.append({"kind": "storage", "level": node["component"], "tensors": node["tensors"]})
        elif node["tag"] != "Compute":
            entry = {"kind": node["tag"].lower(), "dimension": node["rank_variable"], "tile": float(node["tile_shape"])}
            nodes.append(entry | ({"axis": node["name"], "level": node["component"]} if "name" in node else {}))
    return nodes


def returned_at_the_same_cost(problem, target, mapping):
    """Return what accelforge's answer to ``mapping`` is read as, which must cost the same."""
    back = as_mapping(problem, target.arch, read_nest(problem, target.arch, answered(problem, target, mapping)))
    assert back is not None
    costs = [
        evaluate_mapping(problem, target.arch, target.costs, each, check_capacity=False).energy_pj
        for each in (mapping, back)
    ]
    assert costs[1] == pytest.approx(costs[0], rel=1e-12)
    return back


@st.composite
def mappings(draw, target):
    """Draw a layer and any mapping of it that keeps what the constraints keep, capacities aside."""
    levels = target.arch.levels
    temporal = [{} for _ in levels]
    spatial = [{} for _ in levels]
    left = [math.prod(fanout) for fanout in target.arch.fanout]
    sizes = {}
    for dimension in "CMN":
        size = 1
        for _ in range(draw(st.integers(0, 4))):
            level, factor = draw(st.integers(0, len(levels) - 1)), draw(st.sampled_from([2, 3, 4]))
            group = temporal[level]
            if draw(st.booleans()) and left[level] >= factor:
                left[level] //= factor
                group = spatial[level]
            group[dimension] = group.get(dimension, 1) * factor
            size *= factor
        sizes[dimension] = size
    nests = []
    for level, loops, spread, fanout in zip(levels, temporal, spatial, target.arch.fanout, strict=True):
        keep = target.constraints.level(level.name).keep if nests else {"Inputs", "Outputs", "Weights"}
        order = draw(st.permutations(sorted(loops)))
        axis = "X" if fanout[0] > 1 else "Y"
        along = tuple((d, spread[d], axis) for d in sorted(spread))
        nests.append(LevelMapping(level.name, tuple((d, loops[d]) for d in order), along, frozenset(keep)))
    return Layer.of("fc", **sizes), Mapping(tuple(nests))


@settings(max_examples=100, deadline=None)
@given(data=st.data(), name=st.sampled_from(sorted(TARGETS)))
def test_a_mapping_comes_back_at_the_same_cost(data, name):
    target = TARGETS[name]
    layer, mapping = data.draw(mappings(target))
    problem = layer.problem()
    returned_at_the_same_cost(problem, target, mapping)


def test_loops_on_both_sides_of_units_are_joined_without_them():
    target = TARGETS["eyeriss"]
    names = target.arch.level_names
    loops = {
        "shared_glb": ((("C", 2),), (("C", 2, "X"),), frozenset({"Inputs", "Outputs"})),
        "DummyBuffer": ((("C", 2),), (("C", 2, "Y"),), frozenset()),
    }
    kept = {"DRAM": "Inputs Outputs Weights", "ifmap_spad": "Inputs", "weights_spad": "Weights", "psum_spad": "Outputs"}
    levels = [LevelMapping(name, *loops.get(name, ((), (), frozenset(kept.get(name, "").split())))) for name in names]
    mapping, problem = Mapping(tuple(levels)), parse_layer("fc:16x1").problem()
    back = returned_at_the_same_cost(problem, target, mapping)
    spread = {axis: bound for level in back.levels for _, bound, axis in level.spatial}
    assert spread == {"X": 2, "Y": 2}


def test_uneven_nests_are_no_mappings():
    problem, arch = LAYER.problem(), TARGETS["eyeriss"].arch
    assert as_mapping(problem, arch, read_nest(problem, arch, NODES)) is not None
    uneven = [dict(node) for node in NODES]
    uneven[1] = {"kind": "storage", "level": "L1_shared_glb", "tensors": ["Outputs"]}
    # Both data spaces of the global buffer have a relevant loop between their tiles.
    uneven.insert(2, {"kind": "temporal", "dimension": "m", "tile": 16.0})
    uneven.insert(3, {"kind": "temporal", "dimension": "c", "tile": 32.0})
    uneven.insert(4, {"kind": "storage", "level": "L1_shared_glb", "tensors": ["Inputs"]})
    nest = read_nest(problem, arch, uneven)
    assert as_mapping(problem, arch, nest) is None
    assert nest.compact(arch).startswith(
        "[DRAM: Inputs Outputs Weights] [shared_glb: Outputs] M2 C2 [shared_glb: Inputs]"
    )


def test_nests_whose_loops_end_early_are_mappings():
    problem, arch = LAYER.problem(), TARGETS["eyeriss"].arch
    nodes = [dict(node) for node in NODES]
    nodes[3] = {"kind": "temporal", "dimension": "c", "tile": 7.0}
    mapping = as_mapping(problem, arch, read_nest(problem, arch, nodes))
    assert (
        mapping.compact() == "DRAM | shared_glb M8X | DummyBuffer C10 | ifmap_spad M4 | weights_spad | psum_spad C7,1"
    )
    # Loops of 10, 9 and 1 elements, 7 x 2 x 9: 64 need 2 x 9 but four times.
    nodes[3] = {"kind": "temporal", "dimension": "c", "tile": 10.0}
    nodes.insert(5, {"kind": "temporal", "dimension": "c", "tile": 9.0})
    mapping = as_mapping(problem, arch, read_nest(problem, arch, nodes))
    assert (
        mapping.compact() == "DRAM | shared_glb M8X | DummyBuffer C4 | ifmap_spad C2 M4 | weights_spad | psum_spad C9,1"
    )
    # Neighbours over one dimension are one loop, as often as the tile inside asks for: 64 of 7, not 4 x 3.
    nodes = [dict(node) for node in NODES]
    nodes[3:4] = [{"kind": "temporal", "dimension": "c", "tile": tile} for tile in (17.0, 7.0)]
    mapping = as_mapping(problem, arch, read_nest(problem, arch, nodes))
    assert (
        mapping.compact() == "DRAM | shared_glb M8X | DummyBuffer C10 | ifmap_spad M4 | weights_spad | psum_spad C7,1"
    )
    mapping.check_factors(problem)


def test_a_mapping_of_something_else_is_refused():
    problem, target = LAYER.problem(), TARGETS["eyeriss"]
    level = LevelMapping("DRAM", (("C", 64), ("M", 32)), (), frozenset({"Inputs"}))
    with pytest.raises(MappingError, match="has the levels DRAM, wanted are"):
        specification(problem, target, Mapping((level,)))


def test_the_runner_does_not_need_this_package():
    # It runs under another Python, where jouleloop is not installed.
    text = accelforge_engine._RUNNER.read_text()
    assert "import jouleloop" not in text
    assert "from jouleloop" not in text
    assert os.access(accelforge_engine._RUNNER, os.R_OK)
