"""Designs so small that every mapping of a subproblem is written down: windows, fan-outs, few energies, odd limits."""

import random
from typing import Any

from differential.case import Case, components, fanouts
from differential.hardware import draw_architecture, draw_energies
from differential.limits import draw_constraints
from differential.problems import space
from differential.shared import few_energies, make_room

Document = dict[str, Any]

_SIZES = {"P": (2, 3, 3, 4, 5, 7), "Q": (2, 3, 4, 5), "R": (2, 2, 3, 4), "S": (2, 3), "C": (2, 3, 5), "M": (2, 3, 4)}


def _window(rng: random.Random) -> tuple[str, list[Document]]:
    """One axis; steps and dilation larger than the window among them."""
    channels = rng.choice(("", "C", "M", "CM"))
    wide, out = ["C"] * ("C" in channels), ["M"] * ("M" in channels)
    spaces = [space("T", "P*a+R*b", *wide), space("W", "R", *wide, *out), space("Z", "P", *out, write=True)]
    return "PR" + channels, spaces


def _two_windows(rng: random.Random) -> tuple[str, list[Document]]:
    spaces = [space("T", "P*a+R*b", "Q*c+S*d"), space("W", "R", "S"), space("Z", "P", "Q", write=True)]
    return rng.choice(("PQRS", "PQR", "PRS")), spaces


def _grouped(_: random.Random) -> tuple[str, list[Document]]:
    return "CPR", [space("T", "C", "P*a+R*b"), space("W", "C", "R"), space("Z", "C", "P", write=True)]


def _product(rng: random.Random) -> tuple[str, list[Document]]:
    dims = rng.choice(("CM", "CMP", "CMP"))
    return dims, [space("T", "C", "P"), space("W", "C", "M"), space("Z", "M", "P", write=True)]


FAMILIES = {"window": _window, "windows": _two_windows, "grouped": _grouped, "product": _product}


def draw_tiny(
    seed: int,
    family: str,
    *,
    imperfect: bool = True,
    semantics: tuple[str, ...] = ("timeloop-3.0.3", "timeloop-3.0.3", "timeloop-2023-04"),
) -> Case:
    """Return the case of a seed: two to four levels, limits and fixed factors of a few loops, that may leave a rest."""
    rng = random.Random(f"tiny/{family}/{seed}")
    open_dims, spaces = FAMILIES[family](rng)
    terms = [term for one in spaces for rank in one["projection"] for term in rank]
    names = sorted({term[1] for term in terms if len(term) > 1})
    dims = sorted({term[0] for term in terms})
    sizes = {d: rng.choice(_SIZES[d]) if d in open_dims else 1 for d in dims}
    if not imperfect:
        sizes = {d: rng.choice((2, 2, 3, 4, 4, 6)) if size > 1 else 1 for d, size in sizes.items()}
    steps = {name: rng.choice((1, 1, 1, 2, 2, 3, 4, 5)) for name in names}
    shape = {
        "name": family,
        "dimensions": dims,
        "coefficients": [{"name": name, "default": 1} for name in names],
        "data-spaces": spaces,
    }
    problem = {"problem": {"shape": shape, "instance": sizes | steps}}
    while True:
        arch = draw_architecture(rng, rng.choice(("general", "arrays", "windows")))
        make_room(rng, arch)
        objective = rng.choices(("energy", "delay", "edp"), (8, 1, 1))[0]
        bare = Case(f"{family}-{seed}", arch, problem, {}, {}, objective, rng.choice(semantics))
        if len(components(bare)) > 2:
            break
    parts = components(bare)
    energies = few_energies(rng, parts) if rng.random() < 0.6 else draw_energies(rng, parts)
    bare = Case(**{**bare.as_json(), "ert": energies})
    return Case(**{**bare.as_json(), "constraints": _limits(rng, bare, imperfect=imperfect)})


def _limits(rng: random.Random, case: Case, *, imperfect: bool) -> Document:
    """Return constraints: none, those of other draws, or a few loops fixed or limited without regard to the sizes."""
    how = rng.random()
    if how < 0.3:
        return draw_constraints(rng, case)
    found: list[Document] = []
    dims = case.problem["problem"]["shape"]["dimensions"]
    for name, x, y in fanouts(case) if how < 0.8 else ():
        for kind in ("temporal", *(("spatial",) if x * y > 1 else ())):
            factors = [
                f"{d}{rng.choice(('<=', '<=', '>=', '=', '=') if imperfect else ('<=',))}{rng.choice((2, 2, 3))}"
                for d in dims
                if rng.random() < 0.25
            ]
            if rng.random() < 0.3:
                factors += [f"{d}=1" for d in dims if rng.random() < 0.3 and not any(f[0] == d for f in factors)]
            if factors:
                found.append({"target": name, "type": kind, "factors": " ".join(factors)})
    return {"architecture_constraints": {"targets": found}, "mapspace_constraints": {"targets": []}}
