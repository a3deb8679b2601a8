"""The model against stored runs of the real ``timeloop-model`` on mappings whose loops end early."""

from pathlib import Path

import pytest

from differential.case import LATER, Case
from differential.compare import compare
from differential.imperfect import differences, draw_evaluated, load_mapping, load_record
from differential.native import load
from differential.ruby import as_ruby_reads, ends_innermost
from differential.runs import from_record, read_records
from jouleloop.engines.native import NativeEngine
from jouleloop.mapping.formats import read_timeloop_mapping, to_timeloop_mapping
from jouleloop.mapping.nest import parse_map_txt, print_nest
from jouleloop.model.evaluate import evaluate_mapping
from jouleloop.model.symbolic import symbolic_energies
from shares import by_part

FOLDER = Path(__file__).parent / "imperfect_runs"
RUBY = FOLDER / "ruby" / "windows.jsonl.xz"
FILES = sorted(path for path in FOLDER.glob("*.jsonl.xz") if path != RUBY)


@by_part(2, first=1)
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_every_field_is_that_of_timeloop(path: Path, part: int) -> None:
    records = read_records(path)[part::2]
    assert len(records) >= 50
    wrong = []
    for record in records:
        problem, target = load_record(record)
        mapping = load_mapping(record, problem, target)
        assert mapping.imperfect
        wrong += [f"{record['seed']}: {line}" for line in differences(problem, target, mapping, record["real"])]
    assert wrong == []


@by_part(4, first=1)
def test_symbolic_counts_are_the_kernels(part: int) -> None:
    """The rules are written a second time, for symbols; here all of them are numbers."""
    wrong = []
    for record in [record for path in FILES for record in read_records(path)[10 * part :: 40]]:
        problem, target = load_record(record)
        mapping = load_mapping(record, problem, target)
        counted = evaluate_mapping(problem, target.arch, target.costs, mapping, target.semantics, check_capacity=False)
        symbolic = symbolic_energies(problem, target.arch, target.costs, mapping, target.semantics, sizes=())
        assert symbolic.operations.value == counted.computes
        for level in counted.levels:
            for space, stats in level.data.items():
                words = [polynomial.value for polynomial in symbolic.words[level.name, space]]
                if words != [stats.reads, stats.fills, stats.updates]:
                    wrong.append(f"{record['seed']}: {level.name} {space}")
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


def test_a_dimension_along_both_axes_counts_as_in_one_row() -> None:
    """Real ``timeloop-model`` is given one loop on an array of one row, which it can write."""
    records = [record for path in sorted((FOLDER / "axes").glob("*.jsonl.xz")) for record in read_records(path)]
    assert len(records) >= 60
    wrong = []
    for record in records:
        problem, target = load_record(record)
        mapping = load_mapping(record, problem, target)
        assert any(len({d for d, *_ in level.spatial}) < len(level.spatial) for level in mapping.levels)
        wrong += [f"{record['seed']}: {line}" for line in differences(problem, target, mapping, record["real"])]
    assert wrong == []


def test_the_records_are_drawn_again() -> None:
    record = read_records(FILES[0])[0]
    drawn = draw_evaluated(record["seed"], record["kind"])
    assert drawn is not None
    assert drawn[0] == {key: value for key, value in record.items() if key != "real"}


def test_no_run_of_ruby_finds_less() -> None:
    """Real `timeloop-mapper` with the template ``ruby``, to the end of what it draws, on designs of two levels."""
    for record in read_records(FOLDER / "ruby.jsonl"):
        case = Case.from_json(record["case"])
        for target in case.constraints["mapspace_constraints"]["targets"]:
            # Which loops ruby may end early; here all may.
            target.pop("remainders")
        problem, target = load(case)
        assert target.constraints.factors == "imperfect"
        found = NativeEngine().search(problem, target)
        assert found.optimal
        assert found.evaluation is not None
        assert found.evaluation.energy_pj <= record["real"]["energy_pj"] * (1 + 1e-9), case.name


@by_part(4, first=1)
def test_windows_have_the_optimum_of_ruby_in_three_versions(part: int) -> None:
    """Where 3.0.3 finds more, a loop of the innermost tiling level ends early, which its ``ruby`` never lets."""
    found = [compare(as_ruby_reads(case), real) for case, real in map(from_record, read_records(RUBY)[part::4])]
    less = [one for one in found if one.verdict == "wider"]
    assert len(found) > 30
    assert [one.line() for one in found if one.verdict not in ("equal", "wider")] == []
    assert [one.line() for one in less if one.case.semantics in LATER] == []
    assert [one.line() for one in less if not ends_innermost(one.case, one.native.mapping)] == []
