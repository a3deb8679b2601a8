"""Table of every bound of paper 002 for layers of the swept sizes."""

from collections.abc import Iterable, Sequence

import pandas as pd

from jouleloop.theory.fully_connected.bounds import all_bounds
from jouleloop.theory.fully_connected.formulas import FcLayer

SWEPT_LAYERS = ((1024, 1024), (128, 1024), (4096, 1024), (1024, 128), (1024, 4096))
SWEPT_BUFFERS_WORDS = (17, 129, 1025)


def bounds_table(
    layers: Iterable[tuple[int, int]] = SWEPT_LAYERS, buffers: Sequence[int] = SWEPT_BUFFERS_WORDS, word_bits: int = 8
) -> pd.DataFrame:
    """Return every bound of `all_bounds` for layers (n, m) and buffers β: one row a bound."""
    records = [
        {
            "inputs": n,
            "outputs": m,
            "buffer_words": beta,
            "word_bits": word_bits,
            "name": bound.name,
            "source": bound.source,
            "value": None if bound.value is None else float(bound.value),
            "unit": bound.unit,
            "assumptions_hold": bound.assumptions_hold,
            "assumptions_failed": "; ".join(a.text for a in bound.assumptions if not a.holds),
            "note": bound.note,
        }
        for n, m in layers
        for beta in buffers
        for bound in all_bounds(FcLayer(n, m, beta, word_bits))
    ]
    return pd.DataFrame.from_records(records)
