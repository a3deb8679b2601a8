"""What theory says of one layer on one architecture, before anything is searched."""

import math
from dataclasses import dataclass

from jouleloop.api.hardware import Architecture
from jouleloop.api.layers import LayerLike, problem_of
from jouleloop.api.run import ArchitectureLike, architecture_of
from jouleloop.errors import Fault, InputError
from jouleloop.tables.network_bound import (
    fast_words,
    is_plain_convolution,
    layer_lower_pj,
    layer_of_row,
    least_dram_words,
    problem_lower_words,
    theory_lower_pj,
)
from jouleloop.theory.bound import Bound
from jouleloop.theory.convolution.bounds import single_processor_bounds
from jouleloop.theory.convolution.layer import Precisions
from jouleloop.workload.layer import Layer
from jouleloop.workload.problem import Problem
from jouleloop.workload.sizes import parse_layer


@dataclass(frozen=True)
class Bounds:
    """Lower bounds that hold for every mapping of a layer on an architecture.

    Attributes
    ----------
    dram_words
        Words that cross the border of the chip at least.
    energy_pj
        Operations, and those words at the price of DRAM [pJ]; every level on the chip is left out. Words where
        accesses are counted.
    papers
        The terms of 001 Theorem 2.1 for one group of the layer, each with its source and assumptions; none where a
        level on the chip has no limit.
    """

    architecture: Architecture
    layer: Layer
    dram_words: int
    energy_pj: float
    papers: tuple[Bound, ...]

    def __repr__(self) -> str:
        head = f"{self.layer.label} on {self.architecture.name}"
        unit = self.architecture.target(self.layer.problem()).costs.unit
        return f"<Bounds {head}: at least {self.dram_words:,} DRAM words, {self.energy_pj:,.0f} {unit}>"


def bounds(architecture: ArchitectureLike, layer: str | Layer) -> Bounds:
    """Return theory's lower bounds on DRAM words and energy [pJ] of a layer.

    Paper 002, eqs. (1), (3) and (5), with paper 001, Theorem 2.1, for a fast memory of all words on the chip; for
    matrix products paper 004, Theorem 2, with its constants.

    Raises
    ------
    InputError
        Where a name is unknown or the layer is none.
    """
    found = _layer(layer)
    hardware = architecture_of(architecture, found.problem())
    target = hardware.target(found.problem())
    if not is_plain_convolution(found):
        words = math.floor(problem_lower_words(found.problem(), fast_words(target)))
        return Bounds(hardware, found, words, layer_lower_pj(found, target), ())
    row = {**found.sizes, "macs": found.macs, "compute_pj": found.macs * target.costs.compute_pj}
    group, memory = layer_of_row(row), fast_words(target)
    words = found.sizes["groups"] * least_dram_words(group, memory)
    papers = () if memory is None else single_processor_bounds(group, Precisions(), memory)
    return Bounds(hardware, found, words, theory_lower_pj(row, target), papers)


def _layer(layer: LayerLike) -> Layer:
    if isinstance(layer, Layer):
        return layer
    problem_of(layer)  # whose faults are those of every command
    if isinstance(layer, Problem) or str(layer).endswith((".yaml", ".yml")):
        raise InputError(Fault("bounds are those of layers, not of problem files", "layer", value=str(layer)))
    return parse_layer(str(layer))
