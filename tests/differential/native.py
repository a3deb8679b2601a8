"""What this package says of a case: its readers on the same files, then its search, as ``jouleloop map`` does."""

import shutil
import tempfile
from pathlib import Path

from differential.case import LATER, Case, dump
from differential.real import SCRATCH, Outcome
from jouleloop.arch.read import read_architecture
from jouleloop.energy.choice import costs_of, sources_of
from jouleloop.engines.native import NativeEngine
from jouleloop.engines.protocol import SearchOptions, Target
from jouleloop.errors import JouleloopError
from jouleloop.mapspace.read import read_constraints
from jouleloop.workload.problem import Problem
from jouleloop.workload.timeloop_problem import read_problem


def load(case: Case) -> tuple[Problem, Target]:
    """Return problem and target as this package reads them from the files of a case.

    Raises
    ------
    JouleloopError
        Where it says that it does not follow the case.
    """
    folder = Path(tempfile.mkdtemp(prefix="differential-", dir=SCRATCH))
    try:
        for name in ("arch", "problem", "constraints", "ert"):
            (folder / f"{name}.yaml").write_text(dump(getattr(case, name)), encoding="utf-8")
        problem = read_problem(folder / "problem.yaml")
        arch = read_architecture(folder / "arch.yaml", later=case.semantics in LATER)
        costs = costs_of(arch, sources_of(folder / "ert.yaml"))
        constraints = read_constraints(folder / "constraints.yaml", arch, shape=problem.shape)
        return problem, Target(arch, costs, constraints, case.semantics)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def run_search(case: Case) -> Outcome:
    """Return the optimum of the native search; ``refused`` where it says that it does not follow the case."""
    try:
        problem, target = load(case)
        result = NativeEngine().search(problem, target, SearchOptions((case.objective,)))
    except JouleloopError as error:
        return Outcome("refused", reason=str(error))
    except Exception as error:
        # A crash is a finding.
        return Outcome("failed", reason=repr(error))
    if result.evaluation is None:
        status = {"invalid": "refused", "no_mapping": "no_mapping"}.get(result.status, "failed")
        return Outcome(status, reason=result.reason)
    if not result.optimal:
        return Outcome("failed", reason="not proven")
    return Outcome("ok", result.evaluation.energy_pj, result.evaluation.cycles, mapping=result.mapping)
