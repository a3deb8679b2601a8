"""Real accelforge, where it is installed (JOULELOOP_ACCELFORGE): its counts against ours, and what its search finds."""

from dataclasses import replace

import pytest

from jouleloop.api.project import load_target
from jouleloop.engines.accelforge.engine import AccelforgeEngine, AccelforgeOptions
from jouleloop.engines.native import NativeEngine
from jouleloop.errors import EngineError
from jouleloop.mapping.mapping import LevelMapping, Mapping
from jouleloop.workload.layer import CONV
from jouleloop.workload.sizes import parse_layer

pytestmark = pytest.mark.slow

TARGETS = {
    "simba": load_target("simba", semantics="timeloop-3.0.3", constraints="arch-only").for_shape(CONV),
    "eyeriss": load_target("eyeriss", semantics="timeloop-3.0.3").for_shape(CONV),
}


@pytest.fixture(scope="module")
def engine():
    found = AccelforgeEngine(AccelforgeOptions(seconds=300.0))
    try:
        found.programs  # noqa: B018 - looks for the program
    except EngineError as error:
        pytest.skip(f"accelforge is not installed: {error}")
    return found


def mapping_of(target, text):
    """Return the mapping that `Mapping.compact` writes as ``text``."""
    levels = []
    for part in text.split("|"):
        name, *loops = part.split()
        temporal = tuple((loop[0], int(loop[1:])) for loop in loops if loop[-1] not in "XY")
        spatial = tuple((loop[0], int(loop[1:-1]), loop[-1]) for loop in loops if loop[-1] in "XY")
        keep = target.constraints.level(name).keep or frozenset()
        if not levels:
            keep = frozenset({"Inputs", "Outputs", "Weights"})
        levels.append(LevelMapping(name, temporal, spatial, keep))
    return Mapping(tuple(levels))


#: Nests in which no tile stays across a loop that stands outside a fan-out: accelforge has no word for that.
NESTS = [
    ("eyeriss", "fc:160x64", "DRAM C4|shared_glb M4X|DummyBuffer C4Y|ifmap_spad M4|weights_spad C10|psum_spad M4"),
    ("eyeriss", "fc:24x4", "DRAM|shared_glb M2X|DummyBuffer C3Y|ifmap_spad C4 M2|weights_spad|psum_spad C2"),
    ("eyeriss", "fc:8x4/batch6", "DRAM N3|shared_glb M2X|DummyBuffer C2Y|ifmap_spad M2|weights_spad C4|psum_spad N2"),
    (
        "simba",
        "fc:512x128",
        "DRAM C4|GlobalBuffer C8X M2X|PEInputBuffer M4 M4Y|PEWeightBuffer|PEAccuBuffer C4 M4 C4Y|PEWeightRegs",
    ),
]


@pytest.mark.parametrize(("name", "layer", "text"), NESTS)
def test_counts_differ_by_the_draining_reads_alone(name, layer, text, engine):
    """Timeloop does not charge the read that sends a finished (or evicted) partial sum outward; accelforge does.

    A tile of outputs leaves its level once more than it comes back, since its first fill is left out: what is drained
    is what was filled and every word once. Energies agree to single precision, in which accelforge computes.
    """
    target, problem = TARGETS[name], parse_layer(layer).problem()
    mapping = mapping_of(target, text)
    ours = NativeEngine().evaluate(problem, target, mapping)
    theirs = engine.evaluate(problem, target, mapping)
    assert (theirs.computes, theirs.compute_instances) == (ours.computes, ours.compute_instances)
    assert theirs.compute_energy_pj == pytest.approx(ours.compute_energy_pj, rel=1e-6)
    total_pj = ours.compute_energy_pj
    for position, (a, b) in enumerate(zip(ours.levels, theirs.levels, strict=True)):
        energy = target.costs.levels[position]
        level = target.arch.levels[position]
        for space, stats in a.data.items():
            other = b.data[space]
            drained = stats.fills + stats.partition_words if space == "Outputs" and position else 0
            assert other.reads == stats.reads + drained, (a.name, space)
            assert other.fills + other.updates == stats.fills + stats.updates, (a.name, space)
            assert other.instances == stats.instances
            words_pj = other.reads * energy.read_pj + (other.fills + other.updates) * energy.write_pj
            expected_pj = words_pj * stats.instances / level.block_words / level.cluster_size
            assert other.energy_pj == pytest.approx(expected_pj, rel=1e-6), (a.name, space)
            total_pj += expected_pj
    assert theirs.energy_pj == pytest.approx(total_pj, rel=1e-6)


def test_its_best_mapping_is_no_better_than_the_proven_optimum(engine):
    # All constraints of this mapspace are translated, so what it finds is in our mapspace, unless it is uneven.
    target, problem = TARGETS["simba"], parse_layer("fc:256x64").problem()
    found = engine.search(problem, target)
    assert found.status == "ok", found.reason
    assert not found.optimal
    assert found.mapspace_size > found.visited > 0
    best = NativeEngine().search(problem, target)
    assert best.optimal
    assert found.mapping is not None
    same = NativeEngine().evaluate(problem, target, found.mapping)
    assert same.energy_pj >= best.evaluation.energy_pj * (1 - 1e-12)
    # Evaluating what it found gives what it said.
    assert engine.evaluate(problem, target, found.mapping).energy_pj == found.evaluation.energy_pj


def test_imperfect_factors_are_found_for_prime_sizes(engine):
    target, problem = TARGETS["eyeriss"], parse_layer("fc:37x29").problem()
    perfect = engine.search(problem, target)
    imperfect = AccelforgeEngine(replace(engine.options, imperfect=True)).search(problem, target)
    assert (perfect.status, imperfect.status) == ("ok", "ok"), imperfect.reason
    assert imperfect.evaluation.energy_pj <= perfect.evaluation.energy_pj
    # 37 inputs on 12 rows: all rows work at once only with factors that do not divide.
    assert imperfect.evaluation.compute_instances > perfect.evaluation.compute_instances
    assert imperfect.evaluation.computes == 37 * 29


def test_a_layer_that_the_constraints_do_not_fit_has_no_mapping(engine):
    target = load_target("simba", semantics="timeloop-3.0.3", constraints="full").for_shape(CONV)
    result = engine.search(parse_layer("fc:64x6").problem(), target)
    assert result.status == "no_mapping"
    assert "no pmappings" in result.reason
