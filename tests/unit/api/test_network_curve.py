"""``jl.network_curve`` and ``jouleloop curve --network``: curves of layers add up."""

import json
import sys
from pathlib import Path

import pandas as pd
import pytest

import jouleloop as jl
from jouleloop.api.network_curve import SHARES
from jouleloop.cli.app import main


@pytest.fixture(scope="module")
def network(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("networks") / "two.yaml"
    first, second = "{name: a, kind: fc, sizes: {C: 16, M: 24}}", "{name: b, kind: fc, sizes: {C: 24, M: 8}, count: 3}"
    path.write_text(f"description: Two layers.\nlayers:\n- {first}\n- {second}\n")
    return path


def run(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr(sys, "argv", ["jouleloop", "curve", "--network", *arguments])
    with pytest.raises(SystemExit) as ended:
        main()
    return int(ended.value.code or 0)


def test_the_sum_at_every_capacity_is_that_of_searches(network: Path) -> None:
    found = jl.network_curve("eyeriss", network)
    assert found.proven
    assert [count for count, _ in found.layers] == [1, 3]
    assert list(found.table()["value"]) == sorted(found.table()["value"], reverse=True)
    hardware = jl.Architecture.read("eyeriss")
    for step in found.steps:
        assert step.proven
        one = hardware.with_({"shared_glb.entries": step.words})
        least = jl.search(one, "fc:16x24").energy_pj + 3 * jl.search(one, "fc:24x8").energy_pj
        assert step.value == pytest.approx(least, rel=1e-9)
    assert found.within(0).words == found.steps[-1].words
    assert found.within(0.1).value <= 1.1 * found.steps[-1].value
    with pytest.raises(jl.InputError, match="must not be negative"):
        found.within(-1)


def test_the_command_says_the_same(
    network: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    csv, store, svg = tmp_path / "two.csv", tmp_path / "store", tmp_path / "two.svg"
    arguments = (str(network), "--arch", "two_levels", "--write-table", str(csv), "--store", str(store))
    assert run(monkeypatch, *arguments, "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert len(list(store.iterdir())) == 2
    assert list(found["within"]) == [f"{share:g}" for share in SHARES]
    assert list(pd.read_csv(csv)["value"]) == [step["value"] for step in found["steps"]]
    assert run(monkeypatch, *arguments, "--write-figure", str(svg)) == 0
    assert "Buffer [words]" in svg.read_text()
    assert run(monkeypatch, *arguments, "--write-figure", str(tmp_path / "two.html")) == 0
    page = (tmp_path / "two.html").read_text()
    assert all(f"{step['words']:,}" in page for step in found["steps"])
    shown = capsys.readouterr().out
    assert "above the least" in shown
    assert f"{found['within']['0']:,}" in shown


def test_what_is_refused(network: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(monkeypatch, str(network), "--arch", "two_levels", "--objective", "edp") == 2
    assert "do not add up" in capsys.readouterr().err
    assert run(monkeypatch, "bert_bas", "--arch", "two_levels") == 2
    assert "bert_base" in capsys.readouterr().err
    assert run(monkeypatch, str(network), "--arch", "two_levels", "--layer", "fc:8x4", "--steps", "3") == 2
    told = capsys.readouterr().err
    assert "one of both" in told
    assert "--steps: is for the curve of a layer" in told


def test_a_layer_without_a_mapping_ends_with_1(
    network: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, str(network), "--arch", "eyeriss", "--set", "psum_spad.depth=0") == 1
    assert "psum_spad" in capsys.readouterr().err
