"""What to try where a layer has no mapping: the option that helps, by its name."""

from dataclasses import replace

import yaml

from jouleloop.api.results import Result
from jouleloop.cli.show import count_text
from jouleloop.mapping.mapping import LevelMapping
from jouleloop.mapspace.constraints import Constraints, LevelConstraints
from jouleloop.mapspace.write import to_timeloop_targets
from jouleloop.model.semantics import rules_of
from jouleloop.workload.problem import Problem


def hints(result: Result) -> list[str]:
    """Return what may help a layer without a mapping on the architecture it was to be mapped onto."""
    files, target = result.architecture.files, result.architecture.targets
    found = []
    if files.constraints is None and files.which != "none":
        found.append(
            f"{files.name} has no constraints: there is no mappings/{files.name}.yaml beside it; "
            "name a file by --constraints FILE.yaml"
        )
    elif files.which == "full":
        found.append("--constraints arch-only drops the constraints that only make the search easier")
    if "divisible" in result.reason:
        found.append("or ask for sizes that the constraints divide")
        if rules_of(target.semantics).rounds_factors:
            found.append("Timeloop 4 lets such a loop end early: --engine timeloop searches that")
    return found


#: Lines of constraints that are proposed at most.
_FEW = 5


def narrower(result: Result) -> list[str]:
    """Return the few lines of constraints that would cut the space of a search that was stopped most, and by how much.

    Each fixes what one level keeps, or what it unrolls, as in the best mapping found.
    """
    if result.mapping is None:
        return []
    from jouleloop.engines.native import mapspace_of  # noqa: PLC0415 - loads the kernels

    target = result.architecture.target(result.problem)
    given, mapping = target.constraints, result.mapping

    def size(constraints: Constraints) -> int:
        return mapspace_of(result.problem, replace(target, constraints=constraints)).size

    if mapspace_of(result.problem, target).rounded:
        # Lines that fix more factors may leave Timeloop 4 none that it forms.
        return []
    proposed = [found for level in mapping.levels for found in _fixed(level, given.level(level.level), result.problem)]
    whole = size(given)
    cuts = [(whole // max(1, size(_with(given, line))), line) for line in proposed]
    best = sorted((cut for cut in cuts if cut[0] > 1), key=lambda cut: -cut[0])[:_FEW]
    if not best:
        return []
    narrowed = given
    lines = [
        f"the space has {count_text(whole)} mappings; lines of constraints that cut it, as the best mapping has it",
        "(an optimum may be lost; a line takes the place of one with its target and type):",
    ]
    for factor, line in best:
        narrowed = _with(narrowed, line)
        (name, level), kind = line
        target_line = next(
            one
            for one in to_timeloop_targets(Constraints("", {name: level}), shape=result.problem.shape)
            if one["type"] == kind
        )
        text = yaml.safe_dump(target_line, default_flow_style=True, width=1000, sort_keys=False).strip()
        lines.append(f"  - {text}  # to 1/{count_text(factor)}")
    return [
        *lines,
        f"together to 1/{count_text(whole // max(1, size(narrowed)))}: name the file by --constraints FILE.yaml",
    ]


#: A level's constraints, by its name, and the type of the line that is proposed.
_Line = tuple[tuple[str, LevelConstraints], str]


def _fixed(level: LevelMapping, given: LevelConstraints, problem: Problem) -> list[_Line]:
    """Return the lines that fix what a level keeps, and what it unrolls, as a mapping has it."""
    spaces = {space.name for space in problem.data_spaces}
    unrolled = dict.fromkeys(problem.shape.dimensions, 1)
    for dimension, factor, _ in level.spatial:
        unrolled[dimension] *= factor
    loops = replace(given.spatial, factors=unrolled, max_factors={}, min_factors={})
    return [
        ((level.level, replace(given, keep=level.keep, bypass=frozenset(spaces - level.keep))), "bypass"),
        ((level.level, replace(given, spatial=loops)), "spatial"),
    ]


def _with(constraints: Constraints, line: _Line) -> Constraints:
    (name, level), kind = line
    before = constraints.level(name)
    changed = (
        replace(before, spatial=level.spatial)
        if kind == "spatial"
        else replace(before, keep=level.keep, bypass=level.bypass)
    )
    return replace(constraints, levels={**constraints.levels, name: changed})
