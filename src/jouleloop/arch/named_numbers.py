"""Numbers that a plain tree calls by a name, which its section ``variables`` holds.

Timeloop looks up a text that stands where it needs a whole number, as it stands: no expression is evaluated, so a
variable may be called ``EMBEDDING*3``. Where it needs another number, a text is 0 to it, which is left to the reader to
refuse.

Source: Timeloop ``src/compound-config/compound-config.cpp``, ``CompoundConfigNode::lookupValue``.
"""

import re
from collections.abc import Mapping
from typing import Any

#: Attributes that are no whole numbers to Timeloop and Accelergy, whatever variables are called.
_OTHERS = re.compile(
    r"name|(sub)?class|type|technology|.*(bandwidth|energy|utilization|buffering|area|tile[-_]width|scale)"
)


def with_numbers(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return a tree of version 0.2 or 0.3, and the layer beside it, with the numbers of its variables put in."""
    variables = data.get("variables")
    if not isinstance(variables, Mapping):
        return dict(data)
    found = {str(name): _number(name, variables) for name in variables}
    numbers = {name: number for name, number in found.items() if number is not None}
    result = dict(data)
    if numbers:
        result["architecture"] = _tree(data["architecture"], numbers)
        problem = data.get("problem")
        if isinstance(problem, Mapping):
            beside = {key: value for key, value in problem.items() if key != "shape"}
            result["problem"] = {**problem, **_put_in(beside, numbers)}
    return result


def _number(name: Any, variables: Mapping[Any, Any]) -> int | None:
    """Return what a variable is, itself or by way of others; None where it is no whole number."""
    value: Any = name
    for _ in range(len(variables)):
        value = variables.get(value)
        if not isinstance(value, str):
            break
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _tree(node: Any, numbers: Mapping[str, int]) -> Any:
    if isinstance(node, list):
        return [_tree(child, numbers) for child in node]
    if not isinstance(node, Mapping):
        return node
    children = {key: _tree(value, numbers) for key, value in node.items() if key != "attributes"}
    own = node.get("attributes")
    return {key: _put_in(own, numbers) if key == "attributes" else children[key] for key in node}


def _put_in(values: Any, numbers: Mapping[str, int]) -> Any:
    """Return a mapping, and those in it, with numbers for the names of variables."""
    if not isinstance(values, Mapping):
        return values
    return {
        key: _put_in(value, numbers)
        if not isinstance(value, str) or _OTHERS.fullmatch(str(key))
        else numbers.get(value, value)
        for key, value in values.items()
    }
