"""Loops of a level that keeps nothing stand as well at the next one outside, where nothing fans out between them."""

import os
from dataclasses import replace

from differential.draw import KINDS, draw_case
from differential.native import load
from differential.strided import draw_strided
from jouleloop.errors import JouleloopError, MappingError
from jouleloop.mapping.mapping import Mapping
from jouleloop.mapspace.space import build_mapspace
from jouleloop.model.arrays import REUSE
from jouleloop.model.encode import encode
from jouleloop.model.evaluate import evaluate_mapping
from jouleloop.model.semantics import rules_of
from sample import sample_mappings
from shares import by_kind

CASES = int(os.environ.get("JOULELOOP_EXAMPLES", "60"))
NESTS = 30
_SEMANTICS = ("timeloop-3.0.3", "timeloop-2023-04", "timeloop-4")
_NO_CONSTRAINTS = {f"{which}_constraints": {"targets": []} for which in ("architecture", "mapspace")}


def moved_outward(mapping: Mapping) -> Mapping:
    """Return a mapping whose levels that keep nothing hand their loops outward, where nothing fans out above them."""
    levels = list(mapping.levels)
    for k in range(len(levels) - 1, 0, -1):
        inner, outer = levels[k], levels[k - 1]
        if not inner.keep and not outer.spatial:
            levels[k] = replace(inner, temporal=())
            levels[k - 1] = replace(outer, temporal=outer.temporal + inner.temporal)
    return replace(mapping, levels=tuple(levels))


@by_kind((*KINDS, "strided"), CASES, first=CASES // 10)
def test_loops_of_levels_that_keep_nothing_stand_further_out_as_well(kind: str, seeds: range) -> None:
    compared = 0
    for seed in seeds:
        case = draw_strided(seed, 4000) if kind == "strided" else draw_case(seed, kind, 4000)
        case = replace(case, semantics=_SEMANTICS[seed % 3], constraints=_NO_CONSTRAINTS)
        try:
            problem, target = load(case)
            space = build_mapspace(problem, target.arch, target.constraints)
            layer = encode(problem, target.arch, target.costs, rules_of(target.semantics), space.reuse).layer
        except JouleloopError:
            continue
        if any(layer.reuse[rule].any() for rule in REUSE.fields or () if rule not in ("averaging", "resting")):
            continue
        for mapping in sample_mappings(space, NESTS, seed=seed):
            other = moved_outward(mapping)
            if other == mapping:
                continue
            try:
                one = evaluate_mapping(problem, target.arch, target.costs, mapping, target.semantics)
            except MappingError:
                continue
            two = evaluate_mapping(problem, target.arch, target.costs, other, target.semantics)
            assert (two.energy_pj, two.cycles) == (one.energy_pj, one.cycles), (kind, seed, mapping)
            compared += 1
    assert compared > 0
