"""Options that ``map``, ``evaluate`` and ``sweep`` share: what changes the hardware that a name stands for."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from jouleloop.cli import options
from jouleloop.cli.project import load_target
from jouleloop.engines.protocol import SEMANTICS
from jouleloop.study.targets import TargetSet
from jouleloop.workload.layer import CONV
from jouleloop.workload.problem import ProblemShape


@dataclass(frozen=True)
class HardwareChoice:
    """What the options say of energies, attributes and counting rules; for the parameters see `load_target`."""

    semantics: str
    energy: Sequence[str] | None
    components: Sequence[Path] | None
    variables: Sequence[str] | None
    changes: Sequence[str] | None

    def load(self, arch: str, constraints: str | None = None, shape: ProblemShape = CONV) -> TargetSet:
        """Return the target ``arch`` under a set of constraints, or under those of a file."""
        which, path = options.split_constraints(constraints)
        return load_target(
            arch,
            semantics=self.semantics,
            constraints=which,
            energy=self.energy,
            components=self.components,
            constraints_file=path,
            variables=self.variables,
            changes=self.changes,
            shape=shape,
        )


def hardware_of(
    energy: options.EnergyTable = None,
    components: options.Components = None,
    variables: options.Variables = None,
    changes: options.Changes = None,
    semantics: options.Semantics = SEMANTICS[0],
) -> HardwareChoice:
    """Return what the options say."""
    return HardwareChoice(semantics, energy, components, variables, changes)
