"""What Timeloop's printed lines mean: progress, the size of the mapspace, and why there is no mapping."""

import math
import re
from collections.abc import Callable
from dataclasses import dataclass, field

from jouleloop.engines.timeloop.process import ProgramRun
from jouleloop.mapspace.constraints import Constraints
from jouleloop.units import said

_SIZE = re.compile(r"Mapspace Dimension \[\s*(\w+)\s*\] Size: (\d+)")
_VALID = re.compile(r"\[\s*(\d+)\] INVALID (\d+) (\d+) (\d+)\s*")
_UPDATE = re.compile(r"\[\s*\d+\] UPDATE .*")
_BEST = re.compile(
    r"\[\s*\d+\] Utilization = *([\d.]+)%?.*?\| pJ/(?:Algorithmic-)?Compute = *([\d.]+)"
    # Cycles come before the mapping or, in Timeloop 4, after it.
    r"(?:.*?\| (L\d[^|]*?))?\s*(?:\|[^|]*)*"
)
_DONE = re.compile(r"\[\s*(\d+)\] STATEMENT: (.*)")
_LEVEL_FAULT = re.compile(r"ERROR: couldn't map level (\S+): (.*)")
#: Errors by which Timeloop says that constraints cannot be applied to a layer, before any search.
_UNMAPPABLE = re.compile(
    r"ERROR: .*(is not divisible by|product of all (user|constraint|factors)|re-specification of|"
    r"exceeds problem dimension|conflict).*"
)
_FAIL_CLASS = re.compile(r"Fail class: (.+)")
_FAIL_LEVEL = re.compile(r"Level: (.+)")
_FAIL_COUNT = re.compile(r"Fail count: (\d+)")
_FAIL_REASON = re.compile(r"Fail reason: (.+)")


@dataclass(frozen=True)
class MapperProgress:
    """How far a running mapper is."""

    tried: int
    valid: int
    """Mappings tried and valid ones among them, all threads together."""
    best_pj_per_compute: float
    """Energy of the best mapping so far; NaN before the first."""
    best: str
    """That mapping in Timeloop's one-line form."""

    def __str__(self) -> str:
        best = (
            ""
            if math.isnan(self.best_pj_per_compute)
            else said(f", best {self.best_pj_per_compute:.3f} pJ per operation")
        )
        return f"{self.tried:,} mappings tried, {self.valid:,} valid{best}"


@dataclass
class MapperLog:
    """Takes the mapper's lines one by one, counts, and reports progress.

    Attributes
    ----------
    sizes
        Size of each dimension of the mapspace, before pruning.
    exhausted
        Whether every thread ended because nothing was left to try.
    no_mapping
        Whether the mapper said that it found none.
    """

    on_progress: Callable[[MapperProgress], None] | None = None
    sizes: dict[str, int] = field(default_factory=dict)
    no_mapping: bool = False
    statements: dict[int, str] = field(default_factory=dict)
    _counts: dict[int, tuple[int, int]] = field(default_factory=dict)
    _best: tuple[float, str] = (math.nan, "")

    @property
    def tried(self) -> int:
        """Mappings tried up to the last valid one of each thread."""
        return sum(tried for tried, _ in self._counts.values())

    @property
    def valid(self) -> int:
        """Valid mappings, each evaluated in full."""
        return sum(valid for _, valid in self._counts.values())

    @property
    def mapspace_size(self) -> int:
        """Mappings in the mapspace as Timeloop states it: the product of its dimensions."""
        return math.prod(self.sizes.values()) if self.sizes else 0

    @property
    def exhausted(self) -> bool:
        """Whether every thread ended because nothing was left to try."""
        said = self.statements.values()
        return bool(said) and all("search algorithm is done" in text for text in said)

    def take(self, line: str) -> bool:
        """Take one line; return whether it has been used up and need not be kept."""
        if match := _VALID.fullmatch(line):
            self._counts[int(match[1])] = (int(match[2]), int(match[3]))
            if self.valid % 1000 == 0:
                self._report()
            return True
        if _UPDATE.fullmatch(line):
            return True
        if match := _BEST.fullmatch(line):
            self._best = (float(match[2]), match[3] or "")
            self._report()
            return True
        if match := _SIZE.search(line):
            self.sizes[match[1]] = int(match[2])
        elif match := _DONE.match(line):
            self.statements[int(match[1])] = match[2].strip()
        elif "no valid mappings found" in line:
            self.no_mapping = True
        return False

    def _report(self) -> None:
        if self.on_progress is not None:
            self.on_progress(MapperProgress(self.tried, self.valid, *self._best))


def failed_level(outcome: ProgramRun) -> str | None:
    """Return why ``timeloop-model`` refused a mapping, or None where it did not."""
    for line in outcome.lines:
        if match := _LEVEL_FAULT.search(line):
            return f"level {match[1]} cannot be mapped: {match[2].strip()}"
    for line in outcome.lines:
        if "ERROR: parsing mapping" in line:
            return line.partition("ERROR: ")[2].strip()
    return None


def is_unmappable(outcome: ProgramRun, constraints: Constraints) -> str | None:
    """Return why the constraints cannot be applied to the layer, or None where that is not what happened.

    Where Timeloop names a dimension, the constraints that fix a factor of it are added: Timeloop does not name them.
    """
    for line in outcome.lines:
        if not _UNMAPPABLE.search(line):
            continue
        reason = line.partition("ERROR: ")[2].strip()
        match = re.search(r"bound (\w+) = ", reason)
        culprits = _fixing(match[1], constraints) if match else []
        return f"{reason} ({', '.join(culprits)})" if culprits else reason
    return None


def _fixing(dimension: str, constraints: Constraints) -> list[str]:
    """Return where a factor of ``dimension`` other than 1 is fixed."""
    return [
        f"{dimension}={loops.factors[dimension]} at {name}, {kind}"
        for name, level in constraints.levels.items()
        for kind, loops in (("temporal", level.temporal), ("spatial", level.spatial))
        if loops.factors.get(dimension, 1) != 1
    ]


def explain(log: MapperLog, diagnosis: list[str]) -> str:
    """Return in words why no mapping was found.

    Parameters
    ----------
    diagnosis
        Lines of a run with diagnostics on; they name the levels that failed, how often, and the reason of one of them.
    """
    found: list[str] = []
    kind = level = count = ""
    for line in diagnosis:
        if match := _FAIL_CLASS.fullmatch(line):
            kind = match[1].strip()
        if match := _FAIL_LEVEL.fullmatch(line):
            level = match[1].strip()
        if match := _FAIL_COUNT.fullmatch(line):
            count = match[1]
        if level and (match := _FAIL_REASON.fullmatch(line)):
            found.append(f"{kind} at {level}, {count} times: {match[1].strip()}")
            level = ""
    if found:
        return "no valid mapping; " + "; ".join(found)
    said = "; ".join(dict.fromkeys(log.statements.values()))
    return f"no valid mapping; {said}" if said else "no valid mapping"
