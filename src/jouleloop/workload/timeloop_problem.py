"""Problems in Timeloop's format: shape and instance read from a file or written for one, v0.3 and v0.4."""

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jouleloop.documents.load import load_document
from jouleloop.errors import Fault, InputError, JouleloopError, nearest, raise_all
from jouleloop.files import is_whole
from jouleloop.workload.kinds import CONV
from jouleloop.workload.named_shapes import CNN_LAYER
from jouleloop.workload.problem import Problem, ProblemShape
from jouleloop.workload.read_shape import shape_from

_LOG = logging.getLogger("jouleloop.workload")

#: What instances state besides bounds and coefficients; sizes of the input follow from those, or contradict them.
_DERIVED = ("H", "W", "Hpad", "Wpad", "version")


def read_problem(path: Path) -> Problem:
    """Return the problem in a Timeloop problem file, which may be a jinja2 template.

    Raises `InputError` where the file is no problem, or asks for what the model does not follow (densities, flattened
    dimensions).
    """
    try:
        return problem_from(load_document(path), name=path.stem)
    except JouleloopError as error:
        raise error.at(path) from error


def problem_from(data: Any, *, name: str = "") -> Problem:
    """Return the problem in loaded data: ``problem: {shape, instance}``, or bounds beside the shape as in v0.2."""
    shape, sizes, instance, faults = stated_problem(data)
    for dimension in shape.dimensions:
        if dimension not in instance:
            faults.append(Fault("has no bound", None, f"problem.instance.{dimension}"))
    if not faults:
        faults += _contradictions(shape, instance, {**dict(shape.coefficients), **sizes})
    raise_all(faults)
    bounds = {key: value for key, value in sizes.items() if key in shape.dimensions}
    coefficients = {key: value for key, value in sizes.items() if key not in bounds}
    return Problem.build(shape, bounds, coefficients, name)


def stated_problem(data: Any) -> tuple[ProblemShape, dict[str, int], Mapping[Any, Any], list[Fault]]:
    """Return what loaded data states of a problem: its shape, bounds and coefficients, all else; and what is wrong.

    Raises `InputError` where there is no shape.
    """
    top = data.get("problem") if isinstance(data, Mapping) else None
    if not isinstance(top, Mapping):
        raise InputError(Fault("is no problem file", allowed="a mapping under 'problem'"))
    faults: list[Fault] = []
    instance = top.get("instance")
    if top.get("shape") is not None:
        shape = shape_from(top["shape"], "problem.shape", faults)
    else:
        # Timeloop then takes its own shape, which has no M.
        stated = top if instance is None else instance
        shape = CNN_LAYER if isinstance(stated, Mapping) and "K" in stated and "M" not in stated else CONV
    raise_all(faults)
    assert shape is not None  # noqa: S101 - for the type checker: without faults there is a shape
    if instance is None:
        instance = {key: value for key, value in top.items() if key not in ("shape", "version", "name")}
    if not isinstance(instance, Mapping):
        raise InputError(Fault("must be a mapping", None, "problem.instance", instance))
    known = {key for key, _ in shape.coefficients}
    sizes: dict[str, int] = {}
    for key, value in instance.items():
        if str(key).lower() in ("densities", "commondensity"):
            if not _dense(value):
                text = "sparse tensors (densities below 1) are not supported by the model"
                faults.append(Fault(text, None, f"problem.instance.{key}"))
        elif key in known and value == 0 and _moves_nothing(shape, str(key), instance):
            sizes[key] = 1
        elif key in shape.dimensions or key in known:
            if not is_whole(value) or value < 1:
                faults.append(Fault("must be a positive whole number", None, f"problem.instance.{key}", value))
                continue
            sizes[key] = int(value)
        elif key not in _DERIVED:
            close = nearest(str(key), (*shape.dimensions, *known))
            hint = f"; did you mean {close!r}?" if close else ""
            _LOG.warning("problem.instance.%s: passed over, as by Timeloop; the shape does not know it%s", key, hint)
    return shape, sizes, instance, faults


def _moves_nothing(shape: ProblemShape, coefficient: str, bounds: Mapping[Any, Any]) -> bool:
    """Whether a coefficient multiplies dimensions of size 1 alone, whose only index is 0: then it may be anything."""
    terms = [term for space in shape.data_spaces for rank in space.projection for term in rank]
    return all(bounds.get(term.dimension) == 1 for term in terms if term.coefficient == coefficient)


def _contradictions(shape: ProblemShape, instance: Mapping[Any, Any], sizes: Mapping[str, int]) -> list[Fault]:
    """Return what contradicts a stated size of the input, which alone decides nothing.

    The axis of ``Wstride`` has the size W and the padding Wpad, on either side or of both together; where no padding is
    stated, it may be anything that leaves a word of the input in every window. A last, incomplete step is left out. A
    size of 1 is no statement.
    """
    faults = []
    for rank in dict.fromkeys(rank for space in shape.data_spaces for rank in space.projection if len(rank) == 2):
        for (output, stride), kernel in zip(((t.dimension, t.coefficient) for t in rank), reversed(rank), strict=True):
            axis = str(stride).removesuffix("stride")
            if axis not in ("H", "W") or axis not in instance or axis == stride:
                continue
            where = "problem.instance."
            given, padding = instance[axis], instance.get(f"{axis}pad")
            if given == 1 and given is not True:
                # The base problem of Timeloop's exercises states 1 for every size that a layer leaves open.
                continue
            wrong = [
                Fault("must be a whole number", None, where + key, value, f">= {least}")
                for key, value, least in ((axis, given, 1), (f"{axis}pad", padding or 0, 0))
                if not is_whole(value) or value < least
            ]
            if wrong:
                faults += wrong
                continue
            window = (sizes[kernel.dimension] - 1) * sizes.get(kernel.coefficient or "", 1) + 1
            zeros = range(2 * window - 1) if padding is None else (int(padding), 2 * int(padding))
            fitting = [(int(given) + more - window) // sizes[str(stride)] + 1 for more in zeros]
            if max(fitting) < 1:
                text = f"larger than the padded input of {int(given) + zeros[-1]}"
                faults.append(Fault(text, None, where + kernel.dimension, sizes[kernel.dimension]))
            elif sizes[output] not in fitting:
                allowed = " or ".join(str(value) for value in sorted({max(1, min(fitting)), max(fitting)}))
                if padding is None:
                    allowed = allowed.replace(" or ", " to ")
                text = f"contradicts the stated input size {axis} = {given}"
                faults.append(Fault(text, None, where + output, sizes[output], allowed))
    return faults


def _dense(value: Any) -> bool:
    if value in (None, 1, {}):
        return True
    if not isinstance(value, Mapping):
        return False
    if "density" in value or "distribution" in value:
        return bool(value.get("density", 1) == 1)
    return all(_dense(density) for density in value.values())


def to_timeloop_problem(problem: Problem, *, version: str = "0.3") -> dict[str, Any]:
    """Return the data of a problem file; v0.3 spells ``data-spaces`` and ``read-write``, v0.4 with underscores."""
    head = {"version": 0.4} if version == "0.4" else {}
    shape = to_timeloop_shape(problem.shape, version=version)
    return {"problem": {**head, "shape": shape, "instance": problem.as_dict()}}


def to_timeloop_shape(shape: ProblemShape, *, version: str = "0.3") -> dict[str, Any]:
    """Return the data of a shape; see `to_timeloop_problem`."""
    dash = "_" if version == "0.4" else "-"
    spaces = []
    for space in shape.data_spaces:
        item: dict[str, Any] = {
            "name": space.name,
            "projection": [
                [[term.dimension, *([term.coefficient] if term.coefficient else [])] for term in rank]
                for rank in space.projection
            ],
        }
        if space.read_write:
            item[f"read{dash}write"] = True
        spaces.append(item)
    return {
        "name": shape.name,
        "dimensions": list(shape.dimensions),
        "coefficients": [{"name": name, "default": default} for name, default in shape.coefficients],
        f"data{dash}spaces": spaces,
    }
