"""From transfers to accesses in symbols: bypass, peers, then reads, fills and updates of each level."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from jouleloop.model.polynomial import Polynomial, nearest_whole

_ZERO, _ONE = Polynomial.constant(0), Polynomial.constant(1)


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
    sent: list[tuple[list[tuple[int, ...] | None], Polynomial]] = field(default_factory=list)
    """What is sent over the fan-out: by instance its box, None where a neighbour hands it on; and words to each box."""
    carries: list[tuple[int, int, float]] = field(default_factory=list)
    """The groups that networks carry, in doubles: what Timeloop cuts to whole numbers hangs on its rounding."""
    partition: Polynomial = _ZERO
    """Words that one instance of the level ever sees."""
    carried: tuple[Polynomial, Polynomial, Polynomial, Polynomial] | None = None
    """What the network carries for instances that send words to each other's inner nodes: multicast and scatter factor,
    words, and by how much they are more than those that were sent before."""

    def only(self) -> tuple[Polynomial, Polynomial, Polynomial] | None:
        """Return the one group of transfers; None where there is none or several."""
        moving = [group for group in self.groups if group[2].value]
        return moving[0] if len(moving) == 1 else None

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
    spreads: Sequence[bool] = (),
) -> list[Accesses] | None:
    """Return the accesses at every level, innermost first; those of bypassed levels are empty.

    The flows are then those that pass once bypassed levels are gone. None where no M:N network takes them.

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
    spreads
        By level, whether its instances may send words to each other's inner nodes (``network-type: M:N``).
    """
    levels = len(flows)
    for flow, seen in zip(flows, _partitions(flows) if read_write else (), strict=False):
        flow.partition = seen
    for flow in flows:
        flow.carries = [(int(m.value), int(s.value), float(words.value)) for m, s, words in flow.groups]
    content = [flow.words() for flow in flows]
    share = [flows[i + 1].received().over(fanout[i + 1]) for i in range(levels - 1)] + [_ZERO]
    doubles = [sum(words for _, _, words in flow.carries) for flow in flows]
    rounded = [
        sum(words * m / float(fan.value) for m, _, words in flow.carries)
        for flow, fan in zip(flows[1:], fanout[1:], strict=True)
    ] + [0.0]
    if any(spreads) and not _spread(flows, spreads, content, share, (doubles, rounded)):
        return None
    for level in range(levels - 1):
        if keep[level]:
            continue
        # The next outer level is accessed as often as the bypassed one was.
        outer = flows[level + 1]
        received = outer.received()
        weighted = sum(words * m for m, _, words in outer.carries)
        factor = doubles[level] * float(fanout[level + 1].value) / weighted if weighted else 0.0
        outer.carries = [(m, s, words * factor) for m, s, words in outer.carries]
        doubles[level + 1] = sum(words for _, _, words in outer.carries)
        if received.value:
            asked = content[level] * fanout[level + 1]
            multicast, scatter, _ = outer.groups[0]
            if all(group[0].terms == multicast.terms for group in outer.groups):
                outer.groups = [(multicast, scatter, asked.over(multicast))]
            else:
                outer.groups = [(m, s, words.over(received) * asked) for m, s, words in outer.groups]
        else:
            outer.groups = [(m, s, _ZERO) for m, s, _ in outer.groups]
        outer.links = _ZERO
        content[level + 1] = outer.words()
    outermost = max(index for index in range(levels) if keep[index])
    for level in range(outermost + 1, levels):
        flows[level].links, flows[level].groups, flows[level].carries = _ZERO, [], []
    share[outermost], rounded[outermost] = _ZERO, 0.0
    partition = [flow.partition for flow in flows]
    result = []
    for level in range(levels):
        if not keep[level]:
            result.append(Accesses())
            continue
        peers = _ZERO
        if level + 1 < levels and flows[level + 1].links.value:
            peers = flows[level + 1].links.over(instances[level])
        asked, filled = content[level] + peers, share[level] + peers
        # Timeloop adds up in doubles what it cuts to a whole number, so it can be one less.
        cut = Polynomial(filled.terms, math.floor(rounded[level] + float(peers.value)))
        if not read_write:
            result.append(Accesses(asked.rounded(nearest_whole), cut))
            continue
        if not elided:
            fills = cut
        elif level == outermost:
            fills = filled.rounded(nearest_whole)
        else:
            fills = (filled - partition[level]).rounded(nearest_whole)
        reads = (asked - partition[level]).rounded(nearest_whole)
        result.append(Accesses(reads, fills, content[level].rounded(nearest_whole)))
    return result


def _spread(
    flows: Sequence[Flow],
    spreads: Sequence[bool],
    content: list[Polynomial],
    share: list[Polynomial],
    rounded: tuple[list[float], list[float]],
) -> bool:
    """Let the instances of the innermost level that may share what all of them would hold (``DistributeTiles``).

    Returns whether transfers are of one kind on both networks: where not, Timeloop ends.
    """
    for level in range(len(flows) - 1):
        if not spreads[level]:
            continue
        here, outside = flows[level].only(), flows[level + 1].only()
        if here is None or outside is None:
            return False
        multicast, scatter, words = outside
        if multicast.value == 1:
            continue
        outer, own = flows[level + 1], flows[level]
        outer.carried = (multicast, scatter, here[2], here[2].over(words))
        outer.groups = [(_ONE, scatter * multicast, words)]
        own.partition = ((own.partition - 1).over(multicast)).rounded(math.floor) + 1
        content[level] = (content[level] - 1).over(multicast) + 1
        share[level] = (share[level] - 1).over(multicast) + 1
        outer.carries = [(1, int((scatter * multicast).value), float(words.value))]
        for kind in rounded:
            kind[level] = 1.0 + (kind[level] - 1.0) / float(multicast.value)
        return True
    return True


def _partitions(flows: Sequence[Flow]) -> list[Polynomial]:
    """Return the words that one instance of each level ever sees."""
    partition = [flows[-1].tile]
    for level in range(len(flows) - 2, -1, -1):
        spread = flows[level + 1].sibling or flows[level].tile
        partition.insert(0, (partition[0] * flows[level].tile).over(spread).rounded(math.floor))
    return partition
