"""Sections that Timeloop's front end joins: of several files, and of names that only hold a section's name.

Source: ``timeloopfe/common/nodes.py`` (``DictNode.from_yaml_files``, ``Node.try_combine``) and
``timeloopfe/v4/specification.py`` (``part_name_match``) of timeloop-python, commit b8aaf2c.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from jouleloop.errors import Fault, InputError

#: Words by which a section is known, whatever else its name holds, in the order in which they are tried.
_WORDS = ("constraints", "mapping")
#: Lists that are put one after the other; two others have to be equal.
_LISTS = ("nodes", "targets", "classes", "factors", "mapping", "expression_custom_functions", "accelergy_plug_ins")


def is_front_end(data: Any) -> bool:
    """Whether data hold an architecture that the front end reads before Timeloop does."""
    top = data.get("architecture") if isinstance(data, Mapping) else None
    return isinstance(top, Mapping) and "nodes" in top


def joined_names(data: Mapping[str, Any], known: Iterable[str]) -> dict[str, Any]:
    """Return sections by their names, those of other names joined to the section whose name they hold.

    Raises `InputError` where two parts of a section contradict each other.
    """
    names = tuple(known)
    result: dict[str, Any] = {}
    for key, value in data.items():
        word = next((word for word in _WORDS if word in str(key)), None)
        name = key if word is None or key in names or "ignore" in str(key) else word
        result[name] = combined(result[name], value, str(name)) if name in result else value
    return result


def combined(mine: Any, other: Any, where: str) -> Any:
    """Return what the front end makes of two values of one key; raise `InputError` where they contradict each other."""
    if other in (None, {}, []) or mine == other:
        return mine
    if mine in (None, {}, []):
        return other
    if where == "variables" and (isinstance(mine, list) or isinstance(other, list)):
        return [*_parts(mine), *_parts(other)]
    if isinstance(mine, Mapping) and isinstance(other, Mapping):
        keys = dict.fromkeys([*mine, *other])
        return {
            key: combined(mine[key], other[key], f"{where}.{key}")
            if key in mine and key in other
            else mine.get(key, other.get(key))
            for key in keys
        }
    if isinstance(mine, list) and isinstance(other, list) and where.rpartition(".")[2] in _LISTS:
        return [*mine, *other]
    raise InputError(Fault("is stated twice, with different values", None, where, other, str(mine)[:200]))


def _parts(stated: Any) -> list[Any]:
    return stated if isinstance(stated, list) else [stated]
