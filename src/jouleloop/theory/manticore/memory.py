"""Local memory of a Manticore cluster: minimum words, DMA buffers, and the stack limits that follow from them."""

from dataclasses import dataclass

from jouleloop.errors import AssumptionError, Fault
from jouleloop.theory.layers import ConvLayer
from jouleloop.theory.manticore.layer import MANTICORE, Machine, check_algorithm, is_convolution


def minimum_local_words(layer: ConvLayer, algorithm: int, stack: int) -> int:
    """Return the least local memory of a cluster when nothing is fetched ahead, in words.

    Algorithm 1: W_O² + W_I² + F² (003 section 2.1.2); 2: Δ_O W_O² + W_I² + F² (2.2.2); 3: W_I² more to lend a slice
    (2.3.2); 4: D_O B + W_I² (B + 1) (3.1.2); 5: Δ_O B + W_I² (B + 1) (3.2.2).
    """
    slice_words = layer.in_width**2
    if is_convolution(layer):
        lent_words = slice_words if algorithm == 3 else 0
        return stack * layer.out_width**2 + slice_words + layer.filter_width**2 + lent_words
    return stack * layer.batch + slice_words * (layer.batch + 1)


def prefetching_local_words(layer: ConvLayer, algorithm: int, stack: int) -> int:
    """Return the local memory of a cluster that runs the listing as written, one load ahead, in words.

    The listings issue the load of the next input slice (Algorithms 1-3) and of the next filter (all) before the current
    one is used up, so both are resident at once; a slice or filter without a successor is not doubled.
    """
    words = minimum_local_words(layer, algorithm, stack)
    if is_convolution(layer):
        ahead = layer.in_channels > 1
        filters_ahead = ahead if algorithm == 1 else stack > 1
        return words + ahead * layer.in_width**2 + filters_ahead * layer.filter_width**2
    return words + (stack > 1) * layer.in_width**2


@dataclass(frozen=True)
class StackLimit:
    """The largest stack Δ_O of output depth slices that a cluster holds, and how it was derived."""

    slices: int
    """Largest Δ_O by the paper's accounting: what the reserved buffers leave, divided by one output slice."""
    slices_that_fit: int
    """The same when a buffer also grows to hold what is resident while fetching ahead; never more than ``slices``."""
    free_bytes: int
    """Local memory left for the stack."""
    slice_bytes: int
    """One output depth slice (of the whole batch in a fully-connected layer)."""
    buffers_hold_the_slices: bool
    """Whether each DMA buffer is large enough for the slices resident in it; the paper assumes so tacitly."""


def stack_limit(layer: ConvLayer, algorithm: int, word_bytes: int, machine: Machine = MANTICORE) -> StackLimit:
    """Return the stack limit Δ_O of an algorithm (003 sections 2.2.2, 2.3.2, 3.1.2 and 3.2.2).

    The paper reserves one DMA buffer for input slices and one for filters, for Algorithm 3 also one slice of W_I² words
    to lend, and gives the rest to the stack. For Algorithm 1, which holds one output slice, the limit is how many would
    fit; for Algorithm 4 it is the largest D_O.

    Raises `AssumptionError` if the buffers alone exceed the local memory.
    """
    check_algorithm(algorithm, layer)
    buffer_bytes = machine.dma_buffer_bytes
    slice_words = layer.in_width**2
    if is_convolution(layer):
        output_bytes = layer.out_width**2 * word_bytes
        inputs_bytes = (1 + (layer.in_channels > 1)) * slice_words * word_bytes
        filters_bytes = 2 * layer.filter_width**2 * word_bytes
    else:
        output_bytes = layer.batch * word_bytes
        inputs_bytes = layer.batch * slice_words * word_bytes
        filters_bytes = 2 * slice_words * word_bytes
    lent_bytes = slice_words * word_bytes if algorithm == 3 else 0
    free_bytes = machine.local_memory_bytes - 2 * buffer_bytes - lent_bytes
    if free_bytes < 0:
        text = "the DMA buffers and the lent slice must fit the local memory of a cluster"
        least = f"at least {2 * buffer_bytes + lent_bytes}"
        raise AssumptionError(Fault(text, field="local_memory_bytes", value=machine.local_memory_bytes, allowed=least))
    grown_bytes = max(buffer_bytes, inputs_bytes) + max(buffer_bytes, filters_bytes) + lent_bytes
    return StackLimit(
        slices=free_bytes // output_bytes,
        slices_that_fit=max(0, machine.local_memory_bytes - grown_bytes) // output_bytes,
        free_bytes=free_bytes,
        slice_bytes=output_bytes,
        buffers_hold_the_slices=max(inputs_bytes, filters_bytes) <= buffer_bytes,
    )


def default_stack(layer: ConvLayer, algorithm: int, word_bytes: int, machine: Machine = MANTICORE) -> int:
    """Return the stack that an algorithm uses where none is asked for: the largest that fits, at most D_O.

    Raises `AssumptionError` if not even one output depth slice fits beside the buffers.
    """
    limit = stack_limit(layer, algorithm, word_bytes, machine)
    if algorithm in (1, 4):
        return 1 if algorithm == 1 else layer.out_channels
    if limit.slices_that_fit < 1:
        text = "one output depth slice must fit the local memory beside the DMA buffers, Δ_O >= 1"
        allowed = f"an output slice of at most {max(limit.free_bytes, 0)} bytes, not {limit.slice_bytes}"
        raise AssumptionError(Fault(text, field="stack", value=limit.slices_that_fit, allowed=allowed))
    return min(limit.slices_that_fit, layer.out_channels)
