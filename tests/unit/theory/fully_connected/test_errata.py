"""Statements of the papers that docs/errata.md refutes by a computation of its own, each computed here."""

import itertools
from fractions import Fraction

import numpy as np
import pytest

from jouleloop.theory.fully_connected.divisible import least_accesses
from jouleloop.theory.fully_connected.exact import count_bound
from jouleloop.theory.fully_connected.formulas import FcLayer, lower_bound_accesses


def layers_of_section_3(largest):
    """Every (n, m, β) that meets all assumptions of 002 section 3."""
    for n in range(1, largest + 1):
        for m in range(1, n + 1):
            for beta in range(3, m + 2):
                if m % (beta - 1) == 0 and 2 * n > (beta - 1) * (beta - 2):
                    yield n, m, beta


def test_002_what_is_proven_without_assumptions_is_often_below_eq_19():
    layers = list(layers_of_section_3(20))
    below = [layer for layer in layers if count_bound(*layer) < lower_bound_accesses(FcLayer(*layer))]
    assert (len(layers), len(below)) == (244, 71)


def test_002_eq_19_follows_from_the_theorem_up_to_16_outputs():
    for n, m, beta in layers_of_section_3(60):
        if m <= 16:
            assert lower_bound_accesses(FcLayer(n, m, beta)) <= least_accesses(n, m, beta)


def test_001_pairwise_independence_is_not_enough():
    """φ = j, i, i + j: each two kernels meet in 0 only, but two of them together hold the third."""
    kernels = {"j": (1, 0), "i": (0, 1), "i+j": (1, -1)}
    maps = {"j": (0, 1), "i": (1, 0), "i+j": (1, 1)}
    for one, other in itertools.combinations(kernels.values(), 2):
        assert np.linalg.matrix_rank([one, other]) == 2
    assert np.linalg.matrix_rank(list(kernels.values())) == 2 < len(kernels)
    s = dict.fromkeys(maps, Fraction(1, 2))
    for vector in kernels.values():  # every family checked by itself
        assert sum(s[name] for name, row in maps.items() if np.dot(row, vector)) >= 1
    points = list(itertools.product(range(8), repeat=2))
    images = {name: len({int(np.dot(row, p)) for p in points}) for name, row in maps.items()}
    assert images == {"j": 8, "i": 8, "i+j": 15}
    bound = np.prod([images[name] ** float(s[name]) for name in maps])
    assert bound == pytest.approx(30.98, abs=0.01)
    assert len(points) == 64 > bound
    assert sum(s.values()) < 2  # the constraint of the whole plane, which no family shows


def test_001_gemmini_fails_the_triangle_condition():
    """8-bit inputs and filters beside 32-bit outputs, in words of 32 bits: the constant of section 5's own chip."""
    p_i, p_f, p_o = Fraction(1, 4), Fraction(1, 4), Fraction(1)
    assert p_o > p_i + p_f
    assert Fraction(1, 4) * (p_i + p_f + p_o) ** 2 == Fraction(9, 16)
    assert p_o * (p_i + p_f) == Fraction(1, 2)  # what the other case asks for, 11 % less


def test_001_theorem_2_3_a_processor_need_not_receive_the_outputs_it_touches():
    """Two processors share the two products of each of 8 × 8 outputs; the first sends its sums and receives none."""
    side, depth, processors = 8, 2, 2
    inputs = {(i, k) for i in range(side) for k in range(depth)}
    filters = {(k, j) for k in range(depth) for j in range(side)}
    outputs = {(i, j) for i in range(side) for j in range(side)}
    home = {("I", i, k): k for i, k in inputs} | {("F", k, j): k for k, j in filters}
    home |= {("O", i, j): i % 2 for i, j in outputs}
    received = dict.fromkeys(range(processors), 0)
    touched = {p: set() for p in range(processors)}
    for (i, j), k in itertools.product(outputs, range(depth)):
        touched[k].add((i, j))  # sums start at zero where they are made
        received[k] += (home["I", i, k] != k) + (home["F", k, j] != k)
    received[1] += len(touched[0])  # the second processor adds both sums of every output
    largest = max(len(inputs), len(filters), len(outputs))
    assert all(list(home.values()).count(p) == len(home) / processors for p in range(processors))
    assert len(touched[0]) - largest / processors == 32  # "this processor must receive at least"
    assert received == {0: 0, 1: 64}


def test_004_replacing_a_point_may_enlarge_another_image():
    """Theorem 2, first swap: "for all i in any of the other categories … |S_i| remains the same"."""
    before = {(0, 0, 0), (0, 0, 1), (1, 1, 0)}
    x_prime, x_second, x_star = (1, 1, 0), (0, 0, 0), (0, 1, 0)
    assert x_star == (x_second[0], *x_prime[1:])
    after = before - {x_second} | {x_star}

    def image(points, support):
        return len({tuple(point[index] for index in support) for point in points})

    def maps(support):
        return [tuple(point[index] for index in support) for point in (x_prime, x_second, x_star)]

    first, third = (1, 2), (0, 1)
    assert maps(first)[0] == maps(first)[2] != maps(first)[1]  # category (1)
    assert len(set(maps(third))) == 3  # category (3)
    assert (image(before, first), image(after, first)) == (3, 2)
    assert (image(before, third), image(after, third)) == (2, 3)
    # With a larger exponent on the second map the value of (4.13) falls.
    s = {first: 0.25, third: 0.75}
    value = {id(points): len(points) / np.prod([image(points, m) ** s[m] for m in s]) for points in (before, after)}
    assert value[id(after)] < value[id(before)]


def test_004_eq_4_12_is_not_what_eq_4_11_allows():
    """q = 2, an array that depends on x1 alone, L = (2, 2), S the diagonal: (4.11) allows M, (4.12) says M/2."""
    memory, bounds, points = 64, (2, 2), {(1, 1), (2, 2)}
    image = len({x for x, _ in points})
    allowed = memory * bounds[1] / len(points)  # equal values whose sum over all points is M · L_2
    assert (allowed, memory / image) == (64, 32)


def test_003_the_buffers_of_section_2_1_2_leave_less_than_section_2_2_2_says():
    latency_cycles, bus_bytes, local_kib = 256, 64, 128
    buffer_kib = latency_cycles * bus_bytes // 1024
    assert buffer_kib == 16
    slice_kib = 32 * 32 * 4 / 1024
    assert (local_kib - 2 * buffer_kib) // slice_kib == 24  # as printed, two buffers
    assert (local_kib - 3 * buffer_kib) // slice_kib == 20  # with the three of section 2.1.2, "roughly 48 KiB"
