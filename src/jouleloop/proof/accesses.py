"""From what passes every boundary to reads, fills and updates: levels that bypass, M:N networks, partitions.

Source: Timeloop 3.0.3 ``src/loop-analysis/tiling.cpp`` (``MaskTiles``, ``DistributeTiles``, ``ComputeFills``,
``ComputeReadUpdateReductionAccesses``).
"""

import math
from collections.abc import Sequence
from fractions import Fraction

from jouleloop.proof.counts import Flow, Words

#: Scalar reads, fills and updates of one instance.
Accesses = tuple[int, int, int]


def accesses_of(
    flows: Sequence[Flow], keep: Sequence[bool], fanout: Sequence[int], spreads: Sequence[bool], *,
    written: bool, elided: bool, resumes: bool,
) -> list[Accesses] | None:  # fmt: skip
    """Return the accesses of one data space at every level, innermost first; None where no M:N network takes it.

    ``fanout``: utilized instances below one of each level. ``resumes``: outputs are read before their first update, so
    no partition is spared. The flows become those that pass without bypassed levels.
    """
    _write_partitions(flows, written=written and not resumes)
    found = _Contents(flows, fanout)
    if any(spreads) and not found.spread(spreads):
        return None
    found.bypass(keep)
    outermost = max(k for k, kept in enumerate(keep) if kept)
    for flow in flows[outermost + 1 :]:
        flow.links, flow.groups, flow.carries = 0, {}, []
    found.share[outermost], found.cut[outermost] = 0, 0.0
    result = []
    for k, kept in enumerate(keep):
        peers = Fraction(flows[k + 1].links, math.prod(fanout[k + 1 :])) if k + 1 < len(flows) else Fraction(0)
        asked, partition = found.asked[k] + peers, flows[k].partition
        # Timeloop adds up in doubles what it cuts to a whole number, so it can be one less.
        fills = math.floor(found.cut[k] + float(peers))
        if written and elided:
            fills = _nearest(found.share[k] + peers - (0 if k == outermost else partition))
        updates = _nearest(found.asked[k]) if written else 0
        result.append((_nearest(asked - partition), fills, updates) if kept else (0, 0, 0))
    return result


def _write_partitions(flows: Sequence[Flow], *, written: bool) -> None:
    """Write the words that one instance of each level ever sees, of outputs."""
    if not written:
        return
    flows[-1].partition = flows[-1].tile
    for k in range(len(flows) - 2, -1, -1):
        spread = flows[k + 1].sibling or flows[k].tile
        flows[k].partition = flows[k + 1].partition * flows[k].tile // spread


class _Contents:
    """Words by level: asked for inside, and filled into one instance; in exact numbers and as doubles."""

    def __init__(self, flows: Sequence[Flow], fanout: Sequence[int]) -> None:
        self.flows, self.fanout = flows, fanout
        for flow in flows:
            flow.carries = [(m, s, float(words)) for (m, s), words in flow.groups.items()]
        self.asked = [flow.words() for flow in flows]
        self.doubles = [sum(words for _, _, words in flow.carries) for flow in flows]
        self.share: list[Words] = [0] * len(flows)
        self.cut = [0.0] * len(flows)
        for k, (flow, fan) in enumerate(zip(flows[1:], fanout[1:], strict=True)):
            self.share[k] = Fraction(flow.received()) / fan
            self.cut[k] = sum(words * m / float(fan) for m, _, words in flow.carries)

    def spread(self, spreads: Sequence[bool]) -> bool:
        """Let the innermost level that may share what all its instances would hold.

        Returns whether transfers are of one kind on both networks: where not, Timeloop ends.
        """
        for k in range(len(self.flows) - 1):
            if not spreads[k]:
                continue
            own, outer = self.flows[k], self.flows[k + 1]
            here, outside = own.only(), outer.only()
            if here is None or outside is None:
                return False
            multicast, scatter, words = outside
            if multicast == 1:
                continue
            outer.carried = (multicast, scatter, here[2], Fraction(here[2]) / words)
            outer.groups = {(1, scatter * multicast): words}
            outer.carries = [(1, scatter * multicast, float(words))]
            own.partition = (own.partition - 1) // multicast + 1
            for exact in (self.asked, self.share):
                exact[k] = Fraction(exact[k] - 1) / multicast + 1
            for rounded in (self.doubles, self.cut):
                rounded[k] = 1.0 + (rounded[k] - 1.0) / multicast
            return True
        return True

    def bypass(self, keep: Sequence[bool]) -> None:
        """Take out levels that keep nothing: the next one outside is asked for as many words."""
        for k in range(len(keep) - 1):
            if keep[k]:
                continue
            outer, fan = self.flows[k + 1], self.fanout[k + 1]
            weighted = sum(words * m for m, _, words in outer.carries)
            factor = self.doubles[k] * fan / weighted if weighted else 0.0
            outer.carries = [(m, s, words * factor) for m, s, words in outer.carries]
            self.doubles[k + 1] = sum(words for _, _, words in outer.carries)
            received = outer.received()
            scale = Fraction(self.asked[k] * fan) / received if received else Fraction(0)
            outer.groups = {key: words * scale for key, words in outer.groups.items()}
            outer.links = 0
            self.asked[k + 1] = outer.words()


def _nearest(value: Words) -> int:
    """Return the nearest whole number, halves upward."""
    return math.floor(value + Fraction(1, 2))
