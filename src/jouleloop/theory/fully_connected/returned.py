"""A dataflow for β = 3 and an odd number of outputs that reads one output twice; cheaper than nearly equal groups.

Let m = 2K − 1. Buffer holds one input and two outputs. In phase j = 1 … m these are y_j and y_{j+1} (y_m and y_1 in the
last one), and the inputs of a set A_j come one after another; then y_{j+2} overwrites y_j, while the input stays.

- An output y_j with 1 < j meets A_{j−1} ∪ A_j. So A_j holds the inputs outside A_{j−1} and the one that stayed, c_j.
  With |A_1| = 1 + a the sizes alternate: 1 + a for odd j, n − a for even j.
- From one odd phase to the next A changes in one member: A_{j+2} = A_j − c_{j+1} + c_{j+2}.
- y_1 meets A_1 ∪ A_m, so after K − 1 such changes A_m must hold every input outside A_1. There are n − 1 − a of them,
  and A_m has 1 + a members: a = max(n − K, ⌈n/2⌉ − 1).

With μ = m + 1 reads of outputs, ν = 1 + Ka + (K − 1)(n − 1 − a) reads of inputs:

    2μ + ν = K(n + 2) + 2             for n >= m − 1,
    2μ + ν = Kn + 3K + 1 − ⌊n/2⌋      for n <= m − 1,

which is K − 3, or ⌊n/2⌋ − 2, less than nearly equal groups cost. Used for n >= 6 and m >= 7, where it is less.
"""

from jouleloop.errors import AssumptionError, Fault
from jouleloop.theory.fully_connected.schedule import Read, Schedule, Vertex

FEWEST_STREAMED = 6
FEWEST_GROUPED = 7


def applies(streamed: int, grouped: int, buffer_words: int) -> bool:
    """Whether the dataflow exists and costs less than nearly equal groups."""
    return buffer_words == 3 and grouped % 2 == 1 and streamed >= FEWEST_STREAMED and grouped >= FEWEST_GROUPED


def returned_reads(streamed: int, grouped: int) -> int:
    """Return how often the streamed side is read; the grouped one is read once a vertex, and one of it once more."""
    pairs = (grouped + 1) // 2
    first = _first_phase(streamed, pairs)
    return 1 + pairs * first + (pairs - 1) * (streamed - 1 - first)


def returned_output(inputs: int, outputs: int, buffer_words: int) -> Schedule:
    """Return the schedule.

    Raises
    ------
    AssumptionError
        For anything but β = 3, odd m >= 7 and n >= 6.
    """
    if not applies(inputs, outputs, buffer_words):
        text = "assumptions β = 3, m odd, m >= 7 and n >= 6 fail"
        raise AssumptionError(Fault(text, field="inputs, outputs, buffer", value=(inputs, outputs, buffer_words)))
    reads = [Read(Vertex("y", 1), None), Read(Vertex("y", 2), None)]
    last: Vertex | None = None
    for phase, order in enumerate(_phases(inputs, (outputs + 1) // 2), start=1):
        if phase > 1:
            reads.append(Read(Vertex("y", phase % outputs + 1), Vertex("y", phase - 1)))
        for index in order if phase == 1 else order[1:]:
            new = Vertex("x", index)
            reads.append(Read(new, last))
            last = new
    return Schedule("One output read twice", inputs, outputs, buffer_words, tuple(reads))


def _first_phase(inputs: int, pairs: int) -> int:
    return max(inputs - pairs, -(-inputs // 2) - 1)


def _phases(inputs: int, pairs: int) -> list[list[int]]:
    """Return for each phase its inputs in order: the one that stays from before first, the one that stays on last."""
    everything = set(range(1, inputs + 1))
    at_first = set(range(1, _first_phase(inputs, pairs) + 2))
    missing = sorted(everything - at_first)
    members = set(at_first)
    entered = 1  # the first input of all; it may not be the one that stays on
    phases = []
    spare = pairs - 1 - len(missing)
    for change in range(pairs - 1):
        leaves = min(x for x in members & at_first if x != entered)
        phases.append(_ordered(members, entered, leaves))
        even = (everything - members) | {leaves}
        # After the first change those that bring in nothing new: one of the first inputs goes, another comes back.
        neutral = 0 < change <= spare
        enters = min(x for x in even & at_first if x != leaves) if neutral else missing.pop()
        phases.append(_ordered(even, leaves, enters))
        members = (members - {leaves}) | {enters}
        entered = enters
    phases.append(_ordered(members, entered, min(members - {entered})))
    return phases


def _ordered(members: set[int], first: int, last: int) -> list[int]:
    return [first, *sorted(members - {first, last}), last]
