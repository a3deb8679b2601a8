"""The command and the function ``explore``: the best of all designs, budgets, stores, limits and faults."""

import itertools
import json
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import yaml

import jouleloop as jl
from jouleloop.api.layers import sweeps_of
from jouleloop.cli import main
from jouleloop.engines.native import NativeEngine
from jouleloop.optimum.result import SearchResult
from paths import ROOT

DEPTHS, WIDTHS, COLUMNS = [2048, 8192, 32768], [48, 192], [7, 14]
LAYER = "fc:256x128/batch4"


def space(**more: Any) -> dict[str, Any]:
    attributes = {"shared_glb.depth": DEPTHS, "weights_spad.depth": WIDTHS, "PE_column.meshX": COLUMNS}
    given = {"architecture": "eyeriss", "energy": ["interpolated"], "layer": LAYER, "attributes": attributes}
    return {key: value for key, value in {**given, **more}.items() if value is not None}


def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, *arguments: str) -> tuple[int, str, str]:
    monkeypatch.setattr("sys.argv", ["jouleloop", *arguments])
    with pytest.raises(SystemExit) as ended:
        main()
    captured = capsys.readouterr()
    return int(ended.value.code or 0), captured.out, captured.err


def each() -> dict[tuple[int, int, int], tuple[jl.Result, float]]:
    """Return the best mapping on every design, searched by itself, and the area."""
    base = jl.Architecture.read("eyeriss", energy="interpolated")
    found = {}
    for depth, width, columns in itertools.product(DEPTHS, WIDTHS, COLUMNS):
        changes = {"shared_glb.depth": depth, "weights_spad.depth": width, "PE_column.meshX": columns}
        one = base.with_(changes)
        found[depth, width, columns] = jl.search(one, LAYER), float(one.targets.costs.area_um2 or 0.0)
    return found


def test_the_best_of_all_designs_within_a_budget(tmp_path: Path) -> None:
    alone = each()
    most = sorted(area for _, area in alone.values())[6]
    found = jl.explore(space(budget={"area_mm2": most / 1e6}), store=tmp_path / "store")
    within = {place: result for place, (result, area) in alone.items() if area <= most}
    assert found.optimal
    assert found.value == min(result.energy_pj for result in within.values()) == found.lower_bound
    assert found.best is not None
    assert within[tuple(found.best.values())].energy_pj == found.value
    again = jl.search(found.best_architecture(), LAYER)
    assert again.energy_pj == found.value
    table = found.table()
    assert table["fate"].value_counts()["over_budget"] == len(alone) - len(within)
    for _, row in table.iterrows():
        result, area = alone[row["shared_glb.depth"], row["weights_spad.depth"], row["PE_column.meshX"]]
        assert row["area_um2"] == pytest.approx(area)
        if row["fate"] in ("best", "searched"):
            assert row["total_pj"] == result.energy_pj
        elif row["fate"] == "discarded":
            assert row["value_at_least"] <= result.energy_pj
            assert row["value_at_least"] >= found.value * (1 - 1e-9)
            assert row["reason"]
    assert found.searches > 0
    second = jl.explore(space(budget={"area_mm2": most / 1e6}), store=tmp_path / "store")
    assert (second.searches, second.best, second.value) == (0, found.best, found.value)


@pytest.mark.slow
def test_a_part_of_the_shipped_space_searched_design_by_design() -> None:
    shipped = yaml.safe_load((ROOT / "examples" / "eyeriss_space.yaml").read_text())
    part = {"shared_glb.depth": [8192, 16384, 32768], "weights_spad.depth": [48, 96], "psum_spad.depth": [4, 8, 32]}
    found = jl.explore(shipped | {"attributes": {**part, "PE_column.meshX": [14, 28]}})
    base = jl.Architecture.read("eyeriss", energy="interpolated")
    layers = sweeps_of("resnet50")[0].points
    energies = []
    for variant, (fate, bound, _) in zip(found.variants, found.fates, strict=True):
        hardware = base.with_(dict(variant))
        each = [(jl.search(hardware, point.layer), point.count) for point in layers]
        energies.append(sum(one.energy_pj * runs for one, runs in each) if all(one.ok for one, _ in each) else np.inf)
        assert bound <= energies[-1] * (1 + 1e-12)
        assert fate != "discarded" or energies[-1] >= found.value * (1 - 1e-12)
    assert found.value == pytest.approx(min(energies), rel=1e-12)


def test_a_front_of_designs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("space.yaml").write_text(yaml.safe_dump(space(objective="front")))
    files = ("--write-front", "front.csv", "--write-table", "designs.csv", "--write-figure", "front.svg")
    code, out, err = run(capsys, monkeypatch, "explore", "space.yaml", "--json", *files)
    assert code == 0, err
    data = json.loads(out)
    front = pd.read_csv("front.csv")
    assert len(front) == len(data["front"]) > 1
    assert sum(data["designs"].values()) == len(pd.read_csv("designs.csv")) == 12
    assert "area" in Path("front.svg").read_text(encoding="utf-8")
    code, _, err = run(capsys, monkeypatch, "explore", "space.yaml", "--write-figure", "front.html")
    assert code == 0, err
    page = Path("front.html").read_text(encoding="utf-8")
    assert "data:image/svg+xml;base64," in page
    assert all(escape(family["reason"]) in page for family in data["families"])
    assert page.count("<caption>") == 3
    points = list(zip(front["total_pj"], front["cycles"], front["area_um2"], strict=True))
    for one, other in itertools.permutations(points, 2):
        assert not all(a <= b for a, b in zip(one, other, strict=True))
    for result, area in each().values():
        assert any(e <= result.energy_pj * (1 + 1e-9) and c <= result.cycles and a <= area for e, c, a in points)


def test_a_network_and_a_stopped_exploration(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    layers = [{"name": "one", "kind": "fc", "count": 3, "sizes": {"C": 64, "M": 32}}]
    layers.append({"name": "two", "kind": "matmul", "count": 2, "sizes": {"M": 16, "N": 8, "K": 8}})
    Path("net.yaml").write_text(yaml.safe_dump({"layers": layers}))
    Path("space.yaml").write_text(yaml.safe_dump(space(layer=None, network="net.yaml", objective="delay")))
    code, out, err = run(capsys, monkeypatch, "explore", "space.yaml")
    assert code == 0, err
    assert "proven: every other design" in out
    best = jl.explore("space.yaml")
    fastest = [
        jl.search(best.best_architecture(), layer, objective="delay").cycles
        for layer in ("fc:64x32", "matmul:M16xN8xK8")
    ]
    assert best.value == 3 * fastest[0] + 2 * fastest[1]
    code, out, _ = run(capsys, monkeypatch, "explore", "space.yaml", "--seconds", "0", "--json")
    data = json.loads(out)
    assert data["stopped"] == "seconds"
    assert not data["optimal"]
    assert data["best"] is None or data["lower_bound"] <= data["value"]
    assert code == (1 if data["best"] is None else 0)


def test_faults_of_a_space_stand_together(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.yaml").write_text(yaml.safe_dump({**space(objective="edb"), "budgett": {}, "most_designs": 0}))
    code, _, err = run(capsys, monkeypatch, "explore", "a.yaml")
    assert code == 2
    assert "did you mean 'budget'" in err
    assert "objective" in err
    assert "most_designs" in err
    for given, said in (
        (space(attributes={"shared_glb.dept": [1, 2]}), "did you mean 'depth'"),
        (space(layer=None), "a layer or a network"),
        (space(attributes={"shared_glb.depth": {"start": 1, "stop": 10**6}}), "most_designs"),
        (space(attributes={"shared_glb.depth": {"start": 1, "stop": 2**52}}), "most_designs"),
        (space(attributes={"shared_glb.depth": {"start": 9, "stop": 1}}), "empty range"),
        (space(attributes={}), "attributes"),
        (space(attributes={"shared_glb.depth": []}), "shared_glb.depth: has too few entries; allowed: at least 1"),
        (space(budget={"area_mm2": "1e-6"}), "budget.area_mm2: must be a number (got '1e-6'); allowed: such as 2 or 1"),
        (space(budget={"area_mm2": -1}), "budget.area_mm2"),
        (space(budget={"area_mm2": 1e-6}), "takes more than the budget"),
        (space(energy=None, budget={"area_mm2": 5}, attributes={"shared_glb.datawidth": [16]}), "eyeriss"),
        (space(semantics="timeloop-5"), "timeloop-4"),
        (space(architecture="eyeris"), "b.yaml: architecture: unknown architecture"),
        (space(architecture="e" * 300), "b.yaml: architecture: unknown architecture"),
        (space(layer="fc:4x"), "b.yaml: layer: not INPUTSxOUTPUTS"),
        (space(energy=["interpolted"]), "b.yaml: energy: unknown energy estimator"),
    ):
        Path("b.yaml").write_text(yaml.safe_dump(given))
        code, out, err = run(capsys, monkeypatch, "explore", "b.yaml")
        if said != "eyeriss":
            assert code == 2, (given, out)
            assert said in err, (given, err)


def test_what_cannot_be_read_or_mapped_says_why(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("space.yaml").write_text(yaml.safe_dump(space(attributes={"shared_glb.depth": [2048, "many"]})))
    _, out, err = run(capsys, monkeypatch, "explore", "space.yaml")
    assert "1 invalid" in out
    assert "shared_glb.attributes.depth: must be a whole number (got 'many')" in err
    code, _, err = run(capsys, monkeypatch, "explore", "space.yaml", "--seconds", "0")
    assert code == 1
    assert "no design was found before the search stopped" in err
    depths = [2048, 10**7]
    found = jl.explore(space(attributes={"shared_glb.depth": depths, "psum_spad.depth": [16]}))
    fates = dict(zip(depths, [(fate, reason) for fate, _, reason in found.fates], strict=True))
    assert fates[2048][0] == "best"
    assert fates[10**7][0] == "invalid"
    assert "no estimator knows" in fates[10**7][1]
    none = jl.explore(
        {"architecture": "simba", "layer": "fc:97x32", "attributes": {"PEInputBuffer.depth": [512, 8192]}}
    )
    assert none.best is None
    assert {fate for fate, _, _ in none.fates} == {"no_mapping"}
    with pytest.raises(jl.InputError, match="no design"):
        none.best_architecture()


def test_an_interrupt_that_nothing_asked_for_leaves_what_was_found(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A signal raises where a search does not come to its next look in time."""
    search, calls = NativeEngine.search, itertools.count(1)

    def struck(self: NativeEngine, *given: Any) -> SearchResult:
        if next(calls) == whole.searches:
            raise KeyboardInterrupt
        return search(self, *given)

    (tmp_path / "space.yaml").write_text(yaml.safe_dump(space()))
    whole = jl.explore(tmp_path / "space.yaml")
    monkeypatch.setattr(NativeEngine, "search", struck)
    code, out, _ = run(capsys, monkeypatch, "explore", str(tmp_path / "space.yaml"), "--json")
    found = json.loads(out)
    assert (code, found["stopped"], found["optimal"]) == (130, "interrupt", False)
    assert found["run"]["searches"] == whole.searches - 1
    assert found["designs"]["best"] == 1
    assert found["value"] >= whole.value >= found["lower_bound"]
