"""Problems in Timeloop's format: shape and instance read from a file, v0.3 and v0.4, or written for one."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jouleloop.documents.load import load_document
from jouleloop.errors import Fault, JouleloopError, raise_all
from jouleloop.files import is_whole
from jouleloop.workload.kinds import CONV
from jouleloop.workload.problem import Problem, ProblemShape, Term
from jouleloop.workload.stated_problem import shape_tree, stated_problem


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
    shape, sizes, instance, faults = stated_problem(data, CONV)
    for dimension in shape.dimensions:
        if dimension not in instance:
            faults.append(Fault("has no bound", None, f"problem.instance.{dimension}"))
    if not faults:
        faults += _contradictions(shape, instance, {**dict(shape.coefficients), **sizes})
    raise_all(faults)
    bounds = {key: value for key, value in sizes.items() if key in shape.dimensions}
    coefficients = {key: value for key, value in sizes.items() if key not in bounds}
    return Problem.build(shape, bounds, coefficients, name)


def _contradictions(shape: ProblemShape, instance: Mapping[Any, Any], sizes: Mapping[str, int]) -> list[Fault]:
    """Return what contradicts a stated size of the input, which alone decides nothing.

    The axis of ``Wstride`` has the size W and the padding Wpad, on either side or of both together; where no padding is
    stated, it may be anything that leaves a word of the input in every window. A last, incomplete step is left out. A
    size of 1 is no statement: the base problem of Timeloop's exercises has it for every size that a layer leaves open.
    """
    faults = []
    for rank in dict.fromkeys(rank for space in shape.data_spaces for rank in space.projection if len(rank) == 2):
        for output, kernel in zip(rank, reversed(rank), strict=True):
            axis = str(output.coefficient).removesuffix("stride")
            if axis not in ("H", "W") or axis not in instance or axis == output.coefficient:
                continue
            if instance[axis] != 1 or instance[axis] is True:
                faults += _axis_faults(axis, output, kernel, instance, sizes)
    return faults


def _axis_faults(
    axis: str, output: Term, kernel: Term, instance: Mapping[Any, Any], sizes: Mapping[str, int]
) -> list[Fault]:
    """Return what contradicts the stated size of one axis of the input."""
    where = "problem.instance."
    given, padding = instance[axis], instance.get(f"{axis}pad")
    wrong = [
        Fault("must be a whole number", None, where + key, value, f">= {least}")
        for key, value, least in ((axis, given, 1), (f"{axis}pad", padding or 0, 0))
        if not is_whole(value) or value < least
    ]
    if wrong:
        return wrong
    window = (sizes[kernel.dimension] - 1) * sizes.get(kernel.coefficient or "", 1) + 1
    zeros = range(2 * window - 1) if padding is None else (int(padding), 2 * int(padding))
    fitting = [(int(given) + more - window) // sizes[str(output.coefficient)] + 1 for more in zeros]
    if max(fitting) < 1:
        text = f"larger than the padded input of {int(given) + zeros[-1]}"
        return [Fault(text, None, where + kernel.dimension, sizes[kernel.dimension])]
    if sizes[output.dimension] in fitting:
        return []
    allowed = " or ".join(str(value) for value in sorted({max(1, min(fitting)), max(fitting)}))
    if padding is None:
        allowed = allowed.replace(" or ", " to ")
    text = f"contradicts the stated input size {axis} = {given}"
    return [Fault(text, None, where + output.dimension, sizes[output.dimension], allowed)]


def problem_tree(problem: Problem) -> dict[str, Any]:
    """Return a problem with its shape and instance, as `problem_from` reads it under ``problem``."""
    return {"shape": shape_tree(problem.shape), "instance": problem.as_dict()}
