"""Tables of the convolution theory: volumes over memory sizes and processors, exponents, executions."""

import math
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction

import pandas as pd

from jouleloop.theory.convolution.blocking_search import best_blocking
from jouleloop.theory.convolution.bounds import bound_value, find_bound, parallel_bounds, single_processor_bounds
from jouleloop.theory.convolution.crossover import single_processor_terms
from jouleloop.theory.convolution.execute_blocking import execute_blocking
from jouleloop.theory.convolution.layer import RESNET50_PRECISIONS, Precisions
from jouleloop.theory.convolution.parallel import PARALLEL_ALGORITHMS, parallel_volume
from jouleloop.theory.convolution.volumes import all_volumes
from jouleloop.theory.layers import RESNET50_LAYERS, ConvLayer
from jouleloop.theory.loop_nest.hbl import hbl_exponents
from jouleloop.theory.loop_nest.read import nest_from_data

MEMORY_WORDS = tuple(2**exponent for exponent in range(6, 27))
PROCESSORS = tuple(2**exponent for exponent in range(27))
PARALLEL_MEMORY_WORDS = 2**20
# Loops in the order of 001 §3.1, so that the subgroups are numbered as in its table.
NESTS: Mapping[str, Mapping[str, object]] = {
    "7NL CNN (stride 2)": {
        "loops": ["i1", "i2", "i3", "i4", "i5", "i6", "i7"],
        "arrays": {
            "I": ["i1", "i2", "2*i4 + i6", "2*i5 + i7"],
            "F": ["i2", "i3", "i6", "i7"],
            "O": ["i1", "i3", "i4", "i5"],
        },
    },
    "7NL CNN, small-filter lift": {
        "loops": ["i1", "i2", "i3", "i4", "i5", "r6", "r7"],
        "arrays": {
            "I": ["i1", "i2", "i4", "r6", "i5", "r7"],
            "F": ["i2", "i3", "r6", "r7"],
            "O": ["i1", "i3", "i4", "i5"],
        },
    },
    "matrix multiplication": {"arrays": {"A": ["i", "k"], "B": ["k", "j"], "C": ["i", "j"]}},
}
# Small enough to run element by element, with memories small enough that every term of Theorem 2.1 leads somewhere.
EXECUTED_LAYERS = {
    "8×8×8 product": ConvLayer(8, 8, 8, 1, 1, 1, 1),
    "3×3 filter": ConvLayer(2, 6, 6, 6, 6, 3, 3),
    "7×7 filter": ConvLayer(1, 4, 4, 8, 8, 7, 7),
    "5×5 filter, stride 2": ConvLayer(2, 4, 4, 6, 6, 5, 5, 2, 2),
}


def memory_table(
    layers: Mapping[str, ConvLayer] = RESNET50_LAYERS,
    precisions: Precisions = RESNET50_PRECISIONS,
    memories: Iterable[int] = MEMORY_WORDS,
) -> pd.DataFrame:
    """Return the volume of every algorithm beside Theorem 2.1, a row per layer, memory and algorithm (Figure 2)."""
    rows: list[dict[str, object]] = []
    sizes = list(memories)
    for name, layer in layers.items():
        for memory in sizes:
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
    layers: Mapping[str, ConvLayer] = RESNET50_LAYERS,
    precisions: Precisions = RESNET50_PRECISIONS,
    processors: Iterable[int] = PROCESSORS,
    memory_words: int = PARALLEL_MEMORY_WORDS,
) -> pd.DataFrame:
    """Return the words received by the busiest processor beside Theorems 2.2 and 2.3 (Figure 3).

    Volumes are missing where no grid has blocks that fit in ``memory_words``, ratios also where the bound is 0.
    """
    rows = []
    counts = list(processors)
    for name, layer in layers.items():
        for count in counts:
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


def crossing_table(
    layers: Mapping[str, ConvLayer] = RESNET50_LAYERS, precisions: Precisions = RESNET50_PRECISIONS
) -> pd.DataFrame:
    """Return which term of Theorem 2.1 leads for which memory sizes, a row per layer and regime."""
    return pd.DataFrame(
        {
            "layer": name,
            "active_term": regime.active,
            "from_memory_words": regime.from_words,
            "to_memory_words": regime.to_words,
        }
        for name, layer in layers.items()
        for regime in single_processor_terms(layer, precisions).regimes()
    )


def exponent_table(nests: Mapping[str, Mapping[str, object]] = NESTS) -> pd.DataFrame:
    """Return every rank constraint and the exponents of the nests of 001 §3.1, a row per constraint."""
    rows = []
    for name, data in nests.items():
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
    memories: Iterable[int] = (4, 5, 6, 8, 12, 16, 24, 48, 96, 200),
) -> pd.DataFrame:
    """Run the best blocking of small layers element by element and set what it moved beside Theorem 2.1."""
    rows = []
    sizes = list(memories)
    for name, layer in layers.items():
        for prices in precisions:
            for memory in sizes:
                bound = find_bound(single_processor_bounds(layer, prices, memory), "single_processor_lower_bound")
                best = best_blocking(layer, prices, memory)
                run = execute_blocking(layer, prices, best.blocking, memory, kept=best.kept)
                rows.append(
                    {
                        "layer": name,
                        "precisions": f"{prices.input}, {prices.filter}, {prices.output}",
                        "memory_words": memory,
                        "peak_words": float(run.peak_words),
                        "executed_words": float(run.words_moved),
                        "closed_form_words": float(best.words),
                        "lower_bound_words": float(bound.value or 0),
                        "ratio_to_bound": float(run.words_moved) / float(bound.value or 1),
                        "active_term": bound.note.removeprefix("active term: "),
                        "block": best.describe(),
                    }
                )
    return pd.DataFrame(rows)
