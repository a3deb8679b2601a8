"""Checking plain data against a pydantic model: every fault at once, in the project's own words."""

import typing
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from jouleloop.errors import Fault, InputError, distinct, nearest

Model = TypeVar("Model", bound=BaseModel)

_MOST_FAULTS = 50
#: How schemas mark the forms of a value that has several.
_FORMS = ("<number>", "<range>", "<list>", "<text>", "<keys>", "<value>")


def validate(model: type[Model], data: Any, source: str | Path) -> Model:
    """Return ``data`` as an instance of ``model``.

    Raises `InputError`, with one fault for every wrong field: its dotted path, its value, what is allowed and the
    nearest key.
    """
    if not isinstance(data, dict):
        kind = "is empty" if data is None else f"holds a {type(data).__name__}, keys with values are wanted"
        raise InputError(Fault(kind, str(source), allowed=", ".join(model.model_fields)))
    try:
        return model.model_validate(data)
    except ValidationError as error:
        unique = distinct(_fault(model, entry, str(source)) for entry in error.errors(include_url=False))
        if len(unique) > _MOST_FAULTS:
            unique = [*unique[:_MOST_FAULTS], Fault(f"and {len(unique) - _MOST_FAULTS} faults more", str(source))]
        raise InputError(unique) from error


def _fault(model: type[BaseModel], entry: Any, source: str) -> Fault:
    location = _plain(entry["loc"])
    field = ".".join(str(part) for part in location) or None
    value = entry.get("input")
    shown = None if isinstance(value, (dict, list, BaseModel)) else repr_safe(value)
    context = entry.get("ctx") or {}
    match entry["type"]:
        case "extra_forbidden":
            *outside, word = entry["loc"]
            location = (*_plain(tuple(outside)), str(word))
            field = ".".join(map(str, location))
            known = known_keys(model, location[:-1])
            return Fault("unknown key", source, field, None, ", ".join(known), nearest(str(word), known))
        case "missing":
            return Fault("is missing", source, field)
        case "int_type" | "int_from_float" | "int_parsing":
            return Fault("must be a whole number", source, field, shown)
        case "float_type":
            # YAML takes a number such as 1e-9, without a point, for a text.
            return Fault("must be a number", source, field, shown, "such as 2 or 1.0e-9")
        case "too_short":
            return Fault("has too few entries", source, field, shown, f"at least {context['min_length']}")
        case "string_type":
            return Fault("must be text", source, field, shown)
        case "bool_type" | "bool_parsing":
            return Fault("must be true or false", source, field, shown)
        case "dict_type" | "model_type" | "model_attributes_type":
            return Fault("must be keys with values", source, field, shown)
        case "list_type" | "tuple_type":
            return Fault("must be a list", source, field, shown)
        case "literal_error":
            options = [
                option.strip(" '") for option in str(context.get("expected", "")).replace(" or ", ",").split(",")
            ]
            return Fault("unknown choice", source, field, shown, ", ".join(options), nearest(str(value), options))
        case "value_error":
            return Fault(str(context.get("error", entry["msg"])), source, field, shown)
        case _:
            message = str(entry["msg"])
            return Fault(message[0].lower() + message[1:], source, field, shown)


def repr_safe(value: Any) -> Any:
    """Return ``value`` as it may stand in a message: a huge integer by its length only."""
    if isinstance(value, int) and not isinstance(value, bool) and value.bit_length() > 256:
        return f"an integer of {value.bit_length()} bits"
    return value


def _plain(location: tuple[int | str, ...]) -> tuple[int | str, ...]:
    """Leave out what pydantic adds to a location for the forms of a union and for keys."""
    added = {"[key]", "str", "dict[str,any]"}
    return tuple(p for p in location if not (isinstance(p, str) and (p in added or p in _FORMS)))


def known_keys(model: type[BaseModel], location: tuple[int | str, ...]) -> list[str]:
    """Return the keys that are allowed at ``location`` inside ``model``."""
    models: list[type[BaseModel]] = [model]
    for part in location:
        inside: list[type[BaseModel]] = []
        for candidate in models:
            if isinstance(part, str) and part in candidate.model_fields:
                inside += _models_in(candidate.model_fields[part].annotation)
        models = inside or models
    return sorted({key for found in models for key in found.model_fields})


def _models_in(annotation: Any) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [found for argument in typing.get_args(annotation) for found in _models_in(argument)]
