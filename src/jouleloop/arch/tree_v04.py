"""The v0.4 node list: containers hand down attributes and fan out, components become levels."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from jouleloop.arch.architecture import ComputeLevel, StorageLevel
from jouleloop.arch.parameters import Component, compute_level, kind_of, pass_by, storage_level
from jouleloop.arch.values import values_within
from jouleloop.documents.load import NODE_TAGS, TAG
from jouleloop.errors import Fault, unknown
from jouleloop.expressions import ExpressionError
from jouleloop.files import is_whole

_LOG = logging.getLogger("jouleloop.arch")

#: Class of the empty storage levels that stand for a fan-out.
DUMMY_CLASS = "dummy_storage"

_LEAF_KEYS = {"name", "attributes", "spatial", "constraints", "sparse_optimizations", "networks"}
_COMPONENT_KEYS = _LEAF_KEYS | {"class", "subclass", "required_actions", "area_scale", "energy_scale", "enabled"}
_BRANCH_KEYS = {"nodes", "name", "version"}


@dataclass
class Nodes:
    """What a reader finds: levels outermost first, inline constraints, who carries which container's fan-out.

    ``plain`` says that Timeloop 3.0.3 reads the file itself, so only what it reads counts.
    """

    name: str = ""
    levels: list[StorageLevel | ComputeLevel] = field(default_factory=list)
    constraints: list[dict[str, Any]] = field(default_factory=list)
    fanout_names: dict[str, str] = field(default_factory=dict)
    plain: bool = False
    networks: dict[str, dict[str, Any]] = field(default_factory=dict)
    idle: set[str] = field(default_factory=set)
    """Containers that do not fan out."""


def read_nodes(
    top: dict[str, Any],
    variables: Any,
    spatial_levels: bool | None,
    faults: list[Fault],
    targets: Sequence[Mapping[str, Any]] = (),
) -> Nodes:
    """Return the levels of ``architecture: {version: 0.4, nodes: […]}``; add what is wrong to ``faults``.

    ``targets`` holds the constraints that stand beside the architecture: the front end attaches them to the nodes
    before it decides on fan-outs and parallel branches.
    """
    return _Walk(variables, spatial_levels, faults, targets).run(top)


class _Walk:
    """One pass over the node list."""

    def __init__(
        self,
        variables: Any,
        spatial_levels: bool | None,
        faults: list[Fault],
        targets: Sequence[Mapping[str, Any]],
    ) -> None:
        self.faults = faults
        self.spatial_levels = spatial_levels
        self.unrolled = {target.get("target") for target in targets if target.get("type") == "spatial"}
        self.kept = {
            str(target.get("target")): target for target in targets if target.get("type") in ("dataspace", "bypass")
        }
        self.nodes = Nodes()
        self.mesh = (1, 1)
        self.path: list[str] = []
        self.inherited: dict[str, Any] = {}
        self.outer: dict[str, Any] = {}
        if isinstance(variables, dict):
            own = {key: value for key, value in variables.items() if key != "version"}
            values = self._resolve("variables", own, {})
            self.outer |= values
            self.inherited |= values
        elif variables is not None:
            faults.append(Fault("must be a mapping", None, "variables", variables))

    def run(self, top: dict[str, Any]) -> Nodes:
        self._branch(top["nodes"], "architecture.nodes", None)
        return self.nodes

    def _branch(self, items: Any, where: str, keeps: list[str] | None) -> None:
        if not isinstance(items, list):
            self.faults.append(Fault("must be a list of nodes", None, where, items))
            return
        for index, item in enumerate(items):
            self._node(item, f"{where}[{index}]", keeps)

    def _node(self, item: Any, where: str, keeps: list[str] | None) -> None:
        if isinstance(item, list):
            for index, child in enumerate(item):
                self._node(child, f"{where}[{index}]", keeps)
            return
        if not isinstance(item, dict) or TAG not in item:
            allowed = ", ".join(f"!{tag}" for tag in NODE_TAGS)
            self.faults.append(Fault("is no node: it has no tag", None, where, item, allowed))
            return
        tag = item[TAG]
        if item.get("enabled") is False:
            return
        if tag in ("Hierarchical", "Architecture", "Parallel"):
            self._keys(item, _BRANCH_KEYS, where)
            if tag == "Parallel":
                self._parallel(item.get("nodes"), f"{where}.nodes")
            else:
                self._branch(item.get("nodes"), f"{where}.nodes", keeps)
        elif tag in ("Container", "Component"):
            self._keys(item, _LEAF_KEYS if tag == "Container" else _COMPONENT_KEYS, where)
            self._leaf(item, tag, where, keeps)
        elif tag != "Nothing":
            self.faults.append(Fault(f"!{tag} is not supported by the model", None, where))

    def _keys(self, item: dict[str, Any], allowed: set[str], where: str) -> None:
        self.faults += [unknown(str(key), allowed, "key", field=where) for key in item if key not in allowed | {TAG}]

    def _parallel(self, items: Any, where: str) -> None:
        """Read parallel branches: each keeps its own data spaces, all others bypass it."""
        if not isinstance(items, list):
            self.faults.append(Fault("must be a list of nodes", None, where, items))
            return
        seen: dict[str, int] = {}
        for index, item in enumerate(items):
            keeps = sorted(set(_kept(item, self.kept)))
            for name in keeps:
                if name in seen and name != "*":
                    self.faults.append(Fault("is kept in two parallel branches", None, f"{where}[{index}]", name))
                seen[name] = index
            self._node(item, f"{where}[{index}]", keeps)

    def _resolve(self, where: str, own: Any, extra: Mapping[str, Any]) -> dict[str, Any]:
        if not isinstance(own, dict):
            self.faults.append(Fault("must be a mapping", None, where, own))
            return {}
        values = values_within(own, {**self.outer, **extra})
        result: dict[str, Any] = {}
        for key in own:
            try:
                result[str(key)] = values[key]
            except ExpressionError as error:
                self.faults.append(Fault(str(error), None, f"{where}.{key}", own[key]))
        return result

    def _leaf(self, item: dict[str, Any], tag: str, where: str, keeps: list[str] | None) -> None:
        name = item.get("name")
        if not isinstance(name, str) or not name:
            self.faults.append(Fault("has no name" if name is None else "the name must be text", None, where, name))
            return
        own = self._resolve(f"{name}.attributes", item.get("attributes") or {}, {})
        spatial = self._resolve(f"{name}.spatial", item.get("spatial") or {}, own)
        self.faults += [
            unknown(key, ("meshX", "meshY"), "key", field=f"{name}.spatial")
            for key in spatial
            if key not in ("meshX", "meshY")
        ]
        mesh = (self._mesh(name, spatial, "meshX"), self._mesh(name, spatial, "meshY"))
        if item.get("networks"):
            self.faults.append(Fault("networks are not supported by the model", None, f"{name}.networks"))
        if item.get("sparse_optimizations"):
            field_name = f"{name}.sparse_optimizations"
            self.faults.append(Fault("sparse optimizations are not supported by the model", None, field_name))
        constraints = item.get("constraints") or {}
        if not isinstance(constraints, dict):
            self.faults.append(Fault("must be a mapping", None, f"{name}.constraints", constraints))
            constraints = {}
        if not isinstance(constraints.get("spatial") or {}, dict):
            self.faults.append(Fault("must be a mapping", None, f"{name}.constraints.spatial", constraints["spatial"]))
            constraints = {**constraints, "spatial": None}
        if mesh != (1, 1):
            if keeps is not None:
                self.faults.append(Fault("a fan-out inside !Parallel is not supported", None, name))
            self._fan_out(name, mesh, constraints.get("spatial"))
        elif constraints.get("spatial") and tag != "Container":  # the front end drops those of a container
            self.faults.append(Fault("constrains spatial loops but does not fan out", None, f"{name}.constraints"))
        if tag == "Container":
            if mesh == (1, 1):
                self.nodes.idle.add(name)
            self.path.append(name)
            self.inherited |= own
            self.outer |= own
            self.outer[name] = {"attributes": own, "spatial": {"meshX": mesh[0], "meshY": mesh[1]}}
            return
        attributes = {**self.inherited, **own}
        self._component(name, item, attributes, mesh)
        self._constrain(name, constraints, keeps)

    def _mesh(self, name: str, spatial: Mapping[str, Any], key: str) -> int:
        value = spatial.get(key, 1)
        if not is_whole(value) or not 1 <= value <= 2**31:
            self.faults.append(Fault("must be a positive whole number", None, f"{name}.spatial.{key}", value))
            return 1
        return int(value)

    def _fan_out(self, name: str, mesh: tuple[int, int], spatial: Any) -> None:
        constrained = bool(spatial) or name in self.unrolled
        own_level = constrained if self.spatial_levels is None else self.spatial_levels
        if own_level:
            dummy = f"inter_{name}_spatial"
            path = ".".join([*self.path, dummy])
            self.nodes.levels.append(
                StorageLevel(dummy, path, DUMMY_CLASS, 1, 1, mesh_x=self.mesh[0], mesh_y=self.mesh[1])
            )
            self.nodes.constraints += [
                {"target": dummy, "type": "temporal", "factors_only": []},
                {"target": dummy, "type": "dataspace", "bypass": ["*"]},
            ]
        storages = [level for level in self.nodes.levels if isinstance(level, StorageLevel)]
        if storages:
            carrier = storages[-1].name
            self.nodes.fanout_names[name] = carrier
            if spatial:
                room = {"maximize_dims_capacity": mesh[0] * mesh[1]} if spatial.get("maximize_dims") else {}
                self.nodes.constraints.append({**room, **spatial, "target": carrier, "type": "spatial"})
        elif spatial:
            self.faults.append(Fault("constrains a fan-out outside all storage", None, f"{name}.constraints.spatial"))
        self.mesh = (self.mesh[0] * mesh[0], self.mesh[1] * mesh[1])

    def _component(self, name: str, item: dict[str, Any], attributes: dict[str, Any], mesh: tuple[int, int]) -> None:
        klass = item.get("class")
        if not isinstance(klass, str):
            self.faults.append(Fault("has no class", None, name, klass))
            return
        kind = kind_of(klass)
        path = ".".join([*self.path, name])
        model = str(item.get("subclass") or klass)
        self.outer[name] = {"attributes": attributes, "spatial": {"meshX": mesh[0], "meshY": mesh[1]}, "class": klass}
        for key in ("energy_scale", "area_scale"):
            if item.get(key) is not None:
                attributes[key] = item[key]
        self._own_mesh(name, attributes)
        if kind == "nothing":
            return
        if kind not in ("storage", "compute"):
            if kind == "network":
                self.nodes.networks[name] = {"class": klass, "attributes": attributes}
            pass_by(name, klass, kind)
            return
        build = storage_level if kind == "storage" else compute_level
        level = build(Component(name, path, klass, model, attributes, self.mesh), self.faults)
        if level is not None:
            self.nodes.levels.append(level)

    def _own_mesh(self, name: str, attributes: dict[str, Any]) -> None:
        """Take attributes out that the fan-outs decide.

        The front end replaces a mesh (``v4_to_v3.py``); a number of instances it hands on, and Timeloop ends where
        another stands (``BufferLevel::ValidateTopology``).
        """
        for key, counted in (("meshX", self.mesh[0]), ("meshY", self.mesh[1])):
            given = attributes.pop(key, None)
            if given not in (None, counted):
                _LOG.warning("%s.attributes.%s: passed over; the fan-outs under spatial give %s", name, key, counted)
        counted, given = self.mesh[0] * self.mesh[1], attributes.pop("instances", None)
        if given not in (None, counted):
            text = "is not what the fan-outs under spatial give; Timeloop ends"
            self.faults.append(Fault(text, None, f"{name}.attributes.instances", given, str(counted)))

    def _constrain(self, name: str, constraints: dict[str, Any], keeps: list[str] | None) -> None:
        for key, value in constraints.items():
            if key == "spatial" or not value:
                continue
            if not isinstance(value, dict):
                self.faults.append(Fault("must be a mapping", None, f"{name}.constraints.{key}", value))
                continue
            self.nodes.constraints.append({**value, "target": name, "type": key})
        if keeps is not None:
            self.nodes.constraints.append({"target": name, "type": "dataspace", "bypass_except": keeps})


def _kept(item: Any, beside: Mapping[str, Any]) -> list[str]:
    """Return the data spaces that a branch says it keeps; ``beside`` are constraints that stand elsewhere, by name."""
    if isinstance(item, list):
        return [name for child in item for name in _kept(child, beside)]
    if not isinstance(item, dict):
        return []
    if "nodes" in item:
        return _kept(item["nodes"], beside)
    constraints = item.get("constraints")
    inline = constraints.get("dataspace") if isinstance(constraints, dict) else None
    result: list[str] = []
    for stated in (inline, beside.get(str(item.get("name")))):
        for key in ("keep", "keep_only"):
            names = stated.get(key) if isinstance(stated, Mapping) else None
            if isinstance(names, str):
                result.append(names)
            elif isinstance(names, list):
                result += [str(name) for name in names]
    return result
