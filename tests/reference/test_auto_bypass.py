"""Levels that tiles do not fit are bypassed before anything is counted, as by Timeloop (auto_bypass/README.md)."""

from collections import Counter
from pathlib import Path

from differential.runs import read_records
from drawn import drawn, ours
from paths import REFERENCE

RUNS = REFERENCE / "auto_bypass" / "runs.jsonl.xz"


def test_every_stored_evaluation_is_met(tmp_path: Path) -> None:
    met: Counter[tuple[str, str]] = Counter()
    refused = 0
    for number, run in enumerate(read_records(RUNS)):
        where = number, run["semantics"], run["kind"]
        mine = ours(run["documents"], tmp_path, run["semantics"])
        assert (mine is None) == (run["real"] is None), where
        if mine is None:
            refused += 1
            continue
        pairs = drawn().compared_json(mine.as_json(), run["real"])
        assert [(pair.field, pair.ours, pair.theirs) for pair in pairs if pair.verdict != "equal"] == [], where
        met[run["semantics"], run["kind"]] += 1
    assert len(met) == 12
    assert min(met.values()) >= 4
    assert refused >= 20


def test_without_it_none_of_them_fits(tmp_path: Path) -> None:
    for run in read_records(RUNS):
        if run["kind"] == "plain":
            del run["documents"]["arch"]["model"]
            assert ours(run["documents"], tmp_path, run["semantics"]) is None
