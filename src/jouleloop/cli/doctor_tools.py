"""What ``jouleloop doctor`` looks for outside the package: Timeloop, pytimeloop, Accelergy and who answers in it."""

import importlib.util
import shutil
import subprocess
import sys

from jouleloop.arch.architecture import ComputeLevel, StorageLevel
from jouleloop.energy.accelergy import AccelergyEstimator
from jouleloop.energy.estimator import Estimate, Node
from jouleloop.engines.timeloop.frontend import PACKAGE
from jouleloop.engines.timeloop.programs import TimeloopPrograms

_IMPORT_SECONDS = 30.0
_ACCELERGY_SECONDS = 60.0
_45NM = {"technology": "45nm"}
#: One component of each kind that the architectures of this project are made of.
_COMPONENTS: dict[str, Node] = {
    "SRAM": StorageLevel(
        *("buffer", "system.buffer", "SRAM", 4096, 16),
        block_words=4,
        attributes=_45NM | {"width": 64, "depth": 1024, "datawidth": 16, "n_rdwr_ports": 1, "n_banks": 1},
    ),
    "DRAM": StorageLevel(
        *("main", "system.main", "DRAM", None, 16), attributes=_45NM | {"type": "LPDDR4", "width": 64, "datawidth": 16}
    ),
    "regfile": StorageLevel(
        *("regs", "system.regs", "regfile", 16, 16), attributes=_45NM | {"width": 16, "depth": 16, "datawidth": 16}
    ),
    "intmac": ComputeLevel(
        *("mac", "system.mac", "intmac", 16),
        attributes=_45NM | {"datawidth": 16, "width": 16, "num_pipeline_stages": 1},
    ),
}


def timeloop_detail(programs: TimeloopPrograms) -> str:
    """Return which Timeloop was found, and where."""
    where = programs.model.parent
    both = "" if programs.mapper.parent == where else f" and {programs.mapper.parent}"
    return f"{programs.label}, in {where}{both}"


def front_end_state() -> tuple[str, str]:
    """Return whether pytimeloop's front end is ``ok``, ``missing`` or ``broken``, and a detail."""
    use = "front end of Timeloop"
    spec = importlib.util.find_spec(PACKAGE)
    if spec is None:
        return "missing", f"{use}; the programs are called directly without it"
    code = f"import {PACKAGE}.timeloopfe.v3"
    try:
        finished = subprocess.run(  # noqa: S603 - this Python, a fixed text
            [sys.executable, "-c", code], capture_output=True, text=True, timeout=_IMPORT_SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        return "broken", f"{use}: its import takes more than {_IMPORT_SECONDS:.0f} s"
    if finished.returncode != 0:
        said = (finished.stderr.strip().splitlines() or ["no message"])[-1]
        return "broken", f"{use}: cannot be imported ({said}); the programs are called directly"
    return "ok", f"{use}: {spec.origin}"


def accelergy_state(executable: str = "accelergy") -> tuple[str, str]:
    """Return whether Accelergy is ``ok``, ``missing`` or ``broken``, with its version and who answers for what."""
    path = shutil.which(executable)
    if path is None:
        return "missing", "energy estimation; tables and interpolated estimates need none"
    estimator = AccelergyEstimator(executable=executable, timeout_s=_ACCELERGY_SECONDS)
    version = estimator.version()
    if version is None:
        return "broken", f"{path} does not answer as Accelergy 0.3 or 0.4 does"
    answers = []
    for kind, node in _COMPONENTS.items():
        answer = estimator.estimate(node)
        if isinstance(answer, Estimate):
            answers.append(f"{kind} by {answer.source.rpartition(' by ')[2]}")
        else:
            answers.append(f"{kind}: none ({answer.reason.splitlines()[0][:120]})")
    return "ok", f"{version}, {path}; " + "; ".join(answers)
