"""Theory's lower bound on the energy of one layer on a target: operations, and the DRAM words that have to move."""

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import pandas as pd

from jouleloop.engines.protocol import Target
from jouleloop.study.compute import Job
from jouleloop.theory.convolution.bounds import bound_value, single_processor_bounds
from jouleloop.theory.convolution.layer import Precisions, input_elements
from jouleloop.theory.layers import ConvLayer
from jouleloop.theory.loop_nest.bounds import communication_with_constants
from jouleloop.theory.loop_nest.closed_form import closed_form
from jouleloop.theory.loop_nest.nest import LoopNest
from jouleloop.workload.layer import Layer
from jouleloop.workload.problem import Problem
from jouleloop.workload.sweep import Sweep


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
    words = groups * least_dram_words(layer, fast_words(target))
    return float(row["compute_pj"]) + float(words * least_word_pj(target))


def problem_lower_words(problem: Problem, memory_words: int | None) -> float:
    """Return how many words of any problem cross the border of the chip at least.

    Every tensor once, a rank counted with the largest of its dimensions alone, since strides may leave gaps. Where no
    rank is a sum, paper 004's bound with its constants kept, for a fast memory of all on-chip words, whichever is more
    (`jouleloop.theory.loop_nest.bounds.communication_with_constants`).
    """
    once = sum(
        math.prod(max(problem.bound[term.dimension] for term in rank) for rank in space.projection)
        for space in problem.data_spaces
    )
    loops = [name for name in problem.shape.dimensions if problem.bound[name] > 1]
    projective = all(len(rank) == 1 for space in problem.data_spaces for rank in space.projection)
    if memory_words is None or not projective or not loops:
        return once
    arrays = {
        space.name: tuple(
            tuple(int(name == rank[0].dimension) for name in loops)
            for rank in space.projection
            if rank[0].dimension in loops
        )
        for space in problem.data_spaces
    }
    nest = LoopNest(
        tuple(loops),
        {name: rows for name, rows in arrays.items() if rows},
        tuple(problem.bound[name] for name in loops),
    )
    return max(once, communication_with_constants(closed_form(nest), nest, memory_words))


def is_plain_convolution(layer: Layer) -> bool:
    """Whether the papers on convolutions are about the layer: two axes, no dilation, not transposed."""
    return layer.kind.base == "conv" and layer.sizes["w_dilation"] == layer.sizes["h_dilation"] == 1


def layer_lower_pj(layer: Layer, target: Target) -> float:
    """Return `theory_lower_pj` of any layer; dilated windows and other shapes by `problem_lower_words`."""
    compute_pj = float(layer.macs * target.costs.compute_pj)
    if is_plain_convolution(layer):
        return theory_lower_pj({**layer.sizes, "macs": layer.macs, "compute_pj": compute_pj}, target)
    words = math.floor(problem_lower_words(layer.problem(), fast_words(target)))
    return compute_pj + float(words * least_word_pj(target))


def least_word_pj(target: Target) -> Fraction:
    """Return the least price of a word that DRAM moves."""
    dram = target.costs.levels[0]
    return Fraction(min(dram.read_pj, dram.write_pj)) / Fraction(target.arch.levels[0].block_words)


def with_theory(energies: pd.DataFrame, jobs: Mapping[str, Job], networks: Sequence[Sweep]) -> pd.DataFrame:
    """Return the rows of networks with a column ``theory_lower_pj``; it is empty where there is no mapping."""
    layers = {(network.name, point.layer.label): point.layer for network in networks for point in network.points}
    rows = energies[energies["sweep"].isin([network.name for network in networks])]
    bounds = []
    for row in rows.to_dict("records"):
        layer = layers[str(row["sweep"]), str(row["layer"])]
        target = jobs[str(row["architecture"])].target.for_shape(layer.kind.shape_of(layer.values))
        bounds.append(layer_lower_pj(layer, target) if row["status"] == "ok" else math.nan)
    return rows.assign(theory_lower_pj=bounds)
