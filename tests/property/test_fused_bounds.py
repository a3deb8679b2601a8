"""No way to run a group takes less than its bound, whatever constraints fix, overlaps wait and layers hold.

Each layer of a way is settled, and each group that may lie inside it; what they take is compared with every bound.
"""

import itertools
import math
import os
import random

import pytest

from jouleloop.arch.architecture import Architecture, ComputeLevel, StorageLevel
from jouleloop.energy.costs import EnergyCosts, LevelEnergy
from jouleloop.engines.protocol import Target
from jouleloop.fusion.chain import Chain, chain_of
from jouleloop.fusion.hardware import Fusion
from jouleloop.fusion.plan import Group
from jouleloop.fusion.search import ChainSearch
from jouleloop.fusion.ways import Bounds
from jouleloop.mapspace.constraints import Constraints, LevelConstraints, LoopConstraint
from jouleloop.workload.sizes import parse_layer
from shares import slow_after

EXAMPLES = int(os.environ.get("JOULELOOP_EXAMPLES", "20"))


def draw(seed: int) -> tuple[Chain, Target]:
    """Return two or three products, some with fixed factors, or two convolutions with a window, and levels."""
    rng = random.Random(seed)
    sizes = [rng.choice((2, 4)) for _ in range(rng.choice((3, 4)))]
    fixed: dict[str, int] = {}
    if seed % 2:
        rows, (first, middle, last, *_) = rng.choice((4, 6)), sizes
        # A stride that leaves gaps in what is read from outside.
        stride = "/stride2" if seed % 4 == 3 else ""
        texts = [f"conv:C{first}xM{middle}xP{rows}xQ1xR1xS1{stride}", f"conv:C{middle}xM{last}xP{rows}xQ1xR3xS1"]
    else:
        tokens = rng.choice((2, 4))
        fixed = dict.fromkeys(rng.sample("MNK", 2), rng.choice((2, 4))) if seed % 4 else {}
        texts = [f"matmul:M{m}xN{tokens}xK{k}" for k, m in itertools.pairwise(sizes)]
    capacities = {"DRAM": None, "Outer": 200, "Buffer": rng.randint(20, 100), "Registers": rng.randint(3, 12)}
    if seed % 10 < 7:
        del capacities["Outer"]
    blocks = (1, rng.choice((1, 2, 3, 4)))
    levels = tuple(
        StorageLevel(name, name, "SRAM", words, 8, block_words=rng.choice(blocks)) for name, words in capacities.items()
    )
    energies = tuple(LevelEnergy(name, rng.randint(0, 30), rng.randint(0, 30), "drawn") for name in capacities)
    spaces = [space.name for space in parse_layer(texts[0]).problem().data_spaces]
    keep = frozenset(rng.sample(spaces, rng.choice((0, 1, 3))))
    limits = {"Buffer": LevelConstraints(temporal=LoopConstraint(factors=fixed), keep=keep)}
    if "Outer" in capacities:
        limits["Outer"] = LevelConstraints(keep=frozenset(rng.sample(spaces, rng.choice((0, 1)))))
    arch = Architecture("drawn", levels, ComputeLevel("mac", "mac", "intmac", 8, 1))
    target = Target(arch, EnergyCosts("drawn", energies, 0.5, "drawn"), Constraints("drawn", limits))
    return chain_of("drawn", [parse_layer(text) for text in texts]), target


@pytest.mark.parametrize("seed", slow_after(EXAMPLES // 2, range(EXAMPLES)))
def test_no_way_is_below_its_bound(seed: int) -> None:
    chain, target = draw(seed)
    count = len(chain.problems)
    search = ChainSearch(chain, (Fusion.at(target, "Buffer"),) * count, recompute=seed % 4 == 1)
    compare(search, Group(chain, 0, count - 1), None, random.Random(seed))


def compare(search: ChainSearch, group: Group, room: int | None, rng: random.Random) -> None:
    """Compare bounds of some ways to run a group, and of groups inside them, with what they take."""
    ways = [way for nests in {False, group.nests} for way in search.ways(group, room=room, nests=nests)]
    for way in rng.sample(ways, min(len(ways), 6 if group.outer else 90)):
        bounds = way.bounds_pj if way.nests else search.bounds.tightened(group, way).bounds_pj
        for place, bound_pj in enumerate(bounds):
            layer, least_pj = search._layer(group, way, place)
            assert bound_pj <= (least_pj if layer is None else layer.energy_pj) * (1 + 1e-12)
        ends = range(group.size if way.nests else 0)
        for first, last in itertools.combinations_with_replacement(ends, 2):
            if last - first == group.size - 1:
                continue
            inside, left = search._child(group, way, first, last)
            if left >= 0:
                run, least_pj = search.fused(inside, math.inf, left)
                assert run is None or run.energy_pj == least_pj
                assert sum(way.bounds_pj[first : last + 1]) <= least_pj * (1 + 1e-12)
                compare(search, inside, left, rng)


def test_iterations_that_go_on_may_have_another_mapping_than_those_that_begin() -> None:
    """No mapping of the layer is as cheap as the best of both: a bound by the whole layer is above them."""
    made = (("DRAM", None, 8, 4), ("Buffer", 40, 10, 8), ("Registers", 4, 7, 3))
    levels = tuple(StorageLevel(name, name, "SRAM", words, 8) for name, words, *_ in made)
    energies = tuple(LevelEnergy(name, read, write, "made") for name, _, read, write in made)
    arch = Architecture("made", levels, ComputeLevel("mac", "mac", "intmac", 8, 4))
    keep = Constraints("made", {"Buffer": LevelConstraints(keep=frozenset("ABZ"))})
    target = Target(arch, EnergyCosts("made", energies, 0.0, "made"), keep)
    chain = chain_of("made", [parse_layer("matmul:M8xN2xK2"), parse_layer("matmul:M4xN2xK8")])
    search = ChainSearch(chain, (Fusion.at(target, "Buffer"),) * 2)
    [way] = [
        way
        for way in search.ways(Group(chain, 0, 1))
        if [(loop.factor, loop.dimensions) for loop in way.prefix] == [(2, ("M", "K"))] and way.held == (set(), {"Z"})
    ]
    layer, _ = search._layer(Group(chain, 0, 1), way, 1)
    assert layer is not None
    begun, resumed = layer.runs
    assert begun.search.mapping != resumed.search.mapping
    halves_pj, whole_pj = (search.bounds.inside_pj(1, one) for one in (way.parts[1].problem, chain.problems[1]))
    assert way.bounds_pj[1] <= layer.energy_pj < way.bounds_pj[1] - 2 * halves_pj + whole_pj


def test_parts_that_ignore_a_factor_of_their_layer_may_take_less_than_it(monkeypatch: pytest.MonkeyPatch) -> None:
    names, words = ("DRAM", "Buffer", "Registers"), (None, 64, 20)
    levels = tuple(StorageLevel(n, n, "SRAM", w, 8) for n, w in zip(names, words, strict=True))
    energies = tuple(LevelEnergy(name, pj, pj, "made") for name, pj in zip(names, (1, 10, 0), strict=True))
    fixed = LevelConstraints(temporal=LoopConstraint(factors={"N": 4, "K": 4}), keep=frozenset("ABZ"))
    arch = Architecture("made", levels, ComputeLevel("mac", "mac", "intmac", 8, 1))
    target = Target(arch, EnergyCosts("made", energies, 0.0, "made"), Constraints("made", {"Buffer": fixed}))
    chain = chain_of("made", [parse_layer("matmul:M4xN4xK8"), parse_layer("matmul:M4xN4xK4")])

    def least_pj() -> float:
        found = ChainSearch(chain, (Fusion.at(target, "Buffer"),) * 2).run()
        assert found.optimal
        return found.energy_pj

    bounded = least_pj()
    monkeypatch.setattr(Bounds, "inside_pj", lambda *_: 0.0)
    assert bounded == least_pj()
