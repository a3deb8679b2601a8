"""Certificates of random fused chains: the verifier has the ways of the search, and no attack is accepted."""

import itertools
import json
import math
import random
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from attacks import copied
from chain_attacks import OF_RIVALS, OF_TRUE, claim_rival, searched, searched_inside, searched_long, true_certificate
from jouleloop.errors import InputError, JouleloopError
from jouleloop.fusion.certificate import certify_chain, chain_subject
from jouleloop.fusion.plan import Group
from jouleloop.fusion.result import GroupRun
from jouleloop.fusion.search import ChainSearch
from jouleloop.proof import fused
from jouleloop.proof.chain import FusedChain
from jouleloop.proof.design import Design
from jouleloop.proof.form import check_form, digest_of
from jouleloop.proof.fused import Floors, verify_chain
from jouleloop.proof.rules import Refused
from shares import in_shares


@pytest.fixture(autouse=True, scope="module")
def _designs_are_bounded_once() -> Iterator[None]:
    """Keep what every word once costs in a design: an attack leaves most designs of a certificate as they are."""
    once_of, kept = fused.once_of, dict[str, Fraction | float]()

    def once(data: dict[str, Any]) -> Fraction | float:
        key = json.dumps(data, sort_keys=True)
        if key not in kept:
            kept[key] = once_of(Design(data))
        return kept[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fused, "Design", lambda data: data)
        patch.setattr(fused, "once_of", once)
        yield


def judged(data: dict[str, Any]) -> str:
    """Return why a file is refused, or an empty text."""
    try:
        verify_chain(check_form(data), seconds=600.0)
    except (Refused, JouleloopError) as error:
        return str(error)
    return ""


@in_shares(50, 4)
def test_the_verifier_has_the_ways_of_the_search_and_no_bound_above_them(seeds: range) -> None:
    compared = 0
    for seed in seeds:
        search = searched(seed)
        if not search.run().ok:
            continue
        chain = FusedChain(chain_subject(search.chain, search.fusions))
        floors = Floors(chain)
        for first, last in itertools.combinations(range(len(chain.layers)), 2):
            group = Group(search.chain, first, last)
            own = {
                (way.loops, tuple(part.held for part in way.parts)): way for way in chain.ways(range(first, last + 1))
            }
            ways = {
                (tuple((one.factor, one.dimensions) for one in way.prefix), way.held): way for way in search.ways(group)
            }
            assert own.keys() <= ways.keys()
            rng = random.Random(seed)
            for key in rng.sample(sorted(ways, key=repr), min(25, len(ways))):
                run, _ = search._settled(group, ways[key], math.inf)
                if run is None:
                    continue
                found = own[key]
                counted = sum(
                    part.moved
                    + sum(
                        mine.times * (theirs.search.evaluation.energy_pj / float(chain.unit_pj) - mine.spared)
                        for mine, theirs in zip(part.runs, layer.runs, strict=True)
                        if theirs.search.evaluation is not None
                    )
                    for part, layer in zip(found.parts, run.layers, strict=True)
                )
                energy = run.energy_pj / float(chain.unit_pj)
                assert math.isclose(counted, energy, rel_tol=1e-9, abs_tol=1e-6)
                assert floors.way(found, math.inf) <= energy * (1 + 1e-9)
                compared += 1
    assert compared > 20


@in_shares(20, 6)
def test_true_certificates_are_accepted_and_no_attack_is(seeds: range) -> None:
    kinds, refused = Counter[str](), Counter[str]()
    for seed in seeds:
        attack_chain(searched(seed), seed, kinds, refused)
    # Few seeds do not draw what every attack needs.
    missing = {attack.__name__ for attack in (*OF_TRUE, *OF_RIVALS)} - refused.keys()
    assert len(missing) <= (0 if len(seeds) > 40 else 3), missing
    assert len(kinds) == 2


@pytest.mark.parametrize("drawn", [searched_inside, searched_long])
@in_shares(12, 3)
def test_so_are_those_of_inner_levels_and_longer_chains(seeds: range, drawn: Callable[[int], ChainSearch]) -> None:
    kinds, refused = Counter[str](), Counter[str]()
    for seed in seeds:
        attack_chain(drawn(seed), seed, kinds, refused)
    assert kinds
    assert len(refused) > 5


@in_shares(24, 3)
def test_where_groups_may_lie_inside_others_the_optimum_is_certified_or_refused(seeds: range) -> None:
    told = Counter[str]()
    for seed in seeds:
        search = replace(searched_long(seed), nested=True)
        result = search.run()
        if not result.ok:
            continue
        if any(isinstance(child, GroupRun) for group in result.groups for child in group.children):
            with pytest.raises(InputError, match="groups whose layers share all outer loops"):
                certify_chain(search, result)
            told["refused"] += 1
            continue
        data = copied(certify_chain(search, result))
        assert "claim" in data or judged(data) == "", seed
        told["certified"] += "claim" not in data
    assert told["certified"] > 0


def attack_chain(search: ChainSearch, seed: int, kinds: Counter[str], refused: Counter[str]) -> None:
    """Verify a true certificate of a chain, and that every attack on it is refused; count both."""
    true = true_certificate(search)
    if true is None:
        return
    if "claim" in true.data:
        assert "processor seconds" in true.data["claim"], seed
        return
    assert judged(copied(true.data)) == "", seed
    kinds["fused" if len(true.data["groups"]) < len(true.data["layers"]) else "apart"] += 1
    rng = random.Random(f"attack/{seed}")
    for attack in (*OF_TRUE, *(OF_RIVALS if true.rival else ())):
        changed = copied(true.data)
        if attack in OF_RIVALS and (attack not in OF_TRUE or rng.random() < 0.5) and true.rival:
            claim_rival(changed, true.rival, rng)
        if not attack(changed, rng):
            continue
        if attack.__name__ != "unsealed":
            changed["digest"] = digest_of(changed)
        assert judged(changed) != "", (seed, attack.__name__)
        refused[attack.__name__] += 1
