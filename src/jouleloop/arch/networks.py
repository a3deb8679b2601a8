"""Networks that a design names itself, between a level and the next inner node.

Source: Timeloop 3.0.3 ``src/model/topology.cpp``, ``Topology::Spec`` ("Connect levels to networks"),
``src/model/network-factory.cpp``, and ``src/model/network-simple-multicast.cpp``.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from jouleloop.arch.architecture import ComputeLevel, StorageLevel
from jouleloop.arch.attributes import canonical
from jouleloop.arch.parameters import Component, network_energies
from jouleloop.errors import Fault, unknown

#: The class whose traffic is that of the network which Timeloop puts there by itself, without any energy.
_MULTICAST = "SimpleMulticast"
#: Classes of the network itself that Timeloop puts there by itself, with energies of their own.
_MESHES = ("XY_NoC", "Legacy")


def charged_networks(levels: Sequence[StorageLevel], networks: Mapping[str, Mapping[str, Any]]) -> tuple[str, ...]:
    """Return the networks that levels name and a table has to charge."""
    stated = [canonical(level.attributes).get(key) for level in levels for key in ("network_read", "network_update")]
    return tuple(dict.fromkeys(str(name) for name in stated if name is not None and not _is_mesh(name, networks)))


def named_meshes(components: Sequence[Mapping[str, Any]]) -> set[str]:
    """Return the names of networks, among the components of a file, that count since others name them."""
    stated = [component.get("attributes") for component in components]
    named = {str(v) for one in stated if isinstance(one, Mapping) for k, v in one.items() if "network_" in str(k)}
    return {str(one.get("name")) for one in components if one.get("class") in _MESHES} & named


def connect_networks(
    levels: Sequence[StorageLevel],
    compute: ComputeLevel,
    networks: Mapping[str, Mapping[str, Any]],
    faults: list[Fault],
    *,
    plain: bool,
) -> list[StorageLevel]:
    """Return the levels, each with the energies of the network that it names; add what the model does not follow.

    Parameters
    ----------
    networks
        ``class`` and ``attributes`` of the network components by name.
    plain
        Whether only Timeloop's own spellings of attributes count.
    """
    nodes: list[StorageLevel | ComputeLevel] = [*levels, compute]
    outermost = canonical(levels[0].attributes) if levels else {}
    for key in ("network_fill", "network_drain"):
        if outermost.get(key) is not None:
            text = "is the outermost level, which no network leads to"
            faults.append(Fault(text, None, f"{levels[0].name}.attributes.{key}", outermost[key]))
    found, used = [], set[str]()
    for outer, inner in zip(levels, nodes[1:], strict=True):
        meshes = _meshes(outer, inner, inner is compute, networks, faults)
        if used & meshes:
            text = "stands at two levels, of which Timeloop counts the last"
            faults.append(Fault(text, None, f"{outer.name}.attributes.network_read", ", ".join(sorted(used & meshes))))
        used |= meshes
        for name in meshes:
            own = Component(name, name, "", "", networks[name]["attributes"], (1, 1), exact_spelling=plain)
            hop_pj, router_pj, ingress_pj = network_energies(own, faults)
            outer = replace(outer, hop_pj=hop_pj, router_pj=router_pj, ingress_pj=ingress_pj)  # noqa: PLW2901
        found.append(outer)
    return found


def _meshes(
    outer: StorageLevel,
    inner: StorageLevel | ComputeLevel,
    operands: bool,
    networks: Mapping[str, Mapping[str, Any]],
    faults: list[Fault],
) -> set[str]:
    """Return the network of a mesh that two nodes name, if they do; add a fault for what the model does not follow."""
    above, below = canonical(outer.attributes), canonical(inner.attributes)
    into, back = ("network_operand", "network_result") if operands else ("network_fill", "network_drain")
    sides = [("network_read", into), ("network_update", back)]
    if not any(above.get(one) is not None or below.get(other) is not None for one, other in sides):
        return set()
    if (
        above.get("network_update") is None
        and below.get(back) is None
        and _is_mesh(above.get("network_read"), networks)
    ):
        sides = sides[:1]  # Timeloop then takes it for both ways.
    before, named = len(faults), set[str]()
    for one, other in sides:
        where = f"{outer.name}.attributes.{one}"
        if above.get(one) is None or above[one] != below.get(other):
            text = f"is not the {other} of {inner.name}, where Timeloop ends"
            faults.append(Fault(text, None, where, above.get(one), str(below.get(other))))
        elif above[one] not in networks:
            faults.append(unknown(str(above[one]), tuple(networks), "network", field=where))
        else:
            named.add(str(above[one]))
            faults += _unlike(str(above[one]), networks[str(above[one])])
    if outer.wired:
        text = "has a network of its own, so Timeloop passes over the energies of the network to the next node"
        faults.append(Fault(text, None, f"{outer.name}.attributes"))
    meshes = {name for name in named if _is_mesh(name, networks)}
    if meshes and len(named) > 1:
        text = "one network into the next node and another back are not supported by the model for this class"
        faults.append(Fault(text, None, f"{outer.name}.attributes", ", ".join(sorted(named)), "one for both ways"))
    return meshes if len(faults) == before else set()


def _is_mesh(name: object, networks: Mapping[str, Mapping[str, Any]]) -> bool:
    return name in networks and str(networks[str(name)]["class"]) in _MESHES


def _unlike(name: str, network: Mapping[str, Any]) -> list[Fault]:
    klass, attributes = str(network["class"]), canonical(network["attributes"])
    faults = []
    if _MULTICAST not in klass and klass not in _MESHES:
        text = "networks of this class are not supported by the model"
        faults.append(Fault(text, None, f"{name}.class", klass, ", ".join((_MULTICAST, *_MESHES))))
    if _MULTICAST in klass and attributes.get("action_name") is None:
        faults.append(Fault("names no action, where Timeloop ends", None, f"{name}.attributes.action_name"))
    faults += [
        Fault("latency of networks is not counted", None, f"{name}.attributes.{key}", attributes[key], "0")
        for key in ("fill_latency", "drain_latency")
        if attributes.get(key)
    ]
    return faults
