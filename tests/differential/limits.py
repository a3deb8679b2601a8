"""Random constraints, loose at first and then tightened until the mapspace can be visited whole."""

import random
from typing import Any

from differential.case import Case, fanouts
from differential.uber import RefusedError, Uber

Document = dict[str, Any]


def draw_constraints(rng: random.Random, case: Case) -> Document:
    """Return constraints on factors, orders, splits and bypasses, most of them loose."""
    shape = case.problem["problem"]["shape"]
    instance = case.problem["problem"]["instance"]
    dims = shape["dimensions"]
    sizes = {d: int(instance[d]) for d in dims}
    left = dict(sizes)
    spaces = [space["name"] for space in shape["data-spaces"]]
    found: list[Document] = []
    loose = rng.choice((0.15, 0.3, 0.6))
    for index, (name, x, y) in enumerate(fanouts(case)):
        if rng.random() < loose:
            found += _given({"target": name, "type": "temporal"} | _loops(rng, sizes, left, unit=0.2, order=0.55))
        if x * y > 1 and rng.random() < loose:
            target: Document = {"target": name, "type": "spatial"} | _loops(rng, sizes, left, unit=0.3, order=0.3)
            if rng.random() < 0.2:
                target["split"] = rng.choice((0, len(dims), rng.randint(0, len(dims))))
            found += _given(target)
        if index > 0 and rng.random() < 0.6:
            keep = [s for s in spaces if rng.random() < 0.45]
            bypass = [s for s in spaces if s not in keep and rng.random() < 0.5]
            found += _given(
                {"target": name, "type": rng.choice(("bypass", "datatype"))}
                | ({"keep": keep} if keep else {})
                | ({"bypass": bypass} if bypass else {})
            )
    rng.shuffle(found)
    cut = rng.choice((0, len(found), rng.randint(0, len(found))))
    return {
        "architecture_constraints": {"targets": found[:cut]},
        "mapspace_constraints": {"targets": found[cut:]},
    }


def _given(target: Document) -> list[Document]:
    return [target] if len(target) > 2 else []


def _loops(rng: random.Random, sizes: dict[str, int], left: dict[str, int], *, unit: float, order: float) -> Document:
    parts = []
    dims = list(sizes)
    for d, whole in sizes.items():
        roll = rng.random()
        if roll < unit:
            parts.append(f"{d}=1")
        elif roll < unit + 0.06 and left[d] > 1:
            factor = rng.choice([f for f in range(1, left[d] + 1) if left[d] % f == 0])
            left[d] //= factor
            parts.append(f"{d}={factor}")
        elif roll < unit + 0.09:
            parts.append(f"{d}<={rng.choice((1, 2, 2, 3, 4))}")
        elif roll < unit + 0.1 and left[d] > 2:
            parts.append(f"{d}>=2")
        elif roll < unit + 0.11:
            parts.append(f"{d}={left[d] + 97}")
        elif roll < unit + 0.13 and whole == left[d]:
            # Nought is the whole dimension.
            left[d] = 1
            parts.append(f"{d}=0")
    found: Document = {}
    if parts:
        rng.shuffle(parts)
        found["factors"] = " ".join(parts)
    if rng.random() < order:
        found["permutation"] = draw_order(rng, dims)
    if rng.random() < 0.01:
        found["default_max_factor"] = rng.choice((2, 3, 4))
    return found


def draw_order(rng: random.Random, dims: list[str]) -> str:
    """Return a whole order, the inner part of one, or an inner and an outer part."""
    order = rng.sample(dims, len(dims))
    kind = rng.choice(("whole", "part", "part", "both", "outer"))
    if kind == "whole":
        return rng.choice(("", "", "", " ")).join(order) + rng.choice(("", "", "", "", " # any"))
    inner, outer = sorted((rng.randint(1, len(dims) - 1), rng.randint(1, len(dims) - 1)))
    if kind == "part":
        return "".join(order[:inner])
    return "".join(order[:inner] if kind == "both" else []) + "_" + "".join(order[outer:])


def tighten(rng: random.Random, case: Case, limit: int, time: float = 0.5, *, bypass: bool = True) -> Case | None:
    """Return the case with more constraints, until at most ``limit`` mappings are left; None where none are.

    What is added: tensors kept or bypassed, factors of 1, whole orders, splits; a share of ``time`` of it to temporal
    loops where there is a choice, so that a large share leaves loops to be unrolled. Without ``bypass`` nothing more
    is said of what is kept.
    """
    for _ in range(400):
        try:
            space = Uber(case)
            size = space.size(limit)
        except RefusedError:
            return None
        if size == 0 or not space.masks:
            return None
        if size <= limit:
            return case
        more = _one_more(rng, space, time)
        if more is None or (more["type"] == "bypass" and not bypass):
            continue
        section = rng.choice(("architecture_constraints", "mapspace_constraints"))
        constraints = {key: {"targets": _copied(value["targets"])} for key, value in case.constraints.items()}
        _merge(constraints, section, more)
        case = Case(**{**case.as_json(), "constraints": constraints})
    return None


def _copied(given: list[Document]) -> list[Document]:
    return [dict(target) for target in given]


def _merge(constraints: Document, section: str, more: Document) -> None:
    """Add ``more`` to a target of the same level and type where there is one, for short files."""
    for part in constraints.values():
        for target in part["targets"]:
            here = target["target"], target["type"].replace("datatype", "bypass")
            if here != (more["target"], more["type"]) or {"permutation", "split"} & set(target) & set(more):
                continue
            if "factors" in more and "factors" in target:
                target["factors"] += " " + more["factors"]
            for key in ("keep", "bypass"):
                if key in more:
                    target[key] = [*target.get(key, []), *more[key]]
            for key, value in more.items():
                target.setdefault(key, value)
            return
    constraints[section]["targets"].append(more)


def _one_more(rng: random.Random, space: Uber, time: float) -> Document | None:
    spatial = rng.random() > time and any(t.spatial for t in space.tilings)
    tiling = rng.choice([t for t in space.tilings if t.spatial == spatial])
    name, kind = space.levels[tiling.storage], "spatial" if tiling.spatial else "temporal"
    choice = rng.random()
    open_bits = [(level, s) for s, row in enumerate(space.bypass) for level, flag in enumerate(row) if flag == "X"]
    if choice < 0.3 and open_bits:
        level, s = rng.choice(open_bits)
        what = "keep" if rng.random() < 0.65 else "bypass"
        return {"target": space.levels[level], "type": "bypass", what: [space.spaces[s]]}
    if choice < 0.65:
        free = [
            d
            for d, bound in enumerate(space.bounds)
            if bound > 1 and d not in {*tiling.exact, *tiling.ignored} and tiling.least.get(d, 1) == 1
        ]
        # Another level of the dimension stays open, mostly one in time, else its factors seldom multiply.
        kinds = (False,) if rng.random() < 0.9 else (False, True)
        free = [
            d for d in free if any(d not in t.exact for t in space.tilings if t is not tiling and t.spatial in kinds)
        ]
        if not free:
            return None
        return {"target": name, "type": kind, "factors": f"{space.dimensions[rng.choice(free)]}=1"}
    if choice < 0.85 and not (tiling.prefix or tiling.suffix):
        order = rng.sample(space.dimensions, len(space.dimensions))
        return {"target": name, "type": kind, "permutation": "".join(order)}
    if tiling.spatial and tiling.split is None and rng.random() < 0.5:
        if tiling.fan_y == 1:
            split = len(space.bounds)
        else:
            split = 0 if tiling.fan_x == 1 else rng.randint(0, len(space.bounds))
        return {"target": name, "type": kind, "split": split}
    return None
