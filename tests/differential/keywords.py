"""Cases whose levels are told what not to reuse, and how many units to use at least."""

import itertools
import json
import random
from collections.abc import Iterator, Sequence
from typing import Any

from differential.case import Case, components, fanouts
from differential.draw import draw_case
from differential.later import draw_later

KEYS = {
    "temporal": ("no_temporal_reuse",),
    "spatial": ("no_multicast_no_reduction", "no_link_transfer"),
}
_LATER_KEYS = {
    "temporal": ("no_reuse", "rmw_first_update"),
    "spatial": ("no_reuse", "no_link_transfer"),
}
WIRES = {"energy-per-hop": (0.5, 20), "router-energy": (0.25, 30), "energy-per-ingress": (0.125, 15)}


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
            for key, values in WIRES.items():
                if rng.random() < 0.4:
                    item.setdefault("attributes", {})[key] = rng.choice(values)
        if not node.get("subtree"):
            return Case(**{**case.as_json(), "name": f"wired-{seed}", "arch": tree})
        node = node["subtree"][0]


def stores(tree: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield every component that stores, from the outermost inward."""
    node = tree["architecture"]
    while node:
        yield from (item for item in node.get("local") or [] if "mac" not in item["class"])
        node = (node.get("subtree") or [None])[0]


def draw_slow(seed: int, limit: int = 800) -> Case:
    """Return a case of `draw_wired` whose networks take cycles, too, which mappings mostly are to take few of."""
    rng, case = random.Random(f"slow/{seed}"), draw_wired(2 * seed + 1, limit)
    tree = json.loads(json.dumps(case.arch))
    for item in stores(tree):
        for key in ("network_fill_latency", "network_drain_latency"):
            if rng.random() < 0.6:
                item.setdefault("attributes", {})[key] = rng.choice((0, 3, 40, 1000))
    objective = rng.choice(("energy", "delay", "edp", "edp"))
    return Case(**{**case.as_json(), "name": f"slow-{seed}", "arch": tree, "objective": objective})


def draw_spread(seed: int, limit: int = 800) -> Case:
    """Return a case of `draw_wired` some of whose networks distribute multicasts; in every third none takes energy."""
    rng, case = random.Random(f"spread/{seed}"), draw_wired(2 * seed + 1, limit)
    tree = json.loads(json.dumps(case.arch))
    for item in stores(tree):
        attributes = item.setdefault("attributes", {})
        for key in WIRES if seed % 3 == 0 else ():
            attributes.pop(key, None)
        if rng.random() < 0.6:
            attributes["network-type"] = "M:N"
    return Case(**{**case.as_json(), "name": f"spread-{seed}", "arch": tree})


def draw_named(seed: int, limit: int = 400, *, trees: bool = True) -> Case:
    """Return a case of another kind whose levels name networks that take energy, for both ways or one each.

    Without ``trees`` no network forgets to start anew (``ReductionTreeNetwork::Evaluate`` adds to what is there), so
    the real mapper finds the optimum; in odd cases no mesh brings words back to a level that cannot add, either.
    """
    rng = random.Random(f"named/{seed}")
    case = draw_case(seed, rng.choice(("general", "windows", "arrays")), limit)
    arch, ert = json.loads(json.dumps(case.arch)), json.loads(json.dumps(case.ert))
    spaces = [space["name"] for space in case.problem["problem"]["shape"]["data-spaces"]]
    nodes: list[tuple[dict[str, object], list[dict[str, object]]]] = []
    node = arch["architecture"]
    while node:
        nodes += [(item, node["local"]) for item in node.get("local") or []]
        node = (node.get("subtree") or [None])[0]
    into = ("SimpleMulticast", "XY_NoC", "Legacy", None)
    for (outer, local), (inner, _) in itertools.pairwise(list(nodes)):
        if rng.random() < 0.25:
            continue
        back = (*into, "") if "DRAM" not in str(outer["class"]) or not seed % 2 else ("SimpleMulticast",)
        classes = rng.choice(into), rng.choice((*back, "ReductionTree") if trees else back)
        last = inner is nodes[-1][0]
        keys = ("network_operand", "network_result") if last else ("network_fill", "network_drain")
        name = " <==> ".join(str(item["name"]).partition("[")[0] for item in (outer, inner))
        names = name, name if classes[1] == "" and classes[0] is not None else f"{name} back"
        for way, (klass, outward) in enumerate(zip(classes, ("network_read", "network_update"), strict=True)):
            if klass is None or (way and klass == "" and classes[0] is None):
                continue
            for item, key in ((outer, outward), (inner, keys[way])):
                item.setdefault("attributes", {})[key] = names[way]  # type: ignore[attr-defined]
            if klass:
                attributes = _network(rng, klass, spaces, ert, f"system.{names[way]}")
                local.append({"name": names[way], "class": klass, "attributes": attributes})
    return Case(**{**case.as_json(), "name": f"named-{seed}", "arch": arch, "ert": ert})


def _network(rng: random.Random, klass: str, spaces: list[str], ert: dict[str, Any], name: str) -> dict[str, Any]:
    """Return the attributes of a network; one that a table charges has one."""
    if klass == "ReductionTree":
        return {"adder-energy": rng.choice((0.5, 40))}
    if klass != "SimpleMulticast":
        return {key: rng.choice(values) for key, values in WIRES.items() if rng.random() < 0.4}
    each = rng.random() < 0.4
    factors = rng.choice(([1], [1, 2, 3, 4, 6, 8], [2, 4]))
    scale = rng.choice((0.5, 20))
    entries = [
        {"name": action, "arguments": {"n": n}, "energy": scale * n}
        for action in ([f"transfer_{space}" for space in spaces] if each else ["transfer"])
        for n in factors
    ]
    ert["ERT"]["tables"].append({"name": name, "actions": entries})
    told = {"action_name": "transfer", "multicast_factor_argument": "n"}
    return told | ({"per_datatype_ERT": True} if each else {})


def told(
    rng: random.Random, level: str, keys: dict[str, Sequence[str]], spaces: list[str], share: float
) -> Iterator[dict[str, Any]]:
    """Yield targets that tell a level, by kind, some keywords for some data spaces."""
    for kind, own in keys.items():
        more = {}
        for key in own:
            named = [space for space in spaces if rng.random() < 0.5]
            if named and rng.random() < share:
                more[key] = named
        if more:
            yield {"target": level, "type": kind} | more


def draw_keywords(seed: int, limit: int = 800) -> Case:
    """Return a case of another kind with keywords that count, and now and then with a least parallelism."""
    rng = random.Random(f"keywords/{seed}")
    case = draw_case(seed, rng.choice(("general", "windows", "arrays")), limit)
    spaces = [space["name"] for space in case.problem["problem"]["shape"]["data-spaces"]]
    constraints = json.loads(json.dumps(case.constraints))
    targets = constraints["architecture_constraints"]["targets"]
    share = rng.choice((0.2, 0.5, 0.9))
    for name, x, y in fanouts(case):
        kinds = ("temporal", "spatial") if x * y > 1 else ("temporal",)
        targets += told(rng, name, {kind: KEYS[kind] for kind in kinds}, spaces, share)
    if rng.random() < 0.25:
        innermost = components(case)[-2]["name"]
        least = rng.choice((0.25, 0.5, 1))
        targets.append({"target": innermost, "type": rng.choice(("parallelism", "utilization")), "min": least})
    return Case(**{**case.as_json(), "name": f"keywords-{seed}", "constraints": constraints})


def draw_passing(seed: int, limit: int = 800) -> Case:
    """Return a case for Timeloop 4 whose levels let words pass through, or fill outputs the first time, too.

    In some, words count more or less in bandwidths. A level keeps what passes through it, and the outermost lets
    nothing pass: else Timeloop ends.
    """
    rng, case = random.Random(f"passing/{seed}"), draw_later(seed, limit)
    spaces = [space["name"] for space in case.problem["problem"]["shape"]["data-spaces"]]
    tree, constraints = json.loads(json.dumps([case.arch, case.constraints]))
    targets = constraints["architecture_constraints"]["targets"]
    share = rng.choice((0.2, 0.5, 0.9))
    for place, (name, x, y) in enumerate(fanouts(case)):
        kinds = ("temporal", "spatial") if x * y > 1 else ("temporal",)
        targets += told(rng, name, {kind: _LATER_KEYS[kind] for kind in kinds}, spaces, share)
        named = [space for space in spaces if rng.random() < 0.6]
        if place and named and rng.random() < share:
            own = [one for one in targets if one["target"] == name and one["type"] in ("bypass", "datatype")]
            own += [one for one in constraints["mapspace_constraints"]["targets"] if one["target"] == name]
            taken = {space for one in own for key in ("keep", "bypass") for space in one.get(key, ())}
            free = [space for space in named if space not in taken]
            targets.append({"target": name, "type": "bypass", "no_coalesce": named} | ({"keep": free} if free else {}))
    for item in stores(tree) if rng.random() < 0.5 else ():
        if rng.random() < 0.6:
            scales = {space: rng.choice((0.125, 0.4, 1, 3)) for space in spaces if rng.random() < 0.7}
            item.setdefault("attributes", {})["per_dataspace_bandwidth_consumption_scale"] = scales
            item["attributes"].setdefault("read_bandwidth", rng.choice((1, 4, 16)))
    objective = rng.choice(("energy", "energy", "delay", "edp"))
    more_of_it = {"name": f"passing-{seed}", "arch": tree, "constraints": constraints, "objective": objective}
    return Case(**{**case.as_json(), **more_of_it})
