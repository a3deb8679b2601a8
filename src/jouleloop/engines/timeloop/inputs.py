"""Writing Timeloop's input files: architecture, energy table, problem, mapping, constraints, mapper settings.

Keywords are written with hyphens: 3.0.x knows no other form of most of them, and later versions turn hyphens into
underscores as they read. The energies are always given as an energy reference table, so Accelergy is never called.
"""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import yaml

from jouleloop.arch.architecture import MESH, MULTICAST, TREE, Architecture, ComputeLevel, Network, StorageLevel
from jouleloop.energy.costs import EnergyCosts, NetworkEnergy
from jouleloop.engines.protocol import Target
from jouleloop.errors import Fault, InputError, MappingError, raise_all
from jouleloop.mapping.mapping import LevelMapping, Mapping, end_text
from jouleloop.mapping.reuse import write_reuse
from jouleloop.mapping.validate import check_mapping
from jouleloop.mapspace.constraints import Constraints
from jouleloop.mapspace.maximize import resolve_sizes
from jouleloop.mapspace.write import stated_loops
from jouleloop.model.semantics import rules_of
from jouleloop.workload.problem import Problem
from jouleloop.workload.timeloop_problem import problem_tree

_ROOT = "system"
_VERSION = 0.3

#: Attributes of a storage level: Timeloop's keyword, ours, and the value that need not be written.
_ATTRIBUTES = (
    ("entries", "capacity_words", None),
    ("word-bits", "word_bits", None),
    ("block-size", "block_words", None),
    ("cluster-size", "cluster_size", 1),
    ("meshX", "mesh_x", None),
    ("meshY", "mesh_y", None),
    ("read_bandwidth", "read_bandwidth_words", None),
    ("write_bandwidth", "write_bandwidth_words", None),
    ("shared_bandwidth", "shared_bandwidth_words", None),
    ("multiple-buffering", "multiple_buffering", 1.0),
    ("min-utilization", "min_utilization", 0.0),
)

#: Attributes of a network: Timeloop's keyword and ours.
_OF_NETWORKS = (
    ("energy-per-hop", "hop_pj"),
    ("router-energy", "router_pj"),
    ("energy-per-ingress", "ingress_pj"),
    ("adder-energy", "adder_pj"),
    ("action_name", "action"),
    ("multicast_factor_argument", "argument"),
    ("per_datatype_ERT", "by_data_space"),
)
_CLASSES = {MESH: "XY_NoC", TREE: "ReductionTree", MULTICAST: "SimpleMulticast"}


def write_evaluation(folder: Path, problem: Problem, target: Target, mapping: Mapping) -> list[str]:
    """Write all that ``timeloop-model`` needs into ``folder``; return the file names in the order to be given.

    Raises `MappingError` where the mapping is none of this problem and architecture, or has no form in Timeloop's
    mapping language.
    """
    directives = mapping_directives(problem, target.arch, mapping)
    return _write(folder, _common(problem, target) | {"mapping.yaml": _text({"mapping": directives})})


def write_search(folder: Path, problem: Problem, target: Target, mapper: dict[str, Any]) -> list[str]:
    """Write all that ``timeloop-mapper`` needs into ``folder``; return the file names in the order to be given.

    Parameters
    ----------
    mapper
        Settings under the key ``mapper``, with Timeloop's hyphenated keywords.
    """
    constraints = {"targets": constraint_targets(problem, target.arch, target.constraints)}
    more = {
        "constraints.yaml": _text({"architecture_constraints": constraints}),
        "mapper.yaml": _text({"mapper": mapper}),
    }
    return _write(folder, _common(problem, target) | more)


def architecture_tree(arch: Architecture) -> dict[str, Any]:
    """Return the architecture as Timeloop's version 0.3 tree, all levels in one node."""
    local = [_component(level, _storage_class(level), _storage_attributes(level)) for level in arch.levels]
    compute = {"datawidth": arch.compute.word_bits, "meshX": arch.compute.mesh_x, "meshY": arch.compute.mesh_y}
    local.append(_component(arch.compute, "intmac", compute))
    nodes = zip(arch.levels, local, local[1:], strict=False)
    networks = [network for node in nodes for network in _named_networks(*node)]
    return {"version": _VERSION, "subtree": [{"name": _ROOT, "local": local + networks}]}


def _network_names(outer: str, inner: str) -> tuple[str, str]:
    """Return the names of the network below a level and of the one back, as Timeloop calls its own."""
    return f"{outer} <==> {inner}", f"{outer} <==> {inner} back"


def _named_networks(level: StorageLevel, outer: dict[str, Any], inner: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the networks below a level that are no attributes of it; name them at both ends."""
    if level.back is None and level.network.kind == MESH:
        outer["attributes"] |= _network_attributes(level.network)
        return []
    names = _network_names(*(str(node["name"]).partition("[")[0] for node in (outer, inner)))
    last = len(level.networks) - 1
    units = inner["class"] == "intmac"
    outer["attributes"] |= {"network_read": names[0], "network_update": names[last]}
    inner["attributes"] |= {
        "network_operand" if units else "network_fill": names[0],
        "network_result" if units else "network_drain": names[last],
    }
    return [
        {"name": name, "class": _CLASSES[network.kind], "attributes": _network_attributes(network)}
        for name, network in zip(names, level.networks, strict=False)
    ]


def _network_attributes(network: Network) -> dict[str, Any]:
    values = {keyword: getattr(network, name) for keyword, name in _OF_NETWORKS}
    return {keyword: value for keyword, value in values.items() if value}


def energy_tables(arch: Architecture, costs: EnergyCosts, *, later: bool = False) -> dict[str, Any]:
    """Return the energies as an energy reference table of version 0.3: one read, one write, one compute action.

    ``later``: for Timeloop 4, which charges updates by an action of their own, and leakage.
    """
    tables = [
        {
            "name": f"{_ROOT}.{level.name}",
            "actions": [_action(*action) for action in energy.actions(later=later)[: None if later else 2]],
        }
        for level, energy in zip(arch.levels, costs.levels, strict=True)
    ]
    tables.append({"name": f"{_ROOT}.{arch.compute.name}", "actions": [_action("compute", costs.compute_pj)]})
    charged = {table.name: table for table in costs.networks}
    inner = [*arch.level_names[1:], arch.compute.name]
    for level, below in zip(arch.levels, inner, strict=True):
        for name, network in zip(_network_names(level.name, below), level.networks, strict=False):
            if network.kind == MULTICAST:
                # Timeloop ends where a network of this class has no table.
                free = NetworkEnergy(network.name, ((network.action, ((0, 0.0),)),))
                tables.append(
                    {"name": f"{_ROOT}.{name}", "actions": _charges(network, charged.get(network.name, free))}
                )
    return {"version": _VERSION, "tables": tables}


def _charges(network: Network, table: NetworkEnergy) -> list[dict[str, Any]]:
    return [
        _action(action, energy_pj) | ({"arguments": {network.argument: factor}} if factor else {})
        for action, pairs in table.actions
        for factor, energy_pj in pairs
    ]


def mapping_directives(problem: Problem, arch: Architecture, mapping: Mapping) -> list[dict[str, Any]]:
    """Return the mapping as Timeloop's directives: factors, permutations (innermost first), spatial splits, bypass.

    Timeloop orders the spatial loops of a level X first, so an X loop written outside a Y loop of the same level comes
    back inside it; that changes no count.

    Raises `MappingError` where the mapping is none of this problem and architecture, or a dimension has two such loops
    at a level.
    """
    check_mapping(mapping, problem, arch)
    faults: list[Fault] = []
    spaces = [space.name for space in problem.data_spaces]
    directives: list[dict[str, Any]] = []
    for level, fanout, ends in zip(mapping.levels, arch.fanout, mapping.residual_ends(), strict=True):
        for kind, loops in (("temporal", level.temporal), ("spatial", level.spatial)):
            over = [loop[0] for loop in loops]
            text = f"two {kind} loops over one dimension cannot be written for Timeloop"
            faults += [Fault(text, field=level.level, value=d) for d in sorted({d for d in over if over.count(d) > 1})]
        found = [_temporal(problem, level, ends[0])]
        if max(fanout) > 1:
            found.append(_spatial(problem, level, ends[1]))
        found.append({"target": level.level, "type": "bypass"} | _keep(problem, level.keep, {*spaces} - level.keep))
        directives += [directive | write_reuse(level.reuse, directive["type"], spaces) for directive in found]
    raise_all(faults, MappingError)
    return directives


def constraint_targets(problem: Problem, arch: Architecture, constraints: Constraints) -> list[dict[str, Any]]:
    """Return the constraints as Timeloop's targets; spatial ones only where there is a fan-out to constrain.

    Raises `InputError` where a constraint names a level that the architecture has not, or a dimension of more than one
    letter must be written into a permutation.
    """
    constraints = resolve_sizes(constraints, problem, arch)
    faults = [
        Fault("constraint on an unknown level", constraints.name, value=name, allowed=", ".join(arch.level_names))
        for name in constraints.levels
        if name not in arch.level_names
    ]
    faults += [
        Fault("Timeloop permutes dimensions of one letter only", problem.shape.name, value=dimension)
        for dimension in problem.shape.dimensions
        if len(dimension) > 1
    ]
    raise_all(faults, InputError)
    if constraints.factors == "imperfect":
        text = "Timeloop searches imperfect factors at random, which this engine does not ask it to"
        raise InputError(Fault(text, constraints.name, "factors", constraints.factors, "perfect"))
    if constraints.space != "timeloop":
        text = "Timeloop's mapper searches its own mapspace"
        raise InputError(Fault(text, constraints.name, "space", constraints.space, "timeloop"))
    if constraints.axes != "apart":
        text = "Timeloop writes a dimension once in the spatial loops of a level"
        raise InputError(Fault(text, constraints.name, "axes", constraints.axes, "apart"))
    targets: list[dict[str, Any]] = []
    spaces = [space.name for space in problem.data_spaces]
    for name, fanout in zip(arch.level_names, arch.fanout, strict=True):
        level = constraints.level(name)
        kinds = [("temporal", level.temporal)] + ([("spatial", level.spatial)] if max(fanout) > 1 else [])
        for kind, constraint in kinds:
            body = stated_loops(constraint, problem.shape) | write_reuse(level.reuse, kind, spaces)
            if kind == "spatial" and fanout[0] == 1 and not {"permutation", "split"} & set(body):
                # Without this Timeloop's mapper leaves most loops out of a fan-out along Y only: it keeps the canonical
                # order there but counts split points as if loops of bound 1 came first (3.0.3, mapspaces/uber.cpp).
                body["split"] = 0
            if body:
                targets.append({"target": name, "type": kind} | body)
        through = write_reuse(level.reuse, "bypass", spaces)
        if level.keep or level.bypass or through:
            targets.append({"target": name, "type": "bypass"} | _keep(problem, level.keep, level.bypass) | through)
    if constraints.min_parallelism:
        targets.append({"target": arch.level_names[-1], "type": "parallelism", "min": constraints.min_parallelism})
    return targets


def _common(problem: Problem, target: Target) -> dict[str, str]:
    return {
        "architecture.yaml": _architecture_text(target.arch),
        "energy.yaml": _energy_text(target.arch, target.costs, rules_of(target.semantics).charges_updates),
        "problem.yaml": _text({"problem": problem_tree(problem)}),
    }


# A sweep asks for the same architecture and energies thousands of times.
@lru_cache(maxsize=16)
def _architecture_text(arch: Architecture) -> str:
    return _text({"architecture": architecture_tree(arch)})


@lru_cache(maxsize=16)
def _energy_text(arch: Architecture, costs: EnergyCosts, later: bool) -> str:
    return _text({"ERT": energy_tables(arch, costs, later=later)})


def _text(document: dict[str, Any]) -> str:
    dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
    return str(yaml.dump(document, Dumper=dumper, sort_keys=False, width=120, default_flow_style=None))


def _write(folder: Path, files: dict[str, str]) -> list[str]:
    # The folder is new and private to one run: nothing reads a half-written file here.
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
    return list(files)


def _component(level: StorageLevel | ComputeLevel, klass: str, attributes: dict[str, Any]) -> dict[str, Any]:
    instances = f"[0..{level.instances - 1}]" if level.instances > 1 else ""
    return {"name": level.name + instances, "class": klass, "attributes": attributes}


def _storage_class(level: StorageLevel) -> str:
    # Timeloop wants a size of everything that is no DRAM; the class has no other effect where energies are given.
    return "DRAM" if level.capacity_words is None else "SRAM"


def _storage_attributes(level: StorageLevel) -> dict[str, Any]:
    values = {keyword: (getattr(level, name), default) for keyword, name, default in _ATTRIBUTES}
    found = {keyword: value for keyword, (value, default) in values.items() if value is not None and value != default}
    # By the class that is written, Timeloop takes a DRAM for a level that cannot add, and no other.
    if level.reduces != (_storage_class(level) != "DRAM"):
        found["reduction_supported"] = level.reduces
    if level.bandwidth_scale:
        found["per_dataspace_bandwidth_consumption_scale"] = dict(level.bandwidth_scale)
    return found


def _action(name: str, energy_pj: float) -> dict[str, Any]:
    return {"name": name, "arguments": None, "energy": energy_pj}


def _temporal(problem: Problem, level: LevelMapping, ends: Sequence[int]) -> dict[str, Any]:
    loops = {d: end_text(bound, end) for (d, bound), end in zip(level.temporal[::-1], ends[::-1], strict=True)}
    order = [*loops, *(d for d in problem.shape.dimensions if d not in loops)]
    return {"target": level.level, "type": "temporal"} | _loops(problem, loops, order)


def _spatial(problem: Problem, level: LevelMapping, ends: Sequence[int]) -> dict[str, Any]:
    loops = {d: end_text(bound, end) for (d, bound, _), end in zip(level.spatial[::-1], ends[::-1], strict=True)}
    on_x = [dimension for dimension, _, axis in reversed(level.spatial) if axis == "X"]
    on_y = [dimension for dimension, _, axis in reversed(level.spatial) if axis == "Y"]
    order = [*on_x, *on_y, *(d for d in problem.shape.dimensions if d not in loops)]
    return {"target": level.level, "type": "spatial"} | _loops(problem, loops, order) | {"split": len(on_x)}


def _loops(problem: Problem, loops: dict[str, str], order: list[str]) -> dict[str, Any]:
    factors = " ".join(f"{dimension}={loops.get(dimension, 1)}" for dimension in problem.shape.dimensions)
    return {"factors": factors, "permutation": "".join(order)}


def _keep(problem: Problem, keep: Iterable[str], bypass: Iterable[str]) -> dict[str, list[str]]:
    kept, bypassed = set(keep), set(bypass)
    order = [space.name for space in problem.data_spaces]
    return {"keep": [n for n in order if n in kept], "bypass": [n for n in order if n in bypassed]}
