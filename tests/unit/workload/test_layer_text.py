"""Layers as text and as problem files: what is read, and a clear error for every layer that cannot be."""

import json
from pathlib import Path

import pytest

from jouleloop.api.layers import problem_of
from jouleloop.cli import main
from jouleloop.errors import InputError
from jouleloop.workload.sizes import parse_layer
from paths import REFERENCE, ROOT
from problem_files import problem_file

EXERCISE = REFERENCE / "exercises/problem.yaml"


@pytest.mark.parametrize(
    ("text", "sizes"),
    [
        ("conv:C3xM64xP57xQ57xR3xS3/stride4", {"C": 3, "M": 64, "P": 57, "S": 3, "w_stride": 4, "h_stride": 4}),
        ("conv:C3xM64xR3xS5/stride2x1/input9x7", {"P": 4, "Q": 3, "w_stride": 2, "h_stride": 1}),
        ("conv:C3xM64xR7xS7/stride2/input224/padding3", None),
        ("conv:C3xM64xR3xS3/input8/padding1", {"P": 8, "Q": 8}),
        ("conv:C1xM1xP8xQ8xR3xS3/groups16/batch2", {"groups": 16, "N": 2}),
        ("conv:C4xM4xP8xQ8xN3/dilation1", {"N": 3}),
        ("fc:1024x128/batch8", {"C": 1024, "M": 128, "N": 8}),
    ],
)
def test_text(text: str, sizes: dict[str, int] | None) -> None:
    if sizes is None:
        # 224 + 2·3 - 7 is not divisible by 2: frameworks leave the last step out, a stated layer may not.
        with pytest.raises(InputError, match=r"\(230 - 7\) / 2 \+ 1"):
            parse_layer(text)
        return
    layer = parse_layer(text)
    assert {key: layer.sizes[key] for key in sizes} == sizes
    assert parse_layer(layer.spec()) == layer


BAD = {
    "kernel larger than the input": ("conv:C3xM4xR7xS3/input5", r"R: larger than the padded input of 5 .*got 7"),
    "kernel larger than the padded input": (
        "conv:C3xM4xR9xS3/input5/padding1",
        r"R: larger than the padded input of 7",
    ),
    "stride 0": ("conv:C3xM4xP5xQ5/stride0", r"w_stride: must be a positive integer .*got 0"),
    "stride 0 on one axis": ("conv:C3xM4xR3xS3/input8/stride1x0", r"h_stride: must be a positive integer .*got 0"),
    "P contradicts the input": (
        "conv:C3xM4xP9xQ6xR3xS3/input8",
        r"P: contradicts the stated input size 8 .*allowed: 6",
    ),
    "Q contradicts the input": (
        "conv:C3xM4xP6xQ5xR3xS3/input8",
        r"Q: contradicts the stated input size 8 .*allowed: 6",
    ),
    "no integer": ("conv:C3xM4xR3xS3/input8/stride2", r"P: output size is no integer: \(8 - 3\) / 2 \+ 1"),
    "dilated beyond the input": ("conv:C3xM4xR3xS3/input4/dilation2", r"R: larger than the padded input of 4"),
    "dilation 0": ("conv:C3xM4xP5xQ5/dilation0", r"w_dilation: must be a positive integer .*got 0"),
    "three axes of two": ("conv:C3xM4xP5xQ5/stride1x2x3", r"unknown layer option"),
    "padding of nothing": ("conv:C3xM4xP5xQ5/padding1", r"padding needs a stated input"),
    "an option twice": ("conv:C3xM4xP5xQ5/stride2/stride4", r"stride is given twice"),
    "two batches": ("conv:C3xM4xP5xQ5xN2/batch3", r"batch is given twice"),
    "two numbers of groups": ("conv:C3xM4xP5xQ5/groups2x2", r"unknown layer option"),
    "unknown option": ("conv:C3xM4xP5xQ5/strid2", r"unknown layer option.*strideNxN"),
    "no channels": ("conv:M4xP5xQ5", r"C: is missing"),
    "size 0": ("conv:C0xM4xP5xQ5", r"C: must be a positive integer"),
    "huge": ("conv:C3xM4000000000xP5xQ5", r"M: too large.*at most 2147483648"),
    "too many operations": ("matmul:M2000000000xN2000000000xK3", r"too many operations.*at most 2\^53"),
    "too large a tensor": ("conv:C1xM1xP1000000xQ1000000/stride2000000000", r"too many words of Inputs.*2\^53"),
    "strided fc": ("fc:3x4/stride2", r"unknown layer option .*allowed: batchN"),
    "fc with an input size": ("fc:3x4/input5", r"unknown layer option"),
    "a matrix product without K": ("matmul:M3xN4", r"K: is missing"),
    "a size of another kind": ("matmul:M3xN4xK2xC2", r"not a dimension with a size .*'C2'.*M, N, K, H"),
    "kind": ("cnv:C3xM4", r"not a layer"),
    "digits of another script": ("fc:٣x4", r"not INPUTSxOUTPUTS"),
}


@pytest.mark.parametrize(("text", "message"), BAD.values(), ids=BAD)
def test_bad_text(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        parse_layer(text)


@pytest.mark.parametrize("version", ["0.3", "0.4"])
def test_map_and_evaluate_read_problem_files(
    version: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same layer as text and as a file has the same optimum, and its mapping evaluated has that energy again."""
    monkeypatch.chdir(ROOT)
    text = "conv:C4xM8xP6xQ6xR3xS3/stride2"
    file = tmp_path / "layer.yaml"
    file.write_text(problem_file(parse_layer(text).problem(), version))

    def run(*arguments: str) -> dict[str, object]:
        monkeypatch.setattr("sys.argv", ["jouleloop", *arguments, "--json"])
        with pytest.raises(SystemExit) as ended:
            main()
        assert ended.value.code == 0
        data: dict[str, object] = json.loads(capsys.readouterr().out)
        return data

    found = [run("map", "--arch", "eyeriss", "--layer", layer) for layer in (text, str(file))]
    energies = [entry["evaluation"]["energy_pj"] for entry in found]  # type: ignore[index]
    assert energies[0] == energies[1]
    (tmp_path / "best.json").write_text(json.dumps(found[1]))
    again = run("evaluate", "--arch", "eyeriss", "--layer", str(file), "--mapping", str(tmp_path / "best.json"))
    assert again["evaluation"]["energy_pj"] == energies[0]  # type: ignore[index]


def test_what_was_visited_and_pruned_is_told(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Counts by reason, in JSON and in words; far fewer mappings are evaluated than the mapspace holds."""
    monkeypatch.chdir(ROOT)
    arguments = ["jouleloop", "map", "--arch", "eyeriss", "--layer", "conv:C3xM16xP12xQ12xR3xS3"]
    printed = []
    for more in (["--verbose"], ["--json"]):
        monkeypatch.setattr("sys.argv", [*arguments, *more])
        with pytest.raises(SystemExit) as ended:
            main()
        assert ended.value.code == 0
        printed.append(capsys.readouterr().out)
    data = json.loads(printed[1])
    assert data["optimal"]
    assert data["lower_bound"] == data["evaluation"]["energy_pj"]
    assert 0 < data["visited"] < data["mapspace_size"] / 1000
    assert {"bound", "capacity"} <= set(data["pruned"])
    assert all(count >= 0 for count in data["pruned"].values())
    assert data["pruned"]["bound"] > 0
    words = " ".join(printed[0].split())
    assert f"{data['visited']:,} mappings; parts pruned: {data['pruned']['bound']:,} by bound" in words


def test_the_exercises_problem() -> None:
    """H, W and their padding stand in the file; what counts is P, Q and the strides."""
    problem = problem_of(str(EXERCISE))
    assert (problem.bound["P"], problem.coefficient["Wstride"]) == (112, 2)
    assert problem.macs == 3 * 32 * 9 * 112**2


BASE = """\
problem_base_ignore: &problem_base
  version: 0.4
  instance: {N: 1, C: 1, M: 1, R: 1, S: 1, P: 1, Q: 1, Wstride: 1, Hstride: 1}
  shape:
    dimensions: [C, M, R, S, N, P, Q]
    coefficients: [{name: Wstride, default: 1}, {name: Hstride, default: 1}]
    data_spaces:
    - {name: Weights, projection: [[[C]], [[M]], [[R]], [[S]]]}
    - {name: Inputs, projection: [[[N]], [[C]], [[R], [P, Wstride]], [[S], [Q, Hstride]]]}
    - {name: Outputs, projection: [[[N]], [[M]], [[Q]], [[P]]], read_write: true}
"""


def test_templates_of_timeloops_front_end(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """The exercises keep a layer a file: a common base by include_text, and <<< to merge into it."""
    folder = tmp_path / "net"
    folder.mkdir()
    (tmp_path / ".git").mkdir()  # a checkout: its files may include each other
    (tmp_path / "problem_base.yaml").write_text(BASE)
    head = "{{include_text('../problem_base.yaml')}}\nproblem:\n  <<<: *problem_base\n"
    (folder / "1.yaml").write_text(head + "  instance: {C: 64, M: 192, P: 27, Q: 27, R: 5, S: 5, Wstride: 2}\n")
    problem = problem_of(str(folder / "1.yaml"))
    assert problem.macs == 64 * 192 * 25 * 27**2
    assert problem.coefficient == {"Wstride": 2, "Hstride": 1}
    # A key in the wrong case leaves the stride at 1, as in Timeloop, but not silently.
    sizes = "C: 3, M: 1, P: 2, Q: 2, R: 1, S: 1"
    (folder / "2.yaml").write_text(f"{head}  instance: {{{sizes}, HStride: 4}}\n")
    assert problem_of(str(folder / "2.yaml")).coefficient == {"Wstride": 1, "Hstride": 1}
    assert "HStride: passed over, as by Timeloop" in caplog.text
    assert "did you mean 'Hstride'" in caplog.text
    (folder / "3.yaml").write_text("problem:\n  <<<: 3\n  instance: {C: 3}\n")
    with pytest.raises(InputError, match="only mappings can be merged"):
        problem_of(str(folder / "3.yaml"))
    (folder / "4.yaml").write_text(head.replace("problem_base.yaml", "other.yaml"))
    with pytest.raises(InputError, match=r"other\.yaml"):
        problem_of(str(folder / "4.yaml"))
