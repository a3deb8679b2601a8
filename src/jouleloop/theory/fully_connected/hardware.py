"""From accelerator to model: β from buffer capacities, and measured DRAM words beside the bounds of paper 002."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from jouleloop.errors import Fault, InputError, raise_all
from jouleloop.files import is_whole
from jouleloop.theory.fully_connected.bounds import general_assumptions
from jouleloop.theory.fully_connected.formulas import (
    FcLayer,
    best_partitioned,
    fixed_inputs_accesses_formula,
    lower_bound_accesses_weak,
    pair_count_accesses,
)
from jouleloop.theory.fully_connected.upper import best_upper
from jouleloop.theory.layers import DramWords


@dataclass(frozen=True)
class MeasuredAgainstBounds:
    """A measured point beside the model's bounds."""

    buffer_words: int
    """β."""
    measured_words: int
    """Words moved as measured."""
    measured_words_with_biases: int
    """The same with every output read at least as often as written, as in the model (eq. (5)): a measurement that
    starts outputs from zero instead of a bias from DRAM moves fewer words than the model counts."""
    trivial_lower_words: int
    """Each input read once, each output read and written once, each weight read once: mn + 2m + n."""
    general_lower_words: Fraction
    """002 eq. (20) in words, see ``general_lower_assumptions_hold``."""
    general_lower_assumptions_hold: bool
    pair_count_lower_words: int
    """At most β − 1 new pairs a read, see `pair_count_accesses`; holds always."""
    lower_words: Fraction
    """The largest of the lower bounds that hold: eq. (20) counts only where its assumptions do."""
    upper_words: int
    """The cheapest dataflow known."""
    eq_28_words: Fraction | None
    """002 eq. (28), the least wherever that is proven; None where a side fits into Buffer, as nothing is read twice."""
    partitioned_words: Fraction
    """002 eq. (41)/(44): the least for a Buffer split into inputs and outputs once for all, at the best split. A nest
    of loops splits its buffer like that."""
    lower_energy_pj: float
    upper_energy_pj: float
    """The bounds in pJ of DRAM, at ``dram_energy_pj`` for a word."""
    ratio_to_lower: float
    ratio_to_upper: float
    """``measured_words_with_biases`` over the bound."""


def buffer_words(capacities_words: Sequence[int], *, weight_words: int = 1) -> int:
    """Return β of an accelerator: all words on the chip that may hold inputs or outputs, less those kept for weights.

    A bound for β words bounds every smaller Buffer as well; counting all storage on the chip, at every level and in
    every instance, keeps the lower bound sound for any hierarchy, since what is on the chip at one time fits into that
    many words.

    A capacity is a buffer's words times its instances, of every on-chip buffer that may hold inputs or outputs;
    ``weight_words`` of them never do: one in the model.
    """
    faults = [
        Fault("not a capacity in words", field="capacities_words", value=words, allowed="a whole number >= 0")
        for words in capacities_words
        if not is_whole(words) or words < 0
    ]
    raise_all(faults)
    beta = sum(capacities_words) - weight_words
    if beta < 2:
        text = "assumption β > 1 (002 section 3) fails: the buffers are too small"
        raise InputError(Fault(text, value=beta, allowed="a total >= 3 words"))
    return beta


def measured_against_bounds(
    inputs: int, outputs: int, beta: int, measured: DramWords, *, dram_energy_pj: float
) -> MeasuredAgainstBounds:
    """Return a measured point of a fully-connected layer beside the bounds for β words of Buffer.

    n and m are those of one sample; ``dram_energy_pj`` is the energy of one word to or from DRAM.
    """
    if dram_energy_pj < 0:
        raise InputError(Fault("negative energy", field="dram_energy_pj", value=dram_energy_pj))
    layer = FcLayer(inputs, outputs, beta)
    words = layer.pairs
    trivial = words + 2 * outputs + inputs
    general = words + lower_bound_accesses_weak(layer)
    holds = all(assumption.holds for assumption in general_assumptions(layer))
    pair_count = words + pair_count_accesses(layer)
    lower = max(Fraction(pair_count), general) if holds else Fraction(pair_count)
    upper = words + best_upper(layer).accesses
    with_biases = measured.total + max(0, measured.outputs_written - measured.outputs_read)
    return MeasuredAgainstBounds(
        buffer_words=beta,
        measured_words=measured.total,
        measured_words_with_biases=with_biases,
        trivial_lower_words=trivial,
        general_lower_words=general,
        general_lower_assumptions_hold=holds,
        pair_count_lower_words=pair_count,
        lower_words=lower,
        upper_words=upper,
        eq_28_words=words + fixed_inputs_accesses_formula(layer, 1) if min(inputs, outputs) >= beta else None,
        partitioned_words=words + best_partitioned(layer)[1],
        lower_energy_pj=float(lower) * dram_energy_pj,
        upper_energy_pj=upper * dram_energy_pj,
        ratio_to_lower=float(with_biases / lower),
        ratio_to_upper=with_biases / upper,
    )
