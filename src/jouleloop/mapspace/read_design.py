"""Reading a whole Timeloop input at once: architecture, problem, constraints and mapper from one file or several."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from jouleloop.arch.architecture import Architecture
from jouleloop.arch.read import CONSTRAINT_SECTIONS, OTHER_SECTIONS, architecture_from, is_section
from jouleloop.arch.resolve import resolve_design
from jouleloop.documents.join import combined, is_front_end, joined_names
from jouleloop.documents.load import load_document
from jouleloop.errors import Fault, InputError, JouleloopError, raise_all, unknown
from jouleloop.mapspace.constraints import Constraints
from jouleloop.mapspace.read import SETS, SHAPES, constraints_for
from jouleloop.mapspace.sections import section_targets
from jouleloop.workload.layer import CONV
from jouleloop.workload.problem import Problem
from jouleloop.workload.timeloop_problem import problem_from


@dataclass(frozen=True)
class DescribedDesign:
    """What a Timeloop input describes; ``mapper`` holds the settings with underscores in their names."""

    arch: Architecture
    problem: Problem | None
    constraints: Constraints
    mapper: dict[str, Any]


def read_design(
    paths: Sequence[Path],
    *,
    variables: dict[str, Any] | None = None,
    which: str = "full",
    spatial_levels: bool | None = None,
    later: bool = False,
) -> DescribedDesign:
    """Return what a set of Timeloop input files describes together, such as one jinja2 top file.

    Raises `InputError` where a file cannot be read, two files state a section that is not joined, or one is refused.

    Parameters
    ----------
    paths
        Files whose top-level sections are taken together, as the front end does.
    variables
        Values of template variables, such as ``{"architecture": "eyeriss_like"}``.
    which
        ``full`` or ``arch-only``: whether ``mapspace_constraints`` count.
    spatial_levels, later
        See `jouleloop.arch.read.read_architecture`.
    """
    if which not in SETS:
        raise InputError(unknown(which, SETS, "set of constraints"))
    faults: list[Fault] = []
    sections = _sections(paths, variables, faults)
    raise_all(faults)
    source = sections["architecture"][1] if "architecture" in sections else (paths[0] if paths else Path())
    try:
        everything = resolve_design({key: value for key, (value, _) in sections.items()}, variables)
    except JouleloopError as error:
        raise error.at(source) from error
    rules = {SHAPES: everything.pop(SHAPES, None)}
    try:
        name = source.stem.removesuffix(".yaml")
        arch = architecture_from(everything, name=name, spatial_levels=spatial_levels, later=later)
    except JouleloopError as error:
        raise error.at(source) from error
    problem = None
    if "problem" in sections:
        path = sections["problem"][1]
        try:
            problem = problem_from({"problem": everything["problem"]}, name=path.stem)
        except JouleloopError as error:
            raise error.at(path) from error
    targets = [*arch.constraints, *section_targets(everything, which, faults)]
    raise_all(faults)
    shape = problem.shape if problem else CONV
    mapper = everything.get("mapper")
    settings = {str(k).replace("-", "_"): v for k, v in mapper.items()} if isinstance(mapper, Mapping) else {}
    settings.pop("version", None)
    constraints = constraints_for(targets, everything | rules, arch, shape, name=f"{arch.name}/{which}")
    return DescribedDesign(arch, problem, constraints, settings)


def _sections(
    paths: Sequence[Path], variables: dict[str, Any] | None, faults: list[Fault]
) -> dict[str, tuple[Any, Path]]:
    """Return the sections of all files, each with the file that it begins in; the front end joins those of one name."""
    documents = [(path, load_document(path, variables)) for path in paths]
    joins = any(is_front_end(data) for _, data in documents)
    found: dict[str, tuple[Any, Path]] = {}
    for path, data in documents:
        if not isinstance(data, Mapping):
            faults.append(Fault("is no Timeloop input", str(path), allowed="a mapping of sections"))
            continue
        for key, value in (joined_names(data, CONSTRAINT_SECTIONS) if joins else data).items():
            if key in found and joins:
                try:
                    found[key] = combined(found[key][0], value, str(key)), found[key][1]
                except InputError as error:
                    text = f"{error.faults[0].message}; the other stands in {found[key][1]}"
                    faults.append(replace(error.faults[0], message=text, source=str(path)))
                continue
            if key in found:
                faults.append(Fault(f"stands in {found[key][1]} too", str(path), str(key)))
            elif key != SHAPES and not is_section(str(key)):
                known = ("architecture", SHAPES, *OTHER_SECTIONS)
                faults.append(unknown(str(key), known, "section", source=str(path)))
            found[key] = (value, path)
    return found
