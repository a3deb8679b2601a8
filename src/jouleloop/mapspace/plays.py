"""Constraints written for one problem shape, read for another: which dimension plays which, and which tensor.

The rule of `play`. A dimension is bound as the dimensions that it plays: it may loop where any of them may, by the
product of their factors where all are fixed, and stands where the innermost of those that may loop stands. What a
dimension plays that stands in no list of the file, and a dimension that plays none, is open everywhere. Dimensions that
nobody plays have a bound of 1 and are dropped; so the first positions of a spatial permutation lie along X as before.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from jouleloop.errors import Fault, raise_all, unknown
from jouleloop.mapping.reuse import Reuse
from jouleloop.mapspace.constraints import Constraints, LevelConstraints, LoopConstraint
from jouleloop.workload.problem import ProblemShape


@dataclass(frozen=True)
class Roles:
    """What the parts of a shape play in the shape that constraints are written for."""

    dimensions: dict[str, tuple[str, ...]]
    """The dimensions that each dimension plays, at least one."""
    data_spaces: dict[str, str]
    """The data space whose place each data space takes."""


def read_roles(entry: Any, where: str, shape: ProblemShape, written_for: ProblemShape, faults: list[Fault]) -> Roles:
    """Return the roles that an entry of ``shapes`` in a constraints file states, faults added to ``faults``.

    Every data space needs a place. Dimensions of the file that ``shape`` lacks may be named: they are passed over, so
    that one entry serves a shape with and without heads.
    """
    keys = ("dimensions", "data_spaces")
    if not isinstance(entry, Mapping):
        faults.append(Fault("must be keys with values", None, where, entry, ", ".join(keys)))
        return Roles({}, {})
    faults += [unknown(str(key), keys, "key", field=where) for key in entry if key not in keys]
    found: dict[str, dict[str, tuple[str, ...]]] = {}
    for key, known in ((keys[0], written_for.dimensions), (keys[1], tuple(s.name for s in written_for.data_spaces))):
        given = entry.get(key) or {}
        if not isinstance(given, Mapping):
            faults.append(Fault("must be keys with values", None, f"{where}.{key}", given))
            given = {}
        found[key] = {str(name): tuple(plays) if isinstance(plays, list) else (plays,) for name, plays in given.items()}
        faults += [
            unknown(str(part), known, key.replace("_", " ")[:-1], field=f"{where}.{key}.{name}")
            for name, plays in found[key].items()
            for part in plays
            if part not in known
        ]
    spaces = {name: plays[0] for name, plays in found[keys[1]].items() if plays}
    for space in shape.data_spaces:
        if space.name not in spaces:
            allowed = ", ".join(s.name for s in written_for.data_spaces)
            faults.append(Fault("says of a data space not whose place it takes", None, where, space.name, allowed))
    dimensions = {d: plays for d, plays in found[keys[0]].items() if d in shape.dimensions and plays}
    return Roles(dimensions, {space.name: spaces.get(space.name, "") for space in shape.data_spaces})


def play(constraints: Constraints, roles: Roles, shape: ProblemShape, written_for: ProblemShape) -> Constraints:
    """Return constraints that are written for one shape as those of ``shape``, by the rule of this module."""
    levels = {}
    raise_all(
        [
            Fault(
                "maximize_dims and expressions are read for the shape they are written for alone",
                constraints.name,
                name,
            )
            for name, given in constraints.levels.items()
            if any(loops.maximize or loops.stated for loops in (given.temporal, given.spatial))
        ]
    )
    for name, given in constraints.levels.items():
        levels[name] = LevelConstraints(
            _loops(given.temporal, roles, written_for.dimensions),
            _loops(given.spatial, roles, written_for.dimensions),
            frozenset(space for space, place in roles.data_spaces.items() if place in given.keep),
            frozenset(space for space, place in roles.data_spaces.items() if place in given.bypass),
            Reuse(
                **{
                    rule: frozenset(space for space, place in roles.data_spaces.items() if place in names)
                    for rule, names in given.reuse.as_dict().items()
                }
            ),
        )
    return replace(constraints, name=f"{constraints.name} for {shape.name}", levels=levels)


def _loops(given: LoopConstraint, roles: Roles, dimensions: Sequence[str]) -> LoopConstraint:
    factors: dict[str, int] = {}
    most: dict[str, int] = {}
    least: dict[str, int] = {}
    place: dict[str, tuple[bool, int, int]] = {}
    named = (*given.permutation, *given.outer_permutation)
    order = [*given.permutation, *(d for d in dimensions if d not in named), *given.outer_permutation]
    for index, (name, plays) in enumerate(roles.dimensions.items()):
        fixed = [given.factors[d] for d in plays if d in given.factors]
        if len(fixed) == len(plays):
            # A factor of 0 is the whole dimension, and so is that of all that it plays.
            factors[name] = math.prod(fixed)
        else:
            limits = [given.factors.get(d, given.max_factors.get(d)) for d in plays]
            if all(limits):
                most[name] = math.prod(limit for limit in limits if limit)
            low = math.prod(given.factors.get(d) or given.min_factors.get(d, 1) for d in plays)
            if low > 1:
                least[name] = low
        looping = [d for d in plays if given.factors.get(d) != 1] or list(plays)
        standing = [d for d in looping if d in named] or looping
        first = min(standing, key=order.index)
        place[name] = (first in given.outer_permutation, order.index(first), index)
    inner = [d for d in roles.dimensions if order[place[d][1]] in given.permutation]
    outer = [d for d in roles.dimensions if place[d][0]]
    split = given.split
    if split is not None:
        split = sum(place[d][1] < split for d in roles.dimensions)
    return replace(
        given,
        factors=factors,
        max_factors=most,
        min_factors=least,
        permutation=tuple(sorted(inner, key=place.__getitem__)),
        outer_permutation=tuple(sorted(outer, key=place.__getitem__)),
        split=split,
    )
