"""What a user may want to know of an answer: what is read and not followed, what to try where there is none."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import yaml

from jouleloop.api.project import shipped_root
from jouleloop.api.results import Result
from jouleloop.arch.architecture import Architecture
from jouleloop.arch.attributes import BY_NAME, canonical_name
from jouleloop.cli.show import count_text
from jouleloop.energy.choice import DATA
from jouleloop.energy.primitives import DEFAULTS
from jouleloop.errors import nearest
from jouleloop.files import read_yaml
from jouleloop.mapping.mapping import LevelMapping
from jouleloop.mapspace.constraints import Constraints, LevelConstraints
from jouleloop.mapspace.write import to_timeloop_targets
from jouleloop.model.semantics import rules_of
from jouleloop.workload.problem import Problem

#: Likeness from which one name is taken for a slip of another: ``n_bank`` and ``n_banks`` have 0.92.
_ALIKE = 0.85
#: Component classes with their attributes, of both versions of Accelergy.
_LIBRARIES = ("components.yaml", "components-0.4.yaml")


def notes(result: Result) -> list[str]:
    """Return a sentence for everything that is read and not followed, on a layer and the hardware that it is for."""
    target = result.architecture.target(result.problem)
    # Of a shipped design the user can change nothing: Simba's `nports` is the authors' own.
    own = not result.architecture.files.arch.resolve().is_relative_to(shipped_root() / "arch")
    found = [f"{name}: {said}" for name, said in misspelt(target.arch)] if own else []
    return [*found, *dropped(target.constraints, result.problem)]


def dropped(constraints: Constraints, problem: Problem) -> Iterator[str]:
    """Yield a sentence for every factor that is larger than the layer's dimension, which Timeloop drops."""
    sizes = dict(zip(problem.shape.dimensions, problem.bounds, strict=True))
    for level, given in constraints.levels.items():
        for kind, loops in (("temporal", given.temporal), ("spatial", given.spatial)):
            for dimension, factor in loops.factors.items():
                if factor > sizes.get(dimension, factor):
                    size = f"the layer has {dimension} = {sizes[dimension]}"
                    yield f"{level}: {kind} {dimension}={factor} is dropped, as by Timeloop: {size}"


def misspelt(arch: Architecture) -> Iterator[tuple[str, str]]:
    """Yield component and sentence for every attribute that nothing reads and that is like one that is read."""
    library: set[str] | None = None
    components = {level.name: level.attributes for level in arch.levels} | {arch.compute.name: arch.compute.attributes}
    for component, attributes in components.items():
        for key in attributes:
            name = canonical_name(str(key))
            if name in _NAMES or nearest(name, _NAMES, _ALIKE) is None:
                continue
            library = _library(arch) if library is None else library
            near = nearest(name, _NAMES | library, _ALIKE)
            if name not in library and near:
                yield component, f"{key} is an attribute that nothing reads; did you mean {near!r}?"


#: Attributes that Timeloop reads, and those of primitive components.
_NAMES = {*BY_NAME, *(name for attributes in DEFAULTS.values() for name in attributes)}


def _library(arch: Architecture) -> set[str]:
    """Return the attributes of compound components: the project's, and those of the design itself."""
    found: set[str] = set()
    for file in _LIBRARIES:
        found |= set(_attributes(read_yaml(shipped_root() / DATA / file)))
    return found | set(_attributes(list(arch.components)))


def _attributes(tree: Any) -> Iterator[str]:
    """Yield the names of all attributes below, and the names that their values are given by."""
    if isinstance(tree, Mapping):
        for key, value in tree.items():
            if key == "attributes" and isinstance(value, Mapping):
                for name, given in value.items():
                    yield from (str(name), str(given))
            yield from _attributes(value)
    elif isinstance(tree, list):
        for child in tree:
            yield from _attributes(child)


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
