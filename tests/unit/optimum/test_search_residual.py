"""Ends of loops that need not divide: which there are, which are tried, and what is refused."""

import itertools
import resource
from pathlib import Path

import numpy as np
import pytest

from jouleloop.api.hardware import Architecture
from jouleloop.api.project import load_target
from jouleloop.errors import InputError
from jouleloop.mapping.mapping import LevelMapping, Mapping
from jouleloop.mapspace.constraints import Constraints
from jouleloop.mapspace.space import FREE, SLOT, build_mapspace
from jouleloop.optimum.arrays import new_counters
from jouleloop.optimum.driver import Task
from jouleloop.optimum.limit import Limit, Watch
from jouleloop.optimum.residual import listing
from jouleloop.optimum.residual.bound import may_link
from jouleloop.optimum.residual.ends import ends_once, list_ends, passes_outside
from jouleloop.optimum.residual.optimise import ImperfectKernel, search_residuals
from jouleloop.optimum.residual.padded import cut_short, sizes_of
from jouleloop.optimum.residual.size import count_chains
from jouleloop.workload.sizes import parse_layer
from jouleloop.workload.timeloop_problem import problem_from

#: Memory beside what the tests have taken by then.
LITTLE_BYTES = 600_000_000


def slot_of(limits: tuple[int, int, int]) -> np.void:
    """What a slot says of one dimension: a fixed factor, the most and the least."""
    return np.array([(*limits, 0)], SLOT)[0]


def ends(passes: int, outside: tuple[int, int], factor: int, slot: tuple[int, int, int] = (FREE, 1000, 1)) -> list[int]:
    found, largest = np.zeros(passes + 1, np.int64), np.zeros(passes + 1, np.int64)
    number = list_ends(slot_of(slot), passes, 1000, *outside, factor, found, largest)
    return [end for low, high in zip(found[:number], largest[:number], strict=True) for end in range(low, high + 1)]


@pytest.mark.parametrize("passes", [1, 2, 7, 12, 13, 31])
def test_ends_that_count_are_the_least_and_those_that_leave_one(passes: int) -> None:
    wanted = {-(-passes // left) for left in range(1, passes + 1)}
    wanted |= {end for end in range(1, passes) if (passes - 1) % end == 0}
    assert ends(passes, (1, 1000), 1) == sorted(wanted)
    assert ends(passes, (1, 1000), 0) == list(range(1, passes + 1))


def test_somebody_makes_the_passes_that_are_left() -> None:
    assert ends(13, (1, 1), 1) == [13]
    assert min(ends(13, (1, 4), 1)) == 4
    # Something is unrolled outside, and needs two passes at least.
    assert 13 not in ends(13, (2, 1000), 5)
    assert max(ends(13, (4, 1000), 0)) == 4
    assert ends(13, (1, 1000), 1, (4, 4, 4)) == [4]
    assert ends(1, (1, 1000), 1, (4, 4, 4)) == []


def test_passes_outside_are_those_of_some_chain() -> None:
    for slots in itertools.product(((0, 6, 1), (2, 2, 2), (3, 3, 3), (0, 6, 2)), repeat=2):
        for factors, idle in itertools.product(
            itertools.product((1, 3), repeat=2), itertools.product((0, 1), repeat=2)
        ):
            if any(unused and factor == 1 for factor, unused in zip(factors, idle, strict=True)):
                continue
            table = np.array([[slot_of(slot)] for slot in ((FREE, 6, 1), *slots)])
            least, most = passes_outside(
                table,
                np.array([[1], *([f] for f in factors)]),
                np.array([[0], *([2 * i] for i in idle)]),
                np.array([40]),
            )
            sound = [passes for passes in range(1, 41) if _reaches(passes, slots, factors, idle)]
            assert all(least[0, 0] <= passes <= most[0, 0] for passes in sound)
            assert not sound or (sound[0], sound[-1]) == (least[0, 0], most[0, 0])


def _reaches(passes: int, slots: tuple, factors: tuple[int, ...], idle: tuple[int, ...]) -> bool:
    """Whether some ends outside a level make its passes."""
    if not slots:
        return passes == 1
    (fixed, most, least), factor = slots[0], factors[0]
    if factor > 1 and (passes < 2 or (passes < factor) is not bool(idle[0])):
        return False
    left = -(-passes // factor)
    if fixed:
        return (fixed == 1 or left > 1) and _reaches(-(-left // fixed), slots[1:], factors[1:], idle[1:])
    ends = range(least, min(most, left) + 1)
    return any(_reaches(-(-left // end), slots[1:], factors[1:], idle[1:]) for end in ends)


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
    assert count_chains(passes, tuple((*limit, False) for limit in limits)) == number


@pytest.mark.parametrize("passes", [1, 2, 7, 12, 13, 31])
def test_where_windows_slide_one_end_stands_for_all_that_leave_as_many_passes(passes: int) -> None:
    found, largest = np.zeros(passes + 1, np.int64), np.zeros(passes + 1, np.int64)
    number = list_ends(slot_of((FREE, 1000, 1)), passes, 1000, 1, 1000, 0, found, largest)
    covered = [end for low, high in zip(found[:number], largest[:number], strict=True) for end in range(low, high + 1)]
    assert covered == list(range(1, passes + 1))
    for low, high in zip(found[:number], largest[:number], strict=True):
        assert -(-passes // low) == -(-passes // high)


def _space(text: str):
    arch = Architecture.read("eyeriss", factors="imperfect")
    problem = parse_layer(text).problem()
    target = arch.target(problem)
    assert target.constraints.factors == "imperfect"
    return build_mapspace(problem, target.arch, target.constraints, imperfect=True), target.costs


def test_other_objectives_and_ranks_of_three_dimensions_are_refused() -> None:
    space, costs = _space("fc:5x7")
    with pytest.raises(InputError, match="imperfect"):
        search_residuals(space, costs, objective=("energy", "delay"))
    shape = {
        "dimensions": ["A", "B", "C"],
        "data-spaces": [
            {"name": "I", "projection": [[["A"], ["B"], ["C"]]]},
            {"name": "O", "projection": [[["A"]]], "read-write": True},
        ],
    }
    problem = problem_from({"problem": {"shape": shape, "instance": {"A": 2, "B": 3, "C": 2}}})
    space = build_mapspace(problem, space.arch, Constraints("none", factors="imperfect"), imperfect=True)
    with pytest.raises(InputError, match="more than two"):
        search_residuals(space, costs)


@pytest.mark.parametrize(("limit", "most"), [("MOST_CHOICES", 2), ("MOST_BOUNDED", 2), ("MOST_HELD", 1)])
def test_what_memory_does_not_hold_is_bounded(monkeypatch: pytest.MonkeyPatch, limit: str, most: int) -> None:
    space, costs = _space("fc:5x7")
    whole = search_residuals(space, costs)
    assert whole.optimal
    assert whole.evaluation is not None
    monkeypatch.setattr(listing, limit, most)
    part = search_residuals(space, costs, watch=Watch(Limit(20.0)))
    assert part.evaluation is not None
    assert 0 < part.lower_bound <= whole.evaluation.energy_pj <= part.evaluation.energy_pj
    assert part.optimal is (part.stopped == "")
    assert limit == "MOST_HELD" or (part.stopped == "memory" and part.lower_bound < whole.evaluation.energy_pj)


@pytest.mark.slow
def test_an_open_window_is_answered_within_little_memory() -> None:
    """512 choices of what is kept under a million unrollings, of which one has 1,440 arrangements."""
    problem = parse_layer("conv:C4xM4xP5xQ5xR3xS3").problem()
    target = load_target("manticore", semantics="timeloop-3.0.3", constraints="none").for_shape(problem.shape)
    space = build_mapspace(problem, target.arch, Constraints("none", factors="imperfect"), imperfect=True)
    search_residuals(*_space("conv:C2xM2xP3xQ3xR2xS2"))
    before = resource.getrlimit(resource.RLIMIT_DATA)
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[5])
    resource.setrlimit(resource.RLIMIT_DATA, (pages * resource.getpagesize() + LITTLE_BYTES, before[1]))
    try:
        found = search_residuals(space, target.costs, watch=Watch(Limit(2.0)))
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, before)
    assert found.evaluation is not None
    assert found.stopped in ("seconds", "memory")
    assert 0 < found.lower_bound < found.evaluation.energy_pj
    assert not found.optimal


class Patience(Watch):
    """Looks at the clock every ``ticks`` and stops at the last of ``looks``."""

    def __init__(self, looks: int, ticks: int) -> None:
        super().__init__(tell=lambda _, progress: self.told.append(progress()))
        self.looks, self.told = looks, []
        self._ticks = ticks

    def _pace(self, done: int, seconds: float) -> None:
        pass

    def asked(self) -> str:
        self.looks -= 1
        return "interrupt" if self.looks < 0 else ""


def test_a_stopped_search_has_a_bound_that_holds_and_slices_change_nothing() -> None:
    space, costs = _space("conv:C3xM17xP13xQ13xR5xS5/stride2")
    best = search_residuals(space, costs)
    assert best.optimal
    assert best.evaluation is not None
    patient = Patience(10**9, 500)
    whole = search_residuals(space, costs, watch=patient)
    assert whole.optimal
    assert whole.mapping == best.mapping
    bounds_pj = [progress.lower_bound for progress in patient.told]
    assert len(bounds_pj) >= 10
    assert bounds_pj == sorted(bounds_pj)
    assert bounds_pj[-1] <= best.evaluation.energy_pj
    for looks in range(1, len(bounds_pj), max(1, len(bounds_pj) // 4)):
        stopped = search_residuals(space, costs, watch=Patience(looks, 500))
        assert not stopped.optimal
        assert stopped.stopped == "interrupt"
        assert stopped.lower_bound is not None
        assert stopped.lower_bound <= best.evaluation.energy_pj * (1 + 1e-9)
        if stopped.evaluation is not None:
            assert stopped.evaluation.energy_pj >= best.evaluation.energy_pj * (1 - 1e-9)


@pytest.mark.parametrize("passes", [2, 7, 12, 13, 31])
def test_a_last_run_of_one_iteration_is_seen(passes: int) -> None:
    for least in range(1, passes):
        alike = [end for end in range(least, passes) if -(-passes // end) == -(-passes // least)]
        single = any((passes - 1) % end == 0 for end in alike)
        assert ends_once(passes, least, alike[-1]) is single


@pytest.mark.parametrize(("stride", "linked"), [(1, True), (2, False), (4, False)])
def test_a_neighbour_has_what_a_box_moves_to_only_if_it_is_as_far_away(stride: int, linked: bool) -> None:
    """Eleven rows of a filter down a column: the rows of an input next to each other, outputs a stride apart."""
    space, costs = _space(f"conv:C1xM1xP1xQ20xR1xS11/stride{stride}")
    search = ImperfectKernel(Task(space, costs, semantics="timeloop-3.0.3"), new_counters())
    search.fill_parts()
    unrolled, design = search._unrolled(0), search.design(space.keeps[0])
    level = int(np.argmax((unrolled.factors > 1).any(axis=1)))
    one = np.ones(len(search.dims), np.int64)
    inputs = [one.name for one in space.problem.data_spaces].index("Inputs")
    found = may_link(design, unrolled, inputs, level, one, one)
    assert found is linked


def test_a_size_of_few_divisors_gives_way_to_one_of_many() -> None:
    assert sizes_of(57, 1)[0] == 57
    assert 60 in sizes_of(57, 1)
    assert sizes_of(3, 4)[0] == 4


def test_a_mapping_of_a_larger_layer_is_cut_short() -> None:
    space, _ = _space("conv:C3xM7xP5xQ1xR1xS1")
    larger = Mapping(
        (
            LevelMapping("DRAM", (("P", 3), ("M", 4)), (), frozenset()),
            *(LevelMapping(name, (), (), frozenset()) for name in space.arch.level_names[1:-1]),
            LevelMapping(space.arch.level_names[-1], (("M", 4), ("C", 3), ("P", 2)), (), frozenset()),
        )
    )
    cut = cut_short(larger, space)
    assert cut.levels[0].temporal == (("P", 3), ("M", 2))
    assert cut.imperfect == (("M", 7), ("P", 5))
