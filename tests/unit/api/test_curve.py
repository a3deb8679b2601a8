"""``jl.curve``: what it returns, and what it refuses."""

from dataclasses import replace
from pathlib import Path

import pytest

import jouleloop as jl
from jouleloop.api.curves import SCHEMA


def test_a_curve_of_a_design() -> None:
    told: list[int] = []
    curve = jl.curve("eyeriss", "fc:64x32", progress=lambda steps, _: told.append(steps))
    assert curve.level == "shared_glb"
    assert curve.proven
    assert curve.largest_words == curve.steps[-1].words
    assert told[-1] == len(curve.steps)
    assert curve.unit == "pJ"
    assert "proven" in repr(curve)
    assert curve.as_dict()["schema"] == SCHEMA
    assert "<table>" in curve._repr_html_()
    table = curve.table()
    assert list(table["words"]) == sorted(table["words"])
    assert (table["value"] == table["total_pj"]).all()
    step = curve.steps[3]
    one = jl.search(jl.Architecture.read("eyeriss").with_({"shared_glb.entries": step.capacity_words}), "fc:64x32")
    assert one.energy_pj == pytest.approx(step.value, rel=1e-9)
    again = curve.result(step)
    assert again.energy_pj == pytest.approx(step.value, rel=1e-9)
    assert again.architecture.level("shared_glb").capacity_words == step.capacity_words


def test_accesses_are_words() -> None:
    hardware = jl.Architecture.read("eyeriss", energy="counts")
    curve = jl.curve(hardware, "fc:64x32", steps=2)
    assert curve.unit == "words"
    assert "total_access_words" in curve.table().columns


def test_a_curve_that_no_capacity_helps_is_drawn_from_one_word_on(tmp_path: Path) -> None:
    hardware = jl.Architecture.read("two_levels", energy="counts")
    network = tmp_path / "net.yaml"
    network.write_text("layers: [{name: one, kind: fc, sizes: {C: 16, M: 16}}]")
    for curve in (jl.curve(hardware, "fc:16x16"), jl.network_curve(hardware, network)):
        assert [step.words for step in curve.steps] == [0]
        axes = curve.plot()
        axes.figure.canvas.draw()
        assert list(axes.lines[0].get_xdata()) == [1, 4]


def test_a_step_that_is_not_proven_has_no_certificate() -> None:
    curve = jl.curve("two_levels", "matmul:M4xN4xK4", steps=1)
    assert curve.certificate(curve.steps[0])["value"] == curve.steps[0].value
    with pytest.raises(jl.InputError, match="not proven"):
        curve.certificate(replace(curve.steps[0], optimal=False))


def test_all_that_is_wrong_is_named_at_once(tmp_path: Path) -> None:
    with pytest.raises(jl.InputError) as wrong:
        jl.curve("two_levels", "fc:4x4", least_words=-1, most_words=2.5, steps=0, seconds="x")  # type: ignore[arg-type]
    assert [fault.source for fault in wrong.value.faults] == ["least_words", "most_words", "steps", "seconds"]
    (tmp_path / "store.json").write_text("{")
    with pytest.raises(jl.InputError, match=r"store\.json"):
        jl.curve("two_levels", "fc:4x4", store=tmp_path / "store.json")
