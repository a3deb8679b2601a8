"""Complete Timeloop inputs: architecture, energies, problem, constraints and mapper of one layer in one file."""

from pathlib import Path
from typing import Any

import yaml

from jouleloop.energy.ert import to_ert
from jouleloop.engines.timeloop.inputs import architecture_tree, constraint_targets
from jouleloop.engines.timeloop.options import NEVER
from jouleloop.files import write_text
from jouleloop.mapspace.read import read_mapper
from jouleloop.model.semantics import rules_of
from jouleloop.names import safe_name
from jouleloop.study.targets import TargetSet
from jouleloop.workload.problem import Problem
from jouleloop.workload.sweep import Sweep
from jouleloop.workload.timeloop_problem import problem_tree

#: Settings that Timeloop 3.0.3 knows with underscores alone.
_UNDERSCORED = ("out_prefix", "auto_bypass_on_failure")
#: An exhaustive search, where the constraints' file has no settings.
_MAPPER = {
    "algorithm": "linear-pruned",
    "optimization-metrics": ["energy"],
    "num-threads": 1,
    "timeout": NEVER,
    "victory-condition": 0,
    "live-status": False,
}


def timeloop_input(targets: TargetSet, problem: Problem) -> str:
    """Return the text of a self-contained Timeloop input for ``problem``, which ``timeloop-mapper`` runs as it is.

    It is of version 0.3, which Timeloop 3.0.3 and 4 both read without the front end, in the words that both know, and
    holds an energy reference table, so that no estimator is called.

    Raises `InputError` where Timeloop has no words for the constraints.
    """
    target = targets.for_shape(problem.shape)
    parts = _hardware(targets) | {
        "problem": problem_tree(problem),
        "architecture_constraints": {"targets": constraint_targets(problem, target.arch, target.constraints)},
        "mapper": _mapper(targets),
    }
    which, table = targets.files.which, targets.costs.table
    return _text(f"{problem.name} on {targets.name}: set of constraints {which}, energies {table}", parts)


def architecture_input(targets: TargetSet) -> str:
    """Return the text of an architecture and its energies as Timeloop reads them, without layer and constraints."""
    return _text(f"{targets.name}, energies {targets.costs.table}", _hardware(targets))


def _hardware(targets: TargetSet) -> dict[str, Any]:
    energies = to_ert(targets.arch, targets.costs, later=rules_of(targets.semantics).charges_updates)
    return {"architecture": architecture_tree(targets.arch), **energies}


def _text(head: str, parts: dict[str, Any]) -> str:
    return f"# {head}.\n" + yaml.safe_dump(parts, sort_keys=False, width=120, default_flow_style=None)


def _mapper(targets: TargetSet) -> dict[str, Any]:
    """Return the settings that stand beside the constraints in Timeloop's words, or those of an exhaustive search."""
    given = read_mapper(targets.files.constraints) if targets.files.constraints else {}
    words = {key if key in _UNDERSCORED else key.replace("_", "-"): value for key, value in given.items()}
    if words.get("timeout") == 0:
        words["timeout"] = NEVER  # 0 is "never" for 3.0.3 alone
    return words or _MAPPER


def write_specs(targets: TargetSet, sweep: Sweep, folder: Path) -> list[Path]:
    """Write ``<layer>.yaml`` for every layer of ``sweep`` into ``folder``; return the paths."""
    paths = []
    for point in sweep.points:
        path = folder / f"{safe_name(point.layer.label)}.yaml"
        write_text(path, timeloop_input(targets, point.layer.problem()))
        paths.append(path)
    return paths
