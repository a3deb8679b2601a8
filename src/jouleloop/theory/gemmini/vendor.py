"""How the vendor tiles a convolution for Gemmini: the rules of ``tiled_conv_auto``, restated."""

from jouleloop.errors import AssumptionError, Fault
from jouleloop.theory.gemmini.tile import ConvTile, GemminiConfig, loop_sizes, tile_rows
from jouleloop.theory.layers import ConvLayer

_COLS = 2
_ROWS = 1
_CHANNELS = (3, 6)


def vendor_tile(layer: ConvLayer, config: GemminiConfig | None = None) -> ConvTile:
    """Return the tile that the vendor's library chooses.

    1. Start from the whole layer. Until it fits both (halved) buffers, make the longest side shorter: a channel side
       goes down to the next multiple of the array side (1 in place of 0), any other by one. Of equally long sides
       the first in the order of `ConvTile.sides` gives way. Output columns are spared while they are no longer than
       the array and more than one output row is left.
    2. Grow output columns by ones while the tile fits.
    3. Go round all sides, growing each by one where the tile still fits, until a round changes nothing.

    Source: ``tiled_conv_auto`` of gemmini-rocc-tests (``include/gemmini.h``, commit 180c468), without pooling, dilation
    and transposition; restated, not copied.

    Raises `AssumptionError` where not even a tile of one operation fits.
    """
    config = config or GemminiConfig()
    sizes = loop_sizes(layer)
    sides = list(sizes)

    def fits() -> bool:
        return tile_rows(layer, ConvTile(*sides), config).fit(config)

    def grow(index: int) -> bool:
        """Make one side longer by one where the layer and the buffers allow it, and say whether it was done."""
        sides[index] += 1
        if sides[index] <= sizes[index] and fits():
            return True
        sides[index] -= 1
        return False

    while not fits():
        spared = _COLS if sides[_COLS] <= config.array_side and sides[_ROWS] > 1 else None
        longest = max((index for index in range(len(sides)) if index != spared), key=lambda index: sides[index])
        if sides[longest] == 1:
            raise AssumptionError(Fault("not even a tile of one operation fits the buffers", source=layer.name))
        step = (sides[longest] % config.array_side or config.array_side) if longest in _CHANNELS else 1
        sides[longest] = max(1, sides[longest] - step)
    while grow(_COLS):
        pass
    while sum(grow(index) for index in range(len(sides))):
        pass
    return ConvTile(*sides)
