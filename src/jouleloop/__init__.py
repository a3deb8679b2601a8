"""How the energy of a neural-network layer grows with its size, on real accelerators, in theory and in measurement.

``import jouleloop as jl`` gives what `__all__` names and loads nothing until it is asked for::

    jl.search("eyeriss", "fc:1024x128")

These names and their parameters are stable: what is to change warns with `DeprecationWarning` for one minor version
before it does. Modules below are the project's own and may change at any time.
"""

import importlib
import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jouleloop.api.bounds import Bounds, bounds
    from jouleloop.api.capacity_fronts import FrontByCapacity, front_by_capacity
    from jouleloop.api.chains import chain
    from jouleloop.api.curves import Curve, curve
    from jouleloop.api.explorations import Exploration, explore
    from jouleloop.api.fronts import Front, front
    from jouleloop.api.hardware import Architecture, architecture_names
    from jouleloop.api.network_curve import NetworkCurve, network_curve
    from jouleloop.api.results import Result
    from jouleloop.api.run import Interrupted, evaluate, laws, search, sweep
    from jouleloop.errors import EngineError, InputError, JouleloopError, MappingError
    from jouleloop.workload.layer import Layer
    from jouleloop.workload.sizes import parse_layer

__version__ = "0.1.0"

__all__ = [
    "Architecture",
    "Bounds",
    "Curve",
    "EngineError",
    "Exploration",
    "Front",
    "FrontByCapacity",
    "InputError",
    "Interrupted",
    "JouleloopError",
    "Layer",
    "MappingError",
    "NetworkCurve",
    "Result",
    "__version__",
    "architecture_names",
    "bounds",
    "chain",
    "curve",
    "evaluate",
    "explore",
    "front",
    "front_by_capacity",
    "laws",
    "network_curve",
    "parse_layer",
    "search",
    "sweep",
]

# A job of a run is told to end by the run; Ctrl-C, which reaches both, must not break its imports.
if os.environ.get("JOULELOOP_JOB"):
    importlib.import_module("jouleloop.signals").ignore_interrupts()

#: Where each name comes from.
_HOMES = {
    "jouleloop.api.bounds": ("Bounds", "bounds"),
    "jouleloop.api.capacity_fronts": ("FrontByCapacity", "front_by_capacity"),
    "jouleloop.api.curves": ("Curve", "curve"),
    "jouleloop.api.explorations": ("Exploration", "explore"),
    "jouleloop.api.fronts": ("Front", "front"),
    "jouleloop.api.chains": ("chain",),
    "jouleloop.api.hardware": ("Architecture", "architecture_names"),
    "jouleloop.api.network_curve": ("NetworkCurve", "network_curve"),
    "jouleloop.api.results": ("Result",),
    "jouleloop.api.run": ("Interrupted", "evaluate", "laws", "search", "sweep"),
    "jouleloop.errors": ("EngineError", "InputError", "JouleloopError", "MappingError"),
    "jouleloop.workload.layer": ("Layer",),
    "jouleloop.workload.sizes": ("parse_layer",),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if _HOME_OF[name] != "jouleloop.errors":
        # What these import crashes without memory.
        importlib.import_module("jouleloop.memory").check()
    return globals().setdefault(name, getattr(importlib.import_module(_HOME_OF[name]), name))


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
