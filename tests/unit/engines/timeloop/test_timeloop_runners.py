"""Runs made elsewhere (requested, made by the shell script, read back) and runs through pytimeloop's front end."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from jouleloop.arch.architecture import Architecture, ComputeLevel, StorageLevel
from jouleloop.energy.costs import EnergyCosts, LevelEnergy
from jouleloop.engines.protocol import Target
from jouleloop.engines.timeloop.engine import TimeloopEngine, TimeloopOptions
from jouleloop.engines.timeloop.frontend import front_end_runner
from jouleloop.engines.timeloop.process import ProgramWatch
from jouleloop.engines.timeloop.runners import RecordedRuns, RunRequested, RunRequests
from jouleloop.errors import EngineError
from jouleloop.mapping.mapping import LevelMapping, Mapping
from jouleloop.mapspace.constraints import Constraints
from jouleloop.workload.layer import Layer
from paths import REFERENCE, ROOT
from waiting import LIMIT_S

RUNS = REFERENCE / "timeloop_runs"
SCRIPT = ROOT / "workflow/scripts/run_timeloop.sh"
SPACES = frozenset({"Weights", "Inputs", "Outputs"})
ARCH = Architecture(
    "probe",
    (StorageLevel("Backing", "s.Backing", "DRAM", None, 16), StorageLevel("Buffer", "s.Buffer", "SRAM", 16, 16)),
    ComputeLevel("mac", "s.mac", "intmac", 16),
)
ENERGIES = (LevelEnergy("Backing", 2.0, 2.0, "t"), LevelEnergy("Buffer", 1.0, 1.0, "t"))
TARGET = Target(ARCH, EnergyCosts("t", ENERGIES, 1.0, "t"), Constraints("none"))
CONV = Layer.of("conv", 1, 1, R=2, P=2).problem()
NEST = Mapping(
    (LevelMapping("Backing", (("P", 2), ("R", 2)), (), SPACES), LevelMapping("Buffer", (), (), SPACES)),
)
#: What real Timeloop 3.0.3 says of that nest; derived by hand below.
PROBE = f'cp "{RUNS}/probe_3.0.3/"timeloop-model.* .'


def program(folder: Path, name: str, body: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


def request(root: Path, *, search: bool = False, **options: float) -> None:
    """Write down what an evaluation (or a search) needs: the probe, and the run itself."""
    engine = TimeloopEngine(TimeloopOptions(**options), runner=RunRequests(root))  # type: ignore[arg-type]
    with pytest.raises(RunRequested):
        engine.request_probe()
    if search:
        with pytest.raises(RunRequested):
            engine.search(Layer.of("fc", 2, 2).problem(), TARGET)
    else:
        with pytest.raises(RunRequested):
            engine.evaluate(CONV, TARGET, NEST)


def make(root: Path, bin_folder: Path) -> None:
    """Make the requested runs as a container without Python would."""
    tools = bin_folder.parent / "tools"
    tools.mkdir(exist_ok=True)
    for name in ("sh", "awk", "sed", "env", "date", "dirname", "cat", "mv", "cp", "rm", "mkdir", "timeout", "sleep"):
        source = next(Path(f) / name for f in ("/usr/bin", "/bin") if (Path(f) / name).exists())
        if not (tools / name).exists():
            (tools / name).symlink_to(source)
    environment = {"PATH": f"{bin_folder}:{tools}", "TIMELOOP_ENABLE_TRACE": "1"}
    names = root.with_suffix(".requests")
    names.write_text("".join(f"{path.parent.name}\n" for path in root.glob("*/command")))
    subprocess.run(["/bin/sh", str(SCRIPT), str(root), str(names)], env=environment, check=True, timeout=LIMIT_S)


def recorded(root: Path, **options: float) -> TimeloopEngine:
    return TimeloopEngine(TimeloopOptions(runs=root, where="a container", **options))  # type: ignore[arg-type]


def test_an_evaluation_made_elsewhere(tmp_path: Path) -> None:
    root = tmp_path / "runs"
    request(root)
    # The probe leaks, so it is a run of its own.
    assert len(list(root.glob("*/command"))) == 2
    assert "timeout -s KILL 60 timeloop-model architecture.yaml" in next(root.glob("*/command")).read_text()
    program(tmp_path / "bin", "timeloop-model", f'test -z "$TIMELOOP_ENABLE_TRACE" || exit 3\n{PROBE}')
    make(root, tmp_path / "bin")
    engine = recorded(root)
    found = engine.evaluate(CONV, TARGET, NEST)
    # 4 inputs and 4 weights cross (2 + 1 pJ each), 2 outputs come out (2 pJ); 4 operations read 2 words of 1 pJ, update
    # the output, and read it back but for the first of each: 4 x 1 pJ + 4 x 2 + 4 + 2.
    assert found.energy_pj == 8 * 3 + 2 * 2 + 4 + 8 + 4 + 2
    assert engine.programs.label == "Timeloop in a container"


def test_runs_are_made_once(tmp_path: Path) -> None:
    root = tmp_path / "runs"
    request(root)
    program(tmp_path / "bin", "timeloop-model", f"echo x >> {tmp_path}/count\n{PROBE}")
    make(root, tmp_path / "bin")
    make(root, tmp_path / "bin")
    # The probe and the run itself.
    assert (tmp_path / "count").read_text() == "x\nx\n"


def test_a_run_that_was_not_made_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(EngineError, match="has not been run on this input"):
        recorded(tmp_path).evaluate(CONV, TARGET, NEST)


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("echo ERROR: no such thing; exit 4", "exit code 4: ERROR: no such thing"),
        ("kill -SEGV $$", "crashed with SIGSEGV"),
        ("exit 0", "exit code 0 but"),
        ("sleep 30", "time limit"),
    ],
)
def test_failures_elsewhere_are_results(tmp_path: Path, body: str, words: str) -> None:
    root = tmp_path / "runs"
    limits = {"mapper_seconds": 1.0, "interrupt_grace_s": 1.0}
    request(root, search=True, **limits)
    program(tmp_path / "bin", "timeloop-model", PROBE)
    program(tmp_path / "bin", "timeloop-mapper", body)
    make(root, tmp_path / "bin")
    result = recorded(root, **limits).search(Layer.of("fc", 2, 2).problem(), TARGET)
    assert result.status == "failed"
    assert words in result.reason


def test_the_log_is_kept_short_and_counts_survive(tmp_path: Path) -> None:
    root = tmp_path / "runs"
    request(root, search=True)
    program(tmp_path / "bin", "timeloop-model", PROBE)
    lines = "for i in $(echo 1 2 3 4 5 6 7 8 9); do echo \"[0] INVALID $i 1 0\"; echo '[  0] UPDATE 1 2 3'; done"
    program(tmp_path / "bin", "timeloop-mapper", lines + "; echo 'no valid mappings found'; exit 0")
    make(root, tmp_path / "bin")
    log = next(path for path in root.glob("*/log") if "no valid" in path.read_text())
    assert log.read_text().count("INVALID") == 1
    result = recorded(root).search(Layer.of("fc", 2, 2).problem(), TARGET)
    assert (result.status, result.pruned, result.visited) == ("no_mapping", {"invalid": 8}, 1)


FRONT_END = """
import subprocess
class Specification(dict):
    @classmethod
    def from_yaml_files(cls, *names):
        return cls(files=list(names), sparse_optimizations={})
def _call(name, spec, output_dir, return_proc):
    assert return_proc and output_dir == "."
    assert "sparse_optimizations" not in spec
    open("through", "w").write(name)
    return subprocess.Popen(name + " " + " ".join(spec["files"]), shell=True)
def call_model(spec, **options):
    return _call("timeloop-model", spec, **options)
def call_mapper(spec, **options):
    return _call("timeloop-mapper", spec, **options)
"""


@pytest.fixture
def pytimeloop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package of that name with the interface that is used; returns its version 0.3 module."""
    package = tmp_path / "site/pytimeloop/timeloopfe"
    package.mkdir(parents=True)
    for folder in (package.parent, package):
        (folder / "__init__.py").touch()
    (package / "v3.py").write_text(FRONT_END)
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    # The front end runs in a process of its own, which must find both packages.
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path / "site"), str(ROOT / "src")]))
    return package / "v3.py"


def through(tmp_path: Path, choice: str) -> TimeloopEngine:
    program(tmp_path / "bin", "timeloop-model", PROBE)
    program(tmp_path / "bin", "timeloop-mapper", "kill -SEGV $$")
    options = TimeloopOptions(home=tmp_path / "bin", front_end=choice, keep_folders=tmp_path / "kept")
    return TimeloopEngine(options)


@pytest.mark.usefixtures("pytimeloop")
def test_front_end_evaluates(tmp_path: Path) -> None:
    direct, by_front_end = through(tmp_path, "executables"), through(tmp_path, "pytimeloop")
    assert by_front_end.evaluate(CONV, TARGET, NEST) == direct.evaluate(CONV, TARGET, NEST)
    assert [path.read_text() for path in (tmp_path / "kept").glob("*/through")] == ["timeloop-model"]


@pytest.mark.usefixtures("pytimeloop")
def test_front_end_reports_crashes(tmp_path: Path) -> None:
    result = through(tmp_path, "pytimeloop").search(Layer.of("fc", 2, 2).problem(), TARGET)
    assert (result.status, "SIGSEGV" in result.reason) == ("failed", True)


def test_a_broken_front_end_is_passed_over_unless_asked_for(tmp_path: Path, pytimeloop: Path) -> None:
    pytimeloop.write_text("import no_such_module\n")
    problem = Layer.of("fc", 2, 2).problem()
    auto = through(tmp_path, "auto").search(problem, TARGET)
    assert "SIGSEGV" in auto.reason
    asked = through(tmp_path, "pytimeloop").search(problem, TARGET)
    assert "front end cannot be used" in asked.reason


def test_without_pytimeloop() -> None:
    if "pytimeloop" in sys.modules:
        pytest.skip("pytimeloop is there")
    assert front_end_runner("auto", "mapper") is None
    assert front_end_runner("executables", "mapper") is None
    with pytest.raises(EngineError, match="not importable"):
        front_end_runner("pytimeloop", "model")


def test_auto_evaluates_without_the_front_end(pytimeloop: Path) -> None:
    assert pytimeloop.is_file()
    assert front_end_runner("auto", "model") is None
    assert front_end_runner("auto", "mapper") is not None


def test_names_of_runs_depend_on_inputs_only(tmp_path: Path) -> None:
    first, second = RunRequests(tmp_path / "a"), RunRequests(tmp_path / "b")
    for requests in (first, second):
        folder = tmp_path / "in" / requests.root.name
        folder.mkdir(parents=True)
        (folder / "x.yaml").write_text("1")
        with pytest.raises(RunRequested):
            requests(Path("/any/timeloop-model"), ["x.yaml"], folder, ProgramWatch(9))
    assert [p.name for p in first.root.iterdir()] == [p.name for p in second.root.iterdir()]
    with pytest.raises(EngineError):
        RecordedRuns(tmp_path / "a")(Path("timeloop-mapper"), ["x.yaml"], tmp_path / "in/a", ProgramWatch(9))
