"""Networks that a design names itself, between a level and the next inner node.

Source: Timeloop 3.0.3 ``src/model/topology.cpp``, ``Topology::Spec`` ("Connect levels to networks"), and
``src/model/network-simple-multicast.cpp``.
"""

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

from jouleloop.arch.architecture import ComputeLevel, StorageLevel
from jouleloop.arch.attributes import canonical
from jouleloop.errors import Fault, unknown

#: The one class whose traffic is that of the network which Timeloop puts there by itself.
_CLASS = "SimpleMulticast"


def named_networks(levels: Sequence[StorageLevel]) -> tuple[str, ...]:
    """Return the networks that levels name."""
    stated = [canonical(level.attributes).get(key) for level in levels for key in ("network_read", "network_update")]
    return tuple(dict.fromkeys(str(name) for name in stated if name is not None))


def check_networks(
    levels: Sequence[StorageLevel], compute: ComputeLevel, networks: Mapping[str, Mapping[str, Any]]
) -> list[Fault]:
    """Return a fault for every network that a level names and the model does not follow.

    Parameters
    ----------
    networks
        ``class`` and ``attributes`` of the network components by name.
    """
    faults: list[Fault] = []
    nodes: list[StorageLevel | ComputeLevel] = [*levels, compute]
    outermost = canonical(levels[0].attributes) if levels else {}
    for key in ("network_fill", "network_drain"):
        if outermost.get(key) is not None:
            text = "is the outermost level, which no network leads to"
            faults.append(Fault(text, None, f"{levels[0].name}.attributes.{key}", outermost[key]))
    for outer, inner in itertools.pairwise(nodes):
        above, below = canonical(outer.attributes), canonical(inner.attributes)
        into, back = ("network_operand", "network_result") if inner is compute else ("network_fill", "network_drain")
        sides = (("network_read", into), ("network_update", back))
        if not any(above.get(one) is not None or below.get(other) is not None for one, other in sides):
            continue
        for one, other in sides:
            if above.get(one) is None or above[one] != below.get(other):
                text = f"is not the {other} of {inner.name}, where Timeloop ends"
                where = f"{outer.name}.attributes.{one}"
                faults.append(Fault(text, None, where, above.get(one), str(below.get(other))))
            elif above[one] not in networks:
                where = f"{outer.name}.attributes.{one}"
                faults.append(unknown(str(above[one]), tuple(networks), "network", field=where))
            else:
                faults += _unlike(str(above[one]), networks[str(above[one])])
        if isinstance(outer, StorageLevel) and outer.wired:
            text = "has a network of its own, so Timeloop passes over the energies of the network to the next node"
            faults.append(Fault(text, None, f"{outer.name}.attributes"))
    return faults


def _unlike(name: str, network: Mapping[str, Any]) -> list[Fault]:
    klass, attributes = str(network["class"]), canonical(network["attributes"])
    faults = []
    if _CLASS not in klass:
        text = "networks of this class are not supported by the model"
        faults.append(Fault(text, None, f"{name}.class", klass, _CLASS))
    if attributes.get("action_name") is None:
        faults.append(Fault("names no action, where Timeloop ends", None, f"{name}.attributes.action_name"))
    faults += [
        Fault("latency of networks is not counted", None, f"{name}.attributes.{key}", attributes[key], "0")
        for key in ("fill_latency", "drain_latency")
        if attributes.get(key)
    ]
    return faults
