"""Communication lower bounds of a convolution: Theorems 2.1, 2.2 and 2.3 of paper 001 with exact constants.

Where the printed statement does not follow from its own definitions (docs/errata.md), the printed value and the one
that does follow are both given; only the latter enters ``single_processor_lower_bound`` and ``parallel_lower_bound``.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

from jouleloop.theory.bound import Assumption, Bound
from jouleloop.theory.convolution.layer import (
    Precisions,
    array_words,
    memory_words,
    processor_count,
    require_small_filter,
    sqrt_fraction,
    standing_assumptions,
)
from jouleloop.theory.layers import ConvLayer

WORDS = "words"
_BOTH = (False, True)
"""As it follows from the definitions, and as printed."""


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
    factor = 1.0
    for _, taps, stride in (layer.along("width"), layer.along("height")):
        counts = (len(range(residue, taps, stride)) for residue in range(min(stride, taps)))
        factor *= math.fsum(map(math.sqrt, counts)) / taps
    return factor


def large_filter_constant(layer: ConvLayer, precisions: Precisions) -> Fraction:
    """Return C_p G, the numerator of the second term of Theorem 2.1."""
    return precision_constant(precisions) * layer.macs


def small_filter_constant(layer: ConvLayer, precisions: Precisions, *, printed: bool = False) -> float:
    """Return the numerator over M^½ of the third term of Theorem 2.1, ``printed`` or valid for every stride."""
    if printed:
        stride = layer.stride_width * layer.stride_height
        return 2 * layer.macs * sqrt_fraction(precisions.product * stride / layer.filter_map_elements)
    return 2 * layer.macs * sqrt_fraction(precisions.product) * small_filter_factor(layer)


def single_processor_bounds(
    layer: ConvLayer, precisions: Precisions, memory: float | Fraction | str
) -> tuple[Bound, ...]:
    """Return every term and variant of Theorem 2.1, the words moved between slow memory and M words of fast memory.

    The terms, then ``theorem_2_1_as_printed`` (printed footprint), ``theorem_2_1_exact_footprint`` and
    ``single_processor_lower_bound`` (exact footprint and a third term valid for every stride). The note of a maximum
    names the active term.

    The proofs let a segment access at most M + T words, so an output that is updated was read before or lay in fast
    memory: Theorem 2.1 is about schedules that read an output before its first update, as ``Output +=`` on data that
    "begins in the main memory" does. A schedule that starts outputs at zero becomes such a schedule by p_O |O| more
    words; ``lower_bound_outputs_start_at_zero`` subtracts them from the memory-dependent terms and holds for both. The
    schedules of `execute_blocking` start outputs at zero and still never went below Theorem 2.1.

    Raises `AssumptionError` where a filter is larger than stride × output, or M is not positive.
    """
    require_small_filter(layer)
    size = memory_words(memory)
    exact, as_printed = (sum(array_words(layer, precisions, printed_footprint=p).values(), Fraction()) for p in _BOTH)
    small_words, printed_words = (
        _small_filter_value(small_filter_constant(layer, precisions, printed=printed), size) for printed in _BOTH
    )
    untouched = Assumption("every one of the printed |I| elements is touched", holds=False)
    lemma = "3.2" if precisions.triangle else "3.3"
    condition = "p_j <= p_k + p_l for all j" if precisions.triangle else "p_j > p_k + p_l for some j"

    note = "every touched element once; input footprint ((w_O-1)σ_w + w_F)((h_O-1)σ_h + h_F)"
    compulsory = _term(layer, "compulsory_traffic", "001 Lemma 3.1", exact, note=note)

    note = "input footprint (σ_w w_O + w_F)(σ_h h_O + h_F) counts elements that no update reads: no lower bound"
    source = "001 Lemma 3.1 with |I| of §2.1"
    printed = _term(layer, "compulsory_traffic_as_printed", source, as_printed, untouched, note=note)

    source, note = f"001 Theorem 2.1, Lemma {lemma}", f"C_p = {precision_constant(precisions)}"
    large_words = large_filter_constant(layer, precisions) / size - size
    large = _term(layer, "large_filter_term", source, large_words, Assumption(condition, holds=True), note=note)

    source = "001 Theorem 2.1, Lemma 3.4"
    small_printed = _term(layer, "small_filter_term_as_printed", source, printed_words, *_divisibility(layer))

    source = "001 Lemma 3.4 with its sum over q taken residue by residue"
    note = "equals the printed term where the strides divide the filter"
    small = _term(layer, "small_filter_term", source, small_words, note=note)
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
    small_words, printed_words = (
        _small_filter_value(small_filter_constant(layer, precisions, printed=printed) / count, size)
        for printed in _BOTH
    )
    share, share_printed = (
        float(max(array_words(layer, precisions, printed_footprint=printed).values()) / count) for printed in _BOTH
    )
    cube_root, updates = float(precisions.product) ** (1 / 3), layer.macs / count
    root, two_thirds = cube_root * math.sqrt(updates), cube_root * updates ** (2 / 3)
    ratio = layer.stride_width * layer.stride_height / layer.filter_map_elements
    divides = _divisibility(layer)
    balanced = Assumption("each array is evenly distributed over the processors before the computation", holds=True)

    large_words = large_filter_constant(layer, precisions) / (count * size) - size
    note = f"C_p = {precision_constant(precisions)}"
    large = _term(layer, "parallel_large_filter_term", "001 Theorem 2.2", large_words, note=note)
    small_printed = _term(layer, "parallel_small_filter_term_as_printed", "001 Theorem 2.2", printed_words, *divides)
    source = "001 Theorem 2.2 with the sum over q taken residue by residue"
    small = _term(layer, "parallel_small_filter_term", source, small_words)

    stem, source = "memory_independent", "001 Theorem 2.3 with |I| of §2.1"
    free_large_printed = _term(layer, f"{stem}_large_filter_term_as_printed", source, root - share_printed, balanced)
    words = two_thirds * float(ratio) ** (2 / 3) - share_printed
    free_small_printed = _term(layer, f"{stem}_small_filter_term_as_printed", source, words, *divides, balanced)
    free_large = _term(layer, f"{stem}_large_filter_term", "001 Theorem 2.3", root - share, balanced)
    source = "001 Theorem 2.3 with the Cauchy-Schwarz step of Lemma 3.4"
    note = "exponent 1/3 of σ_w σ_h / w_F h_F where the printed statement has 2/3: Σ_q √w_q <= √(K Σ_q w_q)"
    words = two_thirds * small_filter_factor(layer) ** (2 / 3) - share
    free_small = _term(layer, f"{stem}_small_filter_term", source, words, balanced, note=note)

    trivial = Bound("no_communication", "001 §4.1", Fraction(0), WORDS)
    valid = (trivial, large, small, free_large, free_small)
    return (
        large,
        small_printed,
        small,
        free_large_printed,
        free_small_printed,
        free_large,
        free_small,
        _maximum("theorem_2_2_as_printed", "001 Theorem 2.2", (large, small_printed)),
        _maximum("theorem_2_3_as_printed", "001 Theorem 2.3", (free_large_printed, free_small_printed)),
        _maximum("parallel_lower_bound", "001 Theorems 2.2 and 2.3", valid),
    )


def find_bound(bounds: Sequence[Bound], name: str) -> Bound:
    """Return the bound called ``name``."""
    return next(bound for bound in bounds if bound.name == name)


def bound_value(bounds: Sequence[Bound], name: str) -> float:
    """Return the value of the bound called ``name`` as a float."""
    value = find_bound(bounds, name).value
    assert value is not None, f"{name} is defined for every parameter"  # noqa: S101 - an invariant of this module
    return float(value)


def _term(
    layer: ConvLayer, name: str, source: str, value: Fraction | float, *more: Assumption, note: str = ""
) -> Bound:
    return Bound(name, source, value, WORDS, (*standing_assumptions(layer), *more), note)


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
    less = [replace(term, value=Fraction(term.value or 0) - reads) for term in others]
    found = _maximum("lower_bound_outputs_start_at_zero", "001 Theorem 2.1 less p_O |O|", (compulsory, *less))
    value = found.value if found.value == compulsory.value else float(Fraction(found.value or 0))
    return replace(found, value=value)


def _maximum(name: str, source: str, terms: Sequence[Bound]) -> Bound:
    active = max(terms, key=lambda term: Fraction(term.value or 0))
    assumptions = tuple(dict.fromkeys(assumption for term in terms for assumption in term.assumptions))
    return Bound(name, source, active.value, WORDS, assumptions, f"active term: {active.name}")
