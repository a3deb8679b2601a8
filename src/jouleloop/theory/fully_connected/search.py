"""A*: the least cost of a fully-connected layer over canonical states, straight from conditions 1–4 of 002 section 4.

A state is the set of done pairs and what is in Buffer, without finished vertices (see `relaxation`, rules 1 and 2).
The estimate of the remaining cost is the larger of the two counting relaxations. It is admissible but need not be
consistent: a state is opened again when it is reached at less cost, and no state is queued below the cost in hand.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy import uint64 as word

from jouleloop.jit import njit
from jouleloop.theory.buckets import put, take
from jouleloop.theory.fully_connected.canonical import canonical, mix, ones, working_space
from jouleloop.theory.fully_connected.relaxation import FULL, CountRelaxation, cost_to_finish, relaxations

_TABLE_FULL = -2
_OUT_OF_STATES = -1
_UNREACHED = 30_000


@dataclass(frozen=True)
class ExactSearch:
    """What a search found."""

    lower: int
    """No schedule costs less."""
    cost: int | None
    """The least cost, or None where it is above the limit or not known."""
    path: tuple[tuple[int, int], ...] | None
    """Reads of a cheapest schedule as (vertex read, vertex overwritten or -1); inputs are 0 … n−1, outputs n … n+m−1.
    Where nothing is overwritten a finished vertex may still have to be. None where ``cost`` is None."""
    expanded: int
    complete: bool
    """Whether everything up to the limit was searched."""


@njit
def _histograms(rows: Any, inputs: Any, outputs: Any, marks: Any, of_outputs: Any, width: Any) -> Any:
    """Return how many vertices of one side in and out of Buffer have 0, 1, … pairs done, in fields of a word."""
    inside = word(0)
    outside = word(0)
    for vertex in range(outputs if of_outputs else inputs):
        if of_outputs:
            count = ones(rows[vertex])
        else:
            count = 0
            for y in range(outputs):
                count += (rows[y] >> vertex) & 1
        if count < (inputs if of_outputs else outputs):
            unit = word(1) << word(width * count)
            if (marks >> vertex) & 1:
                inside += unit
            else:
                outside += unit
    return inside, outside


@njit
def _estimate(rows: Any, inputs: Any, outputs: Any, held: Any, use: Any, tables: Any) -> Any:
    if not use:
        return 0 if _finished(rows, inputs) else 1
    output_rules, output_table, input_rules, input_table = tables
    in_x, in_y = held & ((np.int64(1) << inputs) - 1), held >> inputs
    inside, outside = _histograms(rows, inputs, outputs, in_y, True, output_rules[1])
    by_outputs = cost_to_finish(inside, outside, ones(in_x), output_rules, *output_table)
    inside, outside = _histograms(rows, inputs, outputs, in_x, False, input_rules[1])
    by_inputs = cost_to_finish(inside, outside, ones(in_y), input_rules, *input_table)
    return FULL if FULL in (by_outputs, by_inputs) else max(by_outputs, by_inputs)


@njit
def _finished(rows: Any, inputs: Any) -> Any:
    return np.all(rows == (1 << inputs) - 1)


@njit
def _done(rows: Any, inputs: Any) -> Any:
    """Return the vertices that have met all of the other side, as a set of bits."""
    everything = (np.int64(1) << inputs) - 1
    columns, done = everything, np.int64(0)
    for y in range(len(rows)):
        columns &= rows[y]
        if rows[y] == everything:
            done |= np.int64(1) << (inputs + y)
    return done | columns


@njit
def _read(rows: Any, inputs: Any, held: Any, vertex: Any, victim: Any, after: Any) -> Any:
    """Write the rows after the read to ``after``; return what is held then, finished vertices dropped."""
    if victim >= 0:
        held &= ~(np.int64(1) << victim)
    held |= np.int64(1) << vertex
    after[:] = rows
    if vertex >= inputs:
        after[vertex - inputs] |= held & ((np.int64(1) << inputs) - 1)
    else:
        for y in range(len(rows)):
            if (held >> (inputs + y)) & 1:
                after[y] |= np.int64(1) << vertex
    return held & ~_done(after, inputs)


@njit
def _place(table: Any, matrix: Any, marks: Any, rows: Any, held: Any) -> Any:
    """Return the place in the hash table of a state, or the free one where it belongs."""
    slots = word(table.shape[0] - 1)
    place = mix(word(held))
    for row in rows:
        place = mix(place ^ word(row))
    place &= slots
    while table[place] >= 0:
        other = table[place]
        if marks[other] == held and np.all(matrix[other] == rows):
            break
        place = (place + word(1)) & slots
    return place


@njit
def _new_store(most: Any, outputs: Any) -> Any:
    """Return room for states: the hash table, rows, marks, cost, estimate of the rest, parent and move from it."""
    bits = 4
    while (1 << bits) < 2 * most:
        bits += 1
    costs = np.full(most, _UNREACHED, np.int16), np.zeros(most, np.int16)
    ways = np.full(most, -1, np.int32), np.zeros((most, 2), np.int8)
    rows, marks = np.zeros((most, outputs), np.uint32), np.zeros(most, np.int64)
    return np.full(1 << bits, -1, np.int32), rows, marks, *costs, *ways


@njit
def _enter(store: Any, rows: Any, layer: Any, held: Any, use: Any, tables: Any, report: Any) -> Any:
    """Return the number of a state, which is kept from now on where it is new, or a negative code."""
    table, matrix, marks, cost, rest = store[:5]
    inputs, outputs, _ = layer
    place = _place(table, matrix, marks, rows, held)
    if table[place] >= 0:
        return np.int64(table[place])
    if report[3] >= cost.shape[0]:
        return np.int64(_OUT_OF_STATES)
    estimate = _estimate(rows, inputs, outputs, held, use, tables)
    if estimate == FULL:
        return np.int64(_TABLE_FULL)
    found = report[3]
    report[3] += 1
    table[place] = found
    matrix[found], marks[found], rest[found] = rows, held, estimate
    return found


@njit
def _search(layer: Any, output_price: Any, limit: Any, store: Any, use: Any, tables: Any, report: Any) -> Any:
    """Return the least cost, ``limit`` + 1 where it is larger, or a negative code; the report gets details."""
    inputs, outputs, beta = layer
    _, matrix, marks, cost, rest, parent, move = store
    closed = np.zeros(len(cost), np.bool_)
    queue = np.zeros((4 * len(cost), 3), np.int32)
    heads = np.full(limit + 2, -1, np.int32)
    rows = np.zeros(outputs, np.int64)
    after = np.zeros(outputs, np.int64)
    room = working_space(inputs, outputs)
    renamed = room[0]
    state = _enter(store, renamed, layer, np.int64(0), use, tables, report)
    if state < 0:
        return state
    bucket = np.int64(rest[state])
    report[0] = bucket
    if bucket > limit:
        return limit + 1
    cost[state] = 0
    queued = put(heads, queue, 0, state, 0, bucket)
    while True:
        state, bucket = take(heads, queue, cost, closed, bucket, limit)
        report[0] = min(bucket, limit)
        if state < 0:
            return limit + 1
        report[1] += 1
        rows[:] = matrix[state]
        if _finished(rows, inputs):
            report[2] = state
            return bucket
        held = marks[state]
        full = ones(held) >= beta
        idle = held | _done(rows, inputs)
        for victim in range(-1, inputs + outputs):
            # A full Buffer overwrites one of its vertices, another one nothing (-1).
            if (victim >= 0) != full or (full and not (held >> victim) & 1):
                continue
            for vertex in range(inputs + outputs):
                total = np.int64(cost[state]) + (1 if vertex < inputs else output_price)
                if total > limit or (idle >> vertex) & 1:
                    continue
                left = canonical(after, inputs, outputs, _read(rows, inputs, held, vertex, victim, after), room)
                found = _enter(store, renamed, layer, left, use, tables, report)
                if found < 0:
                    return found
                if total >= cost[found]:
                    continue
                cost[found], parent[found], closed[found] = total, state, False
                move[found, 0], move[found, 1] = vertex, victim
                goal = max(total + rest[found], bucket)
                if goal <= limit:
                    queued = put(heads, queue, queued, found, total, goal)
                if queued < 0:
                    return np.int64(_OUT_OF_STATES)


def search(
    inputs: int,
    outputs: int,
    buffer_words: int,
    limit: int,
    *,
    most_states: int = 2_000_000,
    both: tuple[CountRelaxation, CountRelaxation] | None = None,
    estimate: bool = True,
    output_price: int = 2,
) -> ExactSearch:
    """Search for a schedule of cost at most ``limit``.

    Sides are at most 30. Where more than ``most_states`` canonical states would be kept, the answer is not complete.
    ``both`` are the relaxations of the layer, where they are at hand already.
    Without ``estimate`` it is Dijkstra's algorithm over canonical states, as a check of the estimate. A read of an
    output costs 2, or 1 for the least μ + ν, to which the estimate does not apply.
    """
    by_outputs, by_inputs = both or relaxations(inputs, outputs, buffer_words)
    layer = (inputs, outputs, buffer_words)
    report = np.zeros(4, np.int64)  # lower bound, states expanded, the last one, states kept
    room = min(most_states, 1 << 14)
    while True:
        report[:] = 0
        tables = (by_outputs.rules, by_outputs.table, by_inputs.rules, by_inputs.table)
        store = _new_store(room, outputs)
        answer = _search(layer, output_price, limit, store, estimate and output_price == 2, tables, report)
        if answer == _OUT_OF_STATES and room < most_states:
            room = min(most_states, 16 * room)
            continue
        if answer != _TABLE_FULL:
            break
        fuller = max(by_outputs, by_inputs, key=lambda one: one.table[1][-1] / 2**one.table_bits)
        if not fuller.grow():
            return ExactSearch(int(report[0]), None, None, int(report[1]), complete=False)
    expanded = int(report[1])
    if answer == _OUT_OF_STATES:
        return ExactSearch(int(report[0]), None, None, expanded, complete=False)
    if answer > limit:
        return ExactSearch(limit + 1, None, None, expanded, complete=True)
    *_, parent, move = store
    state, moves = int(report[2]), []
    while parent[state] >= 0:
        moves.append((int(move[state, 0]), int(move[state, 1])))
        state = parent[state]
    path = _in_first_names(inputs, outputs, moves[::-1])
    return ExactSearch(int(answer), int(answer), path, expanded, complete=True)


def _in_first_names(inputs: int, outputs: int, moves: list[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """Return moves, each in the names of the canonical state it starts from, in the names of the first state."""
    rows, after = np.zeros(outputs, np.int64), np.zeros(outputs, np.int64)
    room = working_space(inputs, outputs)
    renamed, row_order, column_order = room[:3]
    name = list(range(inputs + outputs))
    held = 0
    path = []
    for vertex, victim in moves:
        path.append((name[vertex], name[victim] if victim >= 0 else -1))
        held = canonical(after, inputs, outputs, _read(rows, inputs, held, vertex, victim, after), room)
        rows[:] = renamed
        name = [name[old] for old in column_order] + [name[inputs + old] for old in row_order]
    return tuple(path)
