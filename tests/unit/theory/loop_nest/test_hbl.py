"""HBL exponents: the tables of 001, known exponents of other nests, and what is refused."""

import itertools
from fractions import Fraction

import pytest

from jouleloop.errors import AssumptionError, InputError
from jouleloop.theory.commands import parse_values
from jouleloop.theory.loop_nest.hbl import LATTICE_LIMIT, HblResult, hbl_exponents
from jouleloop.theory.loop_nest.hbl_lattice import (
    RankProof,
    Subspace,
    certify,
    coordinate_subspace,
    generate_lattice,
    independent_axes,
    kernel,
    span,
)
from jouleloop.theory.loop_nest.nest import LoopNest
from jouleloop.theory.loop_nest.read import nest_from_data, parse_nest, read_loop_nest
from jouleloop.theory.simplex import minimise
from witnesses.rank_condition import satisfies

HALF = Fraction(1, 2)
INDICES = ["i1", "i2", "i3", "i4", "i5", "i6", "i7"]
# The table of 001 §3.1: H, rank, rank under φ_I, φ_F, φ_O.
PRINTED_TABLE = {
    ("C1", (1, 1, 0, 1)),
    ("C2", (1, 1, 1, 0)),
    ("C3", (1, 0, 1, 1)),
    ("C4", (1, 1, 0, 1)),
    ("C4", (1, 1, 1, 0)),
    ("C4", (1, 0, 1, 1)),
    ("C4", (2, 1, 1, 1)),
    ("C5", (1, 1, 0, 1)),
    ("C5", (1, 1, 1, 0)),
    ("C5", (1, 0, 1, 1)),
    ("C5", (2, 1, 1, 1)),
}


def kernels(nest: LoopNest) -> list[Subspace]:
    return [kernel(matrix, len(nest.loops)) for matrix in nest.arrays.values()]


def kernel_lattice(nest: LoopNest, *, lattice_limit: int = LATTICE_LIMIT) -> tuple[tuple[Subspace, ...], bool]:
    """Return the nonzero elements of Lattice(ker φ_j) itself, without splitting, and whether it is complete."""
    return generate_lattice(kernels(nest), lattice_limit)


def seven_nested_loops(stride_width, stride_height) -> LoopNest:
    return nest_from_data(
        {
            "loops": INDICES,
            "constants": {"sw": stride_width, "sh": stride_height},
            "arrays": {
                "I": ["i1", "i2", "sw*i4 + i6", "sh*i5 + i7"],
                "F": ["i2", "i3", "i6", "i7"],
                "O": ["i1", "i3", "i4", "i5"],
            },
        }
    )


@pytest.mark.parametrize("strides", [(1, 1), (2, 2), (3, 1), (2, 5)])
def test_convolution_table(strides):
    nest = seven_nested_loops(*strides)
    result = hbl_exponents(nest)
    assert result.complete
    assert independent_axes(kernels(nest), 7) == ((0,), (1,), (2,), (3, 5), (4, 6))
    assert len(result.constraints) == 11
    assert {(row.name[:2], (row.rank, *row.image_ranks)) for row in result.constraints} == PRINTED_TABLE
    assert len(result.distinct) == 4
    assert result.total == 2
    assert set(result.exponents.values()) == {Fraction(2, 3)}
    assert set(result.ranges.values()) == {(0, 1)}


def test_printed_order_of_the_fourth_family():
    # C4,1 along i4, C4,2 along i6, C4,3 along (1, −σ_w), C4,4 their sum.
    result = hbl_exponents(seven_nested_loops(2, 1))
    rows = {row.name: (row.rank, *row.image_ranks) for row in result.constraints}
    assert [rows[f"C4,{k}"] for k in (1, 2, 3, 4)] == [(1, 1, 0, 1), (1, 1, 1, 0), (1, 0, 1, 1), (2, 1, 1, 1)]
    third = next(row for row in result.constraints if row.name == "C4,3").subgroup
    assert third == span([(0, 0, 0, 1, 0, -2, 0)], 7)


@pytest.mark.slow
def test_the_kernels_alone_generate_fourteen_nonzero_subgroups():
    # 001 §2.3 speaks of hundreds: those are the sums over the five families, 2·2·2·5·5 = 200 with {0}. Three subspaces
    # generate at most 28 (the free modular lattice on three generators), here 15 with {0}.
    nest = seven_nested_loops(2, 2)
    elements, complete = kernel_lattice(nest)
    assert complete
    assert len(elements) <= 28
    families = [coordinate_subspace([axis], 7) for axis in (0, 1, 2)]
    assert all(element.rank for element in elements)
    generators = [
        *families,
        *(span([v], 7) for v in ((0, 0, 0, 1, 0, 0, 0), (0, 0, 0, 0, 0, 1, 0), (0, 0, 0, 1, 0, -2, 0))),
        *(span([v], 7) for v in ((0, 0, 0, 0, 1, 0, 0), (0, 0, 0, 0, 0, 0, 1), (0, 0, 0, 0, 1, 0, -2))),
    ]
    everything, closed = generate_lattice(generators, 1000)
    assert closed
    assert len(everything) + 1 == 2 * 2 * 2 * 5 * 5


def test_small_filter_lift():
    result = hbl_exponents(parse_nest("I[i1,i2,i4,r6,i5,r7] F[i2,i3,r6,r7] O[i1,i3,i4,i5]"))
    assert result.exponents == {"I": HALF, "F": HALF, "O": HALF}
    assert all(low == high == HALF for low, high in result.ranges.values())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ik,kj->ij", [HALF] * 3),  # matrix product: Loomis–Whitney
        ("C[i,j] += A[i,k] * B[k,j]", [HALF] * 3),
        ("ijk,k->ij", [1, 0, 0]),  # the cube of indices is an array already
        ("i,i->i", [Fraction(1, 3)] * 3),
        ("i,j->ij", [0, 0, 1]),
        ("ij,ij->", [HALF, HALF, 0]),  # a sum over everything
        ("F[i] P[i] Q[j]", None),  # n-body: total 2
        ("A[i,j] B[j,k] C[k,l] D[l,i]", [HALF] * 4),
        ("A1[i,j,k] A2[j,k,l] A3[k,l,i] A4[l,i,j]", [Fraction(1, 3)] * 4),  # Loomis–Whitney in four dimensions
        ("A(x+y) B(x) C(y)", [Fraction(2, 3)] * 3),  # one-dimensional convolution: total 2
        ("A[i+k] B[i] C[k] D[i-k]", [HALF] * 4),
    ],
)
def test_known_exponents(text, expected):
    result = hbl_exponents(parse_nest(text))
    assert result.complete
    if expected is None:
        assert result.total == 2
    else:
        assert list(result.exponents.values()) == expected


def test_the_whole_space_is_needed_beside_the_lattice_of_kernels():
    # 001 Proposition 2.5 as printed: with one injective array the lattice of kernels is {0}, every s satisfies it, and
    # s = 0 would give |V| <= 1.
    nest = parse_nest("A[i]")
    elements, _ = kernel_lattice(nest)
    assert elements == ()
    assert hbl_exponents(nest).exponents == {"A": 1}
    two = parse_nest("A[i,j] B[i]")
    assert not any(element.rank == 2 for element in kernel_lattice(two)[0])
    assert hbl_exponents(two).total == 1


INFINITE = [
    # Five maps of rank two on three loops: their kernels are five lines, which generate infinitely many subspaces.
    ("A[i,j] B[j,k] C[i,k] D[i-j,j-k] E[i-2*j,j-3*k]", Fraction(3, 2)),
    # Four maps to one dimension: four planes in general position do the same.
    ("A[i] B[j] C[k] D[i+j+k]", 3),
]


@pytest.mark.parametrize(("text", "total"), INFINITE)
@pytest.mark.parametrize("limit", [8, 40])
def test_exponents_are_proven_where_the_lattice_does_not_end(text, total, limit):
    nest = parse_nest(text)
    assert not kernel_lattice(nest, lattice_limit=limit)[1]
    result = hbl_exponents(nest, lattice_limit=limit)
    assert not result.closed
    assert result.complete
    assert result.total == total
    # Whatever was not enumerated holds too: all lines and planes with small coefficients.
    lines = [span([v], 3) for v in itertools.product(range(-3, 4), repeat=3) if any(v)]
    planes = [kernel([v], 3) for v in itertools.product(range(-3, 4), repeat=3) if any(v)]
    assert all(satisfies(nest, result.exponents, subspace) for subspace in lines + planes)


def test_what_is_neither_closed_nor_proven_is_reported(monkeypatch):
    monkeypatch.setattr("jouleloop.theory.loop_nest.hbl.certify", lambda *_: RankProof(proven=False))
    result = hbl_exponents(parse_nest(INFINITE[0][0]), lattice_limit=10)
    assert not result.complete
    assert not any(bound.assumptions_hold for bound in result.bounds())


def test_certificate_finds_a_violated_subgroup():
    nest = parse_nest("ik,kj->ij")
    third = dict.fromkeys(nest.arrays, Fraction(1, 3))
    space = coordinate_subspace(range(3), 3)
    verdict = certify(nest.arrays, third, space)
    assert not verdict.proven
    assert not satisfies(nest, third, verdict.violated)
    assert certify(nest.arrays, dict.fromkeys(nest.arrays, HALF), space).proven
    assert certify(nest.arrays, {"in1": Fraction(1), "in2": Fraction(1), "out": Fraction(0)}, space).proven


def test_constraint_multipliers_prove_the_sum():
    result: HblResult = hbl_exponents(seven_nested_loops(1, 1))
    ranks = [rank for rank, _ in result.distinct]
    value = sum(y * rank for y, rank in zip(result.multipliers, ranks, strict=False))
    caps = sum(result.multipliers[len(ranks) :], Fraction())
    assert value - caps == result.total


@pytest.mark.parametrize(
    ("text", "error", "word"),
    [
        ("A[i] B[i*j]", InputError, "not affine"),
        ("A[i/2]", InputError, "affine"),
        ("A[i] B[", InputError, "cannot be read"),
        ("A[i] A[j]", InputError, "two different"),
        ("", InputError, "no array access"),
        ("i2,j->i", InputError, "einsum"),
        ("A[i,,j]", InputError, "subscript"),
        ("A[1.5*i]", InputError, "affine"),
        ("A[i+j]", AssumptionError, "changes no subscript"),
        ("A[i-i]", AssumptionError, "used by no array"),
        ("A[] B[]", InputError, "at least one loop"),
    ],
)
def test_bad_nests_are_refused(text, error, word):
    with pytest.raises(error, match=word):
        parse_nest(text)


def test_yaml_shapes(tmp_path):
    matrices = nest_from_data({"loops": ["i", "k"], "arrays": {"A": {"matrix": [[1, 2]]}, "B": ["k"], "C": ["i"]}})
    assert matrices.arrays == {"A": ((1, 2),), "B": ((0, 1),), "C": ((1, 0),)}
    path = tmp_path / "nest.yaml"
    path.write_text("arrays: {A: [i, 's*k'], B: [k]}\n")
    assert read_loop_nest(None, path, {"s": 3})[0].arrays["A"] == ((1, 0), (0, 3))
    path.write_text("arrays: {A: {rows: 3}}\nloop: [i]\nconstants: {s: x}\n")
    with pytest.raises(InputError) as caught:
        read_loop_nest(None, path, {})
    assert len(caught.value.faults) == 3
    assert all(str(path) in str(fault) for fault in caught.value.faults)
    with pytest.raises(InputError, match="either"):
        read_loop_nest(None, None, {})
    with pytest.raises(InputError, match="'arrays'"):
        nest_from_data([1])
    with pytest.raises(AssumptionError, match="used by no array"):
        nest_from_data({"loops": ["i", "j"], "arrays": {"A": ["i"]}})
    assert parse_values(["sw=2", "b = -1"], "--let") == {"sw": 2, "b": -1}
    with pytest.raises(InputError, match="NAME=INTEGER"):
        parse_values(["sw"], "--let")


def test_written_multiples():
    assert parse_nest("A[2i - 3·j + 1, j]").arrays == {"A": ((2, -3), (0, 1))}
    assert parse_nest("A[-(i - 2*k), k]").arrays == {"A": ((-1, 2), (0, 1))}


def test_exact_program_refuses_what_has_no_solution():
    with pytest.raises(AssumptionError, match="no feasible point"):
        minimise([1], [[1], [-1]], [2, -1])
    assert kernel([(1, 1)], 2) == span([(1, -1)], 2)
    assert satisfies(parse_nest("A[i]"), {"A": Fraction(1)}, coordinate_subspace((0,), 1))
