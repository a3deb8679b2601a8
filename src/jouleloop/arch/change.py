"""Changing attributes of an architecture file by path, before expressions are evaluated: variants for sweeps."""

import copy
from collections.abc import Iterator
from typing import Any

from jouleloop.arch.attributes import BY_NAME, canonical_name
from jouleloop.arch.parameters import SIZES
from jouleloop.arch.tree_v03 import split_name
from jouleloop.documents.load import TAG, Quoted
from jouleloop.errors import Fault, InputError, nearest, raise_all, unknown
from jouleloop.workload.variants import Value, Variant

#: Path of all nodes that state an attribute, and of the file's variables.
EVERY, VARIABLES = "*", "variables"

_MESH = ("meshX", "meshY")
#: Attributes that a node may be given although its file states none.
KNOWN = (*_MESH, *SIZES, "technology", "n_banks", "n_rdwr_ports", "type", "latency", "energy_scale")


def change(data: Any, variant: Variant) -> Any:
    """Return a copy of loaded architecture data with attributes changed.

    Raises `InputError` where a node or attribute does not exist; all of them are listed with the nearest name.

    Parameters
    ----------
    variant
        Values by path: ``NODE.ATTRIBUTE`` for a component or container (``meshX`` and ``meshY`` are its fan-out),
        ``*.ATTRIBUTE`` for all nodes that state the attribute, ``variables.NAME``, in v0.3 files ``NODE.instances``.
        None takes an attribute away. What the file derives from a changed attribute follows it.
    """
    if not isinstance(data, dict) or not isinstance(data.get("architecture"), dict):
        return data
    result = copy.deepcopy(data)
    top = result["architecture"]
    old = "subtree" in top
    nodes = list(_tree(top) if old else _nodes(top.get("nodes")))
    faults: list[Fault] = []
    for path, value in variant:
        name, dot, key = path.rpartition(".")
        if not dot or not name or not key:
            faults.append(Fault("is no attribute", None, path, allowed="NODE.ATTRIBUTE, such as buffer.depth"))
            continue
        if name == VARIABLES:
            _set_variable(result, path, key, value, faults)
            continue
        chosen = [node for own, node in nodes if own == name or (name == EVERY and _states(node, key, old))]
        if not chosen and name == EVERY:
            known = {str(own) for _, node in nodes for own in _place(node, key, old)}
            faults.append(Fault(f"no node states the attribute {key}", None, path, nearest=nearest(key, known)))
        elif not chosen:
            faults.append(unknown(name, dict.fromkeys(own for own, _ in nodes), "node", field=path))
        may_be = canonical_name(key) in KNOWN or (old and key == "instances")
        for node in chosen:
            if not may_be and not _states(node, key, old):
                names = sorted({*map(str, _place(node, key, old)), *KNOWN})
                faults.append(unknown(key, names, "attribute", field=path))
            _set(node, key, value, old)
    raise_all(faults, InputError)
    return result


def _states(node: dict[str, Any], key: str, old: bool) -> bool:
    place = _place(node, key, old)
    return _spelled(place, key) in place


def _set_variable(data: dict[str, Any], path: str, key: str, value: Value, faults: list[Fault]) -> None:
    variables = data.get(VARIABLES)
    if not isinstance(variables, dict) or key not in variables:
        known = [str(name) for name in variables] if isinstance(variables, dict) else []
        faults.append(unknown(key, known, "variable", field=path))
    else:
        variables[key] = _text(value)


def _place(node: dict[str, Any], key: str, old: bool) -> dict[str, Any]:
    """Return the mapping that holds an attribute of a node."""
    where = "spatial" if key in _MESH and not old else "attributes"
    found = node.get(where)
    return found if isinstance(found, dict) else {}


def _spelled(place: dict[str, Any], key: str) -> str:
    """Return the key by which a node states an attribute, or else the spelling of it that Timeloop knows."""
    wanted = canonical_name(key)
    known = BY_NAME.get(wanted)
    spellings = known.spellings if known else ()
    found = [*(mine for mine in place if canonical_name(str(mine)) == wanted), key, *spellings]
    return next((name for name in found if name in place or name in spellings), key)


def _set(node: dict[str, Any], key: str, value: Value, old: bool) -> None:
    if old and key == "instances":
        name = str(node.get("name", "")).partition("[")[0]
        node["name"] = name if value == 1 else f"{name}[0..{value - 1 if isinstance(value, int) else value}]"
        return
    where = "spatial" if key in _MESH and not old else "attributes"
    place = dict(_place(node, key, old))
    key = _spelled(place, key)
    if value is None:
        place.pop(key, None)
    else:
        place[key] = _text(value)
    node[where] = place


def _text(value: Value) -> Value:
    return Quoted(value) if isinstance(value, str) else value


def _nodes(items: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield name and node of everything in a v0.4 list, branches and included lists opened."""
    for item in items if isinstance(items, list) else []:
        if isinstance(item, list):
            yield from _nodes(item)
        elif isinstance(item, dict) and "nodes" in item:
            yield from _nodes(item["nodes"])
        elif isinstance(item, dict) and item.get(TAG) in ("Component", "Container"):
            yield str(item.get("name")), item


def _tree(tree: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield name and node of everything in a v0.3 tree, names without ranges."""
    if not isinstance(tree, dict):
        return
    for key in ("local", "subtree"):
        items = tree.get(key)
        for item in items if isinstance(items, list) else []:
            if isinstance(item, dict):
                split = split_name(str(item.get("name", "")))
                yield split[0] if split else str(item.get("name")), item
                if key == "subtree":
                    yield from _tree(item)
