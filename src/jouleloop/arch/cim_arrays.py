"""CiMLoop's arrays: what its own processor tells the front end about containers tagged ``!ArrayContainer``.

Source: ``workspace/scripts/processors.py`` of mit-emze/cimloop, commit d6e1390 (``ArrayProcessor``).
"""

import logging
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from jouleloop.division import factorised
from jouleloop.documents.load import ARRAY_TAG, TAG
from jouleloop.errors import Fault, InputError

_LOG = logging.getLogger("jouleloop.arch")

#: The variable that asks for the layer that fills all arrays, and what the bits of words are called.
FULL = "MAX_UTILIZATION"
#: The variable that says whether there are arrays.
ARRAYS = "CIM_ARCHITECTURE"
_BITS = {"X": "INPUT", "Y": "WEIGHT", "Z": "OUTPUT"}
#: Beyond every number of loops: all of them lie along X.
_ALL_ALONG_X = 99999


def is_array(leaf: Mapping[str, Any]) -> bool:
    """Whether a node is one of CiMLoop's arrays."""
    return leaf.get(TAG) == ARRAY_TAG


def histograms(problem: dict[str, Any]) -> dict[str, Any]:
    """Take the value histograms out of a problem; return them as the variables that they become."""
    found = problem.pop("histograms", None)
    return {f"{str(key).upper()}_HIST": value for key, value in found.items()} if isinstance(found, Mapping) else {}


def fill_arrays(
    leaves: Sequence[dict[str, Any]],
    problem: Mapping[str, Any],
    variables: Mapping[str, Any],
    value: Callable[[Any], Any],
) -> dict[str, Any]:
    """Return the variables that follow from the arrays, and let each spread loops along its own axis alone.

    Raises `InputError` where a variable is missing that CiMLoop needs, or an array has two axes.

    Parameters
    ----------
    value
        Returns what a text of an attribute stands for.
    """
    if ARRAYS not in variables:
        _LOG.warning(
            "variables.%s: is missing, and taken as True; so did CiMLoop before April 2025, later versions end", ARRAYS
        )
    if not value(variables.get(ARRAYS, True)):
        return {}
    missing = [key for key in ("CIM_UNIT_DEPTH_CELLS", "CIM_UNIT_WIDTH_CELLS") if key not in variables]
    if missing:
        text = "is missing: CiMLoop ends where its arrays have no such variable"
        raise InputError([Fault(text, None, f"variables.{key}") for key in missing])
    sizes = {"meshX": 1, "meshY": 1}
    shape = problem.get("shape")
    spaces = shape.get("data_spaces") if isinstance(shape, Mapping) else None
    parallel = {str(space.get("name")): 1 for space in spaces or () if isinstance(space, Mapping)}
    for leaf in filter(is_array, leaves):
        mesh = {
            key: _whole(value((leaf.get("spatial") or {}).get(key, 1)), f"{leaf['name']}.spatial.{key}")
            for key in sizes
        }
        if 1 not in mesh.values():
            raise InputError(Fault("an array has one axis", None, f"{leaf['name']}.spatial", mesh, "meshX or meshY 1"))
        for key in sizes:
            sizes[key] *= mesh[key]
        spatial = leaf.setdefault("constraints", {}).setdefault("spatial", {})
        spatial["split"] = _ALL_ALONG_X if mesh["meshY"] == 1 else 0
        for space in set(spatial.get("no_reuse") or ()) & set(parallel):
            parallel[space] *= math.prod(mesh.values())
    words, bits = variables["CIM_UNIT_DEPTH_CELLS"], variables["CIM_UNIT_WIDTH_CELLS"]
    return {
        "ARRAY_WORDLINES": f"{sizes['meshY']} * ({words})",
        "ARRAY_BITLINES": f"{sizes['meshX']} * ({bits})",
        **{f"ARRAY_PARALLEL_{space.upper()}": number for space, number in parallel.items()},
    }


def fill_up(leaves: Sequence[dict[str, Any]], problem: dict[str, Any], variables: Mapping[str, Any]) -> None:
    """Let the layer be the one that fills all arrays, where the variable `FULL` says so; all values are known.

    Raises `InputError` where the layer has not enough output channels for all slices of a weight.
    """
    stated = [(leaf, leaf.pop("max_utilization", None)) for leaf in leaves]
    if not variables.get(FULL):
        return
    sizes: dict[str, int] = {key: variables[f"ENCODED_{name}_BITS"] for key, name in _BITS.items()}
    for _, filled in stated:
        for dimension, factor in _factors(filled):
            sizes[dimension] = sizes.get(dimension, 1) * factor
    instance = problem["instance"] = {**problem["instance"], "N": 1, **sizes}
    dims = {str(space["name"]): set(_names(space["projection"])) for space in problem["shape"]["data_spaces"]}
    for leaf, filled in stated:
        spatial = (leaf.get("constraints") or {}).get("spatial") or {}
        if filled is not None or spatial.get("factors_only") is not None:
            continue
        used = math.prod(factor or instance[d] for d, factor in _factors({"spatial": spatial}) if factor >= 0)
        still = spatial.get("no_iteration_over_dataspaces") or ()
        growing = [d for d in ("C", "M") if not any(d in dims.get(str(space), ()) for space in still)]
        unused = math.prod((leaf.get("spatial") or {}).values()) // used
        for prime, times in factorised(unused) if growing else ():
            for _ in range(times):
                instance[min(growing, key=lambda d: instance[d])] *= prime
    if variables.get(ARRAYS, True):
        channels = instance["M"] * variables["CIM_UNIT_DEPTH_CELLS"]
        slices = variables["N_WEIGHT_SLICES"]
        if channels < slices:
            text = "has too few output channels for all slices of a weight, where CiMLoop ends"
            raise InputError(Fault(text, None, "problem.instance.M", channels, f">= {slices}"))
        instance["M"] = channels // slices


def _names(projection: Any) -> Iterator[str]:
    for part in projection if isinstance(projection, list) else ():
        yield from _names(part) if isinstance(part, list) else (str(part),)


def _factors(stated: Any) -> list[tuple[str, int]]:
    """Return the exact factors that are stated of spatial and temporal loops."""
    found = [item for kind in ("spatial", "temporal") for item in ((stated or {}).get(kind) or {}).get("factors") or ()]
    pairs = [str(item).partition("=")[::2] for item in found if "<" not in str(item) and ">" not in str(item)]
    return [(name.strip(), int(number)) for name, number in pairs]


def _whole(found: Any, where: str) -> int:
    if isinstance(found, bool) or not isinstance(found, (int, float)) or found < 1 or int(found) != found:
        raise InputError(Fault("must be a positive whole number", None, where, found))
    return int(found)
