"""Every attribute of a component that Timeloop 3.0.3 reads, and whether the model counts it or must refuse it.

Source: Timeloop 3.0.3 ``src/model/buffer.cpp`` (``BufferLevel::ParseSpecs``), ``src/model/arithmetic.cpp``
(``ArithmeticUnits::ParseSpecs``) and ``src/model/network-legacy.cpp`` (``LegacyNetwork::ParseSpecs``, which reads the
attributes of the storage that the network leaves from).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

STORAGE, COMPUTE = "storage", "compute"


@dataclass(frozen=True)
class Known:
    """One attribute that Timeloop reads.

    Attributes
    ----------
    spellings
        Keys that Timeloop 3.0.3 itself looks up, in its order.
    kinds
        Components that it is read from.
    refused
        Why the model cannot follow it; empty where it is counted, or where it changes nothing in Timeloop either.
    harmless
        Values with which a refused attribute changes nothing.
    counted
        Whether it changes what is counted.
    default
        Value without it, for counted ones.
    """

    spellings: tuple[str, ...]
    kinds: tuple[str, ...] = (STORAGE,)
    refused: str = ""
    harmless: tuple[object, ...] = ()
    counted: bool = False
    default: float | None = None

    @property
    def sizes(self) -> bool:
        """Whether it sets sizes, shares or bandwidths of a level, rather than its place or its energy."""
        return self.counted and self.spellings[0] not in _PLACE


#: Counted attributes that set no size.
_PLACE = (
    *("technology", "instances", "meshX", "meshY", "vector-access-energy", "reduction_supported"),
    *("router-energy", "wire-energy", "energy-per-hop", "energy-per-ingress", "tile-width", "network-word-bits"),
    *("network-type", "network_fill_latency", "network_drain_latency", "per_dataspace_bandwidth_consumption_scale"),
)


def canonical_name(key: str) -> str:
    """Return an attribute's name with hyphens as underscores."""
    return key.replace("-", "_")


def canonical(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """Return the attributes with hyphens in their names as underscores."""
    return {canonical_name(str(key)): value for key, value in attributes.items()}


_BOTH = (STORAGE, COMPUTE)
_SPARSE = "sparse tensors are not supported by the model"

#: Counted as Timeloop counts them.
_COUNTED = (
    Known(("word-bits", "word_width", "datawidth"), _BOTH, counted=True, default=16),
    Known(("block-size", "block_size", "n_words"), counted=True, default=1),
    Known(("cluster-size",), counted=True, default=1),
    Known(("width", "memory_width", "data_storage_width"), counted=True),
    Known(("entries",), counted=True),
    Known(("depth", "memory_depth", "data_storage_depth"), counted=True),
    Known(("sizeKB",), counted=True),
    Known(("technology",), counted=True),
    Known(("bandwidth",), counted=True),
    Known(("read_bandwidth",), counted=True),
    Known(("write_bandwidth",), counted=True),
    Known(("shared_bandwidth",), counted=True),
    Known(("multiple-buffering",), counted=True, default=1),
    Known(("min-utilization",), counted=True, default=0),
    Known(("instances",), _BOTH, counted=True),
    Known(("meshX",), _BOTH, counted=True),
    Known(("meshY",), _BOTH, counted=True),
    Known(("vector-access-energy",), counted=True),
    Known(("reduction_supported",), counted=True),
    Known(("router-energy",), counted=True, default=0),
    Known(("wire-energy",), counted=True, default=0),
    Known(("energy-per-hop",), counted=True, default=0),
    Known(("energy-per-ingress",), counted=True, default=0),
    Known(("tile-width",), counted=True),
    Known(("network-word-bits",), counted=True),
    Known(("network-type",), counted=True),
    Known(("network_fill_latency",), counted=True, default=0),
    Known(("network_drain_latency",), counted=True, default=0),
)

#: Refused unless harmless: they change counts, energies or cycles in ways that the model and its search do not follow.
_REFUSED = (
    Known(("addr-gen-energy",), refused="energy of address generation is not counted", harmless=(0,)),
    Known(("allow_overbooking",), refused="overbooking is not supported by the model", harmless=(False, 0)),
    Known(("tile_partition_supported",), refused=_SPARSE, harmless=(False, 0)),
    Known(("num-ports", "n_ports"), refused="Timeloop ends with an error", harmless=(1, 2)),
)

#: Read by Timeloop, with no effect on any count, energy or cycle once energies are given; networks that levels name are
#: checked in `jouleloop.arch.networks`.
_NEUTRAL = (
    Known(("network_read",)),
    Known(("network_fill",)),
    Known(("network_drain",)),
    Known(("network_update",)),
    Known(("network_operand",), (COMPUTE,)),
    Known(("network_result",), (COMPUTE,)),
    Known(("fill_latency",)),
    Known(("drain_latency",)),
    Known(("num-banks", "n_banks")),
    Known(("cluster-area",)),
    Known(("metadata_storage_width",)),
    Known(("metadata_storage_depth",)),
    Known(("metadata_datawidth", "metadata_word_bits")),
    Known(("metadata_block_size",)),
    Known(("concordant_compressed_tile_traversal",)),
    Known(("decompression_supported",)),
    Known(("compression_supported",)),
    Known(("energy",), (COMPUTE,)),
    Known(("area",), (COMPUTE,)),
)

#: Every attribute that Timeloop 3.0.3 reads from storage and compute.
KNOWN = (*_COUNTED, *_REFUSED, *_NEUTRAL)

#: What later versions of Timeloop read, or its front end, and the model does not follow.
LATER = (Known(("per_dataspace_bandwidth_consumption_scale",), counted=True),)

#: By canonical name of each spelling.
BY_NAME: Mapping[str, Known] = {
    canonical_name(spelling): known for known in (*KNOWN, *LATER) for spelling in known.spellings
}


def is_harmless(known: Known, value: Any) -> bool:
    """Whether a refused attribute changes nothing with this value."""
    if value is None or value == {}:
        return True
    return any(value == good and isinstance(value, str) == isinstance(good, str) for good in known.harmless)
