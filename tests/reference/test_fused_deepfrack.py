"""DeepFrack's AlexNet on its Simba: its energies by our counts, what its fused stack leaves out, and our optima.

Numbers: PechimuthuMithil/DeepFrack, `Examples/AlexNet_SystolicSimba`; `fused/README.md` says which files. It adds up
energies of Timeloop runs, one a tile, in which main memory passes what is on the chip.
"""

from collections.abc import Iterable
from functools import cache

import pandas as pd
import pytest

import jouleloop as jl
from jouleloop.arch.read import read_architecture
from jouleloop.energy.choice import costs_of, sources_of
from jouleloop.mapping.compact import parse_compact
from jouleloop.model.evaluate import evaluate_mapping
from jouleloop.workload.sizes import parse_layer
from paths import ROOT

HERE = ROOT / "tests/reference/fused"
DESIGN = HERE / "deepfrack_simba.yaml"
RUNS = pd.read_csv(HERE / "deepfrack.csv")
LEVELS = ["DRAM", "GlobalBuffer", "PEInputBuffer", "PEWeightBuffer", "PEAccuBuffer", "PEWeightRegs"]
KEPT = (["Inputs", "Outputs"], ["Inputs"], ["Weights"], ["Outputs"], ["Weights"])
APART = RUNS[RUNS.dataflow == "SLC"].set_index("number")
#: Runs of the stack of layers 1 to 3, in four tiles: by row, how often it counts. The first tile brings in weights.
STACK = RUNS[RUNS.dataflow != "SLC"].assign(times=[1, 3, 4, 4])
#: Totals of its log [µJ].
APART_UJ, STACK_UJ, FUSED_UJ = 8951.91, 2812.72, 6290.82
#: What the four tiles of the stack compute, without what overlaps: 14 rows, from 16, from 20.
COMPUTED = [
    "conv:C3xM96xP20xQ20xR11xS11/stride4",
    "conv:C96xM256xP16xQ16xR5xS5",
    "conv:C256xM384xP14xQ14xR3xS3",
]


def hardware(semantics: str) -> jl.Architecture:
    return jl.Architecture.read(str(DESIGN), constraints=str(DESIGN), energy=str(DESIGN), semantics=semantics)


@cache
def counted_pj(row: int) -> tuple[float, ...]:
    """Return the energies of a run by our counts, by level and of the units."""
    run = RUNS.loc[row]
    arch = read_architecture(DESIGN)
    keep = dict(zip(LEVELS, (run.dram_keeps.split("+"), *KEPT), strict=True))
    problem = parse_layer(run.layer).problem()
    costs = costs_of(arch, sources_of(DESIGN))
    found = evaluate_mapping(problem, arch, costs, parse_compact(run.mapping, keep), "timeloop-2023-04")
    assert (found.computes, found.cycles) == (run.computes, run.cycles)
    levels = [sum(stats.energy_pj for stats in found.level(name).data.values()) for name in LEVELS]
    assert found.energy_pj == pytest.approx(sum(levels) + found.compute_energy_pj, rel=1e-12)
    return (*levels, found.compute_energy_pj)


def counted_uj(rows: Iterable[int]) -> float:
    return sum(sum(counted_pj(row)) for row in rows) / 1e6


@pytest.mark.parametrize("row", RUNS.index)
def test_every_run_costs_what_timeloop_printed(row: int) -> None:
    run = RUNS.loc[row]
    # Printed to a hundredth of a pJ, by data space.
    assert counted_pj(row) == pytest.approx([run[name] for name in (*LEVELS, "LMAC")], abs=0.011)
    assert round(counted_uj([row]), 2) == run.energy_uj


def test_its_totals_are_sums_of_these_runs() -> None:
    stack = [row for row, times in STACK.times.items() for _ in range(times)]
    alone = list(RUNS.index[RUNS.number.isin([4, 5])])
    # It adds up energies rounded to a hundredth of a µJ.
    assert counted_uj(range(5)) == pytest.approx(APART_UJ, abs=5 * 0.005)
    assert counted_uj(stack) == pytest.approx(STACK_UJ, abs=12 * 0.005)
    assert counted_uj([*stack, *alone]) == pytest.approx(FUSED_UJ, abs=14 * 0.005)


def test_its_stack_computes_a_part_of_the_layers() -> None:
    """Its tiles grow by windows and strides, not by the poolings between, so they miss outputs of layers 1 and 2."""
    computed = STACK.computes.mul(STACK.times).groupby(STACK.number).sum()
    shares = computed / APART.computes.loc[[1, 2, 3]]
    assert shares.tolist() == pytest.approx([4 * 13**2 / 56**2, 4 * 9**2 / 28**2, 1])
    # At the energies per operation of layers apart, the same operations cost 0.4 % more: this is what fusing saves.
    same_operations = (APART.energy_uj * shares).sum()
    assert round(same_operations, 2) == 2824.31
    assert round(100 * (1 - STACK_UJ / same_operations), 1) == 0.4
    missing = APART.energy_uj.loc[[1, 2, 3]].sum() - same_operations
    assert missing / (APART_UJ - FUSED_UJ) > 0.995


def test_main_memory_at_1_pj_a_word_is_next_to_free() -> None:
    assert round(APART.DRAM.sum() / 1e6, 2) == 6.35
    assert APART.DRAM.sum() / 1e6 < 0.001 * APART_UJ


def test_its_mapper_is_above_the_optimum_of_every_layer() -> None:
    found = [jl.search(hardware("timeloop-2023-04"), layer) for layer in APART.layer]
    assert all(one.optimal for one in found)
    ratios = APART.energy_uj * 1e6 / [one.energy_pj for one in found]
    assert ratios.round(3).tolist() == [1.007, 1.008, 1.015, 1.211, 1.035]
    assert round(sum(one.energy_pj for one in found) / 1e6, 2) == 8471.95


@pytest.mark.slow
def test_fusing_what_the_stack_computes_saves_next_to_nothing() -> None:
    found = jl.chain(hardware("timeloop-3.0.3"), COMPUTED)
    assert found.optimal
    assert (round(found.apart_pj / 1e6, 2), round(found.energy_pj / 1e6, 2)) == (2424.55, 2424.16)
    # The first layer's outputs, 20 x 20 x 96, are neither written nor read.
    assert found.apart_outer_words - found.outer_words == 2 * 20 * 20 * 96
