"""Computation, communication and their ratio for the five Manticore algorithms of paper 003, right and as printed."""

from dataclasses import dataclass, replace
from fractions import Fraction

from jouleloop.theory.bound import Assumption, Bound
from jouleloop.theory.layers import ConvLayer
from jouleloop.theory.manticore.layer import (
    MANTICORE,
    Machine,
    check_algorithm,
    check_stack,
    default_stack,
    is_convolution,
    minimum_local_words,
    prefetching_local_words,
    stack_limit,
)


@dataclass
class Traffic:
    """Words that all clusters together move, and the multiply-accumulates (MACs) they do; fractions only as printed."""

    input_words_loaded: int | Fraction = 0
    filter_words_loaded: int = 0
    output_words_stored: int = 0
    """Between main memory and the clusters."""
    words_exchanged: int | Fraction = 0
    """From cluster to cluster."""
    macs: int = 0
    """Multiply-accumulates; products with a padding zero count, as they do in ``Conv()``."""

    @property
    def words_loaded(self) -> int | Fraction:
        """Words loaded from main memory."""
        return self.input_words_loaded + self.filter_words_loaded


def tasks(layer: ConvLayer, stack: int) -> int:
    """Return how many parallel tasks there are: ⌈D_O/Δ_O⌉ (Algorithms 1-3), D_I for each of ⌈D_O/Δ_O⌉ stacks (4-5)."""
    stacks = -(-layer.out_channels // stack)
    return stacks if is_convolution(layer) else stacks * layer.in_channels


def traffic(layer: ConvLayer, algorithm: int, stack: int, machine: Machine = MANTICORE) -> Traffic:
    """Return the exact traffic of an algorithm for any divisibility.

    Algorithm 1: 003 section 2.1.3; 2: eq. (7); 3: eq. (9), (10); 4: section 3.1.3; 5: eq. (12), (13). Equations (9)
    and (10) divide by 16 without a ceiling, but a partly filled L2 quadrant loads every slice once, too. Inter-cluster
    words of 4 and 5: one private output volume is read fewer than there are clusters (127 D_O B on the full chiplet).
    """
    check_algorithm(algorithm, layer)
    check_stack(stack, algorithm, layer)
    volume_words = layer.batch * layer.in_channels * layer.input_map_elements
    loads = stacks = -(-layer.out_channels // stack)
    if algorithm == 3:
        loads = -(-stacks // machine.clusters_per_l2)
    exchanged = (stacks - loads) * volume_words
    if not is_convolution(layer):
        exchanged = (machine.clusters - 1) * layer.output_elements
    return Traffic(loads * volume_words, layer.filter_elements, layer.output_elements, exchanged, layer.macs)


def printed_traffic(layer: ConvLayer, algorithm: int, stack: int, machine: Machine = MANTICORE) -> Traffic:
    """Return the traffic as printed, which differs from `traffic` in two places.

    A convolution has W_I² F² D_I D_O MACs (003 sections 2.1.1 and 2.2.1), where W_O² F² D_I D_O is right. Algorithm 3
    loads and exchanges fractions of a quadrant, eqs. (9) and (10).
    """
    moved = traffic(layer, algorithm, stack, machine)
    if is_convolution(layer):
        moved = replace(moved, macs=layer.input_map_elements * layer.filter_elements)
    if algorithm == 3:
        share = Fraction(moved.input_words_loaded + moved.words_exchanged, machine.clusters_per_l2)
        exchanged = (machine.clusters_per_l2 - 1) * share
        moved = replace(moved, input_words_loaded=share, words_exchanged=exchanged)
    return moved


def compute_to_communication(layer: ConvLayer, moved: Traffic) -> Fraction:
    """Return the CCR in MACs per word of main-memory traffic, as the paper divides it.

    Algorithms 1-3: loads and stores, 003 eq. (1), (2), (8) and section 2.3.4; 4-5: loads only, eq. (11), (14).
    """
    stored = moved.output_words_stored if is_convolution(layer) else 0
    return Fraction(moved.macs) / (moved.words_loaded + stored)


def flop_per_byte(ccr: Fraction, word_bytes: int) -> Fraction:
    """Return a CCR in floating-point operations per byte; a MAC is two (003 section 1.2.2)."""
    return 2 * ccr / word_bytes


_SOURCES = {
    # algorithm: section of MACs, memory, stack limit, loads, exchange, CCR
    1: ("2.1.1", "2.1.2", "2.1.2", "2.1.3", "2.1.3", "eq. (2)"),
    2: ("2.2.1", "2.2.2", "2.2.2", "eq. (7)", "2.2.3", "eq. (8)"),
    3: ("2.3.1", "2.3.2", "2.3.2", "eq. (10)", "eq. (9)", "eq. (8) with (10)"),
    4: ("3.1.1", "3.1.2", "3.1.2", "3.1.3", "3.1.3", "eq. (11)"),
    5: ("3.2.1", "3.2.2", "3.2.2", "eq. (12), (13)", "3.2.3", "eq. (14)"),
}


def _place(text: str) -> str:
    return f"003 {text}" if text.startswith("eq.") else f"003 section {text}"


def manticore_bounds(
    layer: ConvLayer,
    algorithm: int,
    *,
    stack: int | None = None,
    word_bytes: int = 4,
) -> tuple[Bound, ...]:
    """Return everything that paper 003 states about one algorithm on one layer, as bounds with their assumptions.

    The layer is a convolution for Algorithms 1-3, fully connected for 4-5; Δ_O is the largest that fits where no
    ``stack`` is given; a word has 4 bytes in single, 8 in double precision.

    Raises `InputError` or `AssumptionError` if the algorithm does not compute that kind of layer, or the stack is
    outside 1…D_O or does not fit at all.
    """
    limit = stack_limit(layer, algorithm, word_bytes)
    size = default_stack(layer, algorithm, word_bytes) if stack is None else stack
    moved, printed = traffic(layer, algorithm, size), printed_traffic(layer, algorithm, size)
    ccr = compute_to_communication(layer, moved)
    compute, memory, limits, loads, exchange, ratio = (_place(text) for text in _SOURCES[algorithm])
    fits = (Assumption("Δ_O is within the stack limit of the local memory", size <= limit.slices_that_fit),)
    buffered = (Assumption("a DMA buffer holds the slices resident in it", limit.buffers_hold_the_slices),)
    same: tuple[Assumption, ...] = ()
    full: tuple[Assumption, ...] = ()
    if is_convolution(layer):
        same = (Assumption("W_O = W_I", layer.out_width == layer.in_width),)
    if algorithm == 3:
        count = tasks(layer, size)
        full = (Assumption("16 divides ⌈D_O/Δ_O⌉ (full L2 quadrants)", count % MANTICORE.clusters_per_l2 == 0),)
    name = f"algorithm_{algorithm}"
    found = [
        Bound(f"{name}_stack", f"003 Algorithm {algorithm}", size, "slices", fits),
        Bound(f"{name}_stack_limit", limits, limit.slices, "slices", buffered),
        Bound(f"{name}_stack_that_fits", limits, limit.slices_that_fit, "slices", note="buffers grown where needed"),
        Bound(f"{name}_tasks", f"003 Algorithm {algorithm}", tasks(layer, size), "tasks"),
        Bound(f"{name}_macs", compute, moved.macs, "MAC"),
        Bound(f"{name}_macs_printed", compute, printed.macs, "MAC", same),
        Bound(f"{name}_local_minimum", memory, minimum_local_words(layer, algorithm, size), "words", fits),
        Bound(f"{name}_local_prefetching", memory, prefetching_local_words(layer, algorithm, size), "words", fits),
        Bound(f"{name}_inputs_loaded", loads, moved.input_words_loaded, "words", fits),
        Bound(f"{name}_filters_loaded", loads, moved.filter_words_loaded, "words", fits),
        Bound(f"{name}_loaded", loads, moved.words_loaded, "words", fits),
        Bound(f"{name}_loaded_printed", loads, Fraction(printed.words_loaded), "words", fits + full),
        Bound(f"{name}_stored", loads if algorithm in (1, 4) else _place("2.2.3" if algorithm < 4 else "3.2.3"),
              moved.output_words_stored, "words", fits),
        Bound(f"{name}_exchanged", exchange, moved.words_exchanged, "words", fits),
        Bound(f"{name}_exchanged_printed", exchange, Fraction(printed.words_exchanged), "words", fits + full),
        Bound(f"{name}_ccr", ratio, ccr, "MAC/word", fits),
        Bound(f"{name}_ccr_per_byte", ratio, flop_per_byte(ccr, word_bytes), "flop/B", fits),
        Bound(f"{name}_ccr_printed", ratio, compute_to_communication(layer, printed), "MAC/word", fits + same + full),
    ]  # fmt: skip
    return (*found, *(_simplified_bounds(layer, same) if algorithm == 1 else ()))


def _simplified_bounds(layer: ConvLayer, same: tuple[Assumption, ...]) -> tuple[Bound, ...]:
    """Return the approximations (4), (5) and (6) of Algorithm 1's ratio, each under one more assumption."""
    inputs, taps, depth = layer.in_width**2, layer.filter_width**2, layer.in_channels
    four = Fraction(inputs * depth * taps, inputs * (depth + 1) + taps * depth)
    five, six = Fraction(inputs * taps, inputs + taps), Fraction(taps)
    deep = Assumption("D_I >> 1 (at least 100)", depth >= 100)
    wide = Assumption("W_I² >> F² (at least 100 times)", inputs >= 100 * taps)
    return (
        Bound("algorithm_1_ccr_same_width", "003 eq. (4)", four, "MAC/word", same),
        Bound("algorithm_1_ccr_deep", "003 eq. (5)", five, "MAC/word", (*same, deep)),
        Bound("algorithm_1_ccr_wide", "003 eq. (6)", six, "MAC/word", (*same, deep, wide)),
    )
