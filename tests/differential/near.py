"""Cases near to others: sizes, fan-outs, orders, costs of a known case changed a little, because faults cluster."""

import json
import random
from collections.abc import Callable, Sequence
from typing import Any

from differential.case import Case, components, fanouts, targets
from differential.hardware import draw_energies
from differential.limits import draw_constraints, draw_order, tighten

_COSTS = (0, 0, 1, 1, 2, 10, 100, 0.25)


def draw_near(seed: int, bases: Sequence[Case], limit: int = 4000) -> Case:
    """Return a random neighbour of one of ``bases``; at most ``limit`` mappings can be visited in it."""
    rng = random.Random(f"near/{seed}")
    while True:
        base = rng.choice(bases)
        case = Case.from_json(json.loads(json.dumps(base.as_json())))
        case = Case(**{**case.as_json(), "constraints": _sections(case)})
        for _ in range(rng.choice((1, 1, 2, 2, 3, 4))):
            case = rng.choice(_CHANGES)(rng, case)
        found = tighten(rng, case, limit)
        if found is not None:
            return Case(**{**found.as_json(), "name": f"near-{seed}"})


def _sections(case: Case) -> dict[str, Any]:
    return {"architecture_constraints": {"targets": targets(case.constraints)}, "mapspace_constraints": {"targets": []}}


def _size(rng: random.Random, case: Case) -> Case:
    instance = case.problem["problem"]["instance"]
    key = rng.choice(list(instance))
    dims = case.problem["problem"]["shape"]["dimensions"]
    instance[key] = rng.choice((1, 1, 2, 2, 3, 4, 5)) if key in dims else rng.choice((1, 1, 2))
    return case


def _fan(rng: random.Random, case: Case) -> Case:
    fans = [[x, y] for _, x, y in fanouts(case)]
    one = rng.choice(fans)
    one[rng.choice((0, 0, 1))] = rng.choice((1, 2, 2, 3, 4))
    units = 1
    for x, y in fans:
        units *= x * y
    return _with_fans(case, fans) if units <= 64 else case


def _with_fans(case: Case, fans: list[list[int]]) -> Case:
    tree: dict[str, Any] = {"version": 0.3}
    node, x, y = tree, 1, 1
    for index, part in enumerate(components(case)):
        fan = [1, 1] if index == 0 else fans[index - 1]
        x, y = x * fan[0], y * fan[1]
        attributes = {k.replace("_", "-") if k in _HYPHENS else k: v for k, v in part["attributes"].items()}
        attributes = {k: v for k, v in attributes.items() if k != "instances"} | {"meshX": x, "meshY": y}
        if attributes.get("cluster-size", 1) > 1 and (x * y) % attributes["cluster-size"]:
            attributes = {k: v for k, v in attributes.items() if k not in ("cluster-size", "width")}
        size = fan[0] * fan[1]
        child: dict[str, Any] = {
            "name": f"s{index}" + (f"[0..{size - 1}]" if size > 1 else ""),
            "local": [{"name": part["name"], "class": part["class"], "attributes": attributes}],
        }
        node["subtree"] = [child]
        node = child
    # Spatial constraints only where there is something to constrain.
    flat = {level["name"] for level, fan in zip(components(case), fans, strict=False) if fan[0] * fan[1] == 1}
    kept = [t for t in targets(case.constraints) if not (t["type"] == "spatial" and t["target"] in flat)]
    constraints = {"architecture_constraints": {"targets": kept}, "mapspace_constraints": {"targets": []}}
    changed = Case(**{**case.as_json(), "arch": {"architecture": tree}, "constraints": constraints})
    tables = []
    for part, table in zip(components(changed), case.ert["ERT"]["tables"], strict=True):
        spread = f"[0..{part['instances'] - 1}]" if part["instances"] > 1 else ""
        tables.append({**table, "name": f"system.{part['name']}{spread}"})
    return Case(**{**changed.as_json(), "ert": {"ERT": {"version": 0.3, "tables": tables}}})


_HYPHENS = ("word_bits", "block_size", "cluster_size", "multiple_buffering", "min_utilization")


def _order(rng: random.Random, case: Case) -> Case:
    found = [t for t in targets(case.constraints) if t["type"] in ("temporal", "spatial")]
    if not found:
        return case
    target = rng.choice(found)
    if "permutation" in target and rng.random() < 0.5:
        del target["permutation"]
    else:
        target["permutation"] = draw_order(rng, case.problem["problem"]["shape"]["dimensions"])
    return case


def _drop(rng: random.Random, case: Case) -> Case:
    for part in case.constraints.values():
        if part["targets"]:
            part["targets"].pop(rng.randrange(len(part["targets"])))
            break
    return case


def _drop_factor(rng: random.Random, case: Case) -> Case:
    found = [t for t in targets(case.constraints) if t.get("factors")]
    if found:
        target = rng.choice(found)
        parts = str(target["factors"]).split()
        parts.pop(rng.randrange(len(parts)))
        target["factors"] = " ".join(parts)
        if not parts:
            del target["factors"]
    return case


def _bypass(rng: random.Random, case: Case) -> Case:
    spaces = [space["name"] for space in case.problem["problem"]["shape"]["data-spaces"]]
    for target in targets(case.constraints):
        if target["type"] in ("bypass", "datatype") and rng.random() < 0.5:
            name = rng.choice(spaces)
            kept = name in (target.get("keep") or [])
            for key in ("keep", "bypass"):
                target[key] = [s for s in target.get(key) or [] if s != name]
            target["bypass" if kept else "keep"].append(name)
            break
    return case


def _cost(rng: random.Random, case: Case) -> Case:
    if rng.random() < 0.3:
        return Case(**{**case.as_json(), "ert": draw_energies(rng, components(case))})
    table = rng.choice(case.ert["ERT"]["tables"][:-1])
    energy = {"read": rng.choice(_COSTS), "write": rng.choice(_COSTS)}
    for action in table["actions"]:
        action["energy"] = energy.get(action["name"], energy["write"])
    return case


def _room(rng: random.Random, case: Case) -> Case:
    tree = case.arch["architecture"]
    items = []
    while tree.get("subtree"):
        tree = tree["subtree"][0]
        items += tree["local"]
    item = rng.choice(items[:-1])
    for key in ("depth", "entries", "memory_depth"):
        if key in (item.get("attributes") or {}):
            item["attributes"][key] = rng.choice((1, 2, 3, 4, 6, 8, 12, 16, 60, 200))
    return case


def _question(rng: random.Random, case: Case) -> Case:
    if rng.random() < 0.5:
        return Case(**{**case.as_json(), "objective": rng.choice(("energy", "delay", "edp"))})
    return Case(**{**case.as_json(), "semantics": rng.choice(("timeloop-3.0.3", "timeloop-2023-04"))})


def _fresh(rng: random.Random, case: Case) -> Case:
    return Case(**{**case.as_json(), "constraints": draw_constraints(rng, case)})


_CHANGES: tuple[Callable[[random.Random, Case], Case], ...] = (
    *(_size, _size, _fan, _fan, _order, _drop, _drop_factor, _drop_factor),
    *(_bypass, _cost, _cost, _room, _question, _fresh),
)
