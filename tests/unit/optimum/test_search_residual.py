"""Ends of loops that need not divide: which there are, which are tried, and what is refused."""

import itertools

import numpy as np
import pytest

from jouleloop.errors import InputError
from jouleloop.mapspace.space import FREE
from jouleloop.optimum.residual.descend import next_end
from jouleloop.optimum.residual.size import count_chains


def ends(passes: int, most_outside: int, factor: int, slot: tuple[int, int, int] = (FREE, 1000, 1)) -> list[int]:
    found, end = [], 0
    while end := next_end(np.array([*slot, 0]), passes, most_outside, factor, end):
        found.append(end)
    return found


@pytest.mark.parametrize("passes", [1, 2, 7, 12, 13, 31])
def test_ends_that_count_are_the_least_and_those_that_leave_one(passes: int) -> None:
    wanted = {-(-passes // left) for left in range(1, passes + 1)}
    wanted |= {end for end in range(1, passes) if (passes - 1) % end == 0}
    assert ends(passes, 1000, 1) == sorted(wanted)
    assert ends(passes, 1000, -1) == list(range(1, passes + 1))


def test_somebody_makes_the_passes_that_are_left() -> None:
    assert ends(13, 1, 1) == [13]
    assert min(ends(13, 4, 1)) == 4
    # Something is unrolled outside, and needs two passes at least.
    assert 13 not in ends(13, 1000, 5)
    assert ends(13, 1000, 1, (4, 4, 4)) == [4]
    assert ends(1, 1000, 1, (4, 4, 4)) == []


@pytest.mark.parametrize("passes", [1, 2, 5, 12, 13])
def test_chains_are_counted(passes: int) -> None:
    limits = ((FREE, 4, 1), (2, 2, 2), (FREE, 100, 1), (FREE, 3, 1))
    number = 0
    for chain in itertools.product(range(1, 5), [2], range(1, 101), range(1, 4)):
        left, sound = passes, True
        for end, (fixed, _, _) in zip(chain, limits, strict=True):
            sound = sound and (end <= left if fixed == FREE else left > 1)
            left = -(-left // end)
        number += sound and left == 1
    assert count_chains(passes, limits) == number


def test_windows_and_other_objectives_are_refused() -> None:
    from jouleloop.api.hardware import Architecture
    from jouleloop.mapspace.space import build_mapspace
    from jouleloop.optimum.residual.optimise import search_residuals
    from jouleloop.workload.sizes import parse_layer

    arch = Architecture.read("eyeriss", factors="imperfect")
    for text, objective in (("conv:C3xM4xP5xQ5xR3xS3", "energy"), ("fc:5x7", "edp")):
        problem = parse_layer(text).problem()
        target = arch.target(problem)
        assert target.constraints.factors == "imperfect"
        space = build_mapspace(problem, target.arch, target.constraints, imperfect=True)
        with pytest.raises(InputError, match="imperfect"):
            search_residuals(space, target.costs, objective=(objective,))
