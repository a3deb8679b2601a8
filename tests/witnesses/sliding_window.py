"""The sliding-window dataflow executed in a fast memory that holds exactly what it needs."""

from fractions import Fraction

from jouleloop.errors import AssumptionError, Fault
from jouleloop.theory.convolution.layer import FILTER, INPUT, OUTPUT
from jouleloop.theory.convolution.volumes import SlidingPieces
from jouleloop.theory.layers import ConvLayer
from witnesses.fast_memory import FastMemory


def execute_sliding(layer: ConvLayer, pieces: SlidingPieces) -> FastMemory:
    """Run the dataflow in a fast memory of exactly the words it needs; return that memory with its counts.

    Every input and filter element is 1, so each output ends as c_I w_F; what is in slow memory afterwards shows it.

    Raises `AssumptionError` where the layer has a height, or an element does not fit.
    """
    if layer.out_height > 1 or layer.filter_height > 1:
        raise AssumptionError(Fault("the sliding dataflow is one-dimensional", value=layer.out_height))
    stride, width = layer.stride_width, layer.out_width
    reach = (width - 1) * stride + layer.filter_width
    batch, channels, maps, taps = layer.batch, layer.in_channels, layer.out_channels, layer.filter_width
    one = Fraction(1)
    slow: dict[str, dict[object, complex]] = {
        INPUT: {(b, c, x): 1 for b in range(batch) for c in range(channels) for x in range(reach)},
        FILTER: {(c, k, r): 1 for c in range(channels) for k in range(maps) for r in range(taps)},
        OUTPUT: {},
    }
    memory = FastMemory(Fraction(pieces.memory_words), {INPUT: one, FILTER: one, OUTPUT: one}, slow)
    for first_map in range(0, maps, pieces.out_channels):
        own_maps = range(first_map, min(first_map + pieces.out_channels, maps))
        for first_channel in range(0, channels, pieces.in_channels):
            own_channels = range(first_channel, min(first_channel + pieces.in_channels, channels))
            for first_tap in range(0, taps, pieces.taps):
                own_taps = range(first_tap, min(first_tap + pieces.taps, taps))
                memory.load(FILTER, [(c, k, r) for c in own_channels for k in own_maps for r in own_taps])
                for b in range(batch):
                    for x in range(reach):
                        _meet(memory, layer, b, x, own_maps, own_channels, own_taps)
                memory.drop(FILTER, memory.holds(FILTER))
    return memory


def _meet(memory: FastMemory, layer: ConvLayer, b: int, x: int, maps: range, channels: range, taps: range) -> None:
    """Do all updates of the input words at one position, outputs that end there first."""
    stride = layer.stride_width
    met = [(i, x - stride * i) for i in range(layer.out_width) if x - stride * i in taps]
    for c in channels if met else ():
        memory.load(INPUT, [(b, c, x)])
        for i, r in met:  # in increasing i, so the output that ends here comes first
            for k in maps:
                place = (b, k, i)
                if place not in memory.fast[OUTPUT]:
                    if place in memory.slow[OUTPUT]:
                        memory.load(OUTPUT, [place])
                    else:
                        memory.create(OUTPUT, [place])
                memory.fast[OUTPUT][place] += memory.fast[INPUT][b, c, x] * memory.fast[FILTER][c, k, r]
                if r == taps[-1] and c == channels[-1]:
                    memory.store(OUTPUT, [place])
        memory.drop(INPUT, [(b, c, x)])
