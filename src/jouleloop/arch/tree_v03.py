"""The v0.3 tree: `subtree` and `local`, names with ranges such as `PE[0..167]`, `meshX` among the attributes."""

import logging
import re
from typing import Any

from jouleloop.arch.attributes import BY_NAME, canonical, canonical_name, is_harmless
from jouleloop.arch.parameters import Component, compute_level, kind_of, pass_by, storage_level
from jouleloop.arch.tree_v04 import Nodes
from jouleloop.arch.values import values_within
from jouleloop.errors import Fault, nearest, unknown
from jouleloop.expressions import ExpressionError
from jouleloop.files import is_whole

_LOG = logging.getLogger("jouleloop.arch")
_NAME = re.compile(r"(?P<name>[^\[\]]+)(?:\[(?P<first>\d+)\.\.(?P<last>\d+)\])?")
_TREE_KEYS = {"name", "attributes", "local", "subtree", "version", "required_actions"}
_LOCAL_KEYS = {"name", "class", "subclass", "attributes", "required_actions", "enabled", "area_scale", "energy_scale"}
#: What Accelergy alone reads, though it looks like a key of Timeloop's.
_OTHERS_KEYS = {"actions"}


def _check_keys(node: dict[str, Any], known: set[str], where: str, faults: list[Fault]) -> None:
    """Warn of keys that Timeloop passes over; one that looks like a key it knows, or is one elsewhere, is a fault."""
    for key in node:
        if key == "constraints":
            text = "Timeloop passes over constraints in the tree; move them into architecture_constraints"
            faults.append(Fault(text, None, f"{where}.{key}"))
        elif key not in known | _OTHERS_KEYS and nearest(str(key), known):
            faults.append(unknown(str(key), known, "key", field=where))
        elif key not in known:
            _LOG.warning("%s.%s: passed over, as by Timeloop", where, key)


def read_tree(top: dict[str, Any], faults: list[Fault], *, plain: bool) -> Nodes:
    """Return the levels of ``architecture: {version: 0.3, subtree: […]}``; add what is wrong to ``faults``.

    Storage stands outermost first: a tree's own components before those of its subtree. A component's instances are
    the product of all ranges around it; ``meshX`` divides them into columns (Timeloop
    ``src/model/engine.cpp``/``buffer.cpp``: without a mesh all instances lie along X).

    Parameters
    ----------
    plain
        Whether Timeloop 3.0.3 reads the file itself; a tree that its front end wrote is in words of later versions.
    """
    nodes = Nodes(plain=plain)
    if top.get("local"):
        text = "stands outside all trees, where Timeloop does not read it; move it into the subtree"
        faults.append(Fault(text, None, "architecture.local"))
    _walk(top, [], {}, 1, nodes, faults, "architecture")
    return nodes


def split_name(text: str) -> tuple[str, int] | None:
    """Return the plain name and the number of instances of ``PE[0..167]``, or None where it is no name."""
    match = _NAME.fullmatch(text.strip())
    if not match:
        return None
    if match["first"] is None:
        return match["name"].strip(), 1
    count = int(match["last"]) - int(match["first"]) + 1
    return (match["name"].strip(), count) if count >= 1 else None


def _walk(
    tree: Any, path: list[str], inherited: dict[str, Any], count: int, nodes: Nodes, faults: list[Fault], where: str
) -> None:
    if not isinstance(tree, dict):
        faults.append(Fault("must be a mapping", None, where, tree))
        return
    _check_keys(tree, _TREE_KEYS, where, faults)
    attributes = tree.get("attributes") or {}
    if not isinstance(attributes, dict):
        faults.append(Fault("must be a mapping", None, f"{where}.attributes", attributes))
        attributes = {}
    # ``technology: technology`` hands down what stands around.
    own = {key: value for key, value in attributes.items() if value != key or key not in inherited}
    inherited = {**inherited, **own}
    if "name" in tree:
        split = split_name(str(tree["name"]))
        if split is None:
            faults.append(
                Fault("is no name", None, f"{where}.name", tree["name"], "name or name[0..N] with a number N")
            )
            return
        path, count = [*path, str(tree["name"])], count * split[1]
    for key in ("local", "subtree"):
        if not isinstance(tree.get(key) or [], list):
            faults.append(Fault("must be a list", None, f"{where}.{key}", tree[key]))
            return
    for index, item in enumerate(tree.get("local") or []):
        _local(item, path, inherited, count, nodes, faults, f"{where}.local[{index}]")
    subtrees = tree.get("subtree") or []
    if len(subtrees) > 1:
        faults.append(Fault("several subtrees side by side are not supported by the model", None, f"{where}.subtree"))
        return
    for index, child in enumerate(subtrees):
        _walk(child, path, inherited, count, nodes, faults, f"{where}.subtree[{index}]")


def _local(
    item: Any, path: list[str], inherited: dict[str, Any], count: int, nodes: Nodes, faults: list[Fault], where: str
) -> None:
    if not isinstance(item, dict):
        faults.append(Fault("must be a mapping", None, where, item))
        return
    _check_keys(item, _LOCAL_KEYS, where, faults)
    if item.get("enabled") is False:
        if nodes.plain:
            text = "cannot be switched off: Timeloop counts it all the same; leave the component out"
            faults.append(Fault(text, None, f"{where}.enabled", False))
        return
    split = split_name(str(item.get("name", "")))
    if split is None:
        faults.append(
            Fault("is no name", None, f"{where}.name", item.get("name"), "name or name[0..N] with a number N")
        )
        return
    name, instances = split[0], count * split[1]
    klass = item.get("class")
    kind = kind_of(klass) if isinstance(klass, str) else None
    own = item.get("attributes") or {}
    if not isinstance(own, dict):
        faults.append(Fault("must be a mapping", None, f"{name}.attributes", own))
        return
    attributes = {**inherited, **own}
    values = values_within(attributes, inherited)
    for key, value in list(attributes.items()):
        try:
            attributes[key] = values[key]
        except ExpressionError as error:
            faults.append(Fault(str(error), None, f"{name}.attributes.{key}", value))
    if nodes.plain:
        _warn_of_inherited(name, inherited, own, kind)
        own = {key: attributes[key] for key in own}
    else:
        own = attributes
    if kind not in ("storage", "compute"):
        if kind == "network":
            nodes.networks[name] = {"class": klass, "attributes": own}
        pass_by(name, klass, kind)
        return
    mesh = _mesh(name, canonical(own), instances, faults)
    if mesh is None:
        return
    full = ".".join([*path, str(item["name"])])
    model = str(item.get("subclass") or klass)
    build = storage_level if kind == "storage" else compute_level
    component = Component(name, full, str(klass), model, own, mesh, inherited, exact_spelling=nodes.plain)
    level = build(component, faults)
    if level is not None:
        nodes.levels.append(level)


def _warn_of_inherited(name: str, inherited: dict[str, Any], own: dict[str, Any], kind: str | None) -> None:
    """Warn of every attribute around a component that would count on it; estimators alone take it.

    Source: Timeloop ``src/model/topology.cpp``, ``ParseTreeSpecs`` reads the component's own attributes alone; only
    Accelergy hands those of the tree down.
    """
    stated = {canonical_name(str(key)) for key in own}
    for key, value in inherited.items():
        known = BY_NAME.get(canonical_name(str(key)))
        if known is None or kind not in known.kinds or value is None or key == "technology":
            continue
        matters = (known.counted and value != known.default) or (bool(known.refused) and not is_harmless(known, value))
        if matters and not any(canonical_name(spelling) in stated for spelling in known.spellings):
            text = "stands around the component, which has to state it itself if it is to count"
            _LOG.warning("%s.attributes.%s: passed over, as by Timeloop: it %s", name, key, text)


def _mesh(name: str, attributes: dict[str, Any], instances: int, faults: list[Fault]) -> tuple[int, int] | None:
    given = attributes.get("instances")
    if given is not None:
        if not is_whole(given) or given < 1:
            faults.append(Fault("must be a positive whole number", None, f"{name}.attributes.instances", given))
            return None
        instances = int(given)
    values: list[int | None] = []
    for key in ("meshX", "meshY"):
        value = attributes.get(key)
        if value is not None and (not is_whole(value) or value < 1):
            faults.append(Fault("must be a positive whole number", None, f"{name}.attributes.{key}", value))
            return None
        values.append(None if value is None else int(value))
    x, y = values
    if x is None and y is None:
        return instances, 1
    if x is None and y is not None:
        x = instances // y
    if y is None and x is not None:
        y = instances // x
    if x is None or y is None or x * y != instances:
        faults.append(
            Fault(f"meshX {x} times meshY {y} is not the {instances} instances", None, f"{name}.attributes.meshX")
        )
        return None
    return x, y
