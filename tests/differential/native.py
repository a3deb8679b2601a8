"""What this package says of a case: its readers on the same files, then its search, as ``jouleloop map`` does."""

import json
import shutil
import tempfile
from functools import lru_cache
from pathlib import Path

from differential.case import LATER, Case, dump
from differential.real import SCRATCH, Outcome
from jouleloop.arch.architecture import Architecture
from jouleloop.arch.read import read_architecture
from jouleloop.energy.choice import costs_of, sources_of
from jouleloop.energy.costs import EnergyCosts
from jouleloop.engines.native import NativeEngine
from jouleloop.engines.protocol import SearchOptions, Target
from jouleloop.errors import JouleloopError
from jouleloop.mapspace.constraints import Constraints
from jouleloop.mapspace.read import read_constraints
from jouleloop.workload.problem import Problem
from jouleloop.workload.timeloop_problem import read_problem

#: Designs that are kept as they were read: tests of one file draw the same ones.
MOST_READ = 2000


def load(case: Case) -> tuple[Problem, Target]:
    """Return problem and target as this package reads them from the files of a case.

    Raises
    ------
    JouleloopError
        Where it says that it does not follow the case.
    """
    documents = json.dumps({name: getattr(case, name) for name in ("arch", "problem", "constraints", "ert")})
    problem, *design = _read(documents, later=case.semantics in LATER)
    return problem, Target(*design, case.semantics)


@lru_cache(MOST_READ)
def _read(documents: str, *, later: bool) -> tuple[Problem, Architecture, EnergyCosts, Constraints]:
    """Return what is read from files of these documents; what tests share they share here."""
    folder = Path(tempfile.mkdtemp(prefix="differential-", dir=SCRATCH))
    try:
        for name, content in json.loads(documents).items():
            (folder / f"{name}.yaml").write_text(dump(content), encoding="utf-8")
        problem = read_problem(folder / "problem.yaml")
        arch = read_architecture(folder / "arch.yaml", later=later)
        costs = costs_of(arch, sources_of(folder / "ert.yaml"))
        return problem, arch, costs, read_constraints(folder / "constraints.yaml", arch, shape=problem.shape)
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
