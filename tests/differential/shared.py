"""Cases whose windows share dimensions: what the other kinds draw seldom or never.

Dimensions of several windows, ranks of three terms, steps without a common divisor, outputs that slide, tensors that
share no dimension; fan-outs one above the other with levels between that keep nothing; one or two actions that cost
anything, so that a bound stands for a single count.
"""

import random
from typing import Any

from differential.case import SEMANTICS, Case, components, fanouts
from differential.hardware import draw_architecture
from differential.limits import draw_constraints, tighten
from differential.problems import space

Document = dict[str, Any]

_STEPS = (1, 1, 2, 2, 3, 3, 4, 5, 6)


def draw_shared(seed: int, limit: int = 800) -> Case:
    """Return the case of a seed; at most ``limit`` mappings can be visited in it."""
    rng = random.Random(f"shared/{seed}")
    while True:
        problem = {"problem": rng.choice(SHAPES)(rng)}
        arch = draw_architecture(rng, rng.choice(("arrays", "wide", "windows")))
        make_room(rng, arch)
        semantics = rng.choice(("timeloop-3.0.3", "timeloop-3.0.3", "timeloop-2023-04", "timeloop-4"))
        objective = rng.choices(("energy", "delay", "edp"), (8, 1, 1))[0]
        bare = Case(f"shared-{seed}", arch, problem, {}, {}, objective, semantics)
        bare = Case(**{**bare.as_json(), "ert": few_energies(rng, components(bare))})
        constraints = draw_constraints(rng, bare) if rng.random() < 0.5 else _passing(rng, bare)
        case = tighten(rng, Case(**{**bare.as_json(), "constraints": constraints}), limit, time=0.8)
        if case is not None:
            return case


def draw_merged(seed: int) -> Case:
    """Return a small case of outputs on two fan-outs around a level that holds and loops nothing.

    Outputs have gaps in two of three. What is read back of the innermost level costs most: there partitions count.
    """
    rng = random.Random(f"merged/{seed}")
    problem: Document = {
        "problem": _instance(rng, "PQC", [space("T", "C"), space("Z", "P*a", "Q*b", write=True)]),
    }
    instance = problem["problem"]["instance"]
    instance |= {"P": rng.choice((4, 6, 8, 12)), "Q": rng.choice((2, 4, 6)), "C": rng.choice((4, 6, 8))}
    if seed % 3 == 2:
        instance |= {"a": 1, "b": 1}
    outer, inner = rng.choice((2, 2, 3, 4)), rng.choice((2, 2, 3, 4))
    arch = _two_fanouts(outer, outer * inner)
    bare = Case(f"merged-{seed}", arch, problem, {}, {}, "energy", rng.choice(SEMANTICS))
    bare = Case(**{**bare.as_json(), "ert": few_energies(rng, components(bare))})
    bare.ert["ERT"]["tables"][2]["actions"][0]["energy"] = rng.choice((1, 5))
    outermost = f"C={instance['C']}" + rng.choice(("", " P=1", " Q=1", " P=2 Q=1"))
    targets = [
        {"target": "DRAM", "type": "temporal", "factors": outermost, "permutation": rng.choice(("PCQ", "QCP", "CPQ"))},
        {"target": "middle", "type": "bypass", "bypass": ["T", "Z"]},
        {"target": "middle", "type": "temporal", "factors": "P=1 Q=1 C=1"},
        {"target": "buf", "type": "bypass", "keep": ["Z"], "bypass": ["T"]},
    ]
    constraints = {"architecture_constraints": {"targets": targets}, "mapspace_constraints": {"targets": []}}
    return Case(**{**bare.as_json(), "constraints": constraints})


def _two_fanouts(outer: int, inner: int) -> Document:
    """Return a memory, ``outer`` instances of a level in the middle, and ``inner`` buffers, each with one unit."""

    def level(name: str, instances: int, **attributes: int) -> Document:
        klass = "DRAM" if name == "DRAM" else "SRAM"
        return {"name": name, "class": klass, "attributes": {"word-bits": 8, "meshX": instances, **attributes}}

    unit = {"name": "mac", "class": "intmac", "attributes": {"datawidth": 8, "meshX": inner}}
    node: Document = {"name": "s3", "local": [unit]}
    node = {"name": f"s2[0..{inner // outer - 1}]", "local": [level("buf", inner, depth=1000)], "subtree": [node]}
    node = {"name": f"s1[0..{outer - 1}]", "local": [level("middle", outer, depth=1000)], "subtree": [node]}
    return {
        "architecture": {
            "version": 0.3,
            "subtree": [{"name": "s0", "local": [level("DRAM", 1)], "subtree": [node]}],
        }
    }


def few_energies(rng: random.Random, parts: list[Document]) -> Document:
    """Return energies of which most are nothing: one to three actions of the levels cost something."""
    tables = []
    for index, part in enumerate(parts):
        names = ("compute",) if index == len(parts) - 1 else ("read", "write", "update")
        spread = f"[0..{part['instances'] - 1}]" if part["instances"] > 1 else ""
        tables.append({"name": f"system.{part['name']}{spread}", "actions": dict.fromkeys(names, 0)})
    tables[-1]["actions"]["compute"] = rng.choice((0.001, 1))
    for _ in range(rng.choice((1, 1, 2, 3))):
        actions = rng.choice(tables[:-1])["actions"]
        actions[rng.choice(("read", "write"))] = rng.choice((1, 1, 3, 10, 0.1))
    for table in tables:
        actions = table["actions"]
        if "update" in actions:
            actions["update"] = actions["write"]
        table["actions"] = [{"name": name, "arguments": None, "energy": pj} for name, pj in actions.items()]
    return {"ERT": {"version": 0.3, "tables": tables}}


def make_room(rng: random.Random, arch: Document) -> None:
    """Let most levels hold all there is, in half of the designs: then no capacity hides what a bound says."""
    if rng.random() < 0.5:
        return
    node = arch["architecture"]
    while node:
        for item in node.get("local") or []:
            attributes = item.get("attributes") or {}
            for key in ("depth", "entries", "memory_depth"):
                if key in attributes and rng.random() < 0.8:
                    attributes[key] = 100000
                    attributes.pop("min-utilization", None)
        node = (node.get("subtree") or [None])[0]


def _passing(rng: random.Random, case: Case) -> Document:
    """Levels between keep few data spaces; loops are free until the mapspace is tightened."""
    names = [one["name"] for one in case.problem["problem"]["shape"]["data-spaces"]]
    found: list[Document] = []
    dims = case.problem["problem"]["shape"]["dimensions"]
    for name, _, _ in fanouts(case)[1:]:
        if rng.random() < 0.3:
            found.append({"target": name, "type": "bypass", "bypass": list(names)})
            found.append({"target": name, "type": "temporal", "factors": " ".join(f"{d}=1" for d in dims)})
            continue
        bypass = [one for one in names if rng.random() < 0.6]
        if bypass:
            found.append({"target": name, "type": "bypass", "bypass": bypass})
    return {"architecture_constraints": {"targets": found}, "mapspace_constraints": {"targets": []}}


def _instance(rng: random.Random, dims: str, spaces: list[Document], most: int = 4) -> Document:
    """Return a problem of these data spaces; a coefficient is a letter in small type."""
    terms = [term for one in spaces for rank in one["projection"] for term in rank]
    names = sorted({term[1] for term in terms if len(term) > 1})
    sizes = {d: rng.choice((2, 2, 2, 3, 3, 4, 4, 5, 6)) for d in dims}
    above = list(dims)
    rng.shuffle(above)
    sizes |= dict.fromkeys(above[most:], 1)
    return {
        "shape": {
            "name": "shared",
            "dimensions": list(dims),
            "coefficients": [{"name": name, "default": 1} for name in names],
            "data-spaces": spaces,
        },
        "instance": sizes | {name: rng.choice(_STEPS) for name in names},
    }


def _two_windows(rng: random.Random) -> Document:
    """Two inputs slide over one output, each in a window of its own; weights may slide, too."""
    spaces = [
        space("T", "P*a+R*b", *(["C"] if rng.random() < 0.5 else [])),
        space("U", "P*c+S*d" if rng.random() < 0.5 else "R*c+S*d"),
        space("Z", "P", *(["C"] if rng.random() < 0.3 else []), write=True),
    ]
    return _instance(rng, "PRSC", spaces, rng.choice((3, 4)))


def _three_terms(rng: random.Random) -> Document:
    """A rank of three terms, or two such ranks."""
    spaces = [
        space("T", "P*a+R*b+S*c", *(["C"] if rng.random() < 0.5 else [])),
        space("U", *rng.sample("RSC", rng.choice((1, 2, 3)))),
        space("Z", *rng.choice((["P"], ["P", "C"])), write=True),
    ]
    return _instance(rng, "PRSC", spaces, rng.choice((3, 4)))


def _twice(rng: random.Random) -> Document:
    """One window in several tensors with other steps."""
    spaces = [
        space("T", "P*a+R*b"),
        space("U", "P*c+R*d", *(["C"] if rng.random() < 0.5 else [])),
        space("W", "R", *(["C"] if rng.random() < 0.5 else [])),
        space("Z", "P", write=True),
    ]
    return _instance(rng, "PRC", spaces[rng.choice((0, 0, 1)) :], 3)


def _sliding_output(rng: random.Random) -> Document:
    """Outputs slide: a transposed convolution."""
    spaces = [
        space("T", "P", *(["C"] if rng.random() < 0.5 else [])),
        space("U", "R", *(["C"] if rng.random() < 0.5 else [])),
        space("Z", "P*a+R" if rng.random() < 0.7 else "P*a+R*b", write=True),
    ]
    return _instance(rng, "PRC", spaces, 3)


def _apart(rng: random.Random) -> Document:
    """Tensors without a common dimension, scalars among them."""
    spaces = [space("T", "A*a+B*b"), space("U", "D*c+E*d"), space("Z", rng.choice("ABDE"), write=True)]
    return _instance(rng, "ABDE", spaces, rng.choice((3, 4)))


def _wide_window(rng: random.Random) -> Document:
    """Two axes whose windows exchange roles: the step of one axis is the reach of the other."""
    spaces = [
        space("T", "P*a+R*b", "Q*c+S*d"),
        space("U", "R", "S"),
        space("Z", "P", "Q", write=True),
    ]
    return _instance(rng, "PQRS", spaces, rng.choice((3, 4, 4)))


def _one_window(rng: random.Random) -> Document:
    spaces = [space("T", "P*a+R*b", *(["C"] if rng.random() < 0.4 else [])), space("W", "R", "M")]
    spaces.append(space("Z", "P", "M", write=True))
    return _instance(rng, "PRMC", spaces, rng.choice((2, 3, 4)))


def _gapped(rng: random.Random) -> Document:
    """Outputs whose places lie apart, so that partitions are no even share of them."""
    out = rng.choice((["P*a"], ["P*a", "Q"], ["P*a", "Q*b"], ["P*a", "Q*b"]))
    spaces = [
        space("T", "C", *(["P"] if rng.random() < 0.5 else [])),
        space("U", "C", *(["Q"] if rng.random() < 0.5 else [])),
        space("Z", *out, write=True),
    ]
    return _instance(rng, "PQC", spaces, 3)


SHAPES = (_gapped, _gapped, _two_windows, _three_terms, _twice, _sliding_output, _apart, _wide_window, _one_window)
