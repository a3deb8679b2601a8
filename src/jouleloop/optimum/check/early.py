"""Verify an optimum among loops that need not divide: walk all unrollings and all ends, with lemmas in few lines.

A certificate of imperfect factors says what is claimed, and no more: every part is walked here. The lemmas are those
of docs/search-residual.md in their plainest form, for layers without windows; they are written anew and share no code
with the search. What they do not rule out, the model counts, in every order and every arrangement.
"""

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from jouleloop.errors import JouleloopError
from jouleloop.mapping.mapping import LevelMapping, Mapping
from jouleloop.model.evaluate import evaluate_mapping
from jouleloop.optimum.check.design import Design, Factors, Keep, Order, Slot
from jouleloop.optimum.check.nests import Nests

#: An unrolling: factors by level, and by level and dimension whether some of those units are never used.
Unrolling = tuple[tuple[Factors, ...], tuple[tuple[bool, ...], ...]]


@dataclass
class Crossing:
    """What a data space moves between two levels that keep it; ``child`` -1: the compute units."""

    space: int
    child: int
    parent: int
    asked: float = 0.0
    filled: float = 0.0


class Pending(NamedTuple):
    """A crossing whose tile is known, with the share of the units that its last pass needs, by dimension."""

    crossing: Crossing
    used: tuple[float, ...]


def knows(design: Design) -> bool:
    """Whether the lemmas hold: every rank is moved by one dimension that loops, one word a step."""
    for ranks in design.ranks:
        for rank in ranks:
            moving = [c for d, c in rank.items() if design.bounds[d] > 1]
            if len(moving) > 1 or any(c != 1 for c in moving):
                return False
    return True


def unrollings(design: Design) -> Iterator[Unrolling]:
    """Every choice of spatial factors that constraints and fan-outs admit; fixed ones may leave units without work."""
    options = []
    for k, level in enumerate(design.levels):
        slot = level.spatial
        ones = ((1,) * len(design.dims),)
        options.append(ones if slot is None else tuple(_factors(design, k, slot)))
    for factors in itertools.product(*options):
        fixed = [
            [f > 1 and level.spatial is not None and level.spatial.fixed[d] is not None for d, f in enumerate(row)]
            for level, row in zip(design.levels, factors, strict=True)
        ]
        choices = [list(itertools.product(*((False, True) if may else (False,) for may in row))) for row in fixed]
        for idle in itertools.product(*choices):
            yield factors, idle


def _factors(design: Design, k: int, slot: Slot) -> Iterator[Factors]:
    most = design.levels[k].fan_x * design.levels[k].fan_y

    def choose(d: int, room: int, chosen: Factors) -> Iterator[Factors]:
        if d == len(design.bounds):
            if next(design.spatial_orders(k, chosen), None) is not None:
                yield chosen
            return
        for factor in range(1, min(room, design.bounds[d]) + 1):
            if slot.admits(d, factor):
                yield from choose(d + 1, room // factor, (*chosen, factor))

    yield from choose(0, most, ())


def ends(slot: Slot, d: int, passes: int, *, every: bool) -> Iterator[int]:
    """Every end that a loop with so many passes may have; unless ``every`` counts, only those of lemma *least ends*."""
    fixed = slot.fixed[d]
    if fixed is not None:
        if fixed == 1 or passes > 1:
            yield fixed
        return
    low, high = slot.least[d], min(slot.most[d], passes)
    for end in range(low, high + 1):
        least = end == low or -(-passes // (end - 1)) != -(-passes // end)
        if every or least or (passes - 1) % end == 0:
            yield end


class Part:
    """One unrolling under one choice of what is kept; energies in pJ."""

    def __init__(self, nests: Nests, keep: Keep, unrolling: Unrolling, limit_pj: float) -> None:
        self.nests, self.design, self.keep = nests, nests.design, keep
        self.factors, self.idle = unrolling
        self.limit_pj, self.cuts, self.count = limit_pj, 0, 0
        self.better: tuple[Mapping, float] | None = None
        design = self.design
        self.slots = [level.temporal for level in design.levels]
        self.levels, self.dims = len(design.levels), range(len(design.bounds))
        #: Units from a level outward, by dimension.
        self.beyond = [
            [math.prod(row[d] for row in self.factors[k:]) for d in self.dims] for k in range(self.levels + 2)
        ]
        self.instances = [math.prod(self.beyond[k + 1]) for k in range(self.levels)]
        self.moves = [[not design.idle(v, d) for d in self.dims] for v in range(len(design.spaces))]
        self.crossings = [
            Crossing(v, child, parent)
            for v in range(len(design.spaces))
            for child, parent in itertools.pairwise([-1, *(k for k in range(self.levels) if keep[k][v])])
        ]
        #: Whether a loop may stand, by level and dimension.
        self.open = [[(slot.fixed[d] or slot.most[d]) > 1 for d in self.dims] for slot in self.slots]

    def walk(self) -> None:
        """Walk all ends; `better` is then a mapping below the limit, if there is one."""
        units = math.prod(self.beyond[0])
        points = math.prod(-(-b // self.beyond[1][d]) / self.factors[0][d] for d, b in enumerate(self.design.bounds))
        sure = (points * units * (1 - 1e-12) - 1) * float(self.design.compute * self.design.unit_pj)
        for crossing in self.crossings:
            self.once(crossing, None)
            sure += self.price(crossing, 1.0, 1.0)
        self.enter(0, (1,) * len(self.design.bounds), sure, [], [])

    def once(self, crossing: Crossing, tile: Factors | None) -> None:
        """Write the words that cross at least: once through, by whole tiles where they are known."""
        v, child = crossing.space, crossing.child
        asked = filled = 1.0
        for d, bound in enumerate(self.design.bounds):
            fan, beyond = self.factors[child + 1][d], self.beyond[child + 2][d]
            boxes = -(-bound // tile[d]) if tile else 2
            if self.moves[v][d]:
                words = -(-bound // beyond)
                if tile:
                    words = max(words, self.tiled(child + 1, d, tile[d], -(-boxes // beyond)))
                asked *= words
                filled *= words / fan
            elif self.idle[child + 1][d]:
                filled *= min(boxes, fan) / fan
        if child < 0 and all(f == 1 for f in self.factors[0]):
            asked = math.prod(-(-b // self.beyond[1][d]) for d, b in enumerate(self.design.bounds))
        for level in range(child + 2, crossing.parent + 1):
            asked *= math.prod(f for d, f in enumerate(self.factors[level]) if self.moves[v][d])
        crossing.asked, crossing.filled = float(asked), filled

    def tiled(self, first: int, d: int, tile: int, number: int) -> int:
        """Words of so many tiles: all are whole if several units of a fan-out next to them work in the last pass."""
        left = -(-self.design.bounds[d] // tile)
        for level in range(first, self.levels):
            factor = self.factors[level][d]
            if factor > 1 and (left - 1) % factor > 0:
                return number * tile
            left = -(-left // factor)
            if self.open[level][d]:
                break
        return (number - 1) * tile + (self.design.bounds[d] - 1) % tile + 1

    def spared(self, level: int, v: int) -> float:
        """Words of a level that need no read before the first write, at most (*partitions*)."""
        words = float(math.prod(b for d, b in enumerate(self.design.bounds) if self.moves[v][d]))
        for k in range(level + 1, self.levels):
            for d, f in enumerate(self.factors[k]):
                if f > 1 and self.moves[v][d] and not self.idle[k][d]:
                    words /= f - 1
        return words

    def price(self, crossing: Crossing, times: float, fill_times: float) -> float:
        """Energy [pJ] of a crossing whose words are asked for and filled so many times, at least."""
        v, design = crossing.space, self.design
        parent = design.levels[crossing.parent]
        unit, written = float(design.unit_pj), design.written[v]
        words = crossing.asked * times - 1
        total = words / parent.block * (parent.write if written else parent.read)
        if written:
            total += max(0.0, words - self.spared(crossing.parent, v)) / parent.block * parent.read
        total *= min(self.instances[crossing.parent], parent.clusters)
        if crossing.child >= 0:
            child = design.levels[crossing.child]
            free = self.spared(crossing.child, v) if written and design.elided else 0.0
            filled = max(0.0, crossing.filled * fill_times - 1 - free)
            total += filled / child.block * child.write * min(self.instances[crossing.child], child.clusters)
        return total * unit

    def enter(self, k: int, extent: Factors, sure: float, pending: list[Pending], chain: list[Factors]) -> None:
        """Go on at a level; all ``chain`` stands inside it, ``extent`` are its tiles, ``sure`` [pJ] what all cost."""
        if k == self.levels:
            if all(e >= b for e, b in zip(extent, self.design.bounds, strict=True)):
                self.leaf(chain)
            return
        left = [-(-b // e) for b, e in zip(self.design.bounds, extent, strict=True)]
        for d, factor in enumerate(self.factors[k]):
            if factor > 1 and (left[d] < 2 or (left[d] < factor) is not self.idle[k][d]):
                return
        passes = tuple(-(-n // f) for n, f in zip(left, self.factors[k], strict=True))
        pending = [*pending]
        for crossing in self.crossings:
            if k > 0 and crossing.child == k - 1:
                root_pj = self.price(crossing, 1.0, 1.0)
                known = Crossing(crossing.space, k - 1, crossing.parent)
                self.once(known, extent)
                sure += max(0.0, self.price(known, 1.0, 1.0) - root_pj)
                used = tuple(
                    ((n - 1) % f + 1) / f if n >= f else 1.0 for n, f in zip(left, self.factors[k], strict=True)
                )
                pending.append(Pending(known, used))
        if sure + self.again(k, passes, None, pending) >= self.limit_pj:
            self.cuts += 1
            return
        slot = self.slots[k]
        choices = [list(ends(slot, d, n, every=self.every(k, d))) for d, n in enumerate(passes)]
        for chosen in itertools.product(*(choice[::-1] for choice in choices)):
            tiles = tuple(e * f * end for e, f, end in zip(extent, self.factors[k], chosen, strict=True))
            if not self.fits(k, tiles):
                continue
            more = sure
            if any(end > 1 for end in chosen):
                more += self.again(k, passes, chosen, pending)
            if more >= self.limit_pj:
                self.cuts += 1
            else:
                waits = [one for one in pending if not self.moved(one.crossing.space, chosen)]
                self.enter(k + 1, tiles, more, waits, [*chain, chosen])

    def every(self, k: int, d: int) -> bool:
        """Whether every end counts: a larger tile may be asked for, or make the piece of instance 0 smaller."""
        unrolled = self.beyond[k + 1][d] > 1
        return unrolled or any(level.least > 0 for level in self.design.levels)

    def moved(self, v: int, chosen: Factors) -> bool:
        """Whether a loop of a level moves a data space."""
        return any(end > 1 and self.moves[v][d] for d, end in enumerate(chosen))

    def fits(self, k: int, extent: Factors) -> bool:
        """Whether a tile fits its level."""
        size = tuple(min(e, b) for e, b in zip(extent, self.design.bounds, strict=True))
        held = sum(self.design.words(v, size) for v in range(len(self.moves)) if self.keep[k][v])
        level = self.design.levels[k]
        return held >= level.least and (level.capacity is None or held <= level.capacity)

    def again(self, k: int, passes: Factors, chosen: Factors | None, pending: list[Pending]) -> float:
        """Least energy [pJ] that crossings cost beyond once through, whichever loop is the innermost (*times through*).

        ``chosen``: the ends of the level, None where they are open.
        """
        number = [-(-n // b) for n, b in zip(passes, self.beyond[k + 1], strict=True)]
        rank = self.slots[k].rank
        least = math.inf
        for j in self.dims:
            if (passes[j] if chosen is None else chosen[j]) == 1:
                continue
            if chosen and any(end > 1 and rank[d] < rank[j] for d, end in enumerate(chosen)):
                continue
            single = chosen is None or (passes[j] - 1) % chosen[j] == 0
            others = [d for d in self.dims if d != j and passes[d] > 1] if single else []
            for size in range(len(others) + 1):
                for saving in itertools.combinations(others, size):
                    total = 0.0
                    for one in pending:
                        times, fill_times = self.times(k, one, j, saving, passes, chosen, number)
                        if times > 1:
                            more = self.price(one.crossing, times, fill_times) - self.price(one.crossing, 1.0, 1.0)
                            total += max(0.0, more)
                    least = min(least, total)
        return 0.0 if least == math.inf else least

    def times(
        self, k: int, one: Pending, j: int, saving: tuple[int, ...], passes: Factors, chosen: Factors | None,
        number: list[int],
    ) -> tuple[float, float]:  # fmt: skip
        """How often words are asked for and reach a unit on average, at least, if ``j`` is the innermost loop."""
        moves, used = self.moves[one.crossing.space], one.used
        asked = filled = 1.0
        if moves[j]:
            for d in self.dims:
                if not moves[d]:
                    stays = 1 / number[j] if d in saving else 0.0
                    asked *= number[d] * (1 - stays) + stays
                    filled *= (number[d] - 1 + used[d]) * (1 - stays) + used[d] * stays
            return asked, filled
        if chosen and not self.moved(one.crossing.space, chosen):
            return 1.0, 1.0
        for d in saving:
            if moves[d]:
                asked = max(asked, 2 - 1 / number[d])
                filled = max(filled, 1 + used[j] * (1 - 1 / number[d]))
        if chosen:
            rest = [-(-n // (end * b)) for n, end, b in zip(passes, chosen, self.beyond[k + 1], strict=True)]
            outside = math.prod(rest[d] for d in self.dims if not moves[d])
            reached = math.prod(rest[d] - 1 + used[d] for d in self.dims if not moves[d])
            for d in self.dims:
                if moves[d] and chosen[d] > 1:
                    stays = 1 / number[d] if (passes[d] - 1) % chosen[d] == 0 else 0.0
                    asked = max(asked, 1 + (outside - 1) * (1 - stays))
                    filled = max(filled, 1 + (reached - 1) * (1 - stays))
        return asked, filled

    def leaf(self, chain: list[Factors]) -> None:
        """Let the model count every order and every arrangement of loops whose ends are all known."""
        levels = self.design.levels
        orders = [
            [tuple((d, chosen[d]) for d in reversed(order)) for order in level.temporal.orders(_looping(chosen))]
            for level, chosen in zip(levels, chain, strict=True)
        ]
        places = [list(self.design.spatial_orders(k, self.factors[k])) for k in range(self.levels)]
        for temporal in itertools.product(*orders):
            for spatial in itertools.product(*places):
                mapping = self.mapping(temporal, spatial)
                self.count += 1
                try:
                    energy_pj = energy_of(self.nests, mapping)
                except JouleloopError:
                    continue
                if energy_pj < self.limit_pj:
                    self.better = mapping, energy_pj

    def mapping(self, temporal: tuple[tuple[tuple[int, int], ...], ...], spatial: tuple[Order, ...]) -> Mapping:
        """Return loops by level, innermost level first, as a mapping."""
        names, product = self.design.dims, [1] * len(self.design.bounds)
        loops = [*itertools.chain(*temporal), *((d, factor) for d, factor, _ in itertools.chain(*spatial))]
        for d, end in loops:
            product[d] *= end
        early = [(names[d], b) for d, b in enumerate(self.design.bounds) if product[d] != b]
        found = [
            LevelMapping(
                self.design.levels[k].name,
                tuple((names[d], end) for d, end in temporal[k]),
                tuple((names[d], factor, axis) for d, factor, axis in spatial[k]),
                frozenset(space for space, kept in zip(self.design.spaces, self.keep[k], strict=True) if kept),
            )
            for k in range(self.levels - 1, -1, -1)
        ]
        return Mapping(tuple(found), tuple(sorted(early)))


def _looping(chosen: Factors) -> list[int]:
    return [d for d, end in enumerate(chosen) if end > 1]


def energy_of(nests: Nests, mapping: Mapping) -> float:
    """Return what the model counts [pJ]."""
    return evaluate_mapping(nests.problem, nests.arch, nests.costs, mapping, nests.semantics).energy_pj


def walk_all(nests: Nests, limit_pj: float) -> Iterator[Part]:
    """Walk every part; yield each once it is done."""
    for unrolling in unrollings(nests.design):
        for keep in nests.design.keeps:
            part = Part(nests, keep, unrolling, limit_pj)
            part.walk()
            yield part


def chain_fault(design: Design, levels: list[dict[str, Any]]) -> str:
    """Return why loops whose ends need not divide are none of the mapspace, or an empty text."""
    left = list(design.bounds)
    for k, level in enumerate(reversed(levels)):
        for kind, slot in (("spatial", design.levels[k].spatial), ("temporal", design.levels[k].temporal)):
            given = {design.dims.index(loop[0]): loop[1] for loop in level[kind]}
            if slot is None or len(given) != len(level[kind]):
                if given:
                    return f"{level['level']}: loops that no place is for"
                continue
            for d in range(len(left)):
                end = given.get(d, 1)
                if not slot.admits(d, end) or (end > 1 and (left[d] < 2 or (slot.fixed[d] is None and end > left[d]))):
                    return f"{level['level']}: {design.dims[d]} may not end at {end}"
                left[d] = -(-left[d] // end)
    return "" if all(n == 1 for n in left) else "its loops do not cover the layer"
