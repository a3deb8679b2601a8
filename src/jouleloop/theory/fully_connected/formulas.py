"""Energy of a fully-connected layer in paper 002's model: lower bounds, upper bounds and their comparison, exactly.

A layer has n inputs and m outputs; Buffer holds β words of inputs and outputs beside one word for a weight. ν reads of
inputs and μ reads of outputs cost 2μ + ν accesses, because every output read is written back later.
"""

import math
from dataclasses import dataclass
from fractions import Fraction

from jouleloop.errors import AssumptionError, Fault, InputError
from jouleloop.files import is_whole
from jouleloop.theory.simplex import linprog

LARGEST_SIZE = 10**9
"""Most inputs, outputs and bits: the best partition is searched among 2√m numbers of groups."""


@dataclass(frozen=True)
class FcLayer:
    """A fully-connected layer and the Buffer it is computed in.

    Raises `InputError` where a size is no positive whole number, or larger than `LARGEST_SIZE`; `AssumptionError` where
    β < 2: an input and an output could never meet.
    """

    inputs: int
    """n, the number of inputs."""
    outputs: int
    """m, the number of outputs."""
    buffer_words: int
    """β, the words of Buffer that hold inputs and outputs (the word for the weight not counted)."""
    word_bits: int = 8
    """b, the bits of a word."""

    def __post_init__(self) -> None:
        sizes = (("inputs", "n", self.inputs), ("outputs", "m", self.outputs), ("bits", "b", self.word_bits))
        faults = []
        for name, symbol, value in sizes:
            if not is_whole(value) or value < 1:
                allowed = "a whole number >= 1"
                faults.append(Fault(f"assumption {symbol} >= 1 fails", field=name, value=value, allowed=allowed))
            elif value > LARGEST_SIZE:
                faults.append(Fault("too large", field=name, value=value, allowed=f"<= {LARGEST_SIZE}"))
        if not is_whole(self.buffer_words) or self.buffer_words < 2:
            text = "assumption β > 1 (002 section 3) fails: an input and an output must fit together"
            faults.append(Fault(text, field="buffer", value=self.buffer_words, allowed="a whole number >= 2"))
            raise AssumptionError(faults)
        if faults:
            raise InputError(faults)

    @property
    def pairs(self) -> int:
        """The mn pairs of an input and an output, each with its own weight."""
        return self.inputs * self.outputs

    def roles(self, reversed_roles: bool) -> tuple[int, int]:
        """Return the sizes of the streamed and the grouped side: inputs and outputs, or reversed."""
        return (self.outputs, self.inputs) if reversed_roles else (self.inputs, self.outputs)

    def check_partition(self, inputs_kept: int, name: str = "d") -> None:
        """Raise `AssumptionError` unless 1 <= d <= β − 1 (002 sections 4.1, 4.2 for c, 5)."""
        if not is_whole(inputs_kept) or not 1 <= inputs_kept <= self.buffer_words - 1:
            text = f"assumption 1 <= {name} <= β − 1 (002 section 4) fails"
            allowed = f"1 … {self.buffer_words - 1} for β = {self.buffer_words}"
            raise AssumptionError(Fault(text, field="partition", value=inputs_kept, allowed=allowed))


def ceil_div(dividend: int, divisor: int) -> int:
    """Return ⌈dividend / divisor⌉ for whole numbers."""
    return -(-dividend // divisor)


def computation_energy_pj(layer: FcLayer, mac_energy_pj: Fraction | float) -> Fraction:
    """Return C_b·mn in pJ, 002 eq. (3); raise `InputError` where C_b is no finite number >= 0."""
    if not (math.isfinite(mac_energy_pj) and mac_energy_pj >= 0):
        text = "the energy of a multiply-accumulate, C_b of 002 eq. (3), is a finite number and not negative"
        raise InputError(Fault(text, field="mac_energy_pj", value=float(mac_energy_pj), allowed=">= 0 pJ"))
    exact = mac_energy_pj if isinstance(mac_energy_pj, Fraction) else Fraction(str(mac_energy_pj))
    return exact * layer.pairs


def data_energy_bits(layer: FcLayer, accesses: int | Fraction) -> Fraction:
    """Return b(2μ + ν + mn) in bits for ``accesses`` = 2μ + ν, 002 eq. (5)."""
    return layer.word_bits * (Fraction(accesses) + layer.pairs)


def lower_bound_reads(layer: FcLayer) -> Fraction:
    """Return the general lower bound on μ + ν, 002 eq. (18): mn/(β−1) + m/2 + 1."""
    return Fraction(layer.pairs, layer.buffer_words - 1) + Fraction(layer.outputs, 2) + 1


def lower_bound_accesses(layer: FcLayer) -> Fraction:
    """Return the general lower bound on 2μ + ν, 002 eq. (19): (18) and one more read for each output."""
    return lower_bound_reads(layer) + layer.outputs


def lower_bound_accesses_weak(layer: FcLayer) -> Fraction:
    """Return 2μ + ν as in 002 eq. (20): m(n−1)/(β−1) + 3m/2 + 1, which drops m/(β−1) of eq. (19)."""
    n, m, beta = layer.inputs, layer.outputs, layer.buffer_words
    return Fraction(m * (n - 1), beta - 1) + Fraction(3 * m, 2) + 1


def pair_count_accesses(layer: FcLayer) -> int:
    """Return the lower bound on 2μ + ν that needs no assumption: max(2m + n, ⌈mn/(β−1)⌉ + 1 + m).

    002 section 3: a read does at most β − 1 new pairs, the first none; each output is read at least once (section 2).
    """
    n, m = layer.inputs, layer.outputs
    return max(2 * m + n, ceil_div(layer.pairs, layer.buffer_words - 1) + 1 + m)


def fixed_accesses_formula(layer: FcLayer, kept: int, *, reversed_roles: bool = False) -> Fraction:
    """Return 2μ + ν of Algorithm 1 that keeps ``kept`` vertices, d inputs or with roles reversed β − d outputs.

    002 eq. (24): m(n−d)/(β−d) + 2m + d; with roles reversed eq. (25): 2n(m−(β−d))/d + n + 2(β−d).
    """
    layer.check_partition(kept)
    streamed, grouped = layer.roles(reversed_roles)
    reads = Fraction(grouped * (streamed - kept), layer.buffer_words - kept) + kept
    return 2 * reads + grouped if reversed_roles else reads + 2 * grouped


def bounded_accesses_formula(layer: FcLayer, bound: int, *, reversed_roles: bool = False) -> Fraction:
    """Return 2μ + ν of Algorithm 2 as in 002 eq. (30): m(n−1)/(β−1) + 2m + c; with roles reversed from eq. (29)."""
    layer.check_partition(bound, "c")
    streamed, grouped = layer.roles(reversed_roles)
    reads = Fraction(grouped * (streamed - 1), layer.buffer_words - 1) + bound
    return 2 * reads + grouped if reversed_roles else reads + 2 * grouped


def fixed_reads(streamed: int, grouped: int, buffer_words: int, kept: int) -> int:
    """Return how often Algorithm 1 reads the streamed side, for any sizes.

    The ``grouped`` vertices come in ⌈grouped/(β−d)⌉ groups, the last perhaps smaller, each read once; at most d of the
    ``streamed`` ones stay from group to group: d + ⌈grouped/(β−d)⌉(streamed − d), with d cut to ``streamed``.
    """
    held = min(kept, streamed)
    return held + ceil_div(grouped, buffer_words - kept) * (streamed - held)


def bounded_reads(streamed: int, grouped: int, buffer_words: int, bound: int) -> int:
    """Return how often Algorithm 2 reads the streamed side, for any sizes.

    All groups but the last cost streamed − 1 reads. In the last, of r vertices, only the max(0, r − (β−c)) streamed
    vertices that were overwritten to make room are read again; c is cut to ``streamed``.
    """
    held = min(bound, streamed)
    groups = ceil_div(grouped, buffer_words - 1)
    last = grouped - (groups - 1) * (buffer_words - 1)
    return streamed + (groups - 1) * (streamed - 1) + max(0, last - (buffer_words - held))


def balanced_reads(streamed: int, grouped: int, buffer_words: int, groups: int) -> int:
    """Return how often the streamed side is read when the grouped one is split into ``groups`` nearly equal groups.

    Groups of ⌈grouped/K⌉ come first, then groups of ⌊grouped/K⌋; what a group leaves free of Buffer keeps streamed
    vertices for the next group. Not in the paper; for (β−1) | grouped and the least K it is Algorithm 1 with d = 1.
    """
    small, larger = divmod(grouped, groups)
    kept_large = min(streamed, buffer_words - small - 1)
    kept_small = min(streamed, buffer_words - small)
    return streamed + larger * (streamed - kept_large) + (groups - larger - 1) * (streamed - kept_small)


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
