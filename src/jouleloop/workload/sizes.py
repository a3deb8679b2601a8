"""From what a user states of a layer (sizes, shorthands, an input with padding; or one word of text) to the layer."""

import json
import re
from collections.abc import Mapping
from typing import Any, Literal

from jouleloop.errors import Fault, InputError, raise_all, unknown
from jouleloop.workload.kind import Kind, Window
from jouleloop.workload.kinds import OWN, kind_named, kind_names
from jouleloop.workload.layer import Layer
from jouleloop.workload.shape_file import own_kind

Rounding = Literal["exact", "floor", "ceil"]
_EXAMPLES = (
    "such as fc:1024x128/batch8, conv:C3xM64xP57xQ57xR3xS3/stride4, conv:C3xM64xR7xS7/input224/padding3/stride2/floor "
    "or matmul:M512xN64xK512/batch12 (all kinds: docs/layer-texts.md)"
)
#: The option that drops the last step of a filter where the stride does not divide the input.
_FLOOR = "floor"


def layer_from_sizes(
    kind: Kind | str, sizes: Mapping[str, Any], *, name: str = "", rounding: Rounding = "exact"
) -> tuple[Layer, int | None]:
    """Return the layer with ``sizes``, and its stated input size along the first axis where there is one.

    Raises `InputError` for an unknown name, a value that is no positive integer, sizes that contradict each other, a
    filter larger than the padded input, an output size that is no integer, or sizes too large to count exactly.

    ``sizes`` are values by name, see `jouleloop.workload.kind.Kind.known`. By ``rounding`` an input that the stride
    does not divide is an error (exact), or its last, incomplete step is left out (floor) or counted (ceil).
    """
    kind = kind_named(kind) if isinstance(kind, str) else kind
    faults = [unknown(key, kind.known, "size", field=key) for key in sizes if key not in kind.known]
    for key, value in sizes.items():
        least = 0 if key.startswith("padding") else 1
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            wanted = "zero or a positive integer" if least == 0 else "a positive integer"
            faults.append(Fault(f"must be {wanted}", field=key, value=value))
    raise_all(faults)
    values: dict[str, int] = {}
    for key, value in sizes.items():
        if key in kind.window_sizes:
            continue
        for target in kind.shorthand.get(key, (key,)):
            if values.setdefault(target, value) != value:
                faults.append(Fault(f"{key} and {target} contradict each other", field=key, value=value))
    stated = _stated_inputs(kind, sizes, faults)
    outputs = {window.output for window in kind.windows}
    for key in kind.required:
        if key not in values and not (stated and key in outputs):
            how = f"{', '.join(sorted(outputs))}, output, or input with padding" if key in outputs else None
            faults.append(Fault("is missing", field=key, allowed=how))
    raise_all(faults)
    for window in kind.windows if stated else ():
        padding = int(sizes.get(f"padding_{window.axis}", sizes.get("padding", 0)))
        faults += _derive_output(values, window, stated[window.axis], padding, rounding)
    raise_all(faults)
    fields = kind.default | {kind.field_of[size]: value for size, value in values.items()}
    return Layer(kind, tuple(fields.values()), name), next(iter(stated.values()), None)


def _stated_inputs(kind: Kind, sizes: Mapping[str, int], faults: list[Fault]) -> dict[str, int]:
    """Return the input by axis; empty where none is stated."""
    if not any(key in kind.window_sizes for key in sizes):
        return {}
    found = {w.axis: sizes.get(f"input_{w.axis}", sizes.get("input")) for w in kind.windows}
    text = "is missing: padding and input size go together"
    faults += [Fault(text, field=f"input_{axis}") for axis, value in found.items() if value is None]
    return {axis: value for axis, value in found.items() if value is not None}


def _derive_output(
    values: dict[str, int], window: Window, stated: int, padding: int, rounding: Rounding
) -> list[Fault]:
    """Fill in the output that follows from the stated input of one axis, or check it against that."""
    extent, step = values.get(window.filter, 1), values.get(window.stride, 1)
    reach = (extent - 1) * values.get(window.dilation, 1) + 1
    padded = stated + 2 * padding
    if reach > padded:
        return [Fault(f"larger than the padded input of {padded}", field=window.filter, value=extent)]
    if (padded - reach) % step and rounding == "exact":
        text = f"output size is no integer: ({padded} - {reach}) / {step} + 1"
        allowed = "/floor in a text, `rounding: floor` in a file, to drop the last step"
        return [Fault(text, field=window.output, value=values.get(window.output), allowed=allowed)]
    steps = padded - reach + (step - 1 if rounding == "ceil" else 0)
    computed = steps // step + 1
    if values.setdefault(window.output, computed) != computed:
        text = f"contradicts the stated input size {stated}"
        return [Fault(text, field=window.output, value=values[window.output], allowed=str(computed))]
    return []


def input_elements(layer: Layer, sizes: Mapping[str, int]) -> int | None:
    """Return how many elements a layer reads from the one before it: of an input that ``sizes`` state, without padding.

    None where nothing tells which tensor that is.
    """
    name = dict(layer.kind.roles).get("inputs")
    if name is None:
        return None
    words = layer.problem().tensor_words(name)
    for window in layer.kind.windows:
        stated = sizes.get(f"input_{window.axis}", sizes.get("input"))
        if stated is not None:
            value = {size: layer.sizes[field] for size, field in layer.kind.sizes}
            reach = (value[window.output] - 1) * value[window.stride] + (value[window.filter] - 1) * value[
                window.dilation
            ]
            words = words // (reach + 1) * stated
    return words


def output_elements(layer: Layer) -> int:
    """Return how many elements a layer writes."""
    return next(layer.problem().tensor_words(space) for space in layer.problem().data_spaces if space.read_write)


def parse_layer(text: str) -> Layer:
    """Return the layer written as ``fc:1024x128``, ``conv:C3xM64xP57xQ57xR3xS3/stride4`` or ``matmul:M8xN4xK2/batch3``.

    After the kind come sizes with their names in any order (``fc`` has none: ``INPUTSxOUTPUTS``), then options, of
    which one with several axes takes one number or one an axis: ``/stride2``, ``/stride2x1``. The outputs of a
    convolution may be left out where ``/inputI`` or ``/inputIxJ`` states the input, to which ``/paddingN`` adds zeros
    on either side; ``/floor`` drops the last step where the stride does not divide it.

    Raises `InputError` where the text is no such layer.
    """
    name, colon, body = str(text).strip().partition(":")
    if name == OWN and colon:
        return _own_layer(body)
    kind, sizes, rounding = parse_sizes(text)
    return layer_from_sizes(kind, sizes, rounding=rounding)[0]


def parse_sizes(text: str) -> tuple[Kind, dict[str, int], Rounding]:
    """Return kind, sizes and rounding of a text that `parse_layer` reads, but for a shape of one's own."""
    name, colon, body = str(text).strip().partition(":")
    if not colon or name not in kind_names():
        near = unknown(name, kind_names(), "kind").nearest
        raise InputError(Fault("not a layer", value=text, allowed=_EXAMPLES, nearest=near))
    kind = kind_named(name)
    sizes_text, *options = body.split("/")
    rounding: Rounding = "floor" if _FLOOR in options else "exact"
    faults: list[Fault] = []
    if options.count(_FLOOR) > 1:
        faults.append(Fault("floor is given twice", field="layer", value=body))
    sizes = _text_sizes(kind, sizes_text, faults)
    for option in options:
        if option != _FLOOR:
            _text_option(kind, option, sizes, faults)
    faults += _half_filters(kind, sizes)
    if not any(key.startswith("input") for key in sizes):
        if any(key.startswith("padding") for key in sizes):
            text = "padding needs a stated input"
            faults.append(Fault(text, field="layer", value=body, allowed="/inputI/paddingN"))
        sizes = {window.output: 1 for window in kind.windows} | sizes
    raise_all(faults)
    return kind, sizes, rounding


def _own_layer(body: str) -> Layer:
    try:
        data = json.loads(body)
        return Layer(own_kind(json.dumps(data["shape"]), OWN, kind_named), tuple(data["values"]))
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(Fault(f"is no layer of a shape of one's own: {error!r}", field="layer", value=body)) from error


def _text_sizes(kind: Kind, text: str, faults: list[Fault]) -> dict[str, int]:
    parts = text.split("x")
    if kind.text.positional:
        names = kind.text.positional
        if len(parts) == len(names) and all(re.fullmatch(r"[0-9]{1,99}", part) for part in parts):
            return dict(zip(names, map(int, parts), strict=True))
        faults.append(Fault(f"not {kind.text.called or 'x'.join(names)}", field="layer", value=text, allowed=_EXAMPLES))
        return {}
    sizes: dict[str, int] = {}
    for part in parts:
        match = re.fullmatch(r"([A-Za-z_]+)([0-9]{1,99})", part)
        if not match or match[1] not in kind.field_of or match[1] in sizes:
            allowed = f"each of {', '.join(kind.field_of)} at most once"
            faults.append(Fault("not a dimension with a size", field="layer", value=part, allowed=allowed))
        else:
            sizes[match[1]] = int(match[2])
    return sizes


def _half_filters(kind: Kind, sizes: Mapping[str, int]) -> list[Fault]:
    """Return a fault for every axis with an extent and no filter, where another axis has one: 1 is no guess."""
    given = next((window.filter for window in kind.windows if window.filter in sizes), None)
    inputs = any(key.startswith("input") for key in sizes)
    faults = []
    for window in kind.windows:
        if given is not None and window.filter not in sizes and (inputs or window.output in sizes):
            name, length = window.filter, sizes[given]
            allowed = f"{name}{length} for a filter as long along all axes, {name}1 for one of length 1"
            faults.append(Fault(f"is missing beside {given}{length}", field=name, allowed=allowed))
    return faults


def _text_option(kind: Kind, option: str, sizes: dict[str, int], faults: list[Fault]) -> None:
    """Add what ``stride2x1`` or ``input224`` says to the sizes."""
    axes = [window.axis for window in kind.windows]
    targets = {name: kind.shorthand.get(name, (name,)) for name in (*kind.shorthand, *kind.text.options)}
    targets |= {stem: tuple(f"{stem}_{axis}" for axis in axes) for stem in ("input", "padding") if axes}
    match = re.fullmatch(r"([a-z]+)([0-9]{1,99}(?:x[0-9]{1,99})*)", option)
    numbers = [int(number) for number in match[2].split("x")] if match else []
    if not match or match[1] not in targets or len(numbers) not in (1, len(targets[match[1]])):
        allowed = ", ".join([*(name + "x".join("N" for _ in names) for name, names in targets.items()), _FLOOR])
        faults.append(Fault("unknown layer option", field="layer", value=option, allowed=allowed))
        return
    names = targets[match[1]]
    if any(name in sizes for name in names):
        faults.append(Fault(f"{match[1]} is given twice", field="layer", value=option))
    sizes |= dict(zip(names, numbers * (len(names) if len(numbers) == 1 else 1), strict=True))
