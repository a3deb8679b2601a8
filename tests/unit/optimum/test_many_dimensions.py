"""Layers of more open dimensions than a level has room for loops: refused by name before any kernel runs."""

import pytest

from bulk import evaluate_many
from differential.case import Case
from differential.native import load
from differential.problems import space
from jouleloop.engines.protocol import Target
from jouleloop.errors import InputError, MappingError
from jouleloop.mapping.mapping import LevelMapping, Mapping
from jouleloop.mapspace.space import build_mapspace
from jouleloop.model.arrays import MAX_LOOPS
from jouleloop.model.evaluate import evaluate_mapping
from jouleloop.optimum.arrays import new_counters
from jouleloop.optimum.driver import Task
from jouleloop.optimum.optimise import Search, search_mapspace
from jouleloop.optimum.residual.optimise import ImperfectKernel
from jouleloop.workload.problem import Problem

LETTERS = "ABDEFGHIJKLMN"


def layer(bounds: list[int], *, semantics: str = "timeloop-3.0.3", inside: str = "") -> tuple[Problem, Target]:
    """Return a layer of these bounds, and a memory with a buffer; each has one order, and the latter few loops.

    ``inside``: factors of the buffer.
    """
    dims = LETTERS[: len(bounds)]
    spaces = [space("T", *dims[:7]), space("U", *dims[6:]), space("Z", *dims[:2], write=True)]
    shape = {"name": "many", "dimensions": list(dims), "data-spaces": spaces}
    problem = {"problem": {"shape": shape, "instance": dict(zip(dims, bounds, strict=True))}}
    buffer = {"name": "buf", "class": "SRAM", "attributes": {"word-bits": 8, "depth": 64}}
    unit = {"name": "mac", "class": "intmac", "attributes": {"datawidth": 8}}
    node = {"name": "s1", "local": [buffer, unit]}
    memory = {"name": "DRAM", "class": "DRAM", "attributes": {"word-bits": 8}}
    arch = {"architecture": {"version": 0.3, "subtree": [{"name": "s0", "local": [memory], "subtree": [node]}]}}
    targets = [
        {"target": "DRAM", "type": "temporal", "permutation": dims},
        {"target": "buf", "type": "temporal", "permutation": dims, "factors": inside},
    ]
    constraints = {"architecture_constraints": {"targets": targets}, "mapspace_constraints": {"targets": []}}
    tables = [
        {"name": f"system.{name}", "actions": [{"name": action, "energy": pj} for action in actions]}
        for name, pj, actions in (
            ("DRAM", 10, ("read", "write", "update")),
            ("buf", 1, ("read", "write", "update")),
            ("mac", 1, ("compute",)),
        )
    ]
    ert = {"ERT": {"version": 0.3, "tables": tables}}
    return load(Case("many", arch, problem, constraints, ert, "energy", semantics))


def all_but(count: int) -> str:
    return " ".join(f"{d}=1" for d in LETTERS[count:])


def test_more_dimensions_than_a_level_takes_loops_are_refused() -> None:
    problem, target = layer([2] * (MAX_LOOPS + 1), inside=all_but(2))
    mapspace = build_mapspace(problem, target.arch, target.constraints)
    with pytest.raises(InputError, match="too many dimensions above 1 for a search: 13"):
        search_mapspace(mapspace, target.costs)
    # As certificates are made.
    with pytest.raises(InputError, match="too many dimensions"):
        Search(mapspace, target.costs, target.semantics, mirrored=False)
    imperfect = build_mapspace(problem, target.arch, target.constraints, imperfect=True)
    with pytest.raises(InputError, match="too many dimensions"):
        ImperfectKernel(Task(imperfect, target.costs, semantics=target.semantics), new_counters())


def test_so_are_they_where_factors_are_rounded() -> None:
    problem, target = layer([3] + [2] * MAX_LOOPS, semantics="timeloop-4", inside="A=2 " + all_but(1))
    mapspace = build_mapspace(problem, target.arch, target.constraints, rounds=True)
    assert mapspace.rounded
    with pytest.raises(InputError, match="too many dimensions above 1 for a search: 13"):
        search_mapspace(mapspace, target.costs, semantics=target.semantics)


def test_dimensions_of_one_do_not_count() -> None:
    problem, target = layer([2] * 4 + [1] * (MAX_LOOPS - 3), inside=all_but(1))
    mapspace = build_mapspace(problem, target.arch, target.constraints)
    found = search_mapspace(mapspace, target.costs)
    mappings = [mapping(problem, 4), mapping(problem, 4, inside="A")]
    energy_pj, _ = evaluate_many(problem, target.arch, target.costs, mappings, target.semantics)
    assert found.optimal
    assert found.evaluation is not None
    assert found.evaluation.energy_pj <= energy_pj.min()


def test_mappings_of_many_dimensions_are_evaluated_where_each_level_has_few_loops() -> None:
    problem, target = layer([2] * (MAX_LOOPS + 1))
    found = evaluate_mapping(problem, target.arch, target.costs, mapping(problem, MAX_LOOPS, inside="MN"))
    assert found.cycles == 2 ** (MAX_LOOPS + 1)
    with pytest.raises(MappingError, match="too many loops"):
        evaluate_mapping(problem, target.arch, target.costs, mapping(problem, MAX_LOOPS + 1))


def mapping(problem: Problem, count: int, inside: str = "") -> Mapping:
    """Return the mapping of two levels with loops over the first dimensions, the first innermost, and those inside."""
    outside = tuple((d, 2) for d in reversed(problem.shape.dimensions[:count]) if d not in inside)
    kept = frozenset(one.name for one in problem.data_spaces)
    return Mapping(
        (LevelMapping("DRAM", outside, (), kept), LevelMapping("buf", tuple((d, 2) for d in inside), (), kept))
    )
