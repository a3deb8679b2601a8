"""Networks of a certificate: what they charge for one nest, counted word by word, in exact fractions.

Source: Timeloop 3.0.3 ``src/model/network-legacy.cpp``, ``network-reduction-tree.cpp``,
``network-simple-multicast.cpp``, and ``NestAnalysis::ComputeAccurateMulticastedAccesses``.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from fractions import Fraction

from jouleloop.proof.counts import Flow
from jouleloop.proof.stated import Level, Way

#: Multicast factor, scatter factor and words of a group of transfers, and words times hops.
Group = tuple[int, int, Fraction, Fraction]


def hops_of(places: Iterable[int], columns: int, rows: int) -> Fraction:
    """Hops of one word to the instances at some places: along the middle row, then up and down in every column."""
    middle = Fraction(rows - 1, 2)
    found: dict[int, list[int]] = defaultdict(list)
    for place in places:
        row, column = divmod(place, columns)
        found[column].append(row)
    total = Fraction(max(found))
    for own in found.values():
        total += max(Fraction(0), middle - min(own)) + max(Fraction(0), max(own) - middle)
    return total


def holders(boxes: Iterable[object]) -> list[list[int]]:
    """Return the places that hold each box; ``boxes``: of every place in turn, None where it holds none."""
    found: dict[object, list[int]] = defaultdict(list)
    for place, box in enumerate(boxes):
        if box is not None:
            found[box].append(place)
    return list(found.values())


def transfers_of(flow: Flow, mesh: tuple[int, int]) -> list[Group]:
    """Return all transfers over a fan-out by multicast and scatter factor, with how far they go."""
    hops: dict[tuple[int, int], Fraction] = defaultdict(Fraction)
    apart: dict[tuple[int, int], Fraction] = defaultdict(Fraction)
    for boxes, words in flow.sent.items():
        groups = holders(boxes)
        sizes = [len(own) for own in groups]
        for own in groups:
            key = len(own), sizes.count(len(own))
            hops[key] += hops_of(own, *mesh) * words
            apart[key] += sum(hops_of([place], *mesh) for place in own) * words
    if flow.carried is None:
        return [(m, s, Fraction(carried), hops[m, s]) for m, s, carried in flow.carries]
    multicast, scatter, passed, more = flow.carried
    key = multicast, scatter
    alone = [(m, s, Fraction(carried), apart[key]) for m, s, carried in flow.carries]
    return [*alone, (*key, Fraction(passed), hops[key] * more)]


def energy_of(
    level: Level, flow: Flow, space: str, mesh: tuple[int, int], instances: int, *, written: bool
) -> Fraction:
    """Return what the networks of a level take for one data space of a nest [pJ], over all instances in use."""
    total = Fraction(0)
    if not level.networks:
        return total
    groups = [group for group in transfers_of(flow, mesh) if group[2] > 0]
    sent = groups[:-1] if flow.carried else groups
    for way in level.networks:
        if way.kind == "tree":
            # Timeloop does not multiply it by the instances.
            total += way.adder_pj * _cut((m - 1) * words for m, _, words, _ in sent) if written else 0
        elif way.kind == "table":
            # Timeloop keeps what the last group costs.
            for multicast, _, words, _ in sorted(sent)[-1:]:
                total += way.charge(space, multicast) * words * instances
        else:
            twice = way.back and written and not level.adds
            each = _mesh(way, groups, Fraction(flow.partition) if twice else None)
            total += (each + flow.links * (way.hop_pj + 2 * way.router_pj)) * instances
    return total


def _mesh(way: Way, groups: Sequence[Group], partition: Fraction | None) -> Fraction:
    """Return what one instance's mesh takes; outputs go twice, but for a partition, where that is given."""
    sent = [(w if partition is None else 2 * w - partition, hops) for _, _, w, hops in groups]
    moving = [(w, hops) for w, hops in sent if w > 0]
    routers = _cut((1 + math.floor(hops / w)) * w for w, hops in moving)
    hopped = sum((hops for _, hops in moving), Fraction(0))
    return hopped * way.hop_pj + routers * way.router_pj + sum(w for w, _ in sent) * way.ingress_pj


def _cut(parts: Iterable[Fraction]) -> int:
    """Return a sum that Timeloop keeps as a whole number, each part added in turn."""
    total = 0
    for part in parts:
        total = math.floor(total + part)
    return total
