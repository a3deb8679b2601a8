"""Certificates: those of real layers hold, and whatever is changed in one, the verifier refuses it."""

import copy
import itertools
import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from differential.draw import draw_case
from differential.keywords import draw_named, draw_spread, draw_wired
from differential.later import draw_later
from differential.native import load
from jouleloop.api.project import load_target
from jouleloop.engines.protocol import Target
from jouleloop.errors import JouleloopError
from jouleloop.files import write_json
from jouleloop.mapspace.space import build_mapspace
from jouleloop.model.evaluate import evaluate_mapping
from jouleloop.optimum.certificate import certify
from jouleloop.optimum.optimise import search_mapspace
from jouleloop.proof.form import check_form, digest_of
from jouleloop.proof.verify import Refused, Verdict, verify
from jouleloop.workload.layer import CONV
from jouleloop.workload.problem import Problem
from jouleloop.workload.sizes import parse_layer
from jouleloop.workload.timeloop_problem import read_problem
from paths import REFERENCE
from shares import by_kind, slow_after

SOUNDNESS = REFERENCE / "soundness"
OPTIMA_PJ = {
    "innermost": 5712,
    "standing_outer_fanout": 52,
    "arrangement_skipped": 3688,
    "one_window_cancels": 2032,
    "passed_on_window": 2524112,
    "gapped_outputs": 692,
    "stride_beyond": 364,
}
FULLY_CONNECTED = [f"fc:{n}x{m}" for n, m in itertools.product((4, 12, 16, 28, 64, 100), (4, 8, 20, 36, 96))]
CONVOLUTIONS = [
    f"conv:C{c}xM{m}xP{p}xQ{p}xR{r}xS{r}" + (f"/stride{s}" if s > 1 else "")
    for c, m, p, r, s in [
        (4, 4, 2, 1, 1),
        (4, 8, 2, 2, 1),
        (4, 4, 3, 3, 1),
        (4, 4, 2, 3, 2),
        (8, 4, 2, 1, 1),
        (4, 16, 1, 3, 1),
        (4, 4, 5, 1, 1),
        (4, 4, 5, 3, 2),
        (12, 4, 3, 1, 1),
        (4, 4, 3, 2, 3),
        (8, 8, 2, 1, 2),
        (4, 12, 2, 2, 1),
        (16, 4, 1, 2, 1),
        (4, 4, 1, 5, 1),
        (4, 20, 1, 1, 1),
        (20, 4, 1, 1, 1),
        (4, 4, 7, 1, 1),
        (4, 4, 3, 3, 3),
        (8, 4, 3, 1, 1),
        (4, 8, 3, 2, 2),
    ]
]
LAYERS = [*FULLY_CONNECTED, *CONVOLUTIONS]


@cache
def target_of(arch: str) -> Target:
    return load_target(arch, semantics="timeloop-3.0.3").for_shape(CONV)


def certificate(problem: Problem, target: Target, objective: str = "energy") -> dict[str, Any]:
    space = build_mapspace(problem, target.arch, target.constraints)
    result = search_mapspace(space, target.costs, objective=(objective,), semantics=target.semantics)
    data = certify(space, target.constraints, target.costs, result, target.semantics)
    return json.loads(json.dumps(data))  # type: ignore[no-any-return]


def proven(data: dict[str, Any]) -> Verdict:
    return verify(check_form(data))


def soundness_case(name: str) -> tuple[Problem, Target]:
    folder = SOUNDNESS / name
    problem = read_problem(folder / "problem.yaml")
    targets = load_target(
        str(folder / "arch.yaml"),
        semantics="timeloop-3.0.3",
        energy=folder / "ert.yaml",
        constraints=folder / "constraints.yaml",
        shape=problem.shape,
    )
    return problem, targets.for_shape(problem.shape)


def test_there_are_fifty_layers() -> None:
    assert len(set(LAYERS)) == 50


@pytest.mark.parametrize("arch", ["eyeriss", "simba"])
@pytest.mark.parametrize("batch", slow_after(1, range(5)))
def test_optima_of_layers_are_proven(arch: str, batch: int) -> None:
    for text in LAYERS[batch::5]:
        data = certificate(parse_layer(text).problem(), target_of(arch))
        assert proven(data).parts == len(data["parts"]), text


@pytest.mark.parametrize("objective", ["energy", "delay", "edp"])
@pytest.mark.parametrize("name", OPTIMA_PJ)
def test_the_designs_are_proven(name: str, objective: str) -> None:
    data = certificate(*soundness_case(name), objective)
    if objective == "energy":
        assert data["value"] == OPTIMA_PJ[name]
    proven(data)


@by_kind(("general", "windows", "arrays", "later"), 60, first=6)
def test_optima_of_random_designs_are_proven(kind: str, seeds: range) -> None:
    checked = 0
    for seed in range(1000 + seeds.start, 1000 + seeds.stop):
        case = draw_later(seed) if kind == "later" else draw_case(seed, kind)
        try:
            problem, target = load(case)
            space = build_mapspace(problem, target.arch, target.constraints)
        except JouleloopError:
            continue
        result = search_mapspace(space, target.costs, objective=(case.objective,), semantics=target.semantics)
        if result.status != "ok":
            continue
        data = json.loads(json.dumps(certify(space, target.constraints, target.costs, result, target.semantics)))
        proven(data)
        checked += 1
    assert checked > len(seeds) // 5


def test_a_claim_by_the_rules_of_another_version_is_refused() -> None:
    """Of cases whose windows rest, one costs more by the rules of 3.0.3."""
    for seed in range(1001, 1101, 2):
        problem, target = load(draw_later(seed, 200))
        if target.semantics != "timeloop-4" or any(entry.later_pj for entry in target.costs.levels):
            continue
        space = build_mapspace(problem, target.arch, target.constraints)
        result = search_mapspace(space, target.costs, semantics="timeloop-4")
        if result.mapping is None or result.evaluation is None:
            continue
        before = evaluate_mapping(problem, target.arch, target.costs, result.mapping, "timeloop-3.0.3")
        if before.energy_pj == pytest.approx(result.evaluation.energy_pj, rel=1e-6):
            continue
        data = json.loads(json.dumps(certify(space, target.constraints, target.costs, result, "timeloop-4")))
        proven(data)
        data["semantics"] = "timeloop-3.0.3"
        data["digest"] = digest_of(data)
        with pytest.raises(Refused, match="costs"):
            proven(data)
        return
    pytest.fail("no case")


@cache
def whole() -> str:
    """A certificate with parts of every kind."""
    data = certificate(*soundness_case("one_window_cancels"))
    lemmas = {part["lemma"] for part in data["parts"]}
    assert lemmas == {"bound", "cuts"}
    return json.dumps(data)


def first_cuts(data: dict[str, Any]) -> list[dict[str, Any]]:
    return next(part["cuts"] for part in data["parts"] if part["lemma"] == "cuts")


def every_cut(cuts: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [one for cut in cuts for one in [cut, *every_cut(cut["cuts"] or [])]]


def of_kind(data: dict[str, Any], why: str) -> dict[str, Any]:
    return next(cut for part in data["parts"] for cut in every_cut(part.get("cuts") or []) if cut["why"] == why)


def claim_more(data: dict[str, Any]) -> None:
    data["value"] *= 1.01


def claim_less(data: dict[str, Any]) -> None:
    data["value"] *= 0.99


def drop_part(data: dict[str, Any]) -> None:
    del data["parts"][0]


def drop_cut(data: dict[str, Any]) -> None:
    del first_cuts(data)[0]


def drop_all_below(data: dict[str, Any]) -> None:
    of_kind(data, "followed")["cuts"] = []


def leave_out_what_was_followed(data: dict[str, Any]) -> None:
    of_kind(data, "followed").update(cuts=None, why="bound", bound_pj=data["value"])


def leave_out_a_part(data: dict[str, Any]) -> None:
    part = next(part for part in data["parts"] if part["lemma"] == "cuts")
    part.update(lemma="bound", cuts=None, bound_pj=data["value"])


def raise_a_bound(data: dict[str, Any]) -> None:
    of_kind(data, "bound")["bound_pj"] *= 2


def raise_a_part(data: dict[str, Any]) -> None:
    part = next(part for part in data["parts"] if part["lemma"] == "bound" and part["bound_pj"])
    part["bound_pj"] *= 2


def call_it_too_large(data: dict[str, Any]) -> None:
    of_kind(data, "followed").update(cuts=None, order=None, why="no tile fits", bound_pj=None)


def other_mapping(data: dict[str, Any]) -> None:
    level = next(level for level in data["mapping"] if level["temporal"])
    level["temporal"][0][1] += 1


def other_keep(data: dict[str, Any]) -> None:
    data["mapping"][-1]["keep"] = []


def other_unrolling(data: dict[str, Any]) -> None:
    data["parts"][0]["unrolling"][0][0] += 1


def cheaper_reads(data: dict[str, Any]) -> None:
    for level in data["architecture"]["levels"]:
        level["read_pj"] /= 2


def larger_layer(data: dict[str, Any]) -> None:
    data["problem"]["bounds"][0] *= 2


CHANGES: list[Callable[[dict[str, Any]], None]] = [
    claim_more,
    claim_less,
    drop_part,
    drop_cut,
    drop_all_below,
    leave_out_what_was_followed,
    leave_out_a_part,
    raise_a_bound,
    raise_a_part,
    call_it_too_large,
    other_mapping,
    other_keep,
    other_unrolling,
    cheaper_reads,
    larger_layer,
]


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
def test_a_changed_certificate_is_refused(change: Callable[[dict[str, Any]], None]) -> None:
    data = json.loads(whole())
    proven(copy.deepcopy(data))
    change(data)
    with pytest.raises(JouleloopError, match="changed after it was written"):
        check_form(copy.deepcopy(data))
    data["digest"] = digest_of(data)
    with pytest.raises((Refused, JouleloopError)):
        proven(data)


def level_of(data: dict[str, Any], **stated: Any) -> None:
    """State something of the outermost level."""
    data["architecture"]["levels"][0].update(stated)


HOPS = {
    "kind": "mesh",
    "back": True,
    "hop_pj": 3.0,
    "router_pj": 0.0,
    "ingress_pj": 0.0,
    "adder_pj": 0.0,
    "charges": {},
}


def rank_of_two(data: dict[str, Any]) -> None:
    for space in data["problem"]["data_spaces"]:
        space["ranks"] += [dict(rank) for rank in space["ranks"]]


def name_again(data: dict[str, Any]) -> None:
    data["problem"]["data_spaces"][1]["name"] = data["problem"]["data_spaces"][0]["name"]


def level_again(data: dict[str, Any]) -> None:
    data["architecture"]["levels"][1]["name"] = data["architecture"]["levels"][0]["name"]


def loop_again(data: dict[str, Any]) -> None:
    """A nest that no mapspace has: with windows it may cost less than all that it has."""
    level = next(level for level in data["mapping"] if level["temporal"])
    level["temporal"].append([level["temporal"][0][0], 1])


def many_dimensions(data: dict[str, Any]) -> None:
    """The model takes no nest with so many loops at a level, so nothing would be tried."""
    data["problem"]["dimensions"] += [f"D{n}" for n in range(40)]
    data["problem"]["bounds"] += [2] * 40
    data["parts"] = []


#: What a certificate may state, the words of its refusal, and whether that is so where loops need not divide alone.
STATED: list[tuple[Callable[[dict[str, Any]], Any], str, bool]] = [
    (lambda data: level_of(data, update_pj=1000.0), "charge updates as fills", False),
    (lambda data: level_of(data, update_pj=None), "update_pj", False),
    (lambda data: level_of(data, leak_pj=1.0), "know no leakage", False),
    (rank_of_two, "moves two ranks", False),
    (name_again, "a name stands twice", False),
    (level_again, "a name stands twice", False),
    (loop_again, "loops twice at a level", False),
    (many_dimensions, "than a level takes loops", False),
    (lambda data: data["mapping"][0]["keep"].append("Q"), "unknown data space", False),
    (lambda data: data.update(semantics="timeloop-4"), "no lemma is known for loops that end early", True),
    (lambda data: level_of(data, networks=[HOPS]), "not counted here", True),
    (lambda data: level_of(data, spreads=True), "not counted here", True),
]


@pytest.mark.parametrize("factors", [None, "imperfect"])
@pytest.mark.parametrize(("state", "words", "early"), STATED)
def test_what_no_lemma_counts_may_not_be_stated(
    state: Callable[[dict[str, Any]], Any], words: str, early: bool, factors: str | None
) -> None:
    """Each was believed once: an optimum by other rules, or of a nest that is none, was proven."""
    data = json.loads(whole())
    if factors is not None:
        data |= {"factors": factors, "parts": []}
    state(data)
    data["digest"] = digest_of(data)
    if early and factors is None:
        check_form(data)
        return
    with pytest.raises(JouleloopError, match=words):
        check_form(data)


def test_numbers_beyond_all_counts_are_a_refusal() -> None:
    for stated, words in (({"read_bandwidth_words": 1e-320}, "beyond those"), ({"read_pj": 1e308}, r"to 1e\+30 pJ")):
        data = json.loads(whole())
        level_of(data, **stated)
        data["digest"] = digest_of(data)
        with pytest.raises((Refused, JouleloopError), match=words):
            proven(data)


def test_damaged_bytes_are_refused(tmp_path: Path) -> None:
    text = whole()
    for place in range(0, len(text), max(1, len(text) // 150)):
        damaged = text[:place] + chr(ord(text[place]) ^ 1) + text[place + 1 :]
        try:
            data = json.loads(damaged)
        except ValueError:
            continue
        if data == json.loads(text):
            continue
        with pytest.raises((Refused, JouleloopError)):
            proven(data)
    write_json(tmp_path / "whole.json", json.loads(text))
    assert proven(json.loads((tmp_path / "whole.json").read_text())).parts


NETWORKS = {"wired": draw_wired, "named": draw_named, "spread": draw_spread}


def certified(kind: str, seed: int, limit: int = 250) -> dict[str, Any] | None:
    """Return the certificate of a random design whose networks take energy or distribute; None where it has none."""
    case = NETWORKS[kind](seed, limit)
    try:
        problem, target = load(case)
        space = build_mapspace(problem, target.arch, target.constraints)
        result = search_mapspace(space, target.costs, objective=(case.objective,), semantics=target.semantics)
    except JouleloopError:
        return None
    if result.status != "ok":
        return None
    return json.loads(json.dumps(certify(space, target.constraints, target.costs, result, target.semantics)))  # type: ignore[no-any-return]


#: Of these, bounds of instances that share what they hold once took a rounded word for a whole one.
ROUNDED = {"spread": (2763, 2849)}


@pytest.mark.parametrize("kind", slow_after(2, NETWORKS))
def test_optima_of_designs_whose_networks_charge_are_proven(kind: str) -> None:
    charged = 0
    for seed in (*range(30), *ROUNDED.get(kind, ())):
        data = certified(kind, seed)
        if data is None:
            continue
        proven(data)
        levels = data["architecture"]["levels"]
        charged += any(level.get("networks") or level.get("spreads") for level in levels)
        for wrong in (1.01, 0.99):
            false = copy.deepcopy(data)
            false["value"] *= wrong
            false["digest"] = digest_of(false)
            with pytest.raises((Refused, JouleloopError)):
                proven(false)
    assert charged > 5


def every_network(data: dict[str, Any]) -> list[dict[str, Any]]:
    return [network for level in data["architecture"]["levels"] for network in level.get("networks", ())]


def cheaper_hops(data: dict[str, Any]) -> None:
    for network in every_network(data):
        for key in ("hop_pj", "router_pj", "ingress_pj", "adder_pj"):
            network[key] /= 2


def no_networks(data: dict[str, Any]) -> None:
    for level in data["architecture"]["levels"]:
        level.pop("networks", None)


def swapped_networks(data: dict[str, Any]) -> None:
    levels = data["architecture"]["levels"]
    networks = [level.pop("networks", []) for level in levels]
    for level, others in zip(levels, [*networks[1:], networks[0]], strict=True):
        level["networks"] = others


def empty_tables(data: dict[str, Any]) -> None:
    for network in every_network(data):
        network["charges"] = {space: [] for space in network["charges"]}


def raise_all_bounds(data: dict[str, Any]) -> None:
    for part in data["parts"]:
        if part["lemma"] == "bound" and part["bound_pj"]:
            part["bound_pj"] *= 3


def drop_last_part(data: dict[str, Any]) -> None:
    del data["parts"][-1]


NETWORK_CHANGES = [
    cheaper_hops, no_networks, swapped_networks, empty_tables, raise_all_bounds, leave_out_a_part, drop_last_part,
    drop_part, drop_cut, drop_all_below, raise_a_bound, other_mapping, claim_less, claim_more,
]  # fmt: skip


@cache
def charged_certificates() -> list[str]:
    """Certificates of random designs whose optimum pays for networks, with parts that were followed."""
    found = []
    for kind, seed in itertools.product(("wired", "named"), range(80)):
        data = certified(kind, seed, 120)
        if data is None or "cuts" not in {part["lemma"] for part in data["parts"]}:
            continue
        free = copy.deepcopy(data)
        no_networks(free)
        free["digest"] = digest_of(free)
        try:
            proven(free)
        except Refused as refused:
            if "the mapping costs" in str(refused):
                found.append(json.dumps(data))
    return found


@pytest.mark.parametrize("change", NETWORK_CHANGES, ids=lambda change: change.__name__)
def test_a_changed_certificate_of_networks_is_refused(change: Callable[[dict[str, Any]], None]) -> None:
    refused = 0
    for text in charged_certificates():
        data = json.loads(text)
        try:
            change(data)
        except (StopIteration, IndexError):
            continue
        if data == json.loads(text):
            continue
        if change is empty_tables and not any(n["kind"] == "table" for n in every_network(data)):
            continue
        data["digest"] = digest_of(data)
        try:
            proven(data)
        except (Refused, JouleloopError):
            refused += 1
            continue
        # What costs less elsewhere alone leaves a claim true.
        assert change in (cheaper_hops, swapped_networks, empty_tables), text
    assert refused > 3


def test_ingresses_that_may_be_counted_below_nothing_are_refused() -> None:
    """Outputs that go to the units in several groups are spared the partition once a group; no lemma knows that."""
    data = next(
        found
        for found in map(json.loads, charged_certificates())
        if found["architecture"]["levels"][-1]["fanout"] != [1, 1]
    )
    entry = dict.fromkeys(("hop_pj", "router_pj", "adder_pj"), 0.0)
    mesh = {"kind": "mesh", "back": True, "ingress_pj": 1.0, "charges": {}, **entry}
    data["architecture"]["levels"][-1].update(networks=[mesh], adds=False)
    data["digest"] = digest_of(data)
    with pytest.raises(Refused, match="counted below 0"):
        proven(data)
