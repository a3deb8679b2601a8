"""The file of verdicts: what was found stands first, a line a verdict, and no line is wider than a terminal."""

import pandas as pd
import pytest

from jouleloop.stats.verdict_text import WIDTH, verdicts_table, verdicts_text

ROW = {
    "sweep": "fc_inputs", "architecture": "simba", "engine": "native", "energy_table": "t", "response": "data_pj",
    "verdict": "confirmed", "exponent": 0.9996, "excess_share": -0.000293, "excess_power": 2,
}  # fmt: skip


def test_the_first_response_of_every_sweep_has_one_line() -> None:
    other = ROW | {"response": "dram_words", "verdict": "refuted"}
    exact = ROW | {"architecture": "eyeriss", "verdict": "exact", "excess_share": None, "excess_power": None}
    cubed = ROW | {"sweep": "s", "excess_power": 3, "exponent": None}
    lines = verdicts_table(pd.DataFrame([ROW, other, exact, cubed])).splitlines()
    assert [line.split() for line in lines[1:]] == [
        ["fc_inputs", "simba", "confirmed", "1.000", "-0.0293", "%"],
        ["fc_inputs", "eyeriss", "exact", "1.000"],
        ["s", "simba", "confirmed", "-0.0293", "%", "(power", "3)"],
    ]
    assert lines[1].index("confirmed") == lines[0].index("verdict")


@pytest.mark.parametrize("name", ["short", "a_sweep_with_a_name_that_is_longer_than_half_of_all_that_a_terminal_shows"])
def test_no_line_is_wider_than_a_terminal(name: str) -> None:
    text = verdicts_text(pd.DataFrame([ROW | {"sweep": name}]), {name: "word-word " * 300})
    assert max(map(len, text.splitlines())) <= WIDTH
    assert text.count("word-word") == 300
    assert text.splitlines()[0].startswith("sweep ")
