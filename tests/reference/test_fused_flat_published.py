"""FLAT's traffic of attention, as FuseMax validated its model of it, is never below the proven optimum: 96 rows.

Numbers: Nayak et al., FuseMax (MICRO 2024), artifact FPSG-UIUC/micro24-fusemax-artifact, `flat_validation.csv`, the
column ``mem_traffic`` [bytes]: batches of 64, words of 16 bits, buffers of 32 MiB (cloud) and 512 KiB (edge).
"""

import csv
from functools import cache

import pytest

import jouleloop as jl
from paths import ROOT

BATCH, WORD_BYTES = 64, 2
BUFFER_BYTES = {"cloud": 32 * 2**20, "edge": 512 * 2**10}
with (ROOT / "tests/reference/published/flat_traffic.csv").open(encoding="utf-8") as _file:
    ROWS = list(csv.DictReader(_file))


@cache
def least_words(tokens: int, width: int, buffer_words: int) -> int:
    """Return the words of one head that has the buffer for itself: no batch of heads moves fewer a head."""
    arch = jl.Architecture.read("two_levels").with_({"Buffer.depth": buffer_words})
    found = jl.chain(arch, [f"matmul:M{tokens}xN{tokens}xK{width}", f"matmul:M{width}xN{tokens}xK{tokens}"])
    assert found.optimal
    return found.outer_words


@pytest.mark.slow
@pytest.mark.parametrize("platform", BUFFER_BYTES)
def test_flat_moves_no_fewer_words_than_the_optimum(platform: str) -> None:
    rows = [row for row in ROWS if row["platform"] == platform]
    assert len(rows) == 48
    ratios = {}
    for row in rows:
        tokens, heads, width = (int(row[name]) for name in ("tokens", "heads", "width"))
        least = least_words(tokens, width, BUFFER_BYTES[platform] // WORD_BYTES)
        ratios[row["model"], tokens] = float(row["traffic_bytes"]) / (least * heads * BATCH * WORD_BYTES)
    assert min(ratios.values()) >= 1
    # FLAT keeps all scores of a row of queries on the chip; beyond some tokens they spill.
    assert ratios["BERT", 2**20] > 4 * ratios["BERT", 512]
