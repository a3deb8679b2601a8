"""A lower bound on the cost to finish a fully-connected layer in which one side of the pairs has no identity.

The exact problem is relaxed by counting. The vertices of one side, say the outputs, are *tracked*: for each is known
how many of its pairs are done and whether it is in Buffer. The other side, the inputs, is *anonymous*: only their
number i in Buffer is known. Reading an anonymous vertex does one new pair with every unfinished tracked vertex in
Buffer; reading a tracked one does min(i, missing) new pairs.

Normal schedules. In the exact problem (002 section 4, conditions 1–4) let V be the least cost to finish.

1. More is never worse: V does not rise when Buffer or the done pairs grow within capacity. Play the smaller state's
   schedule and keep the extra vertex z until a read finds Buffer full with it; overwrite z there. A read of z is left
   out, and what it would have overwritten takes the part of z. So nothing is overwritten unless Buffer is full.
2. A finished vertex adds no pair, so its place counts as free at once.
3. No read at a full Buffer need leave one side alone there. Let such reads v1 … vk, of inputs say, begin by overwriting
   the only output z and end with the read of an output u onto an input. If u = z, keep z and read only those of the vi
   that are there at the end, onto the inputs that are not; else read u onto z first and those vi afterwards. No pair is
   lost, no read is added.

The relaxation bounds V: a normal schedule is followed by a relaxed one that costs no more. The invariant is that the
relaxed state has at least as many inputs in Buffer, every unfinished output of the exact Buffer, and for an output w
in its Buffer at least |met(w) ∪ inputs in the exact Buffer| pairs, for the others at least |met(w)|. A read of an
output that the relaxed Buffer still holds is left out: the inputs that are new to w came in while w was held and were
counted then. Where the relaxed Buffer is full it overwrites the same vertex, or one it holds beyond the exact Buffer.
All inputs held means that all outputs held are finished, as none has fewer pairs done than inputs are held. The one
step that rule 3 forbids to the relaxed state alone (the exact Buffer has a free place, the relaxed one holds something
more there) is made up for at the following read, in the other order. The bound is admissible; it need not be
consistent.
"""

from dataclasses import dataclass, field
from math import comb
from typing import Any

import numpy as np
from numpy import uint64 as word

from jouleloop.jit import njit

FULL = -1
"""What the kernel answers where its table is full."""

_UNREACHED = 30_000
_SMALLEST_TABLE_BITS = 14
LARGEST_TABLE_BITS = 24


@njit
def _hash(inside: Any, outside: Any, anonymous: Any) -> Any:
    mixed = inside * word(0x9E3779B97F4A7C15) ^ outside * word(0xC2B2AE3D27D4EB4F)
    mixed += word(anonymous) * word(0x165667B19E3779F9)
    mixed = (mixed ^ (mixed >> word(29))) * word(0xBF58476D1CE4E5B9)
    return mixed ^ (mixed >> word(32))


@njit
def cost_to_finish(
    inside: Any, outside: Any, held: Any, rules: Any, k_in: Any, k_out: Any, k_held: Any, values: Any, used: Any
) -> Any:
    """Return the least relaxed cost from a state, or FULL.

    ``inside`` and ``outside`` hold, in fields of ``width`` bits, how many tracked vertices in and out of Buffer have
    0, 1, … ``size`` − 1 pairs done; ``held`` anonymous vertices out of ``size`` are in Buffer. ``rules`` are size,
    width, β and the prices of an anonymous and a tracked vertex, the arrays those of `CountRelaxation.table`: one by
    one, as taking them from a tuple in every call costs half as much again.
    """
    if inside == 0 and outside == 0:
        return 0
    size, width, beta, price, price_tracked = rules
    slots = word(k_in.shape[0] - 1)
    place = _hash(inside, outside, held) & slots
    while k_held[place] >= 0:
        if k_in[place] == inside and k_out[place] == outside and k_held[place] == held:
            return values[place]
        place = (place + word(1)) & slots
    field_mask = (word(1) << word(width)) - word(1)
    all_mask = (word(1) << word(width * size)) - word(1) if width * size < 64 else ~word(0)
    present: Any = 0
    for count in range(size):
        present += np.int64((inside >> word(width * count)) & field_mask)
    full = held + present >= beta
    best = _UNREACHED
    # What is overwritten: -2 nothing, -1 an anonymous vertex, else a tracked one with that many pairs done.
    for victim in range(-2, size):
        in_after, out_after, held_after, present_after = inside, outside, held, present
        if not full:
            if victim != -2:
                break
        elif victim == -2 or (victim == -1 and held == 0):
            continue
        elif victim == -1:
            held_after -= 1
        else:
            unit = word(1) << word(width * victim)
            if (inside >> word(width * victim)) & field_mask == 0:
                continue
            in_after -= unit
            out_after += unit
            present_after -= 1
        if held_after < size and (present_after > 0 or not full):
            rest = cost_to_finish(
                (in_after << word(width)) & all_mask,
                out_after,
                held_after + 1,
                rules,
                k_in,
                k_out,
                k_held,
                values,
                used,
            )
            if rest == FULL:
                return FULL
            best = min(best, price + rest)
        if held_after > 0 or not full:
            for count in range(size):
                there = (out_after >> word(width * count)) & field_mask
                if there == 0 or (count == victim and there == 1):
                    continue
                reached = count + held_after
                entered = in_after if reached >= size else in_after + (word(1) << word(width * reached))
                left = out_after - (word(1) << word(width * count))
                rest = cost_to_finish(entered, left, held_after, rules, k_in, k_out, k_held, values, used)
                if rest == FULL:
                    return FULL
                best = min(best, price_tracked + rest)
    if 4 * (used[0] + 1) > 3 * k_in.shape[0]:
        return FULL
    place = _hash(inside, outside, held) & slots
    while k_held[place] >= 0:
        place = (place + word(1)) & slots
    k_in[place] = inside
    k_out[place] = outside
    k_held[place] = held
    values[place] = best
    used[0] += 1
    return best


@dataclass
class CountRelaxation:
    """The relaxed problem with its table of values found so far."""

    anonymous: int
    """How many vertices have no identity; each read of one costs ``price``."""
    tracked: int
    """How many are tracked; each read of one costs ``price_tracked``."""
    buffer_words: int
    """β."""
    price: int
    price_tracked: int
    table_bits: int = _SMALLEST_TABLE_BITS
    """The table has 2**table_bits places."""
    width: int = field(init=False)

    def __post_init__(self) -> None:
        self.width = max(4, self.tracked.bit_length())
        self._allocate()

    @property
    def rules(self) -> tuple[int, int, int, int, int]:
        """What the kernel has to know besides the state."""
        return self.anonymous, self.width, self.buffer_words, self.price, self.price_tracked

    @property
    def representable(self) -> bool:
        """Whether the histograms fit a 64-bit word."""
        return self.width * self.anonymous <= 64 and self.anonymous <= 100

    @property
    def states(self) -> int:
        """How many states have a value."""
        return int(self.used[0])

    def _allocate(self) -> None:
        places = 1 << self.table_bits
        self.used = np.zeros(1, np.int64)
        inside, outside = np.zeros(places, np.uint64), np.zeros(places, np.uint64)
        self.table = (inside, outside, np.full(places, -1, np.int8), np.zeros(places, np.int16), self.used)

    def grow(self) -> bool:
        """Double the table four times over and forget its values; False where it is as large as allowed."""
        if self.table_bits >= LARGEST_TABLE_BITS:
            return False
        self.table_bits = min(LARGEST_TABLE_BITS, self.table_bits + 4)
        self._allocate()
        return True

    def bound(self, largest_table_bits: int = LARGEST_TABLE_BITS) -> int | None:
        """Return the least relaxed cost from the empty Buffer, or None where the table would become too large."""
        if not self.representable:
            return None
        while True:
            found = cost_to_finish(np.uint64(0), np.uint64(self.tracked), 0, self.rules, *self.table)
            if found != FULL:
                return int(found)
            if self.table_bits >= largest_table_bits or not self.grow():
                return None


def relaxed_states(anonymous: int, tracked: int, buffer_words: int) -> int:
    """Return an upper limit to the states of the relaxed problem, to judge its size before solving it."""
    return sum(
        comb(present + anonymous - 1, present)
        * comb(tracked - present + anonymous, anonymous)
        * (min(anonymous, buffer_words - present) + 1)
        for present in range(min(tracked, buffer_words) + 1)
    )


def output_relaxation(inputs: int, outputs: int, buffer_words: int) -> CountRelaxation:
    """Return the relaxation that tracks outputs: a read of an anonymous input costs 1, of an output 2."""
    return CountRelaxation(inputs, outputs, buffer_words, 1, 2)


def input_relaxation(inputs: int, outputs: int, buffer_words: int) -> CountRelaxation:
    """Return the relaxation that tracks inputs: a read of an anonymous output costs 2, of an input 1."""
    return CountRelaxation(outputs, inputs, buffer_words, 2, 1)
