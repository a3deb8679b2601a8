"""An accelerator as a Timeloop architecture: v0.3 for the programs themselves, v0.4 for the front end."""

from collections.abc import Mapping
from typing import Any

import yaml

from jouleloop.arch.architecture import Architecture, Attribute, ComputeLevel, StorageLevel
from jouleloop.arch.parameters import UNLIMITED_DEPTH, kind_of
from jouleloop.arch.tree_v04 import DUMMY_CLASS
from jouleloop.energy.accelergy import _Dumper as _QuotingDumper
from jouleloop.energy.accelergy import _quoted

#: Attributes that are written from what was derived, in all their spellings.
_DERIVED = {
    "word_bits",
    "word_width",
    "datawidth",
    "block_size",
    "n_words",
    "cluster_size",
    "entries",
    "depth",
    "width",
    "data_storage_depth",
    "data_storage_width",
    "sizeKB",
    "meshX",
    "meshY",
    "instances",
    "bandwidth",
    "read_bandwidth",
    "write_bandwidth",
    "shared_bandwidth",
    "multiple_buffering",
    "min_utilization",
}


def to_architecture_v03(arch: Architecture) -> dict[str, Any]:
    """Return the architecture as data of a v0.3 file that Timeloop 3.0.x and later read without a front end.

    Sizes are written as derived, under spellings that all those versions know, so that `read_architecture` and Timeloop
    find the same levels whatever the original file left to defaults.
    """
    nodes: list[StorageLevel | ComputeLevel] = [*arch.levels, arch.compute]
    local = [_component(node, with_mesh=True) for node in nodes]
    return {"architecture": {"version": 0.3, "subtree": [{"name": "system", "local": local}]}}


def _component(node: StorageLevel | ComputeLevel, *, with_mesh: bool) -> dict[str, Any]:
    kind = "storage" if isinstance(node, StorageLevel) else "compute"
    item: dict[str, Any] = {"name": f"{node.name}[0..{node.instances - 1}]" if with_mesh else node.name}
    if isinstance(node, StorageLevel) and node.timeloop_class:
        item |= {"class": node.timeloop_class, "subclass": node.klass}
    elif kind_of(node.klass) == kind:
        item["class"] = node.klass
    else:
        item |= {"class": kind, "subclass": node.klass}
    attributes = _attributes(node, with_mesh=with_mesh)
    if with_mesh:
        attributes |= {"meshX": node.mesh_x, "meshY": node.mesh_y}
    item["attributes"] = attributes
    return item


def _attributes(node: StorageLevel | ComputeLevel, *, with_mesh: bool) -> dict[str, Any]:
    rest = {
        key if with_mesh else key.replace("-", "_"): value
        for key, value in node.attributes.items()
        if key.replace("-", "_") not in _DERIVED and value is not None
    }
    result: dict[str, Attribute] = {"datawidth": node.word_bits}
    if isinstance(node, ComputeLevel):
        return {**result, **rest}
    result["block_size"] = node.block_words
    result["width"] = node.word_bits * node.block_words * node.cluster_size
    if node.capacity_words is None:
        if not with_mesh and "DRAM" in node.klass:  # the front end insists on a depth
            result["depth"] = UNLIMITED_DEPTH
    elif node.capacity_words % node.block_words == 0:
        result["depth"] = node.capacity_words // node.block_words
    else:
        result["entries"] = node.capacity_words
        rest.pop("memory_depth", None)
    for key in ("read", "write", "shared"):
        value = getattr(node, f"{key}_bandwidth_words")
        if value is not None:
            result[f"{key}_bandwidth"] = _short(value)
    for key, value, neutral in (
        ("cluster_size", node.cluster_size, 1),
        ("multiple_buffering", node.multiple_buffering, 1),
        ("min_utilization", node.min_utilization, 0),
    ):
        if value != neutral:
            # Timeloop 3.0.x reads these with hyphens only, the front end and later versions with underscores.
            spellings = (key, key.replace("_", "-")) if with_mesh else (key,)
            result |= dict.fromkeys(spellings, _short(value))
    scaled = {"per_dataspace_bandwidth_consumption_scale": dict(node.bandwidth_scale)} if node.bandwidth_scale else {}
    return {**result, **rest, **scaled}


def _short(value: float) -> int | float:
    return int(value) if float(value).is_integer() else value


class _Tagged:
    """A mapping to be written with a tag."""

    def __init__(self, tag: str, value: Mapping[str, Any]) -> None:
        self.tag, self.value = tag, value


class _Dumper(_QuotingDumper):
    """What Accelergy's inputs are written with, and the node tags."""


_Dumper.add_representer(_Tagged, lambda dumper, item: dumper.represent_mapping(f"!{item.tag}", item.value))


def write_architecture_v04(arch: Architecture) -> str:
    """Return the text of a v0.4 file: components outermost first, a container wherever the array fans out.

    Constraints are not written, except that a container whose fan-out had a level of its own keeps one that changes
    nothing, by which `read_architecture` knows it.
    """
    nodes: list[_Tagged] = []
    carried: dict[str, list[str]] = {}
    for name, carrier in arch.fanout_names.items():
        carried.setdefault(carrier, []).append(name)
    mesh = (1, 1)
    previous = ""
    everything: list[StorageLevel | ComputeLevel] = [*arch.levels, arch.compute]
    taken = {node.name for node in everything}
    for node in everything:
        factor = (node.mesh_x // mesh[0], node.mesh_y // mesh[1])
        if factor != (1, 1):
            name = (carried.get(previous) or [f"{node.name}_array"])[0]
            while name in taken:
                name += "_array"
            taken.add(name)
            container: dict[str, Any] = {"name": name, "spatial": {"meshX": factor[0], "meshY": factor[1]}}
            if previous == f"inter_{name}_spatial":
                container["constraints"] = {"spatial": {"default_min_factor": 1}}
            nodes.append(_Tagged("Container", container))
        mesh, previous = (node.mesh_x, node.mesh_y), node.name
        if node.klass != DUMMY_CLASS:
            nodes.append(_Tagged("Component", _quoted(_component(node, with_mesh=False))))
    data = {"architecture": {"version": 0.4, "nodes": nodes}}
    return yaml.dump(data, Dumper=_Dumper, sort_keys=False, width=120, default_flow_style=False)
