"""Energies from attributes: compound components expanded, SRAM interpolated in a CACTI grid, the rest scaled."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from jouleloop.arch.attributes import canonical
from jouleloop.energy.cacti import CactiGrid, SramEnergy
from jouleloop.energy.compound import Library
from jouleloop.energy.estimator import Estimate, Node, Refusal
from jouleloop.energy.primitives import AREA, NoEstimate, Primitives
from jouleloop.energy.tables import known_attributes

#: Actions of version 0.4 that are not estimated: updates are charged as writes, leakage is left out.
UNCHARGED = ("leak", "update")


@dataclass(frozen=True)
class _Noted(CactiGrid):
    """The grid, noting which answers are grid points."""

    exact: list[bool] = field(default_factory=list)

    def energy(self, depth: int, width: int, banks: int, ports: int, nm: int) -> SramEnergy:
        found = super().energy(depth, width, banks, ports, nm)
        self.exact.append(found.exact)
        return found


def data_files(folder: Path) -> tuple[Path, ...]:
    """Return the files with the numbers of the estimator in a folder such as ``arch/energy``."""
    return (folder / "aladdin-45nm.yaml", folder / "components.yaml", *sorted(folder.glob("cacti/sram_*.csv")))


#: Estimators by their files as they are, and how many are kept.
_READ: dict[str, "InterpolatedEstimator"] = {}
_MOST_READ = 8


@dataclass(frozen=True)
class InterpolatedEstimator:
    """Estimator for any size inside the grid; refuses what lies outside instead of extrapolating."""

    primitives: Primitives
    library: Library
    name: str = "interpolated"
    kind: str = "interpolated"
    data_digest: str = ""

    @classmethod
    def read(
        cls, folder: Path, components: Iterable[Path] = (), design: Sequence[Mapping[str, Any]] = ()
    ) -> "InterpolatedEstimator":
        """Return the estimator for the numbers in a folder such as ``arch/energy``.

        Parameters
        ----------
        components
            Further files with compound components; they replace those of the folder's ``components.yaml``.
        design
            Compound components of the architecture file: they replace the folder's, and ``components`` replace them.
        """
        components = list(components)
        files = [*data_files(folder), *components]
        # Many variants of a design are read in turn, with one set of numbers.
        marks = [(str(file), file.stat().st_mtime_ns, file.stat().st_size) for file in files if file.is_file()]
        mark = repr((str(folder), list(map(str, components)), marks, tuple(design)))
        if mark not in _READ:
            if len(_READ) >= _MOST_READ:
                _READ.clear()
            _READ[mark] = cls._read(folder, components, files, design)
        return _READ[mark]

    @classmethod
    def _read(
        cls, folder: Path, components: list[Path], files: list[Path], design: Sequence[Mapping[str, Any]]
    ) -> "InterpolatedEstimator":
        library = Library.read([folder / "components.yaml"]).with_classes(design)
        library = library.with_classes(Library.read(components).classes.values())
        primitives = Primitives.read(folder)
        state = hashlib.sha256()
        for file in files:
            state.update(file.read_bytes())
        state.update(repr(tuple(design)).encode() if design else b"")
        return cls(primitives, library, data_digest=state.hexdigest())

    def digest(self) -> str:
        """Return a hash of all numbers and component definitions."""
        return self.data_digest

    def estimate(self, node: Node) -> Estimate | Refusal:
        """Return the energies of all actions of a component's class."""
        actions = self.library.actions(node.klass)
        if not actions:
            return Refusal(f"class {node.klass} is neither a primitive nor a compound component known here")
        attributes = self._attributes(node)
        noted = _Noted(self.primitives.grid.points)
        primitives = replace(self.primitives, grid=noted)
        try:
            scale = float(attributes.get("energy_scale") or 1)
            energies = {
                action: scale * self.library.energy(primitives, node.klass, attributes, action)
                for action in actions
                if action not in UNCHARGED
            }
        except (NoEstimate, TypeError, ValueError) as error:
            return Refusal(str(error))
        if not energies:
            return Refusal(f"class {node.klass} has no action that costs dynamic energy")
        how = "" if not noted.exact else " (CACTI grid point)" if all(noted.exact) else " (between CACTI grid points)"
        return Estimate(energies, f"{self.name}: {node.klass}{how}", area_um2=self._area_um2(node, attributes))

    def _area_um2(self, node: Node, attributes: Mapping[str, Any]) -> float | None:
        """Return the area of one instance by the rules of its energies; None where a part has none."""
        try:
            scale = float(attributes.get("area_scale") or 1)
            return scale * self.library.energy(self.primitives, node.klass, attributes, AREA)
        except (NoEstimate, TypeError, ValueError):
            return None

    def _attributes(self, node: Node) -> dict[str, Any]:
        """Return a component's attributes, sizes under both of their names where its class does not tell them apart."""
        attributes = known_attributes(node, {})
        if node.klass not in self.library.classes:
            attributes.setdefault("depth", attributes.get("memory_depth"))
            attributes.setdefault("width", attributes.get("memory_width"))
            attributes.pop("global_cycle_seconds", None)  # built for 5 ns, as in version 0.3
            return attributes
        stated, given = self.library.classes[node.klass].get("attributes") or {}, canonical(node.attributes)
        for name, other in (("memory_depth", "depth"), ("memory_width", "width")):
            if name in stated and other in stated and name not in given:
                del attributes[name]
        return attributes
