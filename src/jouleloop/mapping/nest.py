"""The loop nest as text, the way Timeloop prints it, and back."""

import re
from collections.abc import Mapping as AnyMapping
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from jouleloop.arch.architecture import Architecture
from jouleloop.errors import Fault, MappingError, raise_all, unknown
from jouleloop.files import read_text
from jouleloop.mapping.mapping import LevelMapping, Mapping, close_mapping, end_text
from jouleloop.mapping.validate import check_mapping
from jouleloop.workload.problem import Problem

Tiles = AnyMapping[str, AnyMapping[str, int]]

_HEADER = re.compile(r"(?P<level>\S.*?) \[ (?P<tiles>(?:\S+ )*)\]\s*")
_TILE = re.compile(r"(?P<name>[^\s:()]+)(?::(?P<words>\d+))? ?(?:\((?P<used>\d+)\))?")
_LOOP = re.compile(
    r"[|\s]*for (?P<dimension>\w+) in \[0:(?P<bound>\d+)(?:,(?P<end>\d+))?\)(?: \(Spatial-(?P<axis>[XY])\))?\s*"
)
# What is longer is no loop nest, and would take the patterns long.
_MOST_LINES, _LONGEST_LINE = 10_000, 1000
_LONG_NUMBER = re.compile(r"\d{19}")


@dataclass(frozen=True)
class Nest:
    """A printed loop nest: the mapping, and the tile sizes in words that stood beside the level names."""

    mapping: Mapping
    tiles: dict[str, dict[str, int]]


def tile_words(mapping: Mapping, problem: Problem) -> dict[str, dict[str, int]]:
    """Return the words that each level holds of the data spaces it keeps.

    A tile spans the loops of its level, temporal and spatial, and of all levels inside; along a rank it is the bounding
    box, gaps left by a stride included.
    """
    extent = dict.fromkeys(problem.shape.dimensions, 1)
    tiles: dict[str, dict[str, int]] = {}
    for level in reversed(mapping.levels):
        for dimension, bound in level.loops:
            extent[dimension] *= bound
        held = replace(problem, bounds=tuple(min(extent[d], bound) for d, bound in problem.bound.items()))
        kept = (space for space in problem.data_spaces if space.name in level.keep)
        tiles[level.level] = {space.name: held.tensor_words(space) for space in kept}
    return tiles


def print_nest(mapping: Mapping, problem: Problem, arch: Architecture | None = None, tiles: Tiles | None = None) -> str:
    """Return the loop nest as Timeloop 3.0.3 writes it to ``timeloop-mapper.map.txt``.

    A level without a temporal loop shows the last dimension with bound 1.

    Parameters
    ----------
    arch
        Checked against where given.
    tiles
        Words by level and data space; computed where not given.

    Source: Timeloop ``src/mapping/nest.cpp``, ``Nest::PrettyPrint``.
    """
    if arch is not None:
        check_mapping(mapping, problem, arch)
    shown = tile_words(mapping, problem) if tiles is None else tiles
    lines: list[str] = []
    indent = "| "
    for level, (temporal, spatial) in zip(mapping.levels, mapping.residual_ends(), strict=True):
        held = "".join(
            f"{space.name}:{shown[level.level][space.name]} ({shown[level.level][space.name]}) "
            for space in problem.data_spaces
            if space.name in level.keep
        )
        header = f"{level.level} [ {held}] "
        lines += ["", header, "-" * (len(header) - 1)]
        if not level.temporal:
            lines.append(f"{indent}for {problem.shape.dimensions[-1]} in [0:1)")
            indent += "  "
        for (dimension, bound), end in zip(level.temporal, temporal, strict=True):
            lines.append(f"{indent}for {dimension} in [0:{end_text(bound, end)})")
            indent += "  "
        for (dimension, bound, axis), end in zip(level.spatial, spatial, strict=True):
            lines.append(f"{indent}for {dimension} in [0:{end_text(bound, end)}) (Spatial-{axis})")
            indent += "  "
    return "\n".join([*lines, "", ""])


def read_map_txt(path: Path, problem: Problem, arch: Architecture) -> Nest:
    """Return the loop nest in a file that Timeloop printed; see `parse_map_txt`."""
    try:
        return parse_map_txt(read_text(path), problem, arch)
    except MappingError as error:
        raise error.at(path) from error


def parse_map_txt(text: str, problem: Problem, arch: Architecture) -> Nest:
    """Return the loop nest that Timeloop printed, of 3.0.x or later versions.

    Raises `MappingError` where a line is none of a loop nest, or the nest is none of this problem on this architecture.
    """
    levels, faults = printed_levels(text)
    known, found = arch.level_names, {level.name: level for level in levels}
    faults += [
        unknown(level.name, known, "level", field=f"line {level.line}") for level in levels if level.name not in known
    ]
    if not faults:
        missing = [name for name in known if name not in found]
        faults += [Fault(f"lacks the level {', '.join(missing)}")] if missing else []
    raise_all(faults, MappingError)
    mapping = mapping_of([found[name] for name in known])
    check_mapping(mapping, problem, arch)
    return Nest(mapping, {level.name: level.tiles for level in levels})


@dataclass
class PrintedLevel:
    """A level of a printed nest, without the loops that run once."""

    name: str
    line: int
    tiles: dict[str, int]
    """Words by data space, where they are printed."""
    keep: frozenset[str]
    temporal: list[tuple[str, int]] = field(default_factory=list)
    spatial: list[tuple[str, int, str]] = field(default_factory=list)
    ends: tuple[list[int | None], list[int | None]] = field(default_factory=lambda: ([], []))
    """Remainders of the temporal and of the spatial loops, where they are printed."""

    def add(self, loop: re.Match[str]) -> Fault | None:
        """Add a printed loop; return what is wrong with it."""
        bound, end = int(loop["bound"]), int(loop["end"]) if loop["end"] else None
        if bound == 1:
            return None
        self.ends[bool(loop["axis"])].append(end)
        if loop["axis"]:
            self.spatial.append((loop["dimension"], bound, loop["axis"]))
            return None
        self.temporal.append((loop["dimension"], bound))
        return Fault("a temporal loop stands inside a spatial one") if self.spatial else None


def printed_levels(text: str) -> tuple[list[PrintedLevel], list[Fault]]:
    """Return the levels of a printed nest in their order, and what is wrong with its lines.

    Raises `MappingError` for a text that is too long for one.
    """
    lines = text.splitlines()
    if len(lines) > _MOST_LINES or max(map(len, lines), default=0) > _LONGEST_LINE or _LONG_NUMBER.search(text):
        raise MappingError(Fault("is no loop nest", allowed=f"{_MOST_LINES} lines, numbers of 18 digits"))
    levels: list[PrintedLevel] = []
    faults: list[Fault] = []
    for number, line in enumerate(lines, 1):
        stripped = line.strip().lstrip("|").strip()
        if not stripped or set(stripped) <= {"-"} or stripped == "<< Compute >>":
            continue
        loop = _LOOP.fullmatch(line)
        header = None if loop else _HEADER.fullmatch(line.strip() + " ")
        fault: Fault | None = None
        if header and any(level.name == header["level"] for level in levels):
            faults.append(Fault(f"line {number} names {header['level']} a second time"))
        elif header:
            parts = list(_TILE.finditer(header["tiles"]))
            tiles = {part["name"]: int(part["words"]) for part in parts if part["words"]}
            levels.append(PrintedLevel(header["level"], number, tiles, frozenset(part["name"] for part in parts)))
        elif loop and levels:
            fault = levels[-1].add(loop)
        else:
            fault = Fault("a loop before the first level" if loop else "is no line of a loop nest", value=line)
        if fault:
            faults.append(replace(fault, field=f"line {number}"))
    return levels, faults


def mapping_of(levels: Sequence[PrintedLevel]) -> Mapping:
    """Return the mapping of printed levels, outermost first; raise `MappingError` where a remainder is none."""
    found = [LevelMapping(one.name, tuple(one.temporal), tuple(one.spatial), one.keep) for one in levels]
    return close_mapping(found, [one.ends for one in levels])
