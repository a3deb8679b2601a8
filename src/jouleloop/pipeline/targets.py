"""Targets from files: architecture, energies and constraints for each shape of problem."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from jouleloop.arch.architecture import Architecture
from jouleloop.arch.read import read_architecture
from jouleloop.energy.costs import EnergyCosts
from jouleloop.energy.tables import load_costs
from jouleloop.engines.protocol import SEMANTICS, Target
from jouleloop.errors import Fault, InputError, JouleloopError, unknown
from jouleloop.files import shown_path
from jouleloop.mapspace.constraints import Constraints
from jouleloop.mapspace.read import read_constraints
from jouleloop.workload.layer import CONV
from jouleloop.workload.problem import ProblemShape


@dataclass(frozen=True)
class TargetFiles:
    """The files of one target.

    Attributes
    ----------
    constraints
        None for no constraints but those inside the architecture.
    which
        Set of constraints: ``full`` or ``arch-only``.
    """

    name: str
    arch: Path
    energy: Path
    constraints: Path | None
    which: str = "full"

    def paths(self) -> tuple[Path, ...]:
        """Return the files that there are."""
        return tuple(path for path in (self.arch, self.energy, self.constraints) if path is not None)

    def hashes(self) -> dict[str, str]:
        """Return the SHA-256 of every file, by its path."""
        return {shown_path(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in self.paths()}


class TargetSet:
    """One target in all shapes of problem, read once each.

    Raises
    ------
    InputError
        With the faults of all its files together.
    """

    def __init__(self, files: TargetFiles, semantics: str = SEMANTICS[0]) -> None:
        if semantics not in SEMANTICS:
            raise InputError(unknown(semantics, SEMANTICS, "semantics", field="semantics"))
        self.files = files
        self.semantics = semantics
        self.arch: Architecture = read_architecture(files.arch)
        faults: list[Fault] = []
        try:
            self.costs: EnergyCosts = load_costs(self.arch, files.energy)
        except JouleloopError as error:
            faults += error.at(files.energy).faults
        self._targets: dict[str, Target] = {}
        try:
            constraints = self._constraints(CONV)
        except JouleloopError as error:
            faults += error.faults
        if faults:
            raise InputError(faults)
        self._targets[CONV.name] = Target(self.arch, self.costs, constraints, semantics)

    @property
    def name(self) -> str:
        """Name of the target in tables."""
        return self.files.name

    def for_shape(self, shape: ProblemShape) -> Target:
        """Return the target for problems of ``shape``."""
        if shape.name not in self._targets:
            self._targets[shape.name] = Target(self.arch, self.costs, self._constraints(shape), self.semantics)
        return self._targets[shape.name]

    def _constraints(self, shape: ProblemShape) -> Constraints:
        if self.files.constraints is None:
            return Constraints("none")
        return read_constraints(self.files.constraints, self.arch, self.files.which, shape=shape)


def load_targets(entries: Mapping[str, TargetFiles], semantics: str) -> dict[str, TargetSet]:
    """Return all targets by name; raise `InputError` with the faults of all of them together."""
    found: dict[str, TargetSet] = {}
    faults: list[Fault] = []
    for name, files in entries.items():
        try:
            found[name] = TargetSet(files, semantics)
        except JouleloopError as error:
            faults += error.faults
    if faults:
        raise InputError(faults)
    return found
