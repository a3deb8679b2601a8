"""The blocks of ``stats.txt``: levels with their numbers per data space, networks, summary."""

import re
from dataclasses import dataclass, field

from jouleloop.arch.architecture import MESH, MULTICAST, TREE
from jouleloop.errors import EngineError, Fault
from jouleloop.model.evaluation import NetworkStats

_BANNER = re.compile(r"=== (.*) ===\s*")
_SPACE = re.compile(r"    (\w+):\s*")
_NUMBER = re.compile(r" {4,}([^:]+?) *: *(-?[\d.]+(?:[eE][+-]?\d+)?)%?(?:\s.*)?")
_INGRESS = re.compile(r"\s*@multicast (\d+) @scatter (\d+): ([-\d.eE+]+)\s*")
_NUMBERED = re.compile(r"Network \d+")
_NAME = re.compile(r"(\w\S*(?: \S+)*)\s*")
_NETWORK = re.compile(r"(\S.*) <==> (\S.*?)\s*")
_SECTIONS = re.compile(r"^(Networks|Operational Intensity Stats|Summary Stats)\n-+\n", re.MULTILINE)


@dataclass
class TextLevel:
    """One ``=== level ===`` block: its own numbers, and those of each data space kept there."""

    name: str
    numbers: dict[str, float] = field(default_factory=dict)
    data: dict[str, dict[str, float]] = field(default_factory=dict)

    def number(self, label: str, source: str) -> float:
        """Return the number on the line ``label``; raise `EngineError` where there is none."""
        if label not in self.numbers:
            raise EngineError(Fault(f"{self.name} has no line {label!r}", source))
        return self.numbers[label]


@dataclass(frozen=True)
class Statistics:
    """The contents of ``stats.txt``."""

    levels: tuple[TextLevel, ...]
    """Compute first, then storage from the innermost level outward, as printed."""
    networks: dict[str, dict[str, NetworkStats]]
    """Those that fan out or take energy, as ``outer<==>inner``, or by the name that the design gives them."""
    summary: dict[str, float]
    """``Cycles``, ``Utilization`` (a share of 1), ``fJ/Compute`` (total) and half its last digit, ``rounding fJ``."""


def parse_statistics(text: str, source: str = "stats.txt") -> Statistics:
    """Return the blocks of ``stats.txt`` of 3.0.x or a later version.

    Raises `EngineError` where a section or a line that must be there is not.
    """
    parts = _SECTIONS.split(text)
    sections = dict(zip(parts[1::2], parts[2::2], strict=True))
    missing = {"Networks", "Summary Stats"} - set(sections)
    if missing:
        raise EngineError(Fault(f"no section {', '.join(sorted(missing))}", source))
    levels = _levels(parts[0])
    if len(levels) < 2:
        raise EngineError(Fault("no storage level in it", source))
    return Statistics(tuple(levels), _networks(sections["Networks"]), _summary(sections["Summary Stats"], source))


def _levels(text: str) -> list[TextLevel]:
    levels: list[TextLevel] = []
    space: dict[str, float] | None = None
    for line in text.splitlines():
        if match := _BANNER.fullmatch(line):
            levels.append(TextLevel(match[1].strip()))
        if match or not levels or re.fullmatch(r"\s*(SPECS|MAPPING|STATS|-+)\s*", line):
            space = None
        elif match := _SPACE.fullmatch(line):
            space = levels[-1].data.setdefault(match[1], {})
        elif match := _NUMBER.fullmatch(line):
            numbers = levels[-1].numbers if space is None else space
            # The first of two lines with one label is the one of the specification above it.
            numbers.setdefault(match[1], float(match[2]))
    return levels


class _Networks:
    """The networks that were read so far, and the data space of one that is being read."""

    def __init__(self) -> None:
        self.found: dict[str, dict[str, NetworkStats]] = {}
        self._current: dict[str, NetworkStats] = {}
        self._titled = False
        self._begin("")

    def _begin(self, space: str) -> None:
        self._space = space
        self._numbers: dict[str, float] = {}
        self._ingress: list[tuple[int, int, float]] = []

    def close(self, space: str = "") -> None:
        """End the data space that was read, and begin another."""
        if self._space and self._numbers:
            self._current[self._space] = _network(self._numbers, tuple(self._ingress))
        self._begin(space)

    def read(self, line: str) -> None:
        """Read a line."""
        if match := _NETWORK.fullmatch(line):
            self.close()
            self._current, self._titled = self.found.setdefault(f"{match[1]}<==>{match[2]}", {}), False
        elif _NUMBERED.fullmatch(line):
            self.close()
            self._titled = True
        elif self._titled and (match := _NAME.fullmatch(line)):
            # A network that the design names has no ends in its name: it belongs to no boundary, and counts in the sum.
            self._current, self._titled = self.found.setdefault(match[1], {}), False
        else:
            self._read_space(line)

    def _read_space(self, line: str) -> None:
        if match := _SPACE.fullmatch(line):
            self.close(match[1])
        elif match := _INGRESS.fullmatch(line):
            self._ingress.append((int(match[1]), int(match[2]), float(match[3])))
        elif match := _NUMBER.fullmatch(line):
            self._numbers.setdefault(match[1], float(match[2]))


def _networks(text: str) -> dict[str, dict[str, NetworkStats]]:
    reader = _Networks()
    for line in text.splitlines():
        reader.read(line)
    reader.close()
    found = reader.found.items()
    return {name: data for name, data in found if any(s.fanout > 1 or s.energy_pj for s in data.values())}


def _network(numbers: dict[str, float], ingress: tuple[tuple[int, int, float], ...]) -> NetworkStats:
    """Return the traffic of a data space on a network of any class, each of which prints its own numbers.

    Of a tree Timeloop prints a total over instances, and adds up what one instance takes
    (``src/model/network-reduction-tree.cpp``, ``STAT_ACCESSOR``).
    """
    reductions = numbers.get("Spatial reductions", 0.0)
    if "Fanout" not in numbers:
        energy_pj = numbers["Energy (per-instance)"] + numbers["Spatial Reduction Energy (per-instance)"]
        return NetworkStats(0, (), 0.0, reductions, energy_pj, TREE)
    kind = MESH if "Link transfers" in numbers else MULTICAST
    links, energy_pj = numbers.get("Link transfers", 0.0), numbers.get("Energy (total)", 0.0)
    energy_pj += numbers.get("Link transfer energy (total)", 0.0)
    return NetworkStats(int(numbers["Fanout"]), ingress, links, reductions, energy_pj, kind)


def _summary(text: str, source: str) -> dict[str, float]:
    patterns = {
        "Cycles": r"^Cycles: (\d+)",
        "Utilization": r"^Utilization: ([\d.]+)%?",
        "fJ/Compute": r"^ +Total +(?:= )?([\d.]+)\s*$",
    }
    summary: dict[str, float] = {}
    for name, pattern in patterns.items():
        found = re.findall(pattern, text, re.MULTILINE)
        if not found:
            raise EngineError(Fault(f"the summary has no {name}", source))
        summary[name] = float(found[-1])
    if re.search(r"^Utilization: [\d.]+%", text, re.MULTILINE):
        summary["Utilization"] /= 100
    in_pj = re.search(r"^pJ/Compute", text, re.MULTILINE)  # as before 21 September 2023 (commit b65f7b1)
    summary["fJ/Compute"] *= 1e3 if in_pj else 1
    summary["rounding fJ"] = 5.0 if in_pj else 0.005
    return summary
