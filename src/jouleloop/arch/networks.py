"""Networks that a design names itself, between a level and the next inner node.

Source: Timeloop 3.0.3 ``src/model/topology.cpp``, ``Topology::Spec`` ("Connect levels to networks"), and
``src/model/network-factory.cpp``.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from jouleloop.arch.architecture import MESH, MULTICAST, TREE, ComputeLevel, Network, StorageLevel
from jouleloop.arch.attributes import canonical
from jouleloop.arch.parameters import NETWORK_CLASSES, Component, network_of
from jouleloop.errors import Fault, unknown

#: Keys by which nodes name a network: at the outer end, at an inner level, at the units.
_INTO = ("network_read", "network_fill", "network_operand")
_BACK = ("network_update", "network_drain", "network_result")


def named_networks(components: Sequence[Mapping[str, Any]]) -> set[str]:
    """Return the names of networks, among the components of a file, that count since others name them."""
    stated = [component.get("attributes") for component in components]
    named = {str(v) for one in stated if isinstance(one, Mapping) for k, v in one.items() if "network_" in str(k)}
    return {str(one.get("name")) for one in components if one.get("class") in NETWORK_CLASSES} & named


def connect_networks(
    levels: Sequence[StorageLevel],
    compute: ComputeLevel,
    networks: Mapping[str, Mapping[str, Any]],
    faults: list[Fault],
    *,
    plain: bool,
) -> list[StorageLevel]:
    """Return the levels, each with the networks that it names; add what the model does not follow.

    Parameters
    ----------
    networks
        ``class`` and ``attributes`` of the network components by name.
    plain
        Whether only Timeloop's own spellings of attributes count.
    """
    outermost = canonical(levels[0].attributes) if levels else {}
    for key in ("network_fill", "network_drain"):
        if outermost.get(key) is not None:
            text = "is the outermost level, which no network leads to"
            faults.append(Fault(text, None, f"{levels[0].name}.attributes.{key}", outermost[key]))
    inside: list[StorageLevel | ComputeLevel] = [*levels[1:], compute]
    found = [_connect(outer, inner, networks, faults, plain=plain) for outer, inner in zip(levels, inside, strict=True)]
    return _each_once(found, faults)


def _each_once(levels: list[StorageLevel], faults: list[Fault]) -> list[StorageLevel]:
    """Return the levels, outermost first, with the energies of a network where Timeloop counts them.

    A network that stands at several levels is one there: it is evaluated once, for the innermost, and what it brings
    back is added up as the outermost does (``Topology::Evaluate``, ``IsEvaluated``). Add a fault where one carries
    words one way alone, or the levels differ in that.
    """
    found: list[StorageLevel] = []
    inside: dict[str, tuple[bool, bool]] = {}
    for level in reversed(levels):
        names = {one.name for one in level.networks if one.name and one.kind != MULTICAST}
        both = level.back is None and level.network.kind == MESH and not level.network.spreads
        kind = (both, level.reduces)
        again = names & set(inside)
        if any(not both or inside[name] != kind for name in again):
            text = "stands at two levels, of which Timeloop counts the inner one as the outer"
            faults.append(Fault(text, None, f"{level.name}.attributes.network_read", ", ".join(sorted(again))))
        inside |= dict.fromkeys(names - again, kind)
        free = replace(level.network, hop_pj=0.0, router_pj=0.0, ingress_pj=0.0, adder_pj=0.0)
        found.append(replace(level, network=free) if again else level)
    return found[::-1]


def _connect(
    outer: StorageLevel,
    inner: StorageLevel | ComputeLevel,
    networks: Mapping[str, Mapping[str, Any]],
    faults: list[Fault],
    *,
    plain: bool,
) -> StorageLevel:
    """Return a level with the networks that it and the next inner node name."""
    into = _named(outer, inner, _INTO, networks, faults, plain=plain)
    back = _named(outer, inner, _BACK, networks, faults, plain=plain)
    where = f"{outer.name}.attributes"
    if into is None and back is None:
        return outer
    if into is not None and outer.wired:
        text = "has a network of its own, so Timeloop passes over the energies of the network to the next node"
        faults.append(Fault(text, None, where))
    if into is not None and into.kind == TREE:
        text = "adds up on the way back alone, so Timeloop ends"
        faults.append(Fault(text, None, f"{where}.network_read", into.name, "network_update"))
    named = zip((into, back), ("network_fill_latency", "network_drain_latency"), strict=True)
    stated = canonical(outer.attributes)
    latency = sum(one.latency_cycles if one else int(stated.get(key) or 0) for one, key in named)
    found = replace(outer, network=into or outer.network, latency_cycles=latency)
    return found if back is None or (into is not None and into.name == back.name) else replace(found, back=back)


def _named(
    outer: StorageLevel,
    inner: StorageLevel | ComputeLevel,
    keys: tuple[str, str, str],
    networks: Mapping[str, Mapping[str, Any]],
    faults: list[Fault],
    *,
    plain: bool,
) -> Network | None:
    """Return the network that both ends name for one way, if they do."""
    other = keys[1] if isinstance(inner, StorageLevel) else keys[2]
    name, again = canonical(outer.attributes).get(keys[0]), canonical(inner.attributes).get(other)
    where = f"{outer.name}.attributes.{keys[0]}"
    if name != again:
        text = f"is not the {other} of {inner.name}, where Timeloop ends"
        faults.append(Fault(text, None, where, name, str(again)))
        return None
    if name is None:
        return None
    if name not in networks:
        faults.append(unknown(str(name), tuple(networks), "network", field=where))
        return None
    klass, attributes = str(networks[str(name)]["class"]), networks[str(name)]["attributes"]
    if klass not in NETWORK_CLASSES:
        text = "is no class of networks that Timeloop knows"
        faults.append(Fault(text, None, f"{name}.class", klass, ", ".join(NETWORK_CLASSES)))
        return None
    return network_of(Component(str(name), str(name), klass, "", attributes, (1, 1), exact_spelling=plain), faults)
