"""The shipped convolution sweeps whose sizes can decide do decide: theory's growth holds on both architectures."""

import pytest

import jouleloop as jl
from jouleloop.stats.growth import Outcome, fit_growth
from jouleloop.workload.sweep import load_sweep
from paths import ROOT
from shares import slow_after

_SWEEPS = ("conv_depth_class", "conv_inputs_class", "conv_kernel_class", "conv_stride_apart")


@pytest.mark.parametrize("architecture", slow_after(1, ["eyeriss", "simba"]))
@pytest.mark.parametrize("name", [*(pytest.param(one, marks=pytest.mark.slow) for one in _SWEEPS[:3]), _SWEEPS[3]])
def test_growth_is_confirmed(name: str, architecture: str) -> None:
    sweep = load_sweep(ROOT / f"layers/{name}.yaml")
    table = jl.sweep(ROOT / f"layers/{name}.yaml", [architecture])
    assert table["optimal"].all()
    verdict = fit_growth(table[sweep.variable], table["data_pj"], sweep.expected).verdict
    assert verdict.outcome in (Outcome.CONFIRMED, Outcome.EXACT), verdict.reason
