"""The search against an enumeration of the whole mapspace: same optimum, always."""

import itertools
import math
import os
from functools import cache

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from bulk import evaluate_nests
from jouleloop.arch.architecture import Architecture, ComputeLevel, StorageLevel
from jouleloop.energy.costs import EnergyCosts, LevelEnergy
from jouleloop.engines.protocol import SEMANTICS
from jouleloop.errors import InputError
from jouleloop.mapspace.constraints import Constraints, LevelConstraints, LoopConstraint
from jouleloop.mapspace.space import FREE, FactorSlot, MapSpace, build_mapspace
from jouleloop.model.arrays import LOOP, MAX_LOOPS, NestArrays
from jouleloop.model.encode import encode_hardware, encode_mapping
from jouleloop.optimum.optimise import search_mapspace
from jouleloop.study.targets import TargetFiles, TargetSet
from jouleloop.workload.layer import Layer
from jouleloop.workload.problem import Problem
from paths import ROOT

#: Mapspaces that hold more are not enumerated.
MOST_MAPPINGS = 1500
#: The same examples each time; JOULELOOP_EXAMPLES=2000 pytest tests/property draws as many new ones.
EXAMPLES = int(os.environ.get("JOULELOOP_EXAMPLES", "110"))
#: As many are drawn by `make test`, the others by `make test-all`.
FIRST = EXAMPLES // 3
REPEATED = "JOULELOOP_EXAMPLES" not in os.environ

#: One loop: dimension, factor, mesh axis.
Loop = tuple[int, int, int]


def ordered_factors(bound: int, limits: list[tuple[int, int, int]]) -> list[tuple[int, ...]]:
    """All ways to write ``bound`` as a product over slots with (fixed, most, least)."""
    if not limits:
        return [()] if bound == 1 else []
    fixed, most, least = limits[0]
    options = [fixed] if fixed != FREE else [f for f in range(1, bound + 1) if bound % f == 0 and least <= f <= most]
    return [(f, *rest) for f in options if bound % f == 0 for rest in ordered_factors(bound // f, limits[1:])]


def orders(slot: FactorSlot, dims: list[int]) -> list[tuple[int, ...]]:
    """All admissible orders of some dimensions, innermost first: those of one rank stand together, in any order."""
    runs = [[d for d in dims if slot.rank[d] == rank] for rank in sorted({slot.rank[d] for d in dims})]
    return [tuple(itertools.chain(*parts)) for parts in itertools.product(*map(itertools.permutations, runs))]


def temporal_options(slot: FactorSlot, factors: tuple[int, ...], innermost: bool) -> list[tuple[Loop, ...]]:
    """All orders of the temporal loops of a level, outermost first; ``innermost``: the order is canonical."""
    moving = [d for d, f in enumerate(factors) if f > 1]
    chosen = [tuple(moving)] if innermost else orders(slot, moving)
    return [tuple((d, factors[d], 0) for d in reversed(order)) for order in chosen]


def spatial_options(slot: FactorSlot, factors: tuple[int, ...], fanout: tuple[int, int]) -> list[tuple[Loop, ...]]:
    """All orders of the spatial loops of a level and their splits over the mesh axes that fit."""
    moving = [d for d, f in enumerate(factors) if f > 1]
    positions = list(range(len(factors))) if slot.split is not None else moving
    splits = [slot.split] if slot.split is not None else list(range(len(moving) + 1))
    found: dict[tuple[Loop, ...], None] = {}
    for order in orders(slot, positions):
        for split in splits:
            x = math.prod(factors[d] for d in order[:split])
            y = math.prod(factors[d] for d in order[split:])
            if x <= fanout[0] and y <= fanout[1]:
                loops = [(d, factors[d], int(i >= split)) for i, d in enumerate(order) if factors[d] > 1]
                found[tuple(reversed(loops))] = None
    return list(found)


def enumerate_nests(space: MapSpace, most: int = MOST_MAPPINGS) -> NestArrays | None:
    """Every mapping of a small mapspace whose tiles fit, straight from its slots; None where there are too many."""
    bounds = space.problem.bounds
    levels = len(space.temporal)
    slots = [
        (k, kind, slot)
        for k in range(levels)
        for kind, slot in ((1, space.spatial[k]), (0, space.temporal[k]))
        if slot is not None
    ]
    per_dim = [
        ordered_factors(bound, [(slot.fixed[d], slot.most[d], slot.least[d]) for _, _, slot in slots])
        for d, bound in enumerate(bounds)
    ]
    if math.prod(len(options) for options in per_dim) > most:
        return None
    fanout = space.arch.fanout[::-1]
    pruned = space.name == "timeloop"

    @cache
    def options(at: int, factors: tuple[int, ...]) -> list[tuple[Loop, ...]]:
        k, kind, slot = slots[at]
        if kind:
            return spatial_options(slot, factors, fanout[k])
        return temporal_options(slot, factors, innermost=pruned and at == 0)

    limits = [level.effective_words for level in reversed(space.arch.levels)]
    coef = space.problem.projection_array
    rows: list[tuple[tuple[Loop, ...], ...]] = []
    keeps: list[np.ndarray] = []
    for choice in itertools.product(*per_dim):
        factors = list(zip(*choice, strict=True))
        extents, extent = [], np.ones(len(bounds), np.int64)
        for (_, kind, _), part in zip(slots, factors, strict=True):
            extent = extent * np.array(part)
            if kind == 0:
                extents.append(extent)
        words = np.array([(1 + coef @ (extent - 1)).prod(axis=1) for extent in extents])
        for keep in space.keeps:
            held = (words * keep).sum(axis=1)
            if any(limit is not None and held[k] > limit for k, limit in enumerate(limits)):
                continue
            for parts in itertools.product(*(options(at, part) for at, part in enumerate(factors))):
                rows.append(parts)
                keeps.append(keep)
            if len(rows) > most:
                return None
    counts = np.zeros((len(rows), levels, 2), np.int64)
    loops = np.zeros((len(rows), levels, 2, MAX_LOOPS), LOOP)
    for n, parts in enumerate(rows):
        for (k, kind, _), placed in zip(slots, parts, strict=True):
            counts[n, k, kind] = len(placed)
            loops[n, k, kind, : len(placed)] = list(map(tuple, placed))
    kept = np.array(keeps, np.bool_).reshape(len(rows), levels, len(space.problem.data_spaces))
    return NestArrays(counts, loops, kept)


def toy(draw: st.DrawFn) -> tuple[Architecture, EnergyCosts, Constraints]:
    """A random hierarchy of two to four levels with one or two fan-outs, random energies and constraints."""
    count = draw(st.integers(2, 4))
    x = y = 1
    levels, energies, limits = [], [], {}
    spaces = ["Weights", "Inputs", "Outputs"]
    for k in range(count):
        capacity = None if k == 0 else draw(st.sampled_from([4, 12, 30, 64, 200]))
        bandwidth = draw(st.sampled_from([None, None, 0.5, 2.0]))
        levels.append(
            StorageLevel(
                f"L{k}",
                f"L{k}",
                "SRAM",
                capacity,
                8,
                block_words=draw(st.sampled_from([1, 1, 2, 3])),
                mesh_x=x,
                mesh_y=y,
                cluster_size=draw(st.sampled_from([1, 1, 2] if x * y % 2 == 0 else [1])),
                read_bandwidth_words=bandwidth,
                write_bandwidth_words=bandwidth,
                shared_bandwidth_words=draw(st.sampled_from([None, None, None, 1.0])),
            )
        )
        energies.append(
            LevelEnergy(
                f"L{k}",
                draw(st.integers(0, 200)) / 10 + 100 / (1 + 9 * k),
                draw(st.integers(1, 200)) / 10,
                "toy",
                draw(st.sampled_from([0.0, 0.0, 0.5, 20.0])),
                later_pj=draw(st.sampled_from([None, None, (3.0, 40.0, 0.5), (30.0, 1.0, 20.0)])),
            )
        )
        x *= draw(st.sampled_from([1, 1, 2, 3])) if k < count else 1
        y *= draw(st.sampled_from([1, 1, 2])) if k < count else 1
        keep = frozenset(spaces) if k == 0 else frozenset(draw(st.sets(st.sampled_from(spaces))))
        free = frozenset(draw(st.sets(st.sampled_from(spaces), max_size=1))) if k else frozenset()
        fixed = dict.fromkeys(draw(st.sets(st.sampled_from("CMRSNPQ"), max_size=4)), 1) if k else {}
        fixed |= draw(st.dictionaries(st.sampled_from("CMPQRS"), st.sampled_from([2, 3, 4]), max_size=1))
        free_dims = sorted(set("CMPQRS") - set(fixed))
        most = draw(st.dictionaries(st.sampled_from(free_dims), st.integers(1, 3), max_size=1)) if free_dims else {}
        other = [d for d in free_dims if d not in most]
        rarely = other and draw(st.integers(0, 7)) == 7
        least = {draw(st.sampled_from(other)): 2} if rarely else {}
        prefix = tuple(draw(st.permutations("CMPQRS")))[: draw(st.integers(0, 6))]
        limits[f"L{k}"] = LevelConstraints(
            temporal=LoopConstraint(factors=fixed, max_factors=most, min_factors=least, permutation=prefix),
            spatial=LoopConstraint(
                permutation=tuple(draw(st.permutations("CMPQRSN"))), split=draw(st.sampled_from([None, 3, 7, 0]))
            ),
            keep=keep - free,
            bypass=frozenset(spaces) - keep - free,
        )
    arch = Architecture("toy", tuple(levels), ComputeLevel("mac", "mac", "intmac", 8, x, y))
    return arch, EnergyCosts("toy", tuple(energies), 0.5, "toy"), Constraints("toy", limits)


@cache
def published_target(name: str) -> TargetSet:
    """One of the two architectures of the published study."""
    arch, which = name.split(":")
    files = TargetFiles(
        arch,
        ROOT / f"arch/{arch}.yaml",
        ROOT / f"arch/energy/{arch}-45nm-accelergy03.yaml",
        ROOT / f"mappings/{arch}.yaml",
        which,
    )
    return TargetSet(files)


@st.composite
def layers(draw: st.DrawFn, sizes: tuple[int, ...]) -> Layer:
    """A small layer."""
    size = st.sampled_from(sizes)
    return Layer.of(
        "conv",
        C=draw(size),
        M=draw(size),
        R=draw(st.sampled_from([1, 2, 3])),
        S=draw(st.sampled_from([1, 1, 2])),
        P=draw(st.sampled_from([1, 2, 4, 6])),
        Q=draw(st.sampled_from([1, 2, 3])),
        N=draw(st.sampled_from([1, 1, 2])),
        w_stride=draw(st.sampled_from([1, 1, 2, 3])),
        h_stride=draw(st.sampled_from([1, 2])),
    )


@st.composite
def toy_cases(draw: st.DrawFn) -> tuple[Problem, Architecture, EnergyCosts, Constraints]:
    """A small layer on a random hierarchy."""
    return (draw(layers((1, 1, 2, 3, 4))).problem(), *toy(draw))


@st.composite
def published_cases(draw: st.DrawFn) -> tuple[Problem, Architecture, EnergyCosts, Constraints]:
    """A small layer on Eyeriss or Simba, under either set of constraints."""
    name = draw(st.sampled_from(["eyeriss:full", "simba:full", "simba:arch-only"]))
    if name == "simba:arch-only":
        # Without mapspace constraints few layers are small enough to enumerate.
        sizes = {d: draw(st.sampled_from(values)) for d, values in (("C", (1, 2, 3)), ("M", (1, 2, 3)), ("P", (1, 2)))}
        layer = Layer.of("conv", **sizes)
    else:
        layer = draw(layers((1, 2, 3, 4) if name == "eyeriss:full" else (4, 8)))
    target = published_target(name).for_shape(layer.problem().shape)
    return layer.problem(), target.arch, target.costs, target.constraints


def compare_drawn(problem: Problem, arch: Architecture, costs: EnergyCosts, constraints: Constraints) -> None:
    """Compare a drawn case, where it is one and small enough."""
    try:
        space = build_mapspace(problem, arch, constraints)
    except InputError:
        # Constraints drawn at random may contradict the layer or each other; that is not what is tested here.
        assume(False)
    nests = enumerate_nests(space)
    assume(nests is not None)
    compare(space, nests, costs)


def compare(space: MapSpace, nests: NestArrays, costs: EnergyCosts) -> None:
    """Compare every objective and all semantics with the enumeration."""
    problem, arch = space.problem, space.arch
    for semantics in SEMANTICS:
        result = search_mapspace(space, costs, semantics=semantics)
        if not len(nests.counts):
            assert result.status == "no_mapping"
            assert result.reason
            continue
        energies, cycles = evaluate_nests(problem, arch, costs, nests, semantics)
        assert result.optimal
        assert result.evaluation is not None
        assert result.evaluation.energy_pj == pytest.approx(energies.min(), rel=1e-11)
        ties = energies <= energies.min() * (1 + 1e-11)
        assert result.evaluation.cycles == cycles[ties].min()
        delay = search_mapspace(space, costs, objective=("delay",), semantics=semantics).evaluation
        assert delay is not None
        assert delay.cycles == cycles.min()
        assert delay.energy_pj == pytest.approx(energies[cycles == cycles.min()].min(), rel=1e-11)
        product = search_mapspace(space, costs, objective=("edp",), semantics=semantics).evaluation
        assert product is not None
        assert product.energy_pj * product.cycles == pytest.approx((energies * cycles).min(), rel=1e-11)
        both = search_mapspace(space, costs, objective=("energy", "delay"), semantics=semantics).evaluation
        assert both is not None
        near = energies <= energies.min() * 1.001
        assert both.cycles == cycles[near].min()


@settings(max_examples=FIRST, derandomize=REPEATED, deadline=None, suppress_health_check=list(HealthCheck))
@given(toy_cases())
def test_the_search_finds_the_optimum_of_random_hierarchies(
    case: tuple[Problem, Architecture, EnergyCosts, Constraints],
) -> None:
    compare_drawn(*case)


@settings(max_examples=FIRST, derandomize=REPEATED, deadline=None, suppress_health_check=list(HealthCheck))
@given(published_cases())
def test_the_search_finds_the_optimum_of_eyeriss_and_simba(
    case: tuple[Problem, Architecture, EnergyCosts, Constraints],
) -> None:
    compare_drawn(*case)


@pytest.mark.slow
@settings(
    max_examples=2 * (EXAMPLES - FIRST), derandomize=REPEATED, deadline=None, suppress_health_check=list(HealthCheck)
)
@given(st.one_of(toy_cases(), published_cases()))
def test_the_search_finds_the_optimum_of_many_designs(
    case: tuple[Problem, Architecture, EnergyCosts, Constraints],
) -> None:
    compare_drawn(*case)


def test_a_run_of_loops_may_start_inside_the_outermost_level() -> None:
    """N and P leave the weights in place, M between them does not: the run that P starts goes on below with Q."""
    everything = frozenset({"Weights", "Inputs", "Outputs"})
    outputs = frozenset({"Outputs"})

    def level(name: str, capacity: int | None, rate: float, block: int) -> StorageLevel:
        return StorageLevel(
            name,
            name,
            "SRAM",
            capacity,
            8,
            block_words=block,
            read_bandwidth_words=rate,
            write_bandwidth_words=rate,
        )

    levels = (level("L0", None, 2.0, 2), level("L1", 4, 0.5, 3), level("L2", 4, 2.0, 2))
    energies = (LevelEnergy("L0", 107.3, 9.8, ""), LevelEnergy("L1", 15.6, 3.9, ""), LevelEnergy("L2", 18.5, 2.0, ""))
    limits = {
        "L0": LevelConstraints(temporal=LoopConstraint(permutation=tuple("PCMQS")), keep=everything),
        "L1": LevelConstraints(
            temporal=LoopConstraint(permutation=tuple("CPMQSR")), keep=outputs, bypass=frozenset({"Weights"})
        ),
        "L2": LevelConstraints(
            temporal=LoopConstraint(permutation=("M",)),
            keep=outputs | {"Weights"},
            bypass=frozenset({"Inputs"}),
        ),
    }
    arch = Architecture("toy", levels, ComputeLevel("mac", "mac", "intmac", 8))
    problem = Layer.of("conv", C=1, M=4, R=2, N=2, P=6, Q=3).problem()
    space = build_mapspace(problem, arch, Constraints("toy", limits))
    nests = enumerate_nests(space)
    assert nests is not None
    compare(space, nests, EnergyCosts("toy", energies, 0.5, "toy"))


def test_the_encoding_of_a_mapping_is_what_the_search_reports() -> None:
    arch, costs, constraints = _fixed()
    problem = Layer.of("conv", C=4, M=6, R=3, S=2, P=6, Q=4).problem()
    result = search_mapspace(build_mapspace(problem, arch, constraints), costs)
    assert result.mapping is not None
    nest = encode_mapping(problem, arch, result.mapping)
    assert isinstance(nest, NestArrays)
    assert np.isinf(encode_hardware(arch, costs).levels["capacity_words"][-1])
    assert result.lower_bound == result.evaluation.energy_pj  # type: ignore[union-attr]


def _fixed() -> tuple[Architecture, EnergyCosts, Constraints]:
    levels = (
        StorageLevel("DRAM", "DRAM", "DRAM", None, 8, block_words=4),
        StorageLevel("Buffer", "Buffer", "SRAM", 64, 8),
        StorageLevel("Registers", "Registers", "regfile", 8, 8, mesh_x=4),
    )
    energies = tuple(LevelEnergy(level.name, e, e, "toy") for level, e in zip(levels, (100.0, 10.0, 1.0), strict=True))
    arch = Architecture("fixed", levels, ComputeLevel("mac", "mac", "intmac", 8, 4))
    return arch, EnergyCosts("toy", energies, 0.5, "toy"), Constraints("none")
