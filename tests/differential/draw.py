"""Random cases by seed."""

import random
from copy import deepcopy
from functools import cache

from differential.case import Case, components
from differential.hardware import draw_architecture, draw_energies
from differential.limits import draw_constraints, tighten
from differential.problems import draw_problem

#: What is drawn: everything; convolutions on hierarchies that fan out; loops that must be unrolled over several levels;
#: deep hierarchies with odd sizes, whose reads, writes and updates cost different energies.
KINDS = ("general", "windows", "arrays", "wide")


def draw_case(seed: int, kind: str = "general", limit: int = 4000) -> Case:
    """Return the case of a seed; at most ``limit`` mappings can be visited in it.

    What cannot be tightened below ``limit`` is drawn again, so every seed gives a case.
    """
    return deepcopy(_drawn(seed, kind, limit))


@cache
def _drawn(seed: int, kind: str, limit: int) -> Case:
    rng = random.Random(f"{kind}/{seed}")
    while True:
        problem = draw_problem(rng, kind)
        arch = draw_architecture(rng, kind)
        objective = rng.choices(("energy", "delay", "edp"), (7, 1, 2))[0]
        semantics = rng.choices(("timeloop-3.0.3", "timeloop-2023-04"), (3, 1))[0]
        bare = Case(f"{kind}-{seed}", arch, problem, {}, {}, objective, semantics)
        ert = draw_energies(rng, components(bare), kind)
        bare = Case(**{**bare.as_json(), "ert": ert})
        constraints = draw_constraints(rng, bare)
        case = tighten(
            rng, Case(**{**bare.as_json(), "constraints": constraints}), limit, time=0.8 if kind == "arrays" else 0.5
        )
        if case is not None:
            return case
