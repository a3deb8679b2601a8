"""Open designs under strided and dilated windows: boxes that overlap, links, and levels that keep nothing.

Few constraints, one or two fan-outs, several levels that keep little: so that bounds of groups of unrollings hold here.
"""

import random
from typing import Any

from differential.case import Case, components, fanouts
from differential.hardware import draw_architecture, draw_energies
from differential.limits import tighten
from differential.problems import space
from differential.uber import Uber

Document = dict[str, Any]

#: Dimensions beside the windows: channels, outputs, groups.
_OTHERS = ("", "", "C", "M", "G", "CM", "GM", "GC")
_AXES = (("P", "R", "s", "d"), ("Q", "S", "t", "e"))
#: Of designs that have too many mappings, how many get constraints instead of being drawn again.
_TIGHTENED = 0.4
#: Data spaces that the middle level of three may pass on beside inputs, and the levels inside.
_REST, _INNER = ("Weights", "Outputs"), ("buf1", "buf2")
#: What a level keeps: nothing, one data space, or what the search chooses.
_KEPT = ("nothing", "one", "any", "any")


def draw_strided(seed: int, limit: int = 6000) -> Case:
    """Return the case of a seed; at most ``limit`` mappings can be visited in it."""
    rng = random.Random(f"strided/{seed}")
    while True:
        case = _bare(rng, f"strided-{seed}")
        size = Uber(case).size(limit)
        if 0 < size <= limit:
            return case
        tight = tighten(rng, case, limit, 0.6, bypass=False) if rng.random() < _TIGHTENED else None
        if tight is not None:
            return tight


def _bare(rng: random.Random, name: str) -> Case:
    while True:
        arch = draw_architecture(rng, "windows")
        objective = rng.choices(("energy", "edp"), (9, 1))[0]
        semantics = rng.choices(("timeloop-3.0.3", "timeloop-2023-04"), (3, 1))[0]
        case = Case(name, arch, draw_windows(rng), {}, {}, objective, semantics)
        fans = fanouts(case)
        if len(fans) > 1 and 0 < sum(x * y > 1 for _, x, y in fans) < 3:
            break
    spaces = [one["name"] for one in case.problem["problem"]["shape"]["data-spaces"]]
    told = [one for level, *_ in fans[1:] for one in _kept(rng, level, spaces)]
    if len(told) == len(fans) - 1:
        # The search has something to choose.
        told.pop(rng.randrange(len(told)))
    constraints = {"architecture_constraints": {"targets": told}, "mapspace_constraints": {"targets": []}}
    return Case(**{**case.as_json(), "constraints": constraints, "ert": draw_energies(rng, components(case))})


def _kept(rng: random.Random, level: str, spaces: list[str]) -> list[Document]:
    what = rng.choice(_KEPT)
    if what == "any":
        return []
    keep = rng.sample(spaces, 1) if what == "one" else []
    told = {"target": level, "type": "bypass", "bypass": [one for one in spaces if one not in keep]}
    return [told | ({"keep": keep} if keep else {})]


def draw_windows(rng: random.Random) -> Document:
    """Return a layer of one window or two, of strides up to 3 and dilations up to 2, that not all are 1."""
    axes = _AXES[: rng.choice((1, 1, 2))]
    others = rng.choice(_OTHERS)
    sizes: dict[str, int] = {}
    steps: dict[str, int] = {}
    for place, tap, stride, dilation in axes:
        sizes |= {place: rng.choice((2, 3, 4, 4, 6, 8, 9)), tap: rng.choice((2, 2, 3, 3, 4, 5, 6))}
        steps |= {stride: rng.choice((1, 2, 2, 3)), dilation: rng.choice((1, 1, 2))}
    if max(steps.values()) == 1:
        steps["s"] = rng.choice((2, 3))
    sizes |= {d: rng.choice((2, 2, 3, 4)) for d in others}
    windows = [f"{place}*{stride}+{tap}*{dilation}" for place, tap, stride, dilation in axes]
    spaces = [
        space("Weights", *others, *(tap for _, tap, *_ in axes)),
        space("Inputs", *(d for d in others if d != "M"), *windows),
        space("Outputs", *(d for d in others if d != "C"), *(place for place, *_ in axes), write=True),
    ]
    dims = rng.sample(list(sizes), len(sizes))
    shape = {"name": "strided", "dimensions": dims, "coefficients": [{"name": c, "default": 1} for c in steps]}
    return {"problem": {"shape": {**shape, "data-spaces": spaces}, "instance": {**sizes, **steps}}}


def draw_passed(seed: int) -> Case:
    """Return a case whose outer fan-out unrolls taps, and whose inner one, below a level that passes inputs on, places.

    So the loop that brings in what is new may stand beyond an unrolling of its own dimension.
    """
    rng = random.Random(f"passed on/{seed}")
    taps, places = rng.choice((2, 3)), rng.choice((2, 3))
    sizes = {"R": taps * rng.choice((2, 3, 4)), "P": places * rng.choice((1, 1, 2))}
    steps = {"s": rng.choice((1, 2, 2, 3)), "d": rng.choice((1, 1, 2))}
    spaces = [space("Weights", "R"), space("Inputs", "P*s+R*d"), space("Outputs", "P", write=True)]
    shape = {"name": "passed", "dimensions": ["R", "P"], "coefficients": [{"name": c, "default": 1} for c in steps]}
    problem = {"problem": {"shape": {**shape, "data-spaces": spaces}, "instance": {**sizes, **steps}}}
    told: list[Document] = [
        {"target": "buf1", "type": "bypass", "bypass": ["Inputs", *(v for v in _REST if rng.random() < 0.3)]},
        {"target": "buf2", "type": "bypass", "keep": ["Inputs"]},
        {"target": "DRAM", "type": "spatial", "factors": f"R={taps} P=1"},
        {"target": "buf1", "type": "spatial", "factors": f"R=1 P={places}"},
    ]
    told += [{"target": name, "type": "temporal", "factors": "R=1 P=1"} for name in _INNER if rng.random() < 0.5]
    constraints = {"architecture_constraints": {"targets": told}, "mapspace_constraints": {"targets": []}}
    case = Case(f"passed-{seed}", hierarchy([(1, taps), (places, 1), (1, 1)], depth=32), problem, constraints, {})
    ert = draw_energies(rng, components(case))
    for table in ert["ERT"]["tables"]:
        for action in table["actions"]:
            action["energy"] = rng.choice((0, 0, 1, 1, 2, 3, 5, 10, 30))
    return Case(**{**case.as_json(), "ert": ert})


def hierarchy(fans: list[tuple[int, int]], depth: int) -> Document:
    """Return a memory, levels of a depth [words] and units, with a fan-out (X, Y) below each but the units."""
    tree: Document = {"version": 0.3}
    node, x, y = tree, 1, 1
    for k, (columns, rows) in enumerate([(1, 1), *fans]):
        x, y = x * columns, y * rows
        name = "DRAM" if k == 0 else "mac" if k == len(fans) else f"buf{k}"
        attributes = {"datawidth": 8} if name == "mac" else {"word-bits": 8}
        attributes |= {"meshX": x, "meshY": y} | ({"depth": depth} if name.startswith("buf") else {})
        spread = f"[0..{columns * rows - 1}]" if columns * rows > 1 else ""
        kind = "SRAM" if name.startswith("buf") else name
        child: Document = {
            "name": f"at_{name}{spread}",
            "local": [{"name": name, "class": kind, "attributes": attributes}],
        }
        node["subtree"] = [child]
        node = child
    return {"architecture": tree}
