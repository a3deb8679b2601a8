"""The table that judges 001's bound and blockings by exact optima of small convolutions."""

import itertools
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import pandas as pd

from jouleloop.theory.convolution.blocking_search import best_blocking
from jouleloop.theory.convolution.bounds import bound_value, single_processor_bounds
from jouleloop.theory.convolution.layer import Precisions
from jouleloop.theory.convolution.least_words import least_words
from jouleloop.theory.convolution.sliding import best_sliding
from jouleloop.theory.layers import ConvLayer

LARGEST_MEMORY = 8
LARGEST_UPDATES = 12
MOST_STATES = 200_000


def small_layers() -> Iterator[ConvLayer]:
    """Yield the layers of the table: up to 12 updates, one or two channels, strides 1 and 2, and 2 × 2 windows."""
    channels = ((1, 1), (2, 1), (1, 2), (2, 2))
    for (c_i, c_o), width, taps, stride in itertools.product(channels, range(1, 7), range(1, 5), (1, 2)):
        layer = ConvLayer(1, c_i, c_o, width, 1, taps, 1, stride, 1)
        if taps <= stride * width and stride <= taps and layer.macs <= LARGEST_UPDATES:
            yield layer
    for width, height, taps_w, taps_h in ((2, 2, 2, 1), (2, 2, 1, 2), (3, 2, 2, 1), (3, 2, 1, 2), (2, 1, 2, 1)):
        yield ConvLayer(1, 1, 1, width, height, taps_w, taps_h)


def least_row(layer: ConvLayer, memory_words: int) -> dict[str, Any]:
    """Return a row: the layer, M, both optima, the bounds, the best blocking and the best sliding dataflow."""
    precisions = Precisions(*3 * (Fraction(1),))
    zero = least_words(layer, memory_words, outputs_start_at_zero=True, most_states=MOST_STATES)
    loaded = least_words(layer, memory_words, outputs_start_at_zero=False, most_states=MOST_STATES)
    bounds = single_processor_bounds(layer, precisions, memory_words)
    sliding = best_sliding(layer, memory_words)
    return {
        "in_channels": layer.in_channels,
        "out_channels": layer.out_channels,
        "out_width": layer.out_width,
        "out_height": layer.out_height,
        "filter_width": layer.filter_width,
        "filter_height": layer.filter_height,
        "stride": layer.stride_width,
        "memory_words": memory_words,
        "least_words": zero.words,
        "least_words_lower": zero.lower,
        "least_words_outputs_loaded": loaded.words,
        "least_words_outputs_loaded_lower": loaded.lower,
        "theorem_2_1_words": bound_value(bounds, "single_processor_lower_bound"),
        "bound_outputs_start_at_zero_words": bound_value(bounds, "lower_bound_outputs_start_at_zero"),
        "compulsory_words": bound_value(bounds, "compulsory_traffic"),
        "best_blocking_words": float(best_blocking(layer, precisions, memory_words).words),
        "best_sliding_words": sliding.words if sliding else None,
    }


def least_table() -> pd.DataFrame:
    """Return a row for every small layer and every M from 3 to 8 words that does not hold the whole layer."""
    rows = []
    for layer in small_layers():
        for memory in range(3, LARGEST_MEMORY + 1):
            if memory < layer.output_elements + 2 + layer.macs:
                rows.append(least_row(layer, memory))
    table = pd.DataFrame(rows)
    whole = ["least_words", "least_words_outputs_loaded", "best_sliding_words"]
    return table.astype(dict.fromkeys(whole, "Int64"))
