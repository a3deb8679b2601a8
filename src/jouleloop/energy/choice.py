"""Which estimators the energies of an architecture come from: what a user names, and the costs that they make."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jouleloop.arch.architecture import Architecture
from jouleloop.energy.accelergy import AccelergyEstimator
from jouleloop.energy.built_in import BuiltInEstimator
from jouleloop.energy.costs import EnergyCosts
from jouleloop.energy.counts import CountsEstimator
from jouleloop.energy.estimator import Estimator, estimate_costs, read_estimator
from jouleloop.energy.interpolated import InterpolatedEstimator, data_files
from jouleloop.errors import EnergyTableError, Fault, unknown

#: Names of the estimators.
ESTIMATORS = ("tables", "interpolated", "accelergy", "built-in", "counts")

#: Where the numbers of `interpolated` lie in a project.
DATA = Path("arch/energy")

_WITHOUT_FILES: dict[str, type[BuiltInEstimator | CountsEstimator]] = {
    "built-in": BuiltInEstimator,
    "counts": CountsEstimator,
}
_TABLE_ENDINGS = (".yaml", ".yml")


@dataclass(frozen=True)
class EnergySource:
    """One estimator and the files it needs."""

    estimator: str
    table: Path | None = None
    """Reference table of ``tables``: one of ours, or an energy reference table (ERT) as Accelergy writes it."""
    components: tuple[Path, ...] = ()
    """Files with compound components for ``interpolated`` and ``accelergy``, besides the project's own."""
    data: Path = DATA
    """Folder with the numbers of ``interpolated``, and the project's compound components for both."""
    program: str = "accelergy"
    """Executable of ``accelergy``."""

    def files(self) -> tuple[Path, ...]:
        """Return the files whose content decides about the energies."""
        if self.estimator == "tables":
            return () if self.table is None else (self.table,)
        if self.estimator in _WITHOUT_FILES:
            return ()
        if self.estimator == "interpolated":
            return (*data_files(self.data), *self.components)
        return (self.data / "components.yaml", self.data / "components-0.4.yaml", *self.components)

    def open(self, design: Sequence[Mapping[str, Any]] = ()) -> Estimator:
        """Return the estimator; raise `EnergyTableError` where it or its files are none.

        Parameters
        ----------
        design
            Compound components that the architecture file itself defines: they replace the project's own.
        """
        if self.estimator not in ESTIMATORS:
            raise EnergyTableError(unknown(self.estimator, ESTIMATORS, "energy estimator"))
        if self.estimator == "interpolated":
            return InterpolatedEstimator.read(self.data, self.components, design)
        if self.estimator == "accelergy":
            return AccelergyEstimator(self.program, self.components, own=self.data, design=tuple(design))
        if self.estimator in _WITHOUT_FILES:
            return _WITHOUT_FILES[self.estimator]()
        if self.table is None:
            raise EnergyTableError(Fault("the estimator 'tables' needs a table", allowed="the path of a YAML file"))
        return read_estimator(self.table)


def source_of(text: str, root: Path = Path(), *, components: Sequence[Path] = ()) -> EnergySource:
    """Return the source that a text stands for: the path of a reference table, or the name of an estimator.

    Raises `EnergyTableError` where the text is neither.
    """
    if text.endswith(_TABLE_ENDINGS):
        return EnergySource("tables", root / text)
    if text in ESTIMATORS and text != "tables":
        return EnergySource(text, components=tuple(components), data=root / DATA)
    fault = unknown(text, ESTIMATORS, "energy estimator")
    allowed = "the path of an energy table (.yaml), interpolated, accelergy, built-in or counts"
    raise EnergyTableError(Fault(fault.message, fault.source, fault.field, text, allowed, fault.nearest))


def costs_of(
    arch: Architecture, sources: Sequence[EnergySource], *, warn: Callable[[str], object] | None = None
) -> EnergyCosts:
    """Return the energies of an architecture, each component's from the first source that knows it.

    Raises `EnergyTableError` where a source cannot be read, or no source knows a component; see `estimate_costs`.
    """
    return estimate_costs(arch, [source.open(arch.components) for source in sources], warn=warn)


def sources_of(energy: Path | Sequence[EnergySource]) -> tuple[EnergySource, ...]:
    """Return the sources of a target: a path alone stands for a reference table."""
    if isinstance(energy, Path):
        return (EnergySource("tables", energy),)
    return tuple(energy)
