"""Options that several commands share: the hardware that a name stands for, and what a search is told."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jouleloop.api.hardware import Architecture
from jouleloop.api.project import AS_CONFIGURED, MapspaceChoice
from jouleloop.api.run import options_of
from jouleloop.cli import options
from jouleloop.documents.load import ALLOW_OUTSIDE
from jouleloop.engines.protocol import SEMANTICS, SearchOptions
from jouleloop.errors import Fault, InputError, gather
from jouleloop.files import parse_yaml
from jouleloop.terminal.splice import spliced
from jouleloop.workload.layer import CONV
from jouleloop.workload.problem import ProblemShape
from jouleloop.workload.variants import Value


@dataclass(frozen=True)
class HardwareChoice:
    """What the options say of energies, attributes and counting rules; see `Architecture.read`."""

    semantics: str
    energy: Sequence[str] | None
    components: Sequence[Path]
    variables: Mapping[str, str]
    changes: Mapping[str, Value]
    mapspace: MapspaceChoice = AS_CONFIGURED

    def load(self, arch: str, constraints: str | None = None, shape: ProblemShape = CONV) -> Architecture:
        """Return the architecture ``arch`` under a set of constraints, or under those of a file."""
        return Architecture.read(
            arch,
            constraints=constraints,
            energy=self.energy,
            components=self.components,
            variables=self.variables,
            changes=self.changes,
            semantics=self.semantics,
            **vars(self.mapspace),
            shape=shape,
        )


@dataclass(frozen=True)
class Mapspace(MapspaceChoice):
    """What the options say of the mapspace."""

    factors: options.LoopFactors = None
    space: options.Space = None
    axes: options.Axes = None


@spliced(mapspace=Mapspace)
def hardware_of(
    mapspace: MapspaceChoice,
    energy: options.EnergyTable = None,
    components: options.Components = None,
    variables: options.Variables = None,
    allow_outside: options.AllowOutside = False,
    changes: options.Changes = None,
    semantics: options.Semantics = SEMANTICS[0],
) -> HardwareChoice:
    """Return what the options say."""
    read_outside(allowed=allow_outside)
    given, changed = gather(lambda: pairs_of(variables), lambda: _pairs(changes, "--set", _value))
    return HardwareChoice(semantics, energy or None, components or (), given, changed, mapspace)


@dataclass(frozen=True)
class Subject:
    """The layer or the network that is asked for."""

    layer: options.LayerOrNetwork = None
    network: options.InsteadOfLayer = None


@dataclass(frozen=True)
class SearchChoice:
    """What the options say of a search; several architectures are searched alike."""

    constraints: str | None
    engine: str
    options: SearchOptions


def search_of(
    constraints: options.ConstraintSet = None,
    objective: options.Objective = "energy",
    engine: options.EngineName = "native",
    budget: options.Budget = None,
    seconds: options.Seconds = None,
) -> SearchChoice:
    """Return what the options say."""
    told = options_of(objective, budget, seconds)
    return SearchChoice(constraints, engine, told)


@dataclass(frozen=True)
class FusionChoice:
    """What the options say of fused layers."""

    level: options.FusionLevel = None
    recompute: options.Recompute = False
    page: options.FusedPage = None


def read_outside(*, allowed: bool) -> None:
    """Let designs include files from outside their folder, here and in the processes that this one starts."""
    if allowed:
        os.environ[ALLOW_OUTSIDE] = "1"


def pairs_of(variables: options.Variables) -> dict[str, str]:
    """Return the variables of templates by name."""
    return _pairs(variables, "--variable", str)


def _pairs(texts: Sequence[str] | None, option: str, read: Callable[[str], Any]) -> dict[str, Any]:
    """Return the values of an option by name; raise `InputError` where a text is no pair, or a name has two."""
    found: dict[str, str] = {}
    for text in texts or ():
        name, equals, value = text.partition("=")
        if not name or not equals:
            raise InputError(Fault("must be a name and a value", option, value=text, allowed="NAME=VALUE"))
        if name in found:
            raise InputError(Fault(f"{name} is given twice", option, value=f"{name}={found[name]} and {text}"))
        found[name] = value
    return {name: read(value) for name, value in found.items()}


def _value(text: str) -> Value:
    """Return the number, truth value or text that ``text`` is in YAML; None for null."""
    found = parse_yaml(text, "--set")
    return found if found is None or isinstance(found, (str, int, float)) else text
