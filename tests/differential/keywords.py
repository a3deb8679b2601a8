"""Cases whose levels are told what not to reuse, and how many units to use at least."""

import json
import random

from differential.case import Case, components, fanouts
from differential.draw import draw_case

_KEYS = {
    "temporal": ("no_temporal_reuse",),
    "spatial": ("no_multicast_no_reduction", "no_link_transfer"),
}
_WIRES = {"energy-per-hop": (0.5, 20), "router-energy": (0.25, 30), "energy-per-ingress": (0.125, 15)}


def draw_wired(seed: int, limit: int = 800) -> Case:
    """Return a case of another kind whose networks take energy, in odd ones none below a level that cannot add.

    The real mapper forgets no ingress of outputs into such a level from one mapping to the next
    (``LegacyNetwork::ComputeAccesses`` writes into what is there), so it may pass over the optimum.
    """
    rng = random.Random(f"wired/{seed}")
    case = draw_case(seed, rng.choice(("general", "windows", "arrays")), limit)
    tree = json.loads(json.dumps(case.arch))
    node = tree["architecture"]
    while True:
        for item in node.get("local") or []:
            if "mac" in item["class"] or (seed % 2 and "DRAM" in item["class"]):
                continue
            for key, values in _WIRES.items():
                if rng.random() < 0.4:
                    item.setdefault("attributes", {})[key] = rng.choice(values)
        if not node.get("subtree"):
            return Case(**{**case.as_json(), "name": f"wired-{seed}", "arch": tree})
        node = node["subtree"][0]


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
