"""Cases for Timeloop 4: windows that rest, levels that leak, updates of another energy than fills."""

import json
import random
from typing import Any

from differential.case import SEMANTICS, Case, components, fanouts
from differential.draw import draw_case
from differential.hardware import draw_architecture, draw_energies
from differential.limits import tighten
from differential.problems import draw_problem


def draw_later(seed: int, limit: int = 800) -> Case:
    """Return a case that Timeloop 4 counts or charges by its own rules; in those of odd numbers windows rest."""
    if seed % 2:
        return draw_resting(seed, limit)
    rng = random.Random(f"later/{seed}")
    case = draw_case(seed, rng.choice(("windows", "windows", "arrays", "wide", "general")), limit)
    ert = json.loads(json.dumps(case.ert))
    _let_units_cost(ert)
    leaks, others = rng.random() < 0.5, rng.random() < 0.4
    for table in ert["ERT"]["tables"][:-1]:
        energy = {entry["name"]: entry["energy"] for entry in table["actions"]}
        energy["update"] = energy.get("write", energy.get("update", 0))
        if leaks and rng.random() < 0.7:
            energy["leak"] = rng.choice((0.01, 0.5, 3, 20))
        if others and rng.random() < 0.7:
            key = rng.choice(("update", "random_write", "fill"))
            energy[key] = rng.choice((0, 0.5, 4, 90))
        table["actions"] = [{"name": name, "arguments": None, "energy": value} for name, value in energy.items()]
    return Case(**{**case.as_json(), "name": f"later-{seed}", "ert": ert, "semantics": SEMANTICS[2]})


def draw_resting(seed: int, limit: int) -> Case:
    """Return a case whose innermost loops leave windows in place: orders and energies as in 3.0.3, but other counts."""
    rng = random.Random(f"resting/{seed}")
    while True:
        problem, arch = draw_problem(rng, "windows"), draw_architecture(rng, "windows")
        objective = rng.choices(("energy", "edp"), (8, 1))[0]
        bare = Case(f"later-{seed}", arch, problem, {}, {}, objective, SEMANTICS[2])
        ert = draw_energies(rng, components(bare), "windows")
        _let_units_cost(ert)
        shape = problem["problem"]["shape"]
        spaces = [_dims(space) for space in shape["data-spaces"] if any(len(rank) > 1 for rank in space["projection"])]
        targets = []
        for name, _, _ in fanouts(bare)[:-1] if spaces else ():
            inside = [d for d in shape["dimensions"] if d not in rng.choice(spaces)]
            rest = [d for d in shape["dimensions"] if d not in inside]
            order = [*rng.sample(inside, len(inside)), *rng.sample(rest, rng.randint(0, len(rest)))]
            targets.append({"target": name, "type": "temporal", "permutation": "".join(order)})
        constraints = {"architecture_constraints": {"targets": []}, "mapspace_constraints": {"targets": targets}}
        case = tighten(rng, Case(**{**bare.as_json(), "ert": ert, "constraints": constraints}), limit)
        if case is not None:
            return case


def _dims(space: dict[str, object]) -> set[str]:
    return {term[0] for rank in space["projection"] for term in rank}  # type: ignore[attr-defined]


def let_leak(rng: random.Random, ert: dict[str, Any]) -> dict[str, Any]:
    """Return energies under which fills and updates take the same, operations some, and levels leak now and then."""
    found: dict[str, Any] = json.loads(json.dumps(ert))
    _let_units_cost(found)
    for table in found["ERT"]["tables"][:-1]:
        energy = {entry["name"]: entry["energy"] for entry in table["actions"]}
        energy["update"] = energy.get("write", energy.get("update", 0))
        if rng.random() < 0.4:
            energy["leak"] = rng.choice((0.01, 0.5, 3, 20))
        table["actions"] = [{"name": name, "arguments": None, "energy": value} for name, value in energy.items()]
    return found


def _let_units_cost(ert: dict[str, object]) -> None:
    """Let operations take energy: Timeloop 4 prints no level that takes none."""
    units = ert["ERT"]["tables"][-1]["actions"][0]  # type: ignore[index]
    units["energy"] = units["energy"] or 1
