"""The tables and figures of the theory of loop nests are complete and consistent with each other."""

from pathlib import Path

from jouleloop.theory.drawing import write_figure
from jouleloop.theory.loop_nest.tables import agreement_table, draw_thin, examples_table, thin_table


def test_nest_tables_and_figure(tmp_path: Path) -> None:
    thin = thin_table()
    assert (thin["executed_words"] >= thin["bound_with_constants_words"]).all()
    assert (thin["peak_words"] <= thin["cache_words"]).all()
    # At L_3 = 1 the large-bound formula lies below the matrix itself, which Theorem 2 counts in full.
    first = thin.iloc[0]
    assert first["large_bounds_words"] < first["theorem_2_words"] == 48 * 48
    thin.to_csv(tmp_path / "thin.csv")
    for name in ("thin.svg", "again.svg"):
        write_figure(draw_thin(tmp_path / "thin.csv"), tmp_path / name)
    assert (tmp_path / "thin.svg").read_bytes() == (tmp_path / "again.svg").read_bytes()
    examples = examples_table()
    assert len(examples) == 6
    assert (examples["executed_over_bound"] >= 1).all()


def test_agreement_table_counts_the_counterexample() -> None:
    table = agreement_table(nests=4, points=2)
    random, errata = table[table["nests"] == "random"], table.iloc[-1]
    assert (random["closed_form"] == random["instances"]).all()
    assert (random["theorem_2"] == random["instances"]).all()
    assert (errata["theorem_2"], errata["theorem_2_as_displayed"], errata["nests_beyond_display"]) == (1, 0, 1)
