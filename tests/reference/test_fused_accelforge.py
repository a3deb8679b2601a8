"""Fused and unfused optima of AccelForge beside ours, where both count the same.

Numbers: Accelergy-Project/accelforge, `tests/regression_reference.json`, made by its mapper FFM (arXiv 2602.15166).
Words have 8 bits, which it counts. On its Eyeriss, Simba, TPU v4i and Snowcat main memory moves each tensor of these
workloads once. On `simple` the buffer costs as much as main memory, so that nothing is kept.
"""

import pytest

from jouleloop.arch.architecture import Architecture, ComputeLevel, StorageLevel
from jouleloop.energy.costs import EnergyCosts, LevelEnergy
from jouleloop.engines.protocol import Target
from jouleloop.fusion.chain import chain_of
from jouleloop.fusion.hardware import Fusion
from jouleloop.fusion.result import ChainResult
from jouleloop.fusion.search import ChainSearch
from jouleloop.mapspace.constraints import Constraints
from jouleloop.workload.sizes import parse_layer

BITS = 8
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
