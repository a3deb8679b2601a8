"""The least over the cuts of a tile, taken prime by prime and once for all runs, is that of all cuts one by one."""

import itertools
import math
import random
from collections import Counter
from fractions import Fraction

from attacks import true_certificate
from jouleloop.proof.design import Design, divisors
from jouleloop.proof.lemmas import Loop
from jouleloop.proof.tables import Bounds, parts


def test_cuts_by_primes_are_all_cuts() -> None:
    compared = 0
    for kind, seed in itertools.product(("general", "windows", "later"), range(5000, 5006)):
        data = true_certificate(kind, seed)
        if data is None:
            continue
        design = Design(data)
        for part in data["parts"][:3]:
            keep = tuple(tuple(map(bool, level)) for level in part["keep"])
            compared += compare(design, Bounds(design, keep, tuple(map(tuple, part["unrolling"]))))
    assert compared > 300


def compare(design: Design, bounds: Bounds) -> int:
    """Compare the states of a part level by level; return how many were."""
    top, compared = len(design.levels) - 1, 0
    for k in range(1, top + 1):
        for tile in itertools.islice(design.cuts(top, bounds.rest), 12):
            for j in (None, *(d for d, size in enumerate(tile) if size < bounds.rest[d])):
                start = (0,) * len(tile) if j is None else bounds.run(j, bounds.rest)
                least = min(
                    (bounds.floor(k, tile, cut, j, start, math.inf) for cut in design.cuts(k, tile)), default=math.inf
                )
                assert bounds.inward(k, tile, j, start, math.inf) == least, (k, tile, j)
                compared += 1
    return compared


def fetches(bounds: Bounds, v: int, loops: list[Loop]) -> int:
    """Return how often the box of a data space differs from the one before, all loops outside it running."""
    found, last = 0, None
    for step in itertools.product(*(range(bound) for _, bound, _ in loops)):
        place = [n for n, (d, *_) in zip(step, loops, strict=True) if not bounds.design.still[v][d]]
        found, last = found + (place != last), place
    return found


def single_bounds(seed: int, rng: random.Random) -> Bounds | None:
    """Return a part of a random certificate of which one data space or more is single."""
    data = true_certificate("general", seed)
    if data is None:
        return None
    part = rng.choice(data["parts"])
    keep = tuple(tuple(map(bool, level)) for level in part["keep"])
    bounds = Bounds(Design(data), keep, tuple(map(tuple, part["unrolling"])))
    return bounds if any(bounds.design.single) else None


def test_words_pass_further_in_as_often_as_outside_or_more() -> None:
    """Lemma *further in*, by running the nests: a box is fetched whenever it moves."""
    passed = Counter[bool]()
    for seed in range(5000, 5040):
        rng = random.Random(seed)
        bounds = single_bounds(seed, rng)
        if bounds is None:
            continue
        tile, loops, states = bounds.rest, list[Loop](), []
        for _ in bounds.keep[1:]:
            cut = tuple(rng.choice(divisors(size)) for size in tile)
            order = rng.sample(range(len(cut)), len(cut))
            loops += [(d, tile[d] // cut[d], cut[d]) for d in order if cut[d] < tile[d]]
            tile = cut
            states.append((tile, [*loops]))
        for v in (v for v, single in enumerate(bounds.design.single) if single):
            once = bounds.design.words(v, bounds.rest)
            words = [fetches(bounds, v, outside) * bounds.design.words(v, cut) for cut, outside in states]
            for place, (cut, outside) in enumerate(states):
                times = bounds.times(v, cut, *bounds.run_of(outside, cut))
                # A longer run than a space's own loops make may be taken.
                assert times * once <= min(words[place:]), (seed, v)
                passed[1 < times * once == words[place]] += 1
    assert passed[True] > 50


def test_smaller_tiles_take_no_less_of_single_data_spaces() -> None:
    compared = 0
    for seed in range(5000, 5040):
        bounds = single_bounds(seed, random.Random(seed))
        if bounds is None or not all(bounds.design.single):
            continue
        top, dims = len(bounds.keep) - 1, range(len(bounds.rest))
        for tile in itertools.islice(bounds.design.cuts(top, bounds.rest), 40):
            for level, d in itertools.product(range(1, top + 1), dims):
                start = bounds.run(d, bounds.rest)
                least = sum(bounds.least_at(level, tile, d, start))
                for smaller in parts(tile, tuple(dims)):
                    assert sum(bounds.least_at(level, smaller, d, start)) >= least, (seed, tile, smaller)
                    compared += 1
    assert compared > 100


def test_what_crosses_hangs_on_keeps_and_on_factors_from_the_boundary_outward() -> None:
    """Parts of one design share what is priced once; each part is beside itself with a design of its own."""
    compared = 0
    for kind, seed in itertools.product(("general", "windows", "later", "wired"), range(5000, 5030)):
        data, rng = true_certificate(kind, seed), random.Random(seed)
        if data is None:
            continue
        shared = Design(data)
        for part in rng.choices(data["parts"], k=24):
            about = tuple(tuple(map(bool, level)) for level in part["keep"]), tuple(map(tuple, part["unrolling"]))
            alone, beside = Bounds(Design(data), *about), Bounds(shared, *about)
            for level, v in ((level, v) for level, own in alone.crossed.items() for v in own):
                assert beside.repeated(level, v, 2) == alone.repeated(level, v, 2), (kind, seed, level, v)
                compared += 1
    assert compared > 500


def test_bounds_are_those_of_all_cuts_up_to_what_is_asked_for() -> None:
    compared = Counter[bool]()
    for kind, seed in itertools.product(("general", "windows", "later", "wired"), range(5000, 5020)):
        data = true_certificate(kind, seed)
        if data is None:
            continue
        design = Design(data)
        for part in data["parts"][:6]:
            about = (
                design,
                tuple(tuple(map(bool, level)) for level in part["keep"]),
                tuple(map(tuple, part["unrolling"])),
            )
            exact = Bounds(*about).least()
            if exact == math.inf:
                continue
            for share in (Fraction(1, 2), Fraction(9, 10), Fraction(99, 100), Fraction(1), Fraction(11, 10)):
                most = exact * share
                assert Bounds(*about).least(most) == min(most, exact), (kind, seed)
                compared[all(Bounds(*about).design.single)] += 1
    assert min(compared[True], compared[False]) > 50
