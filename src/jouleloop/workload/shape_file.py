"""Reading a kind of layer from a file: its problem shape as Timeloop writes it, with names for its sizes, or alone."""

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from pydantic import Field, StrictInt

from jouleloop.errors import Fault, InputError, raise_all, unknown
from jouleloop.files import read_yaml
from jouleloop.validation import validate
from jouleloop.workload.kind import Kind, TextForm, Window
from jouleloop.workload.problem import ProblemShape
from jouleloop.workload.read_shape import shape_from
from jouleloop.workload.stated_problem import shape_tree, stated_problem
from jouleloop.workload.strict import Strict

_ROLES = ("weights", "inputs", "outputs")
_SIZE = r"^[A-Za-z][A-Za-z0-9_]{0,30}$"
#: Columns of the tables that no size may take; see `jouleloop.tables.layouts`.
RESERVED = frozenset(
    {"architecture", "sweep", "layer", "kind", "input_size", "macs", "count", "variant", "status", "reason"}
    | {"total_pj", "data_pj", "compute_pj", "cycles", "utilization", "mapping", "kept", "optimal", "lower_bound_pj"}
    | {"mapspace_size", "visited", "engine", "energy_table", "estimator", "objective", "semantics", "constraints"}
    | {"stopped", "key", "variable", "law", "network", "gap", "name"}
)


class WindowEntry(Strict):
    """One axis along which a filter slides."""

    axis: str = Field(pattern=_SIZE, description="Name of the axis, such as width.")
    output: str = Field(description="Size: extent of the output.")
    filter: str = Field(description="Size: extent of the filter.")
    stride: str = Field(description="Size: stride.")
    dilation: str = Field(description="Size: dilation.")


class TextEntry(Strict):
    """How a layer is written in one word."""

    positional: list[str] = Field(default=[], description="Sizes without names, such as 1024x128.")
    called: str = Field(default="", description="What those are called, such as INPUTSxOUTPUTS.")
    always: list[str] = Field(default=[], description="Sizes that are always written.")
    options: list[str] = Field(default=[], description="Sizes and shorthands after a slash.")


class ShapeFile(Strict):
    """A kind of layer: a problem shape, or a kind that it is like, and the sizes that a layer states."""

    description: str = Field(default="", description="What it is.")
    like: str | None = Field(default=None, description="Kind whose shape it has, instead of a shape of its own.")
    shape: dict[str, Any] | None = Field(default=None, description="Problem shape, as Timeloop writes it.")
    without: dict[str, str] = Field(
        default={}, max_length=1, description="Dimension left out where it is 1, and the name of the shape then."
    )
    roles: dict[str, str] = Field(default={}, description="Data space by role: weights, inputs, outputs.")
    sizes: list[str | dict[str, str]] = Field(
        default=[], description="Sizes: names of dimensions and coefficients, or NAME: DIMENSION; all where left out."
    )
    required: list[str] | None = Field(default=None, description="Sizes without a default; all bounds where left out.")
    shorthands: dict[str, list[str]] = Field(default={}, description="Names that set several sizes.")
    windows: list[WindowEntry] = Field(default=[], description="Axes along which a filter slides.")
    text: TextEntry = Field(default=TextEntry(), description="The text form.")
    columns: list[str] = Field(default=[], description="Sizes that tables always have; all where left out.")
    presets: dict[str, StrictInt] = Field(default={}, description="Values of sizes that a layer need not state.")


KindNamed = Callable[[str], Kind]


def read_kind(path: Path, name: str, kind_named: KindNamed) -> Kind:
    """Return the kind in a file: one of this project, or a Timeloop problem file, whose instance gives defaults.

    Raises `InputError`, with all faults of the file.
    """
    data = read_yaml(path)
    try:
        if isinstance(data, Mapping) and isinstance(data.get("problem"), Mapping):
            return _from_problem(data, name, kind_named)
        return kind_from(validate(ShapeFile, data, path), name, kind_named)
    except InputError as error:
        raise error.at(path) from error


def own_kind(document: str, name: str, kind_named: KindNamed) -> Kind:
    """Return the kind whose `Kind.document` is given."""
    return kind_from(validate(ShapeFile, json.loads(document), name), name, kind_named)


def kind_from(spec: ShapeFile, name: str, kind_named: KindNamed) -> Kind:
    """Return the kind that ``spec`` describes; ``kind_named`` finds the one that it is like."""
    if (spec.like is None) == (spec.shape is None):
        raise InputError(Fault("needs either a shape or a kind that it is like", field="shape"))
    base = _with_shape(spec, name) if spec.like is None else kind_named(spec.like)
    known = [field for field, _ in base.fields]
    sizes = _sizes(spec.sizes, known) if spec.like else [(field, field) for field in known]
    faults = [unknown(to, known, "size of the shape", field="sizes") for _, to in sizes if to not in known]
    faults += _reference_faults(spec, dict(sizes))
    raise_all(faults)
    bounds = [size for size, to in base.fields if to in base.shape.dimensions and size not in spec.presets]
    windows = tuple(Window(w.axis, w.output, w.filter, w.stride, w.dilation) for w in spec.windows)
    return replace(
        base,
        name=name,
        description=spec.description,
        sizes=tuple(sizes),
        required=tuple(bounds if spec.required is None else spec.required),
        shorthands=tuple((key, tuple(names)) for key, names in spec.shorthands.items()),
        windows=windows,
        base_windows=base.windows if spec.like else windows,
        text=TextForm(tuple(spec.text.positional), spec.text.called, tuple(spec.text.always), tuple(spec.text.options)),
        presets=tuple(spec.presets.items()),
        document=spec.model_dump_json(exclude_defaults=True),
    )


def _with_shape(spec: ShapeFile, name: str) -> Kind:
    """Return the kind as far as its shape and the names of its sizes go."""
    faults: list[Fault] = []
    shape = shape_from(spec.shape, "shape", faults)
    raise_all(faults)
    assert shape is not None  # noqa: S101 - for the type checker: without faults there is a shape
    faults += _purpose_faults(shape)
    known = (*shape.dimensions, *(key for key, _ in shape.coefficients))
    fields = _sizes(spec.sizes, known)
    stated = [target for _, target in fields]
    faults += [unknown(to, known, "dimension or coefficient", field="sizes") for to in stated if to not in known]
    faults += [Fault("has no size that stands for it", None, "sizes", to) for to in known if to not in stated]
    faults += [unknown(d, shape.dimensions, "dimension", field="without") for d in spec.without if d not in known]
    faults += _name_faults([size for size, _ in fields], shape) + _role_faults(spec.roles, shape)
    raise_all(faults)
    return Kind(
        name,
        base=_base_of(name, shape),
        shape=shape,
        without=next(iter(spec.without.items()), None),
        fields=tuple(fields),
        columns=tuple(spec.columns or [size for size, _ in fields]),
        roles=tuple(spec.roles.items()),
    )


def _sizes(given: Iterable[str | dict[str, str]], known: Iterable[str]) -> list[tuple[str, str]]:
    """Return the sizes that a layer may state, each with what it stands for; all of ``known`` where none is given."""
    entries = list(given) or list(known)
    return [pair for entry in entries for pair in ([(entry, entry)] if isinstance(entry, str) else entry.items())]


def _reference_faults(spec: ShapeFile, sizes: Mapping[str, str]) -> list[Fault]:
    """Return a fault for every name in the file that is no size of the kind."""
    used = [("required", spec.required or []), ("columns", spec.columns), ("text.always", spec.text.always)]
    used += [("text.positional", spec.text.positional), ("presets", list(spec.presets))]
    used += [("text.options", [name for name in spec.text.options if name not in spec.shorthands])]
    used += [(f"shorthands.{key}", names) for key, names in spec.shorthands.items()]
    used += [(f"windows.{w.axis}", [w.output, w.filter, w.stride, w.dilation]) for w in spec.windows]
    return [unknown(name, sizes, "size", field=where) for where, names in used for name in names if name not in sizes]


def _name_faults(sizes: Iterable[str], shape: ProblemShape) -> list[Fault]:
    faults = []
    for size in sizes:
        if size in RESERVED:
            faults.append(Fault("is a column of the tables: give the size another name", field="sizes", value=size))
        elif not re.fullmatch(_SIZE, size):
            faults.append(
                Fault("cannot be the name of a size", field="sizes", value=size, allowed="letters, digits, _")
            )
    for dimension in shape.dimensions:
        if not re.fullmatch(r"[A-Za-z]{1,30}", dimension):
            text = "Timeloop reads no such name of a dimension in factors"
            faults.append(Fault(text, None, "shape.dimensions", dimension, "letters"))
    folded = [space.name.lower() for space in shape.data_spaces]
    for space in shape.data_spaces:
        if not re.fullmatch(_SIZE, space.name) or space.name.lower() in ("total", "data", "compute", "lower_bound"):
            faults.append(Fault("cannot be the name of a data space", field="shape.data_spaces", value=space.name))
        elif folded.count(space.name.lower()) > 1:
            text = "two data spaces have one name in the tables, whose columns are in lower case"
            faults.append(Fault(text, field="shape.data_spaces", value=space.name))
    return faults


def _purpose_faults(shape: ProblemShape) -> list[Fault]:
    """Return what Timeloop would take but no layer has: loops that compute the same again, and several outputs."""
    used = frozenset().union(*(space.dimensions for space in shape.data_spaces))
    text = "no data space has the dimension, so its loop would compute the same again"
    faults = [Fault(text, None, "shape.dimensions", name) for name in shape.dimensions if name not in used]
    written = [space.name for space in shape.data_spaces if space.read_write]
    if len(written) > 1:
        faults.append(Fault("several data spaces are read-write", None, "shape.data_spaces", written, "one output"))
    return faults


def _role_faults(roles: Mapping[str, str], shape: ProblemShape) -> list[Fault]:
    written = {space.name: space.read_write for space in shape.data_spaces}
    faults = [unknown(role, _ROLES, "role", field="roles") for role in roles if role not in _ROLES]
    for role, space in roles.items():
        if space not in written:
            faults.append(unknown(space, written, "data space", field=f"roles.{role}"))
        elif role == "outputs" and not written[space]:
            faults.append(Fault("is not read-write, so the layer does not write it", None, "roles.outputs", space))
        elif role in ("weights", "inputs") and written[space]:
            faults.append(Fault("is read-write: only outputs are", None, f"roles.{role}", space))
    return faults


def _base_of(name: str, shape: ProblemShape) -> str:
    if name != "problem":
        return name
    text = json.dumps([shape.name, shape.dimensions, shape.coefficients, repr(shape.data_spaces)])
    return f"problem {hashlib.sha256(text.encode()).hexdigest()[:16]}"


def _from_problem(data: Mapping[str, Any], name: str, kind_named: KindNamed) -> Kind:
    """Return the kind of a Timeloop problem file: bounds and coefficients of its instance are the presets."""
    shape, sizes, _, faults = stated_problem(data, kind_named("conv").reduced)
    raise_all(faults)
    return kind_from(ShapeFile(shape=shape_tree(shape), presets=sizes), name, kind_named)
