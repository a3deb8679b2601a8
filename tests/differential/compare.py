"""Both programs on one case, and what their answers say of each other."""

import math
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from differential.case import Case
from differential.features import features, used
from differential.native import run_search
from differential.real import Outcome, run_mapper

#: Energies are sums of floating-point numbers, taken in another order.
TOLERANCE = 1e-9


@dataclass(frozen=True)
class Comparison:
    """The answers to one case.

    Attributes
    ----------
    verdict
        ``equal``; ``unsound`` where the real mapper finds less (or a mapping where we find none); ``wider`` where we
        find less; ``refused`` where we name what we do not follow; ``crash``; ``real refused`` and ``real failed``.
    """

    case: Case
    verdict: str
    real: Outcome
    native: Outcome
    seconds: tuple[float, float]

    def record(self) -> dict[str, Any]:
        """Return a line of the results file."""
        found = features(self.case) + ([] if self.real.mapping is None else used(self.case, self.real.mapping))
        if self.real.links:
            found.append("optimum: words from neighbours")
        return {
            "name": self.case.name,
            "verdict": self.verdict,
            "objective": self.case.objective,
            "semantics": self.case.semantics,
            "real": answer(self.real, self.case.objective),
            "native": answer(self.native, self.case.objective),
            "valid": self.real.valid,
            "seconds": [round(s, 3) for s in self.seconds],
            "features": found,
        }


def answer(outcome: Outcome, objective: str) -> Any:
    """Return the value that was minimised, or why there is none."""
    return outcome.value(objective) if outcome.status == "ok" else f"{outcome.status}: {outcome.reason}"[:300]


def compare(case: Case, home: Path, seconds: float = 60) -> Comparison:
    """Run both programs on ``case``."""
    start = time.perf_counter()
    real = run_mapper(case, home, seconds)
    middle = time.perf_counter()
    native = run_search(case)
    return Comparison(case, judge(case, real, native), real, native, (middle - start, time.perf_counter() - middle))


def judge(case: Case, real: Outcome, native: Outcome) -> str:
    """Return the verdict on two answers."""
    if real.status == "failed":
        return "real failed"
    if native.status == "failed":
        return "crash"
    if real.status == "refused":
        return "both refuse" if native.status == "refused" else "real refused"
    if native.status == "refused":
        return "refused"
    if real.status == native.status == "no_mapping":
        return "equal"
    if native.status == "no_mapping":
        return "unsound"
    if real.status == "no_mapping":
        return "wider"
    ours, theirs = native.value(case.objective), real.value(case.objective)
    if math.isclose(ours, theirs, rel_tol=TOLERANCE, abs_tol=1e-9):
        return "equal"
    return "unsound" if ours > theirs else "wider"
