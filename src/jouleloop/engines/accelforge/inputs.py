"""Translating a problem and its target into accelforge's specification, with our energies for every action.

Sizes and accesses are counted in words: every value has one bit, and a capacity of so many words is so many bits. The
constraints of a mapspace are translated as far as accelforge has a word for them; what it has none for is listed.

Source: the classes of ``accelforge.frontend`` (version 1.0), their attributes' documentation.
"""

import math
import re
from dataclasses import dataclass
from typing import Any

import yaml

from jouleloop.arch.architecture import Architecture
from jouleloop.documents.keywords import stated_in
from jouleloop.engines.protocol import Target
from jouleloop.errors import Fault, InputError, raise_all
from jouleloop.mapping.mapping import Mapping
from jouleloop.mapping.validate import check_mapping
from jouleloop.mapspace.constraints import Constraints, LoopConstraint
from jouleloop.mapspace.maximize import resolve_sizes
from jouleloop.workload.problem import DataSpace, Problem

EINSUM = "layer"
COMPUTE = "compute"


class Tagged(dict[str, Any]):
    """A mapping with accelforge's tag."""

    def __init__(self, tag: str, **values: Any) -> None:
        super().__init__(values)
        self.tag = tag


class _Dumper(yaml.SafeDumper):
    """Plain YAML with accelforge's tags."""


_Dumper.add_representer(Tagged, lambda dumper, node: dumper.represent_mapping(f"!{node.tag}", dict(node)))


def tagged_yaml(document: dict[str, Any]) -> str:
    """Return a document of plain values and `Tagged` as YAML."""
    return str(yaml.dump(document, Dumper=_Dumper, sort_keys=False, width=120))


@dataclass(frozen=True)
class Specification:
    """What accelforge reads, and the constraints that are not in it, in words."""

    text: str
    untranslated: tuple[str, ...]


def level_name(arch: Architecture, position: int) -> str:
    """Return accelforge's name of the storage level at ``position``: an identifier, and unique."""
    return f"L{position}_" + re.sub(r"\W", "_", arch.level_names[position], flags=re.ASCII)


def fanout_name(position: int) -> str:
    """Return accelforge's name of the fan-out below the storage level at ``position``."""
    return f"fanout_{position}"


def rank_variable(dimension: str) -> str:
    """Return accelforge's name of a dimension."""
    return dimension.lower()


def dimensions(problem: Problem) -> tuple[str, ...]:
    """Return the dimensions that have loops.

    Raises `InputError` where an extent of a data space depends on two dimensions (a sliding window) or is strided: the
    engine is for fully-connected layers, matrix products and unstrided convolutions with kernels of one element.
    """
    found = tuple(d for d in problem.shape.dimensions if problem.bound[d] > 1)
    for space in problem.data_spaces:
        for rank in space.projection:
            terms = [term for term in rank if term.dimension in found]
            strided = any(t.coefficient is not None and problem.coefficient[t.coefficient] != 1 for t in terms)
            if len(terms) > 1 or strided:
                names = ", ".join(term.dimension for term in terms)
                raise InputError(
                    Fault(
                        "the engine accelforge takes no sliding windows and no strides",
                        problem.name,
                        space.name,
                        names,
                        "fully-connected layers, matrix products, 1 x 1 convolutions of stride 1",
                    )
                )
    return found or problem.shape.dimensions[:1]


def specification(problem: Problem, target: Target, mapping: Mapping | None = None) -> Specification:
    """Return the specification of ``problem`` on ``target``, with ``mapping`` where one is to be evaluated.

    Raises `InputError` where the problem is none that the engine takes, or the architecture demands a minimum
    utilization; `MappingError` where the mapping is none of this problem and architecture.
    """
    loops = dimensions(problem)
    untranslated: list[str] = []
    given = Constraints("none") if mapping is not None else target.constraints
    constraints = resolve_sizes(given, problem, target.arch)
    unlike = mapping.reuse if mapping is not None else {n: g.reuse for n, g in constraints.levels.items() if g.reuse}
    text = "accelforge knows no level that does not reuse all"
    raise_all([Fault(text, field=level, value=reuse.as_dict()) for level, reuse in unlike.items()])
    document: dict[str, Any] = {
        "arch": {"nodes": _architecture(problem, target, constraints, loops, untranslated)},
        "workload": _workload(problem, loops),
    }
    if mapping is not None:
        document["mapping"] = {"nodes": _mapping(problem, target.arch, mapping, loops)}
    text = tagged_yaml(document)
    return Specification(text, tuple(untranslated))


def _workload(problem: Problem, loops: tuple[str, ...]) -> dict[str, Any]:
    accesses = [
        {"name": space.name, "projection": _ranks(space, loops)} | ({"output": True} if space.read_write else {})
        for space in problem.data_spaces
    ]
    return {
        "rank_sizes": {d.upper(): problem.bound[d] for d in loops},
        "bits_per_value": {"All": 1},
        "einsums": [{"name": EINSUM, "tensor_accesses": accesses}],
    }


def _ranks(space: DataSpace, loops: tuple[str, ...]) -> list[str]:
    return [rank_variable(term.dimension) for rank in space.projection for term in rank if term.dimension in loops]


def _architecture(
    problem: Problem, target: Target, constraints: Constraints, loops: tuple[str, ...], untranslated: list[str]
) -> list[Tagged]:
    arch, costs = target.arch, target.costs
    raise_all(
        [
            Fault("the engine accelforge has no minimum utilization", arch.name, level.name, level.min_utilization)
            for level in arch.levels
            if level.min_utilization > 0
        ]
        + [Fault("the engine accelforge has no energy of networks", arch.name, name) for name in costs.wired(arch)]
        + [Fault("the engine accelforge has no M:N networks", arch.name, name) for name in arch.spreading]
        + [Fault("the engine accelforge has no latency", arch.name, "network")] * bool(arch.latency_cycles)
    )
    limits = _tile_limits(problem, arch, constraints, loops)
    untranslated += [keyword.says for keyword, _ in stated_in(constraints)]
    spaces = [space.name for space in problem.data_spaces]
    nodes: list[Tagged] = []
    for position, (level, energy, fanout) in enumerate(zip(arch.levels, costs.levels, arch.fanout, strict=True)):
        limit = constraints.level(level.name)
        keep = set(spaces) if position == 0 else limit.keep & set(spaces)
        may_keep = set(spaces) - keep - limit.bypass
        # Storage stands outside the loops that do not concern it, so a limit on such a loop would forbid its reuse.
        concerned = {d for space in problem.data_spaces if space.name in keep | may_keep for d in space.dimensions}
        tiles = {d: most for d, most in limits[position].items() if d in concerned}
        for kind in ("temporal", "spatial"):
            stated = (keyword.name for keyword, _ in stated_in(getattr(limit, kind)))
            untranslated += [f"{level.name}: {kind} {name}" for name in stated if name != "split"]
        _note_untranslated(problem, level.name, limit.temporal, tiles, loops, untranslated)
        if keep or may_keep:
            tile = [_comparison(d, "<=", most) for d, most in tiles.items() if most < problem.bound[d]]
            holds = {"keep": _tensors(keep), "may_keep": _tensors(may_keep)}
            nodes.append(
                Tagged(
                    "Memory",
                    name=level_name(arch, position),
                    size="inf" if level.effective_words is None else level.effective_words,
                    area=0,
                    leak_power=0,
                    tensors=holds | ({"tile_shape": tile} if tile else {}),
                    values_per_action={"All": level.block_words},
                    actions=[
                        # Instances of a cluster share an access: each pays its part, as if all of them worked.
                        {"name": "read", "energy": energy.read_pj / level.cluster_size, "throughput": "inf"},
                        {"name": "write", "energy": energy.write_pj / level.cluster_size, "throughput": "inf"},
                    ],
                )
            )
        if max(fanout) > 1:
            spatial = _spatial(problem, level.name, fanout, limit.spatial, loops, untranslated)
            nodes.append(Tagged("Container", name=fanout_name(position), spatial=spatial))
    action = {"name": "compute", "energy": costs.compute_pj, "throughput": 1}
    nodes.append(Tagged("Compute", name=COMPUTE, area=0, leak_power=0, actions=[action]))
    return nodes


def _tensors(names: set[str] | frozenset[str]) -> str:
    return " | ".join(sorted(names)) or "Nothing"


def _tile_limits(
    problem: Problem, arch: Architecture, constraints: Constraints, loops: tuple[str, ...]
) -> list[dict[str, int]]:
    """Return for every level the greatest tile by dimension that the factors inside it allow, where they do.

    accelforge's loops belong to no level; what exact and greatest factors say of loops is said of the tile instead.
    """
    limits: list[dict[str, int]] = []
    inner = dict.fromkeys(loops, 1)
    for name, fanout in zip(reversed(arch.level_names), reversed(arch.fanout), strict=True):
        level = constraints.level(name)
        for dimension in list(inner):
            most = _most(problem, level.temporal, dimension)
            spread = 1 if max(fanout) == 1 else _most(problem, level.spatial, dimension) or math.prod(fanout)
            if most is None:
                del inner[dimension]
            else:
                inner[dimension] *= most * spread
        limits.append(dict(inner))
    return limits[::-1]


def _most(problem: Problem, constraint: LoopConstraint, dimension: str) -> int | None:
    if dimension in constraint.factors:
        return constraint.factors[dimension] or problem.bound[dimension]
    return constraint.max_factors.get(dimension)


def _note_untranslated(
    problem: Problem,
    level: str,
    constraint: LoopConstraint,
    limits: dict[str, int],
    loops: tuple[str, ...],
    untranslated: list[str],
) -> None:
    exact = {**constraint.factors, **constraint.max_factors, **constraint.min_factors}
    for dimension in (d for d in loops if d in exact):
        implied = dimension in limits and dimension not in constraint.min_factors
        value = constraint.factors.get(dimension)
        if not implied or value not in (1, None):
            untranslated.append(f"{level}: temporal factor of {dimension}")
    looped = [d for d in loops if _most(problem, constraint, d) != 1]
    if len(looped) > 1 and (constraint.permutation or constraint.outer_permutation):
        untranslated.append(f"{level}: temporal permutation")


def _spatial(
    problem: Problem,
    level: str,
    fanout: tuple[int, int],
    constraint: LoopConstraint,
    loops: tuple[str, ...],
    untranslated: list[str],
) -> list[dict[str, Any]]:
    order = [*constraint.permutation, *(d for d in problem.shape.dimensions if d not in constraint.permutation)]
    axes: list[dict[str, Any]] = []
    open_axes = {axis for axis, size in zip("XY", fanout, strict=True) if size > 1}
    for axis, size in zip("XY", fanout, strict=True):
        if size == 1:
            continue
        bounds: list[dict[str, Any]] = []
        for dimension in loops:
            on_axis = "X" if constraint.split is not None and order.index(dimension) < constraint.split else "Y"
            if constraint.split is not None and on_axis != axis:
                bounds.append(_comparison(dimension, "==", 1))
                continue
            alone = constraint.split is not None or len(open_axes) == 1
            exact = _most(problem, constraint, dimension) if dimension in constraint.factors else None
            if exact is not None:
                bounds.append(_comparison(dimension, "==" if alone or exact == 1 else "<=", exact))
                if not alone and exact > 1:
                    untranslated.append(f"{level}: spatial factor of {dimension} over two axes")
            elif dimension in constraint.max_factors:
                bounds.append(_comparison(dimension, "<=", constraint.max_factors[dimension]))
            if dimension in constraint.min_factors:
                if alone:
                    bounds.append(_comparison(dimension, ">=", constraint.min_factors[dimension]))
                else:
                    untranslated.append(f"{level}: spatial minimum of {dimension} over two axes")
        axes.append({"name": axis, "fanout": size} | ({"loop_bounds": bounds} if bounds else {}))
    return axes


def _comparison(dimension: str, operator: str, value: int) -> dict[str, Any]:
    return {"expression": rank_variable(dimension), "operator": operator, "value": value}


def _mapping(problem: Problem, arch: Architecture, mapping: Mapping, loops: tuple[str, ...]) -> list[Tagged]:
    check_mapping(mapping, problem, arch)
    loop_nodes: list[tuple[str, Tagged]] = []
    starts: list[int] = []
    tile = dict(problem.bound)
    for position, level in enumerate(mapping.levels):
        starts.append(len(loop_nodes))
        # The order of temporal and spatial loops of a level changes no count; this one lets the next level's tiles move
        # outward past the temporal loops.
        for dimension, bound, axis in [*level.spatial, *((d, b, "") for d, b in level.temporal)]:
            tile[dimension] //= bound
            values = {"rank_variable": rank_variable(dimension), "tile_shape": tile[dimension]}
            if axis:
                values |= {"name": axis, "component": fanout_name(position)}
            loop_nodes.append((dimension, Tagged("Spatial" if axis else "Temporal", **values)))
    if not loop_nodes:
        loop_nodes.append((loops[0], Tagged("Temporal", rank_variable=rank_variable(loops[0]), tile_shape=1)))
    stored = _places(problem, mapping, loop_nodes, starts)
    nodes: list[Tagged] = []
    for index in range(len(loop_nodes) + 1):
        for position, space in sorted(key for key, place in stored.items() if place == index):
            nodes.append(Tagged("Storage", tensors=[space], component=level_name(arch, position)))
        if index < len(loop_nodes):
            nodes.append(loop_nodes[index][1])
    nodes.append(Tagged("Compute", einsum=EINSUM, component=COMPUTE))
    return nodes


def _places(
    problem: Problem, mapping: Mapping, loops: list[tuple[str, Tagged]], starts: list[int]
) -> dict[tuple[int, str], int]:
    """Return how many loops stand outside each stored tile, by level position and data space.

    In Timeloop a tile stays where it is while loops outside it do not concern it. In accelforge it stays only for loops
    that stand inside its storage, so the storage moves outward past those loops. It cannot move past the spatial loops
    of the level outside: where a loop that does not concern it stands beyond them, accelforge fetches the tile again.
    """
    places: dict[tuple[int, str], int] = {}
    for space in problem.data_spaces:
        outer = 0
        for position, level in enumerate(mapping.levels):
            if space.name not in level.keep:
                continue
            place = starts[position]
            while (
                place > outer and loops[place - 1][1].tag == "Temporal" and loops[place - 1][0] not in space.dimensions
            ):
                place -= 1
            places[position, space.name] = outer = place
    return places
