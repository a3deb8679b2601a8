"""Certificates of random fused chains: the verifier has the ways of the search, and no attack is accepted."""

import itertools
import json
import math
import random
from collections import Counter
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import pytest

from attacks import copied
from chain_attacks import (
    OF_RIVALS,
    OF_TRUE,
    claim_rival,
    other_axis,
    searched,
    searched_inside,
    searched_long,
    searched_square,
    searched_windows,
    true_certificate,
)
from jouleloop.errors import InputError, JouleloopError
from jouleloop.fusion.certificate import certify_chain, chain_subject, claimed_group
from jouleloop.fusion.plan import Group
from jouleloop.fusion.result import GroupRun
from jouleloop.fusion.search import ChainSearch
from jouleloop.proof.chain import FusedChain
from jouleloop.proof.charges import Energy
from jouleloop.proof.cost import cost_of, fault_of
from jouleloop.proof.design import Design, Factors, Nest, divisors
from jouleloop.proof.form import check_form, digest_of
from jouleloop.proof.fused import ChainVerifier, Floors, verify_chain
from jouleloop.proof.rules import Refused
from jouleloop.proof.ways import runs_of, scopes_of, ways
from shares import in_shares

ONCE_OF = Floors._once_of


@pytest.fixture(autouse=True, scope="module")
def _designs_are_bounded_once() -> Iterator[None]:
    """Keep what every word once costs in a design: an attack leaves most designs of a certificate as they are."""
    kept = dict[tuple[str, Fraction], Energy]()

    def once(floors: Floors, about: dict[str, Any], kind: tuple[int, bool]) -> Energy:
        key = json.dumps(about, sort_keys=True), floors.chain.unit_pj
        if key not in kept:
            kept[key] = ONCE_OF(floors, about, kind)
        return kept[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Floors, "_once_of", once)
        yield


def judged(data: dict[str, Any]) -> str:
    """Return why a file is refused, or an empty text."""
    try:
        verify_chain(check_form(data), seconds=600.0)
    except (Refused, JouleloopError) as error:
        return str(error)
    return ""


@in_shares(12, 4)
def test_the_verifier_has_the_ways_of_the_search_and_no_bound_above_them(seeds: range) -> None:
    compared = Counter[bool]()
    for seed in seeds:
        search = (searched_long if seed % 5 == 4 else searched_windows if seed % 5 == 2 else searched)(seed)
        if not search.run().ok:
            continue
        data = chain_subject(search.chain, search.fusions)
        verifier = ChainVerifier(data | {"value": 0.0})
        chain, floors = verifier.chain, Floors(verifier.chain)
        for scope in scopes_of(chain):
            group, rng = Group(search.chain, scope.first, scope.first + len(scope.sizes) - 1), random.Random(seed)
            if group.size == 1:
                continue
            own = {(way.loops, tuple(part.held for part in way.parts)): way for way in ways(chain, scope)}
            theirs = {
                (tuple((one.factor, one.dimensions) for one in way.prefix), way.held): way for way in search.ways(group)
            }
            assert own.keys() == theirs.keys()
            for key in rng.sample(sorted(own, key=repr), min(20 // group.size**2, len(own))):
                run, _ = search._settled(group, theirs[key], math.inf)
                least = floors.way(own[key], math.inf)
                if run is None:
                    continue
                counted = float(verifier.claimed(scope, copied(claimed_group(run))) * chain.unit_pj)
                assert math.isclose(counted, run.energy_pj, rel_tol=1e-9, abs_tol=1e-6)
                assert least is not None
                assert least.energy * chain.unit_pj <= run.energy_pj * (1 + 1e-9)
                compared[any(isinstance(child, GroupRun) for child in run.children)] += 1
    assert min(compared[True], compared[False]) > 0


def drawn_chain(search: ChainSearch) -> FusedChain | None:
    """Return what the verifier has of a chain, None where constraints do not divide it."""
    try:
        return FusedChain(chain_subject(search.chain, search.fusions))
    except InputError:
        return None


@in_shares(12, 4)
def test_what_counts_is_all_that_every_word_once_depends_on(seeds: range) -> None:
    shared = 0
    for seed in seeds:
        chain = drawn_chain(searched_square(seed))
        if chain is None:
            continue
        parts = {part for scope in scopes_of(chain) for way in ways(chain, scope) for part in way.parts}
        tasks = {run.task for part in parts for run in runs_of(chain, part) if not chain.contradicts(run.task)}
        floors, known = Floors(chain), set[Any]()
        for task in sorted(tasks, key=repr)[:400]:
            # Nothing is priced before.
            own = ONCE_OF(Floors(chain), chain.about(task, chain.capacity), (task.layer, False))
            # What is whole may leave no mapping.
            assert floors.once(task) == own or own == math.inf, (seed, task)
            shared += (key := chain.counted(task)) in known
            known.add(key)
    assert shared > 0 or len(seeds) < 5


def cheapest(data: dict[str, Any]) -> Fraction | float:
    """Return the least energy of all nests [pJ], one by one."""
    design, least = Design(data), math.inf

    def nests(k: int, tile: Factors) -> Iterator[tuple[tuple[tuple[int, int], ...], ...]]:
        for cut in design.cuts(k, tile) if k else [(1,) * len(tile)]:
            looping = [d for d, size in enumerate(tile) if size != cut[d]]
            for order in design.temporal[k].orders(looping):
                own = tuple((d, tile[d] // cut[d]) for d in reversed(order))
                yield from ((*inner, own) for inner in (nests(k - 1, cut) if k else [()]))

    for keep, unrolling in itertools.product(design.keeps, design.unrollings()):
        unrolled = map(math.prod, zip(*unrolling, strict=True))
        rest = tuple(b // f for b, f in zip(design.bounds, unrolled, strict=True))
        for temporal, spatial in itertools.product(nests(len(keep) - 1, rest), design.arrangements(unrolling)):
            nest = Nest(keep, temporal, spatial)
            if not fault_of(design, nest, imperfect=False) and (cost := cost_of(design, nest)):
                least = min(least, cost[0])
    return least


@in_shares(18, 8)
def test_larger_parts_with_the_same_sums_cost_no_more_for_each_iteration(seeds: range) -> None:
    """Lemma *larger parts*, by all nests of both."""
    cheaper = compared = 0
    for seed in seeds:
        chain, rng = drawn_chain(searched(seed)), random.Random(f"larger/{seed}")
        if chain is None:
            continue
        k = rng.randrange(len(chain.layers))
        layer, part, larger = chain.layers[k], list[int](), list[int]()
        for name, size in zip(layer.dims, layer.bounds, strict=True):
            part.append(rng.choice([n for n in divisors(size) if n <= 2]))
            grows = name in layer.moved[layer.output]
            larger.append(part[-1] * (rng.choice([n for n in divisors(size // part[-1]) if n <= 2]) if grows else 1))
        ratio = math.prod(larger) // math.prod(part)
        if ratio == 1 or ratio > 4 or layer.ignores(layer.bounds, tuple(part)):
            continue
        least, most = (cheapest(chain.inside(k, tuple(sizes))) for sizes in (part, larger))
        assert most <= ratio * least, (seed, part, larger)
        cheaper, compared = cheaper + (most < ratio * least), compared + 1
    assert compared > 0
    assert cheaper > 0 or len(seeds) < 10


@in_shares(12, 4)
def test_true_certificates_are_accepted_and_no_attack_is(seeds: range) -> None:
    kinds, refused = Counter[str](), Counter[str]()
    for seed in seeds:
        attack_chain(searched(seed), seed, kinds, refused)
    # Few seeds do not draw what every attack needs.
    missing = {attack.__name__ for attack in (*OF_TRUE, *OF_RIVALS)} - refused.keys()
    assert len(missing) <= (0 if len(seeds) > 40 else 3), missing
    assert len(kinds) == 2


@pytest.mark.parametrize("drawn", [searched_inside, searched_long, searched_windows])
@in_shares(5, 1)
def test_so_are_those_of_inner_levels_windows_and_longer_chains(
    seeds: range, drawn: Callable[[int], ChainSearch]
) -> None:
    kinds, refused = Counter[str](), Counter[str]()
    for seed in seeds:
        attack_chain(drawn(seed), seed, kinds, refused)
    assert kinds
    assert len(refused) > 5
    assert ("other_axis" in refused) is (drawn is searched_windows)


@in_shares(6, 1)
def test_groups_inside_others_are_certified(seeds: range) -> None:
    told = Counter[bool]()
    for seed in seeds:
        search = searched_long(seed + 1002)
        result = search.run()
        if not result.ok:
            continue
        data = copied(certify_chain(search, result))
        if "claim" in data:
            assert "more than" in data["claim"], seed
            continue
        assert judged(data) == "", seed
        told[any(isinstance(child, GroupRun) for group in result.groups for child in group.children)] += 1
    # The first seed draws a chain whose optimum has a group inside.
    assert told[True] > 0 if 0 in seeds else told.total() > 0


def attack_chain(search: ChainSearch, seed: int, kinds: Counter[str], refused: Counter[str]) -> None:
    """Verify a true certificate of a chain, and that every attack on it is refused; count both."""
    true = true_certificate(search)
    if true is None:
        return
    if "claim" in true.data:
        assert "more than" in true.data["claim"], seed
        return
    assert judged(copied(true.data)) == "", seed
    kinds["fused" if len(true.data["groups"]) < len(true.data["layers"]) else "apart"] += 1
    rng = random.Random(f"attack/{seed}")
    for attack in (*OF_TRUE, other_axis, *(OF_RIVALS if true.rival else ())):
        changed = copied(true.data)
        if attack in OF_RIVALS and (attack not in OF_TRUE or rng.random() < 0.5) and true.rival:
            claim_rival(changed, true.rival, rng)
        if not attack(changed, rng):
            continue
        if attack.__name__ != "unsealed":
            changed["digest"] = digest_of(changed)
        assert judged(changed) != "", (seed, attack.__name__)
        refused[attack.__name__] += 1
