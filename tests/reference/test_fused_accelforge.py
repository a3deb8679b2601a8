"""Fused and unfused optima of AccelForge beside ours, where both count the same.

Numbers: Accelergy-Project/accelforge, `tests/regression_reference.json`, made by its mapper FFM (arXiv 2602.15166).
Words have 8 bits, which it counts. On its Eyeriss, Simba, TPU v4i and Snowcat main memory moves each tensor of these
workloads once. On `simple` the buffer costs as much as main memory, so that nothing is kept.

``fused/accelforge.csv`` has our mappings by its model, and what its mapper finds on the same designs.
"""

from itertools import pairwise

import pandas as pd
import pytest

import jouleloop as jl
from jouleloop.arch.architecture import Architecture, ComputeLevel, StorageLevel
from jouleloop.energy.costs import EnergyCosts, LevelEnergy
from jouleloop.engines.protocol import Target
from jouleloop.fusion.chain import chain_of
from jouleloop.fusion.hardware import Fusion
from jouleloop.fusion.result import ChainResult
from jouleloop.fusion.search import ChainSearch
from jouleloop.mapspace.constraints import Constraints
from jouleloop.workload.sizes import parse_layer
from paths import ROOT

BITS = 8
SEEN = pd.read_csv(ROOT / "tests/reference/fused/accelforge.csv")
#: Products of square matrices: how many, and their size.
WORKLOADS = {"matmuls": (2, 64), "three_matmuls_annotated": (3, 128)}
#: Bits from and to main memory by workload, fused and unfused; equal on all designs named above (Snowcat: unfused).
MAIN_MEMORY_BITS = {"matmuls": (131072, 196608), "three_matmuls_annotated": (655360, 1179648)}
#: Energy on `simple`, the same fused and unfused.
SIMPLE_ENERGY = {"matmuls": 17235968, "three_matmuls_annotated": 207224832}


def searched(workload: str, buffer_pj: float, compute_pj: float) -> ChainResult:
    """Return the optimum on a design where a bit of main memory costs 1."""
    count, size = WORKLOADS[workload]
    levels = (
        StorageLevel("DRAM", "DRAM", "DRAM", None, BITS),
        StorageLevel("Buffer", "Buffer", "SRAM", 2**40, BITS),
    )
    energies = (LevelEnergy("DRAM", BITS, BITS, "unit"), LevelEnergy("Buffer", buffer_pj, buffer_pj, "unit"))
    arch = Architecture("unit", levels, ComputeLevel("mac", "mac", "intmac", BITS, 1))
    target = Target(arch, EnergyCosts("unit", energies, compute_pj, "unit"), Constraints("none"))
    chain = chain_of(workload, [parse_layer(f"matmul:M{size}xN{size}xK{size}")] * count)
    found = ChainSearch(chain, (Fusion.at(target, "Buffer"),) * count).run()
    assert found.optimal
    return found


@pytest.mark.parametrize("workload", WORKLOADS)
def test_main_memory_moves_as_many_bits(workload: str) -> None:
    found = searched(workload, 0.0, 0.0)
    assert (found.outer_words * BITS, found.apart_outer_words * BITS) == MAIN_MEMORY_BITS[workload]
    assert (found.energy_pj, found.apart_pj) == MAIN_MEMORY_BITS[workload]


@pytest.mark.parametrize("workload", WORKLOADS)
def test_where_a_buffer_costs_as_much_nothing_is_kept(workload: str) -> None:
    found = searched(workload, BITS, 1.0)
    assert found.energy_pj == found.apart_pj == SIMPLE_ENERGY[workload]


@pytest.mark.parametrize("row", SEEN.to_dict("records"), ids=lambda row: f"{row['rows']}-{row['buffer_words']}")
def test_its_model_counts_our_mappings_alike_and_its_mapper_is_below_by_uneven_tiles_alone(row: dict[str, int]) -> None:
    sizes = list(map(int, str(row["rows"]).split("x")))
    arch = jl.Architecture.read("two_levels").with_({"Buffer.depth": row["buffer_words"]})
    found = jl.chain(arch, [f"matmul:M{m}xN{row['columns']}xK{k}" for k, m in pairwise(sizes)])
    assert found.optimal
    assert (found.outer_words, found.apart_outer_words) == (row["words"], row["apart_words"])
    assert row["counted_there"] == found.outer_words
    assert row["tensors_alike"]
    # Tiles of a layer that lie between other loops than ours are no mapping of Timeloop's kind.
    assert row["mapper"] >= found.outer_words or not row["even"]
