"""What this package says of a case: its readers on the same files, then its search, as ``jouleloop map`` does."""

import shutil
import tempfile
from pathlib import Path

from differential.case import Case
from differential.real import _SCRATCH, Outcome
from jouleloop.arch.read import read_architecture
from jouleloop.energy.choice import costs_of, sources_of
from jouleloop.engines.native import NativeEngine
from jouleloop.engines.protocol import Target
from jouleloop.errors import JouleloopError
from jouleloop.mapspace.read import read_constraints
from jouleloop.workload.timeloop_problem import read_problem


def run_search(case: Case) -> Outcome:
    """Return the optimum of the native search; ``refused`` where it says that it does not follow the case."""
    folder = Path(tempfile.mkdtemp(prefix="differential-", dir=_SCRATCH))
    try:
        case.write(folder)
        return search_folder(folder, case.objective, case.semantics)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def search_folder(folder: Path, objective: str = "energy", semantics: str = "timeloop-3.0.3") -> Outcome:
    """Return what ``jouleloop map`` finds with the files of a folder."""
    try:
        problem = read_problem(folder / "problem.yaml")
        arch = read_architecture(folder / "arch.yaml")
        costs = costs_of(arch, sources_of(folder / "ert.yaml"))
        constraints = read_constraints(folder / "constraints.yaml", arch, shape=problem.shape)
        target = Target(arch, costs, constraints, semantics)
    except JouleloopError as error:
        return Outcome("refused", reason=str(error))
    except Exception as error:
        return Outcome("failed", reason=repr(error))
    try:
        result = NativeEngine().search(problem, target, objective=(objective,))
    except JouleloopError as error:
        return Outcome("refused", reason=str(error))
    except Exception as error:
        return Outcome("failed", reason=repr(error))
    if result.evaluation is None:
        status = {"invalid": "refused", "no_mapping": "no_mapping"}.get(result.status, "failed")
        return Outcome(status, reason=result.reason)
    if not result.optimal:
        return Outcome("failed", reason="not proven")
    return Outcome("ok", result.evaluation.energy_pj, result.evaluation.cycles, mapping=result.mapping)
