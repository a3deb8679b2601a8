"""Grouped and batched convolutions against counts made without the model."""

from collections.abc import Callable
from functools import cache

import pytest

from jouleloop.config.load import read_config
from jouleloop.engines.native import NativeEngine
from jouleloop.mapping.mapping import LevelMapping, Mapping
from jouleloop.mapspace.space import build_mapspace
from jouleloop.model.evaluate import evaluate_mapping
from jouleloop.model.evaluation import Evaluation
from jouleloop.study.compute import Job
from jouleloop.study.plan import jobs_of
from jouleloop.workload.layer import Layer
from paths import ROOT
from sample import sample_mappings

COUNTS = ("reads", "updates", "fills", "reductions")


@cache
def jobs(which: str = "arch-only") -> dict[str, Job]:
    config = read_config(ROOT / "config/config.yaml")
    entries = {name: entry.model_copy(update={"set": which}) for name, entry in config.architectures.items()}
    return jobs_of(config.model_copy(update={"architectures": entries}), ROOT)


def evaluate(architecture: str, layer: Layer, mapping: Mapping) -> Evaluation:
    problem = layer.problem()
    target = jobs()[architecture].target.for_shape(problem.shape)
    return evaluate_mapping(problem, target.arch, target.costs, mapping, check_capacity=False)


def drawn(architecture: str, layer: Layer, count: int, seed: int) -> list[Mapping]:
    problem = layer.problem()
    target = jobs()[architecture].target.for_shape(problem.shape)
    return sample_mappings(build_mapspace(problem, target.arch, target.constraints), count, seed=seed)


def with_outermost(mapping: Mapping, dimension: str, bound: int) -> Mapping:
    first, *rest = mapping.levels
    return Mapping((LevelMapping(first.level, ((dimension, bound), *first.temporal), first.spatial, first.keep), *rest))


def renamed(mapping: Mapping, name: Callable[[str], str]) -> Mapping:
    return Mapping(
        tuple(
            LevelMapping(
                level.level,
                tuple((name(d), b) for d, b in level.temporal),
                tuple((name(d), b, axis) for d, b, axis in level.spatial),
                level.keep,
            )
            for level in mapping.levels
        )
    )


def above_weights(mapping: Mapping) -> list[LevelMapping]:
    """The levels outside the outermost one on the chip that stores weights."""
    inner = next(k for k, level in enumerate(mapping.levels) if k and "Weights" in level.keep)
    return list(mapping.levels[:inner])


LAYERS = [
    Layer.of("conv", 4, 6, 3, 3, 1, 8, 6),
    Layer.of("conv", 6, 4, 5, 3, 2, 4, 9, 2, 3),
    Layer.of("conv", 1, 1, 3, 3, 1, 12, 12),
]


@pytest.mark.parametrize("architecture", ["eyeriss", "simba"])
@pytest.mark.parametrize("layer", LAYERS, ids=lambda layer: layer.spec())
def test_groups_one_after_the_other_cost_as_many_layers(architecture: str, layer: Layer) -> None:
    """No word of one group is of use to another: G in the outermost place makes everything G-fold."""
    groups = 5
    grouped = Layer.of("conv", **{**layer.sizes, "groups": groups})
    assert grouped.macs == groups * layer.macs
    for mapping in drawn(architecture, layer, 40, seed=7):
        one = evaluate(architecture, layer, mapping)
        all_groups = evaluate(architecture, grouped, with_outermost(mapping, "G", groups))
        # Not exactly: accesses to blocks of several words are rounded up, once in all instead of once a group.
        assert all_groups.energy_pj == pytest.approx(groups * one.energy_pj, rel=0.03)
        assert all_groups.computes == groups * one.computes
        assert all_groups.compute_cycles == groups * one.compute_cycles
        for level, single in zip(all_groups.levels, one.levels, strict=True):
            for space, stats in level.data.items():
                for key in COUNTS:
                    # Counts are those of one instance, whole numbers: an average over instances is rounded down.
                    found, wanted = getattr(stats, key), groups * getattr(single.data[space], key)
                    assert found == wanted or (stats.instances > 1 and abs(found - wanted) < groups), (mapping, space)


@pytest.mark.parametrize("architecture", ["eyeriss", "simba"])
def test_a_batch_one_after_the_other(architecture: str) -> None:
    """N in the outermost place: inputs and outputs move N-fold; weights once where all of them stay, else N-fold."""
    layer, batch = LAYERS[0], 3
    stayed = set()
    for mapping in drawn(architecture, layer, 60, seed=3):
        one = evaluate(architecture, layer, mapping)
        many = evaluate(
            architecture, Layer.of("conv", **{**layer.sizes, "N": batch}), with_outermost(mapping, "N", batch)
        )
        assert many.computes == batch * one.computes
        words = many.levels[0].data["Weights"].reads
        for space in ("Inputs", "Outputs"):
            for key in COUNTS:
                assert getattr(many.levels[0].data[space], key) == batch * getattr(one.levels[0].data[space], key)
        moving = [d for level in above_weights(mapping) for d, b in level.temporal if d in "CMRS" and b > 1]
        assert words == (batch if moving else 1) * one.levels[0].data["Weights"].reads
        stayed.add(bool(moving))
    assert stayed == {True, False}


def test_a_batched_matrix_product_is_a_one_by_one_convolution() -> None:
    """With 1 x 1 kernels and stride 1, N and P stand in the same places of all projections but for their names."""
    fc = Layer.of("fc", 12, 8, N=10)
    conv = Layer.of("conv", 12, 8, P=10)
    assert fc.macs == conv.macs
    # N may be looped where the constraints allow it: in the outermost levels.
    for architecture in ("eyeriss", "simba"):
        for mapping in drawn(architecture, fc, 60, seed=5):
            one = evaluate(architecture, fc, mapping)
            other = evaluate(architecture, conv, renamed(mapping, lambda d: "P" if d == "N" else d))
            assert one.energy_pj == pytest.approx(other.energy_pj, rel=1e-12)
            assert one.cycles == other.cycles
            for level, same in zip(one.levels, other.levels, strict=True):
                assert level.data == same.data


@pytest.mark.parametrize("architecture", ["eyeriss", "simba"])
@pytest.mark.parametrize("which", ["full", "arch-only"])
def test_depthwise_and_batched_layers_are_searched(architecture: str, which: str) -> None:
    """A search over groups is never worse than the groups one after the other."""
    single = Layer.of("conv", 1, 1, 3, 3, 1, 8, 8)
    energies = {}
    for groups, batch in ((1, 1), (8, 1), (8, 2)):
        problem = Layer.of("conv", **{**single.sizes, "groups": groups, "N": batch}).problem()
        target = jobs(which)[architecture].target.for_shape(problem.shape)
        result = NativeEngine().search(problem, target)
        assert result.optimal, result.reason
        assert result.evaluation is not None
        assert result.evaluation.computes == groups * batch * single.macs
        energies[groups, batch] = result.evaluation.energy_pj
    assert energies[8, 1] <= 8 * energies[1, 1] * (1 + 1e-12)
    assert energies[8, 2] <= 2 * energies[8, 1] * (1 + 1e-12)
