"""Networks of a certificate: what they charge for one nest, counted word by word, and for an unrolling at least.

Source: Timeloop 3.0.3 ``src/model/network-legacy.cpp``, ``network-reduction-tree.cpp``,
``network-simple-multicast.cpp``, and ``NestAnalysis::ComputeAccurateMulticastedAccesses``. All in exact fractions,
with no code of the search or of its model.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from jouleloop.proof.counts import Flow
    from jouleloop.proof.design import Level

#: Kinds of networks: a mesh, a tree that adds words up on their way back, and one that a table charges.
MESH, TREE, TABLE = "mesh", "tree", "table"
#: Multicast factor, scatter factor and words of a group of transfers, and words times hops.
Group = tuple[int, int, Fraction, Fraction]


@dataclass(frozen=True)
class Way:
    """One network between a level and the next inner node; energies in pJ."""

    kind: str
    back: bool
    hop: Fraction
    router: Fraction
    ingress: Fraction
    adder: Fraction
    charges: dict[str, tuple[tuple[int, Fraction], ...]]
    """By data space what a table charges: pairs of a multicast factor, 0 for any, and an energy."""

    def charge(self, space: str, multicast: Fraction | int) -> Fraction:
        """Return what a table charges for a transfer: the last entry that fits."""
        fitting = [energy for factor, energy in self.charges.get(space, ()) if factor in (0, multicast)]
        return fitting[-1] if fitting else Fraction(0)


def ways_of(level: dict[str, Any]) -> tuple[Way, ...]:
    """Return the networks of a level as they stand in a certificate."""
    return tuple(
        Way(
            way["kind"],
            way["back"],
            Fraction(way["hop_pj"]),
            Fraction(way["router_pj"]),
            Fraction(way["ingress_pj"]),
            Fraction(way["adder_pj"]),
            {space: tuple((m, Fraction(e)) for m, e in pairs) for space, pairs in way["charges"].items()},
        )
        for way in level.get("networks", ())
    )


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


def transfers_of(flow: "Flow", columns: int, rows: int) -> list[Group]:
    """Return all transfers over a fan-out by multicast and scatter factor, with how far they go."""
    hops: dict[tuple[int, int], Fraction] = defaultdict(Fraction)
    apart: dict[tuple[int, int], Fraction] = defaultdict(Fraction)
    for boxes, words in flow.sent.items():
        holders: dict[tuple[int, ...], list[int]] = defaultdict(list)
        for place, box in enumerate(boxes):
            if box is not None:
                holders[box].append(place)
        sizes = [len(own) for own in holders.values()]
        for own in holders.values():
            key = len(own), sizes.count(len(own))
            hops[key] += hops_of(own, columns, rows) * words
            for place in own:
                apart[key] += hops_of([place], columns, rows) * words
    groups = [(m, s, Fraction(carried)) for m, s, carried in flow.carries]
    if flow.carried is None:
        return [(m, s, carried, hops[m, s]) for m, s, carried in groups]
    multicast, scatter, passed, more = flow.carried
    key = multicast, scatter
    return [*((m, s, carried, apart[key]) for m, s, carried in groups), (*key, Fraction(passed), hops[key] * more)]


class Passing(NamedTuple):
    """What passes below a level: the data space, whether it is written, columns and rows, utilized instances."""

    space: str
    written: bool
    mesh: tuple[int, int]
    instances: int


def energy_of(level: "Level", flow: "Flow", passing: Passing) -> Fraction:
    """Return what the networks of a level take for one data space of a nest [pJ], over all instances."""
    total = Fraction(0)
    if not level.ways:
        return total
    groups = [group for group in transfers_of(flow, *passing.mesh) if group[2] > 0]
    sent = groups[:-1] if flow.carried else groups
    for way in level.ways:
        if way.kind == TREE:
            # Timeloop does not multiply it by the instances.
            total += way.adder * _cut((m - 1) * words for m, _, words, _ in sent) if passing.written else 0
            continue
        if way.kind == TABLE:
            # Timeloop keeps what the last group costs.
            last = max(sent, default=None)
            each = Fraction(0) if last is None else way.charge(passing.space, last[0]) * last[2]
        else:
            twice = way.back and passing.written and not level.adds
            each = _mesh(way, groups, Fraction(flow.partition) if twice else None)
            each += flow.links * (way.hop + 2 * way.router)
        total += each * passing.instances
    return total


def _mesh(way: Way, groups: Sequence[Group], partition: Fraction | None) -> Fraction:
    """Return what one instance's mesh takes; outputs go twice, but for a partition, where that is given."""
    sent = [(w if partition is None else 2 * w - partition, hops) for _, _, w, hops in groups]
    moving = [(w, hops) for w, hops in sent if w > 0]
    routers = _cut((1 + math.floor(hops / w)) * w for w, hops in moving)
    hopped = sum((hops for _, hops in moving), Fraction(0))
    return hopped * way.hop + routers * way.router + sum((w for w, _ in sent), Fraction(0)) * way.ingress


def _cut(parts: Iterable[Fraction]) -> int:
    """Return a sum that Timeloop keeps as a whole number, each part added in turn."""
    total = 0
    for part in parts:
        total = math.floor(total + part)
    return total
