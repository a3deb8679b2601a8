"""The identity of one result: a hash of everything that determines it."""

import hashlib
import json
from functools import cache
from typing import Any

import jouleloop
from jouleloop.engines.protocol import Engine, SearchOptions, Target
from jouleloop.engines.registry import installed_version
from jouleloop.sources import PACKAGE, digest_of, remembered, with_imports
from jouleloop.workload.problem import Problem, ProblemShape

_FORMAT = 1
_NATIVE = "jouleloop.engines.native"


_ENCODER = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=True)


def canonical_json(value: Any) -> str:
    """Return ``value`` as JSON that is equal for equal data."""
    return _ENCODER.encode(value)


def digest(value: Any) -> str:
    """Return the SHA-256 of plain data as hexadecimal text."""
    return hashlib.sha256(canonical_json(value).encode()).hexdigest()


@cache
def code_digest(module: str = _NATIVE) -> str:
    """Return a hash of the code of an engine's module and of all it imports, so that no result outlives its code.

    How files are read is no part of it: what was read is in the key of a result. Nor are docstrings and comments. An
    engine from elsewhere states a version of its own; here it counts as the native one.
    """
    path = PACKAGE.joinpath(*module.split(".")[1:]).with_suffix(".py")
    if not path.is_file():
        return code_digest()
    return remembered(module, lambda: digest_of(with_imports([path])))


def engine_identity(engine: Engine) -> str:
    """Return name, version and settings of ``engine``; without a version of its own, the version of this package."""
    own = getattr(engine, "version", None) or f"{jouleloop.__version__}+{code_digest(type(engine).__module__)}"
    parts = (engine.name, own, installed_version(engine), getattr(engine, "settings", None))
    return " ".join(str(part) for part in parts if part)


def target_identity(target: Target, engine: Engine, options: SearchOptions) -> dict[str, Any]:
    """Return all that determines a result besides the layer, as plain data."""
    return {
        "format": _FORMAT,
        "architecture": target.arch.as_dict(),
        "energies": target.costs.as_dict(),
        "constraints": target.constraints.as_dict(),
        "semantics": target.semantics,
        "engine": engine_identity(engine),
        **options.as_dict(),
    }


def result_key(problem: Problem, target_digest: str) -> str:
    """Return the key of the result of ``problem`` on the target with ``target_digest``; the layer's name is no part."""
    sizes = f"{canonical_json(problem.bound)},{canonical_json(problem.coefficient)}"
    text = f"[{canonical_json(target_digest)},{_described(problem.shape)},{sizes}]"
    return hashlib.sha256(text.encode()).hexdigest()


@cache
def _described(shape: ProblemShape) -> str:
    """Return what the key holds of a shape, which many problems share: its name and data spaces."""
    spaces = [
        [
            space.name,
            space.read_write,
            [[[term.dimension, term.coefficient] for term in rank] for rank in space.projection],
        ]
        for space in shape.data_spaces
    ]
    return f"{canonical_json(shape.name)},{canonical_json(spaces)}"
