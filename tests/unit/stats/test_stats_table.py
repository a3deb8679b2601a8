"""Whole tables: rows, families of tests, left-out rows, words, and the tables that are refused."""

import weakref
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd
import pytest

from jouleloop.errors import InputError
from jouleloop.stats import analysis
from jouleloop.stats.analysis import Analysis, SweepDescription, analyse_table, holm
from jouleloop.stats.expression import evaluate_variable
from jouleloop.stats.options import StatisticsOptions
from jouleloop.stats.rows import bound_ratios
from jouleloop.stats.table import check_table
from jouleloop.tables.search_noise import compare_verdicts

SIZES = np.arange(128, 4097, 128)
SWEEPS = [SweepDescription("fc_inputs", "C", "linear", symbol="n"), SweepDescription("fc_outputs", "M", "linear")]


def energies(noise: float = 1e-3, engine: str = "native", seed: int = 0) -> pd.DataFrame:
    """Two sweeps on two architectures: Eyeriss exactly linear, Simba with noise; a level that only Simba has."""
    generator = np.random.default_rng(seed)
    parts = []
    for architecture in ("eyeriss", "simba"):
        for sweep in ("fc_inputs", "fc_outputs"):
            inputs = SIZES if sweep == "fc_inputs" else np.full(SIZES.size, 1024)
            outputs = SIZES if sweep == "fc_outputs" else np.full(SIZES.size, 1024)
            words = inputs * outputs * 1.0
            moved = words * (1 + (noise if architecture == "simba" else 0) * generator.standard_normal(SIZES.size))
            part = pd.DataFrame(
                {
                    "architecture": architecture,
                    "sweep": sweep,
                    "layer": [f"fc_{n}x{m}" for n, m in zip(inputs, outputs, strict=True)],
                    "N": 1,
                    "C": inputs,
                    "M": outputs,
                    "status": "ok",
                    "reason": "",
                    "total_pj": 200 * moved + words,
                    "data_pj": 200 * moved,
                    "compute_pj": words,
                    "dram_weights_pj": 150 * moved,
                    "dram_inputs_pj": 25 * moved,
                    "dram_outputs_pj": 25 * moved,
                    "accumulation_buffer_outputs_pj": moved if architecture == "simba" else np.nan,
                    "dram_words_weights": words,
                    "dram_words_inputs": inputs * 1.0,
                    "dram_words_outputs": outputs * 1.0,
                    "engine": engine,
                    "energy_table": f"{architecture}_45nm",
                }
            )
            parts.append(part)
    return pd.concat(parts, ignore_index=True)


@cache
def analysed() -> Analysis:
    """Return the analysis of the two sweeps, which several tests look at."""
    return analyse_table(energies(), SWEEPS)


def row(table: pd.DataFrame, sweep: str, architecture: str, response: str) -> pd.Series:
    found = table[(table["sweep"] == sweep) & (table["architecture"] == architecture) & (table["response"] == response)]
    assert len(found) == 1
    return found.iloc[0]


def test_every_response_of_every_sweep_has_a_row() -> None:
    analysis = analysed()
    common = {"data_pj", "total_pj", "dram_pj", "dram_words"} | {
        f"dram_words_{s}" for s in ("weights", "inputs", "outputs")
    }
    for (_, architecture), rows in analysis.verdicts.groupby(["sweep", "architecture"]):
        extra = {"accumulation_buffer_pj"} if architecture == "simba" else set()
        assert set(rows["response"]) == common | extra
    assert len(analysis.fits) == len(analysis.verdicts)
    assert row(analysis.verdicts, "fc_inputs", "eyeriss", "data_pj")["verdict"] == "exact"
    assert row(analysis.verdicts, "fc_inputs", "simba", "data_pj")["verdict"] == "confirmed"
    unclaimed = row(analysis.verdicts, "fc_inputs", "simba", "dram_words_outputs")
    assert unclaimed["verdict"] == "not tested"
    assert np.isnan(unclaimed["quadratic_p"])
    assert unclaimed["exponent_agrees"] == ""
    assert row(analysis.verdicts, "fc_inputs", "simba", "dram_pj")["exponent"] == pytest.approx(1, abs=0.01)
    fit = row(analysis.fits, "fc_inputs", "eyeriss", "data_pj")
    assert (fit["c1"], fit["c2"], fit["exact"]) == (0, pytest.approx(200 * 1024), True)
    assert fit["published_p"] == 0.1494
    assert np.isnan(fit["quadratic_p"])
    assert "exactly linear" in fit["quadratic_note"]


def test_bounds_and_theory_are_no_levels() -> None:
    more = energies().assign(lower_bound_pj=1.0, theory_lower_data_pj=1.0, glb_pj=5.0)
    responses = set(analyse_table(more, SWEEPS).verdicts["response"])
    assert "glb_pj" in responses
    assert not {name for name in responses if "bound" in name or "theory" in name}


def test_expected_growth_may_differ_by_response() -> None:
    sweeps = [
        SweepDescription("fc_inputs", "C", "linear", response_growth={"dram_words_outputs": "constant"}),
        SWEEPS[1],
    ]
    verdicts = analyse_table(energies(), sweeps).verdicts
    assert row(verdicts, "fc_inputs", "simba", "dram_words_outputs")["verdict"] == "exact"


def test_holm_is_over_the_whole_table() -> None:
    verdicts = analysed().verdicts
    for name in ("quadratic_p", "equivalence_p", "reset_p"):
        assert verdicts[f"{name}_holm"].to_numpy() == pytest.approx(holm(verdicts[name]), rel=1e-5, nan_ok=True)
    assert verdicts["quadratic_p"].notna().sum() > 3


def test_result_is_the_same_for_any_order_of_rows() -> None:
    table = energies()
    shuffled = table.sample(frac=1, random_state=1)
    first, second = analysed(), analyse_table(shuffled, SWEEPS[::-1])
    pd.testing.assert_frame_equal(first.verdicts, second.verdicts, rtol=1e-6)
    assert first.paragraphs.keys() == second.paragraphs.keys()


def test_rows_not_ok_are_left_out_counted_and_named() -> None:
    table = energies()
    bad = table.index[(table["architecture"] == "simba") & (table["sweep"] == "fc_inputs")][:2]
    table.loc[bad, "status"] = ["no_mapping", "failed"]
    table.loc[bad, "reason"] = "C is not divisible by 4"
    table.loc[bad, ["data_pj", "total_pj"]] = np.nan
    analysis = analyse_table(table, SWEEPS)
    result = row(analysis.verdicts, "fc_inputs", "simba", "data_pj")
    assert (result["n"], result["n_left_out"]) == (30, 2)
    assert list(analysis.left_out["layer"]) == ["fc_128x1024", "fc_256x1024"]
    assert set(analysis.left_out["reason"]) == {"C is not divisible by 4"}
    assert (
        "2 layers were left out (1 no_mapping, 1 failed: fc_128x1024, fc_256x1024)" in analysis.paragraphs["fc_inputs"]
    )


def test_missing_values_of_ok_rows_are_left_out_and_named() -> None:
    table = energies()
    table.loc[3, "data_pj"] = np.nan
    analysis = analyse_table(table, SWEEPS)
    first = table.loc[3]
    assert row(analysis.verdicts, first["sweep"], first["architecture"], "data_pj")["n"] == 31
    assert row(analysis.verdicts, first["sweep"], first["architecture"], "total_pj")["n"] == 32
    assert list(analysis.left_out["layer"]) == [first["layer"]]
    assert list(analysis.left_out["reason"]) == ["the value is missing"]
    assert f"1 layer was left out (1 without a value: {first['layer']})" in analysis.paragraphs[first["sweep"]]


def test_a_column_without_any_value_is_not_passed_over() -> None:
    table = energies()
    table["data_pj"] = np.nan
    analysis = analyse_table(table, SWEEPS)
    for architecture in ("simba", "eyeriss"):
        result = row(analysis.verdicts, "fc_inputs", architecture, "data_pj")
        assert (result["verdict"], result["n"], result["n_left_out"]) == ("inconclusive", 0, 32)
    assert "no usable layer" in analysis.paragraphs["fc_inputs"]


def test_words_tell_energy_tables_apart_where_one_architecture_has_several() -> None:
    table = energies()
    table = table[table["architecture"] == "simba"]
    both = pd.concat([table, table.assign(energy_table="another")], ignore_index=True)
    analysis = analyse_table(both, SWEEPS, StatisticsOptions(allow_mixed=True))
    words = analysis.paragraphs["fc_inputs"]
    assert "another)" in words
    assert words.count("Simba (native, ") == 2


def test_sweep_without_a_usable_row_is_inconclusive() -> None:
    table = energies()
    table.loc[table["architecture"] == "simba", "status"] = "no_mapping"
    analysis = analyse_table(table, SWEEPS)
    result = row(analysis.verdicts, "fc_inputs", "simba", "data_pj")
    assert (result["verdict"], result["n"], result["n_left_out"]) == ("inconclusive", 0, 32)
    assert "no usable layer" in analysis.paragraphs["fc_inputs"]


def test_zero_response_few_points_and_equal_sizes_are_inconclusive() -> None:
    table = energies()
    table["dram_words_inputs"] = 0.0
    table.loc[table["sweep"] == "fc_outputs", "M"] = 7
    few = pd.concat(
        [table[table["sweep"] == "fc_inputs"].groupby("architecture").head(3), table[table["sweep"] == "fc_outputs"]]
    )
    verdicts = analyse_table(few, SWEEPS).verdicts
    assert set(verdicts["verdict"]) == {"inconclusive", "not tested"}
    energy = verdicts["response"].isin(["data_pj", "total_pj"])
    assert set(verdicts[energy]["verdict"]) == {"inconclusive"}
    assert "3 usable points" in row(verdicts, "fc_inputs", "simba", "data_pj")["reason"]
    assert "the same size" in row(verdicts, "fc_outputs", "simba", "data_pj")["reason"]
    claiming = [replace(SWEEPS[0], response_growth={"dram_words_inputs": "linear"})]
    zero = analyse_table(table[table["sweep"] == "fc_inputs"], claiming).verdicts
    assert "zero at every point" in row(zero, "fc_inputs", "simba", "dram_words_inputs")["reason"]


def test_mixed_engines_and_energy_tables_are_refused_unless_asked_for() -> None:
    mixed = pd.concat([energies(), energies(engine="timeloop", noise=5e-3)], ignore_index=True)
    with pytest.raises(InputError, match="engines native, timeloop"):
        analyse_table(mixed, SWEEPS)
    other = energies()
    other.loc[other.index[::2], "energy_table"] = "other"
    with pytest.raises(InputError) as caught:
        analyse_table(other, SWEEPS)
    assert len(caught.value.faults) == 2
    allowed = analyse_table(mixed, SWEEPS, StatisticsOptions(allow_mixed=True))
    found = allowed.verdicts[allowed.verdicts["response"] == "data_pj"]
    assert len(found) == 8
    assert set(found["n"]) == {32}
    assert "Simba (timeloop, simba_45nm)" in allowed.paragraphs["fc_inputs"]


def test_tables_that_are_no_current_energies_table_are_refused() -> None:
    with pytest.raises(InputError, match="older version"):
        analyse_table(energies().drop(columns="engine"), SWEEPS)
    old = energies()
    old.attrs["table_version"] = 0
    with pytest.raises(InputError, match="older version"):
        analyse_table(old, SWEEPS)
    old.attrs["table_version"] = 99
    with pytest.raises(InputError, match="unknown version"):
        analyse_table(old, SWEEPS)
    with pytest.raises(InputError, match="older version"):
        analyse_table(energies().assign(table_version=0), SWEEPS)
    with pytest.raises(InputError, match="no rows"):
        analyse_table(energies().iloc[:0], SWEEPS)
    twice = pd.concat([energies(), energies().iloc[:1]], ignore_index=True)
    with pytest.raises(InputError, match="given twice"):
        analyse_table(twice, SWEEPS)
    empty = energies()
    empty.loc[4, "layer"] = None
    with pytest.raises(InputError, match="'layer' has empty cells, the first in row 4"):
        analyse_table(empty, SWEEPS)


def test_unknown_sweeps_growths_responses_and_variables_are_named_together() -> None:
    with pytest.raises(InputError) as caught:
        analyse_table(energies(), [SweepDescription("fc_input", "C", "linearr"), SWEEPS[1]])
    assert len(caught.value.faults) == 3
    assert "did you mean 'fc_input'" in str(caught.value)
    with pytest.raises(InputError, match="did you mean 'dram_words'"):
        analyse_table(energies(), SWEEPS, StatisticsOptions(responses=["dram_word"]))
    with pytest.raises(InputError, match="unknown column"):
        analyse_table(energies(), [SweepDescription("fc_inputs", "K", "linear"), SWEEPS[1]])
    with pytest.raises(InputError, match=r"sweep fc_inputs.*out of range"):
        analyse_table(energies(), [SweepDescription("fc_inputs", "C - 1000", "linear"), SWEEPS[1]])


def test_variable_expressions() -> None:
    table = pd.DataFrame({"C": [2, 3], "M": [5, 7], "w_stride": [1, 2], "name": ["a", "b"]})
    for text, values in {
        "C*M": [10, 21],
        "mn": [10, 21],
        "n": [2, 3],
        "1/w_stride**2": [1, 0.25],
        "-(C+1)": [-3, -4],
    }.items():
        assert list(evaluate_variable(text, table)) == values
    for text in (
        "__import__('os')",
        "C.sum()",
        "C[0]",
        "C**M",
        "C**99",
        "C if C else M",
        "'a'",
        "",
        "C*" * 200,
        "name",
        "True",
    ):
        with pytest.raises(InputError):
            evaluate_variable(text, table)


def test_words_for_each_verdict() -> None:
    analysis = analyse_table(energies(noise=0.1), SWEEPS[:1] + SWEEPS[1:])
    text = analysis.paragraphs["fc_inputs"]
    assert text.startswith("Sweep fc_inputs: theory says that data energy grows linearly in n.")
    assert "Eyeriss: The expected growth holds exactly for data energy (32 layers, n from 128 to 4096)" in text
    assert "Simba: These points neither confirm nor refute the expected growth" in text
    assert "(published: 0.2447)" in text
    confirmed = analysed().paragraphs["fc_inputs"]
    assert "Simba: Within the margin and over this range the expected growth is confirmed for data energy" in confirmed
    quadratic = [SweepDescription("fc_inputs", "C", "quadratic"), SWEEPS[1]]
    refuted = analyse_table(energies(noise=1e-3), quadratic).paragraphs["fc_inputs"]
    assert "The expected growth is refuted for data energy" in refuted
    assert "nan" not in (text + confirmed + refuted).lower()


def test_theory_columns_become_ratios() -> None:
    table = energies()
    table["theory_lower_data_pj"] = 100.0 * table["C"] * table["M"]
    table["theory_upper_data_pj"] = 190.0 * table["C"] * table["M"]
    result = row(analyse_table(table, SWEEPS).verdicts, "fc_inputs", "eyeriss", "data_pj")
    assert result["theory_lower_ratio_min"] == pytest.approx(2)
    assert result["theory_lower_crossed"] == 0
    assert result["theory_upper_crossed"] == 32
    ratios = bound_ratios([1, 2, 2], [2, 4, 8], [1, 4, 0], lower=True)
    assert ratios == {"ratio_min": 1, "ratio_median": 1.5, "ratio_max": 2, "ratio_at_largest": 1, "crossed": 0}


def test_verdicts_of_two_searches_side_by_side() -> None:
    proven = analysed().verdicts
    heuristic = analyse_table(energies(noise=0.2, engine="timeloop"), SWEEPS).verdicts
    joined = compare_verdicts(proven, heuristic)
    assert len(joined) == len(proven)
    assert joined["verdict_moved"].any()
    with pytest.raises(InputError, match="in common"):
        compare_verdicts(proven.iloc[:0], heuristic)


def test_variants_of_an_architecture_have_energies_of_their_own() -> None:
    table = energies().assign(variant="")
    variants = table.assign(variant="size=2", energy_table="estimated", sweep="sizes_" + table["sweep"])
    check_table(pd.concat([table, variants], ignore_index=True), StatisticsOptions())
    with pytest.raises(InputError, match="energy tables"):
        check_table(pd.concat([table, variants.assign(variant="")], ignore_index=True), StatisticsOptions())
    mixed = variants.assign(energy_table=["estimated", *["other"] * (len(variants) - 1)])
    with pytest.raises(InputError, match="mixes the energy tables estimated, other"):
        check_table(pd.concat([table, mixed], ignore_index=True), StatisticsOptions())


def test_settings_that_would_be_pooled_are_refused_even_if_mixtures_are_allowed() -> None:
    table = energies().assign(semantics="timeloop-3.0.3", objective="energy")
    table.loc[table.index[::3], "semantics"] = "timeloop-2023-04"
    for options in (StatisticsOptions(), StatisticsOptions(allow_mixed=True)):
        with pytest.raises(InputError, match=r"mixes semantics timeloop-2023-04, timeloop-3\.0\.3") as caught:
            analyse_table(table, SWEEPS, options)
        assert len(caught.value.faults) == 2
    analyse_table(table.assign(semantics="timeloop-3.0.3"), SWEEPS)


def test_bounds_are_compared_with_what_theory_counts() -> None:
    table = energies()
    table["theory_lower_dram_words"] = 1.0 * table["C"] * table["M"] + table["C"] + 2 * table["M"]
    plain = row(analyse_table(table, SWEEPS).verdicts, "fc_inputs", "eyeriss", "dram_words")
    assert plain["theory_lower_crossed"] == 32
    table["theory_measured_dram_words"] = table["theory_lower_dram_words"]
    counted = row(analyse_table(table, SWEEPS).verdicts, "fc_inputs", "eyeriss", "dram_words")
    assert (counted["theory_lower_ratio_min"], counted["theory_lower_crossed"]) == (1, 0)
    assert np.isnan(counted["theory_upper_ratio_max"])
    assert pd.isna(counted["theory_upper_crossed"])


def test_refuted_responses_are_named_in_words() -> None:
    sweeps = [replace(sweep, response_growth={"dram_words_outputs": "linear"}) for sweep in SWEEPS]
    text = analyse_table(energies(), sweeps).paragraphs["fc_inputs"]
    assert "each against the growth expected of it" in text
    assert "1 refuted (dram_words_outputs)" in text


def test_growth_of_a_response_that_is_none_is_refused() -> None:
    sweeps = [replace(SWEEPS[0], response_growth={"dram_word": "linear"}), SWEEPS[1]]
    with pytest.raises(InputError, match=r"response_growth: unknown response .*did you mean 'dram_words'\?"):
        analyse_table(energies(), sweeps)


def test_rows_that_were_read_are_let_go_before_they_are_tested() -> None:
    table, sweep, options = energies(), SWEEPS[0], StatisticsOptions()
    read: list[weakref.ref[pd.DataFrame]] = []

    def rows(wanted: Callable[[str], bool]) -> Iterator[pd.DataFrame]:
        for name in ("eyeriss", "simba"):
            mask = (table["architecture"] == name) & (table["sweep"] == sweep.name)
            found = [table.loc[mask, [column for column in table.columns if wanted(column)]]]
            read.append(weakref.ref(found[0]))
            yield found.pop()

    verdicts = []
    for test in analysis.tested_alone(table.iloc[:0], rows, sweep, options):
        assert all(one() is None for one in read)
        verdicts += test.verdicts
    whole = analyse_table(table[table["sweep"] == sweep.name], [sweep], options).verdicts
    assert [row["verdict"] for row in verdicts] == list(whole["verdict"])
    assert len(read) == 2
