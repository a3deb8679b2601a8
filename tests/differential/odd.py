"""Cases of what the others draw seldom: unusual tensors on several fan-outs, one above the other, with little room.

Tensors of one dimension, dimensions that no tensor has, two outputs, up to six operands, one dimension in two windows,
outputs of three ranks and more; levels that hold few words, on meshes of both axes.
"""

import math
import random
from typing import Any

from differential.case import SEMANTICS, Case, components
from differential.hardware import draw_energies
from differential.limits import draw_constraints, tighten
from differential.problems import space
from differential.shared import few_energies

Document = dict[str, Any]


def draw_odd(seed: int, limit: int = 15) -> Case:
    """Return the case of a seed; at most ``limit`` mappings of factors that divide can be visited in it.

    No window slides over an output, and two dimensions move a rank at most, so loops may end early, too.
    """
    rng = random.Random(f"odd/{seed}")
    while True:
        problem = rng.choice(SHAPES)(rng)
        bare = Case(
            f"odd-{seed}", draw_hierarchy(rng), {"problem": problem}, {}, {}, "energy", rng.choice(SEMANTICS[:2])
        )
        energies = few_energies if rng.random() < 0.5 else draw_energies
        bare = Case(**{**bare.as_json(), "ert": energies(rng, components(bare))})
        constraints = draw_constraints(rng, bare)
        case = tighten(rng, Case(**{**bare.as_json(), "constraints": constraints}), limit, time=0.7)
        if case is not None:
            return case


def draw_hierarchy(rng: random.Random) -> Document:
    """Return two to four levels with fan-outs along both axes, below most of which little room is."""
    levels = rng.choice((2, 3, 3, 4))
    fans = [(1, 1)] * (levels + 1)
    for index in rng.sample(range(1, levels + 1), rng.choice((1, 2, 2, min(3, levels)))):
        fans[index] = rng.choice(((2, 1), (1, 2), (3, 1), (2, 2), (4, 1), (1, 3), (5, 1), (2, 3), (7, 1)))
    while math.prod(x * y for x, y in fans) > 60:
        fans[fans.index(max(fans, key=math.prod))] = (2, 1)
    tree: Document = {"version": 0.3}
    node, along_x, along_y = tree, 1, 1
    for index, (x, y) in enumerate(fans):
        along_x, along_y = along_x * x, along_y * y
        mesh = {"meshX": along_x, "meshY": along_y}
        item: Document = {"name": "mac", "class": "intmac", "attributes": {"datawidth": 8, **mesh}}
        if index < levels:
            name, klass = ("DRAM", "DRAM") if index == 0 else (f"buf{index}", "SRAM")
            item = {"name": name, "class": klass, "attributes": _storage(rng, index, along_x * along_y) | mesh}
        spread = f"[0..{x * y - 1}]" if x * y > 1 else ""
        child: Document = {"name": f"s{index}{spread}", "local": [item]}
        node["subtree"] = [child]
        node = child
    return {"architecture": tree}


def _storage(rng: random.Random, index: int, instances: int) -> Document:
    found: Document = {"word-bits": rng.choice((8, 16))}
    if index:
        found["depth"] = rng.choice((2, 3, 4, 6, 8, 10, 14, 20, 30, 100, 1000, 1000))
        if rng.random() < 0.15:
            found["multiple-buffering"] = rng.choice((1.5, 2))
        if rng.random() < 0.1:
            found["min-utilization"] = rng.choice((0.1, 0.3))
        if instances > 1 and rng.random() < 0.15:
            found["cluster-size"] = rng.choice([n for n in range(2, instances + 1) if instances % n == 0])
    if rng.random() < 0.3:
        found["block-size"] = rng.choice((2, 3, 4))
    if rng.random() < 0.3:
        found[rng.choice(("read_bandwidth", "write_bandwidth", "shared_bandwidth"))] = rng.choice((0.3, 0.5, 1, 2))
    return found


def shape_of(
    rng: random.Random, dims: str, spaces: list[Document], most: int = 3, sizes: tuple[int, ...] = (2, 2, 3, 3, 4, 5, 7)
) -> Document:
    """Return a problem of these data spaces with at most so many dimensions above 1."""
    terms = [term for one in spaces for rank in one["projection"] for term in rank]
    names = sorted({term[1] for term in terms if len(term) > 1})
    above = rng.sample(dims, min(most, len(dims)))
    step = rng.choice((1, 2, 0, 0, 0))
    return {
        "shape": {
            "name": "odd",
            "dimensions": list(dims),
            "coefficients": [{"name": name, "default": 1} for name in names],
            "data-spaces": spaces,
        },
        "instance": {d: rng.choice(sizes) if d in above else 1 for d in dims}
        | {name: step or rng.choice((1, 1, 2, 3, 4)) for name in names},
    }


def _some(rng: random.Random, *ranks: str) -> list[str]:
    return [rank for rank in ranks if rng.random() < 0.6]


def _grouped(rng: random.Random) -> Document:
    spaces = [
        space("T", "G", *_some(rng, "C", "N"), "P*a+R*b"),
        space("W", "G", *_some(rng, "M", "C"), "R"),
        space("Z", "G", "P", *_some(rng, "M", "N"), write=True),
    ]
    return shape_of(rng, "GCMNPR", spaces, rng.choice((3, 4)))


def _two_windows(rng: random.Random) -> Document:
    other = rng.choice(("P*c+S*d", "S*c+R*d", "Q*c+S*d", "Q*c+R*d"))
    spaces = [
        space("T", "P*a+R*b", *_some(rng, "C")),
        space("U", other),
        space("Z", "P", *_some(rng, "Q", "C"), write=True),
    ]
    return shape_of(rng, "PRSQC", spaces)


def _any_tensors(rng: random.Random) -> Document:
    dims = "ABDE"[: rng.choice((2, 3, 3, 4))]
    spaces: list[Document] = []
    count = rng.choice((1, 2, 3, 4, 5, 6))
    for index in range(count):
        left, ranks = rng.sample(dims, len(dims)), []
        out = index == count - 1
        for _ in range(rng.choice((1, 1, 2, 3, 4))):
            terms = [left.pop() for _ in range(1 if out else rng.choice((1, 1, 2))) if left]
            steps = [term if out or rng.random() < 0.5 else f"{term}*{term.lower()}{index}" for term in terms]
            ranks += ["+".join(steps)] if terms else []
        spaces.append(space(f"T{index}", *ranks, write=out))
    return shape_of(rng, dims, spaces)


def _two_outputs(rng: random.Random) -> Document:
    spaces = [
        space("T", *rng.choice((["C", "P"], ["P*a+R*b"]))),
        space("Y", "P", *_some(rng, "M"), write=True),
        space("Z", *rng.choice((["M"], ["C"], ["P", "C"], ["R"])), write=True),
    ]
    return shape_of(rng, "CPMR", spaces)


def _few_dimensions(rng: random.Random) -> Document:
    """Tensors of one dimension each, and one that no tensor has."""
    spaces = [space("T", "A"), space("U", "B"), space("Z", *rng.choice((["A"], ["C"], ["A", "B", "C"])), write=True)]
    return shape_of(rng, "ABCX", spaces[rng.choice((0, 0, 1)) :])


def _unmoved(rng: random.Random) -> Document:
    return shape_of(rng, "PRX", [space("T", "P*a+R*b"), space("Z", "P", write=True)])


def _batched(rng: random.Random) -> Document:
    spaces = [space("A", "B", "I", "K"), space("W", *_some(rng, "B"), "K", "J"), space("Z", "B", "I", "J", write=True)]
    return shape_of(rng, "BIKJ", spaces, rng.choice((3, 4)))


SHAPES = (_grouped, _two_windows, _any_tensors, _any_tensors, _two_outputs, _few_dimensions, _unmoved, _batched)
