"""Hardware to map layers onto: an architecture with its energies, constraints and counting rules, found by name."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from jouleloop.api.project import ANY_FILES, MapspaceChoice, changed_files, names_in, target_files
from jouleloop.api.rows import energy_rows, frame, html_table
from jouleloop.arch.architecture import StorageLevel
from jouleloop.engines.protocol import SEMANTICS, Target
from jouleloop.errors import InputError, gather, unknown
from jouleloop.study.targets import TargetFiles, TargetSet
from jouleloop.workload.layer import CONV
from jouleloop.workload.problem import Problem, ProblemShape
from jouleloop.workload.variants import Value

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Architecture:
    """An accelerator with all that decides what a mapping costs on it.

    Attributes
    ----------
    files
        Architecture, energies and constraints, and what is changed in them.
    semantics
        Whose counting rules hold: ``timeloop-3.0.3``, ``timeloop-2023-04``.

    Examples
    --------
    >>> import jouleloop as jl
    >>> small = jl.Architecture.read("eyeriss").with_({"shared_glb.depth": 8192})
    >>> small.level("shared_glb").capacity_words
    32768
    """

    files: TargetFiles
    semantics: str = SEMANTICS[0]
    shape: ProblemShape = CONV

    # Every option is a keyword of its own, as on the command line: calls such as `read("tiny.yaml", energy="tables")`
    # would have to import a record, and name it, for nothing.
    @classmethod
    def read(
        cls,
        source: str | Path,
        *,
        constraints: str | Path | None = None,
        energy: str | Path | Sequence[str | Path] | None = None,
        components: Sequence[str | Path] = (),
        variables: Mapping[str, str] | None = None,
        changes: Mapping[str, Value] | None = None,
        semantics: str = SEMANTICS[0],
        factors: str | None = None,
        space: str | None = None,
        axes: str | None = None,
        shape: ProblemShape = CONV,
    ) -> "Architecture":
        """Return the architecture of a name or file.

        Parameters
        ----------
        source
            A name in ``config/config.yaml`` or ``arch/``, of the own project or of the package; or the path of an
            architecture file, Timeloop v0.4 or v0.3.
        constraints
            ``full``, ``arch-only``, ``none``, or the path of a constraints file; as configured without it.
        energy
            A reference table's path, ``tables``, ``interpolated``, ``accelergy``, or several of these, asked in turn.
        components
            Files with compound components for ``interpolated`` and ``accelergy``.
        variables
            Values of the variables of a file that is a jinja2 template.
        changes
            Attributes that differ from the file, by path, such as ``{"shared_glb.depth": 8192}``.
        factors
            ``perfect`` or ``imperfect``: whether loops must divide the layer; as configured without it.
        space
            ``timeloop`` or ``legal``: the orders of loops that Timeloop's mapper tries, or all that the constraints
            allow; as configured without it.
        axes
            ``apart`` or ``free``: whether a dimension may be unrolled along both axes of a fan-out, where no window
            slides in the layer; as configured without it.
        shape
            Shape of problem that the constraints are written for.

        Raises
        ------
        InputError
            With all faults of the files together.
        """
        change = partial(
            changed_files,
            constraints=constraints,
            energy=energy,
            components=components,
            variables=variables,
            changes=changes,
            mapspace=MapspaceChoice(factors, space, axes),
        )
        # What is wrong with the choices is told beside an unknown architecture.
        files, _ = gather(lambda: target_files(str(source)), lambda: change(ANY_FILES))
        return cls._of(change(files), semantics, shape)

    @classmethod
    def _of(cls, files: TargetFiles, semantics: str, shape: ProblemShape) -> "Architecture":
        """Return the architecture of these files, which are read now."""
        found = cls(files, semantics, shape)
        found.targets  # noqa: B018 - reads the files
        return found

    def with_(
        self,
        changes: Mapping[str, Value] | None = None,
        *,
        constraints: str | Path | None = None,
        energy: str | Path | Sequence[str | Path] | None = None,
        semantics: str | None = None,
    ) -> "Architecture":
        """Return a variant: attributes changed by path, other constraints, energies or counting rules.

        A change of a size changes the energies that are estimated from it; those of a reference table stay.
        """
        files = changed_files(self.files, constraints=constraints, energy=energy, changes=changes)
        return self._of(files, semantics or self.semantics, self.shape)

    @cached_property
    def targets(self) -> TargetSet:
        """The files as read, for every shape of problem."""
        return TargetSet(self.files, self.semantics, (self.shape,))

    def target(self, problem: Problem) -> Target:
        """Return what engines need for ``problem``."""
        return self.targets.for_shape(problem.shape)

    @property
    def name(self) -> str:
        """Name in tables."""
        return self.files.name

    @property
    def levels(self) -> tuple[StorageLevel, ...]:
        """Storage levels, outermost first."""
        return self.targets.arch.levels

    @property
    def mac_units(self) -> int:
        """Number of multiply-accumulate units."""
        return self.targets.arch.compute.instances

    def level(self, name: str) -> StorageLevel:
        """Return the storage level called ``name``; raise `InputError` with the nearest one where there is none."""
        levels = {level.name: level for level in self.levels}
        if name not in levels:
            raise InputError(unknown(name, levels, "storage level", field="name"))
        return levels[name]

    @property
    def constrained(self) -> bool:
        """Whether a constraints file belongs to it, or was given."""
        return self.files.constraints is not None

    def energies(self) -> "pd.DataFrame":
        """Return every energy per action: pJ an access, words an access, pJ a word, and the estimator that says so.

        Where accesses are counted, ``pj`` in the names of columns is ``access_words``.
        """
        target = self.targets.for_shape(self.shape)
        return frame(energy_rows(target), target.costs.unit)

    def __repr__(self) -> str:
        changed = "".join(f", {path}={value}" for path, value in self.files.changes)
        return f"<Architecture {self.name}: {len(self.levels)} levels, {self.mac_units} MAC units{changed}>"

    def _repr_html_(self) -> str:
        compute = self.targets.arch.compute
        words = ["unlimited" if one.capacity_words is None else f"{one.capacity_words:,}" for one in self.levels]
        rows = [
            (one.name, f"{one.instances:,}", held, one.word_bits) for one, held in zip(self.levels, words, strict=True)
        ]
        rows.append((compute.name, f"{compute.instances:,}", "", compute.word_bits))
        table = html_table(("level", "instances", "words per instance", "bits per word"), rows)
        return f"<p><b>{escape(self.name)}</b>, energies {escape(self.targets.costs.table)}</p>{table}"


def architecture_names() -> list[str]:
    """Return the names that `Architecture.read` knows without a path."""
    return sorted(names_in(Path("arch")))
