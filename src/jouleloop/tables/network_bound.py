"""Theory's lower bound on the energy of one layer on a target: operations, and the DRAM words that have to move."""

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import pandas as pd

from jouleloop.engines.protocol import Target
from jouleloop.theory.convolution.bounds import bound_value, single_processor_bounds
from jouleloop.theory.convolution.layer import Precisions, input_elements
from jouleloop.theory.layers import ConvLayer


def fast_words(target: Target) -> int | None:
    """Return the words of all on-chip storage together, of any kind; None where a level has no limit."""
    total = 0
    for level in target.arch.levels[1:]:
        if level.capacity_words is None:
            return None
        total += level.capacity_words * level.instances
    return total


def least_dram_words(layer: ConvLayer, memory_words: int | None) -> int:
    """Return how many words cross the border of the chip at least, outputs starting at zero.

    Every touched input, filter and output element once, or 001 Theorem 2.1 for a fast memory of all on-chip words less
    a read of every output, whichever is more. Theorem 2.1 assumes a filter no larger than stride × output, without
    which only the first counts.
    """
    filters = layer.in_channels * layer.out_channels * layer.filter_width * layer.filter_height
    words = input_elements(layer) + filters + layer.output_elements
    small = (
        layer.filter_width <= layer.stride_width * layer.out_width
        and layer.filter_height <= layer.stride_height * layer.out_height
    )
    if memory_words is None or not small:
        return words
    bounds = single_processor_bounds(layer, Precisions(*3 * (Fraction(1),)), memory_words)
    return max(words, math.ceil(bound_value(bounds, "lower_bound_outputs_start_at_zero") - 1e-6))


def layer_of_row(row: Mapping[str, Any]) -> ConvLayer:
    """Return one group of the layer of a row of the energies table."""
    return ConvLayer(
        batch=int(row["N"]),
        in_channels=int(row["C"]),
        out_channels=int(row["M"]),
        out_width=int(row["P"]),
        out_height=int(row["Q"]),
        filter_width=int(row["R"]),
        filter_height=int(row["S"]),
        stride_width=int(row["w_stride"]),
        stride_height=int(row["h_stride"]),
    )


def theory_lower_pj(row: Mapping[str, Any], target: Target) -> float:
    """Return the bound for a row of the energies table: its operations, and the least DRAM words at their least price.

    Paper 002, eqs. (1), (3) and (5) with 001 Theorem 2.1: E >= C_b · MACs + (DRAM words) · (pJ of a word). Every level
    on the chip is left out, so the bound holds for every mapping.
    """
    layer = layer_of_row(row)
    groups = round(int(row["macs"]) / layer.macs)
    dram = target.costs.levels[0]
    word_pj = min(dram.read_pj, dram.write_pj) / Fraction(target.arch.levels[0].block_words)
    words = groups * least_dram_words(layer, fast_words(target))
    return float(row["compute_pj"]) + float(words * word_pj)


def with_theory(energies: pd.DataFrame, targets: Mapping[str, Target], sweeps: frozenset[str]) -> pd.DataFrame:
    """Return the rows of these sweeps with a column ``theory_lower_pj``; it is empty where there is no mapping."""
    rows = energies[energies["sweep"].isin(sweeps)]
    bounds = [
        theory_lower_pj(dict(row), targets[str(row["architecture"])]) if row["status"] == "ok" else math.nan
        for _, row in rows.iterrows()
    ]
    return rows.assign(theory_lower_pj=bounds)
