"""A sliding-window dataflow for one-dimensional convolutions: its words in closed form.

Filters of T output channels, S input channels and P taps stay in fast memory. The inputs they need stream past, one
word at a time; an output stays from its first to its last update by these filters. Outputs start at zero, and where
input channels or taps come in several pieces they are stored and loaded between pieces.
"""

from dataclasses import dataclass

from jouleloop.theory.layers import ConvLayer


@dataclass(frozen=True)
class SlidingPieces:
    """How many output channels, input channels and taps stay together, and what that moves and needs, in words."""

    out_channels: int
    in_channels: int
    taps: int
    words: int
    memory_words: int


def best_sliding(layer: ConvLayer, memory_words: int) -> SlidingPieces | None:
    """Return the pieces that move the fewest words and fit; None where none fits or the layer has a height."""
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
