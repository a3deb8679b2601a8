"""Tables of the convolution theory: volumes over memories and processors, exponents, executions, exact optima."""

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import pandas as pd

from jouleloop.files import read_yaml
from jouleloop.theory.convolution.blocking_search import best_blocking
from jouleloop.theory.convolution.bounds import bound_value, find_bound, parallel_bounds, single_processor_bounds
from jouleloop.theory.convolution.crossover import single_processor_terms
from jouleloop.theory.convolution.execute_blocking import execute_blocking
from jouleloop.theory.convolution.layer import RESNET50_PRECISIONS, Precisions
from jouleloop.theory.convolution.least_words import least_words
from jouleloop.theory.convolution.parallel import DIMENSIONS, PARALLEL_ALGORITHMS, parallel_volume
from jouleloop.theory.convolution.volumes import all_volumes, best_sliding
from jouleloop.theory.layers import RESNET50_LAYERS, ConvLayer
from jouleloop.theory.loop_nest.hbl import hbl_exponents
from jouleloop.theory.loop_nest.read import nest_from_data

MEMORY_WORDS = tuple(2**exponent for exponent in range(6, 27))
PROCESSORS = tuple(2**exponent for exponent in range(27))
PARALLEL_MEMORY_WORDS = 2**20
# Small enough to run element by element, with memories small enough that every term of Theorem 2.1 leads somewhere.
EXECUTED_LAYERS = {
    "8×8×8 product": ConvLayer(8, 8, 8, 1, 1, 1, 1),
    "3×3 filter": ConvLayer(2, 6, 6, 6, 6, 3, 3),
    "7×7 filter": ConvLayer(1, 4, 4, 8, 8, 7, 7),
    "5×5 filter, stride 2": ConvLayer(2, 4, 4, 6, 6, 5, 5, 2, 2),
}


def memory_table(
    layers: Mapping[str, ConvLayer] = RESNET50_LAYERS, memories: Sequence[int] = MEMORY_WORDS
) -> pd.DataFrame:
    """Return the volume of every algorithm beside Theorem 2.1, a row per layer, memory and algorithm (Figure 2)."""
    rows: list[dict[str, object]] = []
    precisions = RESNET50_PRECISIONS
    for name, layer in layers.items():
        for memory in memories:
            found = find_bound(single_processor_bounds(layer, precisions, memory), "single_processor_lower_bound")
            bound = float(found.value or 0)
            rows.extend(
                {
                    "layer": name,
                    "memory_words": memory,
                    "algorithm": volume.algorithm,
                    "volume_words": float(volume.words),
                    "lower_bound_words": bound,
                    "ratio_to_bound": float(volume.words) / bound,
                    "active_term": found.note.removeprefix("active term: "),
                    "volume_source": volume.source,
                }
                for volume in all_volumes(layer, precisions, memory)
            )
    return pd.DataFrame(rows)


def processor_table(
    layers: Mapping[str, ConvLayer] = RESNET50_LAYERS, processors: Sequence[int] = PROCESSORS
) -> pd.DataFrame:
    """Return the words received by the busiest processor beside Theorems 2.2 and 2.3 (Figure 3).

    Volumes are missing where no grid has blocks that fit in a processor's memory, ratios also where the bound is 0.
    """
    rows = []
    precisions, memory_words = RESNET50_PRECISIONS, PARALLEL_MEMORY_WORDS
    for name, layer in layers.items():
        for count in processors:
            bound = bound_value(parallel_bounds(layer, precisions, memory_words, count), "parallel_lower_bound")
            for algorithm in PARALLEL_ALGORITHMS:
                volume = parallel_volume(algorithm, layer, precisions, count, memory_words)
                words = math.nan if volume is None else float(volume.received_words)
                rows.append(
                    {
                        "layer": name,
                        "processors": count,
                        "memory_words": memory_words,
                        "algorithm": algorithm,
                        "received_words": words,
                        "lower_bound_words": bound,
                        "ratio_to_bound": words / bound if bound > 0 else math.nan,
                        "grid": "" if volume is None else "x".join(map(str, volume.grid)),
                    }
                )
    return pd.DataFrame(rows)


def crossing_table() -> pd.DataFrame:
    """Return which term of Theorem 2.1 leads for which memory sizes, a row per layer and regime."""
    rows = [
        (name, *regime)
        for name, layer in RESNET50_LAYERS.items()
        for regime in single_processor_terms(layer, RESNET50_PRECISIONS).regimes()
    ]
    return pd.DataFrame(rows, columns=["layer", "active_term", "from_memory_words", "to_memory_words"])


def exponent_table() -> pd.DataFrame:
    """Return every rank constraint and the exponents of the nests of 001 §3.1 (``nests.yaml``), a row a constraint."""
    rows = []
    for name, data in read_yaml(Path(__file__).with_name("nests.yaml")).items():
        result = hbl_exponents(nest_from_data(data))
        chosen = ", ".join(f"s_{array} = {value}" for array, value in result.exponents.items())
        for record in result.constraint_records():
            ranks = ", ".join(str(value) for key, value in record.items() if key.startswith("rank of"))
            rows.append(
                {
                    "nest": name,
                    "H": record["H"],
                    "basis": record["basis"],
                    "rank": record["rank"],
                    "image_ranks": ranks,
                    "constraint": record["constraint"],
                    "distinct_constraints": len(result.distinct),
                    "exponent_sum": str(result.total),
                    "exponents": chosen,
                }
            )
    return pd.DataFrame(rows)


def executed_table(
    layers: Mapping[str, ConvLayer] = EXECUTED_LAYERS,
    precisions: Sequence[Precisions] = (Precisions(), RESNET50_PRECISIONS, Precisions(Fraction(1, 4), Fraction(1, 4))),
    memories: Sequence[int] = (4, 5, 6, 8, 12, 16, 24, 48, 96, 200),
) -> pd.DataFrame:
    """Run the best blocking of small layers element by element and set what it moved beside Theorem 2.1."""
    rows = []
    for (name, layer), prices, memory in itertools.product(layers.items(), precisions, memories):
        bound = find_bound(single_processor_bounds(layer, prices, memory), "single_processor_lower_bound")
        best = best_blocking(layer, prices, memory)
        run = execute_blocking(layer, prices, best.blocking, memory, kept=best.kept)
        rows.append(
            {
                "layer": name,
                "precisions": f"{prices.input}, {prices.filter}, {prices.output}",
                "memory_words": memory,
                "peak_words": float(run.memory.peak_words),
                "executed_words": float(run.memory.words_moved),
                "closed_form_words": float(best.words),
                "lower_bound_words": float(bound.value or 0),
                "ratio_to_bound": float(run.memory.words_moved) / float(bound.value or 1),
                "active_term": bound.note.removeprefix("active term: "),
                "block": best.describe(),
            }
        )
    return pd.DataFrame(rows)


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
        **{name: getattr(layer, name) for name in DIMENSIONS if name != "batch"},
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
