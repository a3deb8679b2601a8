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
def _estimate(rows: Any, inputs: Any, outputs: Any, in_x: Any, in_y: Any, use: Any, tables: Any) -> Any:
    if not use:
        return 0 if in_x == 0 and _finished(rows, inputs) else 1
    output_rules, output_table, input_rules, input_table = tables
    inside, outside = _histograms(rows, inputs, outputs, in_y, True, output_rules[1])
    by_outputs = cost_to_finish(inside, outside, ones(in_x), output_rules, *output_table)
    inside, outside = _histograms(rows, inputs, outputs, in_x, False, input_rules[1])
    by_inputs = cost_to_finish(inside, outside, ones(in_y), input_rules, *input_table)
    return FULL if FULL in (by_outputs, by_inputs) else max(by_outputs, by_inputs)


@njit
def _finished(rows: Any, inputs: Any) -> Any:
    return np.all(rows == (1 << inputs) - 1)


@njit
def _read(rows: Any, inputs: Any, outputs: Any, in_x: Any, in_y: Any, vertex: Any, victim: Any, after: Any) -> Any:
    """Write the rows after the read to ``after``; return the marks with finished vertices dropped."""
    if 0 <= victim < inputs:
        in_x &= ~(np.int64(1) << victim)
    elif victim >= inputs:
        in_y &= ~(np.int64(1) << (victim - inputs))
    after[:] = rows
    if vertex < inputs:
        in_x |= np.int64(1) << vertex
        for y in range(outputs):
            if (in_y >> y) & 1:
                after[y] |= np.int64(1) << vertex
    else:
        in_y |= np.int64(1) << (vertex - inputs)
        after[vertex - inputs] |= in_x
    everything = (np.int64(1) << inputs) - 1
    columns = everything
    for y in range(outputs):
        columns &= after[y]
        if after[y] == everything:
            in_y &= ~(np.int64(1) << y)
    return in_x & ~columns, in_y


@njit
def _key(rows: Any, outputs: Any, in_x: Any, in_y: Any) -> Any:
    key = mix(word(in_x) ^ (word(in_y) << word(32)))
    for y in range(outputs):
        key = mix(key ^ word(rows[y]))
    return key


@njit
def _wanted(rows: Any, inputs: Any, outputs: Any, in_x: Any, in_y: Any, vertex: Any) -> Any:
    """Whether a vertex is out of Buffer and has pairs left."""
    if vertex >= inputs:
        row = rows[vertex - inputs]
        return not (in_y >> (vertex - inputs)) & 1 and row != (np.int64(1) << inputs) - 1
    if (in_x >> vertex) & 1:
        return False
    for y in range(outputs):  # noqa: SIM110 - a compiled loop
        if not (rows[y] >> vertex) & 1:
            return True
    return False


@njit
def _place(table: Any, matrix: Any, marks: Any, rows: Any, outputs: Any, in_x: Any, in_y: Any) -> Any:
    """Return the place in the hash table of a state, or the free one where it belongs."""
    slots = word(table.shape[0] - 1)
    place = _key(rows, outputs, in_x, in_y) & slots
    while table[place] >= 0:
        other = table[place]
        if marks[other, 0] == in_x and marks[other, 1] == in_y and np.all(matrix[other] == rows):
            break
        place = (place + word(1)) & slots
    return place


@njit
def _unwind(parent: Any, move: Any, state: Any, path: Any) -> Any:
    """Write the moves that led to a state, last first, and return how many there are."""
    steps = 0
    while parent[state] >= 0:
        path[steps, 0] = move[state, 0]
        path[steps, 1] = move[state, 1]
        steps += 1
        state = parent[state]
    return steps


@njit
def _may_overwrite(in_x: Any, in_y: Any, inputs: Any, victim: Any, full: Any) -> Any:
    """Whether a read may overwrite a vertex of a full Buffer, or nothing (-1) where a place is free."""
    if victim < 0 or not full:
        return victim < 0 and not full
    return (in_x >> victim if victim < inputs else in_y >> (victim - inputs)) & 1 == 1


@njit
def _new_store(most: Any, outputs: Any) -> Any:
    """Return room for states: the hash table, rows, marks, cost, estimate of the rest, parent and move from it."""
    bits = 4
    while (1 << bits) < 2 * most:
        bits += 1
    costs = np.full(most, _UNREACHED, np.int16), np.zeros(most, np.int16)
    ways = np.full(most, -1, np.int32), np.zeros((most, 2), np.int8)
    rows, marks = np.zeros((most, outputs), np.uint32), np.zeros((most, 2), np.int64)
    return np.full(1 << bits, -1, np.int32), rows, marks, *costs, *ways


@njit
def _enter(store: Any, rows: Any, layer: Any, in_x: Any, in_y: Any, use: Any, tables: Any, report: Any) -> Any:
    """Return the number of a state, which is kept from now on where it is new, or a negative code."""
    table, matrix, marks, cost, rest = store[:5]
    inputs, outputs, _ = layer
    place = _place(table, matrix, marks, rows, outputs, in_x, in_y)
    if table[place] >= 0:
        return np.int64(table[place])
    if report[3] >= cost.shape[0]:
        return np.int64(_OUT_OF_STATES)
    estimate = _estimate(rows, inputs, outputs, in_x, in_y, use, tables)
    if estimate == FULL:
        return np.int64(_TABLE_FULL)
    found = report[3]
    report[3] += 1
    table[place] = found
    matrix[found] = rows
    marks[found, 0], marks[found, 1] = in_x, in_y
    rest[found] = estimate
    return found


@njit
def _search(layer: Any, output_price: Any, limit: Any, most: Any, use: Any, tables: Any, answers: Any) -> Any:
    """Return the least cost, ``limit`` + 1 where it is larger, or a negative code; report and path get details."""
    inputs, outputs, beta = layer
    report, path = answers
    store = _new_store(most, outputs)
    _, matrix, marks, cost, rest, parent, move = store
    closed = np.zeros(most, np.bool_)
    queue = np.zeros((4 * most, 3), np.int32)
    heads = np.full(limit + 2, -1, np.int32)
    rows = np.zeros(outputs, np.int64)
    after = np.zeros(outputs, np.int64)
    room = working_space(inputs, outputs)
    renamed = room[0]
    state = _enter(store, renamed, layer, np.int64(0), np.int64(0), use, tables, report)
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
            report[2] = _unwind(parent, move, state, path)
            return bucket
        in_x, in_y = marks[state, 0], marks[state, 1]
        full = ones(in_x) + ones(in_y) >= beta
        for victim in range(-1, inputs + outputs):
            if not _may_overwrite(in_x, in_y, inputs, victim, full):
                continue
            for vertex in range(inputs + outputs):
                total = np.int64(cost[state]) + (1 if vertex < inputs else output_price)
                if total > limit or not _wanted(rows, inputs, outputs, in_x, in_y, vertex):
                    continue
                new_x, new_y = _read(rows, inputs, outputs, in_x, in_y, vertex, victim, after)
                new_x, new_y = canonical(after, inputs, outputs, new_x, new_y, room)
                found = _enter(store, renamed, layer, new_x, new_y, use, tables, report)
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
    report = np.zeros(4, np.int64)  # lower bound, states expanded, moves, states kept
    path = np.zeros((limit + 2, 2), np.int64)
    room = min(most_states, 1 << 14)
    while True:
        report[:] = 0
        tables = (by_outputs.rules, by_outputs.table, by_inputs.rules, by_inputs.table)
        answer = _search(layer, output_price, limit, room, estimate and output_price == 2, tables, (report, path))
        if answer == _OUT_OF_STATES and room < most_states:
            room = min(most_states, 16 * room)
            continue
        if answer != _TABLE_FULL:
            break
        fuller = max(by_outputs, by_inputs, key=lambda relaxation: relaxation.states / 2**relaxation.table_bits)
        if not fuller.grow():
            return ExactSearch(int(report[0]), None, None, int(report[1]), complete=False)
    expanded = int(report[1])
    if answer == _OUT_OF_STATES:
        return ExactSearch(int(report[0]), None, None, expanded, complete=False)
    if answer > limit:
        return ExactSearch(limit + 1, None, None, expanded, complete=True)
    moves = [(int(vertex), int(victim)) for vertex, victim in path[: int(report[2])][::-1]]
    return ExactSearch(int(answer), int(answer), _in_first_names(inputs, outputs, moves), expanded, complete=True)


def _in_first_names(inputs: int, outputs: int, moves: list[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """Return moves, each in the names of the canonical state it starts from, in the names of the first state."""
    rows, after = np.zeros(outputs, np.int64), np.zeros(outputs, np.int64)
    room = working_space(inputs, outputs)
    renamed, row_order, column_order = room[:3]
    name = list(range(inputs + outputs))
    in_x = in_y = 0
    path = []
    for vertex, victim in moves:
        path.append((name[vertex], name[victim] if victim >= 0 else -1))
        in_x, in_y = _read(rows, inputs, outputs, in_x, in_y, vertex, victim, after)
        in_x, in_y = canonical(after, inputs, outputs, in_x, in_y, room)
        rows[:] = renamed
        name = [name[old] for old in column_order] + [name[inputs + old] for old in row_order]
    return tuple(path)
