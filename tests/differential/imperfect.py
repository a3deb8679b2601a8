"""Random mappings whose loops need not divide, and what ``timeloop-model`` counts for them."""

import math
import random
from collections import Counter
from dataclasses import fields, replace
from functools import cache
from pathlib import Path
from typing import Any

from differential.case import SEMANTICS, Case, components
from differential.draw import KINDS
from differential.hardware import draw_architecture, draw_energies
from differential.later import let_leak
from differential.native import load
from differential.problems import draw_problem
from jouleloop.api.project import load_target
from jouleloop.arch.architecture import Architecture
from jouleloop.engines.agreement import compare_evaluations
from jouleloop.engines.protocol import Target
from jouleloop.engines.timeloop.engine import TimeloopEngine, TimeloopOptions
from jouleloop.errors import JouleloopError
from jouleloop.mapping.formats import from_levels
from jouleloop.mapping.mapping import LevelMapping, Mapping, ended_early
from jouleloop.mapping.reuse import Reuse
from jouleloop.model.evaluate import evaluate_mapping
from jouleloop.study.targets import TargetFiles, TargetSet
from jouleloop.workload.layer import Layer
from jouleloop.workload.problem import Problem
from jouleloop.workload.sizes import parse_layer
from paths import ROOT

#: What the kinds of designs for the main branch begin with, and by whose rules they count.
LATER = {"later-": "timeloop-4", "2024-": "timeloop-2024"}
#: Loops of a mapping at most: Timeloop executes up to four iterations of each.
MOST_LOOPS = 9


def draw_design(seed: int, kind: str, later: str | None = None) -> Case:
    """Return the case of a seed without constraints, its levels wide enough for most mappings, its sizes odd.

    ``later``: for a version of the main branch, and levels leak.
    """
    rng = random.Random(f"imperfect/{kind}/{seed}")
    problem = draw_problem(rng, kind)
    instance = problem["problem"]["instance"]
    coefficients = {c["name"] for c in problem["problem"]["shape"].get("coefficients", ())}
    for name, size in instance.items():
        if size > 1 and name not in coefficients and rng.random() < 0.7:
            instance[name] = rng.choice((3, 5, 7, 7, 9, 10, 11, 13, 17, 19, 23, 29))
    arch = draw_architecture(rng, kind)
    widen(arch["architecture"])
    semantics = rng.choices(("timeloop-3.0.3", "timeloop-2023-04"), (3, 1))[0]
    bare = Case(f"{kind}-{seed}", arch, problem, {"mapspace_constraints": {"targets": []}}, {}, "energy", semantics)
    energies = draw_energies(rng, components(bare), kind)
    if later:
        energies = let_leak(rng, energies)
        semantics = later
    return Case(**{**bare.as_json(), "ert": energies, "semantics": semantics})


def widen(tree: dict[str, Any]) -> None:
    """Raise every capacity, so that few mappings are lost to it."""
    for item in tree.get("local") or []:
        for key in ("depth", "entries", "memory_depth"):
            if key in item["attributes"]:
                item["attributes"][key] *= 50
        item["attributes"].pop("min-utilization", None)
    for child in tree.get("subtree") or []:
        widen(child)


def draw_mapping(rng: random.Random, problem: Problem, arch: Architecture) -> Mapping:
    """Return a random mapping: ends at random, residual ends as they follow, anything kept anywhere."""
    dims = problem.shape.dimensions
    spaces = [space.name for space in problem.data_spaces]
    left = dict(problem.bound)
    slots: list[tuple[int, str, str]] = []
    for position in range(len(arch.levels)):
        for dimension in dims:
            if problem.bound[dimension] > 1:
                slots.append((position, dimension, ""))
                slots += [
                    (position, dimension, axis) for axis, n in zip("XY", arch.fanout[position], strict=True) if n > 1
                ]
    rng.shuffle(slots)
    ends: dict[tuple[int, str, str], int] = {}
    used = {(position, axis): 1 for position in range(len(arch.levels)) for axis in "XY"}
    for position, dimension, axis in slots:
        if len(ends) >= MOST_LOOPS - len(dims) // 2 or left[dimension] == 1 or rng.random() < 0.3:
            continue
        if axis and any((position, dimension, other) in ends for other in "XY"):
            continue
        most = left[dimension]
        if axis:
            most = min(most, arch.fanout[position]["XY".index(axis)] // used[position, axis])
        if most < 2:
            continue
        end = rng.randint(2, max(2, min(most, 8)))
        ends[position, dimension, axis] = end
        left[dimension] = -(-left[dimension] // end)
        if axis:
            used[position, axis] *= end
    for dimension in dims:
        if left[dimension] > 1:
            position = rng.randrange(len(arch.levels))
            ends[position, dimension, ""] = ends.get((position, dimension, ""), 1) * left[dimension]
    levels = []
    for position, level in enumerate(arch.levels):
        temporal = [(d, e) for (p, d, axis), e in ends.items() if p == position and not axis]
        spatial = [(d, e, axis) for (p, d, axis), e in ends.items() if p == position and axis]
        rng.shuffle(temporal)
        rng.shuffle(spatial)
        spatial.sort(key=lambda loop: loop[2], reverse=True)
        keep = spaces if position == 0 else [s for s in spaces if rng.random() < 0.7]
        levels.append(LevelMapping(level.name, tuple(temporal), tuple(spatial), frozenset(keep)))
    product = dict.fromkeys(dims, 1)
    for (_, dimension, _), end in ends.items():
        product[dimension] *= end
    early = tuple(sorted((d, problem.bound[d]) for d in dims if product[d] != problem.bound[d]))
    return Mapping(tuple(levels), early)


def along_both(rng: random.Random, mapping: Mapping, problem: Problem, arch: Architecture) -> Mapping | None:
    """Return the mapping with dimensions along both axes of a fan-out, other loops shortened; None where none has."""
    left, levels, twice = dict(problem.bound), [], False
    for level, fanout in zip(reversed(mapping.levels), reversed(arch.fanout), strict=True):
        room = [
            most // math.prod(e for _, e, axis in level.spatial if axis == own)
            for own, most in zip("XY", fanout, strict=True)
        ]
        loops = list(level.spatial)
        for d, _, axis in level.spatial:
            other = "YX".index(axis)
            if room[other] > 1 and rng.random() < 0.8:
                loops.append((d, rng.randint(2, room[other]), "XY"[other]))
                room[other] //= loops[-1][1]
        rng.shuffle(loops)
        spatial, temporal = [], []
        for d, end, axis in sorted(loops, key=lambda loop: loop[2]):
            spatial.insert(0, (d, min(end, left[d]), axis))
            left[d] = -(-left[d] // end)
        for d, end in reversed(level.temporal):
            temporal.insert(0, (d, min(end, left[d])))
            left[d] = -(-left[d] // end)
        spatial = [loop for loop in spatial if loop[1] > 1]
        twice = twice or len({d for d, *_ in spatial}) < len(spatial)
        time = tuple(loop for loop in temporal if loop[1] > 1)
        levels.insert(0, replace(level, spatial=tuple(spatial), temporal=time))
    whole = twice and max(left.values()) == 1
    return ended_early(Mapping(tuple(levels)), problem) if whole else None


def draw_along_both(seed: int, kind: str) -> tuple[dict[str, Any], Problem, Target, Mapping] | None:
    """Return what `draw_evaluated` does of a mapping with a dimension along both axes, where no window slides."""
    rng = random.Random(f"both axes/{kind}/{seed}")
    case = draw_design(seed, kind)
    try:
        problem, target = load(case)
        mapping = None
        if not problem.slides and target.semantics == SEMANTICS[0]:
            mapping = along_both(rng, draw_mapping(rng, problem, target.arch), problem, target.arch)
        if mapping is None or not mapping.imperfect:
            return None
        evaluate_mapping(problem, target.arch, target.costs, mapping, target.semantics)
    except JouleloopError:
        return None
    record = {"kind": f"both-{kind}", "seed": seed, "case": case.as_json(), "mapping": mapping.as_json()}
    return record, problem, target, mapping


def in_one_row(target: Target, mapping: Mapping) -> tuple[Target, Mapping]:
    """Return all instances of each fan-out in one row, and the mapping with one loop a dimension there."""
    levels = tuple(replace(one, mesh_x=one.instances, mesh_y=1) for one in target.arch.levels)
    compute = replace(target.arch.compute, mesh_x=target.arch.compute.instances, mesh_y=1)
    loops = []
    for level in mapping.levels:
        ends: dict[str, int] = {}
        for d, end, _ in reversed(level.spatial):
            ends[d] = ends.get(d, 1) * end
        spatial = tuple((d, end, "X") for d, end in reversed(ends.items()))
        loops.append(replace(level, spatial=spatial))
    row = replace(target, arch=replace(target.arch, levels=levels, compute=compute))
    return row, replace(mapping, levels=tuple(loops))


def draw_reuse(rng: random.Random, mapping: Mapping, problem: Problem) -> Mapping:
    """Return the mapping with levels told at random what not to reuse, as Timeloop 4 knows it."""
    written = {space.name for space in problem.data_spaces if space.read_write}
    levels = []
    for position, level in enumerate(mapping.levels):
        told = {
            rule.name: frozenset(name for name in sorted(level.keep) if rng.random() < 0.3)
            for rule in fields(Reuse)
            if rng.random() < 0.25
        }
        if "rmw_first_update" in told:
            told["rmw_first_update"] &= written
        if position == 0:
            told.pop("no_coalesce", None)
        levels.append(replace(level, reuse=Reuse(**told)))
    return replace(mapping, levels=tuple(levels))


def draw_layer(seed: int) -> Layer:
    """Return a small fully-connected layer, convolution or batch with sizes of few divisors."""
    rng = random.Random(f"imperfect layer/{seed}")
    odd = (5, 7, 10, 11, 13, 17, 19, 23, 29, 31, 37)
    if rng.random() < 0.4:
        return Layer.of("fc", rng.choice(odd), rng.choice(odd), N=rng.choice((1, 1, 3, 7)))
    tap, stride = rng.choice((1, 2, 3, 3, 5)), rng.choice((1, 1, 2, 3))
    sizes: dict[str, Any] = {"R": tap, "S": rng.choice((1, tap)), "P": rng.choice(odd), "Q": rng.choice((1, 7, 13))}
    return Layer.of("conv", rng.choice((1, 3, 5, 11)), rng.choice(odd), **sizes, w_stride=stride, h_stride=stride)


@cache
def _targets(design: str, semantics: str) -> TargetSet:
    if design in DESIGNS:
        return load_target(design, semantics=semantics, constraints="none")
    energy = ROOT / f"arch/energy/{design}-45nm-accelergy03.yaml"
    return TargetSet(TargetFiles(design, ROOT / f"arch/{design}.yaml", energy, None, "none"), semantics)


def load_design(design: str, layer: Layer, semantics: str) -> tuple[Problem, Target]:
    """Return problem and target of a layer on one of the project's architectures, its constraints left out."""
    problem = layer.problem()
    return problem, _targets(design, semantics).for_shape(problem.shape)


def _several_axes(_: Problem, mapping: Mapping) -> bool:
    """Whether loops unrolled along X and along Y both end early."""
    early = {
        axis
        for level, (_, ends) in zip(mapping.levels, mapping.residual_ends(), strict=True)
        for (_, end, axis), residual in zip(level.spatial, ends, strict=True)
        if residual != end
    }
    return len(early) == 2


def _long_chain(_: Problem, mapping: Mapping) -> bool:
    """Whether loops of one dimension end early at three levels or more."""
    early = Counter(
        dimension
        for level, kinds in zip(mapping.levels, mapping.residual_ends(), strict=True)
        for dimension in {
            d for (d, end), residual in zip(level.loops, [*kinds[0], *kinds[1]], strict=True) if end != residual
        }
    )
    return max(early.values()) >= 3


def _batched_halo(problem: Problem, mapping: Mapping) -> bool:
    """Whether samples and a strided window without dilation both have loops that end early."""
    early = {dimension for dimension, _ in mapping.imperfect}
    steps = dict(zip((name for name, _ in problem.shape.coefficients), problem.coefficients, strict=True))
    strided = any(step > 1 for name, step in steps.items() if "stride" in name)
    dilated = any(step > 1 for name, step in steps.items() if "dil" in name)
    return "N" in early and bool(early & {"P", "Q"}) and strided and not dilated


def _fitted(problem: Problem, target: Target, mapping: Mapping) -> Mapping:
    """Return the mapping where every level keeps only the smallest tiles, as many as fit."""
    counted = evaluate_mapping(problem, target.arch, target.costs, mapping, target.semantics, check_capacity=False)
    levels = []
    for level, stored, counts in zip(mapping.levels, target.arch.levels, counted.levels, strict=True):
        room = stored.effective_words
        kept = []
        for name, stats in sorted(counts.data.items(), key=lambda item: item[1].tile_words):
            if room is None or stats.tile_words + sum(counts.data[other].tile_words for other in kept) <= room:
                kept.append(name)
        levels.append(replace(level, keep=frozenset(kept)))
    return replace(mapping, levels=tuple(levels))


#: Kinds of mappings that random ones seldom are: what is drawn, and which of it is taken.
CHOSEN = {
    "axes": ("arrays", _several_axes),
    "chains": ("wide", _long_chain),
    "halos": ("windows", _batched_halo),
}


#: Further designs of the project, whose levels are too small for most mappings that are drawn.
DESIGNS = ("gemmini", "manticore")


def draw_evaluated(seed: int, kind: str) -> tuple[dict[str, Any], Problem, Target, Mapping] | None:
    """Return what is stored of a seed, and what it stands for.

    None where this package refuses the design or the mapping, or where no loop ends early.
    """
    rng = random.Random(f"imperfect mapping/{kind}/{seed}")
    try:
        record: dict[str, Any] = {"kind": kind, "seed": seed}
        base, taken = CHOSEN.get(kind, (kind, None))
        prefix = next((one for one in LATER if base.startswith(one)), "")
        later, base = LATER.get(prefix), base.removeprefix(prefix)
        if base in KINDS:
            record["case"] = draw_design(seed, base, later).as_json()
        else:
            record |= {"layer": draw_layer(seed).spec(), "semantics": rng.choice(SEMANTICS[:2])}
        problem, target = load_record(record)
        mapping = draw_mapping(rng, problem, target.arch)
        if not mapping.imperfect or (taken is not None and not taken(problem, mapping)):
            return None
        if later and rng.random() < 0.3:
            mapping = draw_reuse(rng, mapping, problem)
        if kind in DESIGNS:
            mapping = _fitted(problem, target, mapping)
        from_levels(mapping.as_json(), problem, target.arch)
        evaluate_mapping(problem, target.arch, target.costs, mapping, target.semantics)
    except JouleloopError:
        return None
    return record | {"mapping": mapping.as_json()}, problem, target, mapping


def load_record(record: dict[str, Any]) -> tuple[Problem, Target]:
    """Return problem and target of a stored record."""
    if "case" in record:
        return load(Case.from_json(record["case"]))
    return load_design(record["kind"], parse_layer(record["layer"]), record["semantics"])


def load_mapping(record: dict[str, Any], problem: Problem, target: Target) -> Mapping:
    """Return the mapping of a stored record."""
    return from_levels(record["mapping"], problem, target.arch)


def run_model(problem: Problem, target: Target, mapping: Mapping, home: Path) -> dict[str, Any]:
    """Return what the real ``timeloop-model`` counts."""
    engine = TimeloopEngine(TimeloopOptions(home=home, front_end="executables"))
    return engine.evaluate(problem, target, mapping).as_json()


def differences(problem: Problem, target: Target, mapping: Mapping, real: dict[str, Any]) -> list[str]:
    """Return all fields in which this package differs from Timeloop, one line each."""
    ours = evaluate_mapping(problem, target.arch, target.costs, mapping, target.semantics).as_json()
    return [
        f"{pair.field}: ours {pair.ours}, Timeloop {pair.theirs}"
        for pair in compare_evaluations(ours, real)
        if pair.verdict != "equal"
    ]
