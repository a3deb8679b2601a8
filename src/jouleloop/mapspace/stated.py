"""Factors, splits and capacities that a design states by expressions.

They are over the sizes of the layer, and over the design's own fan-outs. Timeloop's front end evaluates an item of a
list of factors, such as ``'C=' + str(row.get_fanout())``, and a split or capacity. We take an expression after the sign
as well: ``P=P//2``. Names are the dimensions, and ``spec.problem.instance``.
"""

import math
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from jouleloop.arch.architecture import Architecture
from jouleloop.documents.keywords import KEYWORDS
from jouleloop.errors import Fault, raise_all
from jouleloop.expressions import ExpressionError, evaluate, is_expression
from jouleloop.files import is_whole
from jouleloop.mapping.directives import parse_factors, parse_split
from jouleloop.mapspace.constraints import Constraints, LoopConstraint
from jouleloop.workload.problem import Problem

_FANOUT = re.compile(r"(\w+)\s*\.\s*get_fanout\(\s*\)")
_SIGNED = re.compile(r"\s*([A-Za-z]\w*)\s*(<=|>=|=)(?!=)(.*)", re.DOTALL)
_NUMBER = re.compile(r"\s*-?\d+(,\d+)?\s*(#.*)?")
#: Fields of the numbers that may be expressions, by keyword, in the order in which constraints hold these.
_WHOLE = {one.name: one.field for one in reversed(KEYWORDS) if one.by_sizes}
#: Expressions of a target by key, as they stand.
Stated = tuple[tuple[str, str], ...]


def take_stated(target: Mapping[str, Any]) -> tuple[Mapping[str, Any], Stated]:
    """Return a target without its expressions, and these."""
    found: list[tuple[str, str]] = []
    rest = dict(target)
    if isinstance(target.get("factors"), list):
        rest["factors"] = [item for item in target["factors"] if not _is_stated(item)]
        found += [("factors", item) for item in target["factors"] if _is_stated(item)]
    for key in _WHOLE:
        number = target.get(key)
        if isinstance(number, str) and not number.strip().isdigit() and is_expression(_FANOUT.sub("1", number)):
            found.append((key, rest.pop(key)))
    return rest, tuple(found)


def _is_stated(item: Any) -> bool:
    if not isinstance(item, str):
        return False
    signed = _SIGNED.fullmatch(item)
    text = signed[3] if signed else item
    # A name alone, or a name and a number, is a factor or a mistake.
    return bool(not _NUMBER.fullmatch(text) and re.search(r"[\[(+*/-]", item) and is_expression(_FANOUT.sub("1", text)))


def evaluate_stated(constraints: Constraints, problem: Problem, arch: Architecture) -> Constraints:
    """Return the constraints of one layer, with what their expressions say.

    Raises `InputError` where an expression has no value, or none that is a factor or a split.
    """
    levels, faults = dict(constraints.levels), list[Fault]()
    for name, given in constraints.levels.items():
        for kind, loops in (("temporal", given.temporal), ("spatial", given.spatial)):
            if loops.stated:
                with_sizes = _with_sizes(loops, problem, arch, f"{name}.{kind}", faults)
                levels[name] = replace(levels[name], **{kind: with_sizes})  # type: ignore[arg-type]
    raise_all([replace(fault, source=fault.source or constraints.name) for fault in faults])
    return replace(constraints, levels=levels)


def _with_sizes(
    loops: LoopConstraint, problem: Problem, arch: Architecture, where: str, faults: list[Fault]
) -> LoopConstraint:
    factors, most, least = dict(loops.factors), dict(loops.max_factors), dict(loops.min_factors)
    whole = {field: getattr(loops, field) for field in _WHOLE.values()}
    for key, text in loops.stated:
        try:
            value = _value(text, problem, arch)
        except ExpressionError as error:
            faults.append(Fault(str(error), field=f"{where}.{key}", value=text))
            continue
        if key in _WHOLE:
            whole[_WHOLE[key]] = parse_split(_whole(value), f"{where}.{key}", faults)
            continue
        new = parse_factors([value], problem.shape.dimensions, f"{where}.factors", faults)
        for mine, more in ((factors, new.exact), (most, new.at_most), (least, new.at_least)):
            for dimension, number in more.items():
                if mine.setdefault(dimension, number) != number:
                    faults.append(Fault(f"contradicts {dimension}={mine[dimension]}", field=where, value=text))
    return replace(loops, factors=factors, max_factors=most, min_factors=least, stated=(), **whole)


def _value(text: str, problem: Problem, arch: Architecture) -> Any:
    """Return the factor or the split that a text stands for."""
    instance = {**problem.bound, **problem.coefficient}
    within = {"problem": {"instance": instance}}
    names = {**problem.bound, **within, "instance": instance, "spec": within}

    def fanout(match: re.Match[str]) -> str:
        level = arch.fanout_names.get(match[1], match[1])
        if level not in arch.level_names:
            raise ExpressionError(f"no level or container is called {match[1]!r}")
        return str(math.prod(arch.fanout[arch.level_names.index(level)]))

    text = _FANOUT.sub(fanout, text)
    signed = _SIGNED.fullmatch(text)
    if signed is None:
        return evaluate(text, names)
    return f"{signed[1]}{signed[2]}{_whole(evaluate(signed[3], names))}"


def _whole(value: Any) -> Any:
    return int(value) if is_whole(value) else value
