"""SRAM energies from a grid of CACTI runs: exact at grid points, interpolated in log space between, nothing outside."""

import bisect
import csv
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path

from jouleloop.energy.scaling import bracket, covers, sram_scale
from jouleloop.errors import EnergyTableError, Fault
from jouleloop.files import read_text

_COLUMNS = ("depth", "width", "banks", "ports", "nm", "read_pJ", "write_pJ", "idle_pJ", "area_um2")

#: Energies of a read, a write and an idle cycle [pJ], and the area [um2].
_Numbers = tuple[float, float, float, float]


class OutsideGrid(ValueError):  # noqa: N818 - says what happened
    """A memory lies outside the grid; the text says in what."""


@dataclass(frozen=True)
class SramEnergy:
    """Energy of one read, one write and one idle cycle, in pJ, and the area."""

    read_pj: float
    write_pj: float
    idle_pj: float
    area_um2: float
    exact: bool

    def times(self, energy: float, area: float) -> "SramEnergy":
        """Return the energies times a factor, and the area times another."""
        scaled = (energy * self.read_pj, energy * self.write_pj, energy * self.idle_pj)
        return SramEnergy(*scaled, area * self.area_um2, exact=False)

    def plus(self, other: "SramEnergy") -> "SramEnergy":
        """Return the sums of energies and areas."""
        sums = (self.read_pj + other.read_pj, self.write_pj + other.write_pj, self.idle_pj + other.idle_pj)
        return SramEnergy(*sums, self.area_um2 + other.area_um2, exact=False)


@dataclass(frozen=True)
class CactiGrid:
    """Energies and area by (nm, banks, ports) and then by (depth [words], width [bits])."""

    points: dict[tuple[int, int, int], dict[tuple[int, int], _Numbers]]

    @classmethod
    def read(cls, folder: Path) -> "CactiGrid":
        """Return the grid of all ``sram_*.csv`` in a folder."""
        points: dict[tuple[int, int, int], dict[tuple[int, int], _Numbers]] = {}
        files = sorted(folder.glob("sram_*.csv"))
        if not files:
            raise EnergyTableError(Fault("holds no CACTI grid", str(folder), allowed="files sram_<nm>.csv"))
        for file in files:
            rows = csv.reader(read_text(file).splitlines())
            names = next(rows, [])
            if not set(_COLUMNS) <= set(names):
                raise EnergyTableError(Fault("lacks columns", str(file), allowed=", ".join(_COLUMNS)))
            wanted = itemgetter(*map(names.index, _COLUMNS))
            for row in filter(None, rows):
                try:
                    cells = wanted(row)
                    depth, width, banks, ports, nm = map(int, cells[:5])
                    read, write, idle, area = map(float, cells[5:])
                except (IndexError, ValueError) as error:
                    raise EnergyTableError(Fault(f"holds a bad row: {error}", str(file))) from error
                points.setdefault((nm, banks, ports), {})[depth, width] = (read, write, idle, area)
        return cls(points)

    def energy(self, depth: int, width: int, banks: int, ports: int, nm: int) -> SramEnergy:
        """Return the energies and the area of one memory.

        Between grid points the logarithms are interpolated linearly in the logarithms of depth and
        width. Banks that are no power of two are rounded up, as Accelergy's CACTI plug-in does. So are nodes between
        those of the grid, and finer ones, treated as there (`jouleloop.energy.scaling`).

        Raises `OutsideGrid` where the memory is not within the grid.
        """
        nodes = sorted({key[0] for key in self.points})
        if nm < nodes[0]:
            if not covers(nm):
                raise OutsideGrid(f"technology {nm} nm, known are 7 to {nodes[-1]} nm")
            return self._at(depth, width, banks, ports, nodes[0]).times(sram_scale(nodes[0], nm), nm / nodes[0])
        if nm in nodes or nm > nodes[-1]:
            return self._at(depth, width, banks, ports, nm)
        low, high, share = bracket(nm, nodes)
        finer, coarser = (self._at(depth, width, banks, ports, node) for node in (low, high))
        return finer.times(1 - share, 1 - share).plus(coarser.times(share, share))

    def _at(self, depth: int, width: int, banks: int, ports: int, nm: int) -> SramEnergy:
        """Return the energies at a node of the grid; raise `OutsideGrid` where the memory is not within it."""
        plane = self.points.get((nm, 1 << max(banks - 1, 0).bit_length(), ports))
        if plane is None:
            for what, value, index in (("technology", nm, 0), ("number of ports", ports, 2)):
                known = sorted({key[index] for key in self.points})
                if value not in known:
                    unit = " nm" if index == 0 else ""
                    raise OutsideGrid(f"{what} {value}{unit}, the grid has {', '.join(map(str, known))}{unit}")
            most = max(key[1] for key in self.points)
            raise OutsideGrid(f"{banks} banks, the grid has 1 to {most}")
        if (depth, width) in plane:
            return SramEnergy(*plane[depth, width], exact=True)
        return SramEnergy(*_interpolate(plane, depth, width), exact=False)


def _bracket(values: Sequence[int], wanted: int, what: str) -> tuple[int, int]:
    if not values or not values[0] <= wanted <= values[-1]:
        span = f"{values[0]} to {values[-1]}" if values else "nothing"
        raise OutsideGrid(f"{what} {wanted}, the grid has {span}")
    at = bisect.bisect_left(values, wanted)
    return (wanted, wanted) if values[at] == wanted else (values[at - 1], values[at])


def _interpolate(plane: dict[tuple[int, int], _Numbers], depth: int, width: int) -> _Numbers:
    widths = _bracket(sorted({w for _, w in plane}), width, "width")
    common = set.intersection(*({d for d, w in plane if w == wanted} for wanted in widths))
    depths = _bracket(sorted(common), depth, "depth")
    weights = []
    for (low, high), wanted in ((depths, depth), (widths, width)):
        share = 0.0 if low == high else math.log(wanted / low) / math.log(high / low)
        weights.append(((low, 1 - share), (high, share)) if low != high else ((low, 1.0),))
    logs = [0.0, 0.0, 0.0, 0.0]
    for (d, weight_d), (w, weight_w) in itertools.product(*weights):
        for number in range(4):
            logs[number] += weight_d * weight_w * math.log(plane[d, w][number])
    return math.exp(logs[0]), math.exp(logs[1]), math.exp(logs[2]), math.exp(logs[3])
