"""The least DRAM traffic of fused attention beside that of FuseMax's binding, row by row.

Numbers: Nayak et al., FuseMax (MICRO 2024), artifact FPSG-UIUC/micro24-fusemax-artifact, the column ``traffic`` [bytes]
of ``attn-binding.csv``: batches of 64, words of 16 bits, a buffer of 16 MiB.
"""

from functools import cache

import pytest

import jouleloop as jl

BATCH, WORD_BYTES, BUFFER_WORDS = 64, 2, 2**23
TOKENS = [1024 * 4**power for power in range(6)]
#: By model: heads, their width, and bytes by tokens.
PUBLISHED = {
    "BERT": (12, 64, (402653184, 1610612736, 6442450944, 38654705664, 463856467968, 6803228196864)),
    "TrXL": (16, 64, (536870912, 2147483648, 8589934592, 51539607552, 618475290624, 9070970929152)),
    "T5": (8, 64, (268435456, 1073741824, 4294967296, 25769803776, 309237645312, 4535485464576)),
    "XLM": (16, 128, (1073741824, 4294967296, 17179869184, 171798691840, 2336462209024, 35734127902720)),
}


@cache
def least_words(tokens: int, width: int) -> int:
    """Return the words of one head: three models have heads of one width."""
    arch = jl.Architecture.read("two_levels").with_({"Buffer.depth": BUFFER_WORDS})
    found = jl.chain(arch, [f"matmul:M{tokens}xN{tokens}xK{width}", f"matmul:M{width}xN{tokens}xK{tokens}"])
    assert found.optimal
    return found.outer_words


@pytest.mark.slow
@pytest.mark.parametrize("model", PUBLISHED)
def test_the_binding_of_fusemax_moves_the_least_words(model: str) -> None:
    heads, width, published = PUBLISHED[model]
    for tokens, traffic_bytes in zip(TOKENS, published, strict=True):
        assert least_words(tokens, width) * heads * BATCH * WORD_BYTES == traffic_bytes, tokens
