"""The least words between slow and fast memory over all schedules of a small convolution: A* on memory contents.

A state is the set of updates done and the elements in fast memory. An update is done as soon as its input, filter and
output element are there; an element without updates left is dropped. One move loads an element, overwriting another one
where fast memory is full: keeping it is never worse. An input or filter element costs one word. An output costs two, as
it is loaded and stored; where outputs start at zero its first stay costs one, for the store. The estimate counts every
element outside that is still needed once; it is consistent, so no state is opened twice.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from jouleloop.errors import Fault, InputError
from jouleloop.jit import njit
from jouleloop.theory.buckets import put, take
from jouleloop.theory.fully_connected.canonical import ones
from jouleloop.theory.layers import ConvLayer

MOST_STATES = 1_000_000
MOST_UPDATES = 30
MOST_ELEMENTS = 30
_UNREACHED = 30_000


@dataclass(frozen=True)
class LeastWords:
    """The least words moved."""

    words: int | None
    """The optimum, or None where ``MOST_STATES`` did not suffice; then ``lower`` is a bound all the same."""
    lower: int
    """No schedule moves fewer words."""
    states: int


def update_table(layer: ConvLayer) -> tuple[np.ndarray[Any, np.dtype[np.int64]], int, int, int]:
    """Return the updates as rows (input, filter, output element), and how many elements of each kind are touched.

    Elements are numbered from 0: touched inputs, then filter elements, then outputs; all indices run as in nest (1) of
    001.
    """
    inputs: dict[tuple[int, ...], int] = {}
    filters: dict[tuple[int, ...], int] = {}
    outputs: dict[tuple[int, ...], int] = {}
    rows = []
    shape = (
        layer.batch, layer.in_channels, layer.out_channels,
        layer.out_width, layer.out_height, layer.filter_width, layer.filter_height,
    )  # fmt: skip
    for b, c, k, x, y, r, s in np.ndindex(*shape):
        place = (b, c, layer.stride_width * x + r, layer.stride_height * y + s)
        i = inputs.setdefault(place, len(inputs))
        f = filters.setdefault((c, k, r, s), len(filters))
        o = outputs.setdefault((b, k, x, y), len(outputs))
        rows.append((i, f, o))
    table = np.array(rows, np.int64)
    table[:, 1] += len(inputs)
    table[:, 2] += len(inputs) + len(filters)
    return table, len(inputs), len(filters), len(outputs)


def least_words(
    layer: ConvLayer, memory_words: int, *, outputs_start_at_zero: bool, most_states: int = MOST_STATES
) -> LeastWords:
    """Return the least words moved with all precisions one.

    Raises `InputError` where the layer is too large or M < 3.

    The layer has at most 30 updates on at most 30 elements, M is three or more. An output is created in fast memory, or
    loaded first as 001 Theorem 2.1 has it.
    """
    table, *counts = update_table(layer) if layer.macs <= MOST_UPDATES else (np.zeros((0, 3), np.int64), 0, 0, 0)
    elements = sum(counts)
    if layer.macs > MOST_UPDATES or elements > MOST_ELEMENTS:
        allowed = f"at most {MOST_UPDATES} updates on {MOST_ELEMENTS} elements"
        raise InputError(Fault("too large for the exact optimum", value=(layer.macs, elements), allowed=allowed))
    if memory_words < 3:
        raise InputError(Fault("fast memory holds no update", field="memory", value=memory_words, allowed=">= 3"))
    room = 1 << 14
    while True:
        report = np.zeros(2, np.int64)
        found = _search(
            table, elements, counts[0] + counts[1], memory_words, 1 if outputs_start_at_zero else 2, room, report
        )
        if found >= 0 or room >= most_states:
            break
        room *= 8
    return LeastWords(int(found) if found >= 0 else None, int(report[0]), int(report[1]))


@njit
def _outside(table: Any, first_output: Any, first_price: Any, done: Any, held: Any, price: Any) -> Any:
    """Write what each element costs to load (0: not needed or here) and return their sum."""
    price[:] = 0
    for update in range(table.shape[0]):
        if not (done >> update) & 1:
            for column in range(3):
                element = table[update, column]
                if not (held >> element) & 1 and price[element] == 0:
                    price[element] = 1 if element < first_output else first_price
    for update in range(table.shape[0]):
        output = table[update, 2]
        if (done >> update) & 1 and price[output] > 0:
            price[output] = 2
    return price.sum()


@njit
def _after(table: Any, done: Any, held: Any) -> Any:
    """Return the updates done and the elements still needed once everything possible is computed."""
    needed = np.int64(0)
    for update in range(table.shape[0]):
        i, f, o = table[update, 0], table[update, 1], table[update, 2]
        if (held >> i) & 1 and (held >> f) & 1 and (held >> o) & 1:
            done |= np.int64(1) << update
        if not (done >> update) & 1:
            needed |= (np.int64(1) << i) | (np.int64(1) << f) | (np.int64(1) << o)
    return done, held & needed


@njit
def _kept(slots: Any, keys: Any, cost: Any, key: Any, report: Any) -> Any:
    """Return the number of a state, which is kept from now on where it is new; -1 where there is no room."""
    last = slots.shape[0] - 1
    place = ((key * np.int64(0x9E3779B97F4A7C1)) >> 20) & last
    while slots[place] >= 0 and keys[slots[place]] != key:
        place = (place + 1) & last
    if slots[place] < 0 and report[1] < keys.shape[0]:
        slots[place] = report[1]
        keys[report[1]] = key
        cost[report[1]] = _UNREACHED
        report[1] += 1
    return slots[place]


@njit
def _search(table: Any, elements: Any, first_output: Any, memory: Any, first_price: Any, room: Any, report: Any) -> Any:
    """Return the least words, or -1 where there is no room; ``report`` gets a lower bound and the states kept."""
    size = 16
    while size < 2 * room:
        size *= 2
    slots = np.full(size, -1, np.int64)
    keys = np.zeros(room, np.int64)
    cost = np.zeros(room, np.int16)
    closed = np.zeros(room, np.bool_)
    most = 4 * table.shape[0] + 2 * elements + 8
    heads = np.full(most + 1, -1, np.int64)
    queue = np.zeros((8 * room, 3), np.int64)
    price = np.zeros(elements, np.int64)
    everything = (np.int64(1) << table.shape[0]) - 1
    bucket = np.int64(_outside(table, first_output, first_price, np.int64(0), np.int64(0), price))
    cost[_kept(slots, keys, cost, np.int64(0), report)] = 0
    queued = put(heads, queue, 0, 0, 0, bucket)
    while True:
        state, bucket = take(heads, queue, cost, closed, bucket, most)
        report[0] = bucket
        if state < 0:
            return -1
        done = keys[state] >> elements
        held = keys[state] & ((np.int64(1) << elements) - 1)
        if done == everything:
            return bucket
        _outside(table, first_output, first_price, done, held, price)
        prices = price.copy()
        full = ones(held)
        for victim in range(-1, elements):
            if (victim < 0) != (full < memory) or (victim >= 0 and not (held >> victim) & 1):
                continue
            left = held if victim < 0 else held & ~(np.int64(1) << victim)
            for element in range(elements):
                if prices[element] == 0:
                    continue
                new_done, new_held = _after(table, done, left | (np.int64(1) << element))
                index = _kept(slots, keys, cost, (new_done << elements) | new_held, report)
                total = cost[state] + prices[element]
                if index >= 0 and total < cost[index]:
                    cost[index] = total
                    goal = total + _outside(table, first_output, first_price, new_done, new_held, price)
                    queued = put(heads, queue, queued, index, total, goal)
                if min(index, queued) < 0:
                    return -1
