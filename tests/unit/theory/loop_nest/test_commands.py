"""``jouleloop bounds nest``: JSON, YAML input and the errors that name an assumption."""

import json
import sys
import time
from pathlib import Path

import pytest

from jouleloop.cli import main
from jouleloop.errors import AssumptionError, InputError
from jouleloop.theory.loop_nest.bounds import analyse, nest_bounds
from jouleloop.theory.loop_nest.nest import from_supports
from jouleloop.theory.loop_nest.read import from_einsum, read_loop_nest


def run(arguments: list[str], monkeypatch: pytest.MonkeyPatch, group: str = "bounds", command: str = "nest") -> int:
    monkeypatch.setattr(sys, "argv", ["jouleloop", group, command, *arguments])
    with pytest.raises(SystemExit) as stopped:
        main()
    assert isinstance(stopped.value.code, int)
    return stopped.value.code


def test_json_is_a_list_of_records(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["ik,kj->ij", "--bounds", "i=512,k=512,j=512", "--cache", "65536", "--json"], monkeypatch) == 0
    records = {record["name"]: record for record in json.loads(capsys.readouterr().out)}
    assert records["communication_lower_bound"]["value"] == 512**3 // 256
    assert records["communication_lower_bound"]["unit"] == "words"
    assert records["communication_lower_bound"]["source"].startswith("004")
    assert records["communication_lower_bound"]["assumptions_hold"] is True
    assert records["tile_exponent_theorem_2"]["value"] == records["tile_exponent_lp"]["value"] == 1.5
    assert records["tile_side.i"]["value"] == 256
    assert all({"assumptions", "note", "unit", "source"} <= set(record) for record in records.values())


def test_table_shows_closed_form_and_family(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["ik,kj->ij", "--bounds", "i=4096,k=4096,j=16"], monkeypatch) == 0
    out = capsys.readouterr().out
    assert "max(L_i·L_k·L_j/√M, L_k·L_j, L_i·L_j, L_i·L_k, M)" in out
    assert "(1 - β_j, β_j, β_j): 4096 × 16 × 16" in out


def test_without_bounds_only_the_closed_form(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["ik,k->i", "--json"], monkeypatch) == 0
    records = {record["name"]: record for record in json.loads(capsys.readouterr().out)}
    assert records["communication_closed_form"]["value"] is None
    assert records["communication_closed_form"]["note"] == "max(L_i·L_k, M)"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["ik,kj->ij", "--bounds", "i=4,k=4,j=4,z=3"], "used by no array"),
        (["ik,kj->ij", "--bounds", "i=4,k=4"], "no bound for j"),
        (["ik,kj->ij", "--bounds", "i=4,k=4,j=0"], "L_i >= 1"),
        (["ik,kj->ij", "--bounds", "i=4,k=4,j=x"], "whole number"),
        (["ik,kj->ij", "--bounds", "i=4,i=4,k=1,j=1"], "twice"),
        (["ik,kj->ij", "--bounds", "i=4,k=4,j=4", "--cache", "1"], "M >= 2"),
        (["ii,kj->ij"], "twice"),
        (["i-,kj->ij"], "no loop index"),
        (["ik,kj->ij->k"], "one output"),
        ([","], "at least one index"),
        ([], "give the loop nest once"),
        (["--file", "nowhere.yaml"], "no such file"),
    ],
)
def test_mistakes_name_the_assumption_and_exit_with_2(
    arguments: list[str], message: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(arguments, monkeypatch) == 2
    captured = capsys.readouterr()
    assert message in captured.err
    assert captured.out == ""


def test_yaml_gives_the_same_nest_as_einsum(tmp_path: Path) -> None:
    path = tmp_path / "nest.yaml"
    path.write_text(
        "loops: {i: 512, k: 64, j: 8}\narrays: {A: [i, k], B: [k, j], C: [j, i]}\noutput: C\ncache_words: 4096\n"
    )
    nest, cache = read_loop_nest(None, path, projective=True)
    same = from_einsum("ik,kj->ij", {"i": 512, "k": 64, "j": 8})
    assert cache == 4096
    assert (nest.supports, nest.bounds, nest.outputs) == (same.supports, same.bounds, same.outputs)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("loops: {i: 4, z: 5}\narrays: {A: [i]}\n", "used by no array"),
        ("loops: {i: 4}\narrays: {A: [i, q]}\n", "unknown loop"),
        ("loops: {i: 4}\narrays: {A: [i, i]}\n", "twice"),
        ("loops: {i: 4.5}\narrays: {A: [i]}\n", "whole number"),
        ("loops: {i: true}\narrays: {A: [i]}\n", "whole number"),
        ("loops: {i: 4}\narrays: {A: [i]}\noutputs: A\n", "did you mean 'output'"),
        ("loops: {i: 4}\narrays: {A: [i]}\noutput: B\n", "unknown array"),
        ("- 1\n", "is a mapping"),
        ("loops: 3\narrays: {}\n", "loops are"),
        ("loops: {i: 4}\narrays: {A: [i]}\ncache_words: big\n", "cache_words"),
    ],
)
def test_bad_yaml_is_explained(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "nest.yaml"
    path.write_text(text)
    with pytest.raises(InputError, match=message) as caught:
        read_loop_nest(None, path, projective=True)
    assert "nest.yaml" in str(caught.value)


def test_long_names() -> None:
    nest = from_einsum("batch in, in out -> batch out")
    assert nest.loops == ("batch", "in", "out")
    assert nest.supports == ((0, 1), (1, 2), (0, 2))


def test_unused_loop_in_code_too() -> None:
    with pytest.raises(AssumptionError, match="used by no array"):
        from_supports(("i", "j"), (4, 4), ("A",), ((0,),))


def test_ten_loops_and_six_arrays_in_seconds() -> None:
    supports = ((0, 1, 4, 5), (1, 2, 6, 9), (0, 3, 6, 7), (2, 4, 7, 8), (0, 2, 5, 8, 9), (3, 5, 6, 8))
    nest = from_supports(tuple("abcdefghij"), (3, 64, 7, 1000, 10**6, 5, 49, 64, 12, 300), tuple("ABCDEF"), supports)
    analyse(from_einsum("ik,kj->ij", {"i": 4, "k": 4, "j": 4}), 64)  # imports and caches of the linear algebra
    started = time.process_time()
    bounds = {bound.name: bound for bound in nest_bounds(analyse(nest, 2**16))}
    assert time.process_time() - started < 20  # 0.3 s on an idle core; without the reductions it would be hours
    assert float(bounds["tile_exponent_theorem_2"].value) == pytest.approx(float(bounds["tile_exponent_lp"].value))


def test_dataflow_runs_and_counts(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """8 × 8 × 8 in tiles 4 × 2 × 8: in1 once, in2 for each of two rows of tiles, out stored once."""
    arguments = ["ik,kj->ij", "--bounds", "i=8,k=8,j=8", "--tile", "i=4,k=2,j=8", "--order", "i,j,k", "-M", "60"]
    assert run([*arguments, "--json"], monkeypatch, "dataflow") == 0
    record = json.loads(capsys.readouterr().out)
    assert record["loads_words"] == {"in1": 64, "in2": 128, "out": 0}
    assert record["stores_words"] == {"in1": 0, "in2": 0, "out": 64}
    assert record["peak_words"] == 56
    assert run([*arguments, "--steps", "2"], monkeypatch, "dataflow") == 0
    assert "256 words moved" in capsys.readouterr().out
    assert run(["ik,kj->ij", "--bounds", "i=8,k=8,j=8", "-M", "60", "--json"], monkeypatch, "dataflow") == 0
    assert json.loads(capsys.readouterr().out)["transfers_words"] <= 256


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["ik,kj->ij"], "give the loop bounds"),
        (["ik,kj->ij", "--bounds", "i=8,k=8,j=8", "--tile", "i=8,k=8,j=8", "-M", "60"], "do not fit"),
        (["ik,kj->ij", "--bounds", "i=8,k=8,j=8", "--tile", "i=9,k=8,j=8"], "no tile of this nest"),
        (["ik,kj->ij", "--bounds", "i=8,k=8,j=8", "--tile", "i=1,k=1,j=1", "--order", "i,j"], "no order"),
        (["ik,kj->ij", "--bounds", "i=8,k=8,j=8", "--tile", "i=1,k=1,j=1", "--order", "i,j,q"], "unknown loop"),
        (["ik,kj->ij", "--bounds", "i=8,k=8,j=8", "--order", "i,j,k"], "without a tile"),
        (["ik,kj->ij", "--bounds", "i=8,k=8,j=8", "-M", "2"], "no tile fits"),
    ],
)
def test_dataflow_mistakes(
    arguments: list[str], message: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(arguments, monkeypatch, "dataflow") == 2
    captured = capsys.readouterr()
    assert message in captured.err
    assert captured.out == ""


def test_pieces_of_an_affine_nest(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["A[x,y] B[x+y,z]", "--pieces"], monkeypatch, "bounds", "hbl") == 0
    assert "min(2, 1 + β_x, 1 + β_y, 1 + β_z, β_x + β_y + β_z)" in capsys.readouterr().out
    assert run(["A[x,y] B[x+y,z]", "--pieces", "--json"], monkeypatch, "bounds", "hbl") == 0
    first = json.loads(capsys.readouterr().out)[0]
    assert first == {"arrays": {"A": "1", "B": "1"}, "loops": {"x": "0", "y": "0", "z": "0"}, "exponent": "2"}
