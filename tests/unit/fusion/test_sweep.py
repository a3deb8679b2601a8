"""Sweeps of chains: their files, what is stored, growth that is tested, the figure and the page."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from typer.testing import CliRunner

import jouleloop as jl
from jouleloop.api.run import architecture_of
from jouleloop.cli.app import app
from jouleloop.config.load import load_all, load_study, read_config
from jouleloop.errors import InputError
from jouleloop.files import write_yaml
from jouleloop.fusion.search import ChainSearch
from jouleloop.fusion.sweep import ChainSweep, load_chain_sweep
from jouleloop.optimum import optimise
from jouleloop.report.figures_chains import chains_figure
from jouleloop.report.fused_page import fused_page
from jouleloop.stats.options import StatisticsOptions
from jouleloop.study.chains import chain_records, check_chains
from jouleloop.study.compute import Job
from jouleloop.study.plan import jobs_of, targets_of
from jouleloop.study.store import ResultStore
from jouleloop.tables.chains import chain_growth, chain_rows, turning_point
from paths import ROOT

TINY: dict[str, Any] = {
    "kind": "chain",
    "layers": [
        {"name": "scores", "layer": "matmul:M{n}xN{n}xK8"},
        {"name": "weighted", "layer": "matmul:M8xN{n}xK{2 * n // 2}"},
    ],
    "ranges": {"n": [4, 8, 16, 32, 64]},
    "architecture": {"Buffer.depth": [512]},
    "architectures": ["two_levels"],
    "variable": "n",
    "expected": {"fused": "linear", "fused_beyond": "quadratic", "apart": "quadratic"},
}


def sweep_of(folder: Path, **changes: object) -> ChainSweep:
    path = folder / "tiny.yaml"
    write_yaml(path, TINY | changes)
    return load_chain_sweep(path)


def job_of(folder: Path, **changes: object) -> Job:
    config = read_config(ROOT / "config/chains.yaml").model_copy(update={"sweeps": [str(folder / "tiny.yaml")]})
    config = config.model_copy(update={"architectures": {"two_levels": config.architectures["two_levels"]}})
    job = jobs_of(load_study(config, ROOT), ROOT)["two_levels"]
    return replace(job, options=replace(job.options, **changes))


def test_a_sweep_is_all_sizes_on_all_variants(tmp_path: Path) -> None:
    sweep = sweep_of(tmp_path, architecture={"Buffer.depth": [64, 512]})
    assert len(sweep.points) == 10
    assert sweep.points[0].chain.name == "n = 4"
    assert [problem.bound["N"] for problem in sweep.points[4].chain.problems] == [64, 64]
    zipped = sweep_of(tmp_path, ranges={"n": [4, 8], "m": [1, 2]}, combine="zip")
    assert [dict(point.sizes) for point in zipped.points] == [{"m": 1, "n": 4}, {"m": 2, "n": 8}]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"variable": "m"}, ["variable", "'m'"]),
        ({"expected": {"fuse": "linear"}}, ["did you mean 'fused'"]),
        ({"ranges": {"n": {"start": 1, "stop": 10**9}}}, ["too many points"]),
        ({"architecture": {"Buffer.depth": {"start": 1, "stop": 10**12}}}, ["too many variants"]),
        ({"ranges": {"n": [4, 8], "m": [1, 2, 3]}, "combine": "zip"}, ["differ in length"]),
        ({"ranges": {"n": [4]}, "layers": TINY["layers"][:1]}, ["layers"]),
        ({"rangs": {}}, ["did you mean 'ranges'"]),
        (
            {"layers": [{"name": "a", "layer": "matmul:M{m}"}, {"name": "b", "layer": "matmul:M{1/0}"}]},
            ["layers.0.layer", "unknown name 'm'", "layers.1.layer", "n = 4", "n = 64"],
        ),
        ({"layers": [{"name": "a", "layer": "fc:{n}x3"}, {"name": "b", "layer": "fc:4x5"}]}, ["at n = 8"]),
    ],
)
def test_a_file_tells_all_that_is_wrong(tmp_path: Path, changes: dict[str, Any], said: list[str]) -> None:
    with pytest.raises(InputError) as raised:
        sweep_of(tmp_path, **changes)
    told = "\n".join(str(fault) for fault in raised.value.faults)
    assert all(text in told for text in [*said, "tiny.yaml"]), told


def test_commands_for_layers_say_what_runs_chains() -> None:
    with pytest.raises(InputError, match="snakemake runs it"):
        load_all(ROOT / "layers/attention_chain.yaml")


def test_a_study_refuses_what_proves_no_chain(tmp_path: Path) -> None:
    sweep_of(tmp_path, level="Bufer")
    config = read_config(ROOT / "config/chains.yaml").model_copy(update={"sweeps": [str(tmp_path / "tiny.yaml")]})
    entry = {"two_levels": config.architectures["two_levels"]}
    study = load_study(config.model_copy(update={"architectures": entry, "objective": ["delay"]}), ROOT)
    with pytest.raises(InputError) as raised:
        check_chains(study.chain_sweeps, study.config.engine, study.config.objective, targets_of(study, ROOT))
    told = "\n".join(str(fault) for fault in raised.value.faults)
    assert all(text in told for text in ("minimise energy", "on two_levels", "did you mean 'Buffer'"))


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> tuple[ChainSweep, list[Any], pd.DataFrame, Path]:
    folder = tmp_path_factory.mktemp("chains")
    sweep = sweep_of(folder)
    records = list(chain_records(job_of(folder), sweep, ResultStore(folder / "store")))
    return sweep, records, chain_rows(sweep, "two_levels", records), folder


def test_rows_are_what_a_chain_alone_gives(measured: tuple[ChainSweep, list[Any], pd.DataFrame, Path]) -> None:
    _, _, table, _ = measured
    arch = architecture_of("two_levels", None, None).with_({"Buffer.depth": 512})
    alone = jl.chain(arch, ["matmul:M32xN32xK8", "matmul:M8xN32xK32"])
    row = table[table["size_n"] == 32].iloc[0]
    assert (row["fused_pj"], row["fused_outer_words"]) == (alone.energy_pj, alone.outer_words)
    assert row["proven"]
    assert row["Buffer.depth"] == 512


def test_what_is_stored_is_not_searched(
    measured: tuple[ChainSweep, list[Any], pd.DataFrame, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    sweep, _, table, folder = measured
    monkeypatch.setattr(ChainSearch, "run", lambda _: pytest.fail("searched"))
    again = chain_records(job_of(folder), sweep, ResultStore(folder / "store"))
    pd.testing.assert_frame_equal(chain_rows(sweep, "two_levels", again), table)


def test_a_limit_leaves_chains_unproven_and_a_higher_one_searches_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(optimise, "_HURRIED_SECONDS", 0.0)  # one walk of a search that is stopped, not ten
    sweep = sweep_of(tmp_path, ranges={"n": [32]})
    store = ResultStore(tmp_path / "store")
    [(_, limited)] = chain_records(job_of(tmp_path, seconds=0.0), sweep, store)
    assert limited["stopped"]
    assert not limited["optimal"]
    [(_, whole)] = chain_records(job_of(tmp_path), sweep, store)
    assert whole["optimal"]


def test_growth_turns_where_keys_and_values_no_longer_fit(
    measured: tuple[ChainSweep, list[Any], pd.DataFrame, Path],
) -> None:
    sweep, _, table, _ = measured
    growth = chain_growth(table, [sweep], StatisticsOptions())
    words = growth[growth["response"].eq("fused_outer_words") & growth["range"].eq("all")].iloc[0]
    # 4 n d words while n is at most M / (4 d).
    assert words["exact_to"] == 512 // (4 * 8)
    assert words["outcome"] == "refuted"
    apart = growth[growth["response"].eq("apart_outer_words")].iloc[0]
    assert 1.9 < apart["exponent"] < 2.1
    assert set(growth["range"]) == {"all", "up_to", "beyond"}


def test_the_turning_point_is_exact() -> None:
    assert turning_point([1, 2, 3, 4], [5, 10, 15, 21], 1) == 3
    assert turning_point([2, 4, 6], [4, 16, 36], 2) == 6


def test_the_figure_and_the_page_show_what_was_found(
    measured: tuple[ChainSweep, list[Any], pd.DataFrame, Path],
) -> None:
    sweep, records, table, _ = measured
    growth = chain_growth(table, [sweep], StatisticsOptions())
    figure = chains_figure(table, growth, "n", "tiny")
    assert "5 chains, 5 proven" in figure.caption
    last = records[-1][1]
    page = fused_page([("tiny", last)], growth)
    for group in last["groups"]:
        for loop in group["loops"]:
            assert f"in {loop['factor']}</b>" in page
    for text in ("scores", "weighted", "Proven optimum", "stays at Buffer", "refuted", "for N in"):
        assert text in page
    assert page.count("<div") == page.count("</div>")


def test_the_command_draws_a_page(tmp_path: Path) -> None:
    page = tmp_path / "chain.html"
    texts = ["matmul:M16xN32xK8", "matmul:M8xN32xK16"]
    shown = CliRunner().invoke(app, ["chain", *texts, "--arch", "eyeriss", "--page", str(page)])
    assert shown.exit_code == 0
    assert "stays at shared_glb" in page.read_text(encoding="utf-8")
