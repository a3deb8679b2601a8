"""Compare an engine with stored results of real Timeloop: evaluated mappings and mapper optima, field by field."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jouleloop.engines.protocol import Engine, Target
from jouleloop.errors import Fault, InputError, JouleloopError
from jouleloop.files import is_file, read_json
from jouleloop.mapping.formats import from_levels
from jouleloop.model.evaluation import Evaluation
from jouleloop.optimum.result import SearchResult
from jouleloop.workload.layer import Layer
from jouleloop.workload.problem import Problem

#: Allowed relative difference of energies.
RELATIVE = 1e-9
#: Half a unit of the last of the six decimals to which Timeloop writes small energies [pJ].
_LAST_DECIMAL = 5e-7
#: Semantics of a Timeloop built with the change of 2 May 2023 undone.
_REVERTED = "first-fill elision reverted"

#: Returns the target called ``arch`` with a set of constraints (``full``, ``arch-only`` or ``none``) and semantics.
TargetFor = Callable[[str, str, str], Target]


@dataclass(frozen=True)
class Difference:
    """One field in which the engine and the reference differ."""

    field: str
    expected: object
    got: object

    def __str__(self) -> str:
        return f"{self.field}: expected {self.expected}, got {self.got}"


@dataclass(frozen=True)
class CaseCheck:
    """One reference case with all its differences; passed where there are none."""

    case: str
    differences: tuple[Difference, ...]

    @property
    def passed(self) -> bool:
        """Whether the engine agrees."""
        return not self.differences


def verify_folder(
    folder: Path, engine: Engine, target_for: TargetFor, *, only: str | None = None
) -> Iterator[CaseCheck]:
    """Yield the outcome of every case of ``cases_*.json`` and of every entry of ``mapper_optima.json`` in ``folder``.

    Raises `InputError` where the folder holds no such file, or a file is not of this form.

    Parameters
    ----------
    only
        ``fc`` or ``conv`` to leave the other kind of layers out.
    """
    optima = folder / "mapper_optima.json"
    try:
        paths = sorted(folder.glob("cases_*.json")) if folder.is_dir() else []
    except OSError:  # what can be no name of a folder
        paths = []
    if not (paths or is_file(optima)):
        allowed = "a folder with cases_*.json or mapper_optima.json"
        raise InputError(Fault("no reference data", str(folder), allowed=allowed))
    for path in paths:
        for index, case in enumerate(_entries(path)):
            with_name = f"{path.name}[{index}] {case.get('id', '')}".strip()
            if _wanted(case, only, with_name, path):
                yield CaseCheck(with_name, _guarded(_check_case, case, engine, target_for, path))
    if optima.is_file():
        for index, entry in enumerate(_entries(optima)):
            with_name = f"{optima.name}[{index}] {entry.get('arch', '')} {entry.get('name', '')}"
            if _wanted(entry, only, with_name, optima):
                yield CaseCheck(with_name, _guarded(_check_optimum, entry, engine, target_for, optima))


def _entries(path: Path) -> list[dict[str, Any]]:
    data = read_json(path)
    if not isinstance(data, list) or not all(isinstance(entry, dict) for entry in data):
        raise InputError(Fault("not a list of cases", str(path)))
    return data


def _wanted(entry: dict[str, Any], only: str | None, name: str, path: Path) -> bool:
    dims = entry.get("dims")
    if not isinstance(dims, dict):
        raise InputError(Fault("a case without dims", str(path), name))
    is_fc = all(dims.get(key, 1) == 1 for key in "RSPQ")
    return only is None or is_fc == (only == "fc")


def _guarded(
    check: Callable[[dict[str, Any], Engine, TargetFor], list[Difference]],
    entry: dict[str, Any],
    engine: Engine,
    target_for: TargetFor,
    path: Path,
) -> tuple[Difference, ...]:
    try:
        return tuple(check(entry, engine, target_for))
    except JouleloopError as error:
        return (Difference("evaluation", "a result", str(error).replace("\n", "; ")),)
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
        raise InputError(Fault(f"a case is not of the reference form: {error!r}", str(path))) from error


def problem_of(dims: dict[str, int]) -> Problem:
    """Return the problem with the sizes of a case; one ``stride`` holds for both axes."""
    sizes: dict[str, Any] = {key: dims.get(key, 1) for key in ("C", "M", "R", "S", "N", "P", "Q")}
    stride = dims.get("stride", 1)
    w_stride = dims.get("Wstride", dims.get("w_stride", stride))
    h_stride = dims.get("Hstride", dims.get("h_stride", stride))
    groups = dims.get("G", dims.get("groups", 1))
    return Layer.of("conv", **sizes, w_stride=w_stride, h_stride=h_stride, groups=groups).problem()


def _semantics(entry: dict[str, Any]) -> str:
    return "timeloop-2023-04" if _REVERTED in str(entry.get("timeloop", "")) else "timeloop-3.0.3"


def _check_case(case: dict[str, Any], engine: Engine, target_for: TargetFor) -> list[Difference]:
    problem = problem_of(case["dims"])
    # The mapping says itself what is kept where, so the constraints do not matter.
    target = target_for(case["arch"], "none", _semantics(case))
    mapping = from_levels(case["mapping"], problem, target.arch)
    return compare_evaluation(engine.evaluate(problem, target, mapping), case)


def compare_evaluation(evaluation: Evaluation, case: dict[str, Any]) -> list[Difference]:
    """Return every field in which ``evaluation`` differs from a case of the reference form."""
    found: list[Difference] = []
    names = {"W": "Weights", "I": "Inputs", "O": "Outputs"}
    for name, level in case["levels"].items():
        if name == evaluation.compute_name:
            found += _exact(f"{name}.instances", level["instances"], evaluation.compute_instances)
            found += _exact(f"{name}.computes", level["computes"], evaluation.computes)
            found += _exact(f"{name}.cycles", level["cycles"], evaluation.compute_cycles)
            found += _close(f"{name}.energy", level["energy"], evaluation.compute_energy_pj)
            continue
        ours = next((entry for entry in evaluation.levels if entry.name == name), None)
        if ours is None:
            found.append(Difference(name, "a level", "none"))
            continue
        found += _exact(f"{name}.cycles", level["cycles"], ours.cycles)
        found += _two_decimals(f"{name}.throttle", level["throttle"], ours.throttle)
        spaces = {short: level[short] for short in names if short in level}
        found += _exact(f"{name}.kept", sorted(names[s] for s in spaces), sorted(ours.data))
        for short, counts in spaces.items():
            stats = ours.data.get(names[short])
            if stats is None:
                continue
            for key, value in (
                ("partition", stats.partition_words),
                ("tile", stats.tile_words),
                ("instances", stats.instances),
                ("clusters", stats.clusters),
                ("reads", stats.reads),
                ("updates", stats.updates),
                ("fills", stats.fills),
                ("reductions", stats.reductions),
            ):
                if key in counts:
                    found += _exact(f"{name}.{short}.{key}", counts[key], value)
            found += _close(f"{name}.{short}.energy", counts["energy"], stats.energy_pj)
    found += _compare_networks(evaluation, case.get("networks", {}), names)
    summary = case["summary"]
    found += _exact("summary.cycles", summary["cycles"], evaluation.cycles)
    found += _two_decimals("summary.utilization", summary["utilization"], evaluation.utilization)
    found += _close("summary.energy", summary["energy"], evaluation.energy_pj)
    return found


def _compare_networks(evaluation: Evaluation, networks: dict[str, Any], names: dict[str, str]) -> list[Difference]:
    found: list[Difference] = []
    for name, spaces in networks.items():
        ours = evaluation.networks.get(name)
        if ours is None:
            found.append(Difference(name, "a network that fans out", "none"))
            continue
        for short, counts in spaces.items():
            stats = ours[names[short]]
            where = f"{name}.{short}"
            theirs = sorted(tuple(group) for group in counts["ingress"] if group[2])
            mine = sorted(tuple(group) for group in stats.ingress if group[2])
            same = len(theirs) == len(mine) and all(
                a[:2] == b[:2] and math.isclose(a[2], b[2], rel_tol=1e-12) for a, b in zip(theirs, mine, strict=True)
            )
            if not same:
                found.append(Difference(f"{where}.ingress", theirs, mine))
            found += _exact(f"{where}.fanout", counts["fanout"], stats.fanout)
            found += _close(f"{where}.link_transfers", counts["link_transfers"], stats.link_transfers, 1e-12)
            found += _close(f"{where}.reductions", counts["reductions"], stats.reductions, 1e-12)
    return found


def _exact(field: str, expected: object, got: object) -> list[Difference]:
    return [] if expected == got else [Difference(field, expected, got)]


def _close(field: str, expected: float, got: float, relative: float = RELATIVE) -> list[Difference]:
    same = math.isclose(expected, got, rel_tol=relative, abs_tol=_LAST_DECIMAL)
    return [] if same else [Difference(field, expected, got)]


def _two_decimals(field: str, expected: float, got: float) -> list[Difference]:
    """Compare with a number that was printed with two decimals; a tie may have been rounded either way."""
    return [] if abs(expected - got) <= 0.005 + 1e-9 else [Difference(field, expected, f"{got:.4f}")]


def _check_optimum(entry: dict[str, Any], engine: Engine, target_for: TargetFor) -> list[Difference]:
    problem = problem_of(entry["dims"])
    target = target_for(entry["arch"], entry.get("constraints", "full"), _semantics(entry))
    result = engine.search(problem, target)
    if "total_energy" not in entry:
        if "best_so_far" in entry:
            return _check_best_so_far(entry, problem, result)
        return [] if result.status in ("no_mapping", "invalid") else [Difference("status", "no_mapping", result.status)]
    if result.evaluation is None:
        return [Difference("status", "ok", f"{result.status}: {result.reason}")]
    theirs, ours = float(entry["total_energy"]), result.evaluation.energy_pj
    if not result.optimal:
        return [Difference("optimal", True, f"False (lower bound {result.lower_bound})")]
    exhaustive = bool(entry.get("finished")) and "exhaustive" in str(entry.get("algorithm", ""))
    if exhaustive:
        found = _close("total_energy", theirs, ours)
        if "index_factorizations" in entry and entry["index_factorizations"] is not None:
            found += _exact("index_factorizations", entry["index_factorizations"], result.index_factorizations)
        return found
    if ours > theirs * (1 + RELATIVE):
        return [Difference("total_energy", f"at most {theirs}", ours)]
    return []


def _check_best_so_far(entry: dict[str, Any], problem: Problem, result: SearchResult) -> list[Difference]:
    """Compare with the last line that an unfinished run had logged, which has three decimals of pJ a compute."""
    if result.evaluation is None:
        return [Difference("status", "ok", f"{result.status}: {result.reason}")]
    parts = str(entry["best_so_far"]).split("pJ/Compute =")
    if len(parts) != 2:
        return []
    limit = (float(parts[1].split("|")[0]) + 0.0005) * problem.macs
    ours = result.evaluation.energy_pj
    return [] if ours <= limit else [Difference("total_energy", f"at most {limit}", ours)]
