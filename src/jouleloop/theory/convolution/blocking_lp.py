"""The blocking linear program of 001 §3.2: nine variables, six constraints, and the integer block it rounds to."""

import math
from fractions import Fraction

import numpy as np

from jouleloop.errors import AssumptionError, EngineError, Fault
from jouleloop.theory.convolution.blocking import Blocking, largest_blocking
from jouleloop.theory.convolution.layer import Precisions, memory_words, require_small_filter
from jouleloop.theory.highs import linprog
from jouleloop.theory.layers import ConvLayer

# Columns: b_N, b_cI, b_cO, b_wO, b_hO, b_wF', b_wF'', b_hF', b_hF''. This is the order in which the printed matrix
# agrees with inequalities (6); the printed vector B lists b_hF' before b_wF'' (docs/errata.md).
VARIABLES = (
    "batch",
    "in_channels",
    "out_channels",
    "out_width",
    "out_height",
    "width_quotients",
    "width_residues",
    "height_quotients",
    "height_residues",
)
_PRODUCTS = (
    ("batch", "out_channels", "out_width", "out_height"),
    ("in_channels", "out_channels", "width_quotients", "width_residues", "height_quotients", "height_residues"),
    ("batch", "in_channels", "out_width", "out_height", "width_residues", "height_residues"),
    ("batch", "in_channels", "out_width", "height_quotients", "width_residues", "height_residues"),
    ("batch", "in_channels", "width_quotients", "out_height", "width_residues", "height_residues"),
    ("batch", "in_channels", "width_quotients", "height_quotients", "width_residues", "height_residues"),
)


def constraint_matrix() -> tuple[tuple[int, ...], ...]:
    """Return A of 001 §3.2, built from inequalities (6): output, filter, and the four terms of the input block."""
    return tuple(tuple(int(name in product) for name in VARIABLES) for product in _PRODUCTS)


def solve_blocking_lp(layer: ConvLayer, precisions: Precisions, memory: float | Fraction | str) -> Blocking:
    """Return the optimum, rounded down: maximise Σ x, x = log_M B, under A x <= b and 0 <= x <= log_M of the bounds.

    b is 1 − log_M p_T for the output and filter blocks and 1 − log_M 4 p_T for each of the four terms of
    (b_wO + b_wF')(b_hO + b_hF'). Filter sides are at most w_F/σ_w and σ_w (001: "an expression of the filter size and
    strides"), here the whole numbers ⌈w_F/σ_w⌉ and min(σ_w, w_F).

    Raises `AssumptionError` where M < 4 p_T (a block of one element of each array breaks the constraints) or a filter
    is larger than stride × output.
    """
    require_small_filter(layer)
    size = memory_words(memory)
    if size < 4 * precisions.total or size <= 1:
        text = "the linear program of paper 001 §3.2 has no feasible block: its assumption M >= 4 p_T fails"
        raise AssumptionError(Fault(text, None, "memory", float(size), f">= {float(4 * precisions.total):g} words"))
    limits = largest_blocking(layer)
    matrix = np.array(constraint_matrix(), dtype=float)
    base = math.log(size)
    quarter = math.log(size / (4 * precisions.total)) / base
    rights = np.array([math.log(size / precisions.total) / base] * 2 + [quarter] * 4)
    uppers = np.array([math.log(getattr(limits, name)) / base for name in VARIABLES])
    solution = linprog(
        -np.ones(len(VARIABLES)), A_ub=matrix, b_ub=rights, bounds=[(0, upper) for upper in uppers], method="highs"
    )
    if not solution.success or solution.x is None:
        raise EngineError(f"the linear program solver stopped: {solution.message}")
    # A side that is a whole number but for rounding must not lose one.
    sides = (math.floor(float(size) ** float(x) * (1 + 1e-9)) for x in solution.x)
    whole = {name: max(1, min(side, getattr(limits, name))) for name, side in zip(VARIABLES, sides, strict=True)}
    return Blocking(**whole)
