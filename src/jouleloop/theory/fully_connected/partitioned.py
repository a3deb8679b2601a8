"""The optimum for a Buffer split into d inputs and β − d outputs: closed forms, linear program, dual and their gap."""

from fractions import Fraction

from jouleloop.errors import InputError
from jouleloop.theory.fully_connected.formulas import FcLayer
from jouleloop.theory.highs import linprog


def partitioned_accesses(layer: FcLayer, inputs_kept: int) -> Fraction:
    """Return the lower bound on 2μ + ν for d inputs and β − d outputs: 002 eq. (40) for d <= 2β/3, else eq. (43)."""
    layer.check_partition(inputs_kept)
    n, m, beta, d = layer.inputs, layer.outputs, layer.buffer_words, inputs_kept
    if 3 * d <= 2 * beta:
        return Fraction(m * (n - d), beta - d) + 2 * m
    return Fraction(2 * n * (m - (beta - d)), d) + n


def best_partitioned(layer: FcLayer) -> tuple[int, Fraction]:
    """Return the d in 1 … β − 1 with the least bound (41)/(44), and that bound on 2μ + ν.

    In each case the bound is monotone in d: the derivative of m(n−d)/(β−d) has the sign of n − β, that of
    2n(m−(β−d))/d the sign of β − m. So only the ends of the two cases are tried.
    """
    beta = layer.buffer_words
    middle = 2 * beta // 3
    candidates = sorted({d for d in (1, middle, middle + 1, beta - 1) if 1 <= d <= beta - 1})
    return min(((d, partitioned_accesses(layer, d)) for d in candidates), key=lambda pair: (pair[1], pair[0]))


def solve_partitioned(layer: FcLayer, inputs_kept: int, case: str | None = None) -> tuple[float, float]:
    """Solve the linear program of 002 eqs. (32)–(35) or of the second case, and the dual (36)–(39), with HiGHS.

    Returns the optimal values of both, equal but for rounding. In the case ``outputs`` every output is read at least
    once (eq. (34)), in ``inputs`` every input; ``both`` has the two constraints together, which the paper does not use.
    By default the case is the paper's choice for d = ``inputs_kept``: ``outputs`` for d <= 2β/3.
    """
    layer.check_partition(inputs_kept)
    n, m, beta, d = layer.inputs, layer.outputs, layer.buffer_words, inputs_kept
    chosen = case or ("outputs" if 3 * d <= 2 * beta else "inputs")
    rows = [[d, beta - d]]
    least = [n * m]
    if chosen in ("outputs", "both"):
        rows.append([1, 0])
        least.append(m)
    if chosen in ("inputs", "both"):
        rows.append([0, 1])
        least.append(n)
    cost = [2, 1]
    primal = linprog(cost, A_ub=[[-a for a in row] for row in rows], b_ub=[-v for v in least], method="highs")
    columns = [list(column) for column in zip(*rows, strict=True)]
    dual = linprog([-v for v in least], A_ub=columns, b_ub=cost, method="highs")
    if not (primal.success and dual.success):
        raise InputError(f"the linear program of 002 section 5 was not solved: {primal.message} {dual.message}")
    return float(primal.fun), -float(dual.fun)
