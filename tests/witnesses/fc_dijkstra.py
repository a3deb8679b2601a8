"""Dijkstra's algorithm on buffer contents, with no symmetry, estimate or rule: a witness for tiny layers.

Every step is taken from the text of conditions 1–4 of 002 section 4 alone: one vertex is added, any one or none is
taken away. It is slow on purpose; the exact solver is compared with it.
"""

import heapq

from jouleloop.errors import Fault, InputError
from jouleloop.theory.fully_connected.formulas import FcLayer

MOST_PAIRS = 16


def least_accesses(layer: FcLayer, inputs_kept: int | None = None) -> int:
    """Return the least 2μ + ν.

    Parameters
    ----------
    layer
        At most 16 pairs, or the state space is out of reach.
    inputs_kept
        d, for a Buffer split into d words for inputs and β − d for outputs (002 section 5); None for one Buffer.
    """
    n, m, beta = layer.inputs, layer.outputs, layer.buffer_words
    if layer.pairs > MOST_PAIRS:
        raise InputError(Fault("too many pairs for the witness", value=layer.pairs, allowed=f"<= {MOST_PAIRS}"))
    if inputs_kept is not None:
        layer.check_partition(inputs_kept)
    everything = (1 << layer.pairs) - 1
    inputs_mask = (1 << n) - 1
    start = (0, 0)
    cost = {start: 0}
    heap = [(0, start)]
    while heap:
        spent, state = heapq.heappop(heap)
        if spent > cost[state]:
            continue
        done, contents = state
        if done == everything:
            return spent
        for read in range(n + m):
            if contents >> read & 1:
                continue
            for victim in range(-1, n + m):
                if victim >= 0 and not contents >> victim & 1:
                    continue
                after = (contents & ~(1 << victim) if victim >= 0 else contents) | 1 << read
                present_x, present_y = after & inputs_mask, after >> n
                if after.bit_count() > beta:
                    continue
                if inputs_kept is not None and (
                    present_x.bit_count() > inputs_kept or present_y.bit_count() > beta - inputs_kept
                ):
                    continue
                met = done
                if read < n:
                    for y in range(m):
                        if present_y >> y & 1:
                            met |= 1 << (y * n + read)
                else:
                    met |= present_x << ((read - n) * n)
                total = spent + (1 if read < n else 2)
                following = (met, after)
                if total < cost.get(following, total + 1):
                    cost[following] = total
                    heapq.heappush(heap, (total, following))
    raise InputError("no schedule exists")
