"""From the sizes that a user states (shorthands, input size, padding) to a layer."""

from collections.abc import Mapping
from typing import Any, Literal

from jouleloop.errors import Fault, InputError, raise_all, unknown
from jouleloop.workload.layer import Layer, derive_outputs
from jouleloop.workload.sweep_schema import INPUT_SIZES, SHORTHANDS, known_sizes


def layer_from_sizes(
    kind: str,
    sizes: Mapping[str, Any],
    *,
    name: str = "",
    rounding: Literal["exact", "floor"] = "exact",
) -> tuple[Layer, int | None]:
    """Return the layer with ``sizes``, and its stated input size where there is one.

    Parameters
    ----------
    sizes
        Values by name, see `jouleloop.workload.sweep_schema.known_sizes`.
    rounding
        Whether an input that the stride does not divide is an error, or its last incomplete step is left out.

    Raises
    ------
    InputError
        For an unknown name, a value that is no positive integer, sizes that contradict each other, a kernel larger
        than the padded input, an output size that is no integer, or dilation.
    """
    faults = [unknown(key, known_sizes(kind), "size", field=key) for key in sizes if key not in known_sizes(kind)]
    for key, value in sizes.items():
        least = 0 if key.startswith("padding") else 1
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            wanted = "zero or a positive integer" if least == 0 else "a positive integer"
            faults.append(Fault(f"must be {wanted}", field=key, value=value))
    raise_all(faults)
    if sizes.get("dilation", 1) != 1:
        faults.append(Fault("dilation is not supported by the model", field="dilation", value=sizes["dilation"]))
    values: dict[str, int] = {}
    for key, value in sizes.items():
        if key in INPUT_SIZES or key == "dilation":
            continue
        for target in SHORTHANDS.get(key, (key,)):
            if values.setdefault(target, value) != value:
                faults.append(Fault(f"{key} and {target} contradict each other", field=key, value=value))
    faults += [Fault("is missing", field=key) for key in ("C", "M") if key not in values]
    raise_all(faults)
    stated = _stated_input(sizes)
    if stated is None:
        if kind == "conv":
            _need_output(values)
        return Layer(kind, name=name, **values), None
    padding = tuple(sizes.get(f"padding_{axis}", sizes.get("padding", 0)) for axis in ("width", "height"))
    if rounding == "floor":
        stated_used = _without_rest(values, stated, padding)
        derive_outputs(values, stated_used, padding=(0, 0))
    else:
        derive_outputs(values, stated, padding=(padding[0], padding[1]))
    return Layer(kind, name=name, **values), stated[0]


def _need_output(values: Mapping[str, int]) -> None:
    missing = [key for key in ("P", "Q") if key not in values]
    if missing:
        allowed = "P and Q, output, or input with padding"
        raise InputError([Fault("is missing", field=key, allowed=allowed) for key in missing])


def _stated_input(sizes: Mapping[str, int]) -> tuple[int, int] | None:
    if not any(key in sizes for key in INPUT_SIZES):
        return None
    faults = []
    extent = []
    for axis in ("width", "height"):
        value = sizes.get(f"input_{axis}", sizes.get("input"))
        if value is None:
            faults.append(Fault("is missing: padding and input size go together", field=f"input_{axis}"))
        else:
            extent.append(value)
    raise_all(faults)
    return extent[0], extent[1]


def _without_rest(values: Mapping[str, int], stated: tuple[int, int], padding: tuple[int, ...]) -> tuple[int, int]:
    """Return the padded input less the rows and columns that no step of the kernel reaches."""
    used = []
    for kernel, stride, size, pad in zip(("R", "S"), ("w_stride", "h_stride"), stated, padding, strict=True):
        padded = size + 2 * pad
        rest = padded - values.get(kernel, 1)
        used.append(padded - rest % values.get(stride, 1) if rest >= 0 else padded)
    return used[0], used[1]
