"""One representative for all states of a fully-connected layer that differ by renaming inputs and outputs.

A state is the 0/1 matrix of done pairs with rows (outputs) and columns (inputs) marked where they are in Buffer.
Colours are refined over the bipartite graph of done pairs until they split no further; among rows of equal colour that
are not equal rows, one is set apart and refinement goes on. Renaming by colour order then gives the representative.
Where two rows of one colour are not images of each other, the representative may depend on the names, and two
equivalent states stay apart: this costs time, never correctness, as every representative is a renaming of its state.
"""

from typing import Any

import numpy as np
from numpy import uint64 as word

from jouleloop.jit import njit


@njit
def mix(value: Any) -> Any:
    """Return a 64-bit hash of a 64-bit word (the finaliser of SplitMix64)."""
    value = (value ^ (value >> word(30))) * word(0xBF58476D1CE4E5B9)
    value = (value ^ (value >> word(27))) * word(0x94D049BB133111EB)
    return value ^ (value >> word(31))


@njit
def ones(value: Any) -> Any:
    """Return how many bits of ``value`` are set."""
    count = 0
    while value:
        value &= value - 1
        count += 1
    return count


@njit
def _refine(rows: Any, inputs: Any, outputs: Any, rc: Any, cc: Any, fresh: Any) -> None:
    """Refine the colours of rows and columns until they split no further."""
    before = 0
    while True:
        for y in range(outputs):
            total = word(0)
            for x in range(inputs):
                if (rows[y] >> x) & 1:
                    total += mix(cc[x])
            fresh[y] = mix(rc[y] * word(3) + total)
        for x in range(inputs):
            total = word(0)
            for y in range(outputs):
                if (rows[y] >> x) & 1:
                    total += mix(fresh[y])
            cc[x] = mix(cc[x] * word(5) + total)
        for y in range(outputs):
            rc[y] = fresh[y]
        now = len(np.unique(rc)) + len(np.unique(cc))
        if now == before:
            return
        before = now


@njit
def _apart(rows: Any, rc: Any, outputs: Any) -> Any:
    """Return the row of the least colour that rows which differ share, or -1."""
    apart = -1
    for y in range(outputs):
        for z in range(y):
            if rc[z] == rc[y] and rows[z] != rows[y]:
                if apart < 0 or rc[y] < rc[apart]:
                    apart = z
                break
    return apart


@njit
def working_space(inputs: Any, outputs: Any) -> Any:
    """Return arrays for `canonical`: renamed rows, orders of rows and columns, colours of both and fresh ones."""
    orders = np.zeros(outputs, np.int64), np.zeros(outputs, np.int64), np.zeros(inputs, np.int64)
    return *orders, np.zeros(outputs, np.uint64), np.zeros(inputs, np.uint64), np.zeros(outputs, np.uint64)


@njit
def canonical(rows: Any, inputs: Any, outputs: Any, held: Any, room: Any) -> Any:
    """Write the representative's rows to ``renamed`` and return what it holds: bits of inputs, then of outputs.

    ``room`` is as by `working_space`; ``row_order[new]`` and ``column_order[new]`` are the old names afterwards.
    """
    renamed, row_order, column_order, rc, cc, fresh = room
    for y in range(outputs):
        rc[y] = word(1) + word((held >> (inputs + y)) & 1)
    for x in range(inputs):
        cc[x] = word(11) + word((held >> x) & 1)
    while True:
        _refine(rows, inputs, outputs, rc, cc, fresh)
        apart = _apart(rows, rc, outputs)
        if apart < 0:
            break
        rc[apart] = mix(rc[apart] + word(77))
    row_order[:] = np.argsort(rc, kind="mergesort")
    column_order[:] = np.argsort(cc, kind="mergesort")
    for y in range(outputs):
        renamed[y] = _renamed(rows[row_order[y]], column_order)
    return _renamed(held, column_order) | _renamed(held >> inputs, row_order) << inputs


@njit
def _renamed(bits: Any, order: Any) -> Any:
    """Return a set of bits in new names: bit ``new`` is the old one ``order[new]``."""
    value = np.int64(0)
    for new in range(len(order)):
        if (bits >> order[new]) & 1:
            value |= np.int64(1) << new
    return value
