"""Constraints of a convolution read for other shapes: by hand, and by the optima of problems that are the same."""

from typing import Any

import pytest

from jouleloop.api.project import load_target
from jouleloop.engines.native import NativeEngine
from jouleloop.errors import Fault, InputError
from jouleloop.mapspace.constraints import Constraints, LevelConstraints, LoopConstraint
from jouleloop.mapspace.plays import Roles, play, read_roles
from jouleloop.workload.kinds import GROUPED_CONV, kind_named
from jouleloop.workload.sizes import parse_layer

MATMUL = kind_named("matmul").reduced
BATCHED = kind_named("matmul").shape
ROLES = Roles({"M": ("M",), "K": ("C",), "N": ("P", "Q")}, {"A": "Weights", "B": "Inputs", "Z": "Outputs"})


def played(**loops: Any) -> LoopConstraint:
    """The spatial constraint of a matrix product for one of a convolution."""
    given = Constraints("conv", {"L": LevelConstraints(spatial=LoopConstraint(**loops))})
    return play(given, ROLES, BATCHED, GROUPED_CONV).level("L").spatial


def test_factors_of_what_is_played() -> None:
    assert played(factors={"C": 4, "M": 0, "R": 3}).factors == {"K": 4, "M": 0}
    # N plays P and Q: fixed where both are, open where one is.
    assert played(factors={"P": 2, "Q": 3}).factors == {"N": 6}
    assert played(factors={"P": 1, "Q": 0}).factors == {"N": 0}
    assert played(factors={"P": 1}).factors == {}
    limited = played(factors={"P": 2}, max_factors={"Q": 3, "C": 8}, min_factors={"Q": 2})
    assert (limited.max_factors, limited.min_factors) == ({"N": 6, "K": 8}, {"N": 4})


def test_places_in_permutations() -> None:
    # Eyeriss, DummyBuffer: N P Q R along X; S C M along Y. Of those, N's place is that of P.
    loops = played(permutation=tuple("NPQRSCM"), split=4, factors={"N": 1, "P": 1, "Q": 1, "R": 1, "S": 0})
    assert (loops.permutation, loops.split, loops.factors) == (("N", "K", "M"), 1, {"N": 1})
    # Where P may not loop, N stands where Q stands.
    assert played(permutation=tuple("PCMQ"), factors={"P": 1}).permutation == ("K", "M", "N")
    assert played(permutation=tuple("PCMQ")).permutation == ("N", "K", "M")
    outer = played(permutation=("C",), outer_permutation=("P", "M"))
    assert (outer.permutation, outer.outer_permutation) == (("K",), ("N", "M"))


def test_tensors_take_places() -> None:
    given = Constraints("conv", {"L": LevelConstraints(keep=frozenset({"Weights"}), bypass=frozenset({"Outputs"}))})
    level = play(given, ROLES, BATCHED, GROUPED_CONV).level("L")
    assert (level.keep, level.bypass) == ({"A"}, {"Z"})


@pytest.mark.parametrize("architecture", ["eyeriss", "simba"])
@pytest.mark.parametrize(("m", "n", "k"), [(64, 32, 16), (8, 12, 20), (100, 1, 36), (4, 60, 4)])
def test_a_matrix_product_is_a_convolution_of_one_row_of_pixels(architecture: str, m: int, n: int, k: int) -> None:
    energies = []
    for text in (f"matmul:M{m}xN{n}xK{k}", f"conv:C{k}xM{m}xP1xQ{n}xR1xS1", f"batched_matmul:H1xM{m}xN{n}xK{k}"):
        problem = parse_layer(text).problem()
        target = load_target(architecture, semantics="timeloop-3.0.3", shape=problem.shape).for_shape(problem.shape)
        result = NativeEngine().search(problem, target)
        assert result.optimal
        assert result.evaluation is not None
        energies.append(result.evaluation.energy_pj)
    assert energies[0] == energies[1] == energies[2]


BAD: dict[str, tuple[Any, str]] = {
    "a data space without a place": (
        {"dimensions": {"M": "M"}, "data_spaces": {"A": "Weights", "B": "Inputs"}},
        "says of a data space not whose place it takes .*'Z'",
    ),
    "an unknown dimension": (
        {"dimensions": {"M": "MM"}, "data_spaces": ROLES.data_spaces},
        r"shapes.x.dimensions.M: unknown dimension .*'MM'",
    ),
    "an unknown tensor": (
        {"data_spaces": ROLES.data_spaces | {"A": "Weight"}},
        r"data_spaces.A: unknown data space .*did you mean 'Weights'",
    ),
    "an unknown key": ({"dimension": {}, "data_spaces": ROLES.data_spaces}, "unknown key.*did you mean 'dimensions'"),
    "no mapping": ([1], "must be keys with values"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_rules(case: str) -> None:
    entry, message = BAD[case]
    faults: list[Fault] = []
    read_roles(entry, "shapes.x", MATMUL, GROUPED_CONV, faults)
    with pytest.raises(InputError, match=message):
        raise InputError(faults)


def test_a_shape_without_a_rule_is_told_what_is_missing() -> None:
    target = load_target("eyeriss", semantics="timeloop-3.0.3")
    shape = MATMUL.less("K", "outer_product")
    with pytest.raises(InputError, match=r"not written for the shape 'outer_product'.*shapes: {outer_product: "):
        target.for_shape(shape)
