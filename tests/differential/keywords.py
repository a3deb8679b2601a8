"""Cases whose levels are told what not to reuse, and how many units to use at least."""

import json
import random

from differential.case import Case, components, fanouts
from differential.draw import draw_case

_KEYS = {
    "temporal": ("no_temporal_reuse",),
    "spatial": ("no_multicast_no_reduction", "no_link_transfer"),
}


def draw_keywords(seed: int, limit: int = 800) -> Case:
    """Return a case of another kind with keywords that count, and now and then with a least parallelism."""
    rng = random.Random(f"keywords/{seed}")
    case = draw_case(seed, rng.choice(("general", "windows", "arrays")), limit)
    spaces = [space["name"] for space in case.problem["problem"]["shape"]["data-spaces"]]
    constraints = json.loads(json.dumps(case.constraints))
    targets = constraints["architecture_constraints"]["targets"]
    share = rng.choice((0.2, 0.5, 0.9))
    for name, x, y in fanouts(case):
        for kind in ("temporal", "spatial") if x * y > 1 else ("temporal",):
            more = {}
            for key in _KEYS[kind]:
                named = [space for space in spaces if rng.random() < 0.5]
                if named and rng.random() < share:
                    more[key] = named
            targets += [{"target": name, "type": kind} | more] if more else []
    if rng.random() < 0.25:
        innermost = components(case)[-2]["name"]
        least = rng.choice((0.25, 0.5, 1))
        targets.append({"target": innermost, "type": rng.choice(("parallelism", "utilization")), "min": least})
    return Case(**{**case.as_json(), "name": f"keywords-{seed}", "constraints": constraints})
