"""From accelerator to model: β from buffer capacities, and the bounds of paper 002 on the words of DRAM."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from jouleloop.errors import Fault, InputError, raise_all
from jouleloop.files import is_whole
from jouleloop.theory.fully_connected import formulas
from jouleloop.theory.fully_connected.bounds import general_assumptions
from jouleloop.theory.fully_connected.formulas import FcLayer
from jouleloop.theory.fully_connected.upper import best_upper


@dataclass(frozen=True)
class WordBounds:
    """What 002 says of the words between DRAM and Buffer, the mn weights included."""

    trivial_lower_words: int
    """Each input read once, each output read and written once, each weight read once: mn + 2m + n."""
    general_lower_words: Fraction
    general_lower_assumptions_hold: bool
    """002 eq. (20), and whether its assumptions hold."""
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


def word_bounds(layer: FcLayer) -> WordBounds:
    """Return the bounds of a layer, the sizes those of one sample."""
    words = layer.pairs
    general = words + formulas.lower_bound_accesses_weak(layer)
    holds = all(assumption.holds for assumption in general_assumptions(layer))
    pair_count = words + formulas.pair_count_accesses(layer)
    return WordBounds(
        trivial_lower_words=words + 2 * layer.outputs + layer.inputs,
        general_lower_words=general,
        general_lower_assumptions_hold=holds,
        pair_count_lower_words=pair_count,
        lower_words=max(Fraction(pair_count), general) if holds else Fraction(pair_count),
        upper_words=words + best_upper(layer).accesses,
        eq_28_words=words + formulas.fixed_accesses_formula(layer, 1)
        if min(layer.inputs, layer.outputs) >= layer.buffer_words
        else None,
        partitioned_words=words + formulas.best_partitioned(layer)[1],
    )
