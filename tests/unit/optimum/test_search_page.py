"""The worked example of docs/search.md is what the lemmas and the search say."""

import math

from jouleloop.api.project import load_target
from jouleloop.mapspace.space import build_mapspace
from jouleloop.optimum.certificate import subject
from jouleloop.optimum.optimise import search_mapspace
from jouleloop.proof.design import Design
from jouleloop.proof.tables import Bounds
from jouleloop.workload.timeloop_problem import read_problem
from paths import ROOT

EXAMPLE = ROOT / "docs/data/search_example"


def test_the_table_of_the_example() -> None:
    problem = read_problem(EXAMPLE / "problem.yaml")
    target = load_target(
        str(EXAMPLE / "arch.yaml"),
        semantics="timeloop-3.0.3",
        energy=EXAMPLE / "ert.yaml",
        constraints=EXAMPLE / "constraints.yaml",
        shape=problem.shape,
    ).for_shape(problem.shape)
    space = build_mapspace(problem, target.arch, target.constraints)
    design = Design(subject(space, target.constraints, target.costs, target.semantics))
    bounds = Bounds(design, design.keeps[0], ((1, 1), (1, 1)))
    assert float(bounds.units() * design.unit_pj) == 30

    def bound(c: int, m: int) -> float:
        least = bounds.units() + bounds.floor(1, (4, 2), (c, m), None, (0, 0), math.inf)
        return math.inf if least == math.inf else float(int(least) * design.unit_pj)

    page = (ROOT / "docs/search.md").read_text()
    for c, m, expected in ((1, 1, 226), (2, 1, 224), (1, 2, 182), (4, 1, math.inf), (2, 2, math.inf), (4, 2, math.inf)):
        assert bound(c, m) == expected, (c, m)
        if expected < math.inf:
            row = next(line for line in page.splitlines() if line.startswith(f"| {c} x {m} |"))
            assert row.rstrip("| ").strip("*").endswith(str(expected))
    result = search_mapspace(space, target.costs)
    assert result.optimal
    assert result.evaluation is not None
    assert result.evaluation.energy_pj == 182
