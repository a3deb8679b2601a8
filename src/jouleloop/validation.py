"""Checking plain data against a pydantic model: every fault at once, in the project's own words."""

import contextlib
import copy
import functools
import operator
import typing
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from jouleloop.errors import Fault, InputError, distinct, nearest, raise_all

Model = TypeVar("Model", bound=BaseModel)
Made = TypeVar("Made")

#: How schemas mark the forms of a value that has several, and keys.
_FORMS = ("<range>", "<list>", "<text>", "<keys>", "<value>", "[key]", "str", "dict[str,any]")

#: What a value must be, by what pydantic says of it.
_SAID = dict.fromkeys(("int_type", "int_from_float", "int_parsing"), "must be a whole number")
_SAID |= dict.fromkeys(("bool_type", "bool_parsing"), "must be true or false") | {"string_type": "must be text"}
_SAID |= dict.fromkeys(("dict_type", "model_type", "model_attributes_type"), "must be keys with values")
_SAID |= dict.fromkeys(("list_type", "tuple_type"), "must be a list")
_SAID |= {"string_pattern_mismatch": "must be a name: at most 64 letters, digits, '_', '.' and '-', the first no sign"}


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
        raise InputError(unique) from error


def made_of(model: type[Model], data: Any, source: str | Path, make: Callable[[Model], Made]) -> Made:
    """Return what ``make`` makes of ``data`` as an instance of ``model``.

    Raises `InputError` with the faults of `validate`, and those that ``make`` finds in the data without wrong fields.
    """
    faults, wrong = list[Fault](), list[str]()
    try:
        spec = validate(model, data, source)
    except InputError as error:
        cause, rest, faults = error.__cause__, copy.deepcopy(data), [*error.faults]
        entries = cause.errors(include_url=False) if isinstance(cause, ValidationError) else []
        for path in [_plain(entry["loc"]) for entry in entries if entry["type"] != "missing"]:
            wrong.append(".".join(map(str, path)) + ".")
            _leave_out(model, rest, path)
        try:
            spec = model.model_validate(rest)
        except ValidationError:
            raise error from None
    try:
        made = make(spec)
    except InputError as error:
        own = [(fault, f"{fault.field}.") for fault in error.at(source).faults]
        faults += [f for f, at in own if not any(at.startswith(one) or one.startswith(at) for one in wrong)]
    raise_all(faults)
    return made


def _leave_out(model: type[BaseModel], data: Any, path: tuple[int | str, ...]) -> None:
    """Take a field out of some data, or the list that it is an entry of; give a value to the key that is meant."""
    path = path[: max((place for place, part in enumerate(path, 1) if isinstance(part, str)), default=0)]
    with contextlib.suppress(TypeError, LookupError, AttributeError):  # the field may lie in one that is left out
        held = functools.reduce(operator.getitem, path[:-1], data)
        value, known = held.pop(path[-1]), known_keys(model, path[:-1])
        if path[-1] not in known and (near := nearest(str(path[-1]), set(known) - held.keys())):
            held[near] = value


def _fault(model: type[BaseModel], entry: Any, source: str) -> Fault:
    location = _plain(entry["loc"])
    field = ".".join(str(part) for part in location) or None
    value = entry.get("input")
    shown = None if isinstance(value, (dict, list, BaseModel)) else value
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
        case "float_type":
            # YAML takes a number such as 1e-9, without a point, for a text.
            return Fault("must be a number", source, field, shown, "such as 2 or 1.0e-9")
        case "too_short":
            return Fault("has too few entries", source, field, shown, f"at least {context['min_length']}")
        case kind if kind in _SAID:
            return Fault(_SAID[kind], source, field, shown)
        case "literal_error":
            options = [one.strip(" '") for one in str(context.get("expected", "")).replace(" or ", ",").split(",")]
            return Fault("unknown choice", source, field, shown, ", ".join(options), nearest(str(value), options))
        case _:
            message = str(context.get("error", "")) or entry["msg"][0].lower() + entry["msg"][1:]
            return Fault(message, source, field, shown)


def _plain(location: tuple[int | str, ...]) -> tuple[int | str, ...]:
    """Leave out what pydantic adds to a location for the forms of a union and for keys."""
    return tuple(part for part in location if part not in _FORMS)


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
