"""What a level is told not to reuse: Timeloop's keywords in directives and constraints, by data space.

Timeloop's mappings carry them, whether they come from directives or from constraints (``src/mapping/parser.cpp``,
``src/mapping/constraints.cpp``). What each does: ``src/loop-analysis/nest-analysis.cpp`` (``ComputeDeltas``,
``ComputeAccurateMulticastedAccesses``, ``ComputeNetworkLinkTransfers``) and ``src/loop-analysis/tiling.cpp``
(``MaskTiles``, ``ComputeReadUpdateReductionAccesses_Legacy``).
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

from jouleloop.errors import Fault, unknown
from jouleloop.mapping.directives import parse_names


@dataclass(frozen=True)
class Reuse:
    """Data spaces that a level treats otherwise than all others."""

    no_temporal_reuse: frozenset[str] = frozenset()
    """The whole tile comes in at every step of the loops outside, moved or not."""
    no_multicast: frozenset[str] = frozenset()
    """Every instance below is sent its own words, though others take the same."""
    no_link_transfer: frozenset[str] = frozenset()
    """No instance below takes words from a neighbour."""
    rmw_first_update: frozenset[str] = frozenset()
    """Outputs are filled, and read before they are updated, the first time too. Timeloop 4 alone."""
    no_coalesce: frozenset[str] = frozenset()
    """Words pass through: the next level outside is accessed as often as this one. Timeloop 4 alone."""

    def __bool__(self) -> bool:
        """Whether any data space is treated otherwise."""
        return any(vars(self).values())

    @property
    def later(self) -> bool:
        """Whether a rule is among them that Timeloop 4 alone knows."""
        return bool(self.rmw_first_update or self.no_coalesce)

    def as_dict(self) -> dict[str, list[str]]:
        """Return the rules that are there as plain data."""
        return {rule: sorted(names) for rule, names in asdict(self).items() if names}


#: How nothing is treated otherwise.
ALL_REUSE = Reuse()

#: By type of directive: keyword, and the rules that it states. Timeloop 3.0.3 does not know those of the second table.
_KEYWORDS = {
    "temporal": {"no_temporal_reuse": "no_temporal_reuse"},
    "spatial": {"no_multicast_no_reduction": "no_multicast", "no_link_transfer": "no_link_transfer"},
    "bypass": {},
}
_LATER = {
    "temporal": {"no_reuse": "no_temporal_reuse", "rmw_first_update": "rmw_first_update"},
    "spatial": {"no_reuse": "no_multicast"},
    "bypass": {"no_coalesce": "no_coalesce"},
}

#: Keywords by type of directive.
REUSE_KEYS: dict[str, tuple[str, ...]] = {kind: (*_KEYWORDS[kind], *_LATER[kind]) for kind in _KEYWORDS}


def parse_reuse(
    directive: Mapping[str, Any], kind: str, spaces: Sequence[str], where: str, faults: list[Fault], *, plain: bool
) -> dict[str, frozenset[str]]:
    """Return the data spaces by rule that a directive or constraint of a type names.

    ``plain``: whether Timeloop 3.0.3 itself reads the design, so that only its keywords count.
    """
    found: dict[str, frozenset[str]] = {}
    for key, rule in (*_KEYWORDS[kind].items(), *_LATER[kind].items()):
        value = directive.get(key)
        if value is None:
            continue
        if not isinstance(value, (list, tuple)):
            faults.append(Fault("must be a list of data spaces: Timeloop passes over all else", None, where, value))
        elif plain and key in _LATER[kind]:
            text = f"Timeloop 3.0.3 does not read {key}"
            faults.append(Fault(text, None, where, value, ", ".join(_KEYWORDS[kind]) or "no such key"))
        else:
            # Timeloop 4 asks for ``no_reuse`` first, and passes over its older name beside it.
            found[rule] = frozenset(parse_names(value, spaces, f"{where}.{key}", faults))
    return found


def write_reuse(reuse: Reuse, kind: str, spaces: Sequence[str]) -> dict[str, list[str]]:
    """Return the keywords that state ``reuse`` in a directive or constraint of a type.

    Timeloop 4 reads the older name of ``no_reuse`` in constraints, but not in mappings, so both are written.
    """
    rules = {**_KEYWORDS[kind], **{key: rule for key, rule in _LATER[kind].items() if kind == "spatial" or reuse.later}}
    stated = {key: [name for name in spaces if name in getattr(reuse, rule)] for key, rule in rules.items()}
    return {key: names for key, names in stated.items() if names}


def reuse_from(stated: Any, spaces: Sequence[str], where: str, faults: list[Fault]) -> Reuse:
    """Return what `Reuse.as_dict` wrote."""
    known = [rule.name for rule in fields(Reuse)]
    if not isinstance(stated, Mapping):
        faults.append(Fault("must be rules with data spaces", None, where, stated, ", ".join(known)))
        return ALL_REUSE
    faults += [unknown(str(rule), known, "rule", field=where) for rule in stated if rule not in known]
    named = {rule: parse_names(stated[rule], spaces, f"{where}.{rule}", faults) for rule in known if rule in stated}
    return Reuse(**{rule: frozenset(names) for rule, names in named.items()})
