"""True certificates of random designs, and what a cheat would change in them so that they prove something false."""

import json
import math
import pickle
import random
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from differential.draw import draw_case
from differential.keywords import draw_spread, draw_wired
from differential.later import draw_later
from differential.native import load
from jouleloop.errors import JouleloopError
from jouleloop.mapspace.space import build_mapspace
from jouleloop.model.objective import OBJECTIVES
from jouleloop.optimum.certificate import certify, check_known, subject
from jouleloop.optimum.optimise import search_mapspace
from jouleloop.optimum.residual.optimise import search_residuals
from jouleloop.proof import write
from jouleloop.proof.cost import cost_of, nest_of
from jouleloop.proof.design import Design
from jouleloop.proof.form import check_form, digest_of
from jouleloop.proof.imperfect import argument, parts_of
from jouleloop.proof.limits import Exceeded, Verdict
from jouleloop.proof.rules import OBJECTIVES as WORTH
from jouleloop.proof.rules import ROUNDING, RULES
from jouleloop.proof.tables import Bounds
from jouleloop.proof.verify import Refused, verify

Data = dict[str, Any]
KINDS = ("general", "windows", "arrays", "later", "wired", "spread", "imperfect")
#: Steps of an imperfect argument, and visits of a perfect one, at most.
MOST_STEPS, MOST_VISITS = 10_000, 120


def copied(data: Any) -> Any:
    """Return a deep copy of what a file of JSON holds."""
    return pickle.loads(pickle.dumps(data))


def true_certificate(kind: str, seed: int) -> Data | None:
    """Return the certificate of a random design; None where it has none, or a long one."""
    draws = {"later": draw_later, "wired": draw_wired, "spread": draw_spread}
    case = (
        draws[kind](seed, MOST_VISITS)
        if kind in draws
        else draw_case(seed, ("general", "windows")[seed % 2] if kind == "imperfect" else kind, MOST_VISITS)
    )
    try:
        problem, target = load(case)
        early = kind == "imperfect"
        space = build_mapspace(problem, target.arch, target.constraints, imperfect=early)
        if not early:
            found = search_mapspace(space, target.costs, objective=(case.objective,), semantics=target.semantics)
            if found.status != "ok":
                return None
            data = certify(space, target.constraints, target.costs, found, target.semantics)
            return json.loads(json.dumps(data))  # type: ignore[no-any-return]
        check_known(space, target.constraints, target.costs, OBJECTIVES["energy"], target.semantics)
        about = {"factors": "imperfect", **subject(space, target.constraints, target.costs, target.semantics)}
        if write.unproven(about, "energy"):
            return None
        found = search_residuals(space, target.costs, semantics=target.semantics)
        if not found.optimal or found.mapping is None or found.evaluation is None:
            return None
        parts: list[Data] = []
        for _ in write.argue(about, found.evaluation.energy_pj, parts, MOST_STEPS):
            pass
        levels = write.without_remainders(found.mapping.as_json())
        data = write.sealed(about, "energy", found.evaluation.energy_pj, levels, parts)
        return json.loads(json.dumps(check_form(data)))  # type: ignore[no-any-return]
    except (JouleloopError, Exceeded):
        return None


def nodes_of(data: Data) -> Iterator[list[Data]]:
    """Yield every list of nodes or cuts."""
    waiting = [part.get("cuts") or part.get("nodes") or [] for part in data["parts"]]
    while waiting:
        here = waiting.pop()
        yield here
        waiting += [one.get("cuts") or one.get("nodes") or [] for one in here]


def bounds_of(data: Data, part: Data) -> Bounds:
    """Return the verifier's own bounds of a part, none of which is enough before it is the greatest."""
    keep = tuple(tuple(bool(kept) for kept in level) for level in part["keep"])
    return Bounds(Design(data), keep, tuple(tuple(level) for level in part["unrolling"]))


def holds_a_nest(data: Data, part: Data) -> bool:
    """Whether any tiles fit all levels of a part; of one that holds no mapping every bound is true."""
    if "idle" in part:
        return True
    design, bounds = Design(data), bounds_of(data, part)

    def fills(k: int, tile: tuple[int, ...]) -> bool:
        if not bounds.fits(k, tile):
            return False
        if k == 0:
            return all(design.temporal[0].admits(d, size) for d, size in enumerate(tile))
        return any(fills(k - 1, cut) for cut in design.cuts(k, tile))

    return fills(len(design.levels) - 1, bounds.rest)


def cheaper_claim(data: Data, rng: random.Random) -> bool:
    data["value"] *= 1 - 10 ** rng.uniform(-6, 0)
    return bool(data["value"])


def dearer_claim(data: Data, rng: random.Random) -> bool:
    data["value"] *= 1 + 10 ** rng.uniform(-6, 2)
    return bool(data["value"])


def dropped_part(data: Data, rng: random.Random) -> bool:
    data["parts"].pop(rng.randrange(len(data["parts"])))
    return True


def truncated_parts(data: Data, rng: random.Random) -> bool:
    data["parts"] = data["parts"][: rng.randrange(len(data["parts"]))]
    return True


def widened_part(data: Data, rng: random.Random) -> bool:
    """Let one part stand for another, too."""
    if len(data["parts"]) < 2:
        return False
    one, other = rng.sample(range(len(data["parts"])), 2)
    data["parts"][one] = copied(data["parts"][other])
    return True


def dropped_node(data: Data, rng: random.Random) -> bool:
    lists = [one for one in nodes_of(data) if one]
    if not lists:
        return False
    chosen = rng.choice(lists)
    chosen.pop(rng.randrange(len(chosen)))
    return True


def bounded_node(data: Data, rng: random.Random) -> bool:
    """Say of a part that was followed that its bound rules it out."""
    followed = [part for part in data["parts"] if part["lemma"] in ("cuts", "nodes")]
    if not followed:
        return False
    part = rng.choice(followed)
    if not holds_a_nest(data, part):
        return False
    for key in ("cuts", "nodes"):
        part.pop(key, None)
    part |= {"lemma": "bound", "bound_pj": rng.choice([None, data["value"] * 1000])}
    return True


def raised_bound(data: Data, rng: random.Random) -> bool:
    bounded = [part for part in data["parts"] if part["bound_pj"] and part["lemma"] == "bound"]
    bounded = [part for part in bounded if holds_a_nest(data, part)]
    bounded += [one for nodes in nodes_of(data) for one in nodes if one["bound_pj"] and one.get("why") != "followed"]
    if not bounded:
        return False
    # The search's own bounds may be below what the verifier derives: then a little more is still true.
    rng.choice(bounded)["bound_pj"] *= 1 + 10 ** rng.uniform(-6 if "factors" in data else 1, 3)
    return True


def bound_just_above(data: Data, rng: random.Random) -> bool:
    """State a little more than all that the verifier's tables know, or that a part holds nothing."""
    parts = [] if "factors" in data else [part for part in data["parts"] if part["lemma"] == "bound"]
    rng.shuffle(parts)
    for part in parts:
        bounds = bounds_of(data, part)
        least = bounds.least() if bounds.fits(len(bounds.keep) - 1, bounds.rest) else math.inf
        if least and least != math.inf:
            above = float(least * bounds.design.unit_pj) * (1 + 10 ** rng.uniform(-9, -1))
            part["bound_pj"] = rng.choice([above, above, None])
            return True
    return False


def dearer_mapping(data: Data, rng: random.Random) -> bool:
    """Claim another mapping, by what it costs: it is none of the mapspace, or dearer."""
    levels, design = data["mapping"], Design(data)
    known: dict[str, float] = {}
    for _ in range(20):
        changed = copied(levels)
        one, other = rng.sample(changed, 2) if len(changed) > 1 else (changed[0], changed[0])
        if rng.random() < 0.5 and one["temporal"]:
            other["temporal"].append(one["temporal"].pop(rng.randrange(len(one["temporal"]))))
        else:
            rng.shuffle(one["temporal"])
        if any(len({loop[0] for loop in level["temporal"]}) < len(level["temporal"]) for level in changed):
            continue
        told = repr(changed)
        if told not in known:
            cost = cost_of(design, nest_of(design, changed))
            known[told] = float(WORTH[data["objective"]].worth(*cost)) if cost else 0.0
        if known[told] > data["value"] * (1 + 1e-6):
            data["mapping"], data["value"] = changed, known[told]
            return True
    return False


def all_bounded(data: Data, rng: random.Random) -> bool:
    """Claim a dearer mapping, and say of every part that its bound rules it out."""
    if not dearer_mapping(data, rng):
        return False
    for part in data["parts"]:
        for key in ("cuts", "nodes"):
            part.pop(key, None)
        part |= {"lemma": "bound", "bound_pj": rng.choice([None, data["value"]])}
    return True


def rewritten_argument(data: Data, rng: random.Random) -> bool:
    """Claim a dearer mapping, and argue as one would if it were the optimum."""
    if data.get("factors") != "imperfect" or not dearer_mapping(data, rng):
        return False
    data["parts"] = []
    for part in parts_of(Design(data), data["value"] * (1 - float(ROUNDING)), Verdict()):
        part.verdict = Verdict(most_steps=MOST_STEPS)
        try:
            data["parts"].append(argument(part))
        except Exceeded:
            return False
    return True


def vanishing_energies(data: Data, rng: random.Random) -> bool:
    """State energies so small that sums in the least of them overflow, and every bound with them."""
    if data["objective"] == "delay" or not all_bounded(data, rng):
        return False
    for level in data["architecture"]["levels"]:
        for key in ("read_pj", "write_pj", "update_pj", "leak_pj"):
            if key in level:
                level[key] *= 2.0**-40
    # Operations cost less than any rounding.
    data["architecture"]["compute_pj"] = 0.0
    design = Design(data)
    cost = cost_of(design, nest_of(design, data["mapping"]))
    data["architecture"]["compute_pj"] = 2.0 ** -rng.randrange(900, 1074)
    if cost is None:
        return False
    data["value"] = float(WORTH[data["objective"]].worth(*cost))
    return True


def no_data_spaces(data: Data, _rng: random.Random) -> bool:
    """Leave out all data, so that nothing moves and nothing costs anything."""
    data["problem"]["data_spaces"], data["value"] = [], 0.0
    for limits in data["constraints"].values():
        limits["keep"], limits["bypass"] = [], []
    for level in data["mapping"]:
        level["keep"] = []
    rows = [[] for _ in data["mapping"]]
    data["parts"] = [part | {"keep": rows} for part in data["parts"]]
    return True


def unprintable_names(data: Data, rng: random.Random) -> bool:
    """Write a verdict of its own over what the verifier prints, by the name of the layer, design or a level."""
    text = rng.choice(["\x1b[2K\rproven: ", "layer\nproven: ", "\u202e"])
    where = rng.choice([data["problem"], data["architecture"], data["problem"]["data_spaces"][0]])
    where["name"] += text
    return True


def moved_node(data: Data, rng: random.Random) -> bool:
    """Put a node where another one is followed, so that its own place has none."""
    lists = list(nodes_of(data))
    full = [one for one in lists if one]
    if not full or len(lists) < 2:
        return False
    here, there = rng.choice(full), rng.choice(lists)
    if here is there:
        return False
    there.append(copied(here.pop(rng.randrange(len(here)))))
    return True


def other_tables(data: Data, rng: random.Random) -> bool:
    """State other energies, of a level or of all, so that the mapping costs something else."""
    if data["objective"] == "delay":
        return False
    levels = data["architecture"]["levels"]
    factor = rng.choice([0.0, 0.5, 0.999, 1.001, 3.0])
    for level in levels if rng.random() < 0.5 else [rng.choice(levels)]:
        for key in ("read_pj", "write_pj", "update_pj"):
            if key in level:
                level[key] *= factor
    return changed_cost(data)


def other_layer(data: Data, rng: random.Random) -> bool:
    bounds = data["problem"]["bounds"]
    d = rng.randrange(len(bounds))
    bounds[d] = rng.choice([bounds[d] + 1, bounds[d] * 2, max(1, bounds[d] // 2)])
    return changed_cost(data)


def other_rules(data: Data, rng: random.Random) -> bool:
    data["semantics"] = rng.choice([name for name in RULES if name != data["semantics"]])
    data["first_fills_elided"] = RULES[data["semantics"]].elided
    return changed_cost(data)


def unknown_rules(data: Data, rng: random.Random) -> bool:
    if rng.random() < 0.5:
        data["semantics"] = "timeloop-9"
    else:
        data["first_fills_elided"] = not data["first_fills_elided"]
    return True


def changed_cost(data: Data) -> bool:
    """Whether the mapping costs something else now, so that the claim is false."""
    try:
        design = Design(data)
        cost = cost_of(design, nest_of(design, data["mapping"]))
    except (ArithmeticError, IndexError, KeyError):
        return True
    worth = float(WORTH[data["objective"]].worth(*cost)) if cost else -1.0
    return abs(worth - data["value"]) > 1e-6 * max(worth, data["value"])


def reordered(data: Data, rng: random.Random) -> bool:
    """Turn levels, dimensions or rows of a part around."""
    what = rng.choice(["levels", "mapping", "rows"])
    if what == "rows":
        part = rng.choice(data["parts"])
        if part["unrolling"] == part["unrolling"][::-1]:
            return False
        part["unrolling"].reverse()
        return True
    rows = data["architecture"]["levels"] if what == "levels" else data["mapping"]
    if len(rows) < 2:
        return False
    rows.reverse()
    return True


def large_numbers(data: Data, rng: random.Random) -> bool:
    """State sizes or energies that no machine counts with, and claim less than the mapping costs."""
    if not data["value"]:
        return False
    big = rng.choice([2**53, 2**52 - 1, 10**400, 2**31])
    what = rng.choice(["bounds", "fanout", "bound", "energy", "block"])
    level = rng.choice(data["architecture"]["levels"])
    if what == "bounds":
        data["problem"]["bounds"] = [big] * len(data["problem"]["bounds"])
    elif what == "fanout":
        level["fanout"] = [big, big]
        data["value"] *= 0.9
    elif what == "bound":
        rng.choice(data["parts"])["bound_pj"] = 1e308 if big != 10**400 else big
        data["value"] *= 0.9
    elif what == "energy":
        level["read_pj"], data["value"] = 1e308, 5e-324
    else:
        level["block_words"], data["value"] = big, data["value"] * 0.9
    return True


def deep_nesting(data: Data, rng: random.Random) -> bool:
    deep: Any = []
    for _ in range(rng.choice([200, 900])):
        deep = [deep] if rng.random() < 0.5 else {"nodes": [deep]}
    rng.choice(data["parts"])[rng.choice(["cuts", "nodes", "keep"])] = deep
    return True


def unsealed(data: Data, rng: random.Random) -> bool:
    """Change the value a little and turn the digest around."""
    data["value"] *= 1 + rng.choice([-1, 1]) * 1e-12
    data["digest"] = data["digest"][::-1]
    return True


ATTACKS: tuple[Callable[[Data, random.Random], bool], ...] = (
    cheaper_claim, dearer_claim, dropped_part, truncated_parts, widened_part, dropped_node, bounded_node, raised_bound,
    bound_just_above, dearer_mapping, all_bounded, rewritten_argument, vanishing_energies, no_data_spaces,
    unprintable_names, moved_node, other_tables, other_layer, other_rules, unknown_rules, reordered, large_numbers,
    deep_nesting, unsealed,
)  # fmt: skip


@dataclass
class Tally:
    """What came of some certificates and attacks."""

    kinds: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    accepted: list[str] = field(default_factory=list)
    """Attacks that were accepted: none may be."""
    disbelieved: list[str] = field(default_factory=list)
    """True certificates that were refused: none may be."""
    slowest_seconds: float = 0.0


def judged(data: Data, tally: Tally) -> str:
    """Return why a file is refused, or an empty text."""
    begin = time.process_time()
    try:
        verify(check_form(data))
    except (Refused, JouleloopError) as error:
        return str(error)
    finally:
        tally.slowest_seconds = max(tally.slowest_seconds, time.process_time() - begin)
    return ""


def believed(seeds: Iterator[int], most: int, tally: Tally) -> Iterator[tuple[str, Data]]:
    """Yield true certificates, kind after kind, once each was verified."""
    number = 0
    for seed in seeds:
        kind = KINDS[seed % len(KINDS)]
        data = true_certificate(kind, seed)
        if data is None:
            continue
        reason = judged(copied(data), tally)
        tally.kinds[kind] += 1
        if reason:
            tally.disbelieved.append(f"{kind} {seed}: {reason}")
        yield f"{kind} {seed}", data
        number += 1
        if number == most:
            return


def attacked(name: str, data: Data, number: int, tally: Tally) -> int:
    """Make attacks on a certificate; return how many."""
    rng = random.Random(f"attack/{name}")
    made = 0
    for _ in range(20 * number):
        if made == number:
            break
        attack = ATTACKS[(sum(tally.refused.values()) + rng.randrange(3)) % len(ATTACKS)]
        changed = copied(data)
        if not attack(changed, rng):
            continue
        if attack is not unsealed:
            try:
                changed["digest"] = digest_of(changed)
            except RecursionError:
                changed["digest"] = ""
        made += 1
        if judged(changed, tally):
            tally.refused[attack.__name__] += 1
        else:
            tally.accepted.append(f"{name}: {attack.__name__}")
    return made
