"""What users get wrong, case by case: exit code 2, a message that says where and what is allowed, nothing written."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

import jouleloop as jl
from jouleloop.cli import main
from jouleloop.engines.native import NativeEngine
from jouleloop.errors import InputError
from jouleloop.fusion.sweep import load_chain_sweep
from jouleloop.workload.sweep import load_network, load_sweep, load_sweeps
from paths import ROOT

FC = "kind: fc\nfixed: {M: 32}\nranges: {C: [16, 32]}\nvariable: C\nexpected: linear\n"
CONV = (
    "kind: conv\nfixed: {M: 4, kernel: 3, stride: 1, input: 8, padding: 1}\n"
    "ranges: {C: [4]}\nvariable: C\nexpected: linear\n"
)
Outcome = tuple[int, str, str]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Outcome]:
    def command(*arguments: object) -> Outcome:
        monkeypatch.chdir(ROOT)
        monkeypatch.setattr("sys.argv", ["jouleloop", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
        captured = capsys.readouterr()
        return int(ended.value.code or 0), captured.out, " ".join(captured.err.split())

    return command


SWEEPS = {
    "unknown key": (FC + "colour: red\n", "colour: unknown key; allowed: .*variable"),
    "misspelt key": (FC.replace("variable", "varaible"), "varaible: unknown key.*did you mean 'variable'"),
    "wrong type": (FC.replace("[16, 32]", "abc"), r"ranges.C: must be a whole number \(got 'abc'\)"),
    "fraction": (FC.replace("16", "16.5"), r"ranges.C.0: must be a whole number \(got 16.5\)"),
    "true": (FC.replace("M: 32", "M: true"), r"fixed.M: must be a whole number \(got True\)"),
    "negative size": (FC.replace("16", "-16"), r"C: must be a positive integer.*got -16"),
    "zero size": (FC.replace("M: 32", "M: 0"), r"M: must be a positive integer.*got 0"),
    "empty list": (FC.replace("[16, 32]", "[]"), "ranges.C: has too few entries; allowed: at least 1"),
    "empty range": (FC.replace("[16, 32]", "{start: 9, stop: 3, step: 1}"), "ranges.C: empty range: stop 3 is below"),
    "step zero": (FC.replace("[16, 32]", "{start: 1, stop: 3, step: 0}"), "ranges.C: step must be a positive integer"),
    "unknown kind": (FC.replace("kind: fc", "kind: fcc"), "kind: unknown choice.*did you mean 'fc'"),
    "unknown growth": (
        FC.replace("linear", "linnear"),
        r"expected: unknown growth \(got 'linnear'\).*did you mean 'linear'",
    ),
    "unknown variable": (FC.replace("variable: C", "variable: CC"), "CC"),
    "unknown size": (FC.replace("ranges: {C", "ranges: {CX"), "ranges.CX: unknown size.*did you mean 'C'"),
    "no YAML": ("[1, {", "not valid YAML at line"),
    "empty file": ("", "is empty"),
    "name with a path": (FC + "name: ../../evil\n", "name: .*evil"),
    "name with markup": (FC + "name: <script>\n", "name: .*script"),
    "name with a formula": (FC + "name: =cmd()\n", "name: .*cmd"),
    "kernel larger than the input": (CONV.replace("kernel: 3", "kernel: 30"), "larger than the padded input of 10"),
    "stride 0": (CONV.replace("stride: 1", "stride: 0"), "positive"),
    "output size no integer": (CONV.replace("stride: 1", "stride: 2"), "output size is no integer"),
    "dilation of 0": (CONV.replace("padding: 1", "padding: 1, dilation: 0"), "dilation: must be a positive"),
    "inconsistent output": (CONV.replace("padding: 1", "padding: 1, P: 5"), "P"),
}


@pytest.mark.parametrize("case", SWEEPS)
def test_sweeps(run: Callable[..., Outcome], tmp_path: Path, case: str) -> None:
    text, message = SWEEPS[case]
    path = tmp_path / "mine.yaml"
    path.write_text(text)
    code, out, err = run("sweep", path, "--arch", "eyeriss", "--output", tmp_path / "results")
    assert (code, out) == (2, ""), err
    assert re.search(message, err), err
    assert str(path) in err
    assert "Traceback" not in err
    assert not (tmp_path / "results").exists()


SIMBA = ROOT / "arch/simba.yaml"
TABLE = ROOT / "arch/energy/simba-45nm-accelergy03.yaml"
LIMITS = ROOT / "mappings/simba.yaml"
LAYER = ("--layer", "fc:64x64")


def once(text: str, old: str, new: str) -> str:
    """Return ``text`` with the first ``old`` outside comments replaced."""
    lines = text.splitlines(keepends=True)
    index = next(i for i, line in enumerate(lines) if old in line and not line.startswith("#"))
    lines[index] = lines[index].replace(old, new, 1)
    return "".join(lines)


ARCHITECTURES = {
    "no compute": (
        lambda t: t.replace(t[t.index("  - !Component\n    name: LMAC") : t.index("variables:")], ""),
        "compute",
    ),
    "misspelt key": (lambda t: once(t, "attributes:", "atributes:"), "did you mean 'attributes'"),
    "unknown class": (
        lambda t: once(t, "class: smartbuffer_SRAM", "class: smartbufer"),
        "smartbufer: .*nearest: .*smartbuffer_SRAM",
    ),
    "negative depth": (lambda t: re.sub(r"depth: *\d+", "depth: -4", t), r"depth: must be a whole number \(got -4\)"),
    "depth in words": (
        lambda t: re.sub(r"depth: *\d+", "depth: lots", t),
        r"depth: must be a whole number \(got 'lots'",
    ),
    "depth that no one counts": (lambda t: re.sub(r"depth: *\d+", f"depth: {2**70}", t), r"allowed: 0 to 2\^62"),
    "misspelt tag": (lambda t: once(t, "!Component", "!Componnt"), r"tag at line \d+ .*did you mean '!Component'\?"),
    "endless power": (lambda t: re.sub(r"depth: *\d+", "depth: 9**9**9", t), "the power is too large"),
    "attribute of an object": (lambda t: re.sub(r"depth: *\d+", "depth: ().__class__", t), "depth"),
    "empty": (lambda _: "", "is no architecture file"),
    "no YAML": (lambda _: "[1, {", "not valid YAML"),
    "control characters": (lambda _: "\x00\x01", "not valid YAML"),
}


@pytest.mark.parametrize("case", ARCHITECTURES)
def test_architectures(run: Callable[..., Outcome], tmp_path: Path, case: str) -> None:
    change, message = ARCHITECTURES[case]
    path = tmp_path / "mine.yaml"
    path.write_text(change(SIMBA.read_text()))
    assert path.read_text() != SIMBA.read_text()
    code, out, err = run("map", "--arch", path, "--energy", TABLE, "--constraints", LIMITS, *LAYER)
    assert (code, out) == (2, ""), err
    assert re.search(message, err), err
    assert str(path) in err or "GlobalBuffer" in err


TEMPORAL = "architecture_constraints:\n  targets:\n  - {target: DRAM, type: temporal, factors: C=%s}\n"
CONSTRAINTS = {
    "unknown target": (lambda t: once(t, "target: DRAM", "target: DRM"), 2, "unknown target.*did you mean 'DRAM'"),
    "unknown type": (lambda t: once(t, "type: temporal", "type: temporol"), 2, "did you mean 'temporal'"),
    "unknown dimension": (lambda t: once(t, "R=", "RR="), 2, "unknown dimension.*did you mean 'R'"),
    "unknown key": (lambda t: once(t, "architecture_constraints:", "architecture_constraint:"), 2, "did you mean"),
    "contradiction": (
        lambda _: TEMPORAL % 4 + TEMPORAL.replace("architecture", "mapspace") % 8,
        2,
        "C=8 contradicts C=4",
    ),
    # A layer without a mapping is a result: a row in a sweep, exit code 1 here.
    "factor that does not divide": (lambda _: TEMPORAL % 7, 1, "64 is not divisible"),
}


@pytest.mark.parametrize("case", CONSTRAINTS)
def test_constraints(run: Callable[..., Outcome], tmp_path: Path, case: str) -> None:
    change, wanted, message = CONSTRAINTS[case]
    path = tmp_path / "mine.yaml"
    path.write_text(change(LIMITS.read_text()))
    code, out, err = run("map", "--arch", "simba", "--constraints", path, *LAYER)
    assert (code, out) == (wanted, ""), err
    assert re.search(message, err), err


TABLES = {
    "empty": (lambda _: "", "is no energy table"),
    "negative energy": (lambda t: re.sub(r"(read: *)[\d.]+", r"\g<1>-1", t), r"read: is no energy in pJ \(got -1\)"),
    "no number": (lambda t: re.sub(r"(read: *)[\d.]+", r"\g<1>.nan", t), "read: is no energy in pJ"),
    "misspelt key": (lambda t: once(t, "components:", "componets:"), "did you mean 'components'"),
}


@pytest.mark.parametrize("case", TABLES)
def test_energy_tables(run: Callable[..., Outcome], tmp_path: Path, case: str) -> None:
    change, message = TABLES[case]
    path = tmp_path / "mine.yaml"
    path.write_text(change(TABLE.read_text()))
    code, out, err = run("map", "--arch", "simba", "--energy", path, *LAYER)
    assert (code, out) == (2, ""), err
    assert re.search(message, err), err
    assert str(path) in err


LAYERS = {
    "fc:0x4": "C: must be a positive integer",
    "fc:-1x4": "not INPUTSxOUTPUTS",
    "fc:" + "9" * 30 + "x4": "C: too large",
    "fc:" + "9" * 5000 + "x4": "not INPUTSxOUTPUTS",
    "conv:C3xM4xP5xQ5xR3xS3/stride0": "w_stride: must be a positive integer",
    "conv:C3xM4xP5xQ5xR3xS3/dilation0": "w_dilation: must be a positive integer",
    "matmul:M4294967296xN1xK1": "M: too large .*at most 2147483648",
    "matmul:M2147483648xN2147483648xK1": "too many operations to be counted exactly",
    "problem:{}": "is no layer of a shape of one's own",
    "conv:C3xM4xP5xQ5xR3xS3/input2": "R: larger than the padded input of 2",
    "conv:C3xM4xP5xQ5xR3xS3/input9": r"P: contradicts the stated input size 9 \(got 5\); allowed: 7",
    "conv:C3xM4xP5xQ5xR3xS3/stride2/input12": "output size is no integer",
    "cnov:C3": "not a layer",
}


@pytest.mark.parametrize("layer", LAYERS)
def test_layers(run: Callable[..., Outcome], layer: str) -> None:
    code, out, err = run("map", "--arch", "simba", "--layer", layer)
    assert (code, out) == (2, ""), err
    assert re.search(LAYERS[layer], err), err
    assert len(err) < 2000


def test_layers_without_growth_are_a_network(run: Callable[..., Outcome], tmp_path: Path) -> None:
    """Not a sweep, which would be told that its kind, variable and growth are missing."""
    (tmp_path / "mine.yaml").write_text("layers:\n- {name: head, layers: 'fc:256x10'}\n")
    code, _, said = run("network", tmp_path / "mine.yaml", "--arch", "eyeriss")
    assert code == 2
    assert "layers.0.layers: unknown key; allowed: after, count, kind, layer" in said
    assert "did you mean 'layer'?" in said
    assert "variable" not in said


ALL_AT_ONCE = {
    "sweep": (
        """
kind: fc
fixd: {M: 32, Z: 3}
ranges: {C: [16, 32]}
layers: ["fc:xx"]
variable: C
most_points: few
architecture: {a.b: [1, 2], c.d: [1, 2, 3]}
architecture_combine: zip
""",
        {"most_points", "fixd", "fixed.Z", "layers.0.layer", "architecture"},
    ),
    "network": (
        """
discription: x
layers: [{name: a, kind: fc, sizes: {C: 0}, cont: 2}, {name: b, layer: "fc:x"}]
chains: [{layers: [a, c]}]
""",
        {"discription", "layers.0.cont", "layers.0.sizes.C", "layers.1.layer", "chains.0.layers"},
    ),
    "explore": (
        """
architecture: eyeris
layer: "fc:x"
objektive: energy
attributes: {shared_glb.depth: [1]}
""",
        {"objektive", "layer", "architecture"},
    ),
    "curve": (
        """
kind: capacity
layer: []
layers: ["fc:x", "fc:8x8"]
least_words: -1
""",
        {"layer", "layers.0.layer", "least_words"},
    ),
    "chain": (
        """
kind: chain
layrs: [{name: a, layer: "fc:{n}x8"}, {name: b, layer: "fc:8x"}]
ranges: {n: [8]}
variable: m
expected: {fused: linear}
""",
        {"layers", "layrs", "variable", "layers.1.layer"},
    ),
}


@pytest.mark.parametrize("case", ALL_AT_ONCE)
def test_all_faults_of_a_file_are_told_at_once(tmp_path: Path, case: str) -> None:
    """Those of its keys, and those of what the keys hold."""
    text, fields = ALL_AT_ONCE[case]
    path = tmp_path / "mine.yaml"
    path.write_text(text)
    read: dict[str, Callable[[Path], object]] = {
        "sweep": load_sweep,
        "network": load_network,
        "explore": jl.explore,
        "curve": load_sweeps,
        "chain": load_chain_sweep,
    }
    with pytest.raises(InputError) as told:
        read[case](path)
    assert {fault.field for fault in told.value.faults} == fields, str(told.value)
    assert {fault.source for fault in told.value.faults} == {str(path)}


def test_layers_of_a_network_as_text(run: Callable[..., Outcome], tmp_path: Path) -> None:
    texts = ("fc:64xx32", "fc:32x16', kind: 'fc", "cnv:C3", "conv:C8xM8xR3xS3/input16/padding2', after: 'd")
    layers = [f"- {{name: {name}, layer: '{text}'}}\n" for name, text in zip("abce", texts, strict=True)]
    layers.insert(3, "- {name: d, sizes: {C: 512, M: 2048}}\n")
    (tmp_path / "mine.yaml").write_text(f"layers:\n{''.join(layers)}")
    code, _, said = run("network", tmp_path / "mine.yaml", "--arch", "eyeriss")
    assert code == 2
    assert said.count("error:") == 4
    assert "layers.0.layer: not INPUTSxOUTPUTS (got '64xx32')" in said
    assert "layers.1.layer: stands beside kind, shape or sizes: one of both" in said
    assert "layers.2.layer: not a layer (got 'cnv:C3')" in said
    assert "layers.3.kind: is missing" in said
    code, _, said = run("chain", "fc:64x32", "--arch", "eyeriss")
    assert (code, said) == (2, "error: LAYERS: a chain has two layers at least (got 1)")


def test_names_that_no_file_can_have(run: Callable[..., Outcome]) -> None:
    name = "x" * 5000
    for arguments in (
        ("map", "--arch", name, *LAYER),
        ("map", "--arch", name + ".yaml", *LAYER),
        ("map", "--arch", "simba", "--energy", name, *LAYER),
        ("sweep", name, "--arch", "simba"),
        ("sweep", name + ".yaml", "--arch", "simba"),
        ("verify", name),
        ("evaluate", "--arch", "simba", *LAYER, "--mapping", name),
    ):
        code, out, err = run(*arguments)
        assert (code, out) == (2, ""), (arguments[:2], err)


def test_places_that_cannot_be_written(run: Callable[..., Outcome]) -> None:
    for arguments in (
        ("map", "--arch", "simba", *LAYER, "--write-mapping", "/proc/none/x.yaml"),
        ("sweep", "fc_inputs", "--arch", "simba", "--output", "/proc/none"),
    ):
        code, out, err = run(*arguments)
        assert (code, out) == (2, ""), err
        assert "/proc/none" in err
        assert "cannot be written" in err


def test_a_file_in_the_place_of_mappings_is_told_before_the_search(run: Callable[..., Outcome], tmp_path: Path) -> None:
    """Hours later is too late."""
    taken = tmp_path / "taken"
    taken.write_text("")
    layers = tmp_path / "layers.yaml"
    for command, text in (("sweep", FC), ("network", "layers: [{name: a, kind: fc, sizes: {C: 8, M: 8}}]\n")):
        layers.write_text(text)
        given = ("--arch", "simba", "--output", tmp_path / "out", "--write-mappings", taken)
        code, _, said = run(command, layers, *given)
        assert code == 2
        assert said.startswith("error: --write-mappings: is a file, a folder is wanted")
        assert not (tmp_path / "out").exists()


def test_tables_that_nothing_tells_apart_name_the_option(run: Callable[..., Outcome], tmp_path: Path) -> None:
    table = tmp_path / "table.csv"
    table.write_text("x,y\n1,2\n")
    code, _, said = run("compare", table, table)
    assert code == 2
    assert said.startswith("error: --on: no columns tell the rows apart")
    code, _, said = run("compare", table, table, "--on", "x", "--only", "z", "--ignore", "w")
    assert code == 2
    assert "error: --only: unknown column (got 'z')" in said
    assert "error: --ignore: unknown column (got 'w')" in said


def test_a_certificate_that_lacks_all_says_so_in_our_words(run: Callable[..., Outcome], tmp_path: Path) -> None:
    empty = tmp_path / "empty.json"
    empty.write_text("{}")
    code, _, said = run("check", empty)
    assert code == 2
    assert f"error: {empty}: mapping: is missing" in said
    assert "got {}" not in said


def test_a_name_that_another_one_begins_with_is_the_nearest(run: Callable[..., Outcome]) -> None:
    code, _, said = run("map", "--arch", "simba", *LAYER, "--semantics", "timeloop-3")
    assert code == 2
    assert said.endswith("did you mean 'timeloop-3.0.3'?")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("map --arch simba --layer fc:8x8 --objective delay,energy", "--objective: unknown objectives (got 'delay,ene"),
        ("map --arch simba --layer fc:8x8 --certificate {folder}", "'{folder}' is a directory"),
        ("map --arch simba --layer fc:8x8 --write-mapping {folder}", "is a directory"),
        ("curve --arch simba --layer fc:8x8 --certificates {file}", "'{file}' is a file"),
        ("curve --arch simba --layer fc:8x8 --write-table {folder}", "is a directory"),
        ("sweep fc_inputs --arch simba --output {file}", "'{file}' is a file"),
        ("front --arch simba --layer fc:8x8 --write-mappings {file}", "is a file"),
        ("init {file}", "is a file"),
        ("curve --arch simba --network resnet1", "error: --network: unknown sweep or network (got 'resnet1')"),
        ("curve --arch simba --network fc_inputs", "error: --network: is a sweep, no network"),
        ("network --arch simba resnet1", "error: NETWORK: unknown sweep or network (got 'resnet1')"),
        ("front --arch simba --layer fc:8x8 --capacity DRAM", "error: --capacity: unknown level of an inner memory"),
    ],
)
def test_options_are_checked_before_anything_is_searched(
    arguments: str, said: str, run: Callable[..., Outcome], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(NativeEngine, "search", None)
    (tmp_path / "file.csv").write_text("")
    (tmp_path / "folder.csv").mkdir()
    names = {"file": tmp_path / "file.csv", "folder": tmp_path / "folder.csv"}
    code, out, err = run(*(part.format(**names) for part in arguments.split()))
    assert (code, out) == (2, ""), err
    assert said.format(**names) in err


ON = ("--arch", "eyeriss", "--layer", "fc:8x8")


@pytest.mark.parametrize(
    ("command", "told"),
    [
        (["map", *ON, "--set", "shared_glb.depth=1", "--set", "shared_glb.depth=2"], "shared_glb.depth=1 and"),
        (["map", *ON, "--variable", "a=1", "--variable", "a=2"], "--variable: a is given twice .*a=1 and a=2"),
        (["sweep", "arch/simba.yaml", "--arch", "simba"], "is a Timeloop design, .*allowed: a sweep or a network"),
        (["network", "arch/simba.yaml", "--arch", "simba"], "is a Timeloop design, .*allowed: a sweep or a network"),
        (["explore", "arch/simba.yaml"], "arch/simba.yaml: is a Timeloop design, .*allowed: a design space"),
        (["chain", "arch/simba.yaml", "--arch", "simba"], "is a Timeloop design, .*allowed: a chain"),
        (["front", *ON, "--capacity", "DRAM"], "--capacity: unknown level of an inner memory"),
    ],
)
def test_what_is_given_twice_or_in_the_wrong_place(run: Callable[..., Outcome], command: list[str], told: str) -> None:
    code, _, said = run(*command)
    assert code == 2
    assert re.search(told, said)


def test_an_unknown_architecture_hides_no_fault_of_other_options(run: Callable[..., Outcome]) -> None:
    _, _, said = run("map", "--arch", "x", *ON[2:], "--constraints", "ful", "--energy", "foo", "--factors", "odd")
    for option in ("--arch", "--constraints", "--energy", "--factors"):
        assert f"error: {option}: unknown" in said
