"""Fused and unfused optima of AccelForge beside ours, where both count the same.

Numbers: Accelergy-Project/accelforge, `tests/regression_reference.json`, made by its mapper FFM (arXiv 2602.15166).
Words have 8 bits, which it counts. On its Eyeriss, Simba, TPU v4i and Snowcat main memory moves each tensor of these
workloads once. On `simple` the buffer costs as much as main memory, so that nothing is kept.

``fused/accelforge.csv`` has our mappings by its model, and what its mapper finds on the same designs;
``fused/accelforge_gpt3.csv`` the bits from and to main memory of one block of GPT-3, Einsum by Einsum.
"""

from collections.abc import Callable
from functools import cache
from itertools import pairwise
from typing import Any

import pandas as pd
import pytest

import jouleloop as jl
from jouleloop.arch.architecture import Architecture, ComputeLevel, StorageLevel
from jouleloop.energy.costs import EnergyCosts, LevelEnergy
from jouleloop.engines.protocol import Target
from jouleloop.fusion.chain import chain_of
from jouleloop.fusion.hardware import Fusion
from jouleloop.fusion.plan import Group
from jouleloop.fusion.result import ChainResult
from jouleloop.fusion.search import ChainSearch
from jouleloop.mapspace.constraints import Constraints
from jouleloop.workload.sizes import parse_layer
from paths import ROOT
from shares import slow_after

BITS = 8
SEEN = pd.read_csv(ROOT / "tests/reference/fused/accelforge.csv")
#: Products of square matrices: how many, and their size.
WORKLOADS = {"matmuls": (2, 64), "three_matmuls_annotated": (3, 128)}
#: Bits from and to main memory by workload, fused and unfused; equal on all designs named above (Snowcat: unfused).
MAIN_MEMORY_BITS = {"matmuls": (131072, 196608), "three_matmuls_annotated": (655360, 1179648)}
#: Energy on `simple`, the same fused and unfused.
SIMPLE_ENERGY = {"matmuls": 17235968, "three_matmuls_annotated": 207224832}


def unit_target(bits: int, buffer_words: int, buffer_pj: float, compute_pj: float) -> Target:
    """Return a design where a bit of main memory costs 1."""
    levels = (
        StorageLevel("DRAM", "DRAM", "DRAM", None, bits),
        StorageLevel("Buffer", "Buffer", "SRAM", buffer_words, bits),
    )
    energies = (LevelEnergy("DRAM", bits, bits, "unit"), LevelEnergy("Buffer", buffer_pj, buffer_pj, "unit"))
    arch = Architecture("unit", levels, ComputeLevel("mac", "mac", "intmac", bits, 1))
    return Target(arch, EnergyCosts("unit", energies, compute_pj, "unit"), Constraints("none"))


def fused(name: str, layers: list[str], target: Target) -> ChainResult:
    """Return the proven optimum of a chain."""
    chain = chain_of(name, [parse_layer(layer) for layer in layers])
    found = ChainSearch(chain, (Fusion.at(target, "Buffer"),) * len(layers)).run()
    assert found.optimal
    return found


def searched(workload: str, buffer_pj: float, compute_pj: float) -> ChainResult:
    """Return the optimum of a workload."""
    count, size = WORKLOADS[workload]
    return fused(workload, [f"matmul:M{size}xN{size}xK{size}"] * count, unit_target(BITS, 2**40, buffer_pj, compute_pj))


@pytest.mark.parametrize("workload", WORKLOADS)
def test_main_memory_moves_as_many_bits(workload: str) -> None:
    found = searched(workload, 0.0, 0.0)
    assert (found.outer_words * BITS, found.apart_outer_words * BITS) == MAIN_MEMORY_BITS[workload]
    assert (found.energy_pj, found.apart_pj) == MAIN_MEMORY_BITS[workload]


@pytest.mark.parametrize("workload", ["matmuls", pytest.param("three_matmuls_annotated", marks=pytest.mark.slow)])
def test_where_a_buffer_costs_as_much_nothing_is_kept(workload: str) -> None:
    found = searched(workload, BITS, 1.0)
    assert found.energy_pj == found.apart_pj == SIMPLE_ENERGY[workload]


@pytest.mark.parametrize(
    "row", slow_after(8, SEEN.to_dict("records")), ids=lambda row: f"{row['rows']}-{row['buffer_words']}"
)
def test_its_model_counts_our_mappings_alike_and_its_mapper_is_never_below(row: dict[str, Any]) -> None:
    sizes = list(map(int, str(row["rows"]).split("x")))
    arch = jl.Architecture.read("two_levels").with_({"Buffer.depth": row["buffer_words"]})
    found = jl.chain(arch, [f"matmul:M{m}xN{row['columns']}xK{k}" for k, m in pairwise(sizes)])
    assert found.optimal
    assert (found.outer_words, found.apart_outer_words) == (row["words"], row["apart_words"])
    assert row["counted_there"] == found.outer_words
    assert row["tensors_alike"]
    assert row["mapper"] >= found.outer_words


GPT3 = pd.read_csv(ROOT / "tests/reference/fused/accelforge_gpt3.csv")
#: Bits of a value there; words of the global buffer, and what a word of it costs.
GPT3_BITS, BUFFERS = (
    16,
    {"simple": (2**40, 16.0), "eyeriss": (2**16, 0.0), "simba": (2**15, 0.0), "tpu_v4i": (2**26, 0.0)},
)
#: By words that are computed at once, the tensors that go to main memory here and stay on the chip there.
STAY_THERE = {1: ("I", "Q", "AV"), 2048: ("I", "K", "AV")}
PRODUCTS = ("QK", "AV", "Z", "FFA", "FFB", "V", "K", "Q")


@cache
def block(architecture: str, heads: int, tokens: int, context: int) -> tuple[ChainResult, ...]:
    """Return the optima of both chains of a block; the first layer of the second, Z, is as large as V, K and Q."""
    words, buffer_pj = BUFFERS[architecture]
    wide = 128 * heads
    target = unit_target(GPT3_BITS, words, buffer_pj, 0.0)
    square = f"matmul:M{wide}xN{tokens}xK{wide}"
    attention = [f"matmul:M{context}xN{tokens}xK128/batch{heads}", f"matmul:M128xN{tokens}xK{context}/batch{heads}"]
    feed = [square, f"matmul:M{4 * wide}xN{tokens}xK{wide}", f"matmul:M{wide}xN{tokens}xK{4 * wide}"]
    return fused("attention", attention, target), fused("feed_forward", feed, target)


def blocks(*, is_fused: bool) -> pytest.MarkDecorator:
    rows = [
        pytest.param(row, id=f"{row['architecture']}-{row['tokens']}", marks=[pytest.mark.slow] * (row["tokens"] > 1))
        for row in GPT3[GPT3["fused"] == is_fused].to_dict("records")
    ]
    return pytest.mark.parametrize("row", rows)


def of_block(
    row: dict[str, Any], made: Callable[[str, int, int, int], tuple[ChainResult, ...]] = block
) -> tuple[ChainResult, ...]:
    return made(row["architecture"], row["heads"], row["tokens"], row["context"])


@blocks(is_fused=False)
def test_each_product_of_a_block_of_gpt_3_moves_as_many_bits_apart(row: dict[str, Any]) -> None:
    attention, feed = of_block(row)
    found = [run.outer_words * GPT3_BITS for run in (*attention.apart, *feed.apart, *feed.apart[:1] * 3)]
    assert found == [row[name] for name in PRODUCTS]
    # It has operations of one operand, too: each score is read and written for the softmax.
    assert row["QK_softmax"] == 2 * GPT3_BITS * row["heads"] * row["tokens"] * row["context"]


def bits(block: tuple[ChainResult, ...]) -> int:
    """Return what a block moves, with V, K and Q apart."""
    attention, feed = block
    return GPT3_BITS * (attention.outer_words + feed.outer_words + 3 * feed.apart[0].outer_words)


@blocks(is_fused=True)
def test_a_fused_block_of_gpt_3_differs_by_tensors_that_can_be_named(
    row: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    ours, theirs = bits(of_block(row)), sum(row[name] for name in ("I", *PRODUCTS))
    if row["architecture"] == "simple":
        assert ours == theirs
    elif row["QK_softmax"]:
        # It takes one loop around fused layers at most, and so fuses nothing. Three loops keep scores on the chip.
        assert ours < theirs
        prefixes = Group.prefixes
        monkeypatch.setattr(Group, "prefixes", lambda group, **how: (p for p in prefixes(group, **how) if len(p) < 2))
        assert bits(of_block(row, block.__wrapped__)) == theirs
    else:
        tensor = GPT3_BITS * 128 * row["heads"] * row["tokens"]
        assert ours - theirs == 2 * tensor * len(STAY_THERE[row["tokens"]])
