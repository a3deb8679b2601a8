"""Curves of a sweep: rows as of single curves, sums of networks, what is kept, limits, and what cannot be."""

from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

import jouleloop as jl
from jouleloop.columns import read_table
from jouleloop.config.load import Study, load_study
from jouleloop.curves.check import check_capacities
from jouleloop.curves.sweep import capacity_tables, write_capacity
from jouleloop.engines.native import NativeEngine
from jouleloop.engines.protocol import SearchOptions
from jouleloop.errors import InputError
from jouleloop.stats.options import StatisticsOptions
from jouleloop.study.plan import jobs_of, targets_of
from jouleloop.tables.layouts import CAPACITY, CAPACITY_SUMMARY
from paths import ROOT

CONFIG = {
    "architectures": {
        "two_levels": {
            "arch": "arch/two_levels.yaml",
            "energy": ["arch/energy/two_levels.yaml"],
            "constraints": "mappings/orojenesis.yaml",
        },
        "eyeriss": {
            "arch": "arch/eyeriss.yaml",
            "energy": ["arch/energy/eyeriss-45nm-accelergy03.yaml", "interpolated"],
            "constraints": "mappings/eyeriss.yaml",
        },
    }
}
KEPT = ROOT / "mappings" / "orojenesis.yaml"
NETWORK = """\
layers:
- {name: one, kind: fc, sizes: {C: 16, M: 8}, count: 3}
- {name: two, kind: matmul, sizes: {M: 4, N: 6, K: 8}}
- {name: three, kind: fc, sizes: {C: 16, M: 8}}
"""


def study(folder: Path, text: str, **changes: object) -> Study:
    path = folder / "own.yaml"
    path.write_text(f"kind: capacity\n{text}\n", encoding="utf-8")
    return load_study({**CONFIG, "sweeps": [str(path)], **changes}, ROOT)


def walked(found: Study, folder: Path, arch: str = "two_levels") -> tuple[pd.DataFrame, pd.DataFrame]:
    job = jobs_of(found, ROOT)[arch]
    return capacity_tables(job, found.capacity_sweeps[0], folder / "store", StatisticsOptions())


def test_rows_are_those_of_single_curves(tmp_path: Path) -> None:
    found = study(tmp_path, "layers: [matmul:M8xN16xK12, fc:16x8]\nobjective: dram-words")
    steps, curves = walked(found, tmp_path)
    for layer in ("matmul:M8xN16xK12", "fc:16x8"):
        own = steps[steps["layer"] == layer]
        one = jl.curve("two_levels", layer, objective="dram-words", constraints=KEPT)
        assert list(own["words"]) == [step.words for step in one.steps]
        assert list(own["value"]) == [step.value for step in one.steps]
    assert curves["proven"].all()
    assert curves["words_within_0_percent"].iloc[0] == curves["largest_theory_words"].iloc[0] == 116
    assert (steps["theory_ratio"] >= 1 - 1e-12).all()
    write_capacity(tmp_path, {CAPACITY: steps, CAPACITY_SUMMARY: curves}, {}, "pJ")
    again, _ = read_table(tmp_path / "capacity_summary.parquet", CAPACITY_SUMMARY)
    assert list(again["words_within_10_percent"]) == list(curves["words_within_10_percent"])


def test_networks_add_up(tmp_path: Path) -> None:
    (tmp_path / "net.yaml").write_text(NETWORK, encoding="utf-8")
    found = study(tmp_path, "network: net.yaml")
    steps, curves = walked(found, tmp_path)
    whole = steps[steps["layer"] == "net"]
    one = jl.network_curve("two_levels", str(tmp_path / "net.yaml"), constraints=KEPT)
    assert list(whole["words"]) == [step.words for step in one.steps]
    assert list(whole["value"]) == [step.value for step in one.steps]
    assert list(curves["layer"]) == ["fc:16x8", "matmul:M4xN6xK8", "net"]
    assert list(curves["count"]) == [4, 1, 1]
    assert curves["words_within_5_percent"].iloc[-1] == one.within(0.05).words


def test_nothing_is_searched_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = study(tmp_path, "layers: [fc:16x8]")
    before = walked(found, tmp_path)

    def forbidden(*_: object) -> None:
        raise AssertionError("a search that is known")

    monkeypatch.setattr(NativeEngine, "search", forbidden)
    for one, other in zip(before, walked(found, tmp_path), strict=True):
        pd.testing.assert_frame_equal(one, other)


def test_searches_that_a_limit_stops_prove_nothing_and_are_not_kept(tmp_path: Path) -> None:
    found = study(tmp_path, "layers: ['conv:C16xM16xP16xQ16xR3xS3']", budget=1)
    steps, curves = walked(found, tmp_path, "eyeriss")
    assert not curves["proven"].any()
    assert (steps["lower_bound"] <= steps["value"]).all()
    # The same without a limit proves them: nothing of the limited run is taken for an optimum.
    job = jobs_of(found, ROOT)["eyeriss"]
    whole, short = capacity_tables(
        replace(job, options=SearchOptions()), found.capacity_sweeps[0], tmp_path / "store", StatisticsOptions()
    )
    assert short["proven"].all()
    least = whole["value"].min()
    assert steps["value"].min() >= least
    assert steps["lower_bound"].max() <= whole["value"].max()


def test_a_layer_without_a_mapping_says_why(tmp_path: Path) -> None:
    found = study(tmp_path, "layers: [fc:16x8]\nmost_words: 0")
    steps, curves = walked(found, tmp_path)
    assert steps.empty
    assert list(curves["status"]) == ["no_mapping"]
    assert curves["reason"].iloc[0]
    write_capacity(tmp_path, {CAPACITY: steps, CAPACITY_SUMMARY: curves}, {}, "pJ")
    assert list(read_table(tmp_path / "capacity.parquet", CAPACITY)[0].columns)


def test_levels_and_engine_are_checked_before_anything_runs(tmp_path: Path) -> None:
    found = study(tmp_path, "layers: [fc:16x8]\nlevels: {two_levels: Bufer, eyeriss: DRAM}")
    with pytest.raises(InputError) as caught:
        check_capacities(found, targets_of(found, ROOT))
    told = "\n".join(map(str, caught.value.faults))
    assert "Buffer" in told
    assert "levels.eyeriss" in told
    config = found.config.model_copy(update={"engine": "timeloop"})
    with pytest.raises(InputError, match="native"):
        check_capacities(replace(found, config=config), {})
