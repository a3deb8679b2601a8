"""Networks with fused chains: totals that add up, what is stored, limits, interrupts, and what is refused."""

import re
from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner

import jouleloop as jl
from jouleloop.api.chains import chain_named, search_chain
from jouleloop.api.run import architecture_of
from jouleloop.cli.app import app
from jouleloop.engines.protocol import Target
from jouleloop.fusion.search import ChainSearch
from jouleloop.optimum import optimise
from jouleloop.optimum.limit import Progress, Watch
from jouleloop.optimum.result import SearchResult
from jouleloop.workload.problem import Problem

NETWORK = """\
layers:
- {name: first, kind: matmul, count: 3, sizes: {M: 16, N: 32, K: 8}}
- {name: second, kind: matmul, count: 3, sizes: {M: 8, N: 32, K: 16}}
- {name: other, kind: fc, sizes: {C: 12, M: 8}}
"""
PAIR = ["matmul:M16xN32xK8", "matmul:M8xN32xK16"]
#: What is not searched costs a walk a way: few ways.
SMALL = re.sub(r"M: \d+, N: \d+, K: \d+", "M: 4, N: 4, K: 4", NETWORK)


@pytest.fixture
def fused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(optimise, "_HURRIED_SECONDS", 0.0)  # one walk of each search that is stopped, not ten
    Path("tiny.yaml").write_text(NETWORK)
    return ["network", "tiny.yaml", "--arch", "eyeriss", "--fuse", "--output", "found"]


def run(*arguments: str) -> tuple[int, str, str]:
    found = CliRunner().invoke(app, [*arguments])
    error = str(found.exception) if found.exception is not None else ""
    return found.exit_code, found.stdout, f"{found.stderr} {error}"


def test_fused_energies_stand_beside_those_apart_and_add_up(fused: list[str]) -> None:
    code, out, err = run(*fused, "--page", "page.html")
    assert code == 0, err
    alone = jl.chain("eyeriss", PAIR)
    [row] = pd.read_csv("found/chains.csv").to_dict("records")
    assert row["fused_pj"] == pytest.approx(alone.energy_pj)
    assert row["fused_layers"] == "first+second"
    assert (row["count"], row["proven"]) == (3, True)
    layers = pd.read_csv("found/networks.csv").set_index("layer")["total_pj"]
    assert row["apart_pj"] == pytest.approx(layers["first"] + layers["second"])
    total = layers["(whole network)"]
    saved = 3 * (row["apart_pj"] - row["fused_pj"])
    cells = {line.split("  ")[0].strip(): line.split() for line in out.partition(", fused")[2].splitlines() if line}
    shares = (f"{(total - saved) / total:.1%}", f"{row['fused_outer_words'] / row['apart_outer_words']:.1%}")
    assert cells["(whole network)"][2:] == [f"{total / 1e6:.3f}", f"{(total - saved) / 1e6:.3f}", shares[0]]
    assert cells["first … second"][-1] == shares[1]
    assert cells["(layers in no chain)"][-3:] == [f"{layers['other'] / 1e6:.3f}"] * 2 + ["100.0%"]
    assert f"{saved / total:.2%} of the network; 1 of 1 chains are proven" in " ".join(out.split())
    assert max(map(len, out.splitlines())) <= 80
    assert "stays at shared_glb" in Path("page.html").read_text(encoding="utf-8")


def test_a_second_run_searches_nothing_and_other_ways_are_searched(
    fused: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run(*fused)[0] == 0
    before = Path("found/chains.parquet").read_bytes()
    searched: list[bool] = []
    whole = ChainSearch.run

    def counted(self: ChainSearch) -> object:
        searched.append(self.recompute)
        return whole(self)

    monkeypatch.setattr(ChainSearch, "run", counted)
    assert run(*fused)[0] == 0
    assert (searched, Path("found/chains.parquet").read_bytes()) == ([], before)
    assert run(*fused, "--recompute")[0] == 0
    assert searched == [True]


def test_the_optima_of_layers_are_not_searched_again(fused: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    searched: list[tuple[Problem, Target]] = []
    engine = ChainSearch._search

    def counted(self: ChainSearch, problem: Problem, target: Target) -> SearchResult:
        searched.append((problem, target))
        return engine(self, problem, target)

    monkeypatch.setattr(ChainSearch, "_search", counted)
    alone = jl.chain("eyeriss", PAIR)
    whole = architecture_of("eyeriss", searched[0][0]).target(searched[0][0])
    assert sum(target == whole for _, target in searched) == 2
    searched.clear()
    assert run(*fused)[0] == 0
    assert searched
    assert not any(target == whole for _, target in searched)
    [row] = pd.read_csv("found/chains.csv").to_dict("records")
    assert (row["apart_pj"], row["fused_pj"]) == (alone.apart_pj, alone.energy_pj)
    assert (row["searches"], row["fused_lower_bound_pj"]) == (alone.searches, alone.lower_bound_pj)
    searched.clear()
    jl.chain("eyeriss", ["matmul:M8xN4xK8"] * 2)
    assert sum(target == whole for _, target in searched) == 1


def test_a_search_that_somebody_stops_is_not_stored(fused: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    whole = ChainSearch.run

    def stopped(self: ChainSearch) -> object:
        assert self.watch is not None
        self.watch.stop()
        return whole(self)

    monkeypatch.setattr(ChainSearch, "run", stopped)
    Path("tiny.yaml").write_text(SMALL)
    code, _, err = run(*fused)
    assert code == 130
    assert "interrupted; first-second is not stored" in " ".join(err.split())
    assert not Path("found/chains.csv").exists()
    monkeypatch.setattr(ChainSearch, "run", whole)
    assert run(*fused)[0] == 0


def test_a_limit_leaves_chains_unproven(fused: list[str]) -> None:
    Path("tiny.yaml").write_text(SMALL)
    code, out, _ = run(*fused, "--seconds", "0")
    assert code in (0, 1)
    assert "0 of 1 chains are proven" in " ".join(out.split())


def test_a_layer_without_a_mapping_leaves_no_total(fused: list[str]) -> None:
    Path("tiny.yaml").write_text(NETWORK.replace("C: 12, M: 8", "C: 97, M: 32"))
    # 97 inputs are no multiple of 4: Simba has no mapping.
    code, out, err = run(*fused, "--arch", "simba")
    assert code == 1, err
    simba = out.partition("tiny on simba, fused")[2]
    assert "first … second" in simba
    assert "(whole network)" not in simba
    assert "of the network" not in simba
    assert "(whole network)" in out.partition("tiny on eyeriss, fused")[2].partition("tiny on simba, fused")[0]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--level", "shared_gbl"], "did you mean 'shared_glb'"),
        (["--objective", "delay"], "chains minimise energy"),
        (["--engine", "timeloop"], "native engine"),
        (["--budget", "10"], "--budget"),
        (["--factors", "imperfect"], "loops may end early"),
    ],
)
def test_what_proves_no_chain_is_refused_before_any_search(fused: list[str], options: list[str], said: str) -> None:
    code, _, err = run(*fused, *options)
    assert code != 0
    assert said in " ".join(err.split())
    assert not Path("found").exists()


def test_networks_without_chains_and_options_without_fusion_are_refused(fused: list[str]) -> None:
    code, _, err = run(*fused[:4], "--recompute")
    assert (code, "--fuse" in err) == (1, True)
    Path("tiny.yaml").write_text(NETWORK.replace("count: 3, sizes: {M: 8", "count: 2, sizes: {M: 8"))
    code, _, err = run(*fused)
    assert (code, "no two layers that follow each other" in err) == (1, True)


def test_a_chain_tells_where_it_stands() -> None:
    told: list[tuple[str, Progress]] = []
    watch = Watch(tell=lambda watch, where: told.append((watch.subject, where())))
    found = chain_named([*PAIR, "matmul:M4xN32xK8"])

    hardware = [architecture_of("eyeriss", problem) for problem in found.problems]
    result = search_chain(found, hardware, None, watch, None)
    assert result.optimal
    assert {subject for subject, _ in told} == {"chain"}
    left = [progress.parts_left for _, progress in told]
    assert left == sorted(left, reverse=True)
    assert (left[0], told[0][1].parts) == (3, 3)
    for _, progress in told:
        assert progress.best is not None
        assert progress.lower_bound <= result.energy_pj <= progress.best <= result.apart_pj * (1 + 1e-12)
