"""The engines by name, imported only when they are asked for."""

import importlib
from typing import cast

from jouleloop.engines.protocol import Engine
from jouleloop.errors import InputError, unknown

_CLASSES = {
    "native": "jouleloop.engines.native:NativeEngine",
    "timeloop": "jouleloop.engines.timeloop.engine:TimeloopEngine",
    "accelforge": "jouleloop.engines.accelforge.engine:AccelforgeEngine",
}

#: Names that the configuration and the command line accept.
ENGINES = tuple(_CLASSES)


def installed_version(engine: Engine) -> str | None:
    """Return the version of the programs behind ``engine``, None where it is this package alone.

    Raises `EngineError` where the engine needs programs that are not installed, or do not work.
    """
    programs = getattr(engine, "programs", None)
    return None if programs is None else str(programs.label)


def get_engine(name: str) -> Engine:
    """Return a new engine called ``name``; raise `InputError` with the nearest name where there is none."""
    if name not in _CLASSES:
        raise InputError(unknown(name, ENGINES, "engine", field="engine"))
    module, _, attribute = _CLASSES[name].partition(":")
    return cast("Engine", getattr(importlib.import_module(module), attribute)())
