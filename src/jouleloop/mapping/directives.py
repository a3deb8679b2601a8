"""The small languages inside Timeloop's directives: factors, permutations and lists of data spaces."""

import logging
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from jouleloop.arch.architecture import Architecture
from jouleloop.errors import Fault, unknown
from jouleloop.files import is_whole

_FACTOR = re.compile(r"\s*([A-Za-z][A-Za-z0-9]*?)\s*(<=|>=|==|=|<|>)?\s*(-?\d+)(?:,(\d+))?\s*")
_SIGNED = re.compile(r"\s*([A-Za-z]\w*)\s*(?:<=|>=|=)?\s*-\d+\s*")
_LOG = logging.getLogger("jouleloop.mapping")

#: Types of directives that the front end of v0.4 alone knows.
_FRONT_END_TYPES = ("dataspace",)
#: What Timeloop itself passes over, or ends with an error at, in a text of factors or of a permutation.
_FRONT_END_TEXT = {"factors": re.compile(r"[<>](?!=)"), "permutation": re.compile(r"[,*]")}


def front_end_faults(directive: Mapping[str, Any], front_end_keys: Sequence[str], where: str) -> list[Fault]:
    """Return a fault for all that only the front end of v0.4 reads in a directive, and Timeloop 3.0.3 itself does not.

    Timeloop looks factors and permutations up as texts and passes over lists (``src/mapping/parser.cpp``,
    ``src/mapping/constraints.cpp``).
    """
    faults: list[Fault] = []
    if directive.get("type") in _FRONT_END_TYPES:
        faults.append(Fault("is no type that Timeloop 3.0.3 knows", None, where, directive["type"], "datatype, bypass"))
    for key in front_end_keys:
        if key in directive:
            faults.append(Fault(f"Timeloop 3.0.3 does not read {key}", None, where, directive[key], "no such key"))
    for key, strange in _FRONT_END_TEXT.items():
        value = directive.get(key)
        if isinstance(value, (list, tuple, Mapping)) and value:
            text = f"{key} must be a text: Timeloop 3.0.3 passes over a list"
            faults.append(
                Fault(text, None, where, value, "such as C=4 M<=16" if key == "factors" else "such as RSC_PQ")
            )
        elif isinstance(value, str) and strange.search(value.split("#")[0]):
            known = "=, <= and >=" if key == "factors" else "letters and _"
            faults.append(Fault(f"{key} is no text that Timeloop 3.0.3 reads", None, where, value, known))
    return faults


@dataclass
class Factors:
    """Factors by dimension: exact (0 stands for the whole dimension), upper and lower limits, residual ends."""

    exact: dict[str, int] = field(default_factory=dict)
    at_most: dict[str, int] = field(default_factory=dict)
    at_least: dict[str, int] = field(default_factory=dict)
    residual: dict[str, int] = field(default_factory=dict)
    signed: set[str] = field(default_factory=set)
    """Dimensions with a sign, such as ``P=-1``: the front end of v0.4 takes them as given, Timeloop as open."""


def level_named(arch: Architecture, name: str, kind: str, where: str, faults: list[Fault], what: str) -> str | None:
    """Return the level that a directive is for, by its own name or, of spatial loops, that of what fans out below it.

    None where there is none, with a fault that calls it ``what``, or where the front end drops what is said.
    """
    level = arch.fanout_names.get(name, name) if kind == "spatial" and name not in arch.level_names else name
    if level in arch.idle:
        _LOG.warning("%s: passed over, as by Timeloop's front end: nothing fans out there", where)
        return None
    if level not in arch.level_names:
        faults.append(unknown(level, dict.fromkeys((*arch.level_names, *arch.fanout_names)), what, field=where))
        return None
    return level


def parse_factors(
    value: Any, dimensions: Sequence[str], where: str, faults: list[Fault], *, residuals: bool = False
) -> Factors:
    """Return the factors written as ``N=1 C=0 M<=4``, ``C4 M2``, ``[N=1, "M<=4"]`` or ``{N: 1, C: 0}``.

    ``residuals``: whether ``C=16,13`` may state a residual end, as it does in a mapping.

    Source: Timeloop ``src/mapping/constraints.cpp``, ``ParseFactors``, ``ParseMaxFactors`` and ``ParseMinFactors``.
    """
    result = Factors()
    if value is None:
        return result
    if isinstance(value, dict):
        items: list[Any] = [f"{key}={number}" for key, number in value.items()]
    else:
        items = list(value) if isinstance(value, (list, tuple)) else [value]
    for item in items:
        text = "".join(map(str, item)) if isinstance(item, (list, tuple)) else str(item)
        text = text.split("#")[0]
        if not residuals and re.search(r"\d\s*,\s*\d", text):
            faults.append(Fault("only a mapping states residual ends", field=where, value=text))
            continue
        for part in re.split(r",(?!\s*\d)|(?<=\d)\s+(?=[A-Za-z])", text.strip()):
            if not residuals and (signed := _SIGNED.fullmatch(part)):
                result.signed.add(signed[1])
                _LOG.warning("%s: %s passed over, as by Timeloop, whose factors have no sign", where, part.strip())
            elif part.strip():
                _add(part, result, dimensions, where, faults)
    for dimension in set(result.at_most) & set(result.at_least):
        if result.at_least[dimension] > result.at_most[dimension]:
            text = f"{dimension}>={result.at_least[dimension]} contradicts {dimension}<={result.at_most[dimension]}"
            faults.append(Fault(text, field=where))
    for dimension, number in result.exact.items():
        high, low = result.at_most.get(dimension), result.at_least.get(dimension)
        if number and ((high is not None and number > high) or (low is not None and number < low)):
            limit = f"<={high}" if high is not None and number > high else f">={low}"
            faults.append(Fault(f"{dimension}={number} contradicts {dimension}{limit}", field=where))
    return result


def _add(part: str, result: Factors, dimensions: Sequence[str], where: str, faults: list[Fault]) -> None:
    match = _FACTOR.fullmatch(part)
    if not match:
        faults.append(Fault("is no factor", field=where, value=part.strip(), allowed="such as C=4, M<=16 or R=0"))
        return
    name, sign, number = match[1], match[2] or "=", int(match[3])
    if name not in dimensions:
        faults.append(unknown(name, dimensions, "dimension", field=where))
        return
    if sign in ("<", ">"):
        number += -1 if sign == "<" else 1
    kind = result.exact if sign in ("=", "==") else result.at_most if "<" in sign else result.at_least
    least = 0 if kind is result.exact else 1
    if number < least:
        faults.append(Fault("is too small a factor", field=where, value=part.strip(), allowed=f"at least {least}"))
    elif kind.get(name, number) != number:
        faults.append(Fault(f"gives {name} two different factors", field=where, value=part.strip()))
    else:
        kind[name] = number
        if match[4]:
            result.residual[name] = int(match[4])


def parse_permutation(
    value: Any, dimensions: Sequence[str], where: str, faults: list[Fault]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the dimensions pinned innermost and those pinned outermost, both innermost first.

    Takes ``NPQR SCM``, ``RSC_PQ``, ``C,M`` or a list; what follows ``_`` or ``*`` is outermost.
    """
    names: list[str] = []
    if value is None:
        return (), ()
    if isinstance(value, str):
        text = value.split("#")[0].strip()
        if "," in text:
            names = [part.strip() for part in text.split(",") if part.strip()]
        elif text in dimensions:
            names = [text]
        else:
            words = text.split()
            many = len(words) > 1 and all(word in dimensions or word in "_*" for word in words)
            names = words if many else [character for character in text if not character.isspace()]
    elif isinstance(value, (list, tuple)):
        names = [str(part).strip() for part in value]
    else:
        faults.append(Fault("is no permutation", field=where, value=value, allowed="such as RSCMN or [R, S, C]"))
    inner: list[str] = []
    outer: list[str] = []
    target = inner
    for name in names:
        if name in ("_", "*"):
            if target is outer:
                faults.append(Fault("has two separators", field=where, value=value))
            target = outer
        elif name not in dimensions:
            faults.append(unknown(name, dimensions, "dimension", field=where))
        elif name in inner or name in outer:
            faults.append(Fault(f"names {name} twice", field=where, value=value))
        else:
            target.append(name)
    return tuple(inner), tuple(outer)


def parse_names(value: Any, known: Sequence[str], where: str, faults: list[Fault]) -> list[str]:
    """Return a list of data spaces; ``*`` stands for all of them."""
    if value is None:
        return []
    items = [value] if isinstance(value, str) else value
    if not isinstance(items, (list, tuple)):
        faults.append(Fault("must be a list of data spaces", field=where, value=value))
        return []
    result: list[str] = []
    for item in items:
        names = list(known) if item in ("*", "All", "all") else [str(item)]
        for name in names:
            if name not in known:
                faults.append(unknown(name, known, "data space", field=where))
            elif name not in result:
                result.append(name)
    return result


def parse_split(value: Any, where: str, faults: list[Fault]) -> int | None:
    """Return how many positions of a spatial permutation lie along X, or None where it is not given."""
    if value is None:
        return None
    if not is_whole(value) or value < 0:
        faults.append(Fault("must be a whole number", field=where, value=value, allowed="0 or more"))
        return None
    return int(value)
