"""From a node's attributes to a storage or compute level, the way Timeloop derives sizes, blocks and bandwidths.

Source: Timeloop ``src/model/buffer.cpp`` (``BufferLevel::ParseSpecs``) and ``src/model/arithmetic.cpp``.
"""

import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from jouleloop.arch.architecture import MESH, MULTICAST, TREE, Attribute, ComputeLevel, Network, StorageLevel
from jouleloop.arch.attributes import BY_NAME, COMPUTE, KNOWN, STORAGE, canonical_name, is_harmless
from jouleloop.errors import Fault
from jouleloop.files import is_whole

_LOG = logging.getLogger("jouleloop.arch")

DEFAULT_WORD_BITS = 16

#: Depth from which on a DRAM counts as unlimited: the largest that Timeloop can read.
UNLIMITED_DEPTH = 2**32 - 1

#: Parts of class names that make a node storage, compute or a network (Timeloop ``isBufferClass`` and its kin).
STORAGE_CLASSES = ("DRAM", "SRAM", "regfile", "smartbuffer", "storage")
COMPUTE_CLASSES = ("mac", "intmac", "fpmac", "compute")
NETWORK_CLASSES = ("XY_NoC", "Legacy", "ReductionTree", "SimpleMulticast")

_NETWORK_TYPES = ("1:1", "1:N", "M:N")

#: Spellings of each attribute, hyphens as underscores, in the order in which Timeloop looks them up.
_WORD_BITS = ("word_bits", "word_width", "datawidth")
_BLOCK = ("block_size", "n_words")
_WIDTH = ("width", "memory_width", "data_storage_width")
#: Two that Timeloop 4 knows by one spelling alone: it has turned other hyphens into underscores before it reads.
_SPELLED_BY_TIMELOOP_4 = {"energy_per_ingress": "energy-per-ingress", "network-word-bits": "network_word_bits"}
_DEPTH = ("depth", "memory_depth", "data_storage_depth")

#: Attributes that set sizes, shares and bandwidths of a level, hyphens as underscores.
SIZES = tuple(dict.fromkeys(canonical_name(spelling) for known in KNOWN if known.sizes for spelling in known.spellings))


@dataclass(frozen=True)
class Component:
    """One storage or compute node as an architecture file states it."""

    name: str
    path: str
    klass: str
    """Class by which Timeloop knows what it is."""
    model: str
    """Class by which estimators know it: the subclass where one is given."""
    attributes: Mapping[str, Any]
    """What Timeloop reads."""
    mesh: tuple[int, int]
    inherited: Mapping[str, Any] = field(default_factory=dict)
    """What estimators read besides: attributes that a v0.3 tree hands down to them, but not to Timeloop."""
    exact_spelling: bool = False
    """Whether only Timeloop's own spellings count; the front end of v0.4 knows hyphens and underscores alike."""

    @property
    def is_dram(self) -> bool:
        """Whether Timeloop takes it for a DRAM."""
        return "DRAM" in self.klass or self.attributes.get("technology") == "DRAM"


def kind_of(klass: str) -> str | None:
    """Return ``storage``, ``compute``, ``network`` or None for a component class."""
    for kind, parts in (("storage", STORAGE_CLASSES), ("compute", COMPUTE_CLASSES), ("network", NETWORK_CLASSES)):
        if any(part in klass for part in parts):
            return kind
    return "nothing" if "nothing" in klass.lower() else None


def pass_by(name: str, klass: object, kind: str | None) -> None:
    """Warn that a component takes no part in any count, as in Timeloop.

    A network that storage names (``network_read`` and its kin) is checked by `jouleloop.arch.networks`.

    Source: Timeloop ``src/model/topology.cpp``, ``ParseTreeSpecs``, which neglects classes that it does not know.
    """
    if kind == "network":
        why = "it counts where storage names it by network_read or its kin"
    else:
        why = f"Timeloop knows what has {', '.join((*STORAGE_CLASSES, 'mac'))} or compute in its name"
    _LOG.warning("%s: class %s passed by; %s", name, klass, why)


class _Reader:
    """Looks attributes up by their spellings and collects what is wrong with them."""

    def __init__(self, component: Component, kind: str) -> None:
        self.where = f"{component.name}.attributes"
        self.faults: list[Fault] = []
        self.attributes: dict[str, Any] = {}
        for key, value in component.attributes.items():
            name = canonical_name(str(key))
            before = self.attributes.get(name)
            if value is not None and before is not None and before != value:
                self.fault("is given twice with different values", str(key), value, str(before))
            if value is not None or name not in self.attributes:
                self.attributes[name] = value
        self._refuse(kind)
        if component.exact_spelling:
            self._refuse_spellings(component, kind)

    def fault(self, message: str, key: str = "", value: object = None, allowed: str | None = None) -> None:
        self.faults.append(Fault(message, "", f"{self.where}.{key}" if key else self.where, value, allowed))

    def _refuse(self, kind: str) -> None:
        """Add a fault for every attribute that would change the counts and that the model does not follow."""
        for key, value in self.attributes.items():
            known = BY_NAME.get(key)
            if known is None or not known.refused or kind not in known.kinds or is_harmless(known, value):
                continue
            allowed = " or ".join(str(good) for good in known.harmless) or "no such attribute"
            self.fault(known.refused, key, value, allowed)

    def _refuse_spellings(self, component: Component, kind: str) -> None:
        """Drop every attribute in a spelling that Timeloop 3.0.3 passes over; add a fault where that matters."""
        for key, value in component.attributes.items():
            known = BY_NAME.get(canonical_name(str(key)))
            if known is None or kind not in known.kinds or key in known.spellings:
                continue
            stated = [spelling for spelling in known.spellings if spelling in component.attributes]
            if (
                known.counted
                and value is not None
                and value != (component.attributes[stated[0]] if stated else known.default)
            ):
                text = "Timeloop 3.0.3 does not read this spelling"
                self.fault(text, str(key), value, " or ".join(known.spellings))
            if canonical_name(str(key)) not in map(canonical_name, stated):
                self.attributes.pop(canonical_name(str(key)), None)

    def whole(self, keys: Iterable[str], minimum: int = 1) -> int | None:
        for key in keys:
            value = self.attributes.get(key)
            if value is None:
                continue
            if not is_whole(value) or value < minimum or value > 2**62:
                self.fault("must be a whole number", key, value, f"{minimum} to 2^62")
                return None
            return int(value)
        return None

    def real(self, keys: Iterable[str]) -> float | None:
        for key in keys:
            value = self.attributes.get(key)
            if value is None:
                continue
            if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < float("inf"):
                self.fault("must be a positive number", key, value)
                return None
            return float(value)
        return None


def storage_level(component: Component, faults: list[Fault]) -> StorageLevel | None:
    """Return the storage level that Timeloop makes of a component; add what is wrong to ``faults``.

    Size in words = ``entries``, or ``depth`` times the block size, or ``sizeKB`` * 8192 / word bits; without any of
    them it is unlimited. Where a width is given, block size = width / (word bits * cluster size), or the cluster size
    follows from a given block size.
    """
    read = _Reader(component, STORAGE)
    word_bits = read.whole(_WORD_BITS) or DEFAULT_WORD_BITS
    block, cluster = _block_and_cluster(read, word_bits)
    _check_metadata(read)
    if component.is_dram and cluster != 1:
        read.fault("a DRAM cannot be clustered", "cluster_size", cluster, "1")
    capacity = _capacity_words(read, component, word_bits, block)
    bandwidth = read.real(("bandwidth",))
    half = None if bandwidth is None else bandwidth / 2
    reads, writes, shared = (read.real((f"{kind}_bandwidth",)) for kind in ("read", "write", "shared"))
    scale = _bandwidth_scale(read)
    buffering = read.real(("multiple_buffering",)) or 1.0
    utilization = read.attributes.get("min_utilization") or 0.0
    if isinstance(utilization, bool) or not isinstance(utilization, (int, float)) or not 0 <= utilization <= 1:
        read.fault("must be a share", "min_utilization", utilization, "0 to 1")
        utilization = 0.0
    if utilization and capacity is None:
        read.fault("needs a level of limited size", "min_utilization", utilization)
    stated = read.attributes.get("vector_access_energy")
    if stated is not None and (isinstance(stated, bool) or not isinstance(stated, (int, float)) or not stated >= 0):
        read.fault("must be an energy in pJ", "vector_access_energy", stated, "0 or more")
    network = _network(read, component, word_bits)
    latencies = [read.whole((key,), 0) or 0 for key in ("network_fill_latency", "network_drain_latency")]
    reduces = read.attributes.get("reduction_supported")
    if reduces is not None and not isinstance(reduces, bool):
        read.fault("must be true or false", "reduction_supported", reduces)
    faults += read.faults
    if read.faults:
        return None
    return StorageLevel(
        component.name,
        component.path,
        component.model,
        capacity,
        word_bits,
        block,
        cluster,
        *component.mesh,
        read_bandwidth_words=reads or half,
        write_bandwidth_words=writes or half,
        shared_bandwidth_words=shared,
        multiple_buffering=buffering,
        min_utilization=float(utilization),
        attributes=plain({**component.inherited, **component.attributes}),
        timeloop_class="" if component.klass == component.model else component.klass,
        bandwidth_scale=scale,
        network=network,
        latency_cycles=sum(latencies),
    )


def _bandwidth_scale(read: _Reader) -> tuple[tuple[str, float], ...]:
    """Return how much words count in bandwidths by data space, as Timeloop 4 does."""
    key = "per_dataspace_bandwidth_consumption_scale"
    stated = read.attributes.get(key)
    if stated is None:
        return ()
    if not isinstance(stated, Mapping):
        read.fault("must be numbers by data space", key, stated)
        return ()
    for space, value in stated.items():
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < float("inf"):
            read.fault("must be a positive number", f"{key}.{space}", value)
    return tuple((str(space), float(value)) for space, value in stated.items()) if not read.faults else ()


def network_of(component: Component, faults: list[Fault]) -> Network:
    """Return the network that a component is; add what is wrong with it.

    Source: Timeloop ``src/model/network-legacy.cpp``, ``network-reduction-tree.cpp`` and
    ``network-simple-multicast.cpp``, each ``ParseSpecs``.
    """
    read = _Reader(component, STORAGE)
    name = component.name
    # Timeloop reads the latency of draining, and counts that of filling both ways (``DrainLatency``).
    latency = read.whole(("fill_latency",), 0) or 0
    read.whole(("drain_latency",), 0)
    if component.klass == "ReductionTree":
        if _energies(read, ("wire_energy",))["wire_energy"]:
            text = "wires of this class have lengths that Timeloop takes from areas"
            read.fault(text, "wire_energy", read.attributes["wire_energy"], "0")
        if component.exact_spelling and "adder-energy" not in component.attributes:
            read.attributes.pop("adder_energy", None)
        found = Network(TREE, name, adder_pj=_energies(read, ("adder_energy",))["adder_energy"])
    elif component.klass == "SimpleMulticast":
        action = read.attributes.get("action_name")
        if action is None:
            read.fault("names no action, where Timeloop ends", "action_name")
        # Timeloop asks whether the key is there, not what it says.
        each = isinstance(read.attributes.get("per_datatype_ERT"), bool)
        argument = str(read.attributes.get("multicast_factor_argument") or "")
        found = Network(MULTICAST, name, action=str(action), argument=argument, by_data_space=each)
    else:
        mesh = _network(read, component, read.whole(_WORD_BITS) or DEFAULT_WORD_BITS)
        found = replace(mesh, name=name)
    faults += read.faults
    return replace(found, latency_cycles=latency)


def _energies(read: _Reader, keys: Iterable[str]) -> dict[str, float]:
    """Return energies [pJ] that a network states, 0 without."""
    found = {}
    for key in keys:
        value = read.attributes.get(key)
        found[key] = 0.0
        if isinstance(value, bool) or not (value is None or (isinstance(value, (int, float)) and 0 <= value < 1e300)):
            read.fault("must be an energy in pJ", key, value, "0 or more")
        elif value is not None:
            found[key] = float(value)
    return found


def _network(read: _Reader, component: Component, word_bits: int) -> Network:
    """Return the mesh to the next inner node.

    Source: Timeloop ``src/model/network-legacy.cpp``, ``LegacyNetwork::ParseSpecs`` and ``WireEnergyPerHop``.
    """
    found = _energies(read, ("energy_per_hop", "router_energy", "energy_per_ingress", "wire_energy"))
    wired = bool(found["wire_energy"]) and read.attributes.get("energy_per_hop") is None
    for key, known in _SPELLED_BY_TIMELOOP_4.items():
        counts = wired if key == "network-word-bits" else bool(found["energy_per_ingress"])
        if counts and key in component.attributes and not component.exact_spelling:
            read.fault("Timeloop 4 does not read this spelling", key, component.attributes[key], known)
    width_um = read.real(("tile_width",))
    bits = read.whole(("network_word_bits",)) or word_bits
    if read.attributes.get("energy_per_hop") is None and found["wire_energy"]:
        if width_um is None:
            text = "wires have no length without a tile-width, which Timeloop then takes from areas"
            read.fault(text, "wire_energy", found["wire_energy"], "0, or with tile-width [um]")
        else:
            found["energy_per_hop"] = bits * (width_um / 1000) * found["wire_energy"]
    kind = read.attributes.get("network_type")
    if kind not in (None, *_NETWORK_TYPES):
        read.fault("is no type of networks that Timeloop knows", "network-type", kind, ", ".join(_NETWORK_TYPES))
    energies = (found["energy_per_hop"], found["router_energy"], found["energy_per_ingress"])
    return Network(MESH, "", *energies, spreads=kind == _NETWORK_TYPES[-1])


def _block_and_cluster(read: _Reader, word_bits: int) -> tuple[int, int]:
    """Return words a block and instances a cluster; what of the two is not given follows from a given width."""
    block_given, cluster_given = read.whole(_BLOCK), read.whole(("cluster_size",))
    block, cluster = block_given or 1, cluster_given or 1
    width = read.whole(_WIDTH)
    if width is None or read.faults:
        return block, cluster
    key = next(k for k in _WIDTH if read.attributes.get(k) is not None)
    if width % (word_bits * block):
        read.fault(f"is no multiple of {word_bits} bits a word times {block} words a block", key, width)
    elif block_given and cluster_given:
        if block * word_bits * cluster != width:
            text = f"block size {block} * word bits {word_bits} * cluster size {cluster} is not the width"
            read.fault(text, key, width, str(block * word_bits * cluster))
    elif block_given:
        cluster = width // (word_bits * block)
    elif width % (word_bits * cluster):
        read.fault(f"is no multiple of {word_bits} bits a word times cluster size {cluster}", key, width)
    else:
        block = width // cluster // word_bits
    return block, cluster


def _check_metadata(read: _Reader) -> None:
    """Add a fault where Timeloop ends although dense tensors have no metadata: its row must hold whole blocks."""
    bits = read.whole(("metadata_datawidth", "metadata_word_bits"), 0) or 0
    block, width = read.whole(("metadata_block_size",)) or 1, read.whole(("metadata_storage_width",), 0) or 0
    if bits and width % (bits * block):
        read.fault(f"is no multiple of {bits} bits times {block} words a block", "metadata_storage_width", width)


def _capacity_words(read: _Reader, component: Component, word_bits: int, block: int) -> int | None:
    # A level of no size may stand for a fan-out; no mapping stores anything there.
    entries, depth, kilobytes = read.whole(("entries",), 0), read.whole(_DEPTH, 0), read.whole(("sizeKB",))
    if kilobytes is not None and (entries is not None or depth is not None):
        other = next(k for k in ("entries", *_DEPTH) if read.attributes.get(k) is not None)
        text = f"the size is given twice, here and by {other}: Timeloop ends with an error"
        read.fault(text, "sizeKB", kilobytes, "one of the two")
    if entries is not None:
        return entries
    if depth is not None:
        return None if component.is_dram and depth >= UNLIMITED_DEPTH else depth * block
    return None if kilobytes is None else kilobytes * 1024 * 8 // word_bits


def compute_level(component: Component, faults: list[Fault]) -> ComputeLevel | None:
    """Return the compute level that Timeloop makes of a component; add what is wrong to ``faults``."""
    read = _Reader(component, COMPUTE)
    word_bits = read.whole(_WORD_BITS) or DEFAULT_WORD_BITS
    faults += read.faults
    if read.faults:
        return None
    given = plain({**component.inherited, **component.attributes})
    return ComputeLevel(component.name, component.path, component.model, word_bits, *component.mesh, attributes=given)


def plain(attributes: Mapping[str, Any]) -> dict[str, Attribute]:
    """Return the scalar attributes as plain Python values."""
    result: dict[str, Attribute] = {}
    for key, value in attributes.items():
        if isinstance(value, str):
            result[str(key)] = str(value)
        elif value is None or isinstance(value, (bool, int, float)):
            result[str(key)] = value
    return result
