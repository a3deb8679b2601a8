"""Typed tables: what is written is read back, from Parquet and from CSV, whatever the names look like."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from jouleloop import columns
from jouleloop.columns import Parts, append_csv, read_table, write_csv, write_parquet, write_table
from jouleloop.errors import InputError
from jouleloop.layouts import Column, Layout
from jouleloop.names import safe_cell
from jouleloop.tables.growth import with_theory
from jouleloop.tables.layouts import ANY, ENERGIES, LAYOUTS, THEORY_RATIO

NAMES = ["1", "02", "NA", "nan", "None", "", "-small", "=1+1", "'quoted", "1e3", "True", "a,b", 'say "x"', "ä"]
LAYOUT = Layout(
    "mine",
    "A point.",
    (
        Column("layer", "text", "", "Name."),
        Column("cycles", "whole", "cycles", "Cycles."),
        Column("total_pj", "number", "pJ", "Energy."),
        Column("optimal", "truth", "", "Proven."),
        Column("<level>_pj", "number", "pJ", "Energy of a level."),
        Column("key", "text", "", "Key.", exported=False),
    ),
)


def points() -> pd.DataFrame:
    n = len(NAMES)
    return pd.DataFrame(
        {
            "layer": NAMES,
            "cycles": pd.array([2**60 + 1, None, *range(n - 2)], dtype="Int64"),
            "total_pj": [0.1 + 0.2, float("nan"), *([1e-300] * (n - 2))],
            "optimal": [True] * n,
            "NA_pj": [1.5] * n,
            "key": NAMES[::-1],
        }
    )


def test_parquet_and_csv_say_the_same(tmp_path: Path) -> None:
    write_table(tmp_path / "mine", points(), LAYOUT, {"of": "x"})
    typed, provenance = read_table(tmp_path / "mine.parquet", LAYOUT)
    assert provenance == {"of": "x"}
    assert typed["layer"].tolist() == typed["key"].tolist()[::-1] == NAMES
    exported, _ = read_table(tmp_path / "mine.csv", LAYOUT)
    assert list(exported.columns) == list(typed.columns[:-1])
    pd.testing.assert_frame_equal(exported, typed.drop(columns="key"), check_dtype=False)
    assert exported["cycles"][0] == 2**60 + 1
    assert exported["cycles"].isna().tolist()[:3] == [False, True, False]


def test_parts_in_any_order_are_written_as_one_table(tmp_path: Path) -> None:
    rows = [
        {"layer": "a", "cycles": 1, "total_pj": 1, "optimal": True},
        {"layer": "b", "cycles": 2, "total_pj": None, "optimal": False},
        {"layer": "c", "cycles": None, "optimal": None, "glb_pj": 2},
    ]
    write_table(tmp_path / "whole", pd.DataFrame(rows), LAYOUT, {"of": "x"})
    first, second = pd.DataFrame(rows[:2]), pd.DataFrame(rows[2:])
    parts = Parts(LAYOUT)
    for place, part in ((2, second), (1, first[:1]), (1, first[1:]), (3, first[:0])):
        parts.add(place, part, {1: lambda: [first[:1], first[1:]]}.get(place, lambda part=part: [part]))
    parts.write(tmp_path / "parts", {"of": "x"})
    assert (tmp_path / "parts.csv").read_bytes() == (tmp_path / "whole.csv").read_bytes()
    (one, said), (other, too) = (read_table(tmp_path / f"{name}.parquet", LAYOUT) for name in ("whole", "parts"))
    pd.testing.assert_frame_equal(one, other)
    assert said == too


def test_parts_without_rows_are_a_table_without_rows(tmp_path: Path) -> None:
    parts = Parts(LAYOUT)
    parts.add(0, points()[:0], lambda: [points()])
    parts.write(tmp_path / "parts")
    assert list(read_table(tmp_path / "parts.parquet", LAYOUT)[0].columns) == list(points().columns)


def test_no_cell_of_a_spreadsheet_is_run(tmp_path: Path) -> None:
    write_csv(tmp_path / "mine.csv", points(), LAYOUT)
    text = (tmp_path / "mine.csv").read_text()
    assert "'-small" in text
    assert "\n=1" not in text


def test_a_column_that_nothing_defines_is_not_written(tmp_path: Path) -> None:
    table = points().assign(energy=1.0)
    for write in (write_csv, write_parquet):
        with pytest.raises(ValueError, match="mine: no definition of the column 'energy'"):
            write(tmp_path / "mine", table, LAYOUT)
    assert list(tmp_path.iterdir()) == []
    write_table(tmp_path / "any", table, ANY)
    assert read_table(tmp_path / "any.csv", ANY)[0]["layer"].tolist() == NAMES


def test_values_of_another_kind_are_not_written(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="not a whole number"):
        write_parquet(tmp_path / "mine.parquet", points().assign(cycles=0.5), LAYOUT)


@pytest.mark.parametrize("text", ["layer,cycles\na,many\n", "layer,cycles\na,1.5\n", 'layer,cycles\n"a,1\n'])
def test_a_csv_that_is_no_such_table(tmp_path: Path, text: str) -> None:
    (tmp_path / "mine.csv").write_text(text)
    with pytest.raises(InputError, match="not a CSV table"):
        read_table(tmp_path / "mine.csv", LAYOUT)


def test_a_name_wins_over_a_family_and_the_first_family_wins() -> None:
    found = ENERGIES.column("lower_bound_pj")
    assert found is not None
    assert not found.is_family
    variant = ENERGIES.column("shared_glb.depth")
    assert variant is not None
    assert variant.kind == "any"


@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda layout: layout.file)
def test_every_column_is_described_once(layout: Layout) -> None:
    names = [column.name for column in layout.columns]
    assert len(set(names)) == len(names)
    for column in layout.columns:
        assert column.meaning.endswith((".", ")")), column.name
        assert not column.name.endswith("_pj") or column.unit == "pJ", column.name
        assert not column.name.endswith("_words") or column.unit == "words", column.name


def test_layers_called_like_numbers_keep_their_bounds_through_files(tmp_path: Path) -> None:
    names = ["1", "2", "NA", "-small", "=1+1"]
    rows = [
        {"architecture": "a", "sweep": "s", "layer": name, "C": 4, "M": 2, "status": "ok", "total_pj": 1.0}
        for name in names
    ]
    energies = pd.DataFrame(rows)
    bounds = energies.assign(theory_lower_dram_words=[float(n) for n in range(5)])
    write_table(tmp_path / "energies", energies, ENERGIES)
    write_table(tmp_path / "theory_ratio", bounds, THEORY_RATIO)
    for ending in ("parquet", "csv"):
        read = [read_table(tmp_path / f"{layout.file}.{ending}", layout)[0] for layout in (ENERGIES, THEORY_RATIO)]
        joined = with_theory(*read)
        assert joined["layer"].tolist() == names
        assert joined["theory_lower_dram_words"].tolist() == [0.0, 1.0, 2.0, 3.0, 4.0]


def tables_of_all_kinds() -> list[pd.DataFrame]:
    """Tables whose cells pandas and the writer of cells may see differently."""
    random = np.random.default_rng(7)
    numbers = [*random.normal(size=50) * 10.0 ** random.integers(-320, 300, 50), *random.integers(-9, 9, 50) / 4]
    numbers += [0.0, -0.0, 1e15, 1e16, 1e17, 123456789012345680.0, 1e-4, 1e-5, 5e-324, 1.7976931348623157e308]
    numbers += [float("inf"), -float("inf"), float("nan"), 0.1 + 0.2, 1 / 3, 2**53 + 2.0]
    texts = [
        *NAMES,
        "two\nlines",
        "a\rb",
        "a\r\nb",
        " led",
        "trailed ",
        "\t",
        "@x",
        "+1",
        "\N{SNOWMAN}",
        ",",
        '"',
        "'",
        ";",
    ]
    n = len(numbers)
    plain = pd.DataFrame(
        {
            "text": pd.Series((texts * n)[:n], dtype="str"),
            "number": numbers,
            "whole": random.integers(-(2**62), 2**62, n),
            "truth": random.integers(0, 2, n).astype(bool),
        }
    )
    missing = plain.assign(
        text=pd.Series([None if k % 3 else text for k, text in enumerate(plain["text"])], dtype="str"),
        whole=pd.array([None if k % 5 else k - 2**60 for k in range(n)], dtype="Int64"),
        truth=pd.array([None if k % 4 else k % 8 == 0 for k in range(n)], dtype="boolean"),
    )
    mixed = plain.assign(text=pd.Series([*([True, 1, 1.0, None, "=1", 2.5] * n)][:n], dtype="object"))
    return [
        plain,
        missing,
        mixed,
        plain[["text"]],
        plain[["number"]],
        plain.iloc[:0],
        missing.iloc[3:4],
        plain.iloc[::-1],
    ]


@pytest.mark.parametrize("most", [30, 20_000])
def test_csv_is_what_pandas_writes(most: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(columns, "_MOST_CELLS", most)
    by_hand: list[str] = []
    cells = columns._cells
    monkeypatch.setattr(columns, "_cells", lambda column, kind: by_hand.append(kind) or cells(column, kind))
    for number, table in enumerate(tables_of_all_kinds()):
        for more in (False, True):
            path, other = tmp_path / f"{number}.csv", tmp_path / f"{number}-pandas.csv"
            append_csv(path, table, ANY, first=not more)
            text = {name: table[name].map(safe_cell) for name in table if name == "text"}
            table.assign(**text).to_csv(
                other, index=False, lineterminator="\n", header=not more, mode="a" if more else "w"
            )
            assert path.read_bytes() == other.read_bytes()
    # Text was a column of objects in older pandas.
    assert set(by_hand) - {"text"} == {"number", "plain"}
    assert ("text" in by_hand) == (pd.Series(["a"], dtype="str").dtype != "object")
