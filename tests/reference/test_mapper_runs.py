"""The search against stored runs of the real mapper over random designs (see mapper_runs/README.md)."""

from pathlib import Path

import pytest

from differential.case import unhindered
from differential.compare import compare
from differential.enumerator import Enumerator
from differential.features import table
from differential.native import load
from differential.runs import features_of, from_record, read_records
from shares import by_part

FOLDER = Path(__file__).parent / "mapper_runs"
FILES = sorted(FOLDER.glob("*.jsonl.xz"))
#: Every file is read in so many parts, which may run at the same time.
PARTS = 16


@by_part(PARTS, first=1)
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_the_search_finds_the_optimum_of_the_real_mapper(path: Path, part: int) -> None:
    found = [compare(*from_record(record)) for record in read_records(path)[part::PARTS]]
    assert found
    assert [one.line() for one in found if one.verdict != "equal"] == []


def test_runs_whose_counts_wrap_around_are_known_as_such() -> None:
    """The real mapper takes a mapping with fills of 2^64 less a few words, because a fill takes no energy there."""
    found = [compare(*from_record(record)) for record in read_records(FOLDER / "wrapped/told.jsonl.xz")]
    assert [one.verdict for one in found] == ["real wrapped"] * 2
    assert all(one.native.energy_pj > one.real.energy_pj for one in found)


def test_the_table_of_features_counts_what_is_stored() -> None:
    runs = [from_record(record) for path in FILES for record in read_records(path)]
    assert len(runs) >= 2000
    rows = [(features_of(case, real), f"{real.status}") for case, real in runs]
    assert table(rows) in (FOLDER / "README.md").read_text(encoding="utf-8")


@by_part(4, first=1)
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_the_enumeration_holds_the_mapspace_of_the_real_mapper(path: Path, part: int) -> None:
    """As many valid mappings in a fifth of the runs; in the smallest of these, the same optimum, too."""
    smallest = []
    for record in read_records(path)[5 * part :: 20]:
        case, real = from_record(record)
        problem, target = load(case)
        enumerator = Enumerator(case, problem, target.arch, unhindered(case))
        assert enumerator.count() == real.valid, case.name
        smallest.append((real.valid, case.name, case, real, enumerator, target))
    for valid, name, case, real, enumerator, target in sorted(smallest, key=lambda one: one[:2])[:10]:
        best = enumerator.best(target.costs, case.semantics)
        assert best is not None
        assert best.visited == valid
        if valid:
            assert best.value(case.objective) == pytest.approx(real.value(case.objective), rel=1e-9, abs=1e-9), name
