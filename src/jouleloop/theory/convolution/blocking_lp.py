"""The blocking linear program of 001 §3.2: nine variables, six constraints, and the integer block it rounds to."""

import math
from dataclasses import dataclass
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


@dataclass(frozen=True)
class BlockingLp:
    """The optimum of the linear program in x = log_M B."""

    sides: dict[str, float]
    """The real block sides M^x by variable."""
    updates: float
    """Updates per block, the product of the sides: what the program maximises."""
    objective: float
    dual_objective: float
    """Optimal Σ x and the value of the dual solution; their difference is ``gap``."""
    multipliers: tuple[float, ...]
    """Dual of the six memory constraints."""
    rounded: Blocking
    """The sides rounded down to whole numbers, a block that fits."""

    @property
    def gap(self) -> float:
        """Absolute duality gap; zero up to rounding."""
        return abs(self.objective - self.dual_objective)


def solve_blocking_lp(layer: ConvLayer, precisions: Precisions, memory: float | Fraction | str) -> BlockingLp:
    """Solve the program: maximise Σ x under A x <= b, 0 <= x <= log_M of the loop bounds.

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
    if not solution.success or solution.x is None or solution.fun is None:
        raise EngineError(f"the linear program solver stopped: {solution.message}")
    multipliers = tuple(float(-value) for value in solution.ineqlin.marginals)
    dual = float(np.dot(multipliers, rights) - np.dot(solution.upper.marginals, uppers))
    sides = {name: float(size) ** float(x) for name, x in zip(VARIABLES, solution.x, strict=True)}
    # A side that is a whole number but for rounding must not lose one.
    whole = {name: max(1, min(math.floor(side * (1 + 1e-9)), getattr(limits, name))) for name, side in sides.items()}
    return BlockingLp(sides, math.prod(sides.values()), float(-solution.fun), dual, multipliers, Blocking(**whole))
