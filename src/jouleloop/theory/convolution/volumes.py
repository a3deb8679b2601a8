"""Words that known ways to convolve move between slow memory and M words of fast memory (001 §3.2, Figure 2).

001 names its sources but prints no formulas. Every volume here is that of a schedule that can be run:

* blocking: the best integer block of `jouleloop.theory.convolution.blocking_search`, or the rounded linear program;
* matrix multiplication, inside im2col, Winograd and FFT: that of [12] of 001, or a resident tile of another array;
* FFT: passes of 2^e-point butterflies; the same leading term 2 n log n / log M as the bound of Elango ([7] of 001).

docs/theory-convolutions.md names the sources.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from jouleloop.errors import AssumptionError, Fault
from jouleloop.theory.bound import Bound
from jouleloop.theory.convolution.blocking import best_order
from jouleloop.theory.convolution.blocking_search import best_blocking, solve_blocking_lp
from jouleloop.theory.convolution.layer import Precisions, array_elements, input_elements, memory_words
from jouleloop.theory.layers import ConvLayer

Memory = int | float | Fraction | str
WINOGRAD_TILE = 4
ALGORITHMS = (
    "blocking",
    "blocking_rounded_lp",
    "im2col",
    "im2col_with_lowering",
    "winograd",
    "fft",
    "naive",
)


@dataclass(frozen=True)
class AlgorithmVolume:
    """Words moved by one algorithm, in parts that add up to the total."""

    algorithm: str
    """One of `ALGORITHMS`."""
    parts: Mapping[str, Fraction]
    """Words by step, such as ``input transform``."""
    source: str
    """Where the schedule is stated."""
    note: str = ""
    """What a reader wants to know of it, such as the block."""

    @property
    def words(self) -> Fraction:
        """All words moved."""
        return sum(self.parts.values(), Fraction())

    def as_bound(self) -> Bound:
        """Return the volume as a record: what this algorithm attains, an upper bound of the least communication."""
        parts = ", ".join(f"{name}: {float(words):.6g}" for name, words in self.parts.items())
        return Bound(f"volume_{self.algorithm}", self.source, self.words, "words", (), self.note or parts)


def matrix_product_layer(rows: int, inner: int, columns: int) -> ConvLayer:
    """Return a product of rows × inner and inner × columns as the convolution that it is: 1 × 1, one output pixel.

    Input is the left factor, Filter the right one, Output the product.
    """
    return ConvLayer(rows, inner, columns, 1, 1, 1, 1)


def lowered(layer: ConvLayer) -> tuple[int, int, int]:
    """Return (rows, inner, columns) of the matrix product that im2col lowers the layer to."""
    return (
        layer.batch * layer.out_width * layer.out_height,
        layer.in_channels * layer.filter_width * layer.filter_height,
        layer.out_channels,
    )


def unit_stride(layer: ConvLayer) -> ConvLayer:
    """Return the equivalent layer of stride one: every residue modulo the stride becomes an input channel.

    Filters are padded with zeros to whole multiples of the stride. Winograd and FFT need this form (polyphase).
    """
    residues = min(layer.stride_width, layer.filter_width) * min(layer.stride_height, layer.filter_height)
    return ConvLayer(
        layer.batch,
        layer.in_channels * residues,
        layer.out_channels,
        layer.out_width,
        layer.out_height,
        -(-layer.filter_width // layer.stride_width),
        -(-layer.filter_height // layer.stride_height),
    )


def blocking_volume(layer: ConvLayer, precisions: Precisions, memory: Memory) -> AlgorithmVolume:
    """Return the volume of the best integer blocking that fits."""
    best = best_blocking(layer, precisions, memory)
    return AlgorithmVolume("blocking", {"blocks": best.words}, "001 §3.2, best integer block", best.describe())


def rounded_lp_volume(layer: ConvLayer, precisions: Precisions, memory: Memory) -> AlgorithmVolume:
    """Return the volume of the linear program's blocking, rounded down, in its best loop order."""
    best = best_order(layer, precisions, solve_blocking_lp(layer, precisions, memory))
    return AlgorithmVolume("blocking_rounded_lp", {"blocks": best.words}, "001 §3.2, linear program", best.describe())


def im2col_volume(
    layer: ConvLayer, precisions: Precisions, memory: Memory, *, lowering: bool = False
) -> AlgorithmVolume:
    """Return the volume of im2col: the matrix product on the lowered input and, if asked, writing the lowered input."""
    product = matrix_product_layer(*lowered(layer))
    parts = {"matrix product": best_blocking(product, precisions, memory).words}
    if lowering:
        parts["lowering"] = precisions.input * (input_elements(layer) + input_elements(product))
    name = "im2col_with_lowering" if lowering else "im2col"
    return AlgorithmVolume(name, parts, "Kwasniewski et al. 2019 ([12] of 001)")


def winograd_products(layer: ConvLayer, tile: int = WINOGRAD_TILE) -> tuple[int, ConvLayer]:
    """Return how many matrix products F(tile × tile, r × r) makes, α² of α = tile + r − 1, and the shape of each.

    Strides go to channels first. Elements of the products are those of the transformed arrays.
    """
    form = unit_stride(layer)
    copies = (tile + form.filter_width - 1) * (tile + form.filter_height - 1)
    tiles = form.batch * -(-form.out_width // tile) * -(-form.out_height // tile)
    return copies, matrix_product_layer(tiles, form.in_channels, form.out_channels)


def winograd_volume(
    layer: ConvLayer, precisions: Precisions, memory: Memory, *, tile: int = WINOGRAD_TILE
) -> AlgorithmVolume:
    """Return the volume of Winograd's F(tile × tile, r × r) with the transformed arrays kept in slow memory.

    Input tiles of α cells a side are read without reuse of their overlap, written transformed, and multiplied; the
    filter and the output are transformed likewise.
    """
    copies, product = winograd_products(layer, tile)
    need = copies * max(precisions.input, precisions.filter, precisions.output)
    if memory_words(memory) < need:
        least = f">= {float(need):g} words"
        raise AssumptionError(Fault("fast memory cannot hold one Winograd tile", None, "memory", memory, least))
    transformed = {array: copies * count for array, count in array_elements(product).items()}
    parts = {
        "input transform": precisions.input * 2 * transformed["input"],
        "filter transform": precisions.filter * (layer.filter_elements + transformed["filter"]),
        "matrix products": copies * best_blocking(product, precisions, memory).words,
        "output transform": precisions.output * (transformed["output"] + layer.output_elements),
    }
    return AlgorithmVolume("winograd", parts, "Meng and Brothers 2019 ([13] of 001) with the products of [12]")


def fft_lengths(layer: ConvLayer) -> tuple[int, int]:
    """Return the padded width and height of the transforms: powers of two that hold a whole input of one residue."""
    form = unit_stride(layer)
    width = form.out_width + form.filter_width - 1
    height = form.out_height + form.filter_height - 1
    return max(2, 1 << (width - 1).bit_length()), max(2, 1 << (height - 1).bit_length())


def fft_passes(points: int, memory: Fraction, precision: Fraction) -> int:
    """Return how often a transform of ``points`` complex values is read and written.

    A pass computes e = ⌊log₂(S − 1)⌋ of the log₂ ``points`` butterfly levels, where S complex values of 2 × precision
    words fit in memory (Savage, Theorem 11.5.4).

    Raises `AssumptionError` where S < 3.
    """
    capacity = math.floor(memory / (2 * precision))
    if capacity < 3:
        text = "the assumption S >= 3 complex values of the FFT schedule fails"
        raise AssumptionError(Fault(text, None, "memory", float(memory), f">= {float(6 * precision):g} words"))
    levels_a_pass = (capacity - 1).bit_length() - 1
    return max(1, -(-(points.bit_length() - 1) // levels_a_pass))


def fft_products(layer: ConvLayer) -> tuple[int, int, ConvLayer]:
    """Return the complex points of a transform, how many matrix products there are (frequencies) and their shape.

    Real planes of w × h are kept as their half spectra of (w/2 + 1) h complex values and transformed as wh/2 complex
    points; the elements of a product are as many as there are planes. Strides go to channels first.
    """
    form = unit_stride(layer)
    width, height = fft_lengths(layer)
    product = matrix_product_layer(form.batch, form.in_channels, form.out_channels)
    return width * height // 2, (width // 2 + 1) * height, product


def doubled(precisions: Precisions) -> Precisions:
    """Return the words of complex elements."""
    return Precisions(2 * precisions.input, 2 * precisions.filter, 2 * precisions.output)


def fft_volume(layer: ConvLayer, precisions: Precisions, memory: Memory) -> AlgorithmVolume:
    """Return the volume of convolution by FFT: transforms of every plane, one complex matrix product a frequency."""
    size = memory_words(memory)
    points, frequencies, product = fft_products(layer)
    parts = {}
    for array, planes in array_elements(product).items():
        precision = precisions.of(array)
        passes = fft_passes(points, size, precision)
        parts[f"{array} transform"] = 2 * precision * 2 * frequencies * planes * passes
    parts["matrix products"] = frequencies * best_blocking(product, doubled(precisions), size).words
    return AlgorithmVolume("fft", parts, "Savage Theorem 11.5.4, Elango 2016 ([7] of 001), products of [12]")


def naive_volume(layer: ConvLayer, precisions: Precisions) -> AlgorithmVolume:
    """Return the volume of loop nest (1) as written with three elements of fast memory, one of each array.

    Every update loads its input and its filter element; an output element stays for the two innermost loops.
    """
    visits = layer.macs // (layer.filter_width * layer.filter_height)
    parts = {
        "input": precisions.input * layer.macs,
        "filter": precisions.filter * layer.macs,
        "output": precisions.output * (2 * visits - layer.output_elements),
    }
    return AlgorithmVolume("naive", parts, "001 eq. (1)")


def all_volumes(layer: ConvLayer, precisions: Precisions, memory: Memory) -> tuple[AlgorithmVolume, ...]:
    """Return the volumes of every algorithm that can run with M words; those that cannot are left out."""
    result: list[AlgorithmVolume] = []
    if memory_words(memory) < precisions.total:
        return ()
    for compute in (
        blocking_volume,
        rounded_lp_volume,
        im2col_volume,
        lambda *given: im2col_volume(*given, lowering=True),
        winograd_volume,
        fft_volume,
        lambda some_layer, some_precisions, _: naive_volume(some_layer, some_precisions),
    ):
        try:
            result.append(compute(layer, precisions, memory))
        except AssumptionError:
            continue
    return tuple(result)


@dataclass(frozen=True)
class SlidingPieces:
    """How many output channels, input channels and taps stay together, and what that moves and needs, in words."""

    out_channels: int
    in_channels: int
    taps: int
    words: int
    memory_words: int


def best_sliding(layer: ConvLayer, memory_words: int) -> SlidingPieces | None:
    """Return the pieces that move the fewest words and fit; None where none fits or the layer has a height.

    Filters of T output channels, S input channels and P taps stay in fast memory. The inputs they need stream past, one
    word at a time; an output stays from its first to its last update by these filters. Outputs start at zero, and where
    input channels or taps come in several pieces they are stored and loaded between pieces.
    """
    if layer.out_height > 1 or layer.filter_height > 1:
        return None
    options = [
        _pieces(layer, t, s, p)
        for t in range(1, layer.out_channels + 1)
        for s in range(1, layer.in_channels + 1)
        for p in range(1, layer.filter_width + 1)
    ]
    fitting = [option for option in options if option.memory_words <= memory_words]
    return min(fitting, key=lambda option: (option.words, option.memory_words), default=None)


def _pieces(layer: ConvLayer, t: int, s: int, p: int) -> SlidingPieces:
    stride, width = layer.stride_width, layer.out_width
    covering = -(-p // stride)
    if s == 1 and p > 1 and (p - 1) % stride == 0:
        covering -= 1  # the output that ends at an input is stored before the one that begins there is created
    memory = t * s * p + 1 + t * min(covering, width)
    tap_pieces = [min(p, layer.filter_width - first) for first in range(0, layer.filter_width, p)]
    positions = sum((width - 1) * stride + taps if taps >= stride else width * taps for taps in tap_pieces)
    inputs = layer.batch * layer.in_channels * positions * -(-layer.out_channels // t)
    filters = layer.in_channels * layer.out_channels * layer.filter_width
    stays = len(tap_pieces) * -(-layer.in_channels // s)
    outputs = layer.batch * layer.out_channels * width * (2 * stays - 1)
    return SlidingPieces(t, s, p, inputs + filters + outputs, memory)
