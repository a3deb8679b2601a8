"""The search of loops that end early against all mappings of small mapspaces, and its bounds against the model."""

import itertools
import json
import math
import random
from collections.abc import Iterator
from dataclasses import replace
from functools import cache, reduce
from typing import Any

import pytest

from attacks import copied
from differential.case import Case, components
from differential.hardware import draw_architecture, draw_energies
from differential.imperfect import draw_mapping
from differential.limits import draw_constraints
from differential.native import load
from differential.problems import draw_problem
from differential.residual_space import least_pj, mappings, sizes
from differential.shared import few_energies
from differential.tiny import draw_tiny
from jouleloop.engines.protocol import Target
from jouleloop.errors import InputError, JouleloopError
from jouleloop.mapspace.space import MapSpace, build_mapspace
from jouleloop.model.arrays import new_work
from jouleloop.model.encode import encode_mapping
from jouleloop.model.evaluate import evaluate_mapping
from jouleloop.optimum.arrays import new_counters
from jouleloop.optimum.certificate import certify
from jouleloop.optimum.driver import Task
from jouleloop.optimum.residual.counts import least_cost
from jouleloop.optimum.residual.optimise import ImperfectKernel, search_residuals
from jouleloop.proof.design import Design
from jouleloop.proof.form import check_form, digest_of
from jouleloop.proof.imperfect import Part, argument, parts_of
from jouleloop.proof.limits import Verdict
from jouleloop.proof.verify import Refused, verify
from jouleloop.study.targets import TargetFiles, TargetSet
from jouleloop.workload.layer import Layer
from paths import REFERENCE, ROOT
from shares import in_shares

#: Most mappings of a mapspace that is walked as a whole.
MOST, MOST_WINDOWS, MOST_CANCELLING, MOST_BOTH = 1500, 600, 3000, 4000


def draw(seed: int) -> Case:
    """Return a small design with a fully-connected layer or a product of matrices, sizes of few divisors."""
    rng = random.Random(f"residual search/{seed}")
    while True:
        problem = draw_problem(rng, "general")
        if problem["problem"]["shape"]["name"] in ("fc", "matmul"):
            break
    instance = problem["problem"]["instance"]
    for name in instance:
        instance[name] = rng.choice((2, 3, 5, 5, 7, 7, 9, 10, 11, 13))
    arch = draw_architecture(rng, "general")
    semantics = rng.choice(("timeloop-3.0.3", "timeloop-2023-04"))
    bare = Case(f"residual-{seed}", arch, problem, {}, {}, "energy", semantics)
    bare = Case(**{**bare.as_json(), "ert": draw_energies(rng, components(bare))})
    return Case(**{**bare.as_json(), "constraints": draw_constraints(rng, bare)})


def searched(case: Case, most: int) -> tuple[Target, MapSpace] | None:
    """Return target and mapspace of a case that is searched, where the mapspace has a few mappings."""
    try:
        problem, target = load(case)
        space = build_mapspace(problem, target.arch, target.constraints, imperfect=True)
        ImperfectKernel(Task(space, target.costs, semantics=target.semantics), new_counters())
    except JouleloopError:
        return None
    return (target, space) if 1 < sizes(space) <= most else None


@in_shares(2000, first=100)
def test_the_search_finds_the_least_of_all_mappings(seeds: range) -> None:
    compared = 0
    for seed in seeds:
        given = searched(draw(seed), MOST)
        if given is None:
            continue
        target, space = given
        least, _ = least_pj(space, target.costs, target.semantics)
        found = search_residuals(space, target.costs, semantics=target.semantics)
        assert found.optimal is (least < math.inf), seed
        if found.evaluation is not None:
            assert found.evaluation.energy_pj == pytest.approx(least, rel=1e-9, abs=1e-9), seed
            compared += 1
    assert compared >= len(seeds) // 20


def draw_mesh(seed: int) -> Case:
    """Return a product on a small mesh of two axes, below a memory or below a buffer."""
    rng = random.Random(f"axes/{seed}")
    first = [[["C"]], *([[["N"]]] if rng.random() < 0.3 else [])]
    spaces = [
        {"name": "A", "projection": first},
        {"name": "W", "projection": [[["C"]], [["M"]]]},
        {"name": "Z", "projection": [[["M"]], [["N"]]], "read-write": True},
    ]
    shape = {"name": "g", "dimensions": ["C", "M", "N"], "data-spaces": spaces}
    instance = {"C": rng.choice((2, 3, 5, 7, 7, 9, 11, 13)), "M": rng.choice((1, 2, 3, 5, 7))}
    instance["N"] = rng.choice((1, 1, 1, 2, 3))
    x, y = rng.choice(((2, 2), (2, 3), (3, 2), (3, 3), (4, 2), (4, 4)))
    wide, units = {"meshX": x}, f"[0..{x * y - 1}]"
    own, name = rng.choice((({"meshX": 1}, "buffer"), (wide, f"buffer{units}")))
    local = [
        {"name": "DRAM", "class": "DRAM", "attributes": {"word-bits": 8, "meshX": 1}},
        {"name": name, "class": "SRAM", "attributes": {"word-bits": 8, "depth": rng.choice((4, 8, 32, 400)), **own}},
        {"name": f"mac{units}", "class": "mac", "attributes": {"datawidth": 8, **wide}},
    ]
    arch = {"architecture": {"version": 0.3, "subtree": [{"name": "s", "local": local}]}}
    keep = [one for one in "AWZ" if rng.random() < 0.7]
    bypass = [one for one in "AWZ" if one not in keep]
    limits = {"targets": [{"target": "buffer", "type": "bypass", "keep": keep, "bypass": bypass}]}
    given = arch, {"problem": {"shape": shape, "instance": instance}}, {"mapspace_constraints": limits}
    bare = Case(f"axes-{seed}", *given, {}, "energy", rng.choice(("timeloop-3.0.3", "timeloop-2023-04")))
    return Case(**{**bare.as_json(), "ert": few_energies(rng, components(bare))})


@in_shares(120, first=12)
def test_along_both_axes_the_search_finds_the_least(seeds: range) -> None:
    compared = parted = 0
    for seed in seeds:
        problem, target = load(draw_mesh(seed))
        constraints = replace(target.constraints, axes="free")
        space = build_mapspace(problem, target.arch, constraints, imperfect=True)
        assert any(slot is not None and slot.both for slot in space.spatial)
        if len(list(itertools.islice(mappings(space), MOST_BOTH + 1))) > MOST_BOTH:
            continue
        found = search_residuals(space, target.costs, semantics=target.semantics)
        least, _ = least_pj(space, target.costs, target.semantics)
        assert found.optimal is (least < math.inf), seed
        if found.evaluation is not None and found.mapping is not None:
            assert found.evaluation.energy_pj == pytest.approx(least, rel=1e-9, abs=1e-9), seed
            compared += 1
            parted += any(len({d for d, *_ in one.spatial}) < len(one.spatial) for one in found.mapping.levels)
    assert compared >= len(seeds) // 2
    assert parted >= len(seeds) // 20


@in_shares(300, first=30)
def test_the_verifier_proves_the_least_by_itself(seeds: range) -> None:
    """It finds the optimum below a limit just above it, and nothing below the optimum."""
    compared = 0
    for seed in range(4000 + seeds.start, 4000 + seeds.stop):
        try:
            problem, target = load(draw(seed))
            space = build_mapspace(problem, target.arch, target.constraints, imperfect=True)
            if not 1 < sizes(space) <= MOST:
                continue
            found = search_residuals(space, target.costs, semantics=target.semantics)
        except JouleloopError:
            continue
        if found.evaluation is None or found.evaluation.energy_pj == 0:
            continue
        constraints = replace(target.constraints, factors="imperfect")
        data = certify(space, constraints, target.costs, found, target.semantics)
        assert verify(check_form(data)).parts > 0, seed
        least_pj = found.evaluation.energy_pj
        parts = walked(data, least_pj * (1 + 1e-6))
        assert min(part.better[1] for part in parts if part.better) == pytest.approx(least_pj, rel=1e-9), seed
        compared += 1
    assert compared >= len(seeds) // 20


def walked(data: dict[str, Any], limit_pj: float) -> list[Part]:
    """Return all parts of a certificate's design, walked as if something below a limit were looked for."""
    parts = list(parts_of(Design(data), limit_pj, Verdict()))
    for part in parts:
        argument(part)
    return parts


def certificate_of(design: str, layer: Layer, semantics: str = "timeloop-3.0.3") -> dict[str, Any]:
    """Return the certificate of a layer's optimum among imperfect factors, as it would be read."""
    problem = layer.problem()
    target = constrained(design, semantics).for_shape(problem.shape)
    space = build_mapspace(problem, target.arch, target.constraints, imperfect=True)
    found = search_residuals(space, target.costs, semantics=semantics)
    constraints = replace(target.constraints, factors="imperfect")
    written = certify(space, constraints, target.costs, found, semantics)
    return check_form(json.loads(json.dumps(written)))


@pytest.mark.slow
def test_the_verifier_proves_the_least_where_windows_slide() -> None:
    compared = 0
    for seed in range(1000, 1025):
        design, layer, semantics = draw_window(seed)
        try:
            data = certificate_of(design, layer, semantics)
        except InputError:
            continue
        assert verify(data).parts > 0, seed
        found = [part.better[1] for part in walked(data, data["value"] * (1 + 1e-6)) if part.better]
        assert min(found) == pytest.approx(data["value"], rel=1e-9), seed
        compared += 1
    assert compared >= 12


def numbers(data: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Yield where the numbers of a certificate stand."""
    if isinstance(data, (dict, list)):
        for key, value in data.items() if isinstance(data, dict) else enumerate(data):
            yield from numbers(value, (*path, key))
    elif isinstance(data, (int, float)) and not isinstance(data, bool):
        yield path


def test_a_number_changed_in_a_certificate_of_windows_is_refused() -> None:
    data = certificate_of("eyeriss", Layer.of("conv", C=2, M=2, P=3, Q=2, R=3, S=2, w_stride=2))
    # Those of the argument are left to the attacks.
    for path in numbers({**data, "parts": []}):
        changed = copied(data)
        place = reduce(lambda at, key: at[key], path[:-1], changed)
        place[path[-1]] += 1
        with pytest.raises(InputError):
            check_form(copied(changed))
        changed["digest"] = digest_of(changed)
        if path[0] in ("value", "mapping") or path[1:2] in (("bounds",), ("compute_pj",)):
            # Another layer, another energy or other loops: the claim is false.
            with pytest.raises((Refused, JouleloopError)):
                verify(check_form(changed))
    for factor in (0.999, 1.001):
        changed = {**data, "value": data["value"] * factor}
        with pytest.raises(Refused):
            verify(changed)


def draw_window(seed: int) -> tuple[str, Layer, str]:
    """Return an architecture of the project, a tiny convolution and the semantics."""
    rng = random.Random(f"residual windows/{seed}")
    sizes = {d: rng.choice((1, 1, 2, 3)) for d in "CM"} | {d: rng.choice((1, 2, 3, 5)) for d in "PQ"}
    tap = rng.choice((2, 3))
    steps = {"w_stride": rng.choice((1, 1, 2, 3)), "w_dilation": rng.choice((1, 1, 2))}
    layer = Layer.of("conv", **sizes, R=tap, S=rng.choice((1, 1, tap)), **steps)
    return rng.choice(("eyeriss", "simba")), layer, rng.choice(("timeloop-3.0.3", "timeloop-2023-04"))


@cache
def constrained(design: str, semantics: str) -> TargetSet:
    files = (ROOT / f"arch/{design}.yaml", ROOT / f"arch/energy/{design}-45nm-accelergy03.yaml")
    return TargetSet(TargetFiles(design, *files, ROOT / f"mappings/{design}.yaml"), semantics)


@in_shares(800, first=30)
def test_where_windows_slide_the_search_finds_the_least(seeds: range) -> None:
    compared = 0
    for seed in seeds:
        design, layer, semantics = draw_window(seed)
        problem = layer.problem()
        target = constrained(design, semantics).for_shape(problem.shape)
        space = build_mapspace(problem, target.arch, target.constraints, imperfect=True)
        few = len(list(itertools.islice(mappings(space), MOST_WINDOWS + 1))) <= MOST_WINDOWS
        if not few or not ImperfectKernel(Task(space, target.costs, semantics=semantics), new_counters()).windows:
            continue
        least, _ = least_pj(space, target.costs, semantics)
        found = search_residuals(space, target.costs, semantics=semantics)
        assert found.optimal is (least < math.inf), seed
        if found.evaluation is not None:
            assert found.evaluation.energy_pj == pytest.approx(least, rel=1e-9), seed
            compared += 1
    assert compared >= len(seeds) // 10


def draw_cancelling(seed: int) -> Case:
    """Return a design whose buffer holds little but inputs, with a window of which two loops may cancel."""
    rng = random.Random(f"cancelling/{seed}")
    step = rng.choice((1, 1, 2, 3))
    spaces = [
        {"name": "T", "projection": [[["P", "a"], ["R", "b"]], *([[["N"]]] if rng.random() < 0.3 else [])]},
        {"name": "W", "projection": [[["R"]], [["C"]]]},
        {"name": "Z", "projection": [[["P"]], [["N"]]], "read-write": True},
    ]
    coefficients = [{"name": name, "default": step * rng.choice((1, 1, 1, 2))} for name in "ab"]
    shape = {"name": "g", "dimensions": ["P", "R", "C", "N"], "coefficients": coefficients, "data-spaces": spaces}
    instance = {
        "P": rng.choice((2, 3, 4)),
        "R": rng.choice((2, 3)),
        "C": rng.choice((2, 3)),
        "N": rng.choice((1, 1, 2)),
    }
    buffer = {"word-bits": 8, "depth": rng.choice((1, 1, 2, 3, 4, 5)), "meshX": 1}
    local = [
        {"name": "DRAM", "class": "DRAM", "attributes": {"word-bits": 8, "meshX": 1}},
        {"name": "buffer", "class": "SRAM", "attributes": buffer},
        {"name": "mac", "class": "mac", "attributes": {"datawidth": 8}},
    ]
    arch = {"architecture": {"version": 0.3, "subtree": [{"name": "s", "local": local}]}}
    keep = ["T", *rng.choice(([], [], ["W"]))]
    bypass = [name for name in "TWZ" if name not in keep]
    constraints = {
        "mapspace_constraints": {"targets": [{"target": "buffer", "type": "bypass", "keep": keep, "bypass": bypass}]}
    }
    semantics = rng.choice(("timeloop-3.0.3", "timeloop-2023-04"))
    bare = Case(
        f"cancelling-{seed}",
        arch,
        {"problem": {"shape": shape, "instance": instance}},
        constraints,
        {},
        "energy",
        semantics,
    )
    return Case(**{**bare.as_json(), "ert": few_energies(rng, components(bare))})


@in_shares(130, first=10)
def test_where_two_loops_of_a_window_cancel_the_search_finds_the_least(seeds: range) -> None:
    """And the verifier accepts what proves it: nothing is fetched where a tile stays."""
    compared = 0
    for seed in seeds:
        given = searched(draw_cancelling(seed), MOST_CANCELLING)
        if given is None:
            continue
        target, space = given
        least, _ = least_pj(space, target.costs, target.semantics)
        found = search_residuals(space, target.costs, semantics=target.semantics)
        if found.evaluation is None:
            continue
        assert found.evaluation.energy_pj == pytest.approx(least, rel=1e-9, abs=1e-9), seed
        compared += 1
        if least > 0:
            constraints = replace(target.constraints, factors="imperfect")
            data = certify(space, constraints, target.costs, found, target.semantics)
            parts = walked(data, least * (1 + 1e-6))
            assert min(part.better[1] for part in parts if part.better) == pytest.approx(least, rel=1e-9), seed
    assert compared >= 0.6 * len(seeds)


@pytest.mark.parametrize(("name", "optimum_pj"), [("tiles_stay", 34.8), ("tiles_stay_2023", 349.1442)])
def test_designs_that_an_earlier_search_got_wrong(name: str, optimum_pj: float) -> None:
    """The real mapper finds these energies with factors that divide."""
    case = Case(**json.loads((REFERENCE / "soundness" / name / "case.json").read_text()))
    problem, target = load(case)
    space = build_mapspace(problem, target.arch, target.constraints, imperfect=True)
    found = search_residuals(space, target.costs, semantics=target.semantics)
    assert found.evaluation is not None
    assert found.evaluation.energy_pj == pytest.approx(optimum_pj, rel=1e-12)
    data = certify(space, replace(target.constraints, factors="imperfect"), target.costs, found, target.semantics)
    assert verify(check_form(data)).parts > 0


@pytest.mark.parametrize(("family", "seed"), [("product", 13), ("windows", 26)])
def test_a_minimum_above_a_size_of_one_leaves_no_mapping(family: str, seed: int) -> None:
    problem, target = load(draw_tiny(seed, family))
    space = build_mapspace(problem, target.arch, target.constraints, imperfect=True)
    least = [max(slot.least[d] for slot in space.temporal) for d, bound in enumerate(problem.bounds) if bound == 1]
    assert max(least) > 1
    assert not any(mappings(space))
    assert search_residuals(space, target.costs, semantics=target.semantics).status == "no_mapping"


@pytest.mark.slow
def test_the_closed_form_is_no_higher_than_the_model() -> None:
    """And equal to it in most cases: it leaves out only boxes that are fetched again where nothing moved."""
    equal = number = 0
    for seed in range(1500):
        rng = random.Random(f"residual bound/{seed}")
        try:
            problem, target = load(draw(seed))
            space = build_mapspace(problem, target.arch, target.constraints, imperfect=True)
            search = ImperfectKernel(Task(space, target.costs, semantics=target.semantics), new_counters())
            mapping = draw_mapping(rng, problem, target.arch)
            real = evaluate_mapping(problem, target.arch, target.costs, mapping, target.semantics, check_capacity=False)
        except JouleloopError:
            continue
        if not mapping.imperfect or any(bound == 1 for bound in problem.bounds):
            continue
        nest = encode_mapping(problem, target.arch, mapping)
        design = search.design(nest.keep)
        work = new_work(*nest.keep.shape)
        bound_pj, _ = least_cost(design.target, design.relevant, nest, work)
        assert bound_pj <= real.energy_pj * (1 + 1e-9), (seed, mapping.compact())
        number += 1
        equal += bound_pj >= real.energy_pj * (1 - 1e-9)
    assert number >= 150
    assert equal >= 0.6 * number
