"""What the crossing of one boundary costs, from the words that cross it: shared by bounds and by the exact descent."""

import math

import numba as nb

from jouleloop.model.arrays import BLOCK_WORDS, BOUND, CLUSTERS, DIM, READ_PJ, WRITE_PJ, Floats, Ints
from jouleloop.model.kernel import STEP
from jouleloop.search.arrays import PARTITIONED, Unrolled


@nb.njit(cache=True)
def vectors(words: float, block_words: float) -> float:
    """Vector accesses for a number of words; a hair below the next integer is rounding, not a word."""
    return math.ceil(words / block_words - 1e-9)


@nb.njit(cache=True)
def crossing_pj(
    spec: Floats,
    unrolled: Unrolled,
    v: int,
    read_write: bool,
    elided: bool,
    child: int,
    parent: int,
    words: float,
    asked: float,
) -> float:
    """Energy [pJ] of one data space's traffic between a level and the next kept level outside it.

    Parameters
    ----------
    child
        Level filled; -1 for the compute units, which are not charged.
    words, asked
        Words per instance of the child, and words per instance that the parent is asked for.
    """
    block = spec[parent, BLOCK_WORDS]
    sharing = min(unrolled.instances[parent], spec[parent, CLUSTERS])
    if read_write:
        total = vectors(asked, block) * spec[parent, WRITE_PJ]
        reads = asked - unrolled.edge[parent, v, PARTITIONED]
        if reads > 0.0:
            total += vectors(reads, block) * spec[parent, READ_PJ]
    else:
        total = vectors(asked, block) * spec[parent, READ_PJ]
    total *= sharing
    if child >= 0:
        filled = words
        if read_write and elided:
            filled -= unrolled.edge[child, v, PARTITIONED]
        if filled > 0.0:
            sharing = min(unrolled.instances[child], spec[child, CLUSTERS])
            total += vectors(filled, spec[child, BLOCK_WORDS]) * spec[child, WRITE_PJ] * sharing
    return total


@nb.njit(cache=True)
def words_into(coef: Ints, extent: Ints, loop: Ints, loops: int) -> float:
    """Words of one data space that enter one instance of a tile, exactly (no mesh links).

    Loops are outermost first here. See `jouleloop.model.kernel` for why two sizes and one comparison a loop suffice.
    """
    ranks = coef.shape[0]
    dims = coef.shape[1]
    full = 1.0
    part = 1.0
    moved = 0
    apart = False
    first = loops - 1
    for r in range(ranks):
        side = 1
        for d in range(dims):
            side += coef[r, d] * (extent[d] - 1)
        full *= side
        if loops > 0:
            step = coef[r, loop[first, DIM]] * loop[first, STEP]
            if step != 0:
                moved += 1
                if step >= side:
                    apart = True
                part *= step
            else:
                part *= side
    if loops == 0:
        return full
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
    outer = later
    for j in range(first - 1, -1, -1):
        outer /= loop[j, BOUND]
        calls = (loop[j, BOUND] - 1) * outer
        match = True
        for r in range(ranks):
            value = coef[r, loop[j, DIM]] * loop[j, STEP]
            for i in range(j + 1, loops):
                value -= coef[r, loop[i, DIM]] * loop[i, STEP]
            if value != coef[r, loop[first, DIM]] * loop[first, STEP]:
                match = False
                break
        if match:
            partial += calls
        else:
            whole += calls
    return whole * full + partial * part
