"""Measure the error of interpolating SRAM energies and areas in the CACTI grid, as Markdown tables for docs/energy.md.

Usage: python benchmarks/interpolation_error.py
"""

import csv
import sys
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "tests")]

from held_out import held_out_errors  # noqa: E402
from jouleloop.energy.cacti import CactiGrid, OutsideGrid  # noqa: E402


def row(name: str, errors: "np.ndarray[tuple[int], np.dtype[np.float64]]") -> str:
    size = np.abs(errors)
    tenth, twentieth = np.quantile(size, [0.9, 0.95])
    return f"| {name} | {size.size} | {np.median(size):.1%} | {tenth:.1%} | {twentieth:.1%} | {size.max():.0%} |"


def between(grid: CactiGrid, file: Path) -> dict[str, list[float]]:
    found: dict[str, list[float]] = {}
    for line in csv.DictReader(file.read_text(encoding="utf-8").splitlines()):
        depth, width, banks, ports, nm = (int(line[key]) for key in ("depth", "width", "banks", "ports", "nm"))
        ours = grid.energy(depth, width, banks, ports, nm)
        errors = [ours.read_pj / float(line["read_pJ"]) - 1, ours.write_pj / float(line["write_pJ"]) - 1]
        found.setdefault(f"{nm} nm", []).extend(errors)
    return found


#: Places of a grid point's numbers: energies of reads and writes, and the area.
ENERGIES, AREA = (0, 1), (3,)


def other_nodes(grid: CactiGrid, numbers: tuple[int, ...]) -> dict[str, list[float]]:
    """Errors of every grid point from the same memory at other nodes, its own left out."""
    found: dict[str, list[float]] = {}
    nodes = sorted({key[0] for key in grid.points})
    for nm in nodes[:-1]:
        rest = CactiGrid({key: plane for key, plane in grid.points.items() if key[0] != nm})
        for (node, banks, ports), plane in grid.points.items():
            if node != nm:
                continue
            for (depth, width), real in plane.items():
                try:
                    found_there = rest.energy(depth, width, banks, ports, nm)
                except OutsideGrid:
                    continue
                ours = (found_there.read_pj, found_there.write_pj, found_there.idle_pj, found_there.area_um2)
                rule = "finer than all" if nm == nodes[0] else "between two"
                found.setdefault(f"{nm} nm, {rule}", []).extend(ours[i] / real[i] - 1 for i in numbers)
    return found


def main() -> None:
    grid = CactiGrid.read(ROOT / "arch/energy/cacti")
    head = "| technology | predictions | median | 90 % | 95 % | largest |\n|---|---|---|---|---|---|"
    lines = ["Real CACTI between the grid points:", "", head]
    found = between(grid, ROOT / "tests/reference/cacti/between.csv")
    lines += [row(name, np.array(found[name])) for name in sorted(found)]
    lines.append(row("all", np.array([error for errors in found.values() for error in errors])))
    for what, numbers in (("Energies", ENERGIES), ("Areas", AREA)):
        lines += ["", f"{what} of grid points left out, from those at half and twice their depth or width:", "", head]
        for nm in sorted({key[0] for key in grid.points}):
            part = CactiGrid({key: plane for key, plane in grid.points.items() if key[0] == nm})
            lines.append(row(f"{nm} nm", held_out_errors(part, numbers)))
        lines.append(row("all", held_out_errors(grid, numbers)))
        lines += ["", f"{what} at nodes left out, from the same memory at others:", "", head]
        lines += [row(name, np.array(errors)) for name, errors in other_nodes(grid, numbers).items()]
    sys.stdout.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
