"""Communication lower bounds of a convolution: Theorems 2.1, 2.2 and 2.3 of paper 001 with exact constants.

Where the printed statement does not follow from its own definitions (docs/errata.md), the printed value and the one
that does follow are both given; only the latter enters ``single_processor_lower_bound`` and ``parallel_lower_bound``.
"""

import math
from collections.abc import Sequence
from fractions import Fraction

from jouleloop.theory.bound import Assumption, Bound
from jouleloop.theory.convolution.layer import (
    Precisions,
    array_words,
    memory_words,
    processor_count,
    require_small_filter,
    residue_taps,
    sqrt_fraction,
    standing_assumptions,
)
from jouleloop.theory.layers import ConvLayer

WORDS = "words"


def precision_constant(precisions: Precisions) -> Fraction:
    """Return C_p of Theorem 2.1: p_T²/4 under the triangle condition, else p_j (p_k + p_l) for the dominant p_j.

    The two expressions agree where p_j = p_k + p_l, so C_p is continuous.
    """
    if precisions.triangle:
        return precisions.total**2 / 4
    largest = max(precisions.input, precisions.filter, precisions.output)
    return largest * (precisions.total - largest)


def small_filter_factor(layer: ConvLayer) -> float:
    """Return what multiplies 2 (p_I p_F p_O)^½ G M^−½ in the small-filter bound for any filter and stride.

    The proof of Lemma 3.4 sums over q = ⌊i_6/σ_w⌋ as if every residue r_6 had w_F/σ_w values of q. A residue r has
    n_r = ⌈(w_F − r)/σ_w⌉. Weighting an update of residue r by n_r^−½ makes the lemma's argument go through for each
    residue, with the factor (Σ_r √n_r / w_F)(Σ_s √n_s / h_F). It is at most the printed (σ_w σ_h / w_F h_F)^½, with
    equality exactly where the strides divide the filter.
    """
    width, height = residue_taps(layer)
    return (
        math.fsum(math.sqrt(count) for count in width)
        / layer.filter_width
        * (math.fsum(math.sqrt(count) for count in height) / layer.filter_height)
    )


def large_filter_constant(layer: ConvLayer, precisions: Precisions) -> Fraction:
    """Return C_p G, the numerator of the second term of Theorem 2.1."""
    return precision_constant(precisions) * layer.macs


def small_filter_constant(layer: ConvLayer, precisions: Precisions, *, printed: bool = False) -> float:
    """Return the numerator over M^½ of the third term of Theorem 2.1, ``printed`` or valid for every stride."""
    if printed:
        stride = layer.stride_width * layer.stride_height
        return 2 * layer.macs * sqrt_fraction(precisions.product * stride / _taps(layer))
    return 2 * layer.macs * sqrt_fraction(precisions.product) * small_filter_factor(layer)


def single_processor_bounds(
    layer: ConvLayer, precisions: Precisions, memory: float | Fraction | str
) -> tuple[Bound, ...]:
    """Return every term and variant of Theorem 2.1, the words moved between slow memory and M words of fast memory.

    Raises `AssumptionError` where a filter is larger than stride × output, or M is not positive.

    Parameters
    ----------
    layer, precisions
        The convolution and the words per element.
    memory
        Fast memory M in words.

    Returns
    -------
    tuple of Bound
        The terms, then ``theorem_2_1_as_printed`` (printed footprint), ``theorem_2_1_exact_footprint`` and
        ``single_processor_lower_bound`` (exact footprint and a third term valid for every stride). The note of a
        maximum names the active term.

    Notes
    -----
    The proofs let a segment access at most M + T words, so an output that is updated was read before or lay in fast
    memory: Theorem 2.1 is about schedules that read an output before its first update, as ``Output +=`` on data that
    "begins in the main memory" does. A schedule that starts outputs at zero becomes such a schedule by p_O |O| more
    words; ``lower_bound_outputs_start_at_zero`` subtracts them from the memory-dependent terms and holds for both. The
    schedules of `execute_blocking` start outputs at zero and still never went below Theorem 2.1.
    """
    require_small_filter(layer)
    size = memory_words(memory)
    standing = standing_assumptions(layer)
    lemma = "3.2" if precisions.triangle else "3.3"
    condition = "p_j <= p_k + p_l for all j" if precisions.triangle else "p_j > p_k + p_l for some j"
    divides = _divisibility(layer)
    compulsory = Bound(
        "compulsory_traffic",
        "001 Lemma 3.1",
        sum(array_words(layer, precisions).values(), Fraction()),
        WORDS,
        standing,
        "every touched element once; input footprint ((w_O-1)σ_w + w_F)((h_O-1)σ_h + h_F)",
    )
    printed = Bound(
        "compulsory_traffic_as_printed",
        "001 Lemma 3.1 with |I| of §2.1",
        sum(array_words(layer, precisions, printed_footprint=True).values(), Fraction()),
        WORDS,
        (*standing, Assumption("every one of the printed |I| elements is touched", holds=False)),
        "input footprint (σ_w w_O + w_F)(σ_h h_O + h_F) counts elements that no update reads: no lower bound",
    )
    large = Bound(
        "large_filter_term",
        f"001 Theorem 2.1, Lemma {lemma}",
        large_filter_constant(layer, precisions) / size - size,
        WORDS,
        (*standing, Assumption(condition, holds=True)),
        f"C_p = {precision_constant(precisions)}",
    )
    small_printed = Bound(
        "small_filter_term_as_printed",
        "001 Theorem 2.1, Lemma 3.4",
        _small_filter_value(small_filter_constant(layer, precisions, printed=True), size),
        WORDS,
        (*standing, *divides),
    )
    small = Bound(
        "small_filter_term",
        "001 Lemma 3.4 with its sum over q taken residue by residue",
        _small_filter_value(small_filter_constant(layer, precisions), size),
        WORDS,
        standing,
        "equals the printed term where the strides divide the filter",
    )
    return (
        compulsory,
        printed,
        large,
        small_printed,
        small,
        _maximum("theorem_2_1_as_printed", "001 Theorem 2.1", (printed, large, small_printed)),
        _maximum("theorem_2_1_exact_footprint", "001 Theorem 2.1", (compulsory, large, small_printed)),
        _maximum("single_processor_lower_bound", "001 Theorem 2.1", (compulsory, large, small)),
        _without_output_reads(layer, precisions, (compulsory, large, small)),
    )


def parallel_bounds(
    layer: ConvLayer, precisions: Precisions, memory: float | Fraction | str, processors: int
) -> tuple[Bound, ...]:
    """Return Theorems 2.2 and 2.3: words that some one of P processors with M words each must communicate.

    Raises `AssumptionError` where a filter is larger than stride × output, M is not positive or P < 1.
    """
    require_small_filter(layer)
    size, count = memory_words(memory), processor_count(processors)
    standing = standing_assumptions(layer)
    divides = _divisibility(layer)
    balanced = Assumption("each array is evenly distributed over the processors before the computation", holds=True)
    share = max(array_words(layer, precisions).values()) / count
    share_printed = max(array_words(layer, precisions, printed_footprint=True).values()) / count
    cube_root = float(precisions.product) ** (1 / 3)
    per_processor = layer.macs / count
    ratio = layer.stride_width * layer.stride_height / _taps(layer)
    root = cube_root * math.sqrt(per_processor)
    two_thirds = cube_root * per_processor ** (2 / 3)
    large = Bound(
        "parallel_large_filter_term",
        "001 Theorem 2.2",
        large_filter_constant(layer, precisions) / (count * size) - size,
        WORDS,
        standing,
        f"C_p = {precision_constant(precisions)}",
    )
    small_printed = Bound(
        "parallel_small_filter_term_as_printed",
        "001 Theorem 2.2",
        _small_filter_value(small_filter_constant(layer, precisions, printed=True) / count, size),
        WORDS,
        (*standing, *divides),
    )
    small = Bound(
        "parallel_small_filter_term",
        "001 Theorem 2.2 with the sum over q taken residue by residue",
        _small_filter_value(small_filter_constant(layer, precisions) / count, size),
        WORDS,
        standing,
    )
    independent_large_printed = Bound(
        "memory_independent_large_filter_term_as_printed",
        "001 Theorem 2.3 with |I| of §2.1",
        root - float(share_printed),
        WORDS,
        (*standing, balanced),
    )
    independent_small_printed = Bound(
        "memory_independent_small_filter_term_as_printed",
        "001 Theorem 2.3 with |I| of §2.1",
        two_thirds * float(ratio) ** (2 / 3) - float(share_printed),
        WORDS,
        (*standing, *divides, balanced),
    )
    independent_large = Bound(
        "memory_independent_large_filter_term", "001 Theorem 2.3", root - float(share), WORDS, (*standing, balanced)
    )
    independent_small = Bound(
        "memory_independent_small_filter_term",
        "001 Theorem 2.3 with the Cauchy-Schwarz step of Lemma 3.4",
        two_thirds * small_filter_factor(layer) ** (2 / 3) - float(share),
        WORDS,
        (*standing, balanced),
        "exponent 1/3 of σ_w σ_h / w_F h_F where the printed statement has 2/3: Σ_q √w_q <= √(K Σ_q w_q)",
    )
    trivial = Bound("no_communication", "001 §4.1", Fraction(0), WORDS)
    first = (large, small_printed)
    second = (independent_large_printed, independent_small_printed)
    return (
        large,
        small_printed,
        small,
        independent_large_printed,
        independent_small_printed,
        independent_large,
        independent_small,
        _maximum("theorem_2_2_as_printed", "001 Theorem 2.2", first),
        _maximum("theorem_2_3_as_printed", "001 Theorem 2.3", second),
        _maximum(
            "parallel_lower_bound",
            "001 Theorems 2.2 and 2.3",
            (trivial, large, small, independent_large, independent_small),
        ),
    )


def find_bound(bounds: Sequence[Bound], name: str) -> Bound:
    """Return the bound called ``name``."""
    return next(bound for bound in bounds if bound.name == name)


def bound_value(bounds: Sequence[Bound], name: str) -> float:
    """Return the value of the bound called ``name`` as a float."""
    value = find_bound(bounds, name).value
    assert value is not None, f"{name} is defined for every parameter"  # noqa: S101 - an invariant of this module
    return float(value)


def _taps(layer: ConvLayer) -> int:
    return layer.filter_width * layer.filter_height


def _small_filter_value(constant: float, memory: Fraction) -> float:
    return constant / sqrt_fraction(memory) - 2 * float(memory)


def _divisibility(layer: ConvLayer) -> tuple[Assumption, ...]:
    return (
        Assumption("σ_w divides w_F", layer.filter_width % layer.stride_width == 0),
        Assumption("σ_h divides h_F", layer.filter_height % layer.stride_height == 0),
    )


def _without_output_reads(layer: ConvLayer, precisions: Precisions, terms: Sequence[Bound]) -> Bound:
    compulsory, *others = terms
    reads = precisions.output * layer.output_elements
    less = [
        Bound(term.name, term.source, Fraction(term.value or 0) - reads, WORDS, term.assumptions) for term in others
    ]
    found = _maximum("lower_bound_outputs_start_at_zero", "001 Theorem 2.1 less p_O |O|", (compulsory, *less))
    value = found.value if found.value == compulsory.value else float(Fraction(found.value or 0))
    return Bound(found.name, found.source, value, WORDS, found.assumptions, found.note)


def _maximum(name: str, source: str, terms: Sequence[Bound]) -> Bound:
    active = max(terms, key=lambda term: Fraction(term.value or 0))
    assumptions = tuple(dict.fromkeys(assumption for term in terms for assumption in term.assumptions))
    return Bound(name, source, active.value, WORDS, assumptions, f"active term: {active.name}")
