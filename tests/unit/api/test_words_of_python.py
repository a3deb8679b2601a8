"""What the API says: parameters, not options, and everything that is wrong at once."""

import pytest

import jouleloop as jl
from jouleloop.cli import main


def fault_of(*arguments: object, call: object = jl.search, **named: object) -> str:
    with pytest.raises(jl.InputError) as raised:
        call(*arguments, **named)  # type: ignore[operator]
    return str(raised.value)


@pytest.mark.parametrize(
    ("arguments", "named", "said"),
    [
        (("eyeris", "fc:4x4"), {}, "architecture: unknown architecture (got 'eyeris')"),
        (("eyeriss", "fc:4x"), {}, "layer: "),
        (("eyeriss", None), {}, "layer: is no layer"),
        (("eyeriss", "fc:4x4"), {"constraints": "ful"}, "constraints: unknown set of constraints"),
        (("eyeriss", "fc:4x4"), {"objective": "enrgy"}, "objective: unknown objective"),
        (("eyeriss", "fc:4x4"), {"seconds": -1}, "seconds: must not be negative (got -1)"),
        (("eyeriss", "fc:4x4"), {"seconds": float("nan")}, "seconds: must not be negative"),
        (("eyeriss", "fc:4x4"), {"budget": 0}, "budget: must be at least 1 (got 0)"),
    ],
)
def test_errors_name_parameters(arguments: tuple[object, ...], named: dict[str, object], said: str) -> None:
    text = fault_of(*arguments, **named)
    assert text.startswith(said)
    assert "--" not in text


def test_commands_name_options(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    for arguments, option in (
        (("--arch", "eyeris", "--layer", "fc:4x4"), "--arch"),
        (("--arch", "eyeriss", "--layer", "fc:4x"), "--layer"),
        (("--arch", "eyeriss", "--layer", "fc:4x4", "--objective", "e"), "--objective"),
    ):
        monkeypatch.setattr("sys.argv", ["jouleloop", "map", *arguments])
        with pytest.raises(SystemExit):
            main()
        assert capsys.readouterr().err.startswith(f"error: {option}: ")


def test_a_sweep_tells_all_that_is_wrong() -> None:
    layers = ["fc:4x4", "fc:x", "gc:4x4"]
    text = fault_of(layers, ["eyeris", "eyeriss", "simb"], call=jl.sweep, objective="e", budget=0)
    for part in ("'x'", "'gc:4x4'", "'eyeris'", "'simb'", "unknown objective", "at least 1"):
        assert part in text
    assert len(text.splitlines()) == 6


def test_a_sweep_that_tests_what_there_is_not_is_refused() -> None:
    """As the command and the workflow refuse it; laws of it would be about nothing."""
    odd = {"kind": "fc", "fixed": {"M": 4}, "ranges": {"C": [2, 4]}, "variable": "X", "expected": "cubic?"}
    for ask in (jl.sweep, jl.laws):
        with pytest.raises(jl.InputError) as caught:
            ask(odd, "eyeriss")
        said = str(caught.value)
        assert "layers: variable: unknown column (got 'X')" in said
        assert "layers: expected: unknown growth (got 'cubic?')" in said
        assert said.count("did you mean 'cubic'?") == 1


def test_what_a_sweep_tests_is_told_together_with_its_sizes() -> None:
    odd = {"kind": "fc", "fixed": {"M": -1}, "ranges": {"C": [2, 4]}, "variable": "X", "expected": "cubic?"}
    text = fault_of(odd, "eyeriss", call=jl.sweep)
    for part in ("(got -1)", "unknown column (got 'X')", "unknown growth (got 'cubic?')"):
        assert part in text


def test_the_content_of_a_sweep_is_the_parameter() -> None:
    text = fault_of({"kind": "fcc", "variable": "C", "expected": "linear"}, "eyeriss", call=jl.sweep)
    assert text.startswith("layers: kind: unknown choice (got 'fcc')")


@pytest.mark.parametrize(("layer", "said"), [(None, "is no layer"), ("cnov:C3", "not a layer (got 'cnov:C3')")])
def test_bounds_name_the_layer_once(layer: object, said: str) -> None:
    assert fault_of("eyeriss", layer, call=jl.bounds).startswith(f"layer: {said}")


def test_a_network_that_is_none_has_a_nearest_name() -> None:
    text = fault_of("resnet5", "eyeriss", call=jl.sweep)
    assert text.startswith("layers: unknown sweep or network (got 'resnet5')")
    assert text.endswith("did you mean 'resnet50'?")


def test_laws_take_what_a_sweep_returns() -> None:
    layers = ["fc:64x64", "fc:128x64", "fc:256x64"]
    table = jl.sweep(layers, ["eyeriss", "simba"])
    found = jl.laws(table)
    assert list(dict.fromkeys(found["architecture"])) == ["eyeriss", "simba"]
    assert found.equals(jl.laws(layers, ["eyeriss", "simba"]))
    assert "architectures: is missing" in fault_of(layers, call=jl.laws)
