"""The Manticore chiplet, the layers of paper 003 by its hyperparameters, and the local memory that they need."""

from dataclasses import dataclass

from jouleloop.errors import AssumptionError, Fault, InputError, raise_all
from jouleloop.theory.layers import ConvLayer, below_one

WORD_BYTES = {"single": 4, "double": 8}


@dataclass(frozen=True)
class Machine:
    """One Manticore chiplet: a tree of clusters, each with its local memory and a DMA engine (003 section 1)."""

    clusters_per_l1: int = 4
    l1_per_l2: int = 4
    l2_per_l3: int = 4
    l3_per_chiplet: int = 2
    """Fan-outs of the tree: clusters in an L1 quadrant and so on upwards."""
    local_memory_bytes: int = 128 * 1024
    round_trip_cycles: int = 256
    dma_width_bytes: int = 64
    """Latency to main memory and back, and the width of the DMA network; their product is in flight at a time."""

    @property
    def clusters(self) -> int:
        """Clusters of the chiplet."""
        return self.clusters_per_l2 * self.l2_per_l3 * self.l3_per_chiplet

    @property
    def clusters_per_l2(self) -> int:
        """Clusters of one L2 quadrant."""
        return self.clusters_per_l1 * self.l1_per_l2

    @property
    def dma_buffer_bytes(self) -> int:
        """Bytes in flight between main memory and a cluster: latency x width (003 section 2.1.2)."""
        return self.round_trip_cycles * self.dma_width_bytes

    @property
    def networks(self) -> tuple[tuple[str, int], ...]:
        """Name and fan-in of every network of the tree, innermost first."""
        return (
            ("L1", self.clusters_per_l1),
            ("L2", self.l1_per_l2),
            ("L3", self.l2_per_l3),
            ("chiplet", self.l3_per_chiplet),
        )


MANTICORE = Machine()


@dataclass(frozen=True)
class FullyConnected(ConvLayer):
    """A fully-connected layer as 003 section 1.1 has it: a convolution with a filter as wide as its input."""


def conv_layer(
    input_width: int, input_depth: int, output_depth: int, filter_width: int, stride: int = 1, padding: int = 0
) -> ConvLayer:
    """Return a convolution by the hyperparameters of 003 table 1: W_I, D_I, D_O, F, S and P, batch one.

    Padding is zeros on each side of each spatial axis and is never stored or moved.

    Raises `InputError` if a size is not positive; `AssumptionError` if the filter is wider than the padded input or W_O
    = (W_I + 2P - F)/S + 1 is not whole.
    """
    sizes = {"input_width": input_width, "input_depth": input_depth, "output_depth": output_depth,
             "filter_width": filter_width, "stride": stride}  # fmt: skip
    faults = below_one(sizes, "layer")
    if padding < 0:
        faults.append(Fault("P must be a whole number", "layer", "padding", padding, "0, 1, 2, …"))
    raise_all(faults)
    widest = input_width + 2 * padding
    reach = widest - filter_width
    if reach < 0:
        text = "the filter must not be wider than the padded input, F <= W_I + 2P"
        raise AssumptionError(Fault(text, "layer", "filter_width", filter_width, f"at most {widest}"))
    if reach % stride:
        text = "the output width W_O = (W_I + 2P - F)/S + 1 must be whole"
        raise AssumptionError(Fault(text, "layer", "stride", stride, f"a divisor of W_I + 2P - F = {reach}"))
    width = reach // stride + 1
    return ConvLayer(
        1, input_depth, output_depth, width, width, filter_width, filter_width, stride, stride, input_width, input_width
    )


def fc_layer(input_width: int, input_depth: int, output_depth: int, batch: int = 1) -> FullyConnected:
    """Return a fully-connected layer by W_I, D_I, D_O and B; raise `InputError` where one is not positive."""
    sizes = {"input_width": input_width, "input_depth": input_depth, "output_depth": output_depth, "batch": batch}
    raise_all(below_one(sizes, "layer"))
    return FullyConnected(batch, input_depth, output_depth, 1, 1, input_width, input_width)


def is_convolution(layer: ConvLayer) -> bool:
    """Whether Algorithms 1-3 compute the layer, and not 4-5."""
    return not isinstance(layer, FullyConnected)


def describe(layer: ConvLayer) -> str:
    """Return the layer with the hyperparameters of 003 table 1, for tables."""
    sizes = f"input_width={layer.in_width}, input_depth={layer.in_channels}, output_depth={layer.out_channels}"
    if is_convolution(layer):
        more = f"filter_width={layer.filter_width}, stride={layer.stride}, padding={layer.padding}"
        return f"ConvLayer({sizes}, {more})"
    return f"FcLayer({sizes}, batch={layer.batch})"


def check_algorithm(algorithm: int, layer: ConvLayer) -> None:
    """Raise `InputError` unless ``algorithm`` is one of 1-3 for a convolution, 4-5 for a fully-connected layer.

    Raises `AssumptionError` for a layer that 003 has no hyperparameters for: one that is not square, or a convolution
    of a batch.
    """
    if any(getattr(layer, f"{size}_width") != getattr(layer, f"{size}_height") for size in ("in", "out", "filter")):
        raise AssumptionError(Fault("volumes and filters are as high as they are wide (003 section 1.1)", "layer"))
    if is_convolution(layer) and layer.batch != 1:
        raise AssumptionError(Fault("a convolution is of a single image (003 table 1)", "layer", "batch", layer.batch))
    allowed = (1, 2, 3) if is_convolution(layer) else (4, 5)
    if algorithm not in allowed:
        kind = "convolution" if is_convolution(layer) else "fully-connected layer"
        text = f"no such algorithm of paper 003 for a {kind}"
        raise InputError(Fault(text, field="algorithm", value=algorithm, allowed=", ".join(map(str, allowed))))


def check_stack(stack: int, algorithm: int, layer: ConvLayer) -> None:
    """Raise `AssumptionError` unless 1 <= Δ_O <= D_O, and Δ_O is what the algorithm fixes where it has no stacks."""
    fixed = {1: 1, 4: layer.out_channels}.get(algorithm)
    if fixed is not None and stack != fixed:
        text = f"Algorithm {algorithm} has no stacks of output depth slices"
        raise AssumptionError(Fault(text, field="stack", value=stack, allowed=f"Δ_O = {fixed}"))
    if not 1 <= stack <= layer.out_channels:
        text = "a stack holds between one and all output depth slices, 1 <= Δ_O <= D_O"
        raise AssumptionError(Fault(text, field="stack", value=stack, allowed=f"1 to {layer.out_channels}"))


def minimum_local_words(layer: ConvLayer, algorithm: int, stack: int) -> int:
    """Return the least local memory of a cluster when nothing is fetched ahead, in words.

    Algorithm 1: W_O² + W_I² + F² (003 section 2.1.2); 2: Δ_O W_O² + W_I² + F² (2.2.2); 3: W_I² more to lend a slice
    (2.3.2); 4: D_O B + W_I² (B + 1) (3.1.2); 5: Δ_O B + W_I² (B + 1) (3.2.2).
    """
    lent_words = layer.input_map_elements if algorithm == 3 else 0
    resident = stack * layer.output_map_elements + layer.input_map_elements
    return layer.batch * resident + layer.filter_map_elements + lent_words


def prefetching_local_words(layer: ConvLayer, algorithm: int, stack: int) -> int:
    """Return the local memory of a cluster that runs the listing as written, one load ahead, in words.

    The listings issue the load of the next input slice (Algorithms 1-3) and of the next filter (all) before the current
    one is used up, so both are resident at once; a slice or filter without a successor is not doubled.
    """
    inputs_ahead = is_convolution(layer) and layer.in_channels > 1
    filters_ahead = inputs_ahead if algorithm == 1 else stack > 1
    ahead = inputs_ahead * layer.input_map_elements + filters_ahead * layer.filter_map_elements
    return minimum_local_words(layer, algorithm, stack) + ahead


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
    output_bytes = layer.batch * layer.output_map_elements * word_bytes
    inputs_bytes = layer.batch * layer.input_map_elements * word_bytes
    if is_convolution(layer) and layer.in_channels > 1:
        inputs_bytes *= 2
    filters_bytes = 2 * layer.filter_map_elements * word_bytes
    lent_bytes = layer.input_map_elements * word_bytes if algorithm == 3 else 0
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


def default_stack(layer: ConvLayer, algorithm: int, word_bytes: int) -> int:
    """Return the stack that an algorithm uses where none is asked for: the largest that fits, at most D_O.

    Raises `AssumptionError` if not even one output depth slice fits beside the buffers.
    """
    limit = stack_limit(layer, algorithm, word_bytes)
    if algorithm in (1, 4):
        return 1 if algorithm == 1 else layer.out_channels
    if limit.slices_that_fit < 1:
        text = "one output depth slice must fit the local memory beside the DMA buffers, Δ_O >= 1"
        allowed = f"an output slice of at most {max(limit.free_bytes, 0)} bytes, not {limit.slice_bytes}"
        raise AssumptionError(Fault(text, field="stack", value=limit.slices_that_fit, allowed=allowed))
    return min(limit.slices_that_fit, layer.out_channels)
