"""Cases whose loops need not divide: mapspaces of template ``ruby``."""

import json
import random
import re
from typing import Any

from differential.case import LATER, SEMANTICS, Case, fanouts, targets
from differential.later import draw_later, let_leak
from differential.native import load
from differential.residual_space import sizes as size_of
from differential.rounded import set_factor
from differential.tiny import draw_tiny
from differential.uber import Uber
from jouleloop.errors import JouleloopError
from jouleloop.mapping.mapping import Mapping
from jouleloop.mapspace.space import build_mapspace

#: Limits of factors, which ``ruby`` of 3.0.3 overlooks.
_LIMIT = re.compile(r"[A-Za-z]+\s*[<>]=\s*[0-9]+")


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


def draw_ruby_window(seed: int, semantics: str, most: int = 4000) -> Case | None:
    """Return a tiny case of windows with steps for a version.

    None where it is refused, or where there may be more mappings than ``most``.
    """
    family = ("window", "windows", "grouped")[seed % 3]
    case = draw_tiny(seed, family, semantics=SEMANTICS[:1])
    constraints = json.loads(json.dumps(case.constraints))
    constraints["mapspace_constraints"]["template"] = "ruby"
    ert = let_leak(random.Random(f"ruby windows/{seed}"), case.ert) if semantics in LATER else case.ert
    case = Case(**{**case.as_json(), "constraints": constraints, "ert": ert, "semantics": semantics})
    try:
        problem, target = load(case)
        number = size_of(build_mapspace(problem, target.arch, target.constraints, imperfect=True))
    except JouleloopError:
        return None
    return case if 1 < number <= most else None


def as_ruby_reads(case: Case) -> Case:
    """Return the case as ``ruby`` reads it: that of 3.0.3 overlooks limits of factors, and factors that do not divide.

    After each factor that it overlooks it takes the next one of the dimension unseen.

    Source: Timeloop 3.0.3, ``src/util/numeric.cpp``, ``ResidualFactors``; its ``PruneMax`` and ``PruneMin`` are empty.
    """
    constraints = json.loads(json.dumps(case.constraints))
    for target in targets(constraints) if case.semantics not in LATER else ():
        target.pop("default_max_factor", None)
        if "factors" in target:
            target["factors"] = " ".join(_LIMIT.sub("", target["factors"]).split())
    found = Case(**{**case.as_json(), "constraints": constraints})
    if case.semantics in LATER:
        return found
    space = Uber(found)
    for d, (name, bound) in enumerate(zip(space.dimensions, space.bounds, strict=True)):
        product, unseen = 1, False
        for tiling in space.tilings:
            factor = tiling.exact.get(d)
            if factor is None or unseen:
                unseen = unseen and factor is None
            elif bound % (factor * product) == 0:
                product *= factor
            else:
                unseen = True
                _forget(constraints, space.levels[tiling.storage], "spatial" if tiling.spatial else "temporal", name)
    return found


def _forget(constraints: dict[str, Any], level: str, kind: str, name: str) -> None:
    """Take a factor out of the constraints of a level."""
    for target in targets(constraints):
        if (target["target"], target["type"]) == (level, kind) and target.get("factors"):
            set_factor(target, name, None)


def ends_innermost(case: Case, mapping: Mapping) -> bool:
    """Whether a loop of the innermost tiling level ends early, which ``ruby`` of 3.0.3 never lets.

    Source: Timeloop 3.0.3, ``src/mapspaces/ruby.cpp``: ``InitIndexFactorizationSpace`` looks for remainders at levels
    from the outermost to number 1.
    """
    _, x, y = fanouts(case)[-1]
    level, ends = mapping.levels[-1], mapping.residual_ends()[-1]
    loops = zip(level.spatial, ends[1], strict=True) if x * y > 1 else zip(level.temporal, ends[0], strict=True)
    return any(loop[1] != end for loop, end in loops)
