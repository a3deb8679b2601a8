"""What is of the wrong kind altogether, as a first notebook has it: an `InputError` that names the parameter."""

import re
from collections.abc import Callable

import pandas as pd
import pytest

import jouleloop as jl
from jouleloop.api.hardware import Architecture
from jouleloop.errors import InputError

LAYER = "fc:64x32"
CASES: dict[str, tuple[Callable[[], object], str]] = {
    "no objective": (lambda: jl.search("eyeriss", LAYER, objective=None), "^objective: must be a text or a list"),  # type: ignore[arg-type]
    "budget as text": (lambda: jl.search("eyeriss", LAYER, budget="10"), "^budget: must be a whole number .*'10'"),  # type: ignore[arg-type]
    "seconds as text": (lambda: jl.search("eyeriss", LAYER, seconds="1"), "^seconds: must be a number .*'1'"),  # type: ignore[arg-type]
    "seconds that are no number": (lambda: jl.search("eyeriss", LAYER, seconds=float("nan")), "^seconds: must not be"),
    "no architectures": (lambda: jl.sweep("fc_inputs", []), "^architectures: are none"),
    "no layers": (lambda: jl.sweep([], "eyeriss"), "^layers: are no layers"),
    "no space": (lambda: jl.explore(5), "^space: is no space"),  # type: ignore[arg-type]
    "no layer of a front": (lambda: jl.front("eyeriss", 5), "^layer: is no layer"),  # type: ignore[arg-type]
    "another table": (lambda: jl.laws(pd.DataFrame({"a": [1]})), "^layers: has no such column.*'architecture'"),
    "no such level": (
        lambda: Architecture.read("eyeriss").level("glb"),
        "^name: unknown storage level .*shared_glb",
    ),
    "a number of energies": (lambda: Architecture.read("eyeriss", energy=3), "^energy: is of another kind"),  # type: ignore[arg-type]
    "a number of changes": (lambda: Architecture.read("eyeriss", changes=3), "^changes: is of another kind"),  # type: ignore[arg-type]
    "a number of variables": (lambda: Architecture.read("eyeriss", variables=3), "^variables: is of another"),  # type: ignore[arg-type]
    "a number of a level": (lambda: jl.curve("eyeriss", LAYER, level=3), "^level: unknown level .*got 3"),  # type: ignore[arg-type]
    "a number of a chain": (lambda: jl.chain("eyeriss", 3), "^layers: is no chain"),  # type: ignore[arg-type]
    "a number of a text": (lambda: jl.parse_layer(3), "^not a layer .*got 3"),  # type: ignore[arg-type]
    "no mapping": (lambda: jl.evaluate("eyeriss", LAYER, None), "^mapping: is no mapping"),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("case", CASES)
def test_the_parameter_is_named(case: str) -> None:
    call, message = CASES[case]
    with pytest.raises(InputError) as raised:
        call()
    assert re.search(message, str(raised.value)), str(raised.value)
