"""From transfers to accesses in symbols: bypass, peers, then reads, fills and updates of each level."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from jouleloop.model.polynomial import Polynomial, nearest_whole

_ZERO, _ONE = Polynomial.constant(0), Polynomial.constant(1)


@dataclass
class SymbolicFlow:
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
    flows: Sequence[SymbolicFlow],
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
    for flow, seen in zip(flows, _partitions(flows) if read_write else (), strict=False):
        flow.partition = seen
    for flow in flows:
        flow.carries = [(int(m.value), int(s.value), float(words.value)) for m, s, words in flow.groups]
    rows = _rows(flows, fanout)
    if any(spreads) and not _spread(flows, spreads, rows):
        return None
    for level, outer in enumerate(flows[1:]):
        if not keep[level]:
            _bypass(outer, level, fanout[level + 1], rows)
    outermost = max(index for index in range(len(flows)) if keep[index])
    for flow in flows[outermost + 1 :]:
        flow.links, flow.groups, flow.carries = _ZERO, [], []
    rows.share[outermost], rows.rounded_share[outermost] = _ZERO, 0.0
    result = []
    for level, flow in enumerate(flows):
        peers = _ZERO
        if level + 1 < len(flows) and flows[level + 1].links.value:
            peers = flows[level + 1].links.over(instances[level])
        if not keep[level]:
            result.append(Accesses())
        elif read_write:
            result.append(_count_outputs(flow, level, peers, rows, elided=elided, first=level == outermost))
        else:
            asked = rows.content[level] + peers
            result.append(Accesses(asked.rounded(nearest_whole), _cut(level, peers, rows)))
    return result


class _Rows(NamedTuple):
    """What passes each level, as polynomials and, where Timeloop cuts to whole numbers, in doubles."""

    content: list[Polynomial]
    """Words that leave the level."""
    share: list[Polynomial]
    """Words that arrive from the next outer level."""
    rounded_content: list[float]
    rounded_share: list[float]


def _rows(flows: Sequence[SymbolicFlow], fanout: Sequence[Polynomial]) -> _Rows:
    """Return what passes each level, as if all of them kept the data space."""
    outside = [*zip(flows[1:], fanout[1:], strict=True)]
    return _Rows(
        [flow.words() for flow in flows],
        [*(flow.received().over(fan) for flow, fan in outside), _ZERO],
        [sum(words for _, _, words in flow.carries) for flow in flows],
        [*(sum(words * m / float(fan.value) for m, _, words in flow.carries) for flow, fan in outside), 0.0],
    )


def _bypass(outer: SymbolicFlow, level: int, fanout: Polynomial, rows: _Rows) -> None:
    """Let the next outer level be accessed as often as the bypassed one was."""
    received = outer.received()
    weighted = sum(words * m for m, _, words in outer.carries)
    factor = rows.rounded_content[level] * float(fanout.value) / weighted if weighted else 0.0
    outer.carries = [(m, s, words * factor) for m, s, words in outer.carries]
    rows.rounded_content[level + 1] = sum(words for _, _, words in outer.carries)
    if received.value:
        asked = rows.content[level] * fanout
        multicast, scatter, _ = outer.groups[0]
        if all(group[0].terms == multicast.terms for group in outer.groups):
            outer.groups = [(multicast, scatter, asked.over(multicast))]
        else:
            outer.groups = [(m, s, words.over(received) * asked) for m, s, words in outer.groups]
    else:
        outer.groups = [(m, s, _ZERO) for m, s, _ in outer.groups]
    outer.links = _ZERO
    rows.content[level + 1] = outer.words()


def _cut(level: int, peers: Polynomial, rows: _Rows) -> Polynomial:
    """Return what fills a level: Timeloop adds up in doubles what it cuts to a whole number, so it can be one less."""
    filled = rows.share[level] + peers
    return Polynomial(filled.terms, math.floor(rows.rounded_share[level] + float(peers.value)))


def _count_outputs(
    flow: SymbolicFlow, level: int, peers: Polynomial, rows: _Rows, *, elided: bool, first: bool
) -> Accesses:
    """Return the accesses of outputs; ``first``: nothing outside keeps them."""
    asked, filled = rows.content[level] + peers, rows.share[level] + peers
    if not elided:
        fills = _cut(level, peers, rows)
    else:
        fills = (filled if first else filled - flow.partition).rounded(nearest_whole)
    reads = (asked - flow.partition).rounded(nearest_whole)
    return Accesses(reads, fills, rows.content[level].rounded(nearest_whole))


def _spread(flows: Sequence[SymbolicFlow], spreads: Sequence[bool], rows: _Rows) -> bool:
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
        rows.content[level] = (rows.content[level] - 1).over(multicast) + 1
        rows.share[level] = (rows.share[level] - 1).over(multicast) + 1
        outer.carries = [(1, int((scatter * multicast).value), float(words.value))]
        for kind in (rows.rounded_content, rows.rounded_share):
            kind[level] = 1.0 + (kind[level] - 1.0) / float(multicast.value)
        return True
    return True


def _partitions(flows: Sequence[SymbolicFlow]) -> list[Polynomial]:
    """Return the words that one instance of each level ever sees."""
    partition = [flows[-1].tile]
    for level in range(len(flows) - 2, -1, -1):
        spread = flows[level + 1].sibling or flows[level].tile
        partition.insert(0, (partition[0] * flows[level].tile).over(spread).rounded(math.floor))
    return partition
