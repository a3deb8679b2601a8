"""Comparing tables of results: rows of one only, equal, lower and higher values, tolerance, exit codes."""

import json
from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner

from jouleloop.cli.app import app
from jouleloop.columns import write_csv, write_parquet
from jouleloop.errors import InputError
from jouleloop.tables.compare import compare_tables, read_any
from jouleloop.tables.layouts import ANY

RUN = CliRunner()


def table(**changes: list[object]) -> pd.DataFrame:
    columns: dict[str, list[object]] = {
        "architecture": ["simba", "simba", "eyeriss"],
        "sweep": ["s", "s", "s"],
        "layer": ["fc:1x1", "fc:2x1", "fc:1x1"],
        "status": ["ok", "ok", "ok"],
        "total_pj": [100.0, 200.0, 300.0],
        "cycles": [1, 2, 3],
        "mapping": ["-a", "b", "c"],
    }
    return pd.DataFrame(columns | changes)


def test_equal_tables_agree() -> None:
    found = compare_tables(table(), table())
    assert not found.differ
    assert found.keys == ("architecture", "sweep", "layer")
    assert (found.rows, [field.field for field in found.fields]) == (3, ["status", "total_pj", "cycles", "mapping"])


def test_lower_higher_and_where() -> None:
    found = compare_tables(table(), table(total_pj=[101.0, 150.0, 300.0]))
    field = next(field for field in found.fields if field.field == "total_pj")
    assert (field.equal, field.lower, field.higher) == (1, 1, 1)
    # 100 against 101 is 1 % below, 200 against 150 a third above.
    assert field.largest_difference == 50.0
    assert field.largest_relative == pytest.approx(1 / 3)
    assert (field.where, field.first, field.second) == ("simba s fc:2x1", 200.0, 150.0)
    assert found.differ


def test_tolerance() -> None:
    other = table(total_pj=[100.4, 200.0, 300.0])
    assert compare_tables(table(), other).differ
    assert not compare_tables(table(), other, relative=0.004).differ
    assert not compare_tables(table(), other, absolute=0.5).differ
    assert compare_tables(table(), other, absolute=0.3).differ


def test_rows_and_columns_of_one_table_only() -> None:
    found = compare_tables(table().drop(columns="cycles"), table().iloc[1:].assign(extra=1))
    assert found.only_in_first == ("simba s fc:1x1",)
    assert (found.columns_only_in_first, found.columns_only_in_second) == ((), ("cycles", "extra"))
    assert found.differ
    assert found.rows == 2


def test_order_of_rows_does_not_matter() -> None:
    assert not compare_tables(table(), table().iloc[::-1].reset_index(drop=True)).differ


def test_missing_values() -> None:
    other = table(total_pj=[None, 200.0, 300.0], status=["no_mapping", "ok", "ok"])
    found = {field.field: field for field in compare_tables(table(), other).fields}
    assert (found["total_pj"].missing_in_second, found["total_pj"].equal) == (1, 2)
    assert (found["status"].different, found["status"].decides) == (1, True)
    both = table(total_pj=[None, 200.0, 300.0])
    assert not compare_tables(both, both).differ


def test_text_decides_only_where_asked() -> None:
    other = table(mapping=["x", "b", "c"])
    assert not compare_tables(table(), other).differ
    assert compare_tables(table(), other, text=True).differ
    assert compare_tables(table(), other, only=["mapping"]).differ
    assert not compare_tables(table(), other, text=True, ignore=["mapping"]).differ


def test_division_by_zero_is_no_number() -> None:
    found = compare_tables(table(cycles=[1, 2, 3]), table(cycles=[0, 2, 3]))
    field = next(field for field in found.fields if field.field == "cycles")
    assert (field.higher, field.largest_difference, field.largest_relative) == (1, 1.0, None)


def test_sizes_tell_rows_apart_where_names_do_not() -> None:
    rows = pd.DataFrame({"architecture": ["a", "a"], "C": [1, 2], "total_pj": [1.0, 2.0]})
    assert compare_tables(rows, rows).keys == ("architecture", "C")


def test_faults() -> None:
    with pytest.raises(InputError, match="did you mean 'total_pj'"):
        compare_tables(table(), table(), only=["totl_pj"])
    with pytest.raises(InputError, match="several rows for simba"):
        compare_tables(table(), table(), on=["architecture"])
    with pytest.raises(InputError, match="no columns tell the rows apart"):
        compare_tables(pd.DataFrame({"x": [1.0]}), pd.DataFrame({"x": [1.0]}))
    with pytest.raises(InputError, match="must not be negative"):
        compare_tables(table(), table(), relative=-1.0)


def test_csv_and_parquet_of_one_table_are_equal(tmp_path: Path) -> None:
    write_csv(tmp_path / "a.csv", table(), ANY)
    write_parquet(tmp_path / "a.parquet", table(), ANY)
    # A mapping that begins with a minus sign is disarmed in the CSV.
    assert "'-a" in (tmp_path / "a.csv").read_text()
    assert not compare_tables(read_any(tmp_path / "a.csv"), read_any(tmp_path / "a.parquet"), text=True).differ


@pytest.mark.parametrize("name", ["none.csv", "none.parquet", "table.txt", "broken.parquet"])
def test_no_table(tmp_path: Path, name: str) -> None:
    (tmp_path / "table.txt").write_text("a,b\n")
    (tmp_path / "broken.parquet").write_text("a,b\n")
    with pytest.raises(InputError):
        read_any(tmp_path / name)


def test_command(tmp_path: Path) -> None:
    paths = [str(tmp_path / name) for name in ("a.csv", "b.csv")]
    write_csv(Path(paths[0]), table(), ANY)
    write_csv(Path(paths[1]), table(total_pj=[100.0, 200.0, 330.0]), ANY)
    assert RUN.invoke(app, ["compare", paths[0], paths[0]]).exit_code == 0
    shown = RUN.invoke(app, ["compare", *paths])
    assert shown.exit_code == 1
    assert "eyeriss s fc:1x1" in shown.stdout
    assert "the tables differ" in shown.stdout
    data = json.loads(RUN.invoke(app, ["compare", *paths, "--json"]).stdout)
    assert data["differ"]
    assert [field["lower"] for field in data["fields"]] == [0, 1, 0, 0]
    assert RUN.invoke(app, ["compare", *paths, "--tolerance", "0.1"]).exit_code == 0
    assert RUN.invoke(app, ["compare", *paths, "--only", "cycles,mapping"]).exit_code == 0
