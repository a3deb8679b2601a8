"""Check a file of traces of `divisible`: a small second program that shares no code with the one that found them.

It knows only the claim, the rules of the counting game and the format. For every case that the induction leaves it
checks that Algorithm 1, run and checked read by read, costs eq. (28); that the trace is for exactly the budget that the
induction allows; that its first level is the empty Buffer; and that every read from every state leads to a state that

- cannot finish within the budget, as too many pairs are missing, or
- is no better than a state of the next level with as many output reads,

and never to a finished layer within the budget. The last level leads nowhere. So no play of the game, hence no
schedule, keeps within the budget.
"""

import lzma
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from jouleloop.jit import njit
from jouleloop.theory.fully_connected.dataflows import fixed_inputs
from jouleloop.theory.fully_connected.schedule import run

#: Most bytes of a trace's first line and of one level; the stored traces have up to 245 and 154,632.
_MOST_LINE_BYTES, _MOST_LEVEL_BYTES = 10_000, 2 * 10**7


class TraceError(Exception):
    """A trace that does not prove what it should."""


def cases_left(outputs: int) -> list[tuple[int, int, int]]:
    """Return the layers (n, m, β) that the induction over n leaves for m = ``outputs``."""
    cases = []
    for group in range(2, outputs):
        if outputs % group == 0:
            beta, groups = group + 1, outputs // group
            delta = 0
            while delta * group < beta * group - beta * beta // 4:  # ⌈β − ⌊β²/4⌋/(β − 1)⌉
                delta += 1
            last = 2 * outputs - groups - 2 * delta
            cases += [(n, outputs, beta) for n in range(beta, max(beta, last) + 1)]
    return cases


def check_file(path: Path, outputs: range, few_groups: range = range(0), most_groups: int = 3) -> Iterator[int]:
    """Check the traces of every case with m in ``outputs``, skip the others, and require that none is missing.

    Yield the states of each: no schedule of its layer costs less than eq. (28), and one costs that. For m in
    ``few_groups`` only cases with m/(β − 1) <= ``most_groups`` are wanted.

    Raises `TraceError` where a trace is damaged, missing, or proves too little.
    """
    wanted = {case for m in outputs for case in cases_left(m)}
    wanted |= {case for m in few_groups for case in cases_left(m) if m <= most_groups * (case[2] - 1)}
    with lzma.open(path, "rb") as stream:
        while head := stream.readline(_MOST_LINE_BYTES):
            if not head.endswith(b"\n"):
                raise TraceError(f"a line of more than {_MOST_LINE_BYTES} bytes")
            numbers = [int(word) for word in head.split()]
            case = (numbers[0], numbers[1], numbers[2])
            levels = _read_levels(stream, case[0], numbers[5:])
            if case in wanted:
                wanted.remove(case)
                yield _check(case, numbers[3], numbers[4], levels)
    if wanted:
        raise TraceError(f"no trace for {sorted(wanted)}")


def _read_levels(stream: lzma.LZMAFile, inputs: int, sizes: list[int]) -> list[Any]:
    width = 2 * inputs + 2
    levels = []
    for size in sizes:
        if not 0 <= size * width <= _MOST_LEVEL_BYTES:
            raise TraceError(f"a level of {size} states of {width} bytes; at most {_MOST_LEVEL_BYTES} bytes")
        data = stream.read(size * width)
        if len(data) != size * width:
            raise TraceError("the file ends within a trace")
        levels.append(np.frombuffer(data, np.uint8).reshape(size, width).astype(np.int64))
    return levels


def _check(case: tuple[int, int, int], accesses: int, input_reads: int, levels: list[Any]) -> int:
    n, m, beta = case
    groups = m // (beta - 1)
    target = groups * (n - 1) + 2 * m + 1
    if run(fixed_inputs(n, m, beta, 1)).accesses != target:
        raise TraceError(f"Algorithm 1 does not cost {target}: {case}")
    fewest = accesses - 2 * m if n == beta else min(n * (groups - 1), accesses - 2 * m)
    if accesses != target - 1 or input_reads < fewest:
        raise TraceError(f"the budget is smaller than the induction allows: {case}")
    empty = np.zeros(2 * n + 2, np.int64)
    empty[n] = m
    if not levels or not any(np.array_equal(row, empty) for row in levels[0]):
        raise TraceError(f"the trace does not begin with the empty Buffer: {case}")
    reach = _reach(beta, accesses // 2, input_reads)
    for reads, (level, after) in enumerate(zip(levels, [*levels[1:], levels[0][:0]], strict=True)):
        bad = _open_end(level, after, reads, beta, (n, m, accesses, input_reads, reach))
        if bad >= 0:
            raise TraceError(f"state {bad} after {reads} reads leads out of the trace: {case}")
    return sum(map(len, levels))


def _reach(beta: int, output_reads: int, input_reads: int) -> Any:
    """Return the most pairs that so many output reads and input reads can do from so many inputs held."""
    reach = np.zeros((output_reads + 1, input_reads + 1, beta + 2), np.int64)
    for o in range(output_reads + 1):
        for a in range(input_reads + 1):
            for held in range(beta + 1):
                options = [0]
                if a and held < beta:
                    options.append(beta - (held + 1) + reach[o, a - 1, held + 1])
                if a and held:
                    options.append(beta - held + reach[o, a - 1, held])
                if o and held < beta:
                    options.append(held + reach[o - 1, a, held])
                if o and held:
                    options.append(held - 1 + reach[o - 1, a, held - 1])
                reach[o, a, held] = max(options)
    return reach


@njit
def _open_end(level: Any, after: Any, reads: Any, beta: Any, rules: Any) -> Any:
    """Return the number of a state with a read that leads out of the trace, or -1.

    ``rules`` are n, m, the most accesses, the most input reads and the table of `_reach`. At a full Buffer an output in
    it is read in place, and any other read overwrites an input (n) or an output with so many pairs. To read back the
    output that has just been overwritten would leave Buffer as it was, which is a read in place.
    """
    n = rules[0]
    # By victim and read: after states beside each other the same one often covers both.
    first = np.zeros((n + 2, 2 * n + 1), np.int64)
    for number in range(level.shape[0]):
        full = level[number, :n].sum() + level[number, 2 * n] >= beta
        for victim in range(-1, n + 1 if full else 0):
            before = level[number].copy()
            if victim >= 0:
                before[2 * n if victim == n else victim] -= 1
            if 0 <= victim < n:
                before[n + victim] += 1
            if before.min() < 0:
                continue
            for read in range(-1, 2 * n):
                back = 0 <= victim < n and read == n + victim and level[number, read] == 0
                if back or (full and (0 <= read < n) == (victim >= 0)):
                    continue
                near = first[victim + 1, read + 1 :]
                if _is_read(before, n, read) and not _covered(_after(before, n, read), after, reads + 1, rules, near):
                    return number
    return -1


@njit
def _is_read(state: Any, n: Any, read: Any) -> Any:
    """Whether an input (-1), or an output of the kind that stands at a place of the state, may be read."""
    return state[2 * n] < n if read < 0 else state[read] > 0


@njit
def _after(state: Any, n: Any, read: Any) -> Any:
    """Return the state after a read."""
    new = state.copy()
    if read < 0:
        new[0], new[1:n] = 0, state[: n - 1]
        new[2 * n] += 1
        return new
    new[read] -= 1
    reached = read % n + state[2 * n]
    if reached < n:
        new[reached] += 1
    new[2 * n + 1] += 1
    return new


@njit
def _covered(state: Any, after: Any, reads: Any, rules: Any, near: Any) -> Any:
    n, m, accesses, input_reads, reach = rules
    output_reads = state[2 * n + 1]
    outside = state[n : 2 * n].sum()
    missing = 0
    for done in range(n):
        missing += (n - done) * (state[done] + state[n + done])
    hopeless = True
    final = max(m, output_reads + outside)
    while 2 * final + n <= accesses and hopeless:
        inputs = min(input_reads, accesses - 2 * final)
        if inputs >= max(n, reads - output_reads):
            pairs = reach[final - output_reads, inputs - (reads - output_reads), state[2 * n]]
            hopeless = pairs < missing
        final += 1
    if hopeless:
        return True
    if missing == 0:
        return False
    for number in range(after.shape[0]):
        one = (near[0] + number) % after.shape[0]
        if after[one, 2 * n + 1] == output_reads and _at_least_as_good(after[one], state, n):
            near[0] = one
            return True
    return False


@njit
def _at_least_as_good(one: Any, other: Any, n: Any) -> Any:
    """Whether the outputs of ``one`` can be matched to those of ``other``, greedily from most to fewest pairs."""
    # How many more outputs it has finished.
    finished = other[: 2 * n].sum() - one[: 2 * n].sum()
    if finished < 0 or one[2 * n] < other[2 * n]:
        return False
    spare = one.copy()
    # Outputs in Buffer first: each takes the one in Buffer with the fewest pairs that suffice, else a finished one.
    for done in range(n - 1, -1, -1):
        needed = other[done]
        for with_pairs in range(done, n):
            taken = min(needed, spare[with_pairs])
            spare[with_pairs] -= taken
            needed -= taken
        finished -= needed
        if finished < 0:
            return False
    more = finished
    for done in range(n - 1, -1, -1):
        more += spare[done] + spare[n + done] - other[n + done]
        if more < 0:
            return False
    return True
