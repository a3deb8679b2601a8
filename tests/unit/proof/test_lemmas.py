"""The least over the cuts of a tile, taken prime by prime and once for all runs, is that of all cuts one by one."""

import itertools
import math

from attacks import true_certificate
from jouleloop.proof.design import Design
from jouleloop.proof.lemmas import Bounds


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
                start = (0,) * len(tile) if j is None else bounds._run(j, bounds.rest)
                least = min((bounds.floor(k, tile, cut, j, start) for cut in design.cuts(k, tile)), default=math.inf)
                assert bounds.inward(k, tile, j, start) == least, (k, tile, j)
                compared += 1
    return compared
