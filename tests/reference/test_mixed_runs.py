"""Optima of the real mappers where cases have everything at once (see mixed_runs/README.md)."""

from collections import Counter
from pathlib import Path

import pytest

from differential.compare import compare
from differential.mixed import KINDS, draw_mixed, draw_mixed_rounded
from differential.runs import from_record, read_records
from shares import by_part

FOLDER = Path(__file__).parent / "mixed_runs"
#: By file: least number of its runs, and how a seed draws its case.
DRAWS = {
    "timeloop-2024": (420, lambda seed: draw_mixed(seed, semantics="timeloop-2024")),
    "timeloop-4": (210, lambda seed: draw_mixed(seed, semantics="timeloop-4")),
    "rounded": (210, draw_mixed_rounded),
}
#: Every file is read in so many parts, which may run at the same time.
PARTS = 8


@by_part(PARTS, first=1)
@pytest.mark.parametrize("name", DRAWS)
def test_the_search_finds_the_optimum_of_the_real_mapper(name: str, part: int) -> None:
    records = read_records(FOLDER / f"{name}.jsonl.xz")
    found = [compare(*from_record(record)) for record in records[part::PARTS]]
    assert len(records) >= DRAWS[name][0]
    assert [one.line() for one in found if one.verdict != "equal"] == []


@pytest.mark.parametrize("name", DRAWS)
def test_its_case_is_drawn_by_a_seed(name: str) -> None:
    for record in read_records(FOLDER / f"{name}.jsonl.xz")[::70]:
        case, _ = from_record(record)
        assert DRAWS[name][1](int(case.name.rpartition("-")[2])) == case


@pytest.mark.parametrize("name", ["timeloop-2024", "timeloop-4"])
def test_every_kind_is_there_with_optima(name: str) -> None:
    runs = [from_record(record) for record in read_records(FOLDER / f"{name}.jsonl.xz")]
    kinds = Counter(case.name.split("-")[1] for case, real in runs if real.status == "ok")
    assert set(kinds) == set(KINDS)
    assert min(kinds.values()) >= 10
    assert {case.objective for case, _ in runs} == {"energy", "delay", "edp"}
