"""True certificates of random fused chains, and what a cheat would change in them to claim a dearer way or less."""

import itertools
import json
import math
import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, NamedTuple

from jouleloop.arch.architecture import Architecture, ComputeLevel, StorageLevel
from jouleloop.energy.costs import EnergyCosts, LevelEnergy
from jouleloop.engines.protocol import Target
from jouleloop.fusion.certificate import certify_chain, claimed_group
from jouleloop.fusion.chain import Chain, chain_of
from jouleloop.fusion.hardware import Fusion
from jouleloop.fusion.plan import Group
from jouleloop.fusion.search import ChainSearch
from jouleloop.mapspace.constraints import Constraints, LevelConstraints, LoopConstraint
from jouleloop.proof.fused import ChainVerifier
from jouleloop.proof.verify import Verifier
from jouleloop.proof.ways import Run, leaf_of, runs_of, scopes_of, way_of
from jouleloop.workload.layer import Layer
from jouleloop.workload.sizes import parse_layer

Data = dict[str, Any]


class Certified(NamedTuple):
    """A search of a chain, its certificate, and the groups and energy of a way to run it that is dearer."""

    search: ChainSearch
    data: Data
    rival: tuple[list[Data], float] | None


def draw(seed: int) -> tuple[Chain, Target]:
    """Return two or three products, some of several heads, and three levels with some fixed factors."""
    rng = random.Random(f"chain/{seed}")
    sizes = [rng.choice((1, 2, 4, 4, 6, 8)) for _ in range(rng.choice((3, 3, 3, 4)))]
    tokens, heads = rng.choice((2, 4, 6)), rng.choice(("", "", "/batch2"))
    layers = [parse_layer(f"matmul:M{m}xN{tokens}xK{k}{heads}") for k, m in itertools.pairwise(sizes)]
    capacities = (None, rng.randint(8, 90), rng.choice((None, rng.randint(3, 12))))
    names = ("DRAM", "Buffer", "Registers")
    blocks = rng.choice((1, 1, 2, 4)), rng.choice((1, 1, 2)), 1
    levels = tuple(
        StorageLevel(n, n, "SRAM", c, 8, block_words=block)
        for n, c, block in zip(names, capacities, blocks, strict=True)
    )
    energies = tuple(LevelEnergy(n, rng.randint(0, 60), rng.randint(0, 60), "drawn") for n in names)
    fixed = dict.fromkeys(rng.sample("MNK", 2), rng.choice((1, 2, 4))) if rng.random() < 0.4 else {}
    bypass = frozenset(rng.sample("AB", 1)) if rng.random() < 0.2 else frozenset[str]()
    limits = {
        "Buffer": LevelConstraints(temporal=LoopConstraint(factors=fixed), bypass=bypass),
        "Registers": LevelConstraints(temporal=LoopConstraint(permutation=tuple(rng.sample("MNK", 2)))),
    }
    arch = Architecture("drawn", levels, ComputeLevel("mac", "mac", "intmac", 8, rng.choice((1, 1, 2, 4))))
    costs = EnergyCosts("drawn", energies, rng.choice((0.0, 0.5)), "drawn")
    return chain_of("drawn", layers), Target(arch, costs, Constraints("drawn", limits))


def searched(seed: int) -> ChainSearch:
    """Return the search of a random chain, not yet run."""
    return _search(*draw(seed), "Buffer")


def searched_inside(seed: int) -> ChainSearch:
    """Return the same of a chain that shares words at the level inside the default one."""
    chain, target = draw(seed)
    sized = (replace(one, capacity_words=one.capacity_words or 9) for one in target.arch.levels[1:])
    arch = replace(target.arch, levels=(target.arch.levels[0], *sized))
    return _search(chain, replace(target, arch=arch), "Registers")


def searched_long(seed: int) -> ChainSearch:
    """Return the same of four or five layers."""
    rng, (_, target) = random.Random(f"long/{seed}"), draw(seed)
    sizes = [rng.choice((2, 3, 4, 4)) for _ in range(rng.choice((5, 6)))]
    layers = [parse_layer(f"matmul:M{m}xN4xK{k}") for k, m in itertools.pairwise(sizes)]
    return _search(chain_of("drawn", layers), target, "Buffer")


def searched_windows(seed: int) -> ChainSearch:
    """Return the same of two or three convolutions, whose windows overlap, leave gaps and reach into the padding."""
    rng, (_, target) = random.Random(f"windows/{seed}"), draw(seed)
    rows, channels, layers = rng.choice((2, 4)), rng.choice((1, 2)), list[Layer]()
    for place in reversed(range(rng.choice((2, 2, 3)))):
        window, stride = rng.choice((1, 2, 3)), rng.choice((1, 1, 2))
        read, inputs = stride * (rows - 1) + window, rng.choice((1, 2))
        text = f"conv:C{inputs}xM{channels}xP{rows}xQ1xR{window}xS1" + (f"/stride{stride}" if stride > 1 else "")
        layers.insert(0, parse_layer(text))
        # The layer before writes fewer rows where there is padding.
        rows, channels = max(1, read - rng.randint(0, window - 1)) if place else rows, inputs
    levels = {name: replace(one, temporal=LoopConstraint()) for name, one in target.constraints.levels.items()}
    free = {name: replace(one, bypass=frozenset()) for name, one in levels.items()}
    # Parts of unequal sizes differ where operations cost most.
    costs = replace(target.costs, compute_pj=rng.choice((target.costs.compute_pj, 1000.0)))
    target = replace(target, costs=costs, constraints=Constraints("drawn", free))
    return _search(chain_of("drawn", layers), target, "Buffer")


def searched_square(seed: int) -> ChainSearch:
    """Return the same of two convolutions of square outputs, whose pixels and taps are mostly unrolled nowhere."""
    rng, (_, target) = random.Random(f"square/{seed}"), draw(seed)
    pixels, window = rng.choice((3, 4, 6)), rng.choice((1, 3))
    texts = f"conv:C2xM4xP{pixels}xQ{pixels}xR1xS1", f"conv:C4xM2xP{pixels}xQ{pixels}xR{window}xS{window}"
    *outer, registers = target.arch.levels
    instances = rng.choice((1, 2, 4))
    levels = (*outer, replace(registers, mesh_x=instances))
    compute = ComputeLevel("mac", "mac", "intmac", 8, instances * rng.choice((1, 1, 1, 2)))
    arch = replace(target.arch, levels=levels, compute=compute)
    apart = rng.sample("PQRS", rng.choice((4, 4, 4, 2)))
    fixed = {rng.choice("PQCM"): rng.choice((1, 2))} if rng.random() < 0.4 else {}
    kept = frozenset(rng.sample(("Inputs", "Outputs"), rng.choice((0, 1))))
    limits = {
        "Buffer": LevelConstraints(spatial=LoopConstraint(factors=dict.fromkeys(apart, 1)), keep=kept),
        "Registers": LevelConstraints(temporal=LoopConstraint(factors=fixed)),
    }
    target = replace(target, arch=arch, constraints=Constraints("drawn", limits))
    return _search(chain_of("drawn", list(map(parse_layer, texts))), target, "Buffer")


def _search(chain: Chain, target: Target, level: str) -> ChainSearch:
    return ChainSearch(chain, (Fusion.at(target, level),) * len(chain.problems))


def groups_in(data: Data) -> Iterator[Data]:
    """Yield all groups of a certificate, those inside others, too."""
    for group in data["groups"] if "groups" in data else data["parts"]:
        if "parts" in group:
            yield group
            yield from groups_in(group)


def true_certificate(search: ChainSearch) -> Certified | None:
    """Return a certificate of a chain, None where it has no mapping."""
    result = search.run()
    if not result.ok:
        return None
    data = json.loads(json.dumps(certify_chain(search, result)))
    return Certified(search, data, _rival(search, result.energy_pj, len(result.groups)))


def _rival(search: ChainSearch, least_pj: float, groups: int) -> tuple[list[Data], float] | None:
    """Return a way to run the chain that costs more: all layers apart, or all in one group."""
    count = len(search.chain.problems)
    if groups < count:
        apart = [run for k in range(count) if (run := search.alone(k)) is not None]
        energy_pj = sum(run.energy_pj for run in apart)
        if energy_pj > least_pj * (1 + 1e-6):
            return [claimed_group(run) for run in apart], energy_pj
    group = Group(search.chain, 0, count - 1)
    runs = (search._settled(group, way, math.inf)[0] for way in itertools.islice(search.ways(group), 40))
    dearer = (run for run in runs if run is not None and run.energy_pj > least_pj * (1 + 1e-6))
    # Of some the cheapest: a bound that says too much shows there first.
    run = min(itertools.islice(dearer, 4), key=lambda run: run.energy_pj, default=None)
    return None if run is None else ([claimed_group(run)], run.energy_pj)


def names_in(data: Data) -> list[str]:
    """Return the data spaces of a layer: all have the same."""
    return [space["name"] for space in data["layers"][0]["problem"]["data_spaces"]]


# All attacks but those that lower a claim begin with a dearer way, claimed as the optimum.


def cheaper_claim(data: Data, rng: random.Random) -> bool:
    factor = 1 - 10 ** rng.uniform(-6, 0)
    data["value"] *= factor
    data["prices"] = [price * factor for price in data["prices"]]
    data["prices"][-1] = data["value"]
    return bool(data["value"])


def lower_price(data: Data, rng: random.Random) -> bool:
    """Let the prices end below the value."""
    data["prices"] = [price * rng.uniform(0, 0.999) for price in data["prices"]]
    return bool(data["value"])


def first_price(data: Data, _rng: random.Random) -> bool:
    """Let the prices begin at the value, so that no group has to cost anything."""
    data["prices"] = [data["value"]] * len(data["prices"])
    return bool(data["value"])


def other_tables(data: Data, rng: random.Random) -> bool:
    """State other energies than those of the claim."""
    level = data["architecture"]["levels"][0]
    if not level["read_pj"] or not data["value"]:
        return False
    level["read_pj"] *= rng.choice((0.0, 0.5, 1.001, 3.0))
    return True


def other_layer(data: Data, rng: random.Random) -> bool:
    bounds = rng.choice(data["layers"])["problem"]["bounds"]
    bounds[rng.randrange(len(bounds))] *= 2
    return True


def dropped_axis(data: Data, rng: random.Random) -> bool:
    links = [link for link in data["links"] if link["axes"]]
    if links:
        axes = rng.choice(links)["axes"]
        axes.pop(rng.randrange(len(axes)))
    return bool(links)


def other_axis(data: Data, rng: random.Random) -> bool:
    """Say that a tensor is cut along the window that slides, not along what it slides over."""
    layers = [layer["problem"]["data_spaces"] for layer in data["layers"][1:]]
    ranks = [[rank for space in spaces if not space["read_write"] for rank in space["ranks"]] for spaces in layers]
    found = [
        (axis, d)
        for own, link in zip(ranks, data["links"], strict=True)
        for axis in link["axes"]
        for rank in own
        for d in rank
        if axis[1] in rank and d != axis[1]
    ]
    if found:
        axis, axis_of_window = rng.choice(found)
        axis[1] = axis_of_window
    return bool(found)


def other_input(data: Data, rng: random.Random) -> bool:
    """Say that another data space is what the layers share."""
    link = rng.choice(data["links"])
    side = rng.choice(("output", "input"))
    link[side] = rng.choice([name for name in names_in(data) if name != link[side]])
    return True


def dropped_link(data: Data, _rng: random.Random) -> bool:
    data["links"].pop()
    return True


def dropped_group(data: Data, rng: random.Random) -> bool:
    data["groups"].pop(rng.randrange(len(data["groups"])))
    return True


def dropped_layer(data: Data, _rng: random.Random) -> bool:
    """Leave out the last layer, and what is claimed of it, but not its price."""
    data["layers"].pop()
    data["groups"][-1]["layers"] -= 1
    return True


def dropped_mapping(data: Data, rng: random.Random) -> bool:
    leaves = [part for group in groups_in(data) for part in group["parts"] if "mappings" in part]
    rng.choice(leaves)["mappings"].pop()
    return True


def more_held(data: Data, rng: random.Random) -> bool:
    """Say that a layer holds what it does not."""
    held = rng.choice(list(groups_in(data)))["held"]
    k = rng.randrange(len(held))
    held[k] = [name for name in names_in(data) if name not in held[k]]
    return True


def dropped_inside(data: Data, rng: random.Random) -> bool:
    """Say that layers of a group inside another run in the group around it, or are a group without loops."""
    inside = [(group, k) for group in groups_in(data) for k, part in enumerate(group["parts"]) if "parts" in part]
    if inside:
        group, k = rng.choice(inside)
        if rng.random() < 0.5:
            group["parts"][k : k + 1] = group["parts"][k]["parts"]
        else:
            group["parts"][k]["loops"] = []
    return bool(inside)


def group_around(data: Data, rng: random.Random) -> bool:
    """Put a group of the same layers into a group, or a layer into one of its own."""
    group = rng.choice(list(groups_in(data)))
    if rng.random() < 0.5:
        group["parts"] = [group | {"parts": group["parts"]}]
    else:
        k = next(k for k, part in enumerate(group["parts"]) if "mappings" in part or k == len(group["parts"]) - 1)
        covered = group["parts"][k].get("layers", 1)
        around = {"layers": covered, "loops": [], "held": [[]] * covered}
        group["parts"][k] = around | {"parts": [group["parts"][k]]}
    return True


def other_loops(data: Data, rng: random.Random) -> bool:
    loops = [loop for group in groups_in(data) for loop in group["loops"]]
    if loops:
        rng.choice(loops)["factor"] += rng.choice((1, 2, 6, 2**40))
    return bool(loops)


def unsealed(data: Data, _rng: random.Random) -> bool:
    data["digest"] = data["digest"][::-1]
    return True


def dropped_statements(data: Data, rng: random.Random) -> bool:
    rng.shuffle(data["statements"])
    data["statements"] = data["statements"][: rng.randrange(1 + len(data["statements"]))]
    return True


def raised_floors(data: Data, rng: random.Random) -> bool:
    for one in data["statements"]:
        one["value"] *= 1 + 10 ** rng.uniform(-3, 2)
    return True


def borrowed_floors(data: Data, rng: random.Random) -> bool:
    """State of the parts of a rival what was stated of other parts, as if they were as large."""
    tasks = [(k, layer["problem"]["bounds"]) for k, layer in enumerate(data["layers"])]
    for one in list(data["statements"]):
        k, bounds = rng.choice(tasks)
        sizes = [rng.choice([n for n in range(1, size + 1) if size % n == 0]) for size in bounds]
        data["statements"].append(
            one | {"layer": k, "bounds": sizes, "value": data["value"], "resumes": rng.random() < 0.5}
        )
    return bool(data["statements"])


def widened_capacity(data: Data, rng: random.Random) -> bool:
    """State of all room, or of any, what holds where there is no room for a mapping."""
    for one in data["statements"]:
        one["value"], one["capacity_words"] = data["value"] * 2, rng.choice((0, 1, one["capacity_words"], 2**40))
    return bool(data["statements"])


def unlike_whole(data: Data, rng: random.Random) -> bool:
    """State floors of other data that the level keeps whole."""
    for one in data["statements"]:
        one["whole"] = rng.sample(names_in(data), rng.randrange(4))
        one["value"] *= rng.choice((1, 2))
    return True


def bounded_parts(data: Data, rng: random.Random) -> bool:
    """Say that bounds rule out what was followed, and raise the floors."""
    for one in data["statements"]:
        one["parts"], one["value"] = [], one["value"] * (1 + 10 ** rng.uniform(-6, 1))
    return True


def no_prices(data: Data, _rng: random.Random) -> bool:
    """Let all prices but the last be those of nothing."""
    data["prices"] = [0.0] * len(data["layers"]) + [data["value"]]
    return True


def less_room(data: Data, _rng: random.Random) -> bool:
    """Say that the level has no room for what a better way holds, but more than a design may state."""
    data["architecture"]["levels"][1]["capacity_words"] = None
    return True


def floor_above(data: Data, rng: random.Random) -> bool:
    """State of what a claimed mapping runs a little more than it costs, by bounds alone."""
    chain, first, found = ChainVerifier(data).chain, 0, list[tuple[int, Run, Any]]()
    scopes = {(scope.first, len(scope.sizes)): scope for scope in scopes_of(chain)}
    for group in data["groups"]:
        loops = tuple((loop["factor"], tuple(loop["dimensions"])) for loop in group["loops"])
        way = way_of(chain, scopes[first, group["layers"]], loops, tuple(map(frozenset, group["held"])))
        first += group["layers"]
        for place, part in enumerate(group["parts"]):
            if way and len(way.parts) == len(group["parts"]) and (leaf := leaf_of(chain, way, place)):
                runs = zip(runs_of(chain, leaf.part), part.get("mappings", ()), strict=False)
                found += [(leaf.room, run, mapping) for run, mapping in runs]
    if not found:
        return False
    room, (task, *_), mapping = rng.choice(found)
    about = chain.about(task, room) | {"value": 0.0, "mapping": mapping, "parts": []}
    cost_pj = float(Verifier(about, lambda *_: None).worth())
    stated = {"layer": task.layer, "bounds": list(task.sizes), "whole": sorted(task.whole), "resumes": task.resumes}
    stated |= {"capacity_words": room, "value": cost_pj * (1 + 10 ** rng.uniform(-9, 0)), "parts": []}
    data["statements"].append(stated)
    return bool(cost_pj)


OF_TRUE: tuple[Callable[[Data, random.Random], bool], ...] = (
    cheaper_claim, lower_price, first_price, other_tables, other_layer, dropped_axis, other_input, dropped_link,
    dropped_group, dropped_layer, dropped_mapping, more_held, dropped_inside, group_around, other_loops, unsealed,
    floor_above,
)  # fmt: skip
OF_RIVALS: tuple[Callable[[Data, random.Random], bool], ...] = (
    dropped_statements, raised_floors, borrowed_floors, widened_capacity, unlike_whole, bounded_parts, no_prices,
    less_room, dropped_axis, first_price, lower_price, unsealed,
)  # fmt: skip


def claim_rival(data: Data, rival: tuple[list[Data], float], rng: random.Random) -> None:
    """Claim a dearer way, with prices that go with it, and sometimes floors."""
    data["groups"], value = json.loads(json.dumps(rival[0])), rival[1]
    factor = value / data["value"] if data["value"] else 1.0
    data["prices"] = [price * factor for price in data["prices"]]
    data["value"] = data["prices"][-1] = value
    if rng.random() < 0.5:
        for one in data["statements"]:
            one["value"] *= factor
