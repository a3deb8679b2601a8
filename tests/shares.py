"""The draws of a property test in two shares: ``make test`` takes the first ones, ``make test-all`` the rest."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import pytest


def in_shares(count: int, first: int) -> pytest.MarkDecorator:
    """Return a parametrisation by ``seeds``: the ``first`` of ``count``, and the others as slow."""
    return pytest.mark.parametrize(
        "seeds", [pytest.param(seeds, id=name, marks=marks) for name, seeds, marks in _shares(count, first)]
    )


def by_kind(
    kinds: Iterable[str],
    count: int,
    first: int,
    *,
    fewer: Mapping[str, int] | None = None,
    times: Mapping[str, int] | None = None,
) -> pytest.MarkDecorator:
    """Return a parametrisation by ``kind`` and ``seeds``, those of each kind as `in_shares`.

    Kinds whose draws take long have ``fewer`` first ones, those whose draws take little so many ``times`` as many.
    """
    return pytest.mark.parametrize(
        ("kind", "seeds"),
        [
            pytest.param(kind, seeds, id=f"{kind}-{name}", marks=marks)
            for kind in kinds
            for more in [(times or {}).get(kind, 1)]
            for name, seeds, marks in _shares(more * count, more * (fewer or {}).get(kind, first))
        ],
    )


def by_part(parts: int, first: int) -> pytest.MarkDecorator:
    """Return a parametrisation by ``part``: the ``first`` of so many parts, and the others as slow."""
    return pytest.mark.parametrize("part", slow_after(first, range(parts)))


def slow_after(first: int, values: Iterable[Any]) -> list[Any]:
    """Return values of a parameter, or tuples of those of several, all after the ``first`` as slow."""
    several = ((value if isinstance(value, tuple) else (value,)) for value in values)
    return [pytest.param(*one, marks=[pytest.mark.slow] * (n >= first)) for n, one in enumerate(several)]


def check_all(check: Callable[[int], tuple[int, int]], seeds: range, share: int) -> None:
    """Check the design of every seed: bounds are compared with nests, and one of ``share`` bounds is close to its own.

    ``check`` returns how many bounds it compared, and how many of them are close.
    """
    bounds, close = map(sum, zip(*map(check, seeds), strict=True))
    assert bounds > 5 * len(seeds)
    assert close > bounds // share


def _shares(count: int, first: int) -> Iterator[tuple[str, range, list[pytest.MarkDecorator]]]:
    yield "first", range(min(first, count)), []
    if first < count:
        yield "rest", range(first, count), [pytest.mark.slow]
