"""Finding Timeloop: the two executables, what front end and estimator stand beside them, and how they count.

Neither 3.0.x nor later versions can say what they are. What matters is told by running ``timeloop-model`` once, on a
convolution of four operations: whether the first fills of outputs are counted (they were until May 2023, Timeloop
commit 59fdc83), whether leakage is part of the total (since September 2023), and whether what overlaps from one window
to the next is moved once or twice (since January 2025: once).
"""

import importlib.util
import os
import shutil
import tempfile
from collections.abc import Mapping as EnvironmentMapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from jouleloop.arch.architecture import Architecture, ComputeLevel, StorageLevel
from jouleloop.energy.costs import EnergyCosts, LevelEnergy
from jouleloop.engines.protocol import Target
from jouleloop.engines.timeloop.inputs import write_evaluation
from jouleloop.engines.timeloop.options import HOME_VARIABLE
from jouleloop.engines.timeloop.outputs import read_evaluation
from jouleloop.engines.timeloop.process import ProgramWatch
from jouleloop.engines.timeloop.runners import Runner, run_executable
from jouleloop.errors import EngineError, Fault, JouleloopError
from jouleloop.mapping.mapping import LevelMapping, Mapping
from jouleloop.mapspace.constraints import Constraints
from jouleloop.workload.layer import Layer

PROGRAMS = ("timeloop-model", "timeloop-mapper")
_HOW = (
    f"timeloop-model and timeloop-mapper on PATH, or their folder in {HOME_VARIABLE}; "
    "see docs/engines-timeloop.md for the ways to install them"
)
_PROBE_SECONDS = 30.0
#: Semantics and release by what the probe shows: fills of outputs and of inputs, and leakage [pJ].
_ANSWERS: dict[tuple[float, float, float], tuple[str, str]] = {
    (0, 4, 0): ("timeloop-3.0.3", "3.0.x"),
    (2, 4, 0): ("timeloop-2023-04", "3.0.x"),
    (0, 4, 2): ("timeloop-2024", "of 2024"),
    (0, 3, 2): ("timeloop-4", "4"),
}


@dataclass(frozen=True)
class TimeloopPrograms:
    """An installed Timeloop that answered the probe."""

    model: Path
    mapper: Path
    """The executables."""
    semantics: str
    """Which of `SEMANTICS` its counts follow."""
    release: str
    """``3.0.x``, ``of 2024`` or ``4``, by its counts."""
    where: str = ""
    """For runs made elsewhere: with what; the other fields are then not known beforehand."""

    @property
    def label(self) -> str:
        """How results name this Timeloop."""
        if self.where:
            return f"Timeloop in {self.where}"
        return f"Timeloop {self.release} (counts as {self.semantics})"

    def as_dict(self) -> dict[str, str]:
        """Return plain data."""
        return {key: str(value) for key, value in asdict(self).items()}


def locate(home: Path | None = None, environment: EnvironmentMapping[str, str] | None = None) -> tuple[Path, Path]:
    """Return the paths of ``timeloop-model`` and ``timeloop-mapper`` without running them.

    Raises `EngineError` where one of them is missing or cannot be executed.

    Parameters
    ----------
    home
        Folder to look in (or its ``bin``, ``build``) instead of the environment.
    environment
        Instead of the process environment.
    """
    environment = os.environ if environment is None else environment
    given = str(home) if home is not None else environment.get(HOME_VARIABLE, "")
    if given:
        folders = [Path(given), Path(given) / "bin", Path(given) / "build"]
        search = os.pathsep.join(str(folder) for folder in folders)
    else:
        search = environment.get("PATH", os.defpath)
    found = {name: shutil.which(name, path=search) for name in PROGRAMS}
    missing = [name for name, path in found.items() if path is None]
    if missing:
        where = f"not found in {given}" if given else "not found"
        raise EngineError(Fault(f"{' and '.join(missing)} {where}", "engine timeloop", allowed=_HOW))
    model, mapper = (Path(found[name] or "").resolve() for name in PROGRAMS)
    return model, mapper


def find_timeloop(
    home: Path | None = None, environment: EnvironmentMapping[str, str] | None = None
) -> TimeloopPrograms:
    """Return the installed Timeloop after running it once.

    Raises `EngineError` where it is missing, crashes, hangs, or counts in no way that is known.
    """
    return ask_timeloop(*locate(home, environment))


def ask_timeloop(model: Path, mapper: Path, runner: Runner = run_executable) -> TimeloopPrograms:
    """Return how the program ``model`` counts, by running it once; raise `EngineError` where it does not work."""
    target, layer, mapping = _probe()
    with tempfile.TemporaryDirectory(prefix="jouleloop-timeloop-") as name:
        folder = Path(name)
        files = write_evaluation(folder, layer.problem(), target, mapping)
        try:
            outcome = runner(model, files, folder, ProgramWatch(_PROBE_SECONDS))
            if not outcome.ok:
                raise EngineError(outcome.failure("timeloop-model"))
            evaluation = read_evaluation(folder, "timeloop-model", layer.problem())
        except JouleloopError as error:
            raise EngineError(
                Fault(f"does not evaluate even the smallest problem: {error}", str(model), allowed=_HOW)
            ) from error
    data = evaluation.level("Buffer").data
    leakage_pj = evaluation.energy_pj - evaluation.compute_energy_pj - evaluation.data_energy_pj
    answer = (data["Outputs"].fills, data["Inputs"].fills, round(leakage_pj, 6))
    if answer not in _ANSWERS:
        allowed = f"fills of outputs, fills of inputs and leakage of {', '.join(map(str, _ANSWERS))}"
        raise EngineError(Fault("counts in no known way", str(model), value=answer, allowed=allowed))
    return TimeloopPrograms(model, mapper, *_ANSWERS[answer])


def describe(home: Path | None = None, environment: EnvironmentMapping[str, str] | None = None) -> dict[str, Any]:
    """Return what is installed as plain data, without raising: for reports on the installation."""
    report: dict[str, Any] = {
        "pytimeloop": importlib.util.find_spec("pytimeloop") is not None,
        "accelergy": shutil.which("accelergy"),
        "timeloop": None,
        "reason": "",
    }
    try:
        report["timeloop"] = find_timeloop(home, environment).as_dict()
    except EngineError as error:
        report["reason"] = str(error)
    return report


def _probe() -> tuple[Target, Layer, Mapping]:
    """Return a convolution of two outputs with two weights, one window after the other, and a nest that moves words.

    A buffer that holds one word of each tensor takes four inputs, or three where the one that both windows share stays,
    and fills its two outputs twice or not at all. It leaks half a pJ in each of four cycles, if that is counted.
    """
    arch = Architecture(
        "probe",
        (
            StorageLevel("Backing", "system.Backing", "DRAM", None, 16),
            StorageLevel("Buffer", "system.Buffer", "SRAM", 16, 16),
        ),
        ComputeLevel("mac", "system.mac", "intmac", 16),
    )
    levels = (LevelEnergy("Backing", 2.0, 2.0, "probe"), LevelEnergy("Buffer", 1.0, 1.0, "probe", leak_pj=0.5))
    costs = EnergyCosts("probe", levels, 1.0, "probe")
    target = Target(arch, costs, Constraints("none"), "timeloop-4")
    spaces = frozenset({"Weights", "Inputs", "Outputs"})
    outer = LevelMapping("Backing", (("P", 2), ("R", 2)), (), spaces)
    return target, Layer.of("conv", 1, 1, R=2, P=2), Mapping((outer, LevelMapping("Buffer", (), (), spaces)))
