"""Any mapping survives every format it is written in."""

from hypothesis import given, settings
from hypothesis import strategies as st

from jouleloop.arch.read import read_architecture
from jouleloop.mapping.formats import from_levels, read_timeloop_mapping, to_timeloop_mapping
from jouleloop.mapping.mapping import LevelMapping, Mapping
from jouleloop.mapping.nest import parse_map_txt, print_nest, tile_words
from jouleloop.workload.layer import CONV
from jouleloop.workload.problem import Problem
from paths import ROOT

ARCHES = [read_architecture(ROOT / "arch" / f"{name}.yaml") for name in ("eyeriss", "simba")]
SPACES = ("Weights", "Inputs", "Outputs")


@st.composite
def mapped(draw: st.DrawFn) -> tuple[Mapping, Problem, int]:
    which = draw(st.integers(0, 1))
    arch = ARCHES[which]
    bounds = dict.fromkeys(CONV.dimensions, 1)
    levels = []
    for position, name in enumerate(arch.level_names):
        order = draw(st.permutations(CONV.dimensions))
        temporal = tuple((d, b) for d in order if (b := draw(st.sampled_from([1, 1, 1, 2, 3]))) != 1)
        spatial: list[tuple[str, int, str]] = []
        room = dict(zip("XY", arch.fanout[position], strict=True))
        used: set[str] = set()
        for axis in "YX":
            for dimension in draw(st.permutations(CONV.dimensions))[:2]:
                bound = draw(st.sampled_from([1, 2, 4]))
                if bound != 1 and bound <= room[axis] and dimension not in used:
                    room[axis] //= bound
                    used.add(dimension)
                    spatial.append((dimension, bound, axis))
        keep = SPACES if position == 0 else draw(st.sets(st.sampled_from(SPACES)))
        levels.append(LevelMapping(name, temporal, tuple(spatial), frozenset(keep)))
        for dimension, bound in [*temporal, *((d, b) for d, b, _ in spatial)]:
            bounds[dimension] *= bound
    strides = {"Wstride": draw(st.integers(1, 3)), "Hstride": draw(st.integers(1, 3))}
    return Mapping(tuple(levels)), Problem.build(CONV, bounds, strides), which


@settings(max_examples=60, deadline=None)
@given(mapped())
def test_every_format_gives_the_mapping_back(case: tuple[Mapping, Problem, int]) -> None:
    mapping, problem, which = case
    arch = ARCHES[which]
    nest = parse_map_txt(print_nest(mapping, problem, arch), problem, arch)
    assert nest.mapping == mapping
    assert nest.tiles == tile_words(mapping, problem)
    assert read_timeloop_mapping(to_timeloop_mapping(mapping, problem, arch), problem, arch) == mapping
    assert from_levels(mapping.as_json(), problem, arch) == mapping
    outermost = nest.tiles[arch.level_names[0]]
    assert outermost == {space: problem.tensor_words(space) for space in SPACES}
