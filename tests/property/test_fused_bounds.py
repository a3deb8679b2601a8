"""No way to run a group takes less than its bound, whatever constraints fix, overlaps wait and layers hold."""

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

EXAMPLES = int(os.environ.get("JOULELOOP_EXAMPLES", "20"))


def draw(seed: int) -> tuple[Chain, Target]:
    """Return two products with fixed factors, or two convolutions with a window, and three levels."""
    rng = random.Random(seed)
    first, middle, last = (rng.choice((2, 4)) for _ in range(3))
    fixed: dict[str, int] = {}
    if seed % 2:
        rows = rng.choice((4, 6))
        texts = [f"conv:C{first}xM{middle}xP{rows}xQ1xR1xS1", f"conv:C{middle}xM{last}xP{rows}xQ1xR3xS1"]
    else:
        tokens, fixed = rng.choice((2, 4)), dict.fromkeys(rng.sample("MNK", 2), rng.choice((2, 4)))
        texts = [f"matmul:M{middle}xN{tokens}xK{first}", f"matmul:M{last}xN{tokens}xK{middle}"]
    block = rng.choice((1, 1, 4))
    capacities = (None, rng.randint(20, 100), rng.randint(3, 12))
    names = ("DRAM", "Buffer", "Registers")
    levels = tuple(StorageLevel(n, n, "SRAM", c, 8, block_words=block) for n, c in zip(names, capacities, strict=True))
    energies = tuple(LevelEnergy(name, rng.randint(0, 30), rng.randint(0, 30), "drawn") for name in names)
    keep = frozenset(space.name for space in parse_layer(texts[0]).problem().data_spaces)
    buffer = LevelConstraints(temporal=LoopConstraint(factors=fixed), keep=keep)
    arch = Architecture("drawn", levels, ComputeLevel("mac", "mac", "intmac", 8, 1))
    target = Target(arch, EnergyCosts("drawn", energies, 0.5, "drawn"), Constraints("drawn", {"Buffer": buffer}))
    return chain_of("drawn", [parse_layer(text) for text in texts]), target


@pytest.mark.parametrize("seed", range(EXAMPLES))
def test_no_way_is_below_its_bound(seed: int) -> None:
    chain, target = draw(seed)
    group = Group(chain, 0, 1)
    search = ChainSearch(chain, (Fusion.at(target, "Buffer"),) * 2, recompute=seed % 4 == 1)
    for way in search.ways(group):
        run, _ = search._settled(group, way, math.inf)
        if run is not None:
            assert max(way.bound_pj, search.bounds.tightened(group, way).bound_pj) <= run.energy_pj * (1 + 1e-12)


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
