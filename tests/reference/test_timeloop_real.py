"""A real Timeloop, where one is installed, on problems small enough to count by hand."""

from pathlib import Path

import pytest

from jouleloop.arch.architecture import Architecture, ComputeLevel, StorageLevel
from jouleloop.energy.costs import EnergyCosts, LevelEnergy
from jouleloop.engines.protocol import SearchOptions, Target
from jouleloop.engines.timeloop.engine import TimeloopEngine, TimeloopOptions
from jouleloop.engines.timeloop.programs import locate
from jouleloop.errors import EngineError, MappingError
from jouleloop.mapping.mapping import LevelMapping, Mapping
from jouleloop.mapspace.constraints import Constraints, LevelConstraints
from jouleloop.workload.layer import Layer
from property.test_legal_space import CHEAPER, read, searched

ALL = frozenset({"Weights", "Inputs", "Outputs"})
ARCH = Architecture(
    "two",
    (
        StorageLevel("Backing", "s.Backing", "DRAM", None, 16),
        StorageLevel("Buffer", "s.Buffer", "SRAM", 8, 16),
    ),
    ComputeLevel("mac", "s.mac", "intmac", 16, 2, 1),
)
COSTS = EnergyCosts("t", (LevelEnergy("Backing", 10.0, 20.0, "t"), LevelEnergy("Buffer", 1.0, 2.0, "t")), 0.5, "t")
KEEP = {name: LevelConstraints(keep=ALL) for name in ARCH.level_names}


@pytest.fixture(scope="module")
def timeloop() -> TimeloopEngine:
    try:
        locate()
    except EngineError:
        pytest.skip("no Timeloop here")
    return TimeloopEngine(TimeloopOptions(mapper_seconds=30))


def _target(engine: TimeloopEngine, constraints: Constraints) -> Target:
    return Target(ARCH, COSTS, constraints, engine.programs.semantics)


def _nest(*outer: tuple[str, int], spatial: tuple[tuple[str, int, str], ...] = ()) -> Mapping:
    return Mapping((LevelMapping("Backing", outer, (), ALL), LevelMapping("Buffer", (), spatial, ALL)))


def test_counts_of_a_product(timeloop: TimeloopEngine) -> None:
    problem = Layer.of("fc", 3, 4).problem()
    found = timeloop.evaluate(problem, _target(timeloop, Constraints("none")), _nest(("M", 4), ("C", 3)))
    buffer = found.level("Buffer").data
    # Tiles of one word; outputs stay while C runs, weights and inputs move at every step.
    assert {name: stats.tile_words for name, stats in buffer.items()} == dict.fromkeys(sorted(ALL), 1)
    assert (buffer["Weights"].fills, buffer["Inputs"].fills) == (12, 12)
    # 12 updates; the first of each of the 4 outputs needs no read.
    assert (buffer["Outputs"].updates, buffer["Outputs"].reads) == (12, 8)
    fills = 0 if timeloop.programs.semantics == "timeloop-3.0.3" else 4
    assert buffer["Outputs"].fills == fills
    backing = 12 * 10.0 + 12 * 10.0 + 4 * 20.0
    inner = 12 * (1 + 2) * 2 + 12 * 2 + 8 * 1 + fills * 2
    assert found.energy_pj == pytest.approx(backing + inner + 12 * 0.5, rel=1e-12)
    assert (found.cycles, found.utilization) == (12, 0.5)


def test_spatial_reduction(timeloop: TimeloopEngine) -> None:
    problem = Layer.of("fc", 4, 3).problem()
    nest = _nest(("M", 3), ("C", 2), spatial=(("C", 2, "X"),))
    found = timeloop.evaluate(problem, _target(timeloop, Constraints("none")), nest)
    # Two units reduce into one update. Where a level fans out into the units, what stays while a loop runs is not sent
    # again: an output stays for the two steps of C, so there are 3 updates, not 6.
    data = found.level("Buffer").data
    assert (data["Outputs"].updates, data["Outputs"].reads) == (3, 0)
    assert (data["Weights"].reads, data["Inputs"].reads) == (12, 12)
    assert found.networks["Buffer<==>mac"]["Outputs"].ingress == ((2, 1, 3.0),)
    assert (found.cycles, found.compute_instances) == (6, 2)


def test_search_is_exhaustive(timeloop: TimeloopEngine) -> None:
    problem = Layer.of("fc", 3, 2).problem()
    target = _target(timeloop, Constraints("keep", KEEP))
    found = timeloop.search(problem, target)
    assert found.status == "ok"
    assert found.optimal
    assert found.mapping is not None
    assert found.evaluation is not None
    assert timeloop.evaluate(problem, target, found.mapping) == found.evaluation
    # Every word crosses at least once: 6 weights, 3 inputs, 2 outputs.
    assert found.evaluation.level("Backing").energy_pj == 9 * 10.0 + 2 * 20.0


def test_capacity(timeloop: TimeloopEngine, tmp_path: Path) -> None:
    problem = Layer.of("fc", 3, 4).problem()
    nest = Mapping((LevelMapping("Backing", (), (), ALL), LevelMapping("Buffer", (("M", 4), ("C", 3)), (), ALL)))
    engine = TimeloopEngine(TimeloopOptions(keep_folders=tmp_path))
    with pytest.raises(MappingError, match="Buffer cannot be mapped"):
        engine.evaluate(problem, _target(timeloop, Constraints("none")), nest)
    assert len(list(tmp_path.glob("timeloop-model-*/mapping.yaml"))) == 1


@pytest.mark.parametrize(("kind", "seed"), CHEAPER)
def test_orders_that_the_mapper_does_not_try(timeloop: TimeloopEngine, kind: str, seed: int) -> None:
    problem, targets = read(kind, seed)
    if timeloop.programs.semantics != targets["legal"].semantics:
        pytest.skip("counts by other rules")
    _, found = searched(problem, targets["legal"])
    assert found.mapping is not None
    assert found.evaluation is not None
    real = timeloop.evaluate(problem, targets["timeloop"], found.mapping)
    assert real.energy_pj == pytest.approx(found.evaluation.energy_pj, rel=1e-9)
    assert real.cycles == found.evaluation.cycles
    refused = timeloop.search(problem, targets["legal"], SearchOptions(budget=10))
    assert refused.status == "invalid"
    assert "its own mapspace" in refused.reason
