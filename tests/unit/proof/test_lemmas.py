"""The least over the cuts of a tile, taken prime by prime and once for all runs, is that of all cuts one by one."""

import itertools
import math
from fractions import Fraction

from attacks import true_certificate
from jouleloop.proof.design import Design
from jouleloop.proof.tables import Bounds


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
                least = min((bounds.floor(k, tile, cut, j, start) for cut in design.cuts(k, tile)), default=math.inf)
                assert bounds.inward(k, tile, j, start) == least, (k, tile, j)
                compared += 1
    return compared


def test_what_is_enough_stands_for_more_and_no_bound_exceeds_that_of_all_cuts() -> None:
    ended = compared = 0
    for kind, seed in itertools.product(("general", "windows", "later", "wired"), range(5000, 5006)):
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
                bounds = Bounds(*about)
                bounds.enough = exact * share
                found = bounds.least()
                assert min(bounds.enough, exact) <= found <= exact, (kind, seed)
                ended, compared = ended + (found < exact), compared + 1
    assert compared > 200
    assert ended > 20
