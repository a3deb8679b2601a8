"""Both programs on one case, and what their answers say of each other."""

import math
from dataclasses import dataclass
from typing import Any

from differential.case import NETWORKS, Case, components
from differential.native import load, run_search
from differential.real import Outcome
from differential.runs import features_of, to_record
from jouleloop.engines.native import NativeEngine
from jouleloop.errors import MappingError

#: Energies are sums of floating-point numbers, taken in another order.
TOLERANCE = 1e-9

#: What a verdict says; the first four are findings.
VERDICTS = {
    "unsound": "the real mapper finds less, or a mapping where we find none",
    "wider": "we find less, or a mapping where the real mapper finds none",
    "crash": "we end with what is no message",
    "real refused": "we take what Timeloop refuses",
    "equal": "the same optimum",
    "refused": "we name what we do not follow",
    "both refuse": "neither takes it",
    "real failed": "the real mapper crashed or was too slow",
    "real wrapped": "the real mapper finds less where its counts wrap around below 0, of an access without energy",
}
FINDINGS = tuple(VERDICTS)[:4]


@dataclass(frozen=True)
class Comparison:
    """The answers to one case; ``verdict`` is one of `VERDICTS`."""

    case: Case
    real: Outcome
    native: Outcome
    verdict: str

    def record(self) -> dict[str, Any]:
        """Return a line of the results file: a run of the real mapper and what we say of it."""
        return {
            "verdict": self.verdict,
            "native": answer(self.native, self.case.objective),
            "features": features_of(self.case, self.real),
            **to_record(self.case, self.real),
        }

    def line(self) -> str:
        """Return the comparison on one line."""
        case, objective = self.case, self.case.objective
        ours, theirs = answer(self.native, objective), answer(self.real, objective)
        return f"{case.name}: {self.verdict} ({objective}, {case.semantics}): ours {ours}, real {theirs}"


def answer(outcome: Outcome, objective: str) -> Any:
    """Return the value that was minimised, or why there is none."""
    return outcome.value(objective) if outcome.status == "ok" else f"{outcome.status}: {outcome.reason}"[:300]


def compare(case: Case, real: Outcome) -> Comparison:
    """Search ``case`` and compare with the answer of the real mapper."""
    native = run_search(case)
    verdict = judge(case, real, native)
    if verdict == "unsound" and wraps(case, real):
        verdict = "real wrapped"
    return Comparison(case, real, native, verdict)


def wraps(case: Case, real: Outcome) -> bool:
    """Whether the model refuses the real mapper's optimum for a level that holds more words than are ever written."""
    if real.mapping is None:
        return False
    problem, target = load(case)
    try:
        NativeEngine().evaluate(problem, target, real.mapping)
    except MappingError as error:
        return "more words than are ever written" in str(error)
    return False


def wired(case: Case) -> bool:
    """Whether networks take energy."""
    keys = ("energy_per_hop", "router_energy", "energy_per_ingress")
    named = any(name in str(case.arch) for name in NETWORKS)
    return named or any(part["attributes"].get(key) for part in components(case) for key in keys)


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
    # Timeloop prints energies of networks to two decimals, of up to four levels and data spaces, twice each.
    printed = 0.08 * (native.cycles if case.objective == "edp" else 1) if wired(case) else 1e-9
    if math.isclose(ours, theirs, rel_tol=TOLERANCE, abs_tol=printed):
        return "equal"
    return "unsound" if ours > theirs else "wider"
