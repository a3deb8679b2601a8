"""Designs of one unrolling where neighbours hand words on: windows next to a fan-out, and little that costs anything.

What is unrolled is drawn first. Both dimensions of a window loop outside, mostly of a tile so small that their loops
may cancel. Levels between keep inputs or pass them on; some keep nothing.
"""

import math
import random
from typing import Any

from differential.case import SEMANTICS, Case, components, fanouts
from differential.keywords import WIRES, stores
from differential.problems import space
from differential.strided import hierarchy

Document = dict[str, Any]

#: Terms of the inputs, and the steps of a window.
_WINDOWS = (*[("P*a+R*b",)] * 6, ("P*a+R*b+S*c",), ("P*a+R*b", "Q*c+S*d"))
_STEPS = (*[(1, 1)] * 5, (1, 2), (2, 1), (2, 2), (3, 1), (2, 3))
#: Dimensions unrolled at the fan-out below a level. M leaves inputs in place.
_UNROLLED = ("M", "M", "P", "R", "PR", "PR", "PM", "RM", "MPR", "C")


def draw_linked(
    seed: int,
    semantics: tuple[str, ...] = (SEMANTICS[0], *SEMANTICS),
    unrolled: tuple[str, ...] = _UNROLLED,
    sizes_unrolled: tuple[int, ...] = (2, 2, 3),
) -> Case:
    """Return the case of a seed: two to four levels, one or two fan-outs, their factors fixed.

    Parameters
    ----------
    unrolled, sizes_unrolled
        What is drawn from for the dimensions of a fan-out, and for the factor of each.
    """
    rng = random.Random(f"linked/{seed}")
    windows = rng.choice(_WINDOWS)
    levels = rng.choices((2, 3, 4), (4, 6, 1))[0]
    sliding = sorted({d for d in "".join(windows) if d.isupper()})
    choices = (*unrolled, *["PRS"] * (4 if len(sliding) == 3 else 0))
    fanned = {level: rng.choice(choices) for level in rng.sample(range(2), rng.choice((1, 2)))}
    slides = rng.random() < 0.4
    others = {d for own in fanned.values() for d in own} | ({"M"} if slides else set())
    dims = [*sliding, *sorted(others - set(sliding))]
    factors = [{d: rng.choice(sizes_unrolled) if d in fanned.get(k, "") else 1 for d in dims} for k in range(levels)]
    rests = {d: rng.choice((2, 2, 2, 3, 4)) if d in sliding[:3] else rng.choice((1, 1, 2)) for d in dims}
    rests |= {"P": rng.choice((4, 4, 6)), "M": 2} if slides else {}
    sizes = {d: rests[d] * math.prod(row[d] for row in factors) for d in dims}
    names = [name for name in "abcd" if name in "".join(windows)]
    steps = dict(zip(names, rng.choice(_STEPS) + rng.choice(_STEPS), strict=False))
    taps, places = [d for d in sliding if d in "RS"], [d for d in sliding if d in "PQ"]
    channels, out = [d for d in dims if d == "C"], [d for d in dims if d == "M"]
    spaces = [
        space("Inputs", *windows, *channels),
        space("Weights", *taps, *channels, *out),
        space("Outputs", *places, *out, write=True),
    ]
    shape = {"name": "linked", "dimensions": dims, "coefficients": [{"name": c, "default": 1} for c in steps]}
    problem = {"problem": {"shape": {**shape, "data-spaces": spaces}, "instance": {**sizes, **steps}}}
    arch = hierarchy([_mesh(rng, row) for row in factors], depth=1000)
    if rng.random() < 0.15:
        _wire(rng, arch)
    case = Case(f"linked-{seed}", arch, problem, {}, {}, "energy", rng.choice(semantics))
    held = {"R": rests["R"], "P": 1} if slides else {}
    constraints = {"architecture_constraints": {"targets": _limits(rng, case, factors, held)}}
    return Case(**{**case.as_json(), "constraints": constraints, "ert": _energies(rng, components(case))})


def _mesh(rng: random.Random, factors: dict[str, int]) -> tuple[int, int]:
    """Return a mesh that holds some factors: one row, one column, an axis a factor, or a column too many."""
    unrolled = [factor for factor in factors.values() if factor > 1]
    number = math.prod(unrolled)
    if len(unrolled) == 2 and rng.random() < 0.5:
        return unrolled[0], unrolled[1]
    return rng.choice(((number, 1), (number, 1), (1, number), (number + (number > 1), 1)))


def _wire(rng: random.Random, arch: Document) -> None:
    for item in list(stores(arch))[1:]:
        for key, values in WIRES.items():
            if rng.random() < 0.4:
                item["attributes"][key] = rng.choice(values)


def _limits(rng: random.Random, case: Case, factors: list[dict[str, int]], held: dict[str, int]) -> list[Document]:
    """Return constraints: what is unrolled, what is kept, and levels without loops.

    ``held``: loops of the innermost level, which a window slides over.
    """
    found: list[Document] = []
    spaces = ("Inputs", "Weights", "Outputs")
    open_level = rng.randrange(1, 2 * len(factors))
    for k, ((name, x, y), row) in enumerate(zip(fanouts(case), factors, strict=True)):
        if x * y > 1:
            found.append({"target": name, "type": "spatial", "factors": " ".join(f"{d}={f}" for d, f in row.items())})
        if not k:
            continue
        nothing = rng.random() < (0.4 if k + 1 < len(factors) else 0.1)
        keep = [v for v, share in zip(spaces, (0.8, 0.2, 0.3), strict=True) if not nothing and rng.random() < share]
        bypass = [v for v in spaces if v not in keep]
        if k == open_level:
            # The search has something to choose.
            rng.choice([own for own in (keep, bypass) if own]).pop()
        found.append({"target": name, "type": "bypass", "keep": keep, "bypass": bypass})
        loops = dict.fromkeys(row, 1) if nothing or rng.random() < (0.2 if held else 0.7) else {}
        if held and k + 1 == len(factors):
            loops |= held
        if loops:
            found.append(
                {"target": name, "type": "temporal", "factors": " ".join(f"{d}={f}" for d, f in loops.items())}
            )
    return found


def _energies(rng: random.Random, parts: list[Document]) -> Document:
    """Return energies: at all levels or at one, what is read or what is filled in."""
    tables = []
    alone = rng.choice((None, None, rng.randrange(len(parts) - 1)))
    for index, part in enumerate(parts):
        read, write = rng.choice(((1, 0), (0, 1), (1, 1))) if alone in (None, index) else (0, 0)
        actions = {"read": read, "write": write, "update": write}
        if index == len(parts) - 1:
            actions = {"compute": 0.001}
        spread = f"[0..{part['instances'] - 1}]" if part["instances"] > 1 else ""
        entries = [{"name": action, "arguments": None, "energy": pj} for action, pj in actions.items()]
        tables.append({"name": f"system.{part['name']}{spread}", "actions": entries})
    return {"ERT": {"version": 0.3, "tables": tables}}
