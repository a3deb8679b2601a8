"""The symbolic counts against the kernels: energies of random nests agree, and so do all laws drawn from them."""

import math
from fractions import Fraction
from functools import cache
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from jouleloop.arch.architecture import Architecture
from jouleloop.arch.read import read_architecture
from jouleloop.energy.choice import costs_of, source_of, sources_of
from jouleloop.energy.costs import EnergyCosts
from jouleloop.mapping.compact import parse_compact
from jouleloop.mapping.mapping import LevelMapping, Mapping
from jouleloop.model.evaluate import evaluate_mapping
from jouleloop.model.polynomial import Polynomial, exponents
from jouleloop.model.semantics import RULES
from jouleloop.model.symbolic import symbolic_energies
from jouleloop.stats.laws import NestLaws, evaluate
from jouleloop.workload.layer import CONV
from jouleloop.workload.problem import Problem
from paths import ROOT

SPACES = ("Weights", "Inputs", "Outputs")


@cache
def hardware(name: str) -> tuple[Architecture, EnergyCosts]:
    arch = read_architecture(ROOT / "arch" / f"{name}.yaml")
    return arch, costs_of(arch, sources_of(ROOT / "arch" / "energy" / f"{name}-45nm-accelergy03.yaml"))


@st.composite
def nests(draw: st.DrawFn, dimensions: str) -> tuple[Architecture, EnergyCosts, Problem, Mapping]:
    """A random mapping on one of the two accelerators: any loops at any level, in any order, anything bypassed."""
    arch, costs = hardware(draw(st.sampled_from(["eyeriss", "simba"])))
    bounds = dict.fromkeys(CONV.dimensions, 1)
    levels = []
    for position, level in enumerate(arch.levels):
        temporal = []
        for dimension in draw(st.permutations(dimensions)):
            bound = draw(st.sampled_from([1, 1, 1, 2, 3, 5]))
            if bound > 1:
                temporal.append((dimension, bound))
                bounds[dimension] *= bound
        spatial = []
        left = dict(zip("XY", arch.fanout[position], strict=True))
        for dimension in draw(st.permutations(dimensions)):
            axis = draw(st.sampled_from("XY"))
            bound = draw(st.sampled_from([1, 1, 2, 3, 4]))
            if 1 < bound <= left[axis]:
                left[axis] //= bound
                spatial.append((dimension, bound, axis))
                bounds[dimension] *= bound
        keep = frozenset(SPACES) if position == 0 else frozenset(s for s in SPACES if draw(st.booleans()))
        levels.append(LevelMapping(level.name, tuple(temporal), tuple(spatial), keep))
    strides = {"Wstride": draw(st.integers(1, 3)), "Hstride": draw(st.integers(1, 3))}
    return arch, costs, Problem.build(CONV, bounds, strides), Mapping(tuple(levels))


def agree(arch: Architecture, costs: EnergyCosts, problem: Problem, mapping: Mapping, semantics: str) -> None:
    evaluation = evaluate_mapping(problem, arch, costs, mapping, semantics, check_capacity=False)
    symbolic = symbolic_energies(problem, arch, costs, mapping, semantics)
    assert symbolic.operations.value == evaluation.computes
    seen = set()
    for level in evaluation.levels:
        for space, stats in level.data.items():
            seen.add((level.name, space))
            energy = float(symbolic.energy_pj(level.name, space))
            assert abs(energy - stats.energy_pj) <= 1e-12 * abs(stats.energy_pj)
    assert seen == set(symbolic.words)


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True)
@given(nests("CMRSPQ"), st.sampled_from(list(RULES)))
def test_energies_of_random_convolution_nests_are_the_kernels(
    nest: tuple[Architecture, EnergyCosts, Problem, Mapping], semantics: str
) -> None:
    agree(*nest, semantics)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True)
@given(nests("CM"))
def test_every_law_of_a_random_nest_gives_the_nests_energy_exactly(
    nest: tuple[Architecture, EnergyCosts, Problem, Mapping],
) -> None:
    arch, costs, problem, mapping = nest
    symbolic = symbolic_energies(problem, arch, costs, mapping)
    exact = sum((symbolic.energy_pj(*place) for place in symbolic.words), Fraction(0))
    values = [symbol.value for symbol in symbolic.symbols]
    laws = NestLaws(symbolic, ("C", "M"))
    stored = exact - laws.energies_pj(values)[1]
    points = list(laws.laws(symbolic.symbols))
    assert points
    for point in points:
        energy = point.law.energy_terms(symbolic.levels, Fraction(costs.compute_pj))
        assert evaluate(energy.data_pj, problem.bound) == stored
        assert evaluate(energy.total_pj, problem.bound) == stored + Fraction(costs.compute_pj) * problem.macs


@settings(max_examples=40, deadline=None, derandomize=True)
@given(nests("CMRSPQ"))
def test_the_one_line_form_of_a_mapping_reads_back(
    nest: tuple[Architecture, EnergyCosts, Problem, Mapping],
) -> None:
    mapping = nest[3]
    assert parse_compact(mapping.compact(), {level.level: level.keep for level in mapping.levels}) == mapping


POLYNOMIALS = st.lists(st.tuples(st.integers(0, 2), st.integers(-2, 2), st.integers(-3, 3)), min_size=0, max_size=4)


@settings(deadline=None, derandomize=True)
@given(POLYNOMIALS, POLYNOMIALS, st.lists(st.integers(2, 7), min_size=3, max_size=3))
def test_polynomials_keep_their_value_through_sums_products_and_quotients(
    first: list[tuple[int, int, int]], second: list[tuple[int, int, int]], at: list[int]
) -> None:
    def built(parts: list[tuple[int, int, int]]) -> Polynomial:
        total = Polynomial.constant(0)
        for index, exponent, coefficient in parts:
            term = Polynomial.constant(coefficient)
            for _ in range(abs(exponent)):
                symbol = Polynomial.symbol(index, at[index])
                term = term * symbol if exponent > 0 else term.over(symbol)
            total = total + term
        return total

    def recomputed(polynomial: Polynomial) -> Fraction:
        total = Fraction(0)
        for key, coefficient in polynomial.terms.items():
            total += coefficient * math.prod(
                (Fraction(at[index]) ** exponent for index, exponent in exponents(key)), start=1
            )
        return total

    a, b = built(first), built(second)
    results = [a + b, a - b, a * b, *([a.over(b)] if b.value else [])]
    assert [recomputed(result) for result in results] == [result.value for result in results]


#: Windows of both axes unrolled: instances by how many share their words make more than a dozen groups.
WIDE = """
architecture:
  version: 0.3
  subtree:
  - name: chip
    attributes: {technology: 45nm}
    local:
    - {name: outer, class: DRAM, attributes: {width: 16, word-bits: 16, block-size: 1}}
    - {name: buffer, class: SRAM, attributes: {depth: 65536, width: 16, word-bits: 16, block-size: 1}}
    subtree:
    - name: PE[0..65535]
      local:
      - {name: registers, class: regfile, attributes: {depth: 64, width: 16, word-bits: 16, block-size: 1, meshX: 256}}
      - {name: mac, class: intmac, attributes: {datawidth: 16, meshX: 256}}
"""


def test_windows_on_many_instances_are_sent_in_as_many_groups_as_it_takes(tmp_path: Path) -> None:
    (tmp_path / "wide.yaml").write_text(WIDE)
    arch = read_architecture(tmp_path / "wide.yaml")
    costs = costs_of(arch, [source_of("counts")])
    spatial = (("P", 4, "X"), ("R", 4, "X"), ("S", 4, "Y"), ("Q", 5, "Y"))
    levels = (
        LevelMapping("outer", (("P", 2), ("S", 2)), (), frozenset(SPACES)),
        LevelMapping("buffer", (), spatial, frozenset(SPACES)),
        LevelMapping("registers", (), (), frozenset(SPACES)),
    )
    bounds = dict.fromkeys(CONV.dimensions, 1) | {"P": 8, "R": 4, "S": 8, "Q": 5}
    problem = Problem.build(CONV, bounds, {})
    for semantics in RULES:
        agree(arch, costs, problem, Mapping(levels), semantics)
