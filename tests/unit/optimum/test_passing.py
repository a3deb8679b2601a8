"""Classes of equal boxes beside all instances one by one, and what links leave of them beside the model."""

import itertools
import math
import random
from collections import Counter
from collections.abc import Iterator

import numpy as np
import pytest

from jouleloop.division import divisors
from jouleloop.model.links import count_classes, neighbour_links
from jouleloop.optimum.passing import Moved, Rank, layouts_of, words_passed


def drawn(rng: random.Random, first: int) -> Rank:
    """Draw a rank of two unrolled dimensions, numbered from ``first`` on."""
    return tuple(
        Moved(first + k, rng.choice((1, 1, 2, 3)), rng.randint(2, 4), rng.choice((1, 2, 2, 3))) for k in (0, 1)
    )


def tiles_of(rank: Rank) -> Iterator[tuple[int, ...]]:
    """Return all tiles of a rank."""
    return itertools.product(*(divisors(one.rest) for one in rank))


def boxes_of(rank: Rank, tile: tuple[int, ...]) -> list[int]:
    """Return where the box of each instance begins."""
    steps = [one.coef * length for one, length in zip(rank, tile, strict=True)]
    return [
        sum(step * i for step, i in zip(steps, index, strict=True))
        for index in itertools.product(*(range(one.factor) for one in rank))
    ]


def test_classes_are_those_of_all_instances() -> None:
    rng = random.Random(5)
    narrow = 0
    for _ in range(300):
        rank = drawn(rng, 0)
        sizes = [Counter(boxes_of(rank, tile)) for tile in tiles_of(rank)]
        assert max(layout.largest for layout in layouts_of(rank)) == max(max(own.values()) for own in sizes)
        shares = {sum(own.values()) / (len(own) * max(own.values())) for own in sizes}
        assert sorted({layout.share for layout in layouts_of(rank)}) == pytest.approx(sorted(shares))
        narrow += min(shares) < 1.0
    assert narrow > 100


def test_more_than_two_unrolled_dimensions_of_a_rank_are_bounded_by_the_widest() -> None:
    rank = tuple(Moved(d, 1, 2 + d, 1) for d in range(3))
    assert words_passed([rank], (2, 3, 4), (24, 1))[:3] == pytest.approx((4 / 24, 6, 6))
    assert words_passed([rank], (2, 3, 4, 5), (120, 1)).mean == pytest.approx(30)


def test_a_neighbour_in_both_dimensions_counts_as_often_as_it_stands_there() -> None:
    # Taps of one word and pixels two words apart, whose next tile lies four words on.
    taps, pixels = Moved(1, 1, 3, 1), Moved(2, 2, 2, 28)
    window, other = (taps, pixels), (Moved(3, 1, 1, 3), Moved(4, 2, 2, 28))
    assert words_passed([window], (1, 3, 2, 1, 1), (12, 1))[:3] == pytest.approx((1.0, 6 / 5, 2))
    # Where another loop steps between them, one of 12 instances gets one of 10 boxes from its neighbour.
    assert words_passed([window, other], (1, 3, 2, 1, 2), (12, 1))[:2] == pytest.approx(((12 / 10) / (11 / 9), 11 / 9))
    # Not laid out, a box that another lies four words from is taken to be served: one of four that hold one word.
    assert words_passed([window], (1, 3, 2, 1, 1), (12, 1), most=1)[:2] == pytest.approx(((6 / 5) / (5 / 4), 5 / 4))
    # Where steps that move nothing fetch all again, neighbours may serve any class but the largest.
    assert words_passed([window], (1, 3, 2, 1, 1), (12, 1), most=1, repeats=True)[:2] == pytest.approx((6 / 10, 2))


def times(rank: Rank, tile: tuple[int, ...]) -> list[int]:
    """Return how often loops outside go on, by dimension."""
    return [one.rest // length for one, length in zip(rank, tile, strict=True)]


def most_left(
    ranks: list[Rank], tiles: list[tuple[int, ...]], loops: list[tuple[int, int]], mesh: tuple[int, int]
) -> float:
    """Return instances a box that the model asks for in any step, at most, the loops being in that order.

    A step that moves nothing asks for nothing, unless loops of a rank cancel out.
    """
    columns, rows = mesh
    length = {one.dim: (r, one.coef * n) for r, rank in enumerate(ranks) for one, n in zip(rank, tiles[r], strict=True)}
    offsets = np.zeros((math.prod(bound for _, bound in loops), len(ranks)), np.int64)
    for i, index in enumerate(itertools.product(*(range(bound) for _, bound in loops))):
        for (d, _), k in zip(loops, index, strict=True):
            if d in length:
                offsets[i, length[d][0]] += length[d][1] * k
    codes = np.unique(offsets, axis=0, return_inverse=True)[1].ravel().astype(np.int64)
    linked, sizes = np.zeros(len(codes), np.bool_), np.empty(len(codes), np.int64)
    most = len(codes) / (codes.max() + 1)
    steps = [
        {
            sum(one.coef * n * one.factor * x for one, n, x in zip(rank, tile, moved, strict=True))
            for moved in itertools.product(*(range(1 - x, x) for x in times(rank, tile)))
        }
        for rank, tile in zip(ranks, tiles, strict=True)
    ]
    cancels = any(
        any(moved) and sum(one.coef * n * one.factor * x for one, n, x in zip(rank, tile, moved, strict=True)) == 0
        for rank, tile in zip(ranks, tiles, strict=True)
        for moved in itertools.product(*(range(1 - x, x) for x in times(rank, tile)))
    )
    for move in itertools.product(*steps):
        if not any(move) and not cancels:
            continue
        neighbour_links(offsets, offsets, np.array(move), columns, rows, linked)
        left = count_classes(codes, ~linked, sizes)
        if left:
            most = max(most, float((~linked).sum() / left))
    return most


@pytest.mark.parametrize("seed", [7, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (8, 9))])
def test_links_leave_no_more_of_large_classes_than_is_counted(seed: int) -> None:
    rng = random.Random(seed)
    raised = tight = narrow = 0
    for _ in range(35):
        ranks = [drawn(rng, 0), *([drawn(rng, 2)] if rng.random() < 0.1 else [])]
        if all(layout.share == 1.0 for layout in layouts_of(ranks[0])):
            continue
        factors = [1] * 5
        for one in itertools.chain(*ranks):
            factors[one.dim] = one.factor
        factors[4] = rng.choice((1, 2, 3))
        instances = math.prod(factors)
        mesh = (columns := rng.choice((instances, 1, 2, 3, 5, 6)), -(-instances // columns))
        found, counted = words_passed(ranks, factors, mesh), words_passed(ranks, factors, mesh, most=0)
        share, least = found.share, 1.0
        for tiles in itertools.product(*map(tiles_of, ranks)):
            plain = math.prod(factors[d] for d in range(4)) * factors[4]
            mean = plain / math.prod(len(set(boxes_of(rank, tile))) for rank, tile in zip(ranks, tiles, strict=True))
            for order in itertools.permutations([d for d, factor in enumerate(factors) if factor > 1]):
                loops = [(d, factors[d]) for d in order]
                left = most_left(ranks, list(tiles), loops, mesh)
                least = min(least, mean / left)
                assert left <= found.mean * (1 + 1e-12), (ranks, factors, mesh)
                assert left <= counted.mean * (1 + 1e-12), (ranks, factors, mesh)
        assert share <= least * (1 + 1e-12), (ranks, factors, mesh)
        assert counted.share <= least * (1 + 1e-12), (ranks, factors, mesh)
        assert counted.laid_out == 0 < found.laid_out
        narrow += counted.mean < found.largest * (1 - 1e-12)
        raised += least < 1.0
        tight += least < 1.0 and share >= least * (1 - 1e-12)
    assert raised > 1
    assert narrow > 10
    assert tight > raised // 2
