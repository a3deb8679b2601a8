"""What levels are told not to reuse, against stored runs of both versions of Timeloop; see keywords/README.md."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bulk import evaluate_many
from differential.case import Case, unhindered
from differential.compare import compare
from differential.enumerator import Enumerator
from differential.keywords import draw_named, draw_spread, draw_wired
from differential.native import load
from differential.runs import from_record, read_records
from drawn import drawn, ours, stored
from jouleloop.api.rows import breakdown_rows
from jouleloop.arch.architecture import Network
from jouleloop.arch.read import architecture_from
from jouleloop.energy.costs import EnergyCosts, LevelEnergy
from jouleloop.engines.native import NativeEngine
from jouleloop.engines.protocol import SearchOptions, Target
from jouleloop.errors import InputError, MappingError
from jouleloop.mapping.formats import from_levels, read_timeloop_mapping, to_timeloop_mapping
from jouleloop.mapping.reuse import ALL_REUSE, Reuse
from jouleloop.mapspace.constraints import Constraints, LevelConstraints
from jouleloop.mapspace.space import build_mapspace
from jouleloop.model.evaluate import evaluate_mapping
from jouleloop.model.objective import OBJECTIVES
from jouleloop.optimum.certificate import certify
from jouleloop.optimum.optimise import search_mapspace
from jouleloop.optimum.result import SearchResult
from jouleloop.proof.form import check_form
from jouleloop.proof.verify import verify
from jouleloop.workload.timeloop_problem import problem_from
from paths import REFERENCE
from shares import by_part

FOLDER = REFERENCE / "keywords"
#: From these numbers on networks take energy, or levels name them, then one for each way, which takes cycles, too; at
#: last networks distribute multicasts, those of levels and those that levels name.
WIRED, NAMED, MESHES, WAYS, LATENCIES, SPREAD, SPREAD_MESHES = 3000, 5000, 7000, 9000, 11000, 13000, 15000
VERSIONS = {"timeloop-3.0.3": ("STORAGE_TABLES", "KEYWORDS"), "timeloop-4": ("LATER_TABLES", "LATER_KEYWORDS")}
#: Every file of runs is read in so many parts, which may run at the same time.
PARTS = 4
#: Designs of a half that keywords change: when more were seen, the others are not counted without them.
ENOUGH = 6


def documents(number: str, semantics: str) -> dict[str, Any]:
    module = drawn()
    names = (getattr(module, name) for name in VERSIONS[semantics])
    at = int(number)
    found: dict[str, Any] = module.Draw(
        at,
        *names,
        wired=WIRED <= at < NAMED or SPREAD <= at < SPREAD_MESHES,
        named=NAMED <= at < MESHES,
        meshes=MESHES <= at < WAYS or at >= SPREAD_MESHES,
        ways=WAYS <= at < SPREAD,
        latencies=LATENCIES <= at < SPREAD,
        spread=at >= SPREAD,
    ).documents
    return found


@by_part(2, first=1)
@pytest.mark.parametrize(
    "kind", ["", "wired-", "named-", "meshes-", "ways-", "latencies-", "spread-", "spread-meshes-"]
)
@pytest.mark.parametrize("semantics", VERSIONS)
def test_every_stored_evaluation_is_met(semantics: str, kind: str, part: int, tmp_path: Path) -> None:
    wrong, told, fields = [], 0, 0
    for number, theirs in [*stored(FOLDER / f"{kind}{semantics}.json.xz").items()][part::2]:
        design = documents(number, semantics)
        mine = ours(design, tmp_path, semantics)
        assert (mine is None) == (theirs is None), number
        if mine is None:
            continue
        pairs = drawn().compared_json(mine.as_json(), theirs)
        wrong += [(number, pair.field, pair.ours, pair.theirs) for pair in pairs if pair.verdict != "equal"]
        fields += len(pairs)
        if told > ENOUGH:
            continue
        module = drawn()
        keys = {key for kinds in getattr(module, VERSIONS[semantics][1]).values() for key in kinds}
        for directive in design["mapping"]["mapping"]:
            for key in keys:
                directive.pop(key, None)
        before = ours(design, tmp_path, semantics)
        told += before is None or before.levels != mine.levels or before.networks != mine.networks
    assert wrong == []
    assert fields > 800
    assert told > ENOUGH


@by_part(2 * PARTS, first=1)
def test_the_search_finds_the_optimum_of_the_real_mapper(part: int) -> None:
    kinds = ("", "wired-", "outermost-", "networks-", "slow-", "passing-")
    records = [r for kind in kinds for r in read_records(FOLDER / f"{kind}searches.jsonl.xz")[part :: 2 * PARTS]]
    found = [compare(*from_record(record)) for record in records]
    assert [one.line() for one in found if one.verdict not in ("equal", "refused")] == []
    assert sum(one.verdict == "equal" for one in found) > 0.6 * len(found)


def counted(case: Case) -> Case:
    """Return a case by the rules of a version that counts energy of networks as the model does."""
    return replace(case, semantics="timeloop-3.0.3") if case.semantics == "timeloop-2023-04" else case


@pytest.mark.parametrize("draw", [draw_named, draw_wired, draw_spread], ids=lambda draw: draw.__name__)
@by_part(PARTS, first=1)
def test_networks_of_every_class_are_searched_as_every_mapping_is_counted(
    part: int, draw: Callable[[int, int], Case]
) -> None:
    """The real mapper forgets no addition from one mapping to the next, so here all mappings are evaluated."""
    equal = 0
    numbers = [(seed, 120) for seed in range(part, 60, PARTS)]
    # Of this one, a stride leaves gaps in what passes a level that keeps nothing.
    numbers += [(70141, 400)] if draw is draw_named and part == 0 else []
    for seed, limit in numbers:
        case = counted(draw(seed, limit))
        try:
            problem, target = load(case)
        except InputError:
            continue
        found = NativeEngine().search(problem, target, SearchOptions((case.objective,)))
        if found.evaluation is None:
            continue
        mappings = list(Enumerator(case, problem, target.arch, unhindered(case)).mappings())
        energy_pj, cycles = evaluate_many(problem, target.arch, target.costs, mappings, case.semantics)
        value = {"energy": energy_pj, "delay": cycles, "edp": energy_pj * cycles}[case.objective]
        least = value[np.isfinite(energy_pj)].min()
        ours = {"energy": found.evaluation.energy_pj, "delay": found.evaluation.cycles}
        ours["edp"] = ours["energy"] * ours["delay"]
        assert ours[case.objective] == pytest.approx(least, rel=1e-9), seed
        equal += 1
    assert equal > 3


@by_part(2 * PARTS, first=1)
def test_certified_optima_with_networks_cost_what_the_real_model_counts(part: int) -> None:
    draws = {"wired": draw_wired, "named": draw_named, "spread": draw_spread}
    for key, theirs in [*stored(FOLDER / "certified.json.xz").items()][part :: 2 * PARTS]:
        kind, seed, semantics = key.split("-", 2)
        if semantics == "timeloop-2023-04":
            continue  # asked of 3.0.3 without one commit: the builds of that time count networks otherwise
        case = replace(draws[kind](int(seed), 250), semantics=semantics)
        problem, target = load(case)
        space = build_mapspace(problem, target.arch, target.constraints)
        found = search_mapspace(space, target.costs, objective=(case.objective,), semantics=semantics)
        data = json.loads(json.dumps(certify(space, target.constraints, target.costs, found, semantics)))
        assert verify(check_form(data)).parts == len(data["parts"]), key
        power = OBJECTIVES[case.objective].delay_power
        value = theirs["energy_pj"] ** OBJECTIVES[case.objective].energy_power * theirs["cycles"] ** power
        # Timeloop prints energies of networks to two decimals.
        assert data["value"] == pytest.approx(value, rel=1e-9, abs=0.08 * theirs["cycles"] ** power), key


def design() -> tuple[Any, ...]:
    """Return a design of which Timeloop 4 knows every keyword: problem, architecture, costs, mapping."""
    found = drawn().Draw(1).documents
    arch, problem = architecture_from(found["arch"], later=True), problem_from(found["problem"])
    costs = EnergyCosts("x", tuple(LevelEnergy(level.name, 1.0, 2.0, "") for level in arch.levels), 1.0, "")
    return problem, arch, costs, read_timeloop_mapping(found["mapping"], problem, arch)


def told(mapping: Any, reuse: Reuse) -> Any:
    return replace(mapping, levels=tuple(replace(level, reuse=reuse) for level in mapping.levels))


def test_a_mapping_keeps_what_it_is_told_through_both_formats() -> None:
    problem, arch, costs, mapping = design()
    spaces = frozenset(space.name for space in problem.data_spaces)
    other = told(mapping, Reuse(spaces, spaces, spaces, spaces, frozenset()))
    assert from_levels(other.as_json(), problem, arch) == other
    again = read_timeloop_mapping(to_timeloop_mapping(other, problem, arch), problem, arch)
    # What fans out nowhere has no spatial directive to say so, and counts alike.
    counts = [evaluate_mapping(problem, arch, costs, one, "timeloop-4") for one in (again, other, mapping)]
    assert counts[0] == counts[1] != counts[2]


def test_networks_that_distribute_are_evaluated_and_searched_where_loops_end() -> None:
    problem, arch, costs, mapping = design()
    spread = replace(arch, levels=tuple(replace(level, network=Network(spreads=True)) for level in arch.levels))
    plain, other = (evaluate_mapping(problem, one, costs, mapping) for one in (arch, spread))
    assert other.networks != plain.networks
    target = Target(spread, costs, Constraints("none", {}, factors="imperfect"))
    found = NativeEngine().search(problem, target, SearchOptions(("energy",)))
    assert (found.status, "proven for networks of type M:N" in found.reason) == ("invalid", True), found.reason


def test_latencies_come_on_top_of_the_slowest_part() -> None:
    problem, arch, costs, mapping = design()
    late = replace(arch, levels=tuple(replace(level, latency_cycles=7) for level in arch.levels))
    plain, other = (evaluate_mapping(problem, one, costs, mapping) for one in (arch, late))
    assert other.cycles == plain.cycles + 7 * len(arch.levels)
    assert other.energy_pj == plain.energy_pj
    assert other.utilization < plain.utilization
    space = build_mapspace(problem, late, Constraints("none"))
    found = SearchResult("ok", "", mapping, other, optimal=True, objective=("delay",))
    with pytest.raises(InputError, match="no latencies of networks"):
        certify(space, Constraints("none"), costs, found, "timeloop-3.0.3")


def test_networks_have_rows_of_their_own() -> None:
    problem, arch, costs, mapping = design()
    mesh = Network(hop_pj=2.0, ingress_pj=0.5)
    wires = replace(arch, levels=tuple(replace(level, network=mesh) for level in arch.levels))
    plain, wired = (evaluate_mapping(problem, one, costs, mapping) for one in (arch, wires))
    rows = breakdown_rows(wired)
    assert sum(row["energy_pj"] for row in rows) == pytest.approx(wired.energy_pj)
    networks = [row["energy_pj"] for row in rows if "<==>" in row["level"]]
    assert sum(networks) == pytest.approx(wired.energy_pj - plain.energy_pj)
    assert len(rows) - len(networks) == len(breakdown_rows(plain))


def test_what_a_version_does_not_know_is_refused() -> None:
    problem, arch, costs, mapping = design()
    output = frozenset(space.name for space in problem.data_spaces if space.read_write)
    evaluate_mapping(problem, arch, costs, told(mapping, Reuse(rmw_first_update=output)), "timeloop-4")
    for reuse in (Reuse(rmw_first_update=output), Reuse(no_coalesce=output)):
        with pytest.raises(MappingError, match="does not follow rmw_first_update"):
            evaluate_mapping(problem, arch, costs, told(mapping, reuse))
    with pytest.raises(MappingError, match="pass through every level"):
        evaluate_mapping(problem, arch, costs, told(mapping, Reuse(no_coalesce=output)), "timeloop-4")


def test_a_search_refuses_what_no_bound_covers() -> None:
    problem, arch, costs, _ = design()
    output = frozenset(space.name for space in problem.data_spaces if space.read_write)
    for reuse, semantics, said in (
        (Reuse(rmw_first_update=output), "timeloop-3.0.3", "allowed: semantics timeloop-2024 or timeloop-4"),
        (Reuse(no_coalesce=output), "timeloop-4", "pass through a level or bypass it"),
    ):
        limits = {arch.level_names[1]: LevelConstraints(reuse=reuse)}
        found = NativeEngine().search(problem, Target(arch, costs, Constraints("x", limits), semantics))
        assert found.status == "invalid"
        assert said in found.reason


def test_what_passes_through_costs_its_own_accesses_more() -> None:
    """Bounds rest on it: through a level costs what beside it does, and the accesses of the level."""
    problem, arch, costs, _ = design()
    output = frozenset(space.name for space in problem.data_spaces if space.read_write)
    level = arch.level_names[1]
    values = []
    for keep, bypass, reuse in (
        (output, frozenset[str](), Reuse(no_coalesce=output)),
        (frozenset[str](), output, ALL_REUSE),
    ):
        limits = {level: LevelConstraints(keep=keep, bypass=bypass, reuse=reuse)}
        found = NativeEngine().search(problem, Target(arch, costs, Constraints("x", limits), "timeloop-4"))
        assert found.optimal
        assert found.evaluation is not None
        values.append(found.evaluation.energy_pj)
    assert values[0] >= values[1]
