import json

import pytest
from click.exceptions import UsageError
from typer.testing import CliRunner

from jouleloop.cli.app import app
from jouleloop.errors import JouleloopError

runner = CliRunner()


def invoke(*arguments):
    return runner.invoke(app, list(arguments))


def rows(*arguments):
    result = invoke("bounds", "fc", *arguments, "--json")
    assert result.exit_code == 0, result.output
    return {row["name"]: row for row in json.loads(result.stdout)}


def test_bounds_as_json_have_every_field():
    found = rows("--inputs", "12", "--outputs", "8", "--buffer", "5", "--bits", "16", "--partition", "2")
    for row in found.values():
        assert {"name", "source", "value", "unit", "assumptions_hold", "assumptions"} <= set(row)
    assert found["general_lower_bound"]["value"] == 16 * (96 + 22 + 12 + 1)
    assert found["general_lower_bound"]["assumptions_hold"] is True
    assert found["partitioned_lp_duality_gap"]["value"] == pytest.approx(0, abs=1e-6)
    assert found["optimal_partitioned_lower_accesses"]["value"] == pytest.approx(8 * 10 / 3 + 16)


def test_exact_with_schedule():
    found = rows("-n", "6", "-m", "7", "-B", "3", "--exact", "--schedule")
    exact = found["exact_minimum_accesses"]
    assert exact["value"] == 34
    assert exact["decided"] is True
    outputs = sum(read.startswith("y") for read in exact["schedule"])
    assert 2 * outputs + len(exact["schedule"]) - outputs == 34


def test_undecided_prints_both_bounds():
    found = rows("-n", "6", "-m", "5", "-B", "3", "--exact", "--states", "10")
    low, high = found["exact_lower_bound_accesses"]["value"], found["exact_upper_bound_accesses"]["value"]
    assert low < high
    assert "exact_minimum" not in found
    assert found["exact_lower_bound"]["decided"] is False


def test_given_reads_are_priced_by_eq_5():
    found = rows("-n", "3", "-m", "2", "-B", "3", "-b", "8", "--output-reads", "2", "--input-reads", "5")
    assert found["data_energy"]["value"] == 8 * (4 + 5 + 6)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["-n", "3", "-m", "3", "-B", "1"], "β > 1"),
        (["-n", "0", "-m", "3", "-B", "3"], "n >= 1"),
        (["-n", "3", "-m", "3", "-B", "3", "-b", "0"], "b >= 1"),
        (["-n", "3", "-m", "3", "-B", "3", "-d", "3"], "1 <= d <= β − 1"),
        (["-n", "3", "-m", "3", "-B", "3", "-c", "0"], "1 <= c <= β − 1"),
        (["-n", "3", "-m", "3", "-B", "3", "--output-reads", "3"], "go together"),
        (["-n", "3", "-m", "3", "-B", "3", "--schedule"], "--exact"),
        (["-n", "3", "-m", "3", "-B", "3", "--mac-energy", "-1"], "negative"),
    ],
)
def test_bad_parameters_name_the_assumption(arguments, said):
    result = invoke("bounds", "fc", *arguments)
    assert isinstance(result.exception, JouleloopError)
    assert result.exception.exit_code == 2
    assert said in str(result.exception)
    assert not result.stdout


def test_a_missing_option_is_a_usage_error():
    result = invoke("bounds", "fc", "-n", "3")
    assert result.exit_code == 2
    assert UsageError.exit_code == 2


@pytest.mark.parametrize("algorithm", ["fixed", "bounded", "balanced", "best", "exact"])
def test_dataflows_run_and_draw(algorithm, tmp_path):
    picture = tmp_path / "flow.svg"
    result = invoke("dataflow", "fc", "-n", "5", "-m", "4", "-B", "3", "-a", algorithm, "--picture", str(picture))
    assert result.exit_code == 0, result.output
    assert "2μ + ν" in result.stdout
    assert picture.read_text(encoding="utf-8").startswith("<?xml")
    record = json.loads(invoke("dataflow", "fc", "-n", "5", "-m", "4", "-B", "3", "-a", algorithm, "--json").stdout)
    assert record["accesses"] == 2 * record["output_reads"] + record["input_reads"] >= 17


def test_a_dataflow_out_of_range_is_refused():
    result = invoke("dataflow", "fc", "-n", "5", "-m", "4", "-B", "3", "-d", "3")
    assert isinstance(result.exception, JouleloopError)
    result = invoke("dataflow", "fc", "-n", "5", "-m", "4", "-B", "3", "-a", "best", "-d", "1")
    assert isinstance(result.exception, JouleloopError)


def test_the_table_is_written(tmp_path):
    result = invoke("bounds", "fc-table", "--largest", "3", "-o", str(tmp_path / "t.csv"), "--json")
    assert result.exit_code == 0, result.output
    verdict = json.loads(result.stdout)
    assert verdict["decided"] == verdict["layers"] == 27
    assert len((tmp_path / "t.csv").read_text(encoding="utf-8").splitlines()) == 28
