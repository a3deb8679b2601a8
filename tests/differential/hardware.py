"""Random hierarchies and energies."""

import random
from typing import Any

Document = dict[str, Any]

_NAMES = ("DRAM", "buf1", "buf2", "buf3", "buf4", "buf5")
#: Costs of one access: nothing, all alike, small and large ones, numbers of real tables.
_COSTS = (0, 0, 0.0, 1, 1, 2, 3.5, 10, 10, 74.1442, 75.2148, 0.25083, 100, 0.1, 0.3)


def draw_architecture(rng: random.Random, kind: str) -> Document:
    """Return a hierarchy of storage levels; ``windows`` fans out nearly always, ``arrays`` twice, ``wide`` is deep."""
    shares = {"arrays": (0, 4, 8, 6), "wide": (0, 1, 4, 6, 5, 3)}.get(kind, (1, 8, 8, 4))
    levels = rng.choices(range(1, len(shares) + 1), shares)[0]
    fans = [_fan(rng, kind) for _ in range(levels)]
    while _units(fans) > 48:
        fans[rng.randrange(levels)] = (1, 1)
    if kind == "windows" and _units(fans) == 1:
        fans[rng.randrange(levels)] = (rng.choice((2, 3, 4)), 1)
    if kind == "arrays":
        for index in rng.sample(range(levels), 2):
            if fans[index] == (1, 1):
                fans[index] = (rng.choice((2, 2, 3, 4)), 1)
    x = y = 1
    tree: Document = {"version": 0.3}
    node = tree
    for index in range(levels + 1):
        fan = (1, 1) if index == 0 else fans[index - 1]
        x, y = x * fan[0], y * fan[1]
        item: Document
        if index == levels:
            attributes: Document = {"datawidth": 8} | _mesh(rng, x, y)
            item = {"name": "mac", "class": rng.choice(("intmac", "mac", "compute")), "attributes": attributes}
        else:
            item = _storage(rng, index, levels, x * y)
            item["attributes"] |= _mesh(rng, x, y)
        units = fan[0] * fan[1]
        spread = f"[0..{units - 1}]" if units > 1 else ""
        if index and units == 1 and rng.random() < 0.1:
            node["local"].append(item)
            continue
        if index == levels and rng.random() < 0.2:
            item["name"] += spread
            spread = ""
        child: Document = {"name": f"s{index}{spread}", "local": [item]}
        node["subtree"] = [child]
        node = child
    return {"architecture": tree}


def _units(fans: list[tuple[int, int]]) -> int:
    product = 1
    for x, y in fans:
        product *= x * y
    return product


def _fan(rng: random.Random, kind: str) -> tuple[int, int]:
    share = (8, 5, 2, 3) if kind == "general" else (5, 4, 2, 3) if kind == "wide" else (3, 5, 1, 2)
    what = rng.choices(("none", "x", "y", "xy"), share)[0]
    if what == "none":
        return (1, 1)
    if what == "xy":
        return rng.choice((2, 2, 3, 4)), rng.choice((2, 2, 3, 4))
    size = rng.choice((2, 2, 2, 3, 3, 4, 4, 5, 6, 8))
    return (size, 1) if what == "x" else (1, size)


def _mesh(rng: random.Random, x: int, y: int) -> Document:
    """Return the mesh; where all instances lie along X it may be left out."""
    if y == 1 and rng.random() < 0.15:
        return {}
    return {"meshX": x} | ({"meshY": y} if y > 1 or rng.random() < 0.2 else {})


def _storage(rng: random.Random, index: int, levels: int, instances: int) -> Document:
    attributes: Document = {"word-bits": rng.choice((8, 8, 16, 7))}
    block = rng.choice((1, 1, 1, 1, 2, 3, 4, 8))
    cluster = 1
    outermost = index == 0
    if not outermost and instances > 1 and rng.random() < 0.12:
        cluster = rng.choice([c for c in range(2, instances + 1) if instances % c == 0])
    if block > 1 or rng.random() < 0.5:
        attributes["block-size"] = block
    if cluster > 1:
        attributes["cluster-size"] = cluster
    if rng.random() < 0.1:
        attributes["width"] = attributes["word-bits"] * block * cluster
        attributes["block-size"] = block
        attributes["cluster-size"] = cluster
    if not outermost or (levels > 1 and rng.random() < 0.05):
        tight = rng.choice((1, 2, 3, 4, 5, 6, 8, 12, 16, 16, 24, 32, 48, 60, 60, 60, 64, 100, 100, 200, 1000))
        if outermost:
            tight = 5000
        key = rng.choice(("depth", "depth", "depth", "entries", "memory_depth"))
        if rng.random() < 0.02:
            attributes["sizeKB"] = 1
        elif key == "entries":
            attributes["entries"] = max(tight, block)
        else:
            attributes[key] = max(1, -(-tight // block))
        if rng.random() < 0.08:
            attributes["multiple-buffering"] = rng.choice((2, 1.5, 2.0)) if tight > 3 * block else 1
        if rng.random() < 0.04:
            attributes["min-utilization"] = rng.choice((0.1, 0.25, 0.5))
    if rng.random() < 0.25:
        for key in rng.sample(("read_bandwidth", "write_bandwidth", "shared_bandwidth"), rng.choice((1, 2))):
            attributes[key] = rng.choice((0.3, 0.5, 1, 1, 1.5, 2, 3, 4, 7))
    klass = "DRAM" if outermost else rng.choice(("SRAM", "SRAM", "regfile", "smartbuffer_SRAM", "storage"))
    return {"name": _NAMES[index], "class": klass, "attributes": attributes}


def draw_energies(rng: random.Random, parts: list[Document], kind: str = "general") -> Document:
    """Return an energy reference table for ``parts`` (see `differential.case.components`)."""
    weights = (3, 3, 1, 6) if kind == "arrays" else (4, 6, 1, 2)
    style = rng.choices(("falling", "any", "equal", "zeros"), weights)[0]
    tables = []
    for index, part in enumerate(parts):
        if index == len(parts) - 1:
            actions = {rng.choice(("compute", "mac", "mult")): rng.choice((0, 0, 1, 0.5608, 2.20035))}
        else:
            actions = _actions(rng, style, index)
            if kind == "wide" and rng.random() < 0.6:
                actions |= {name: rng.choice(_COSTS) for name in ("read", "write", "update") if rng.random() < 0.4}
        spread = f"[0..{part['instances'] - 1}]" if part["instances"] > 1 else ""
        entries = [{"name": name, "arguments": None, "energy": energy} for name, energy in actions.items()]
        tables.append({"name": f"system.{part['name']}{spread}", "actions": entries})
    return {"ERT": {"version": 0.3, "tables": tables}}


def _actions(rng: random.Random, style: str, index: int) -> dict[str, float]:
    if style == "equal":
        read = write = 1.0
    elif style == "falling":
        read = rng.choice((512, 200, 100, 100) if index == 0 else (60, 10, 6) if index == 1 else (2, 1, 1, 0.25083, 0))
        write = rng.choice((read, read, read * 1.1))
    elif style == "zeros":
        read, write = rng.choice((0, 0, 0, 1, 10, 100)), rng.choice((0, 0, 0, 1, 1, 100))
    else:
        read, write = rng.choice(_COSTS), rng.choice(_COSTS)
    return {"read": read, "write": write} if rng.random() < 0.03 else {"read": read, "write": write, "update": write}
