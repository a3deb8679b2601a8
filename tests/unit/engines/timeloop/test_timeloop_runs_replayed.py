"""The engine ``timeloop`` against programs that replay stored runs, crash, hang or lie."""

import math
import os
import re
import stat
from pathlib import Path

import pytest

from jouleloop.arch.architecture import Architecture, ComputeLevel, StorageLevel
from jouleloop.energy.costs import EnergyCosts, LevelEnergy
from jouleloop.engines.protocol import SearchOptions, Target
from jouleloop.engines.timeloop.engine import TimeloopEngine, TimeloopOptions
from jouleloop.engines.timeloop.process import ProgramWatch, run_program
from jouleloop.engines.timeloop.programs import describe, find_timeloop, locate
from jouleloop.engines.timeloop.verdict import MapperLog, MapperProgress
from jouleloop.errors import EngineError, InputError, MappingError
from jouleloop.mapping.mapping import LevelMapping, Mapping
from jouleloop.mapspace.constraints import Constraints, LevelConstraints, LoopConstraint
from jouleloop.workload.layer import Layer
from paths import REFERENCE
from waiting import LIMIT_S

RUNS = REFERENCE / "timeloop_runs"
ALL = frozenset({"Weights", "Inputs", "Outputs"})
ARCH = Architecture(
    "two",
    (StorageLevel("DRAM", "s.DRAM", "DRAM", None, 16), StorageLevel("Buffer", "s.Buffer", "SRAM", 64, 16)),
    ComputeLevel("mac", "s.mac", "intmac", 16),
)
TARGET = Target(
    ARCH,
    EnergyCosts("t", (LevelEnergy("DRAM", 9.0, 9.0, "t"), LevelEnergy("Buffer", 1.0, 1.0, "t")), 0.5, "t"),
    Constraints("c", {"DRAM": LevelConstraints(LoopConstraint({"C": 4}))}),
)
FC = Layer.of("fc", 7, 11).problem()
NEST = Mapping((LevelMapping("DRAM", (("C", 7), ("M", 11)), (), ALL), LevelMapping("Buffer", (), (), ALL)))
PROBE = f'case "$(cat architecture.yaml)" in *Backing*) cp "{RUNS}/probe_3.0.3/"timeloop-model.* .; exit 0;; esac'


def install(folder: Path, *, model: str = "exit 0", mapper: str = "exit 0", probe: str = PROBE) -> Path:
    """Write two programs that answer the probe and then do as told."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, body in (("timeloop-model", f"{probe}\n{model}"), ("timeloop-mapper", mapper)):
        path = folder / name
        path.write_text(f"#!/bin/sh\n{body}\n")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return folder


def replay(run: str, code: int = 0) -> str:
    """Shell text that prints the log and leaves the files of a stored run."""
    return f'cat "{RUNS}/{run}/"*.log; cp "{RUNS}/{run}/"*.txt "{RUNS}/{run}/"*.xml . 2>/dev/null; exit {code}'


def engine(home: Path, **options: float | str | Path) -> TimeloopEngine:
    return TimeloopEngine(TimeloopOptions(home=home, **options))  # type: ignore[arg-type]


def test_search_replayed(tmp_path: Path) -> None:
    seen: list[MapperProgress] = []
    one = engine(install(tmp_path, mapper=replay("mapper_ok")))
    one.on_progress = seen.append
    found = one.search(FC, TARGET)
    assert (found.status, found.optimal, found.engine) == ("ok", True, "timeloop")
    assert found.mapping is not None
    assert found.evaluation is not None
    # 7 x 11: 4 positions for the prime 7, 5 for the prime 11.
    assert found.index_factorizations == 20
    assert found.visited == 21
    assert found.lower_bound == found.evaluation.energy_pj
    assert found.evaluation.computes == 77
    assert "exhausted" in found.proof
    assert seen[-1].best_pj_per_compute == pytest.approx(found.evaluation.energy_pj / 77, abs=5e-4)
    assert [step.best_pj_per_compute for step in seen if not math.isnan(step.best_pj_per_compute)] == sorted(
        (step.best_pj_per_compute for step in seen if not math.isnan(step.best_pj_per_compute)), reverse=True
    )


@pytest.mark.parametrize(
    ("objective", "options", "budget", "words"),
    [
        (("energy", "delay"), {}, None, "0.1 %"),
        (("energy",), {"algorithm": "random-pruned", "victory_condition": 5}, None, "heuristic"),
        (("energy",), {}, 21, "before the mapspace was exhausted"),
        (("energy",), {"timeout_mappings": 100}, None, "before the mapspace was exhausted"),
    ],
)
def test_optimality_is_not_claimed(
    tmp_path: Path, objective: tuple[str, ...], options: dict[str, int | str], budget: int | None, words: str
) -> None:
    one = engine(install(tmp_path, mapper=replay("mapper_ok")), **options)
    found = one.search(FC, TARGET, SearchOptions(objective, budget=budget))
    assert found.status == "ok"
    assert not found.optimal
    assert found.lower_bound == 0
    assert words in found.proof


def test_settings_reach_the_mapper(tmp_path: Path) -> None:
    keep = tmp_path / "kept"
    options: dict[str, int | str | Path] = {"algorithm": "random-pruned", "threads": 2, "keep_folders": keep}
    engine(install(tmp_path / "bin", mapper=replay("mapper_ok")), **options).search(
        FC, TARGET, SearchOptions(budget=10)
    )
    text = next(keep.glob("timeloop-mapper-*/mapper.yaml")).read_text()
    assert "num-threads: 2" in text
    assert "search-size: 10" in text
    assert "live-status: false" in text
    assert "max-permutations-per-if-visit: 16" in text


def test_no_mapping_names_the_levels(tmp_path: Path) -> None:
    mapper = f"if grep -q diagnostics mapper.yaml; then {replay('mapper_none_diagnosis')}; fi; {replay('mapper_none')}"
    found = engine(install(tmp_path, mapper=mapper)).search(FC, TARGET)
    assert found.status == "no_mapping"
    assert "DummyBuffer" in found.reason
    assert "mapped fanoutY 13 exceeds hardware fanoutY 12" in found.reason
    assert found.mapping is None


def test_inapplicable_constraint_is_invalid(tmp_path: Path) -> None:
    found = engine(install(tmp_path, mapper=replay("mapper_invalid", 1))).search(FC, TARGET)
    assert found.status == "invalid"
    assert "C = 6 is not divisible" in found.reason
    assert "C=4 at DRAM, temporal" in found.reason


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("exit 0", "exit code 0 but .*was not written"),
        (": > timeloop-mapper.map.txt; : > timeloop-mapper.stats.txt; exit 0", "exit code 0 but .*is empty"),
        ("echo 'ERROR: something odd'; exit 3", "exit code 3: ERROR: something odd"),
        ("kill -SEGV $$", "crashed with SIGSEGV"),
        ("echo partial > timeloop-mapper.map.txt; exit 0", "is no line of a loop nest"),
    ],
)
def test_silent_failures_have_a_reason(tmp_path: Path, body: str, words: str) -> None:
    found = engine(install(tmp_path, mapper=body)).search(FC, TARGET)
    assert found.status == "failed"
    assert re.search(words, found.reason), found.reason


def test_hanging_mapper_is_killed(tmp_path: Path, mark: Path) -> None:
    home = install(tmp_path / "bin", mapper=f"trap '' INT; echo $$ > {mark}; while :; do sleep 0.2; done")
    found = engine(home, mapper_seconds=0.6, interrupt_grace_s=0.3).search(FC, TARGET)
    assert found.status == "failed"
    assert "time limit" in found.reason
    with pytest.raises(ProcessLookupError):
        os.kill(int(mark.read_text()), 0)


@pytest.mark.usefixtures("interruptible")
def test_interrupted_mapper_leaves_its_best(tmp_path: Path, mark: Path) -> None:
    mapper = f"trap '{replay('mapper_ok')}' INT; echo $$ > {mark}; while :; do sleep 0.1; done"
    home = install(tmp_path / "bin", mapper=mapper)
    found = engine(home, mapper_seconds=0.5, interrupt_grace_s=LIMIT_S).search(FC, TARGET)
    assert found.status == "ok"
    assert not found.optimal
    assert "interrupted" in found.proof


def test_model_refusal_is_a_mapping_error(tmp_path: Path) -> None:
    one = engine(install(tmp_path, model=replay("model_capacity", 1)))
    with pytest.raises(MappingError, match="PEAccuBuffer cannot be mapped: mapped tile size 512 exceeds"):
        one.evaluate(FC, TARGET, NEST)


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("exit 0", "was not written"),
        ("kill -ABRT $$", "SIGABRT"),
        ("sleep 7200", "time limit"),
        ("echo 'x.cpp:7: f(): Assertion `a > b` failed.'; exit 134", "Assertion"),
    ],
)
def test_model_failures(tmp_path: Path, body: str, words: str) -> None:
    one = engine(install(tmp_path, model=body), model_seconds=1.5 if words == "time limit" else LIMIT_S)
    with pytest.raises(EngineError, match=words):
        one.evaluate(FC, TARGET, NEST)


def test_other_semantics_are_refused(tmp_path: Path) -> None:
    old = Target(TARGET.arch, TARGET.costs, TARGET.constraints, "timeloop-2023-04")
    with pytest.raises(EngineError, match="counts fills"):
        engine(install(tmp_path)).search(FC, old)


def test_probe_tells_the_semantics(tmp_path: Path) -> None:
    assert find_timeloop(install(tmp_path / "a")).semantics == "timeloop-3.0.3"
    other = install(tmp_path / "b", probe=PROBE.replace("3.0.3", "2023-04"))
    assert find_timeloop(other).semantics == "timeloop-2023-04"
    assert find_timeloop(other).release == "3.0.x"
    main = find_timeloop(install(tmp_path / "d", probe=PROBE.replace("3.0.3", "2024")))
    assert (main.semantics, main.release) == ("timeloop-2024", "of 2024")
    later = find_timeloop(install(tmp_path / "c", probe=PROBE.replace("3.0.3", "later")))
    assert (later.semantics, later.release) == ("timeloop-4", "4")


def test_timeloop_4_counts_products_as_3_0_3_but_no_windows(tmp_path: Path) -> None:
    later = engine(install(tmp_path, probe=PROBE.replace("3.0.3", "later")))
    later.check("timeloop-4")
    later.check("timeloop-3.0.3", FC)
    later.check("timeloop-3.0.3", Layer.of("conv", 2, 2, P=4, Q=4).problem())
    for windows in (Layer.of("conv", 2, 2, R=3, P=4), Layer.of("conv", 2, 2, P=4, w_stride=2)):
        with pytest.raises(EngineError, match="set semantics to timeloop-4"):
            later.check("timeloop-3.0.3", windows.problem())
    with pytest.raises(EngineError, match="by other rules"):
        later.check("timeloop-2023-04")
    with pytest.raises(EngineError, match="by other rules"):
        engine(install(tmp_path / "3")).check("timeloop-4")
    # Between the two windows were as in 3.0.3.
    main = engine(install(tmp_path / "2024", probe=PROBE.replace("3.0.3", "2024")))
    windows = Layer.of("conv", 2, 2, R=3, P=4).problem()
    main.check("timeloop-2024", windows)
    main.check("timeloop-3.0.3", windows)
    main.check("timeloop-4", FC)
    with pytest.raises(EngineError, match="set semantics to timeloop-2024"):
        main.check("timeloop-4", windows)


def test_programs_are_found(tmp_path: Path) -> None:
    home = install(tmp_path / "bin")
    expected = (home / "timeloop-model", home / "timeloop-mapper")
    assert locate(home) == locate(tmp_path) == locate(None, {"PATH": str(home)}) == expected
    assert locate(None, {"PATH": "", "JOULELOOP_TIMELOOP": str(tmp_path)}) == expected
    with pytest.raises(EngineError, match="timeloop-model and timeloop-mapper not found") as caught:
        locate(None, {"PATH": str(tmp_path)})
    assert len(caught.value.faults) == 1
    (home / "timeloop-mapper").unlink()
    with pytest.raises(EngineError, match="engine timeloop: timeloop-mapper not found in"):
        locate(home)


def test_description_does_not_raise(tmp_path: Path) -> None:
    assert "not found" in describe(tmp_path)["reason"]
    broken = install(tmp_path / "bin", probe="exit 1")
    assert "smallest problem" in describe(broken)["reason"]
    assert describe(install(tmp_path / "good"))["timeloop"]["release"] == "3.0.x"


def test_environment_is_fixed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIMELOOP_DISABLE_LINK_TRANSFERS", "1")
    outcome = run_program(["/bin/sh", "-c", "env; pwd"], tmp_path, ProgramWatch())
    assert outcome.ok
    shown = [line for line in outcome.lines if line.startswith("TIMELOOP_")]
    assert shown == ["TIMELOOP_HIDE_INCONSEQUENTIAL_STATS=0"]
    assert "OMP_NUM_THREADS=1" in outcome.lines
    assert outcome.lines[-1] == str(tmp_path.resolve())


def test_endless_output_is_bounded(tmp_path: Path) -> None:
    outcome = run_program(["/bin/sh", "-c", "while :; do echo line; done"], tmp_path, ProgramWatch(0.3))
    assert outcome.timed_out
    assert len(outcome.lines) <= 400


def test_exception_in_progress_is_raised(tmp_path: Path) -> None:
    def fail(_: str) -> bool:
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        run_program(["/bin/sh", "-c", "echo a; echo b"], tmp_path, ProgramWatch(on_line=fail))


def test_unstartable_program(tmp_path: Path) -> None:
    outcome = run_program([str(tmp_path / "absent")], tmp_path, ProgramWatch())
    assert outcome.return_code is None
    assert "could not be started" in str(outcome.failure("absent"))


@pytest.mark.parametrize(
    ("options", "field"),
    [({"algorithm": "greedy"}, "algorithm"), ({"threads": 0}, "threads"), ({"victory_condition": -1}, "victory")],
)
def test_options_are_checked(options: dict[str, int | str], field: str) -> None:
    with pytest.raises(InputError, match=field):
        TimeloopOptions(**options)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"objective": ("speed",)}, "unknown objective"),
        ({"objective": ()}, "no objective"),
        ({"seed": 3}, "cannot be seeded"),
        ({"budget": 0}, "positive"),
    ],
)
def test_search_arguments_are_checked(tmp_path: Path, arguments: dict[str, object], words: str) -> None:
    with pytest.raises(InputError, match=words):
        engine(install(tmp_path)).search(FC, TARGET, SearchOptions(**arguments))  # type: ignore[arg-type]


def test_progress_of_both_releases() -> None:
    seen: list[MapperProgress] = []
    log = MapperLog(seen.append)
    for line in (
        "[  0] Utilization = 0.06 | pJ/Compute =   86.892 | L5[WIO] Q1 - L0[W] Q1 ",
        "[  0] Utilization = 0.12 | pJ/Compute =   86.707 | L5[WIO] C2 - L0[W] Q1  | Cycles = 32",
        "[ 11] Utilization = 12% | pJ/Algorithmic-Compute =   8.5 | pJ/Compute = 8.4 | Cycles = 3 | L1[WIO] C2",
    ):
        assert log.take(line)
    assert [(p.best_pj_per_compute, p.best) for p in seen] == [
        (86.892, "L5[WIO] Q1 - L0[W] Q1"),
        (86.707, "L5[WIO] C2 - L0[W] Q1"),
        (8.5, "L1[WIO] C2"),
    ]
    assert str(seen[0]) == "0 mappings tried, 0 valid, best 86.892 pJ per operation"
