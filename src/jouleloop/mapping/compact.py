"""Reads the one-line form of a mapping, as tables hold it: ``DRAM P57 Q57 | GLB M4X``."""

import re
from collections.abc import Collection, Iterable
from collections.abc import Mapping as Table
from typing import Any

from jouleloop.errors import Fault, MappingError
from jouleloop.mapping.mapping import LevelMapping, Mapping, close_mapping

_LOOP = re.compile(r"([A-Za-z]+?)(\d+)(?:,(\d+))?([XY]?)")


def parse_compact(text: str, keep: Table[str, Collection[str]]) -> Mapping:
    """Return the mapping that `Mapping.compact` has written as ``text``.

    Raises `MappingError` where the text is no such line, or names a level that ``keep`` does not.

    Parameters
    ----------
    keep
        Names of the data spaces stored at each level, which the one-line form does not tell.
    """
    levels = []
    ends = []
    faults = []
    for part in text.split(" | "):
        name, *loops = part.split(" ")
        found = [_LOOP.fullmatch(loop) for loop in loops]
        if name not in keep:
            faults.append(Fault("unknown level", value=name, allowed=", ".join(keep)))
        if not all(found):
            wrong = next(loop for loop, match in zip(loops, found, strict=True) if not match)
            faults.append(
                Fault(
                    "not a loop",
                    field=name,
                    value=wrong,
                    allowed="dimension and bound, then X or Y, such as C4, C16,13 or M4X",
                )
            )
        if faults:
            continue
        loops_of = [match.groups() for match in found if match]
        temporal = tuple((d, int(bound)) for d, bound, _, axis in loops_of if not axis)
        spatial = tuple((d, int(bound), axis) for d, bound, _, axis in loops_of if axis)
        levels.append(LevelMapping(name, temporal, spatial, frozenset(keep[name])))
        by_kind = [
            [int(end) if end else None for *_, end, axis in loops_of if bool(axis) is at] for at in (False, True)
        ]
        ends.append((by_kind[0], by_kind[1]))
    if faults:
        raise MappingError(faults)
    return close_mapping(levels, ends)


def kept_text(levels: Iterable[Table[str, Any]]) -> str:
    """Return what the levels of a stored mapping keep, as one line: ``DRAM Inputs+Weights | GLB Inputs``."""
    return " | ".join(" ".join([level["level"], "+".join(sorted(level["keep"]))]).strip() for level in levels)


def parse_kept(text: str) -> dict[str, frozenset[str]]:
    """Return the data spaces that each level keeps, from what `kept_text` wrote."""
    parts = [part.partition(" ") for part in text.split(" | ")] if text else []
    return {level: frozenset(filter(None, spaces.split("+"))) for level, _, spaces in parts}
