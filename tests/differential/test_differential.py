"""The comparison with the real mapper itself: verdicts, files of a case, what its constraints are spared."""

from pathlib import Path

import pytest

from differential.case import Case, fanouts, read_case, targets, unhindered
from differential.compare import judge
from differential.draw import KINDS, draw_case
from differential.near import draw_near
from differential.real import Outcome
from differential.runs import from_record, read_records, to_record, write_records
from differential.strided import draw_strided
from differential.uber import Uber

OK = Outcome("ok", 100.0, 10)


@pytest.mark.parametrize(
    ("real", "native", "verdict"),
    [
        (OK, OK, "equal"),
        (OK, Outcome("ok", 100.0 * (1 + 1e-12), 10), "equal"),
        (OK, Outcome("ok", 101.0, 10), "unsound"),
        (OK, Outcome("ok", 99.0, 10), "wider"),
        (OK, Outcome("no_mapping"), "unsound"),
        (OK, Outcome("refused"), "refused"),
        (OK, Outcome("failed"), "crash"),
        (Outcome("no_mapping"), OK, "wider"),
        (Outcome("no_mapping"), Outcome("no_mapping"), "equal"),
        (Outcome("refused"), OK, "real refused"),
        (Outcome("refused"), Outcome("refused"), "both refuse"),
        (Outcome("failed"), OK, "real failed"),
    ],
)
def test_verdicts(real: Outcome, native: Outcome, verdict: str) -> None:
    assert judge(draw_case(0), real, native) == verdict


def test_a_seed_draws_one_case() -> None:
    assert draw_case(7) == draw_case(7)
    assert draw_case(7) != draw_case(8)


@pytest.mark.parametrize("kind", KINDS)
def test_cases_are_small_and_come_back_from_files(kind: str, tmp_path: Path) -> None:
    for seed in range(5):
        case = draw_case(seed, kind, 300)
        assert 0 < Uber(case).size() <= 300
        case.write(tmp_path / case.name)
        assert read_case(tmp_path / case.name) == case
        near = draw_near(seed, [case], 300)
        assert 0 < Uber(near).size() <= 300


def test_strided_cases_are_small_and_leave_the_search_a_choice(tmp_path: Path) -> None:
    unconstrained = 0
    for seed in range(20):
        case = draw_strided(seed, 2000)
        space, instance = Uber(case), case.problem["problem"]["instance"]
        assert 0 < space.size() <= 2000
        assert len(space.masks) > 1
        assert max(instance[name] for name in "sdte" if name in instance) > 1
        assert 0 < sum(x * y > 1 for _, x, y in fanouts(case)) < 3
        case.write(tmp_path / case.name)
        assert read_case(tmp_path / case.name) == case
        unconstrained += not any(tiling.exact or tiling.prefix for tiling in space.tilings)
    assert unconstrained > 8


def test_documents_alone_are_a_case(tmp_path: Path) -> None:
    case = draw_case(3)
    case.write(tmp_path)
    (tmp_path / "case.json").unlink()
    found = read_case(tmp_path)
    assert (found.arch, found.problem, found.constraints, found.ert) == (
        case.arch,
        case.problem,
        case.constraints,
        case.ert,
    )
    assert found.objective == case.objective


@pytest.mark.parametrize("name", ["runs.jsonl", "runs.jsonl.xz"])
def test_runs_come_back(name: str, tmp_path: Path) -> None:
    runs = [(draw_case(0), OK), (draw_case(1), Outcome("no_mapping", reason="none"))]
    write_records(tmp_path / name, [to_record(*run) for run in runs])
    assert [from_record(record) for record in read_records(tmp_path / name)] == runs


def test_a_fan_out_along_y_is_visited_whole() -> None:
    spared = 0
    for seed in range(40):
        case = draw_case(seed)
        along_y = [name for name, x, y in fanouts(case) if x == 1 and y > 1]
        for target in targets(unhindered(case)):
            if target not in targets(case.constraints):
                assert target["target"] in along_y
                assert target["split"] == 0
                spared += 1
        assert isinstance(case, Case)
    assert spared
