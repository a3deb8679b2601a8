"""Cases for Timeloop 4 whose loops need not divide: mapspaces of template ``ruby``."""

import json
import random
from typing import Any

from differential.case import Case, fanouts
from differential.later import draw_later


def draw_ruby(seed: int, limit: int = 60) -> Case:
    """Return a case of which one or two sizes are drawn anew, and whose loops may end early."""
    rng = random.Random(f"ruby/{seed}")
    case = draw_later(seed, limit)
    problem, constraints = (json.loads(json.dumps(part)) for part in (case.problem, case.constraints))
    sizes, dims = problem["problem"]["instance"], problem["problem"]["shape"]["dimensions"]
    for name in rng.sample(dims, rng.randint(1, 2)):
        sizes[name] = rng.choice((3, 5, 5, 7))
    section: dict[str, Any] = constraints.setdefault("mapspace_constraints", {})
    section["template"] = "ruby"
    renewed = {"name": f"ruby-{seed}", "problem": problem, "constraints": constraints}
    return Case(**{**case.as_json(), **renewed})


def with_remainders(case: Case) -> Case:
    """Return the case as the mapper gets it: without these keys it takes only factors that divide."""
    shape, sizes = case.problem["problem"]["shape"], case.problem["problem"]["instance"]
    most = max(sizes[name] for name in shape["dimensions"])
    constraints = json.loads(json.dumps(case.constraints))
    targets = constraints["mapspace_constraints"].setdefault("targets", [])
    for name, x, y in fanouts(case):
        for kind in ("spatial", "temporal") if x * y > 1 else ("temporal",):
            targets.append({"target": name, "type": kind, "remainders": most})
    return Case(**{**case.as_json(), "constraints": constraints})
