"""The floor of data energy per multiply-accumulate on Simba under `arch-only`: a law of its array, and who comes near.

Every multiply-accumulate takes an input from the buffer of its processing element, where a word serves at most the four
vector units. Four multipliers share an accumulator, which is read or filled once for every update. The multiplier reads
its register. The register takes a new weight after at most 128 steps, as many as there are sums; with more steps in
turn without a new weight, the sums would leave for the global buffer after one step each, which costs more.
"""

import random

import pytest

import jouleloop as jl
from jouleloop.workload.sweep import load_sweep
from paths import ROOT

VECTOR_UNITS = 4
MULTIPLIERS = 4
ELEMENTS = 16
SUMS = 128
REGISTERS = 64
"""Registers that share one access."""


@pytest.fixture(scope="module")
def simba() -> jl.Architecture:
    """Simba as config/authors_networks.yaml has it."""
    energy = [ROOT / "arch/energy/simba-45nm-accelergy03.yaml", "interpolated"]
    return jl.Architecture.read("simba", constraints="arch-only", energy=energy, semantics="timeloop-2023-04")


@pytest.fixture(scope="module")
def floor_pj(simba: jl.Architecture) -> dict[str, float]:
    """Least energy a multiply-accumulate of each component [pJ], from the table of energies alone."""
    table = simba.energies()
    word_pj = {
        (row.component, row.action): row.energy_pj_per_word
        for row in table.itertuples()
        if row.action in ("read", "write")
    }
    register_pj = word_pj["PEWeightRegs", "read"] / REGISTERS
    sums_leave_pj = word_pj["GlobalBuffer", "write"] / (MULTIPLIERS * ELEMENTS)
    new_weight_pj = word_pj["PEWeightBuffer", "read"] / SUMS
    assert new_weight_pj + word_pj["PEWeightRegs", "write"] / REGISTERS / SUMS < sums_leave_pj
    return {
        "PEInputBuffer": word_pj["PEInputBuffer", "read"] / VECTOR_UNITS,
        "PEAccuBuffer": (word_pj["PEAccuBuffer", "read"] + word_pj["PEAccuBuffer", "write"]) / MULTIPLIERS,
        "PEWeightRegs": register_pj + word_pj["PEWeightRegs", "write"] / REGISTERS / SUMS,
        "PEWeightBuffer": new_weight_pj,
    }


def test_the_floor_in_numbers(floor_pj: dict[str, float]) -> None:
    assert sum(floor_pj.values()) == pytest.approx(3.5911, abs=5e-5)
    assert floor_pj["PEInputBuffer"] == pytest.approx(3.0371, abs=5e-5)
    assert floor_pj["PEAccuBuffer"] == pytest.approx(0.5026, abs=5e-5)


def test_no_published_layer_is_below_the_floor_in_any_component(
    simba: jl.Architecture, floor_pj: dict[str, float]
) -> None:
    layers = [point.layer for name in ("grid", "random", "networks")
              for point in load_sweep(ROOT / f"layers/authors_{name}.yaml").points]  # fmt: skip
    for layer in random.Random(35).sample(layers, 25):
        found = jl.search(simba, layer, seconds=20)
        assert found.evaluation is not None
        spent_pj = dict.fromkeys(floor_pj, 0.0)
        for level in found.evaluation.levels:
            if level.name in floor_pj:
                spent_pj[level.name] = sum(data.energy_pj for data in level.data.values()) / layer.macs
        assert spent_pj["PEInputBuffer"] >= floor_pj["PEInputBuffer"] * (1 - 1e-9)
        assert spent_pj["PEAccuBuffer"] >= floor_pj["PEAccuBuffer"] * (1 - 1e-9)
        assert found.lower_bound is not None
        assert found.data_energy_pj / layer.macs >= sum(floor_pj.values())


@pytest.mark.parametrize(
    ("text", "above"),
    [("conv:C52xM216xP294xQ294xR15xS15", 0.0041), ("conv:C64xM256xP256xQ256xR16xS16", 0.0031)],
    ids=["least-of-the-published", "larger"],
)
def test_layers_that_fill_the_array_come_near(
    simba: jl.Architecture, floor_pj: dict[str, float], text: str, above: float
) -> None:
    found = jl.search(simba, text)
    assert found.optimal
    assert found.evaluation is not None
    assert found.data_energy_pj / found.evaluation.computes / sum(floor_pj.values()) - 1 == pytest.approx(
        above, abs=1e-4
    )
