"""Tables and figures of the convolution theory on a small scale."""

import math

import pandas as pd

from jouleloop.theory.convolution.figures import draw_memory, draw_processors
from jouleloop.theory.convolution.layer import Precisions
from jouleloop.theory.convolution.tables import (
    crossing_table,
    executed_table,
    exponent_table,
    memory_table,
    processor_table,
)
from jouleloop.theory.drawing import write_figure
from jouleloop.theory.exhibits import exhibits
from jouleloop.theory.layers import ConvLayer

SMALL = {"a": ConvLayer(4, 8, 8, 6, 6, 3, 3), "b": ConvLayer(4, 4, 8, 5, 5, 4, 4, 2, 2)}


def test_memory_table_and_figure(tmp_path):
    table = memory_table(SMALL, [16, 256, 4096])
    exact = table[table["algorithm"].isin(["blocking", "blocking_rounded_lp", "im2col", "naive"])]
    # These do loop nest (1), so the theorem binds them; Winograd and FFT do not.
    assert exact["ratio_to_bound"].ge(1 - 1e-12).all()
    assert (table["volume_words"] / table["lower_bound_words"] - table["ratio_to_bound"]).abs().max() < 1e-12
    blocking = table[table["algorithm"] == "blocking"].groupby("layer")["volume_words"]
    assert blocking.apply(lambda words: words.is_monotonic_decreasing).all()
    first, second = tmp_path / "first.svg", tmp_path / "second.svg"
    table.to_csv(tmp_path / "memory.csv")
    for path in (first, second):
        write_figure(draw_memory(tmp_path / "memory.csv"), path)
    assert first.read_bytes() == second.read_bytes()
    assert b"Theorem 2.1" in first.read_bytes()


def test_processor_table_and_figure(tmp_path, monkeypatch):
    monkeypatch.setattr("jouleloop.theory.convolution.tables.PARALLEL_MEMORY_WORDS", 2048)
    table = processor_table(SMALL, [1, 16, 1024])
    blocking = table[table["algorithm"] == "blocking"]
    bounded = blocking[blocking["ratio_to_bound"].notna()]
    assert len(bounded)
    assert bounded["ratio_to_bound"].ge(1).all()
    assert all(math.isnan(v) for v in table[table["lower_bound_words"] <= 0]["ratio_to_bound"])
    table.to_csv(tmp_path / "processors.csv")
    write_figure(draw_processors(tmp_path / "processors.csv"), tmp_path / "figure.svg")
    assert (tmp_path / "figure.svg").stat().st_size > 10_000


def test_other_tables(tmp_path):
    regimes = crossing_table()
    for _, rows in regimes.groupby("layer"):
        assert rows["from_memory_words"].iloc[0] == 0
        assert list(rows["to_memory_words"][:-1]) == list(rows["from_memory_words"][1:])
    sums = exponent_table().groupby("nest")["exponent_sum"].first()
    assert set(sums) == {"2", "3/2"}
    run = executed_table({"a": ConvLayer(2, 3, 3, 4, 4, 3, 3)}, [Precisions()], [4, 20, 200])
    assert (run["executed_words"] == run["closed_form_words"]).all()
    assert run["ratio_to_bound"].ge(1).all()
    assert (run["peak_words"] <= run["memory_words"]).all()
    exhibits()["conv/exponents.csv"].make(tmp_path / "table.csv")
    assert len(pd.read_csv(tmp_path / "table.csv")) == 11 + 7 + 3
