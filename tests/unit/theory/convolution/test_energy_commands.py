"""The ``conv-energy`` commands."""

import json

import pytest

from jouleloop.cli import app as cli_app

LAYER = ("--channels", "3", "--outputs", "4", "--kernel", "3", "--output-size", "5")


def call(monkeypatch, capsys, *words: str) -> tuple[int, str, str]:
    monkeypatch.setattr("sys.argv", ["jouleloop", *words])
    with pytest.raises(SystemExit) as stop:
        cli_app.main()
    captured = capsys.readouterr()
    return stop.value.code, captured.out, captured.err


@pytest.mark.parametrize("dataflow", ["write-once-outputs", "read-once-inputs"])
@pytest.mark.parametrize("more", [(), ("--input-size", "5"), ("--no-bias",), ("--buffer-words", "120")])
def test_executed_words_are_the_words_of_the_bounds(monkeypatch, capsys, dataflow, more):
    code, out, _ = call(monkeypatch, capsys, "bounds", "conv-energy", *LAYER, *more, "--json")
    stated = {row["name"]: row["value"] for row in json.loads(out)}
    assert code == 0
    code, out, _ = call(monkeypatch, capsys, "dataflow", "conv-energy", "--dataflow", dataflow, *LAYER, *more, "--json")
    assert code == 0
    assert json.loads(out)["total_words"] == stated[f"{dataflow.replace('-', '_')}_total"]


def test_data_energy_is_bits_times_words(monkeypatch, capsys):
    _, out, _ = call(monkeypatch, capsys, "bounds", "conv-energy", *LAYER, "--bits", "8", "--json")
    rows = {row["name"]: row for row in json.loads(out)}
    assert rows["write_once_outputs_data_energy"]["value"] == 8 * rows["write_once_outputs_total"]["value"]
    assert rows["computation_energy"]["value"] == pytest.approx(0.56 * 4 * 3 * 9 * 25)


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (("bounds", "conv-energy", *LAYER, "--stride", "0"), "stride"),
        (("bounds", "conv-energy", *LAYER, "--bits", "0"), "b >= 1"),
        (("bounds", "conv-energy", *LAYER, "--input-size", "-3"), "--input-size"),
        (("bounds", "conv-energy", *LAYER, "--input-size", "2"), "every window must see"),
        (("bounds", "conv-energy", *LAYER, "--buffer-words", "2"), "β >= 3"),
        (
            ("dataflow", "conv-energy", "--dataflow", "read-once-inputs", *LAYER, "--buffer-words", "9"),
            "Buffer must hold",
        ),
    ],
)
def test_bad_parameters_exit_with_two_and_name_the_assumption(monkeypatch, capsys, words, named):
    code, out, err = call(monkeypatch, capsys, *words)
    assert (code, out) == (2, "")
    assert named in err
