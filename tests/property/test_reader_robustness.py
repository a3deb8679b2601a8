"""Damaged input is refused with a message or read; it never crashes a reader."""

import copy
import random
from collections.abc import Callable, Iterator
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from jouleloop.arch.read import architecture_from, read_architecture
from jouleloop.documents.load import load_document
from jouleloop.energy.estimator import estimate_costs
from jouleloop.energy.interpolated import InterpolatedEstimator
from jouleloop.errors import Fault, JouleloopError
from jouleloop.mapping.formats import from_levels, read_timeloop_mapping, to_timeloop_mapping
from jouleloop.mapping.nest import read_map_txt
from jouleloop.mapspace.read import build_constraints
from jouleloop.workload.layer import CONV
from jouleloop.workload.sizes import parse_layer
from jouleloop.workload.timeloop_problem import problem_from, problem_tree
from paths import REFERENCE, ROOT

RUNS = REFERENCE / "timeloop_runs"
PROBLEM = parse_layer("fc:1024x128").problem()
SIMBA = read_architecture(ROOT / "arch" / "simba.yaml")
NEST = read_map_txt(RUNS / "fc_simba_1024x128.map.txt", PROBLEM, SIMBA).mapping
ESTIMATOR = InterpolatedEstimator.read(ROOT / "arch" / "energy")
CONSTRAINTS = load_document(ROOT / "mappings" / "simba.yaml")

ODD: tuple[Any, ...] = (
    *(None, 0, -1, 2.5, float("nan"), float("inf"), 10**30, "", "x", "C", "N=1", "0..n", "a[0..3]", "Weights"),
    *([], {}, [1], ["C"], [[]], {"a": 1}, True, False),
)


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, child in children:
        yield from places(child, (*path, key))


def damaged(value: Any, chance: random.Random) -> Any:
    value = copy.deepcopy(value)
    for _ in range(chance.choice((1, 1, 2, 3))):
        path = chance.choice(list(places(value)))
        if not path:
            continue
        holder = value
        for key in path[:-1]:
            holder = holder[key]
        kind = chance.random()
        if kind < 0.6:
            holder[path[-1]] = copy.deepcopy(chance.choice(ODD))
        elif kind < 0.8:
            del holder[path[-1]]
        elif isinstance(holder, dict):
            holder[chance.choice(("zz", "spatial", "factors", "class", 1, None))] = holder.pop(path[-1])
        else:
            holder.append(copy.deepcopy(holder[path[-1]]))
    return value


def architecture(data: Any) -> None:
    arch = architecture_from(data)
    build_constraints(arch.constraints, arch, CONV, name="inline")
    estimate_costs(arch, [ESTIMATOR], warn=str)


READERS: tuple[tuple[Any, Callable[[Any], object]], ...] = (
    (load_document(ROOT / "arch" / "simba.yaml"), architecture),
    (load_document(REFERENCE / "exercises" / "simba_like" / "arch.yaml"), architecture),
    (load_document(RUNS / "simba_like.v03.yaml"), architecture),
    (
        CONSTRAINTS["architecture_constraints"]["targets"] + CONSTRAINTS["mapspace_constraints"]["targets"],
        lambda targets: build_constraints(targets, SIMBA, CONV, name="damaged"),
    ),
    (to_timeloop_mapping(NEST, PROBLEM, SIMBA), lambda data: read_timeloop_mapping(data, PROBLEM, SIMBA)),
    (NEST.as_json(), lambda data: from_levels(data, PROBLEM, SIMBA)),
    ({"problem": problem_tree(PROBLEM)}, problem_from),
)


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.integers(0, 2**32))
def test_damaged_data_never_crashes(seed: int) -> None:
    chance = random.Random(seed)
    for data, reader in READERS:
        faults: tuple[Fault, ...] = (Fault("none"),)
        try:
            reader(damaged(data, chance))
        except JouleloopError as error:
            faults = error.faults
        assert faults
        assert all(fault.message for fault in faults)
