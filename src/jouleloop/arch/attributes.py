"""Every attribute of a component that Timeloop 3.0.3 reads, and whether the model counts it or must refuse it.

Source: Timeloop 3.0.3 ``src/model/buffer.cpp`` (``BufferLevel::ParseSpecs``), ``src/model/arithmetic.cpp``
(``ArithmeticUnits::ParseSpecs``) and ``src/model/network-legacy.cpp`` (``LegacyNetwork::ParseSpecs``, which reads the
attributes of the storage that the network leaves from).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jouleloop.files import read_yaml

STORAGE, COMPUTE = "storage", "compute"


@dataclass(frozen=True)
class KnownAttribute:
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
    sizes
        Whether it sets sizes, shares or bandwidths of a level, rather than its place or its energy.
    later
        Whether only later versions of Timeloop read it, or their front end.
    """

    spellings: tuple[str, ...]
    kinds: tuple[str, ...] = (STORAGE,)
    refused: str = ""
    harmless: tuple[object, ...] = ()
    counted: bool = False
    default: float | None = None
    sizes: bool = False
    later: bool = False


def canonical_name(key: str) -> str:
    """Return an attribute's name with hyphens as underscores."""
    return key.replace("-", "_")


def canonical(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """Return the attributes with hyphens in their names as underscores."""
    return {canonical_name(str(key)): value for key, value in attributes.items()}


def _known(row: Mapping[str, Any]) -> KnownAttribute:
    fields: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in row.items()}
    return KnownAttribute(**fields)


_DECLARED = [_known(row) for row in read_yaml(Path(__file__).with_name("attributes.yaml"))]

#: Every attribute that Timeloop 3.0.3 reads from storage and compute.
KNOWN = tuple(known for known in _DECLARED if not known.later)

#: By canonical name of each spelling.
BY_NAME: Mapping[str, KnownAttribute] = {
    canonical_name(spelling): known for known in _DECLARED for spelling in known.spellings
}


def is_harmless(known: KnownAttribute, value: Any) -> bool:
    """Whether a refused attribute changes nothing with this value."""
    if value is None or value == {}:
        return True
    return any(value == good and isinstance(value, str) == isinstance(good, str) for good in known.harmless)
