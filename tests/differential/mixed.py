"""Cases that have everything at once: odd layers, leakage, charged networks, latencies, keywords, free bypasses."""

import json
import random
from typing import Any

from differential.case import Case, components, fanouts, targets
from differential.hardware import draw_architecture, draw_energies
from differential.keywords import KEYS, WIRES, stores, told
from differential.limits import draw_constraints, tighten
from differential.odd import SHAPES as ODD
from differential.odd import draw_hierarchy, shape_of
from differential.problems import draw_problem, space
from differential.rounded import factor_of, set_factor
from differential.shared import SHAPES as SHARED
from differential.shared import few_energies, make_room

Document = dict[str, Any]

#: Kinds of hardware and constraints, beside the odd layers and the leakage that all of them may have.
KINDS = ("plain", "wires", "keys", "pass", "all", "slow", "spread")
#: Versions that know leakage, updates of another energy and what passes through a level.
LATER = ("timeloop-2024", "timeloop-4")
#: Shares of what tightens a mapspace that goes to loops in time.
_STEPS_SHARE = (0.3, 0.5, 0.8)


def draw_mixed(
    seed: int, limit: int = 400, semantics: str = "timeloop-2024", kind: str | None = None, tag: str = "mix"
) -> Case:
    """Return a case of one of `KINDS`, or of a random one, for one version."""
    rng = random.Random(f"{tag}/{seed}")
    case = _bare(rng, f"{tag}-{seed}", limit, semantics)
    later = semantics in LATER
    arch, constraints, ert = json.loads(json.dumps([case.arch, case.constraints, case.ert]))
    spaces = [one["name"] for one in case.problem["problem"]["shape"]["data-spaces"]]
    _charge(rng, ert, later)
    kind = kind or rng.choice(KINDS)
    _connect(rng, arch, kind)
    for section in ("architecture_constraints", "mapspace_constraints"):
        constraints.setdefault(section, {}).setdefault("targets", [])
    if kind in ("keys", "pass", "all"):
        _tell(rng, case, constraints, spaces, kind, later)
    if later and rng.random() < 0.15:
        _scale(rng, arch, spaces)
    renewed = {"name": f"{tag}-{kind}-{seed}", "arch": arch, "constraints": constraints, "ert": ert}
    return Case(**{**case.as_json(), **renewed})


def draw_mixed_rounded(seed: int, limit: int = 300, semantics: str = "timeloop-4") -> Case:
    """Return a mixed case some of whose constraints' factors do not divide the layer."""
    rng = random.Random(f"round/{seed}")
    number = seed * 7
    while True:
        kind = rng.choices(("plain", "keys", "pass", "slow", "spread", "wires", "all"), (6, 4, 3, 0, 0.4, 0.3, 1))[0]
        case = draw_mixed(number, limit, semantics, kind, tag="rb")
        number += 1
        constraints = json.loads(json.dumps(case.constraints))
        if _change_factors(rng, case, constraints):
            objective = rng.choices(("energy", "delay", "edp"), (5, 2, 3))[0]
            renewed = {"name": f"round-{kind}-{seed}", "constraints": constraints, "objective": objective}
            return Case(**{**case.as_json(), **renewed})


def _change_factors(rng: random.Random, case: Case, constraints: Document) -> bool:
    """Draw some factors anew; return whether one of them does not divide its size."""
    sizes = {d: case.problem["problem"]["instance"][d] for d in case.problem["problem"]["shape"]["dimensions"]}
    loops = [one for one in targets(constraints) if one["type"] in ("temporal", "spatial")]
    uneven = False
    for name, size in sizes.items():
        given = [one for one in loops if factor_of(one, name) is not None]
        if size < 3 or not given or rng.random() < 0.25:
            continue
        changed, *others = rng.sample(given, len(given))
        factor = rng.randint(2, min(size, 6))
        set_factor(changed, name, factor)
        uneven |= size % factor > 0
        for other in others[: rng.randint(1, 2)]:
            set_factor(other, name, rng.choice((None, None, 2)))
    return uneven


#: Layers whose data spaces are not drawn, with their dimensions.
_FIXED: dict[str, tuple[str, list[Document]]] = {
    "depthwise": ("GPR", [space("W", "G", "R"), space("I", "G", "P*a+R*b"), space("O", "G", "P", write=True)]),
    "three terms": ("PRS", [space("W", "R", "S"), space("I", "P*a+R*b+S*c"), space("O", "P", write=True)]),
    "gate": (
        "IKJ",
        [
            *(space("A", "I", "K"), space("W", "K", "J"), space("V", "K", "J"), space("G", "I", "J")),
            space("Z", "I", "J", write=True),
        ],
    ),
    "gaps": ("MPR", [space("W", "M*g", "R"), space("I", "P*a+R*b"), space("O", "M*h", "P*k", write=True)]),
    "two windows": ("PRC", [space("I", "P*a+R*b", "C"), space("J", "P*c+R*d"), space("O", "P", "C", write=True)]),
}
_LAYERS = ("bias", "three axes", *_FIXED, "groups")


def _layer(rng: random.Random) -> Document:
    kind = rng.choice(_LAYERS)
    if kind in _FIXED:
        dims, spaces = _FIXED[kind]
        return shape_of(rng, dims, json.loads(json.dumps(spaces)), 3)
    if kind == "bias":
        spread = space("S", *rng.choice((("P",), ("M", "P"), ("C",))))
        spaces = [space("W", "C", "M", "R"), space("I", "C", "P*a+R*b"), space("B", "M"), spread]
        return shape_of(rng, "CMRP", [*spaces, space("O", "M", "P", write=True)], rng.choice((3, 4)))
    if kind == "three axes":
        inputs = space("I", "P*a+R*b", "Q*c+S*d", "D*e+T*f")
        spaces = [space("W", "R", "S", "T"), inputs, space("O", "P", "Q", "D", write=True)]
        return shape_of(rng, "RSTPQD", spaces, rng.choice((3, 4)))
    spaces = [space("W", "G", "C", "M", "R"), space("I", "G", "C", "P*a+R*b"), space("O", "G", "M", "P", write=True)]
    return shape_of(rng, "GCMPR", spaces, rng.choice((3, 4)))


def _problem(rng: random.Random) -> Document:
    roll = rng.random()
    if roll < 0.35:
        return {"problem": _layer(rng)}
    if roll < 0.8:
        return {"problem": rng.choice(ODD if roll < 0.6 else SHARED)(rng)}
    return draw_problem(rng, rng.choice(("general", "wide", "arrays")))


def _bare(rng: random.Random, name: str, limit: int, semantics: str) -> Case:
    """Return a case before anything is charged or told: in most, few choices of bypass are named."""
    while True:
        problem = _problem(rng)
        if rng.random() < 0.5:
            arch = draw_hierarchy(rng)
        else:
            arch = draw_architecture(rng, rng.choice(("general", "arrays", "wide", "windows")))
        if rng.random() < 0.6:
            make_room(rng, arch)
        objective = rng.choices(("energy", "delay", "edp"), (8, 1, 2))[0]
        case = Case(name, arch, problem, {}, {}, objective, semantics)
        energies = few_energies if rng.random() < 0.4 else draw_energies
        case = Case(**{**case.as_json(), "ert": energies(rng, components(case))})
        case = Case(**{**case.as_json(), "constraints": _constraints(rng, case)})
        free, time = rng.random() < 0.6, rng.choice(_STEPS_SHARE)
        tight = tighten(rng, case, limit * 2 if free else limit, time, bypass=not free)
        if tight is not None:
            return tight


def _constraints(rng: random.Random, case: Case) -> Document:
    """Return constraints that leave at most eight choices of bypass open."""
    constraints = draw_constraints(rng, case)
    if rng.random() < 0.6:
        for part in constraints.values():
            part["targets"] = [one for one in part["targets"] if one["type"] not in ("bypass", "datatype")]
    spaces = [one["name"] for one in case.problem["problem"]["shape"]["data-spaces"]]
    said = [one for one in targets(constraints) if one["type"] in ("bypass", "datatype")]
    named = {(one["target"], v) for one in said for key in ("keep", "bypass") for v in one.get(key, ())}
    pairs = [(name, v) for name, _, _ in fanouts(case)[1:] for v in spaces if (name, v) not in named]
    rng.shuffle(pairs)
    for name, v in pairs[rng.choice((5, 7, 8)) :]:
        more = {"target": name, "type": "bypass", rng.choice(("keep", "bypass")): [v]}
        constraints["architecture_constraints"]["targets"].append(more)
    return constraints


def _charge(rng: random.Random, ert: Document, later: bool) -> None:
    """Charge computations; in later versions let levels leak, and fills or updates cost something of their own."""
    *tables, computes = ert["ERT"]["tables"]
    computes["actions"][0]["energy"] = computes["actions"][0]["energy"] or rng.choice((0.01, 1))
    for table in tables:
        energies = {action["name"]: action["energy"] for action in table["actions"]}
        energies["update"] = energies.get("write", energies.get("update", 0))
        if later:
            if rng.random() < 0.25:
                energies["leak"] = rng.choice((0.01, 0.5, 3, 20))
            if rng.random() < 0.4:
                energies[rng.choice(("update", "random_write", "fill"))] = rng.choice((0, 0.5, 4, 90))
        table["actions"] = [{"name": name, "arguments": None, "energy": pj} for name, pj in energies.items()]


def _connect(rng: random.Random, arch: Document, kind: str) -> None:
    """Let networks take energy, distribute multicasts, or take cycles."""
    items = list(stores(arch))
    if kind in ("wires", "all", "slow", "spread") and not (kind == "spread" and rng.random() < 0.4):
        for item in items[1:]:
            for key, values in WIRES.items():
                if rng.random() < 0.4:
                    item.setdefault("attributes", {})[key] = rng.choice(values)
    for item in items if kind == "spread" else ():
        if rng.random() < 0.6:
            item.setdefault("attributes", {})["network-type"] = "M:N"
    for item in items if kind == "slow" else ():
        for key in ("network_fill_latency", "network_drain_latency"):
            if rng.random() < 0.6:
                item.setdefault("attributes", {})[key] = rng.choice((0, 3, 40, 1000))


def _tell(rng: random.Random, case: Case, constraints: Document, spaces: list[str], kind: str, later: bool) -> None:
    """Tell levels what not to reuse, what passes through them, or how many units to use at least."""
    given = constraints["architecture_constraints"]["targets"]
    share = rng.choice((0.2, 0.5, 0.9))
    for place, (name, x, y) in enumerate(fanouts(case)):
        keys: dict[str, Any] = KEYS
        if later:
            in_time = ("no_temporal_reuse", "rmw_first_update") if rng.random() < 0.5 else ("rmw_first_update",)
            keys = {"temporal": in_time, "spatial": ("no_multicast_no_reduction", "no_link_transfer")}
        own = ("temporal", "spatial") if x * y > 1 else ("temporal",)
        given += told(rng, name, {one: keys[one] for one in own}, spaces, share * 0.6)
        passing = [v for v in spaces if rng.random() < 0.6]
        if later and kind != "keys" and place and passing and rng.random() < share:
            said = [one for one in given + constraints["mapspace_constraints"]["targets"] if one["target"] == name]
            said = [one for one in said if one["type"] in ("bypass", "datatype")]
            taken = {v for one in said for key in ("keep", "bypass") for v in one.get(key, ())}
            free = [v for v in passing if v not in taken]
            given.append({"target": name, "type": "bypass", "no_coalesce": passing} | ({"keep": free} if free else {}))
    if kind == "all" and rng.random() < 0.15:
        innermost = components(case)[-2]["name"]
        least = {"type": rng.choice(("parallelism", "utilization")), "min": rng.choice((0.25, 0.5, 1))}
        given.append({"target": innermost, **least})


def _scale(rng: random.Random, arch: Document, spaces: list[str]) -> None:
    """Let words of some data spaces count more or less in bandwidths."""
    for item in stores(arch):
        if rng.random() < 0.6:
            scales = {v: rng.choice((0.125, 0.4, 1, 3)) for v in spaces if rng.random() < 0.7}
            item.setdefault("attributes", {})["per_dataspace_bandwidth_consumption_scale"] = scales
            item["attributes"].setdefault("read_bandwidth", rng.choice((1, 4, 16)))
