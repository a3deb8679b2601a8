"""The theorem of docs/theory-chains.md beside proven optima."""

import pytest

import jouleloop as jl
from jouleloop.division import divisors
from jouleloop.fusion.result import ChainResult
from shares import slow_after


@pytest.mark.parametrize("width", [4, 8])
@pytest.mark.parametrize("tokens", slow_after(2, [8, 24, 60, 128]))
@pytest.mark.parametrize("words", [64, 100, 300, 1200])
def test_optima_lie_between_the_bounds(tokens: int, width: int, words: int) -> None:
    assert words >= width**2
    arch = jl.Architecture.read("two_levels").with_({"Buffer.depth": words})
    found: ChainResult = jl.chain(
        arch, [f"matmul:M{tokens}xN{tokens}xK{width}", f"matmul:M{width}xN{tokens}xK{tokens}"]
    )
    assert found.optimal
    assert found.outer_words >= max(4 * tokens * width, 2 * tokens**2 * width**2 / words)
    fitting = [b for b in divisors(tokens) if (2 * width + 1) * tokens // b + width <= words]
    if fitting:
        assert found.outer_words <= 2 * tokens * width * (1 + fitting[0])
