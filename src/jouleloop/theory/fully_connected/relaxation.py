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

The relaxation bounds V: a normal schedule is followed by a relaxed one that costs no more, read by read as
`counting_game` proves. The one step that rule 3 forbids to the relaxed state alone (the exact Buffer has a free place,
the relaxed one holds something more there) is made up for at the following read, in the other order. The bound is
admissible; it need not be consistent.
"""

from dataclasses import dataclass, field
from math import comb
from typing import Any

import numpy as np
from numpy import uint64 as word

from jouleloop.jit import njit
from jouleloop.theory.fully_connected.canonical import mix

FULL = -1
"""What the kernel answers where its table is full."""

_UNREACHED = 30_000
#: A value of the table is the cost, below the number of anonymous vertices held plus 1; 0 is a free place.
_COST_BITS = 16
_COST_MASK = (1 << _COST_BITS) - 1
_SMALLEST_TABLE_BITS = 14
LARGEST_TABLE_BITS = 24


@njit
def _place(inside: Any, outside: Any, held: Any, keys: Any, values: Any) -> Any:
    """Return the place in the table of a state, or the free one where it belongs."""
    slots = word(keys.shape[0] - 1)
    place = mix(inside ^ mix(outside ^ mix(word(held)))) & slots
    while values[place] > 0:
        if keys[place, 0] == inside and keys[place, 1] == outside and values[place] >> _COST_BITS == held + 1:
            break
        place = (place + word(1)) & slots
    return place


@njit
def _count(histogram: Any, width: Any, done: Any) -> Any:
    """Return how many vertices have so many pairs done."""
    return np.int64((histogram >> word(width * done)) & ((word(1) << word(width)) - word(1)))


@njit
def _expand(inside: Any, outside: Any, held: Any, rules: Any, reads: Any) -> None:
    """Add to ``reads`` all that its last state allows: the state each leads to, its price, and where the last is."""
    parent = len(reads) - 1
    size, width, beta, price, price_tracked = rules
    all_mask = (word(1) << word(width * size)) - word(1) if width * size < 64 else ~word(0)
    present: Any = 0
    for done in range(size):
        present += _count(inside, width, done)
    full = held + present >= beta
    for victim in range(-2, size):
        # A full Buffer overwrites an anonymous vertex (-1) or a tracked one with so many pairs; another none (-2).
        if (victim > -2) != full or (victim == -1 and held == 0) or (victim >= 0 and not _count(inside, width, victim)):
            continue
        unit = word(1) << word(width * victim) if victim >= 0 else word(0)
        kept, gone, held_after = inside - unit, outside + unit, held - (1 if victim == -1 else 0)
        if held_after < size and (kept > 0 or not full):
            reads.append(((kept << word(width)) & all_mask, gone, held_after + 1, price, parent))
        for done in range(size if held_after > 0 or not full else 0):
            if _count(gone, width, done) <= (1 if done == victim else 0):
                continue
            reached = done + held_after
            entered = kept if reached >= size else kept + (word(1) << word(width * reached))
            reads.append((entered, gone - (word(1) << word(width * done)), held_after, price_tracked, parent))


@njit
def cost_to_finish(inside: Any, outside: Any, held: Any, rules: Any, keys: Any, values: Any) -> Any:
    """Return the least relaxed cost from a state, or FULL.

    ``inside`` and ``outside`` hold, in fields of ``width`` bits, how many tracked vertices in and out of Buffer have
    0, 1, … ``size`` − 1 pairs done; ``held`` anonymous vertices out of ``size`` are in Buffer. ``rules`` are size,
    width, β and the prices of an anonymous and a tracked vertex, the arrays those of `CountRelaxation.table`.
    """
    # Depth first: reads to be followed, and the least cost from each state by those that were; -1 before any was.
    reads = [(inside, outside, np.int64(held), np.int64(0), np.int64(-1))]
    least = [np.int64(-1)]
    best = np.int64(0)
    while len(reads) > 0:
        inside, outside, held, price, parent = reads[-1]
        place = _place(inside, outside, held, keys, values)
        finished = inside == 0 and outside == 0
        if finished or values[place] > 0:
            best = np.int64(0 if finished else values[place] & _COST_MASK)
        elif least[-1] < 0:
            least[-1] = np.int64(_UNREACHED)
            _expand(inside, outside, held, rules, reads)
            while len(least) < len(reads):
                least.append(np.int64(-1))
            continue
        else:
            best = least[-1]
            if 4 * (values[-1] + 1) > 3 * keys.shape[0]:
                return np.int64(FULL)
            keys[place, 0], keys[place, 1] = inside, outside
            values[place] = (held + 1) << _COST_BITS | best
            values[-1] += 1
        reads.pop()
        least.pop()
        if parent >= 0:
            least[parent] = min(least[parent], price + best)
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
    def most_states(self) -> int:
        """An upper limit to the states, to judge the size of the problem before solving it."""
        return sum(
            comb(present + self.anonymous - 1, present)
            * comb(self.tracked - present + self.anonymous, self.anonymous)
            * (min(self.anonymous, self.buffer_words - present) + 1)
            for present in range(min(self.tracked, self.buffer_words) + 1)
        )

    def _allocate(self) -> None:
        places = 1 << self.table_bits
        # Histograms of each state; its value, and last how many states there are.
        self.table = np.zeros((places, 2), np.uint64), np.zeros(places + 1, np.int32)

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


def relaxations(inputs: int, outputs: int, buffer_words: int) -> tuple[CountRelaxation, CountRelaxation]:
    """Return the relaxation that tracks outputs and the one that tracks inputs; reads cost 1 and 2."""
    return CountRelaxation(inputs, outputs, buffer_words, 1, 2), CountRelaxation(outputs, inputs, buffer_words, 2, 1)
