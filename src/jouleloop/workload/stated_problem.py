"""What Timeloop's problem files state, a shape and an instance; and how they write a shape."""

import logging
from collections.abc import Mapping
from typing import Any

from jouleloop.errors import Fault, InputError, nearest, raise_all
from jouleloop.files import is_whole
from jouleloop.workload.named_shapes import CNN_LAYER
from jouleloop.workload.problem import ProblemShape
from jouleloop.workload.read_shape import shape_from

_LOG = logging.getLogger("jouleloop.workload")

#: What instances state besides bounds and coefficients; sizes of the input follow from those, or contradict them.
_DERIVED = ("H", "W", "Hpad", "Wpad", "version")


def stated_problem(
    data: Any, unstated: ProblemShape
) -> tuple[ProblemShape, dict[str, int], Mapping[Any, Any], list[Fault]]:
    """Return what loaded data states of a problem: its shape, bounds and coefficients, all else; and what is wrong.

    Raises `InputError` where there is no shape.

    Parameters
    ----------
    unstated
        Shape of a problem that states none and has a dimension M. One with K instead of M is Timeloop's own.
    """
    top = data.get("problem") if isinstance(data, Mapping) else None
    if not isinstance(top, Mapping):
        raise InputError(Fault("is no problem file", allowed="a mapping under 'problem'"))
    faults: list[Fault] = []
    instance = top.get("instance")
    if top.get("shape") is not None:
        shape = shape_from(top["shape"], "problem.shape", faults)
    else:
        stated = top if instance is None else instance
        shape = CNN_LAYER if isinstance(stated, Mapping) and "K" in stated and "M" not in stated else unstated
    raise_all(faults)
    assert shape is not None  # noqa: S101 - for the type checker: without faults there is a shape
    if instance is None:
        instance = {key: value for key, value in top.items() if key not in ("shape", "version", "name")}
    if not isinstance(instance, Mapping):
        raise InputError(Fault("must be a mapping", None, "problem.instance", instance))
    return shape, _sizes(shape, instance, faults), instance, faults


def _sizes(shape: ProblemShape, instance: Mapping[Any, Any], faults: list[Fault]) -> dict[str, int]:
    """Return the bounds and coefficients that an instance states."""
    known = {key for key, _ in shape.coefficients}
    sizes: dict[str, int] = {}
    for key, value in instance.items():
        where = f"problem.instance.{key}"
        if str(key).lower() in ("densities", "commondensity"):
            if not _dense(value):
                faults.append(Fault("sparse tensors (densities below 1) are not supported by the model", None, where))
        elif key in shape.dimensions or key in known:
            idle = key in known and value == 0 and _moves_nothing(shape, str(key), instance)
            if idle or (is_whole(value) and value >= 1):
                sizes[key] = 1 if idle else int(value)
            else:
                faults.append(Fault("must be a positive whole number", None, where, value))
        elif key not in _DERIVED:
            close = nearest(str(key), (*shape.dimensions, *known))
            hint = f"; did you mean {close!r}?" if close else ""
            _LOG.warning("%s: passed over, as by Timeloop; the shape does not know it%s", where, hint)
    return sizes


def _moves_nothing(shape: ProblemShape, coefficient: str, bounds: Mapping[Any, Any]) -> bool:
    """Whether a coefficient multiplies dimensions of size 1 alone, whose only index is 0: then it may be anything."""
    terms = [term for space in shape.data_spaces for rank in space.projection for term in rank]
    return all(bounds.get(term.dimension) == 1 for term in terms if term.coefficient == coefficient)


def _dense(value: Any) -> bool:
    if value in (None, 1, {}):
        return True
    if not isinstance(value, Mapping):
        return False
    if "density" in value or "distribution" in value:
        return bool(value.get("density", 1) == 1)
    return all(_dense(density) for density in value.values())


def shape_tree(shape: ProblemShape) -> dict[str, Any]:
    """Return the data of a shape as Timeloop's files hold it, keys with hyphens as in v0.3."""
    spaces: list[dict[str, Any]] = []
    for space in shape.data_spaces:
        ranks = [
            [[term.dimension, *([term.coefficient] if term.coefficient else [])] for term in rank]
            for rank in space.projection
        ]
        spaces.append({"name": space.name, "projection": ranks} | ({"read-write": True} if space.read_write else {}))
    return {
        "name": shape.name,
        "dimensions": list(shape.dimensions),
        "coefficients": [{"name": name, "default": default} for name, default in shape.coefficients],
        "data-spaces": spaces,
    }
