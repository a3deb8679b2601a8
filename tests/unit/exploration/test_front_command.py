"""The command and the function ``front``: points and their files, networks, limits and faults."""

import base64
import json
from html import escape
from pathlib import Path

import pandas as pd
import pytest
import yaml

import jouleloop as jl
from jouleloop.cli import main
from jouleloop.engines.native import NativeEngine
from jouleloop.engines.protocol import SearchOptions
from jouleloop.engines.registry import get_engine
from jouleloop.exploration.front import knee_of, layer_front
from jouleloop.workload.sizes import parse_layer

LAYER = "conv:C64xM64xP56xQ56xR3xS3"


def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, *arguments: str) -> tuple[int, str, str]:
    monkeypatch.setattr("sys.argv", ["jouleloop", *arguments])
    with pytest.raises(SystemExit) as ended:
        main()
    captured = capsys.readouterr()
    return int(ended.value.code or 0), captured.out, captured.err


def test_ends_and_product_are_the_optima() -> None:
    front = jl.front("eyeriss", LAYER)
    assert front.complete
    energy, delay, product = (jl.search("eyeriss", LAYER, objective=one) for one in ("energy", "delay", "edp"))
    assert (front.energies_pj[0], front.cycles[0]) == (energy.energy_pj, energy.cycles)
    assert (front.energies_pj[-1], front.cycles[-1]) == (delay.energy_pj, delay.cycles)
    products = [e * c for e, c in zip(front.energies_pj, front.cycles, strict=True)]
    assert min(products) == pytest.approx(product.energy_pj * product.cycles, rel=1e-11)
    for place, (pj, cycles) in enumerate(zip(front.energies_pj, front.cycles, strict=True)):
        [(runs, result)] = front.results(place)
        again = jl.evaluate("eyeriss", LAYER, result.loop_nest)
        assert (runs, again.energy_pj, again.cycles) == (1, pj, cycles)


def test_files_of_a_layer(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    files = ("--write-table", "f.csv", "--write-figure", "f.svg", "--write-mappings", "maps")
    code, out, err = run(capsys, monkeypatch, "front", "--arch", "eyeriss", "--layer", LAYER, *files)
    assert code == 0, err
    assert "3 points; complete, proven" in out
    table = pd.read_csv("f.csv")
    assert table["cycles"].is_monotonic_decreasing
    assert table["total_pj"].is_monotonic_increasing
    assert table["knee"].sum() == 1
    assert "knee" in Path("f.svg").read_text(encoding="utf-8")
    assert {path.stem for path in Path("maps").glob("*.yaml")} == set(table["cycles"].astype(str))
    for _, row in table.iterrows():
        again = jl.evaluate("eyeriss", LAYER, f"maps/{row['cycles']}.yaml")
        assert (again.energy_pj, again.cycles) == (row["total_pj"], row["cycles"])


def test_a_network_is_the_sum_of_its_layers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    layer = {"kind": "conv", "sizes": {"C": 64, "M": 64, "P": 56, "Q": 56, "R": 3, "S": 3}}
    layers = [{"name": "one", "count": 2, **layer}, {"name": "two", "kind": "fc", "sizes": {"C": 64, "M": 32}}]
    Path("net.yaml").write_text(yaml.safe_dump({"layers": layers}))
    code, out, err = run(capsys, monkeypatch, "front", "--arch", "eyeriss", "--network", "net.yaml", "--json")
    assert code == 0, err
    data = json.loads(out)
    assert data["complete"]
    own = [layer["points"] for layer in data["layers"]]
    for point in data["points"]:
        taken = [(own[n][p], k) for n, chosen in enumerate(point["choice"]) for p, k in chosen]
        assert sum(one["cycles"] * k for one, k in taken) == point["cycles"]
        assert sum(one["total_pj"] * k for one, k in taken) == pytest.approx(point["total_pj"])
        assert [sum(k for _, k in chosen) for chosen in point["choice"]] == [2, 1]
    assert len(data["points"]) > max(map(len, own))


def test_a_layer_without_mapping_and_wrong_input(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    code, _, err = run(capsys, monkeypatch, "front", "--arch", "simba", "--layer", "fc:97x32")
    assert code == 1
    assert "97 is not divisible" in err
    wrong = ("front", "--arch", "simba", "--network", "restnet50", "--write-figure", "a.gif", "--write-table", "a.txt")
    wrong = (*wrong, "--within", "2")
    code, _, err = run(capsys, monkeypatch, *wrong)
    assert code == 2
    assert "--network" in err
    assert "did you mean 'resnet50'" in err
    assert "a.gif" in err
    assert "a.txt" in err
    assert "--within: must be a share" in err
    code, _, err = run(capsys, monkeypatch, "front", "--arch", "simba")
    assert code == 2
    assert "a layer or a network" in err


def test_a_stopped_front_is_not_complete_and_says_what_holds() -> None:
    hardware, problem = jl.Architecture.read("eyeriss"), parse_layer(LAYER).problem()
    target = hardware.target(problem)
    whole = layer_front(NativeEngine(), problem, target)
    stopped = layer_front(NativeEngine(), problem, target, SearchOptions(budget=1))
    assert whole.complete
    assert not whole.missing
    assert not stopped.complete
    assert "stopped (budget)" in stopped.missing
    assert stopped.last.lower_bound <= min(one.evaluation.energy_pj for one in whole.points if one.evaluation)


def test_below_a_limit_there_is_no_certificate_and_no_other_engine() -> None:
    hardware, problem = jl.Architecture.read("eyeriss"), parse_layer(LAYER).problem()
    target, told = hardware.target(problem), SearchOptions(most_cycles=10**9)
    found = NativeEngine().search(problem, target, told)
    assert found.optimal
    assert "at most 1,000,000,000 cycles" in found.proof
    assert found.as_json()["most_cycles"] == 10**9
    assert told.as_dict() != SearchOptions().as_dict()
    with pytest.raises(jl.InputError, match="no certificate"):
        jl.Result(hardware, problem, found).certificate()
    for name in ("timeloop", "accelforge"):
        with pytest.raises(jl.InputError, match="most_cycles"):
            get_engine(name).search(problem, target, told)


def test_the_knee_is_farthest_below_the_line() -> None:
    assert knee_of([10, 5, 1], [1.0, 1.1, 9.0]) == 1
    assert knee_of([10, 1], [1.0, 9.0]) is None
    assert knee_of([10, 5, 1], [1.0, 8.9, 9.0]) is None


def test_capacity_as_a_third_axis(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    layer, level = "conv:C16xM16xP14xQ14xR3xS3", "shared_glb"
    told = ("front", "--arch", "eyeriss", "--layer", layer, "--capacity", level)
    code, out, err = run(capsys, monkeypatch, *told, "--write-table", "f.csv", "--write-figure", "f.svg")
    assert code == 0, err
    assert "complete, proven" in out
    table = pd.read_csv("f.csv")
    assert level in Path("f.svg").read_text(encoding="utf-8")
    found = jl.front_by_capacity("eyeriss", layer)
    assert list(table["words"]) == list(found.words)
    # With the words of any point the plain front is the part of it that fits.
    hardware = jl.Architecture.read("eyeriss")
    for words in sorted({*table["words"]})[:: max(1, len(table) // 3)]:
        front = jl.front(hardware.with_({f"{level}.entries": int(words)}), layer)
        fits = table[table["words"] <= words].sort_values(["cycles", "total_pj"]).drop_duplicates("cycles")
        best = [e for e, least in zip(fits["total_pj"], fits["total_pj"].cummin(), strict=True) if e == least]
        assert sorted(front.energies_pj) == pytest.approx(sorted(set(best)), rel=1e-9)
    place = len(found.words) - 1
    again = jl.evaluate(found.result(place).architecture, layer, found.result(place).loop_nest)
    assert again.energy_pj == pytest.approx(table["total_pj"].iloc[-1], rel=1e-12)
    code, out, err = run(capsys, monkeypatch, *told, "--json")
    assert len(json.loads(out)["points"]) == len(table)


def test_what_goes_with_no_capacity(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = ("--capacity", "shared_glb", "--network", "resnet50", "--within", "1e-4")
    code, _, err = run(capsys, monkeypatch, "front", "--arch", "eyeriss", *wrong)
    assert code == 2
    assert "--network: does not go with --capacity" in err
    assert "--within: does not go with --capacity" in err
    code, _, err = run(capsys, monkeypatch, "front", "--arch", "eyeriss", "--layer", "fc:8x4", "--capacity", "glb")
    assert code == 2
    assert "shared_glb" in err


def test_pages_have_the_figure_and_every_mapping(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    code, _, err = run(capsys, monkeypatch, "front", "--arch", "eyeriss", "--layer", LAYER, "--write-figure", "f.html")
    assert code == 0, err
    page, front = Path("f.html").read_text(encoding="utf-8"), jl.front("eyeriss", LAYER)
    image = page.partition("data:image/svg+xml;base64,")[2].partition('"')[0]
    assert "knee" in base64.b64decode(image).decode()
    assert len(front.cycles) == 3
    for place in range(3):
        [(_, result)] = front.results(place)
        assert escape(result.loop_nest.compact()) in page
    assert "http://" not in page.replace("http://www.w3.org", "")
    Path("net.yaml").write_text("layers:\n- {name: <one>, kind: fc, count: 2, sizes: {C: 64, M: 32}}\n")
    code, _, err = run(
        capsys, monkeypatch, "front", "--arch", "eyeriss", "--network", "net.yaml", "--write-figure", "n.html"
    )
    assert code == 0, err
    page = Path("n.html").read_text(encoding="utf-8")
    assert "The mappings of each layer" in page
    assert "<one>" not in page
