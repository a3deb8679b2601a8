"""Problem shapes as Timeloop writes them: dimensions, coefficients and the projections of data spaces."""

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from jouleloop.errors import Fault, InputError, unknown
from jouleloop.files import is_file, is_whole, read_yaml
from jouleloop.workload.named_shapes import NAMED_SHAPES, shape_named
from jouleloop.workload.problem import DataSpace, ProblemShape, Term

_SHAPE_KEYS = ("name", "dimensions", "coefficients", "data_spaces", "version")
_SPACE_KEYS = ("name", "projection", "read_write")
#: Variables of the environment with folders that Timeloop looks for shapes in, one or several parted by colons.
_SHAPE_FOLDER, _SHAPE_FOLDERS = "TIMELOOP_PROBLEM_SHAPE_DIR", "TIMELOOP_PROBLEM_SHAPE_DIRS"
_UNSUPPORTED = ("flattened_dimensions", "flattened_dims", "factorized_dimensions")


def canonical_keys(value: Mapping[Any, Any]) -> dict[str, Any]:
    """Return a mapping with underscores in its keys, as v0.4 has them; v0.3 has dashes."""
    return {str(key).replace("-", "_"): child for key, child in value.items()}


def shape_from(value: Any, where: str, faults: list[Fault]) -> ProblemShape | None:
    """Return the shape in loaded data, keys with dashes or underscores; None where it has faults, which are added."""
    if isinstance(value, str):
        return _named(value, where, faults)
    if not isinstance(value, Mapping):
        faults.append(Fault("must be a mapping", None, where, value))
        return None
    shape = canonical_keys(value)
    for key in shape:
        if key in _UNSUPPORTED:
            faults.append(Fault(f"{key} are not supported by the model", None, where))
        elif key not in _SHAPE_KEYS:
            faults.append(unknown(key, _SHAPE_KEYS, "key", field=where))
    dimensions = shape.get("dimensions")
    if not isinstance(dimensions, list) or not all(isinstance(d, str) and d for d in dimensions) or not dimensions:
        faults.append(Fault("must be a list of names", None, f"{where}.dimensions", dimensions))
        return None
    coefficients: list[tuple[str, int]] = []
    listed = shape.get("coefficients") or []
    if not isinstance(listed, list):
        faults.append(Fault("must be a list", None, f"{where}.coefficients", listed))
        listed = []
    for index, item in enumerate(listed):
        default = item.get("default", 1) if isinstance(item, Mapping) else None
        if not isinstance(item, Mapping) or not isinstance(item.get("name"), str) or not is_whole(default):
            faults.append(Fault("needs a name and a whole default", None, f"{where}.coefficients[{index}]", item))
        elif int(default or 0) < 1:
            text = "must be a positive whole number"
            faults.append(Fault(text, None, f"{where}.coefficients[{index}].default", default))
            coefficients.append((item["name"], 1))
        else:
            coefficients.append((item["name"], int(default or 0)))
    spaces = shape.get("data_spaces")
    if not isinstance(spaces, list) or not spaces:
        faults.append(Fault("must be a list", None, f"{where}.data_spaces", spaces))
        return None
    dash = "-" if "data-spaces" in value else "_"
    for index, item in enumerate(spaces):
        key = f"read{'_' if dash == '-' else '-'}write"
        if isinstance(item, Mapping) and key in item:
            text = f"is not read beside data{dash}spaces, so the data space would not be written"
            faults.append(Fault(text, None, f"{where}.data{dash}spaces[{index}].{key}", item[key], f"read{dash}write"))
    found = [
        _space(item, f"{where}.data_spaces[{i}]", dimensions, coefficients, faults) for i, item in enumerate(spaces)
    ]
    if faults:
        return None
    try:
        return ProblemShape(
            str(shape.get("name", "")),
            tuple(dimensions),
            tuple(space for space in found if space is not None),
            tuple(coefficients),
        )
    except InputError as error:
        faults += [replace(fault, field=f"{where}.{fault.field}") for fault in error.faults]
        return None


def _named(name: str, where: str, faults: list[Fault]) -> ProblemShape | None:
    """Return the shape of a name: of a file in a folder that Timeloop looks into, or one that Timeloop brings.

    Source: Timeloop ``src/workload/workload.cpp``, ``ShapeFileName``.
    """
    folders = [os.environ.get(_SHAPE_FOLDER, ""), *os.environ.get(_SHAPE_FOLDERS, "").split(":")]
    endings = ("",) if any(ending in name for ending in (".yml", ".yaml", ".cfg")) else (".yaml", ".cfg")
    for path in (Path(folder, name + ending) for folder in folders if folder for ending in endings):
        if is_file(path):
            try:
                data = read_yaml(path)
                shape = data.get("shape") if isinstance(data, Mapping) else None
                return shape_from(shape if isinstance(shape, Mapping) else None, f"{path}: shape", faults)
            except InputError as error:
                faults += error.at(path).faults
                return None
    found = shape_named(name)
    if found is None:
        text = f"shape; write it out, or name the folder of its file in {_SHAPE_FOLDERS}"
        faults.append(unknown(name, NAMED_SHAPES, text, field=where))
    return found


def _space(
    item: Any, where: str, dimensions: list[str], coefficients: list[tuple[str, int]], faults: list[Fault]
) -> DataSpace | None:
    if not isinstance(item, Mapping) or not isinstance(item.get("name"), str):
        faults.append(Fault("needs a name and a projection", None, where, item))
        return None
    space = canonical_keys(item)
    faults += [unknown(key, _SPACE_KEYS, "key", field=where) for key in space if key not in _SPACE_KEYS]
    known = [name for name, _ in coefficients]
    ranks: list[tuple[Term, ...]] = []
    projection = space.get("projection")
    if not isinstance(projection, list) or not projection:
        faults.append(Fault("must be a list of ranks", None, f"{where}.projection", projection))
        return None
    for rank in projection:
        terms: list[Term] = []
        for part in rank if isinstance(rank, list) else [rank]:
            names = part if isinstance(part, list) else [part]
            inside = [n for n in names if n in dimensions]
            factors = [n for n in names if n in known and n not in dimensions]
            strange = [n for n in names if n not in dimensions and n not in known]
            if strange and all(isinstance(n, str) for n in strange):
                kinds = [*dimensions, *known]
                faults += [unknown(n, kinds, "dimension or coefficient", field=f"{where}.projection") for n in strange]
            elif len(inside) != 1 or len(factors) != len(names) - 1 or len(names) > 2:
                allowed = "[dimension] or [dimension, coefficient]"
                faults.append(Fault("is no term of a projection", None, f"{where}.projection", part, allowed))
            else:
                terms.append(Term(inside[0], factors[0] if factors else None))
        ranks.append(tuple(terms))
    return DataSpace(space["name"], tuple(ranks), bool(space.get("read_write", False)))
