"""A dataflow for β − 1 not dividing m that reads β − 2 outputs twice; for many groups cheaper than nearly equal ones.

Let b = β − 1, K = ⌈m/b⌉ and t = m − b(K − 1) < b. Buffer holds one input and b outputs. In phase j = 1 … m these are
y_j … y_{j+b−1}, cyclically, and some inputs come one after another; then y_{j+b} overwrites y_j, while the input stays
for the next phase: it is *carried* over the boundary after phase j. So an output stays for b phases, the first b − 1
outputs come back at the end, and μ = m + b − 1.

An input has to be there in one of every b consecutive phases (cyclically). A visit is a phase, or two where it is
carried. From one visit to the next the starts differ by at most b, and by b + 1 where the first one is carried.

- Without being carried an input needs K visits: phases 1, 1 + b, …
- Carried over t boundaries b + 1 apart, from j on, it needs K − 1, as (K − 1)b + t = m: j, j + b + 1, …, and then every
  b phases.
- Each b more boundaries save one visit more.

One input is carried over each of the m − 1 boundaries. Blocks of (b + 1)t boundaries serve b + 1 inputs, and a last
block of R boundaries serves R − (t − 1)(b + 1), if that is not negative: S visits in all, or n if that is less. For
β = 3 and n < m − 1 they are ⌊(m − 1 − n)/2⌋ more. The cost is 2(m + b − 1) + Kn − S, which
docs/theory-fully-connected.md compares with nearly equal groups.
"""

from jouleloop.errors import AssumptionError, Fault
from jouleloop.theory.fully_connected.schedule import Read, Schedule, Vertex

FEWEST_STREAMED = 6
FEWEST_GROUPS = 4


def applies(streamed: int, grouped: int, buffer_words: int) -> bool:
    """Whether the dataflow is used: for fewer groups or streamed vertices nearly equal groups cost no more."""
    group = buffer_words - 1
    enough = streamed >= max(FEWEST_STREAMED, buffer_words) and grouped > group * (FEWEST_GROUPS - 1)
    return group >= 2 and enough and 0 < buffer_words * (grouped % group) < grouped


def returned_reads(streamed: int, grouped: int, buffer_words: int) -> int:
    """Return how often the streamed side is read; the grouped one is read once a vertex, and β − 2 of it once more."""
    group = buffer_words - 1
    least = grouped % group
    blocks, rest = divmod(grouped - 1, buffer_words * least)
    saved = min(streamed, blocks * buffer_words + max(0, rest - (least - 1) * buffer_words))
    if group == 2:
        saved += max(0, grouped - 1 - streamed) // group
    return (grouped // group + 1) * streamed - saved


def returned_output(inputs: int, outputs: int, buffer_words: int) -> Schedule:
    """Return the schedule; raise `AssumptionError` where `applies` says no."""
    if not applies(inputs, outputs, buffer_words):
        text = "assumptions β >= 3, β − 1 does not divide m > 3(β − 1), tβ < m, n >= 6 and n >= β fail"
        raise AssumptionError(Fault(text, field="inputs, outputs, buffer", value=(inputs, outputs, buffer_words)))
    group = buffer_words - 1
    reads = [Read(Vertex("y", output), None) for output in range(1, group + 1)]
    last: Vertex | None = None
    for phase, order in enumerate(_phases(inputs, outputs, group), start=1):
        if phase > 1:
            reads.append(Read(Vertex("y", (phase + group - 2) % outputs + 1), Vertex("y", phase - 1)))
        for index in order:
            new = Vertex("x", index)
            if new != last:
                reads.append(Read(new, last))
                last = new
    return Schedule("Outputs read twice", inputs, outputs, buffer_words, tuple(reads))


def _phases(inputs: int, outputs: int, group: int) -> list[list[int]]:
    """Return for each phase the inputs that come, in order: the one that is carried on last."""
    coming: list[list[int]] = [[] for _ in range(outputs)]
    carried: dict[int, int] = {}
    for index, boundaries in enumerate(_boundaries(inputs, outputs, group), start=1):
        for boundary in boundaries:
            carried[(boundary - 1) % outputs + 1] = index
        for phase in _visits(boundaries, outputs, group):
            coming[phase - 1].append(index)
    held = 0
    for phase, members in enumerate(coming, start=1):
        keeps = carried.get(phase, 0)
        # What is held comes first without a read, and what is carried on comes last.
        members.sort(key=lambda index: (index == keeps, index != held, index))
        held = members[-1] if members else held
    return coming


def _visits(boundaries: list[int], outputs: int, group: int) -> list[int]:
    """Return the phases in which an input comes that is carried over these boundaries."""
    if not boundaries:
        return list(range(1, outputs + 1, group))
    phases = []
    for here, following in zip(boundaries, [*boundaries[1:], boundaries[0] + outputs], strict=True):
        phases += [here, *range(here + group + 1, following, group)]
    return [(phase - 1) % outputs + 1 for phase in phases]


def _boundaries(inputs: int, outputs: int, group: int) -> list[list[int]]:
    """Return over which boundaries each input is carried: t + b(s − 1) of them where it saves s visits.

    One after another lies b + 1, or some b more, further: between them a whole number of visits fits. Beyond m they
    stand for the boundaries m less. The first inputs save as many visits as they can, so that the rest fits between.
    """
    groups = outputs // group + 1
    left = groups * inputs - returned_reads(inputs, outputs, group + 1)
    free = set(range(1, outputs))
    found = []
    for others in range(inputs - 1, -1, -1):
        savings = max(min(left, 1), min((groups + 1) // (group + 1), left - others))
        spread = (
            _spread(first, outputs % group + group * (savings - 1), outputs, group, free) for first in sorted(free)
        )
        chosen = next(filter(None, spread)) if savings else []
        free -= {(boundary - 1) % outputs + 1 for boundary in chosen}
        left -= savings
        found.append(chosen)
    return found


def _spread(first: int, count: int, outputs: int, group: int, free: set[int]) -> list[int]:
    """Return ``count`` free boundaries from ``first`` on, or none."""
    chosen = [first]
    while len(chosen) < count:
        limit = first + outputs - (count - len(chosen)) * (group + 1)
        candidates = range(chosen[-1] + group + 1, limit + 1, group)
        following = next((after for after in candidates if (after - 1) % outputs + 1 in free), None)
        if following is None:
            return []
        chosen.append(following)
    return chosen
