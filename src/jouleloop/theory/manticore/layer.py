"""The Manticore chiplet and the two layer shapes of paper 003, as plain checked data without formulas."""

from collections.abc import Iterable
from dataclasses import dataclass, fields

from jouleloop.errors import AssumptionError, Fault, InputError, raise_all

WORD_BYTES = {"single": 4, "double": 8}


def _positive(items: Iterable[tuple[str, object]], source: str) -> list[Fault]:
    return [
        Fault("must be a positive whole number", source, name, value, "1, 2, 3, …")
        for name, value in items
        if not _is_int(value) or value < 1  # type: ignore[operator]
    ]


def _is_int(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


@dataclass(frozen=True)
class Machine:
    """One Manticore chiplet: a tree of clusters, each with its local memory and a DMA engine (003 section 1).

    Attributes
    ----------
    clusters_per_l1, l1_per_l2, l2_per_l3, l3_per_chiplet
        Fan-outs of the tree: clusters in an L1 quadrant and so on upwards.
    local_memory_bytes
        Scratchpad of one cluster.
    round_trip_cycles, dma_width_bytes
        Latency to main memory and back, and the width of the DMA network; their product is in flight at a time.
    """

    clusters_per_l1: int = 4
    l1_per_l2: int = 4
    l2_per_l3: int = 4
    l3_per_chiplet: int = 2
    local_memory_bytes: int = 128 * 1024
    round_trip_cycles: int = 256
    dma_width_bytes: int = 64

    def __post_init__(self) -> None:
        raise_all(_positive(((f.name, getattr(self, f.name)) for f in fields(self)), "machine"))

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
class ConvLayer:
    """A convolutional layer with the hyperparameters of 003 table 1 (batch size one).

    Attributes
    ----------
    input_width, input_depth, output_depth
        W_I, D_I and D_O, in words along one axis.
    filter_width, stride, padding
        F, S and P; padding is zeros on each side of each spatial axis and is never stored or moved.

    Raises
    ------
    AssumptionError
        If the filter is wider than the padded input or W_O = (W_I + 2P - F)/S + 1 is not whole.
    """

    input_width: int
    input_depth: int
    output_depth: int
    filter_width: int
    stride: int = 1
    padding: int = 0

    def __post_init__(self) -> None:
        sizes = [(f.name, getattr(self, f.name)) for f in fields(self) if f.name != "padding"]
        faults = _positive(sizes, "layer")
        if not _is_int(self.padding) or self.padding < 0:
            faults.append(Fault("P must be a whole number", "layer", "padding", self.padding, "0, 1, 2, …"))
        raise_all(faults)
        reach = self.input_width + 2 * self.padding - self.filter_width
        if reach < 0:
            raise AssumptionError(
                Fault(
                    "the filter must not be wider than the padded input, F <= W_I + 2P",
                    "layer",
                    "filter_width",
                    self.filter_width,
                    f"at most {self.input_width + 2 * self.padding}",
                )
            )
        if reach % self.stride:
            raise AssumptionError(
                Fault(
                    "the output width W_O = (W_I + 2P - F)/S + 1 must be whole",
                    "layer",
                    "stride",
                    self.stride,
                    f"a divisor of W_I + 2P - F = {reach}",
                )
            )

    @property
    def output_width(self) -> int:
        """W_O = (W_I + 2P - F)/S + 1 (003 section 1.1)."""
        return (self.input_width + 2 * self.padding - self.filter_width) // self.stride + 1


@dataclass(frozen=True)
class FcLayer:
    """A fully-connected layer: a filter as wide as the input, on a batch (003 section 1.1).

    Attributes
    ----------
    input_width, input_depth, output_depth, batch
        W_I, D_I, D_O and B.
    """

    input_width: int
    input_depth: int
    output_depth: int
    batch: int = 1

    def __post_init__(self) -> None:
        raise_all(_positive(((f.name, getattr(self, f.name)) for f in fields(self)), "layer"))


Layer = ConvLayer | FcLayer


def check_algorithm(algorithm: int, layer: Layer) -> None:
    """Raise `InputError` unless ``algorithm`` is one of 1-3 for a convolution, 4-5 for a fully-connected layer."""
    allowed = (1, 2, 3) if isinstance(layer, ConvLayer) else (4, 5)
    if algorithm not in allowed:
        kind = "convolution" if isinstance(layer, ConvLayer) else "fully-connected layer"
        raise InputError(
            Fault(
                f"no such algorithm of paper 003 for a {kind}",
                field="algorithm",
                value=algorithm,
                allowed=", ".join(map(str, allowed)),
            )
        )


def check_stack(stack: int, algorithm: int, layer: Layer) -> None:
    """Raise `AssumptionError` unless 1 <= Δ_O <= D_O, and Δ_O is what the algorithm fixes where it has no stacks."""
    fixed = {1: 1, 4: layer.output_depth}.get(algorithm)
    if fixed is not None and stack != fixed:
        raise AssumptionError(
            Fault(
                f"Algorithm {algorithm} has no stacks of output depth slices",
                field="stack",
                value=stack,
                allowed=f"Δ_O = {fixed}",
            )
        )
    if not _is_int(stack) or not 1 <= stack <= layer.output_depth:
        raise AssumptionError(
            Fault(
                "a stack holds between one and all output depth slices, 1 <= Δ_O <= D_O",
                field="stack",
                value=stack,
                allowed=f"1 to {layer.output_depth}",
            )
        )


def check_word_bytes(word_bytes: int) -> None:
    """Raise `InputError` unless a word has a positive whole number of bytes."""
    raise_all(_positive([("word_bytes", word_bytes)], "precision"))
