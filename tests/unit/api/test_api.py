"""The Python API: what it returns, what it loads, where it finds its files, and that it is what it says it is."""

import inspect
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import jouleloop as jl
from jouleloop.api.project import own_root, roots, shipped_root
from jouleloop.api.schema import ResultData
from jouleloop.api.start import write_study
from jouleloop.model.arrays import Records
from jouleloop.optimum.limit import Watch
from paths import ROOT


@pytest.fixture(scope="module")
def found() -> jl.Result:
    return jl.search("eyeriss", "fc:64x32")


def test_every_name_is_there_and_documented() -> None:
    assert sorted(jl.__all__) == jl.__all__
    for name in jl.__all__:
        value = getattr(jl, name)
        assert name.startswith("__") or inspect.getdoc(value), name
    with pytest.raises(AttributeError, match="has no attribute 'serach'"):
        jl.serach  # type: ignore[attr-defined]  # noqa: B018


def test_importing_loads_nothing_heavy() -> None:
    code = "import sys, jouleloop as jl; dir(jl); print([m for m in ('numpy', 'numba', 'pandas') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_function_search_is_not_hidden_by_the_package_of_its_name() -> None:
    code = (
        "import jouleloop.optimum.result, jouleloop as jl, inspect; from jouleloop.optimum.optimise import TIE; "
        "print(callable(jl.search), 'layer' in inspect.signature(jl.search).parameters, TIE > 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True", "True", "True"]


def test_a_search_proves_its_optimum(found: jl.Result) -> None:
    assert found.ok
    assert found.optimal
    assert found.gap == 0
    assert found.lower_bound == pytest.approx(found.energy_pj, rel=1e-12)
    assert (
        repr(found)
        == f"<Result fc:64x32 on eyeriss: {found.energy_pj:,.0f} pJ, {found.cycles:,} cycles, proven optimal>"
    )
    assert found.breakdown()["energy_pj"].sum() == pytest.approx(found.energy_pj, rel=1e-12)
    assert "proven optimal" in found._repr_html_()


def test_a_mapping_costs_what_the_search_says(found: jl.Result, tmp_path: Path) -> None:
    path = tmp_path / "mapping.yaml"
    path.write_text(found.to_timeloop())
    for mapping in (found.mapping, path):
        again = jl.evaluate("eyeriss", "fc:64x32", mapping)
        assert again.evaluation == found.evaluation
        assert again.gap is None
        assert not again.optimal


def test_the_plain_form_follows_its_schema(found: jl.Result) -> None:
    for result in (found, jl.evaluate("eyeriss", "fc:64x32", found.mapping), jl.search("simba", "fc:97x89")):
        ResultData.model_validate_json(json.dumps(result.as_dict()), strict=True)
    other = jl.search("eyeriss", "fc:64x32").as_dict()
    first = found.as_dict()
    assert first.pop("run").keys() == other.pop("run").keys()
    assert first == other


def test_a_layer_without_a_mapping_says_why() -> None:
    result = jl.search("simba", "fc:97x89")
    assert not result.ok
    assert "97 is not divisible" in result.reason
    with pytest.raises(jl.MappingError, match="97 is not divisible"):
        _ = result.energy_pj
    assert jl.search("simba", "fc:97x89", constraints="arch-only").ok


def test_an_architecture_with_changes() -> None:
    eyeriss = jl.Architecture.read("eyeriss")
    small = eyeriss.with_({"shared_glb.depth": 8192})
    assert small.level("shared_glb").capacity_words == eyeriss.level("shared_glb").capacity_words / 2
    assert eyeriss.with_(constraints="none").files.constraints is None
    estimated = eyeriss.with_(energy="interpolated").energies()
    assert set(estimated["estimator"]) == {"interpolated"}
    per_word = estimated["energy_pj"] / estimated["words"]
    assert (per_word == estimated["energy_pj_per_word"]).all()
    assert "shared_glb.depth=8192" in repr(small)
    assert "shared_glb" in small._repr_html_()
    with pytest.raises(jl.InputError, match=r"did you mean 'eyeriss'"):
        jl.Architecture.read("eyerisss")


def test_a_sweep_is_a_table(tmp_path: Path) -> None:
    layers = ["fc:64x32", "fc:32x32"]
    table = jl.sweep(layers, ["eyeriss", "simba"], store=tmp_path / "store")
    assert list(zip(table["architecture"], table["layer"], strict=True)) == [
        (arch, layer) for arch in ("eyeriss", "simba") for layer in layers
    ]
    assert table["optimal"].all()
    assert table["total_pj"][0] == pytest.approx(jl.search("eyeriss", "fc:64x32").energy_pj, rel=1e-12)
    counts: list[tuple[int, int]] = []
    data = {"kind": "fc", "fixed": {"M": 32}, "ranges": {"C": [32, 64]}, "variable": "C", "expected": "linear"}
    again = jl.sweep(data, "eyeriss", store=tmp_path / "store", progress=lambda old, new: counts.append((old, new)))
    assert counts == [(2, 0)]
    assert sorted(again["total_pj"]) == sorted(table["total_pj"][:2])


@pytest.mark.parametrize("layer", ["fc:64x32", "conv:C4xM8xP14xQ14xR3xS3", "conv:C2xM2xP6xQ6xR3xS3/groups4"])
def test_no_mapping_is_below_the_bounds(layer: str) -> None:
    known = jl.bounds("eyeriss", layer)
    result = jl.search("eyeriss", layer, constraints="arch-only")
    dram = result.breakdown().query("level == 'DRAM'")
    words = (dram["reads"] + dram["fills"] + dram["updates"]).sum()
    assert known.dram_words <= words
    assert 0 < known.energy_pj <= result.energy_pj
    assert known.papers


def test_a_plot_stacks_the_whole_energy(found: jl.Result) -> None:
    panel = found.plot()
    assert sum(bar.get_width() for bar in panel.patches) == pytest.approx(found.energy_pj, rel=1e-9)  # type: ignore[attr-defined]
    names = [label.get_text() for label in panel.get_yticklabels()]
    drawn = dict.fromkeys(names, 0.0)
    for bar in panel.patches:
        drawn[names[round(bar.get_y() + bar.get_height() / 2)]] += bar.get_width()  # type: ignore[attr-defined]
    by_level = found.breakdown().groupby("level")["energy_pj"].sum()
    assert drawn == {name: pytest.approx(by_level[name], rel=1e-9) for name in names}
    panel.figure.clear()


def test_a_mapping_is_drawn_level_by_level(found: jl.Result, tmp_path: Path) -> None:
    axes = found.plot("mapping")
    texts = [text.get_text() for text in axes.texts]
    assert found.mapping is not None
    for level in found.mapping.levels:
        assert level.level in texts
        assert "for " + " ".join(f"{d}:{bound:,}" for d, bound in level.temporal) in texts or not level.temporal
        for dimension, bound, axis in level.spatial:
            assert any(text.startswith("in parallel") and f"{dimension}:{bound} on {axis}" in text for text in texts)
    for level in found.counts.levels:
        for space, stats in level.data.items():
            assert f"{space} {stats.tile_words:,}" in texts
    shares = [float(text[:-1]) for text in texts if re.fullmatch(r"[\d.]+%", text)]
    assert sum(shares) == pytest.approx(100, abs=0.05 * len(shares))
    axes.figure.savefig(tmp_path / "mapping.svg")
    assert "<svg" in (tmp_path / "mapping.svg").read_text(encoding="utf-8")
    with pytest.raises(jl.InputError, match=r"unknown picture.*'mapping'"):
        found.plot("maping")


def test_names_are_found_in_any_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert own_root() is None
    assert roots() == (shipped_root(),) == (ROOT,)
    assert {"eyeriss", "simba"} <= set(jl.architecture_names())
    assert len(jl.sweep("fc_inputs", "eyeriss").index) == 32


def test_the_own_project_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    study = tmp_path / "study"
    write_study(study)
    monkeypatch.chdir(study)
    changed = study / "arch" / "eyeriss.yaml"
    changed.write_text(changed.read_text().replace("depth: 16384", "depth: 8192"))
    assert jl.Architecture.read("eyeriss").files.arch == changed
    assert jl.Architecture.read("eyeriss").level("shared_glb").capacity_words == 32768
    (study / "arch" / "gemmini.yaml").unlink()
    assert jl.Architecture.read("gemmini").files.arch == ROOT / "arch" / "gemmini.yaml"
    with pytest.raises(jl.InputError, match="there already"):
        write_study(study)


def test_a_transformer_is_swept_product_by_product() -> None:
    block = {"width": 32, "heads": 2, "sequence": {"start": 8, "stop": 16, "step": 8}}
    found = jl.sweep(
        {"name": "tiny", "transformer": block, "expected": {"query": "linear", "scores": "quadratic"}}, "simba"
    )
    assert list(found["sweep"]) == ["tiny_query"] * 2 + ["tiny_scores"] * 2
    assert list(found["sequence"]) == [8, 16, 8, 16]
    assert found["optimal"].all()


@pytest.fixture
def struck(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Strike Ctrl-C when a search first looks whether to stop."""
    before, looks = Watch.stopped, 0

    def stopped(watch: Watch, counters: Records) -> str:
        nonlocal looks
        looks += 1
        if looks == 1:
            os.kill(os.getpid(), signal.SIGINT)
        return before(watch, counters)

    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        monkeypatch.setattr(Watch, "stopped", stopped)
        yield
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, handler)


@pytest.mark.usefixtures("struck")
def test_ctrl_c_raises_the_steps_of_a_curve() -> None:
    with pytest.raises(jl.Interrupted) as raised:
        jl.curve("simba", "fc:48x32", "GlobalBuffer")
    result = raised.value.result
    assert isinstance(result, jl.Curve)
    assert result.stopped == "interrupt"


@pytest.mark.usefixtures("struck")
def test_ctrl_c_raises_what_was_found() -> None:
    with pytest.raises(jl.Interrupted) as raised:
        jl.search("simba", "fc:48x32")
    result = raised.value.result
    assert isinstance(result, jl.Result)
    assert result.mapping is not None
    assert result.search is not None
    assert result.search.stopped == "interrupt"
    assert 0 < result.search.lower_bound <= result.energy_pj
    assert result.optimal == (result.search.lower_bound == result.energy_pj)
    assert isinstance(raised.value, KeyboardInterrupt)
