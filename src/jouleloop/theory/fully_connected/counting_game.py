"""The counting game: a fully-connected layer in which inputs have no names, searched within a budget of reads.

A state says how many outputs in and out of Buffer have 0, 1, … n − 1 pairs done, and how many inputs Buffer holds. One
read is of

- an input (Buffer must not hold all n): every unfinished output in Buffer gets one pair more;
- an unfinished output, in Buffer or not: it gets as many pairs more as inputs are held.

Where Buffer is full and the vertex read is not in it, one input or one unfinished output is overwritten first. Finished
outputs take no place. The game ends when all outputs are finished.

The game is a relaxation. Follow any schedule (conditions 1–4 of 002 section 4) with X and Y in Buffer, X' and Y' after
the read, and M_w the inputs that output w has met. In the game let h inputs and the unfinished outputs R be in Buffer.
Keep: h >= |X|; R holds every unfinished output of Y; an output w in R has at least |M_w ∪ X| pairs, any other at least
|M_w|.

- A read of an input is played, unless h = n: then R is empty, as outputs in Buffer have at least h pairs, and the read
  is left out. If the game's Buffer is full and h >= |X'|, an input is overwritten. If it is full and h < |X'|, then
  h = |X'| − 1 and Y' has at most β − |X'| = |R| − 1 members, so that an output of R outside Y' is overwritten.
- A read of an output w is left out where w is finished or in R. Else it is played, and w gets h >= |X'| pairs. If the
  game's Buffer is full and h > |X'|, an input is overwritten. If it is full and h = |X'|, then Y' without w has at most
  β − 1 − |X'| < |R| members, so that an output of R outside Y' is overwritten.

So the game needs no more reads of inputs and no more reads of outputs than the schedule.

More is never worse: a state is *at least as good* as another if it holds at least as many inputs and its outputs can be
matched to the other's such that each has at least as many pairs and is in Buffer (or finished) where the other is. It
plays the other's reads and stays at least as good: a read of what is finished, or of an input where all are held, is
left out, and an output that it holds already is read in place. If its Buffer is full, it holds β vertices, of which the
other needs at most β − 1 beside the one read, so there is one to overwrite. Hence of all states after the same reads
only the best need be kept, and nothing need be overwritten before Buffer is full.

From i inputs held, a reads of inputs and o of outputs do at most P(i, a, o) pairs: an input read does β − i pairs and
leaves i, or β − i − 1 and leaves i + 1; an output read does i and leaves i, or i − 1 and leaves i − 1.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from jouleloop.jit import njit

Labels = npt.NDArray[np.uint8]
"""One state a row: 0 … n−1 outputs in Buffer by pairs done, n … 2n−1 outputs outside, inputs held, output reads."""


@dataclass(frozen=True)
class Budget:
    """What a schedule may use."""

    inputs: int
    outputs: int
    buffer_words: int
    """n, m and β."""
    accesses: int
    """The most 2μ + ν."""
    input_reads: int
    """The most ν."""


@dataclass(frozen=True)
class Refutation:
    """All states that matter, by the number of reads so far; the budget suffices for no schedule."""

    budget: Budget
    levels: tuple[Labels, ...]
    """After 0, 1, … reads the best states from which the budget might still suffice; none is finished and the last
    level leads nowhere."""

    @property
    def states(self) -> int:
        """How many states are kept in all."""
        return sum(len(level) for level in self.levels)


def refute(budget: Budget, most_states: int = 3_000_000) -> Refutation | None:
    """Return why no schedule keeps within the budget, or None where the game can be won or has too many states."""
    n, m, beta = budget.inputs, budget.outputs, budget.buffer_words
    pairs = _most_pairs(beta, budget.input_reads, budget.accesses // 2)
    level = np.zeros((1, 2 * n + 2), np.uint8)
    level[0, n] = m
    levels = []
    kept = 0
    while len(level):
        levels.append(level)
        kept += len(level)
        if kept > most_states:
            return None
        allowed = _allowed_pairs(budget, pairs, len(levels))
        room = max(1024, 16 * len(level))
        while True:
            after = np.zeros((room, 2 * n + 2), np.uint8)
            count = _expand(level, n, beta, allowed, after)
            if count >= 0:
                break
            room *= 4
        level = _best(np.unique(after[:count], axis=0), n, m)
        if len(level) and bool(np.any(level[:, : 2 * n].sum(axis=1) == 0)):
            return None
    return Refutation(budget, tuple(levels))


@njit
def _most_pairs(beta: Any, input_reads: Any, output_reads: Any) -> Any:
    """Return P(i, a, o), of shape (β + 1, reads of inputs + 1, reads of outputs + 1)."""
    table = np.zeros((beta + 1, input_reads + 1, output_reads + 1), np.int32)
    for a in range(input_reads + 1):
        for o in range(output_reads + 1):
            for held in range(beta + 1):
                best = 0
                if a > 0 and held > 0:
                    best = max(best, beta - held + table[held, a - 1, o])
                if a > 0 and held < beta:
                    best = max(best, beta - held - 1 + table[held + 1, a - 1, o])
                if o > 0 and held < beta:
                    best = max(best, held + table[held, a, o - 1])
                if o > 0 and held > 0:
                    best = max(best, held - 1 + table[held - 1, a, o - 1])
                table[held, a, o] = best
    return table


def _allowed_pairs(budget: Budget, pairs: npt.NDArray[np.int32], reads: int) -> npt.NDArray[np.int32]:
    """Return how many pairs may be missing after so many reads, by inputs held, output reads, outputs outside."""
    m, most_outputs = budget.outputs, budget.accesses // 2
    allowed = np.full((budget.buffer_words + 1, most_outputs + 1, m + 1), -1, np.int32)
    for before in range(min(reads, most_outputs) + 1):
        inputs_before = reads - before
        best = np.full(budget.buffer_words + 1, -1, np.int32)
        for final in range(most_outputs, before - 1, -1):
            inputs_final = min(budget.input_reads, budget.accesses - 2 * final)
            if inputs_final >= max(inputs_before, budget.inputs) and final >= m:
                best = np.maximum(best, pairs[:, inputs_final - inputs_before, final - before])
            if final - before <= m:
                allowed[:, before, final - before] = best
    return allowed


@njit
def _play(before: Any, state: Any, n: Any, victim: Any, read: Any) -> Any:
    """Write the state after a read: -1 of an input; 0 … n − 1 of an output outside; n … 2n − 1 of one in Buffer.

    Return whether there is such a read.
    """
    state[:] = before
    held = np.int64(before[2 * n]) - (1 if victim == -1 else 0)
    if victim >= 0:
        state[victim] -= 1
        state[n + victim] += 1
    if read == -1:
        if held >= n:
            return False
        held += 1
        for done in range(n - 1, 0, -1):
            state[done] = state[done - 1]
        state[0] = 0
    else:
        done = read % n
        source = n + done if read < n else done
        if state[source] == 0 or (read < n and done == victim and before[n + done] == 0):
            return False
        state[source] -= 1
        if done + held < n:
            state[done + held] += 1
        state[2 * n + 1] += 1
    state[2 * n] = held
    return True


@njit
def _may_end(state: Any, n: Any, allowed: Any) -> Any:
    """Whether a state may still end within the budget."""
    missing = 0
    outside = 0
    for pairs in range(n):
        missing += (state[pairs] + state[n + pairs]) * (n - pairs)
        outside += state[n + pairs]
    reads = state[2 * n + 1]
    return reads < allowed.shape[1] and missing <= allowed[state[2 * n], reads, outside]


@njit
def _expand(level: Any, n: Any, beta: Any, allowed: Any, after: Any) -> Any:
    """Write every state reached by one read that may still end within the budget; return how many, or -1 if no room."""
    count = 0
    state = np.zeros(2 * n + 2, np.uint8)
    for row in range(level.shape[0]):
        present = np.int64(level[row, 2 * n])
        for done in range(n):
            present += level[row, done]
        full = present >= beta
        for victim in range(-2, n):
            # A full Buffer overwrites an input (-1) or an output with so many pairs, another one nothing (-2).
            overwritten = level[row, 2 * n if victim < 0 else victim]
            if (full and overwritten == 0) or (not full and victim > -2):
                continue
            # An output in Buffer is read in place, which overwrites nothing; at a full Buffer nothing else is.
            for read in range(n if full and victim == -2 else -1, 2 * n if victim == -2 else n):
                if not _play(level[row], state, n, victim, read) or not _may_end(state, n, allowed):
                    continue
                if count >= after.shape[0]:
                    return -1
                after[count] = state
                count += 1
    return count


def _best(states: Labels, n: int, m: int) -> Labels:
    """Return the states that no other with as many output reads is at least as good as."""
    if len(states) == 0:
        return states
    inside, outside = cumulative(states, n, m)
    # A better state has no smaller weight: it has no fewer outputs in Buffer, nor in all, with any number of pairs.
    weight = 2 * inside.sum(axis=1) + outside.sum(axis=1) + states[:, 2 * n]
    order = np.lexsort((-weight, states[:, 2 * n + 1]))
    states, inside, outside = states[order], inside[order], outside[order]
    best: Labels = states[_undominated(inside, outside, states[:, 2 * n].copy(), states[:, 2 * n + 1].copy())]
    return best


def cumulative(states: Labels, n: int, m: int) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
    """Return, for t = 0 … n, how many outputs in Buffer or finished, and how many outside, have at least t pairs."""
    finished = m - states[:, : 2 * n].sum(axis=1, dtype=np.int32)
    inside = np.zeros((len(states), n + 1), np.int32)
    outside = np.zeros((len(states), n + 1), np.int32)
    inside[:, :n] = np.cumsum(states[:, :n][:, ::-1], axis=1)[:, ::-1]
    outside[:, :n] = np.cumsum(states[:, n : 2 * n][:, ::-1], axis=1)[:, ::-1]
    return inside + finished[:, None], outside


@njit
def _undominated(inside: Any, outside: Any, held: Any, reads: Any) -> Any:
    """Return the rows to keep; rows are ordered by reads, then from the heaviest."""
    size = inside.shape[1]
    keep = np.zeros(len(held), np.int64)
    kept = 0
    first = 0
    for row in range(len(held)):
        if row > 0 and reads[row] != reads[row - 1]:
            first = kept
        dominated = False
        for index in range(first, kept):
            other = keep[index]
            if held[other] < held[row]:
                continue
            # Hall's condition for a matching: for t <= u the other has enough in Buffer with t and outside with u.
            least = np.int64(1 << 30)
            good = True
            for t in range(size):
                least = min(least, inside[other, t] - inside[row, t])
                if least + outside[other, t] - outside[row, t] < 0:
                    good = False
                    break
            if good:
                dominated = True
                break
        if not dominated:
            keep[kept] = row
            kept += 1
    return keep[:kept]
