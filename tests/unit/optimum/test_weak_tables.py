"""Tables that know less, of where runs started or of what is beaten: no higher bounds, the same optimum."""

from pathlib import Path

import numpy as np
import pytest

from differential.draw import draw_case
from differential.native import load
from jouleloop.api.project import load_target
from jouleloop.engines.native import NativeEngine
from jouleloop.errors import JouleloopError
from jouleloop.mapspace.space import build_mapspace
from jouleloop.optimum import solve
from jouleloop.optimum.optimise import Search
from jouleloop.workload.sizes import parse_layer
from jouleloop.workload.timeloop_problem import read_problem
from paths import ROOT
from shares import slow_after

EXAMPLE = ROOT / "docs/data/search_example"


@pytest.mark.parametrize("kind", slow_after(1, ["windows", "general", "arrays"]))
def test_weak_tables_give_the_same_optimum(monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    compared = 0
    for seed in range(40, 70):
        try:
            problem, target = load(draw_case(seed, kind))
            strong = NativeEngine().search(problem, target)
        except JouleloopError:
            continue
        if strong.pruned.get("nodes", 0) > 2000:
            continue
        with monkeypatch.context() as patch:
            patch.setattr(solve, "MOST_CELLS", 1)
            weak = NativeEngine().search(problem, target)
        assert weak.status == strong.status, seed
        if strong.evaluation is not None and weak.evaluation is not None:
            assert weak.mapping == strong.mapping, seed
            assert weak.evaluation.energy_pj == strong.evaluation.energy_pj, seed
            compared += 1
    assert compared > 8


def test_weak_tables_are_smaller_and_their_bounds_no_higher(monkeypatch: pytest.MonkeyPatch) -> None:
    target = load_target("simba", semantics="timeloop-3.0.3")
    problem = parse_layer("conv:C24xM32xP14xQ14xR3xS3").problem()
    chosen = target.for_shape(problem.shape)
    space = build_mapspace(problem, chosen.arch, chosen.constraints)
    strong = Search(space, chosen.costs, chosen.semantics).solver
    monkeypatch.setattr(solve, "MOST_CELLS", 1)
    weak = Search(space, chosen.costs, chosen.semantics).solver
    assert weak.case.tables.enter.size < strong.case.tables.enter.size
    for part in range(len(strong.bound_pj)):
        assert weak.fill_tables(part) <= strong.fill_tables(part) * (1 + 1e-12)


@pytest.mark.parametrize("kind", slow_after(1, ["windows", "general", "arrays"]))
def test_a_limit_takes_nothing_below_it_from_tables(kind: str) -> None:
    compared = 0
    for seed in range(100, 130):
        try:
            problem, target = load(draw_case(seed, kind))
            space = build_mapspace(problem, target.arch, target.constraints)
            search = Search(space, target.costs, target.semantics)
        except JouleloopError:
            continue
        if not len(search.candidates.ids):
            continue
        solver = search.solver
        sketched_pj = solver.bound_pj.copy()
        for part in range(min(solver.count, 4)):
            whole_pj = Search(space, target.costs, target.semantics).solver.fill_tables(part)
            if not np.isfinite(whole_pj):
                continue
            for share in (0.8, 1 - 1e-6, 1 + 1e-6, 1.3):
                limited = Search(space, target.costs, target.semantics).solver
                found_pj = limited.fill_tables(part, share * whole_pj)
                wanted_pj = max(sketched_pj[part], min(whole_pj, share * whole_pj))
                assert found_pj == pytest.approx(wanted_pj, rel=1e-12), (seed, part, share)
                compared += 1
    assert compared > 20


@pytest.mark.parametrize("words", [13, 14])
def test_a_level_without_room_for_what_has_to_stand_there_takes_no_tables(words: int, tmp_path: Path) -> None:
    """No loop may stand outside the buffer, so it has to hold the whole layer: 8 weights, 4 inputs and 2 outputs."""
    arch, constraints = tmp_path / "arch.yaml", tmp_path / "constraints.yaml"
    arch.write_text((EXAMPLE / "arch.yaml").read_text().replace("depth: 6", f"depth: {words}"))
    fixed = "  - {target: DRAM, type: temporal, factors: C=1 M=1}\n"
    constraints.write_text((EXAMPLE / "constraints.yaml").read_text() + fixed)
    problem, energy = read_problem(EXAMPLE / "problem.yaml"), EXAMPLE / "ert.yaml"
    files = {"constraints": constraints, "energy": energy}
    loaded = load_target(str(arch), semantics="timeloop-3.0.3", shape=problem.shape, **files)
    target = loaded.for_shape(problem.shape)
    space = build_mapspace(problem, target.arch, target.constraints)
    solver = Search(space, target.costs, target.semantics).solver
    found = NativeEngine().search(problem, target)
    assert (solver.fill_tables(0) < np.inf) == (found.status == "ok") == (words == 14)
    assert solver.parts.stand[0]["filled"] == (words == 14)
    assert found.reason == ("" if words == 14 else "buffer holds 13 words, less than any tile the constraints allow")
