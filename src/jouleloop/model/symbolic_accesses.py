"""From transfers to accesses in symbols: bypass, peers, then reads, fills and updates of each level."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from jouleloop.model.polynomial import Polynomial, nearest_whole

_ZERO = Polynomial.constant(0)


@dataclass
class Flow:
    """What one data space moves below one level."""

    tile: Polynomial = _ZERO
    sibling: Polynomial | None = None
    """Words of the box held, and of the box that all instances below span together (None without spatial loops)."""
    groups: list[tuple[Polynomial, Polynomial, Polynomial]] = field(default_factory=list)
    """(multicast factor, scatter factor, words) of each group of transfers."""
    links: Polynomial = _ZERO
    """Words that mesh links carry."""

    def add(self, multicast: Polynomial, scatter: Polynomial, words: Polynomial) -> None:
        """Add transfers, to the group of the same factors where there is one."""
        for index, (m, s, before) in enumerate(self.groups):
            if m.value == multicast.value and s.value == scatter.value:
                self.groups[index] = (m, s, before + words)
                return
        self.groups.append((multicast, scatter, words))

    def record(self, boxes: Counter[tuple[int, ...]], words: Polynomial) -> None:
        """Add ``words`` for every distinct box: those that equally many instances need form a group."""
        for size, number in Counter(boxes.values()).items():
            self.add(Polynomial.constant(size), Polynomial.constant(number), words.times(number))

    def words(self) -> Polynomial:
        """Words that leave the level."""
        total = _ZERO
        for _, _, words in self.groups:
            total = total + words
        return total

    def received(self) -> Polynomial:
        """Words that arrive at all instances below together."""
        total = _ZERO
        for multicast, _, words in self.groups:
            total = total + words * multicast
        return total


@dataclass(frozen=True)
class Accesses:
    """Scalar accesses of one instance, in words."""

    reads: Polynomial = _ZERO
    fills: Polynomial = _ZERO
    updates: Polynomial = _ZERO


def collapse_flows(
    flows: Sequence[Flow],
    keep: Sequence[bool],
    fanout: Sequence[Polynomial],
    instances: Sequence[Polynomial],
    *,
    read_write: bool,
    elided: bool,
) -> list[Accesses]:
    """Return the accesses at every level, innermost first; those of bypassed levels are empty.

    Parameters
    ----------
    flows
        Of one data space, by level, innermost first.
    keep
        Whether the data space is stored at each level.
    fanout, instances
        Utilized instances below one instance of each level, and of each level.
    elided
        Whether the first fill of an output is left out (Timeloop since 2 May 2023).
    """
    levels = len(flows)
    content = [flow.words() for flow in flows]
    share = [flows[i + 1].received().over(fanout[i + 1]) for i in range(levels - 1)] + [_ZERO]
    links = [flow.links for flow in flows]
    for level in range(levels - 1):
        if keep[level]:
            continue
        # The next outer level is accessed as often as the bypassed one was.
        outer = flows[level + 1]
        received = outer.received()
        if received.value:
            asked = content[level] * fanout[level + 1]
            multicast, scatter, _ = outer.groups[0]
            if all(group[0].terms == multicast.terms for group in outer.groups):
                outer.groups = [(multicast, scatter, asked.over(multicast))]
            else:
                outer.groups = [(m, s, words.over(received) * asked) for m, s, words in outer.groups]
            links[level + 1] = _ZERO
        else:
            outer.groups = [(m, s, _ZERO) for m, s, _ in outer.groups]
            links[level + 1] = _ZERO
        content[level + 1] = outer.words()
    outermost = max(index for index in range(levels) if keep[index])
    for level in range(outermost + 1, levels):
        links[level] = _ZERO
    share[outermost] = _ZERO
    partition = _partitions(flows) if read_write else [_ZERO] * levels
    result = []
    for level in range(levels):
        if not keep[level]:
            result.append(Accesses())
            continue
        peers = _ZERO
        if level + 1 < levels and links[level + 1].value:
            peers = links[level + 1].over(instances[level])
        asked, filled = content[level] + peers, share[level] + peers
        if not read_write:
            result.append(Accesses(asked.rounded(nearest_whole), filled.rounded(math.floor)))
            continue
        if not elided:
            fills = filled.rounded(math.floor)
        elif level == outermost:
            fills = filled.rounded(nearest_whole)
        else:
            fills = (filled - partition[level]).rounded(nearest_whole)
        reads = (asked - partition[level]).rounded(nearest_whole)
        result.append(Accesses(reads, fills, content[level].rounded(nearest_whole)))
    return result


def _partitions(flows: Sequence[Flow]) -> list[Polynomial]:
    """Return the words that one instance of each level ever sees."""
    partition = [flows[-1].tile]
    for level in range(len(flows) - 2, -1, -1):
        spread = flows[level + 1].sibling or flows[level].tile
        partition.insert(0, (partition[0] * flows[level].tile).over(spread).rounded(math.floor))
    return partition
