"""The engines by name, imported only when they are asked for."""

import importlib
from typing import cast

from jouleloop.engines.protocol import Engine
from jouleloop.errors import InputError, unknown

_CLASSES = {"native": "jouleloop.engines.native:NativeEngine"}

#: Names that the configuration and the command line accept.
ENGINES = tuple(_CLASSES)


def get_engine(name: str) -> Engine:
    """Return a new engine called ``name``; raise `InputError` with the nearest name where there is none."""
    if name not in _CLASSES:
        raise InputError(unknown(name, ENGINES, "engine", field="engine"))
    module, _, attribute = _CLASSES[name].partition(":")
    return cast("Engine", getattr(importlib.import_module(module), attribute)())
