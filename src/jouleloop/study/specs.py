"""Complete Timeloop inputs: architecture, problem, constraints and mapper of one layer in one file."""

from pathlib import Path

import yaml

from jouleloop.arch.write import write_architecture_v04
from jouleloop.files import write_text
from jouleloop.mapspace.read import read_mapper
from jouleloop.mapspace.write import to_timeloop_targets
from jouleloop.names import safe_name
from jouleloop.study.targets import TargetSet
from jouleloop.workload.problem import Problem
from jouleloop.workload.sweep import Sweep
from jouleloop.workload.timeloop_problem import to_timeloop_problem


def timeloop_input(targets: TargetSet, problem: Problem) -> str:
    """Return the text of a self-contained Timeloop v0.4 input for ``problem``."""
    target = targets.for_shape(problem.shape)
    parts = {
        **to_timeloop_problem(problem, version="0.4"),
        "constraints": {"version": 0.4, "targets": to_timeloop_targets(target.constraints, shape=problem.shape)},
    }
    mapper = read_mapper(targets.files.constraints) if targets.files.constraints else {}
    if mapper:
        parts["mapper"] = {"version": 0.4, **mapper}
    which, table = targets.files.which, targets.costs.table
    head = f"# {problem.name} on {targets.name}: set of constraints {which}, energies {table}.\n"
    rest = yaml.safe_dump(parts, sort_keys=False, width=120, default_flow_style=None)
    return head + write_architecture_v04(target.arch) + "\n" + rest


def write_specs(targets: TargetSet, sweep: Sweep, folder: Path) -> list[Path]:
    """Write ``<layer>.yaml`` for every layer of ``sweep`` into ``folder``; return the paths."""
    paths = []
    for point in sweep.points:
        path = folder / f"{safe_name(point.layer.label)}.yaml"
        write_text(path, timeloop_input(targets, point.layer.problem()))
        paths.append(path)
    return paths
