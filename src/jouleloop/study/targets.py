"""Targets from files: architecture, energies and constraints for each shape of problem."""

import hashlib
import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

from jouleloop.arch.architecture import Architecture
from jouleloop.arch.read import read_architecture
from jouleloop.energy.choice import EnergySource, costs_of, sources_of
from jouleloop.energy.costs import EnergyCosts
from jouleloop.engines.protocol import SEMANTICS, Target
from jouleloop.errors import InputError, JouleloopError, gather, unknown
from jouleloop.expressions import one_budget
from jouleloop.files import shown_path
from jouleloop.mapspace.constraints import AxesName, Constraints, SpaceName
from jouleloop.mapspace.read import UnreadShapeError, own_constraints, read_constraints
from jouleloop.model.semantics import rules_of
from jouleloop.workload.layer import CONV
from jouleloop.workload.problem import ProblemShape
from jouleloop.workload.variants import UNCHANGED, Variant

LOG = logging.getLogger("jouleloop.study")


@dataclass(frozen=True)
class TargetFiles:
    """The files of one target."""

    name: str
    arch: Path
    energy: Path | Sequence[EnergySource]
    """A reference table, or the estimators that are asked in turn."""
    constraints: Path | None
    """None for no constraints but those inside the architecture."""
    which: str = "full"
    """Set of constraints: ``full``, ``arch-only``, or ``none`` for no constraints at all."""
    changes: Variant = UNCHANGED
    """Attributes that differ from the file, by path; see `jouleloop.arch.change`."""
    variables: tuple[tuple[str, str], ...] = ()
    """Values of the variables of an architecture file that is a jinja2 template."""
    factors: Literal["perfect", "imperfect"] | None = None
    """Whether loops must divide the layer; None as the constraints say."""
    space: SpaceName = "timeloop"
    """Which orders of loops count; see `Constraints.space`."""
    axes: AxesName = "apart"
    """Whether a dimension may be unrolled along both axes; see `Constraints.axes`."""

    @property
    def sources(self) -> tuple[EnergySource, ...]:
        """The estimators that are asked for energies, in turn."""
        return sources_of(self.energy)

    def paths(self) -> tuple[Path, ...]:
        """Return the files that there are."""
        energy = dict.fromkeys(path for source in self.sources for path in source.files())
        return (self.arch, *energy, *([] if self.constraints is None else [self.constraints]))

    def hashes(self) -> dict[str, str]:
        """Return the SHA-256 of every file, by its path."""
        return {shown_path(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in self.paths()}


class TargetSet:
    """One target in all shapes of problem, read once each.

    Raises `InputError`, with the faults of all its files together.

    Parameters
    ----------
    shapes
        Shapes whose constraints are read at once, so that their faults show with those of the other files.
    """

    @one_budget()
    def __init__(
        self, files: TargetFiles, semantics: str = SEMANTICS[0], shapes: Iterable[ProblemShape] = (CONV,)
    ) -> None:
        if semantics not in SEMANTICS:
            raise InputError(unknown(semantics, SEMANTICS, "semantics", field="semantics"))
        self.files = files
        self.semantics = semantics
        later = rules_of(semantics).reads_underscores
        self.arch: Architecture = read_architecture(
            files.arch, variables=dict(files.variables), changes=files.changes, later=later
        )
        shapes = tuple(shapes)
        found: Any = gather(self._estimated, *(partial(self._constraints, shape) for shape in shapes))
        self.costs: EnergyCosts = found.pop(0)
        self._targets = {
            s: Target(self.arch, self.costs, given, semantics) for s, given in zip(shapes, found, strict=True)
        }

    def _estimated(self) -> EnergyCosts:
        try:
            return costs_of(self.arch, self.files.sources)
        except JouleloopError as error:
            raise error.at(self.files.arch) from error

    @property
    def shapes(self) -> tuple[ProblemShape, ...]:
        """The shapes that it has been read for."""
        return tuple(self._targets)

    @property
    def factors(self) -> Literal["perfect", "imperfect"]:
        """Whether loops divide the layer; the same for every shape."""
        return next(iter(self._targets.values())).constraints.factors

    @property
    def name(self) -> str:
        """Name of the target in tables."""
        return self.files.name

    def for_shape(self, shape: ProblemShape) -> Target:
        """Return the target for problems of ``shape``."""
        if shape not in self._targets:
            self._targets[shape] = Target(self.arch, self.costs, self._constraints(shape), self.semantics)
        return self._targets[shape]

    def for_layers(self, shape: ProblemShape) -> Target:
        """Return the target for layers of ``shape``; its constraints are refused where no rule reads them for it."""
        try:
            return self.for_shape(shape)
        except UnreadShapeError as error:  # once a shape
            LOG.warning("%s", error)
            given = Constraints("refused", refused=str(error))
            return self._targets.setdefault(shape, Target(self.arch, self.costs, given, self.semantics))

    def _constraints(self, shape: ProblemShape) -> Constraints:
        found = replace(self._stated_constraints(shape), space=self.files.space, axes=self.files.axes)
        return found if self.files.factors is None else replace(found, factors=self.files.factors)

    def _stated_constraints(self, shape: ProblemShape) -> Constraints:
        if self.files.which == "none":
            return Constraints("none")
        if self.files.constraints is None:
            variables = dict(self.files.variables)
            return own_constraints(self.files.arch, self.arch, self.files.which, shape=shape, variables=variables)
        return read_constraints(self.files.constraints, self.arch, self.files.which, shape=shape)


def load_targets(
    entries: Mapping[str, TargetFiles], semantics: str, shapes: Iterable[ProblemShape] = (CONV,)
) -> dict[str, TargetSet]:
    """Return all targets by name for these shapes; raise `InputError` with the faults of all of them together."""
    found = gather(*(partial(TargetSet, files, semantics, shapes) for files in entries.values()))
    return dict(zip(entries, found, strict=True))
