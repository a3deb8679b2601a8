"""What to try where a layer has no mapping: the option that helps, by its name."""

from jouleloop.api.results import Result
from jouleloop.mapspace.space import build_mapspace


def hints(result: Result) -> list[str]:
    """Return what may help a layer without a mapping on the architecture it was to be mapped onto."""
    files = result.architecture.files
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
    return found


def narrower(result: Result) -> list[str]:
    """Return lines of constraints that would cut the space of a search that was stopped, and by how much.

    What each level keeps is fixed as in the best mapping found; each choice that is left open doubles the space.
    """
    if result.mapping is None:
        return []
    target = result.architecture.target(result.problem)
    choices = len(build_mapspace(result.problem, target.arch, target.constraints).keeps)
    if choices < 2:
        return []
    lines = [
        f"these constraints, as the best mapping has it, would cut the space to 1/{choices} (an optimum may be lost):"
    ]
    for level in result.mapping.levels[1:]:
        given = target.constraints.level(level.level)
        spaces = [space.name for space in result.problem.data_spaces]
        if set(spaces) - given.keep - given.bypass:
            keep, bypass = ([s for s in spaces if (s in level.keep) == kept] for kept in (True, False))
            lists = f"keep: [{', '.join(keep)}], bypass: [{', '.join(bypass)}]"
            lines.append(f"  - {{target: {level.level}, type: bypass, {lists}}}")
    return lines
