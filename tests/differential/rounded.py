"""Cases for Timeloop 4 whose constraints' factors do not divide the layer, and every mapping of small ones."""

import itertools
import json
import random
import re
from collections.abc import Iterator
from typing import Any

from differential.case import SEMANTICS, Case, targets
from differential.keywords import draw_passing
from differential.later import draw_later
from jouleloop.mapping.mapping import LevelMapping, Mapping
from jouleloop.mapspace.rounded import rounded_chains
from jouleloop.mapspace.space import MapSpace
from jouleloop.mapspace.spatial import arrangements_of


def draw_rounded(seed: int, limit: int = 800) -> Case:
    """Return a case in which some factors are drawn anew, whether they divide the layer or not.

    In every third, levels are told what not to reuse.
    """
    rng = random.Random(f"rounded/{seed}")
    case = draw_passing(seed, limit) if seed % 3 == 2 else draw_later(seed, limit)
    constraints = json.loads(json.dumps(case.constraints))
    sizes = {d: case.problem["problem"]["instance"][d] for d in case.problem["problem"]["shape"]["dimensions"]}
    loops = [one for one in targets(constraints) if one["type"] in ("temporal", "spatial")]
    for name, size in sizes.items():
        given = [one for one in loops if factor_of(one, name) is not None]
        if size < 3 or not given or rng.random() < 0.3:
            continue
        changed, *others = rng.sample(given, len(given))
        set_factor(changed, name, rng.randint(2, min(size - 1, 5)))
        for other in others[: rng.randint(1, 2)]:
            set_factor(other, name, None)
    objective = rng.choices(("energy", "delay", "edp"), (7, 1, 2))[0]
    renewed = {"name": f"rounded-{seed}", "constraints": constraints, "objective": objective}
    return Case(**{**case.as_json(), **renewed, "semantics": SEMANTICS[2]})


def factor_of(target: dict[str, Any], name: str) -> str | None:
    found = re.search(rf"\b{name} ?= ?(\d+)", str(target.get("factors", "")))
    return found[1] if found else None


def set_factor(target: dict[str, Any], name: str, factor: int | None) -> None:
    """Write a factor, or take it out."""
    text = "" if factor is None else f"{name}={factor}"
    target["factors"] = re.sub(rf"\b{name} ?= ?\d+", text, target["factors"]).strip()
    if not target["factors"]:
        del target["factors"]


def mappings(space: MapSpace) -> Iterator[Mapping]:
    """Yield every mapping of a space whose factors are rounded up: ends, orders, arrangements, what is kept."""
    dims, names = space.problem.shape.dimensions, [one.name for one in space.problem.data_spaces]
    slots = [
        (k, kind) for k in range(len(space.temporal)) for kind in ("in", "time") if kind == "time" or space.spatial[k]
    ]
    for chains in itertools.product(*rounded_chains(space)):
        nests = []
        for at, (k, kind) in enumerate(slots):
            factors = tuple(chain[at] for chain in chains)
            if kind == "in":
                slot = space.spatial[k]
                assert slot is not None
                nests.append(list(arrangements_of(slot, factors, space.arch.fanout[::-1][k])))
            else:
                rank = space.temporal[k].rank
                loops = [(d, end) for d, end in enumerate(factors) if end > 1]
                nests.append(
                    [
                        n
                        for n in itertools.permutations(loops)
                        if all(rank[a] >= rank[b] for (a, _), (b, _) in itertools.pairwise(n))
                    ]
                )
        products = [(name, space.problem.bound[name], chain) for name, chain in zip(dims, chains, strict=True)]
        early = tuple(sorted((name, bound) for name, bound, chain in products if _product(chain) != bound))
        for nest in itertools.product(*nests):
            chosen = dict(zip(slots, nest, strict=True))
            for keep in space.keeps:
                yield Mapping(
                    tuple(
                        LevelMapping(
                            name,
                            tuple((dims[d], end) for d, end in chosen[k, "time"]),
                            tuple((dims[d], end, "XY"[axis]) for d, end, axis in chosen.get((k, "in"), ())),
                            frozenset(s for v, s in enumerate(names) if keep[k, v]),
                            space.reuse[k],
                        )
                        for k, name in reversed(list(enumerate(reversed(space.arch.level_names))))
                    ),
                    early,
                )


def _product(chain: tuple[int, ...]) -> int:
    product = 1
    for end in chain:
        product *= end
    return product
