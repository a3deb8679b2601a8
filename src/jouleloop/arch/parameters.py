"""From a node's attributes to a storage or compute level, the way Timeloop derives sizes, blocks and bandwidths.

Source: Timeloop ``src/model/buffer.cpp`` (``BufferLevel::ParseSpecs``) and ``src/model/arithmetic.cpp``.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from jouleloop.arch.architecture import Attribute, ComputeLevel, StorageLevel
from jouleloop.errors import Fault
from jouleloop.files import is_whole

DEFAULT_WORD_BITS = 16

#: Depth from which on a DRAM counts as unlimited: the largest that Timeloop can read.
UNLIMITED_DEPTH = 2**32 - 1

#: Parts of class names that make a node storage, compute or a network (Timeloop ``isBufferClass`` and its kin).
STORAGE_CLASSES = ("DRAM", "SRAM", "regfile", "smartbuffer", "storage")
COMPUTE_CLASSES = ("mac", "intmac", "fpmac", "compute")
NETWORK_CLASSES = ("XY_NoC", "Legacy", "ReductionTree", "SimpleMulticast", "Network", "NoC")

#: Spellings of each attribute, hyphens as underscores, in the order in which Timeloop looks them up.
_WORD_BITS = ("word_bits", "word_width", "datawidth")
_BLOCK = ("block_size", "n_words")
_WIDTH = ("width", "memory_width", "data_storage_width")
_DEPTH = ("depth", "memory_depth", "data_storage_depth")

#: Attributes that set sizes, shares and bandwidths of a level.
SIZES = (
    *_WORD_BITS,
    *_BLOCK,
    *_WIDTH,
    *_DEPTH,
    "entries",
    "sizeKB",
    "cluster_size",
    "bandwidth",
    "read_bandwidth",
    "write_bandwidth",
    "shared_bandwidth",
    "multiple_buffering",
    "min_utilization",
)

#: Attributes that change what is counted in a way the model does not follow, and the values that do no harm.
_UNSUPPORTED: dict[str, tuple[object, ...]] = {
    "network_fill_latency": (0, None),
    "network_drain_latency": (0, None),
    "reduction_supported": (True, 1, None),
    "allow_overbooking": (False, 0, None),
    "metadata_storage_width": (0, None),
    "metadata_storage_depth": (0, None),
    "metadata_datawidth": (0, None),
    "concordant_compressed_tile_traversal": (False, 0, None),
    "tile_partition_supported": (False, 0, None),
    "decompression_supported": (False, 0, None),
    "compression_supported": (False, 0, None),
    "per_dataspace_bandwidth_consumption_scale": (None,),
    "network_read": (None,),
    "network_fill": (None,),
    "network_drain": (None,),
    "network_update": (None,),
}


def canonical(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """Return the attributes with hyphens in their names as underscores."""
    return {str(key).replace("-", "_"): value for key, value in attributes.items()}


def kind_of(klass: str) -> str | None:
    """Return ``storage``, ``compute``, ``network`` or None for a component class."""
    for kind, parts in (("storage", STORAGE_CLASSES), ("compute", COMPUTE_CLASSES), ("network", NETWORK_CLASSES)):
        if any(part in klass for part in parts):
            return kind
    return "nothing" if "nothing" in klass.lower() else None


class _Reader:
    """Looks attributes up by their spellings and collects what is wrong with them."""

    def __init__(self, where: str, source: str, attributes: Mapping[str, Any]) -> None:
        self.where, self.source = where, source
        self.attributes = canonical(attributes)
        self.faults: list[Fault] = []

    def fault(self, message: str, key: str = "", value: object = None, allowed: str | None = None) -> None:
        self.faults.append(Fault(message, self.source, f"{self.where}.{key}" if key else self.where, value, allowed))

    def whole(self, keys: Iterable[str], minimum: int = 1) -> int | None:
        for key in keys:
            value = self.attributes.get(key)
            if value is None:
                continue
            if not is_whole(value) or value < minimum or value > 2**62:
                self.fault("must be a whole number", key, value, f"at least {minimum}")
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


def storage_level(
    name: str,
    path: str,
    klass: str,
    attributes: Mapping[str, Any],
    mesh: tuple[int, int],
    *,
    source: str,
    faults: list[Fault],
) -> StorageLevel | None:
    """Return the storage level that Timeloop makes of these attributes; add what is wrong to ``faults``.

    Size in words = ``entries``, or ``depth`` times the block size, or ``sizeKB`` * 8192 / word bits; without any of
    them it is unlimited. Where a width is given, block size = width / (word bits * cluster size), or the cluster size
    follows from a given block size.
    """
    read = _Reader(f"{name}.attributes", source, attributes)
    word_bits = read.whole(_WORD_BITS) or DEFAULT_WORD_BITS
    block_given, cluster_given = read.whole(_BLOCK), read.whole(("cluster_size",))
    block, cluster = block_given or 1, cluster_given or 1
    width = read.whole(_WIDTH)
    if width is not None and not read.faults:
        key = next(k for k in _WIDTH if read.attributes.get(k) is not None)
        if width % (word_bits * block):
            read.fault(f"is no multiple of {word_bits} bits a word times {block} words a block", key, width)
        elif block_given and cluster_given:
            if block * word_bits * cluster != width:
                text = f"block size {block} * word bits {word_bits} * cluster size {cluster} is not the width"
                read.fault(text, key, width, str(block * word_bits * cluster))
        elif block_given:
            cluster = width // (word_bits * block)
        else:
            if width % (word_bits * cluster):
                read.fault(f"is no multiple of {word_bits} bits a word times cluster size {cluster}", key, width)
            block = max(width // cluster // word_bits, 1)
    is_dram = "DRAM" in klass or read.attributes.get("technology") == "DRAM"
    if is_dram and cluster != 1:
        read.fault("a DRAM cannot be clustered", "cluster_size", cluster, "1")
    capacity = read.whole(("entries",))
    if capacity is None:
        depth = read.whole(_DEPTH)
        kilobytes = read.whole(("sizeKB",))
        if depth is not None:
            capacity = None if is_dram and depth >= UNLIMITED_DEPTH else depth * block
        elif kilobytes is not None:
            capacity = kilobytes * 1024 * 8 // word_bits
    bandwidth = read.real(("bandwidth",))
    half = None if bandwidth is None else bandwidth / 2
    buffering = read.real(("multiple_buffering",)) or 1.0
    utilization = read.attributes.get("min_utilization") or 0.0
    if isinstance(utilization, bool) or not isinstance(utilization, (int, float)) or not 0 <= utilization <= 1:
        read.fault("must be a share", "min_utilization", utilization, "0 to 1")
        utilization = 0.0
    if utilization and capacity is None:
        read.fault("needs a level of limited size", "min_utilization", utilization)
    if capacity is not None and not read.faults and int(capacity / buffering) < 1:
        read.fault("leaves no room for a single word", "multiple_buffering", buffering)
    refuse_unsupported(read)
    faults += read.faults
    if read.faults:
        return None
    return StorageLevel(
        name,
        path,
        klass,
        capacity,
        word_bits,
        block,
        cluster,
        *mesh,
        read_bandwidth_words=read.real(("read_bandwidth",)) or half,
        write_bandwidth_words=read.real(("write_bandwidth",)) or half,
        shared_bandwidth_words=read.real(("shared_bandwidth",)),
        multiple_buffering=buffering,
        min_utilization=float(utilization),
        attributes=plain(attributes),
    )


def compute_level(
    name: str,
    path: str,
    klass: str,
    attributes: Mapping[str, Any],
    mesh: tuple[int, int],
    *,
    source: str,
    faults: list[Fault],
) -> ComputeLevel | None:
    """Return the compute level that Timeloop makes of these attributes; add what is wrong to ``faults``."""
    read = _Reader(f"{name}.attributes", source, attributes)
    word_bits = read.whole(_WORD_BITS) or DEFAULT_WORD_BITS
    refuse_unsupported(read)
    faults += read.faults
    return None if read.faults else ComputeLevel(name, path, klass, word_bits, *mesh, attributes=plain(attributes))


def refuse_unsupported(read: _Reader) -> None:
    """Add a fault for every attribute that would change the counts and that the model does not follow."""
    for key, harmless in _UNSUPPORTED.items():
        value = read.attributes.get(key)
        if value in harmless or value == {}:
            continue
        read.fault("is not supported by the model", key, value)


def plain(attributes: Mapping[str, Any]) -> dict[str, Attribute]:
    """Return the scalar attributes as plain Python values."""
    result: dict[str, Attribute] = {}
    for key, value in attributes.items():
        if isinstance(value, str):
            result[str(key)] = str(value)
        elif value is None or isinstance(value, (bool, int, float)):
            result[str(key)] = value
    return result
