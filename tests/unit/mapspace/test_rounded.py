"""Ends of loops where fixed factors do not divide the layer."""

import math

from jouleloop.api.hardware import Architecture
from jouleloop.mapspace.rounded import index_factorizations, rounded_chains
from jouleloop.mapspace.space import MapSpace, build_mapspace
from jouleloop.workload.sizes import parse_layer


def space_of(layer: str) -> MapSpace:
    problem = parse_layer(layer).problem()
    target = Architecture.read("simba", semantics="timeloop-4").target(problem)
    return build_mapspace(problem, target.arch, target.constraints, rounds=True)


def test_a_fixed_factor_takes_no_more_than_is_left() -> None:
    """Simba unrolls M by 4: of 9 a free loop inside may take 3, which leaves 3, or a loop outside takes 3 passes."""
    space = space_of("fc:4x9")
    assert space.rounded
    at = space.problem.shape.dimensions.index("M")
    place = next(k for k, slot in enumerate(space.slots) if slot.fixed[at] == 4)
    chains = rounded_chains(space)[at]
    products = {math.prod(chain) for chain in chains}
    assert products == {9, 12}
    for chain in chains:
        inside = math.prod(chain[:place])
        assert (chain[place], math.prod(chain)) == ((3, 9) if inside == 3 else (4, 12))


def test_what_divides_is_no_such_space() -> None:
    assert not space_of("fc:8x4").rounded


def test_factorizations_are_counted_as_timeloop_does() -> None:
    """It printed 40 for this layer."""
    assert index_factorizations(space_of("fc:13x7")) == 40
