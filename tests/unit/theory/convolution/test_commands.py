"""The commands ``bounds conv`` and ``bounds hbl``: records, tables, messages and exit codes."""

import json
import sys

import pytest

from jouleloop.cli.app import main

SIZES = {"batch": 2, "in-channels": 3, "out-channels": 4, "out-width": 5, "out-height": 6}
SIZES |= {"filter-width": 3, "filter-height": 2}
LAYER = [word for name, size in SIZES.items() for word in (f"--{name}", str(size))]


@pytest.fixture
def run(monkeypatch, capsys):
    def call(*arguments, group="bounds", command=None):
        named = [command] if command else []
        monkeypatch.setattr(sys, "argv", ["jouleloop", group, *named, *arguments])
        with pytest.raises(SystemExit) as stopped:
            main()
        captured = capsys.readouterr()
        return stopped.value.code, captured.out, captured.err

    return call


def test_records_have_the_agreed_fields(run):
    code, out, _ = run("conv", *LAYER, "--stride-height", "2", "--memory", "40", "--processors", "4", "--json")
    records = json.loads(out)
    assert code == 0
    assert all({"name", "source", "value", "unit", "assumptions_hold", "assumptions"} <= set(r) for r in records)
    assert len({r["name"] for r in records}) == len(records)
    values = {r["name"]: r["value"] for r in records}
    assert values["compulsory_traffic"] == 2 * 3 * 7 * 12 + 3 * 4 * 3 * 2 + 2 * 4 * 5 * 6
    assert values["large_filter_term"] == 9 / 4 * 4320 / 40 - 40
    assert values["volume_blocking"] >= values["single_processor_lower_bound"]
    assert "parallel_lower_bound" in values


def test_named_layer_with_another_batch_and_precisions(run):
    code, out, _ = run(
        "conv", "--layer", "resnet50/conv4_x", "--batch", "1", "--memory", "1e4", "--precision-input", "1/4", "--json"
    )
    values = {r["name"]: r for r in json.loads(out)}
    assert code == 0
    assert values["compulsory_traffic"]["value"] == 256 * 16 * 16 / 4 + 256 * 256 * 9 + 256 * 14 * 14
    assert values["large_filter_term"]["note"] == "C_p = 81/64"


def test_tables_print(run):
    # A narrow terminal folds long names, so look for a value: the compulsory traffic, 2·3·7·7 + 72 + 240.
    assert " 606 " in run("conv", *LAYER, "--memory", "40")[1]
    assert "exponent_sum" in run("hbl", "ik,kj->ij")[1]
    assert "s_F + s_O" in run("hbl", "I[x+r] F[r] O[x]", "--constraints")[1]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([*LAYER, "--memory", "0"], "M > 0"),
        ([*LAYER, "--memory", "many"], "not a number"),
        ([*LAYER, "--memory", "9", "--precision-filter", "0"], "precision > 0"),
        ([*LAYER, "--memory", "9", "--precision-filter", "-1/2"], "precision > 0"),
        ([*LAYER, "--memory", "9", "--processors", "0"], "P >= 1"),
        ([*LAYER, "--memory", "9", "--filter-width", "6"], "w_F <= σ_w w_O"),
        ([*LAYER, "--memory", "9", "--filter-height", "7"], "h_F <= σ_h h_O"),
        ([*LAYER, "--memory", "9", "--batch", "0"], "positive integer"),
        (["--memory", "9", "--batch", "3"], "--in-channels: is missing"),
        (["--memory", "9", "--layer", "resnet50/conv6"], "did you mean"),
    ],
)
def test_mistakes_name_the_assumption(run, arguments, words):
    code, out, err = run("conv", *arguments)
    assert code == 2
    assert out == ""
    assert words in err
    assert "Traceback" not in err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["I[i*j]"], "not affine"),
        (["I[i+j]"], "changes no subscript"),
        ([], "either"),
        (["A[i]", "--let", "x"], "NAME=INTEGER"),
        (["--yaml", "absent.yaml"], "no such file"),
    ],
)
def test_bad_nests(run, arguments, words):
    code, out, err = run("hbl", *arguments)
    assert (code, out) == (2, "")
    assert words in err


def test_hbl_records(run):
    code, out, _ = run("hbl", "O[n,k,x] I[n,c,sw*x+r] F[c,k,r]", "--let", "sw=2", "--json")
    values = {r["name"]: r for r in json.loads(out)}
    assert code == 0
    assert values["exponent_sum"]["value"] == 2
    assert values["memory_exponent"]["value"] == -1
    assert values["exponent_I"]["exact"] == "2/3"
    table = json.loads(run("hbl", "ik,kj->ij", "--constraints", "--json")[1])
    assert [row["constraint"] for row in table] == ["1 <= s_in1 + s_out", "1 <= s_in1 + s_in2", "1 <= s_in2 + s_out"]


@pytest.mark.parametrize("schedule", ["best-blocking", "rounded-lp", "naive"])
def test_dataflow_runs_what_the_closed_form_says(run, schedule):
    code, out, _ = run(*LAYER, "--memory", "40", "--schedule", schedule, "--json", group="dataflow", command="conv")
    values = {r["name"]: r["value"] for r in json.loads(out)}
    assert code == 0
    assert values["executed_words"] == values["closed_form_words"] >= values["single_processor_lower_bound"]
    assert values["result_equals_direct_convolution"] == 1
    assert values["updates"] == 2 * 3 * 4 * 5 * 6 * 3 * 2
    assert values["peak_words"] <= 40
    moved = sum(values[key] for key in ("input_loaded", "filter_loaded", "output_loaded", "output_stored"))
    assert moved == values["executed_words"]


def test_dataflow_picture_shows_the_kept_array(run):
    code, out, _ = run(*LAYER, "--memory", "10", group="dataflow", command="conv")
    rows = {line.split()[0]: line.split()[1] for line in out.splitlines() if line.startswith(("input ", "output "))}
    assert code == 0
    # Outputs are kept through all blocks of the reduction, so they change less often than the input does.
    assert rows["output"].count("+") < rows["input"].count("#")
    assert rows["output"].count("#") == 0


def test_dataflow_refuses_what_is_too_large(run):
    code, _, err = run("--memory", "40", "--layer", "resnet50/conv1", group="dataflow", command="conv")
    assert code == 2
    assert "too large" in err
