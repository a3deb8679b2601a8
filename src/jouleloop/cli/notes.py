"""What a design or layer says that is not followed: constraints that are dropped, attributes that nothing reads."""

from collections.abc import Iterator, Mapping
from typing import Any

from jouleloop.api.project import shipped_root
from jouleloop.api.results import Result
from jouleloop.arch.architecture import Architecture
from jouleloop.arch.attributes import BY_NAME, canonical_name
from jouleloop.energy.choice import DATA
from jouleloop.energy.primitives import DEFAULTS
from jouleloop.errors import nearest
from jouleloop.files import read_yaml
from jouleloop.mapspace.constraints import Constraints
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
