"""What the crossing of one boundary costs, from the words that cross it: shared by bounds and by the exact descent."""

import math

import numba as nb

from jouleloop.model.arrays import BLOCK_WORDS, BOUND, CLUSTERS, DIM, READ_PJ, WRITE_PJ, Floats, Ints
from jouleloop.model.kernel import STEP
from jouleloop.search.arrays import (
    AGAIN_PJ,
    ASK_BLOCK,
    ASK_FREE,
    ASK_PJ,
    FILL_BLOCK,
    FILL_FREE,
    FILL_PJ,
    PARTITIONED,
    RATE,
    SERVED,
    Unrolled,
)


@nb.njit(cache=True)
def vectors(words: float, block_words: float) -> float:
    """Vector accesses for a number of words; a hair below the next integer is rounding, not a word."""
    return float(math.ceil(words / block_words - 1e-9))


@nb.njit(cache=True)
def crossing_pj(rate: Floats, child: int, v: int, asked: float, filled: float) -> float:
    """Energy [pJ] of one data space's traffic between a level and the next kept level outside it.

    Parameters
    ----------
    rate
        See `Unrolled.rate`; ``child`` is the level filled, -1 for the compute units.
    asked, filled
        Words per instance of the child: those that the parent is asked for, and those counted as fills.
    """
    total = vectors(asked, rate[child, v, ASK_BLOCK]) * rate[child, v, ASK_PJ]
    again = asked - rate[child, v, ASK_FREE]
    if again > 0.0:
        total += vectors(again, rate[child, v, ASK_BLOCK]) * rate[child, v, AGAIN_PJ]
    anew = filled - rate[child, v, FILL_FREE]
    if anew > 0.0:
        total += vectors(anew, rate[child, v, FILL_BLOCK]) * rate[child, v, FILL_PJ]
    return float(total)


@nb.njit(cache=True)
def filled_words(edge: Floats, child: int, v: int, words: float, linked: bool) -> float:
    """Fills per instance that are counted, at least, of the words that enter it.

    Timeloop averages what the parent sends over the fan-out, adds what links bring per instance of all levels above,
    and cuts the sum to an integer; so words that come over links can be missing, and one by rounding.
    """
    served = edge[child, v, SERVED]
    if served == 1.0:
        return words
    if linked:
        return float(math.floor(words * served * (1.0 - 1e-12)))
    return max(0.0, words - 1.0)


@nb.njit(cache=True)
def fill_rate(
    rate: Floats, spec: Floats, unrolled: Unrolled, v: int, read_write: bool, elided: bool, child: int, parent: int
) -> None:
    """Write what a crossing from ``parent`` into ``child`` (-1: the compute units) costs.

    A read-only word is read from the parent and written to the child. A written word updates the parent, and is read
    back and filled from the second time on; before the first fills were elided, from the first time.
    """
    for place in range(RATE):
        rate[child, v, place] = 0.0
    rate[child, v, FILL_BLOCK] = 1.0
    sharing = min(unrolled.instances[parent], spec[parent, CLUSTERS])
    rate[child, v, ASK_BLOCK] = spec[parent, BLOCK_WORDS]
    rate[child, v, ASK_FREE] = unrolled.edge[parent, v, PARTITIONED]
    if read_write:
        rate[child, v, ASK_PJ] = spec[parent, WRITE_PJ] * sharing
        rate[child, v, AGAIN_PJ] = spec[parent, READ_PJ] * sharing
    else:
        rate[child, v, ASK_PJ] = spec[parent, READ_PJ] * sharing
    if child >= 0:
        sharing = min(unrolled.instances[child], spec[child, CLUSTERS])
        rate[child, v, FILL_BLOCK] = spec[child, BLOCK_WORDS]
        rate[child, v, FILL_PJ] = spec[child, WRITE_PJ] * sharing
        if read_write and elided:
            rate[child, v, FILL_FREE] = unrolled.edge[child, v, PARTITIONED]


@nb.njit(cache=True)
def words_into(coef: Ints, v: int, extent: Ints, loop: Ints, loops: int) -> tuple[float, float]:
    """Words of one data space that enter one instance of a tile, exactly (no mesh links), and of steps that stand.

    A step stands where loops of one window cancel out. Timeloop reads the tile anew, but lets neighbours hand it on.

    Loops are outermost first here. See `jouleloop.model.kernel` for why two sizes and one comparison a loop suffice.
    """
    ranks = coef.shape[1]
    dims = coef.shape[2]
    full = 1.0
    part = 1.0
    moved = 0
    apart = False
    first = loops - 1
    for r in range(ranks):
        side = 1
        for d in range(dims):
            side += coef[v, r, d] * (extent[d] - 1)
        full *= side
        if loops > 0:
            step = coef[v, r, loop[first, DIM]] * loop[first, STEP]
            if step != 0:
                moved += 1
                if step >= side:
                    apart = True
                part *= step
            else:
                part *= side
    if loops == 0:
        return full, 0.0
    if moved == 0:
        part = 0.0
    elif moved > 1 or apart:
        part = full
    total = 1.0
    for j in range(loops):
        total *= loop[j, BOUND]
    # Steps of loop 0 fetch a part; a step of another loop does so only where it moves as loop 0 does.
    later = total / loop[first, BOUND]
    whole = 1.0
    partial = total - later
    standing = 0.0
    outer = later
    for j in range(first - 1, -1, -1):
        outer /= loop[j, BOUND]
        calls = (loop[j, BOUND] - 1) * outer
        match = True
        stands = moved > 0
        for r in range(ranks):
            value = coef[v, r, loop[j, DIM]] * loop[j, STEP]
            for i in range(j + 1, loops):
                value -= coef[v, r, loop[i, DIM]] * loop[i, STEP]
            if value != 0:
                stands = False
            if value != coef[v, r, loop[first, DIM]] * loop[first, STEP]:
                match = False
            if not match and not stands:
                break
        if stands:
            standing += calls
        if match:
            partial += calls
        else:
            whole += calls
    return float(whole * full + partial * part), float(standing * full)
