"""The model against stored runs of the real ``timeloop-model`` on mappings whose loops end early."""

from pathlib import Path

import pytest

from differential.imperfect import differences, draw_evaluated, load_mapping, load_record
from differential.runs import read_records
from jouleloop.mapping.formats import parse_map_txt, print_nest, read_timeloop_mapping, to_timeloop_mapping

FILES = sorted((Path(__file__).parent / "imperfect_runs").glob("*.jsonl.xz"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_every_field_is_that_of_timeloop(path: Path) -> None:
    records = read_records(path)
    assert len(records) >= 100
    wrong = []
    for record in records:
        problem, target = load_record(record)
        mapping = load_mapping(record, problem, target)
        assert mapping.imperfect
        wrong += [f"{record['seed']}: {line}" for line in differences(problem, target, mapping, record["real"])]
    assert wrong == []


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_every_format_brings_the_mapping_back(path: Path) -> None:
    for record in read_records(path)[::5]:
        problem, target = load_record(record)
        mapping = load_mapping(record, problem, target)
        keep = {level.level: level.keep for level in mapping.levels}
        directives = to_timeloop_mapping(mapping, problem, target.arch)
        assert read_timeloop_mapping(directives, problem, target.arch, keep=keep) == mapping
        assert parse_map_txt(print_nest(mapping, problem), problem, target.arch).mapping == mapping


def test_the_records_are_drawn_again() -> None:
    record = read_records(FILES[0])[0]
    drawn = draw_evaluated(record["seed"], record["kind"])
    assert drawn is not None
    assert drawn[0] == {key: value for key, value in record.items() if key != "real"}
