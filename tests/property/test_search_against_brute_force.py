"""The search against an enumeration of the whole mapspace: same optimum, always."""

import contextlib
import itertools
import math

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from jouleloop.arch.architecture import Architecture, ComputeLevel, StorageLevel
from jouleloop.energy.costs import EnergyCosts, LevelEnergy
from jouleloop.errors import InputError
from jouleloop.mapping.mapping import LevelMapping, Mapping
from jouleloop.mapspace.constraints import Constraints, LevelConstraints, LoopConstraint
from jouleloop.mapspace.space import FREE, MapSpace, Slot, build_mapspace
from jouleloop.model.arrays import CAPACITY, NestArrays
from jouleloop.model.encode import encode_hardware, encode_mapping
from jouleloop.model.evaluate import evaluate_many, evaluate_mapping
from jouleloop.search.optimise import search_mapspace
from jouleloop.workload.layer import Layer
from jouleloop.workload.problem import Problem

MOST_MAPPINGS = 600


def ordered_factors(bound: int, limits: list[tuple[int, int, int]]) -> list[tuple[int, ...]]:
    """All ways to write ``bound`` as a product over slots with (fixed, most, least)."""
    if not limits:
        return [()] if bound == 1 else []
    fixed, most, least = limits[0]
    options = [fixed] if fixed != FREE else [f for f in range(1, bound + 1) if bound % f == 0 and least <= f <= most]
    return [(f, *rest) for f in options if bound % f == 0 for rest in ordered_factors(bound // f, limits[1:])]


def orders(slot: Slot, dims: list[int]) -> list[tuple[int, ...]]:
    """All admissible orders of some dimensions, innermost first."""
    return [
        p for p in itertools.permutations(dims) if all(slot.rank[a] <= slot.rank[b] for a, b in itertools.pairwise(p))
    ]


def enumerate_mappings(space: MapSpace) -> list[Mapping] | None:
    """Every mapping of a small mapspace, straight from its slots; None where there are too many."""
    names = space.problem.shape.dimensions
    spaces = [s.name for s in space.problem.data_spaces]
    slots = [
        (k, kind, slot)
        for k in range(len(space.temporal))
        for kind, slot in (("s", space.spatial[k]), ("t", space.temporal[k]))
        if slot is not None
    ]
    per_dim = [
        ordered_factors(bound, [(slot.fixed[d], slot.most[d], slot.least[d]) for _, _, slot in slots])
        for d, bound in enumerate(space.problem.bounds)
    ]
    if math.prod(len(options) for options in per_dim) > MOST_MAPPINGS:
        return None
    fanout = space.arch.fanout[::-1]
    found: dict[str, Mapping] = {}
    for choice in itertools.product(*per_dim):
        per_slot: list[list[tuple[tuple[tuple[str, int], ...], tuple[tuple[str, int, str], ...]]]] = []
        for at, (k, kind, slot) in enumerate(slots):
            factors = [choice[d][at] for d in range(len(names))]
            moving = [d for d in range(len(names)) if factors[d] > 1]
            options = []
            if kind == "t":
                if k == 0:
                    options = [(tuple((names[d], factors[d]) for d in reversed(moving)), ())]
                else:
                    options = [(tuple((names[d], factors[d]) for d in reversed(o)), ()) for o in orders(slot, moving)]
            else:
                positions = list(range(len(names))) if slot.split is not None else moving
                splits = [slot.split] if slot.split is not None else range(len(moving) + 1)
                for order in orders(slot, positions):
                    for split in splits:
                        x = math.prod(factors[d] for d in order[:split])
                        y = math.prod(factors[d] for d in order[split:])
                        if x <= fanout[k][0] and y <= fanout[k][1]:
                            loops = [
                                (names[d], factors[d], "X" if i < split else "Y")
                                for i, d in enumerate(order)
                                if factors[d] > 1
                            ]
                            options.append(((), tuple(reversed(loops))))
            per_slot.append(options)
        for parts in itertools.product(*per_slot):
            for keep in space.keeps:
                levels = []
                for position, level in enumerate(space.arch.level_names):
                    k = len(space.temporal) - 1 - position
                    time = next(p[0] for p, s in zip(parts, slots, strict=True) if s[0] == k and s[1] == "t")
                    place = next((p[1] for p, s in zip(parts, slots, strict=True) if s[0] == k and s[1] == "s"), ())
                    levels.append(
                        LevelMapping(level, time, place, frozenset(n for v, n in enumerate(spaces) if keep[k, v]))
                    )
                mapping = Mapping(tuple(levels))
                found[mapping.compact() + str([sorted(level.keep) for level in levels])] = mapping
                if len(found) > MOST_MAPPINGS:
                    return None
    return list(found.values())


def fits(problem: Problem, arch: Architecture, costs: EnergyCosts, mappings: list[Mapping]) -> list[Mapping]:
    """The mappings whose tiles fit."""
    kept = []
    for mapping in mappings:
        evaluation = evaluate_mapping(problem, arch, costs, mapping, check_capacity=False)
        for level in arch.levels:
            words = sum(stats.tile_words for stats in evaluation.level(level.name).data.values())
            if level.effective_words is not None and words > level.effective_words:
                break
        else:
            kept.append(mapping)
    return kept


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
                cluster_size=draw(st.sampled_from([1, 1, 2])),
                read_bandwidth_words=bandwidth,
                write_bandwidth_words=bandwidth,
            )
        )
        energies.append(
            LevelEnergy(
                f"L{k}", draw(st.integers(0, 200)) / 10 + 100 / (1 + 9 * k), draw(st.integers(1, 200)) / 10, "toy"
            )
        )
        x *= draw(st.sampled_from([1, 1, 2, 3])) if k < count else 1
        y *= draw(st.sampled_from([1, 1, 2])) if k < count else 1
        keep = frozenset(spaces) if k == 0 else frozenset(draw(st.sets(st.sampled_from(spaces))))
        free = frozenset(draw(st.sets(st.sampled_from(spaces), max_size=1))) if k else frozenset()
        fixed = dict.fromkeys(draw(st.sets(st.sampled_from("CMRSNPQ"), max_size=4)), 1) if k else {}
        prefix = tuple(draw(st.permutations("CMPQRS")))[: draw(st.integers(0, 6))]
        limits[f"L{k}"] = LevelConstraints(
            temporal=LoopConstraint(factors=fixed, permutation=prefix),
            spatial=LoopConstraint(
                permutation=tuple(draw(st.permutations("CMPQRSN"))), split=draw(st.sampled_from([None, 3, 7, 0]))
            ),
            keep=keep - free,
            bypass=frozenset(spaces) - keep - free,
        )
    arch = Architecture("toy", tuple(levels), ComputeLevel("mac", "mac", "intmac", 8, x, y))
    return arch, EnergyCosts("toy", tuple(energies), 0.5, "toy"), Constraints("toy", limits)


@st.composite
def cases(draw: st.DrawFn) -> tuple[Problem, Architecture, EnergyCosts, Constraints]:
    """A small layer on a random hierarchy."""
    size = st.sampled_from([1, 1, 2, 3, 4])
    layer = Layer(
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
    return (layer.problem(), *toy(draw))


def compare(problem: Problem, arch: Architecture, costs: EnergyCosts, constraints: Constraints) -> int:
    """Compare every objective and both semantics; return how many mappings were enumerated."""
    space = build_mapspace(problem, arch, constraints)
    mappings = enumerate_mappings(space)
    if mappings is None:
        return 0
    mappings = fits(problem, arch, costs, mappings)
    for semantics in ("timeloop-3.0.3", "timeloop-2023-04"):
        result = search_mapspace(space, costs, semantics=semantics)
        if not mappings:
            assert result.status == "no_mapping"
            assert result.reason
            continue
        energies, cycles = evaluate_many(problem, arch, costs, mappings, semantics)
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
        assert product.edp_pj_cycles == pytest.approx((energies * cycles).min(), rel=1e-11)
        both = search_mapspace(space, costs, objective=("energy", "delay"), semantics=semantics).evaluation
        assert both is not None
        near = energies <= energies.min() * 1.001
        assert both.cycles == cycles[near].min()
    return len(mappings)


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(cases())
def test_the_search_finds_the_optimum_of_random_hierarchies(
    case: tuple[Problem, Architecture, EnergyCosts, Constraints],
) -> None:
    # Constraints drawn at random may contradict the layer or each other; that is not what is tested here.
    with contextlib.suppress(InputError):
        compare(*case)


def test_the_encoding_of_a_mapping_is_what_the_search_reports() -> None:
    arch, costs, constraints = _fixed()
    problem = Layer("conv", C=4, M=6, R=3, S=2, P=6, Q=4).problem()
    result = search_mapspace(build_mapspace(problem, arch, constraints), costs)
    assert result.mapping is not None
    nest = encode_mapping(problem, arch, result.mapping)
    assert isinstance(nest, NestArrays)
    assert np.isinf(encode_hardware(arch, costs)[-1, CAPACITY])
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
