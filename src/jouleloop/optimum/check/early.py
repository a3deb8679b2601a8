"""Verify an optimum among loops that need not divide: walk all unrollings and all ends, with lemmas in few lines.

A certificate of imperfect factors says what is claimed, and no more: every part is walked here. One choice of ends
stands for all that leave as many passes, until all are chosen; then each is looked at by itself, and each order that
can still win is counted by the model, on every arrangement.
"""

import itertools
from collections.abc import Iterator
from typing import Any

from jouleloop.errors import JouleloopError
from jouleloop.mapping.mapping import LevelMapping, Mapping
from jouleloop.model.evaluate import evaluate_mapping
from jouleloop.optimum.check.crossings import Crossing, Unrolling
from jouleloop.optimum.check.design import Design, Factors, Keep, Order, Slot
from jouleloop.optimum.check.nests import Nests
from jouleloop.optimum.check.times import Ends, Times


def knows(design: Design) -> bool:
    """Whether the lemmas hold: two dimensions that loop move a rank at most, and only one moves an output's."""
    for ranks, written in zip(design.ranks, design.written, strict=True):
        seen: list[int] = []
        for rank in ranks:
            moving = [d for d in rank if design.bounds[d] > 1]
            if len(moving) > 2 or (written and (len(moving) > 1 or any(rank[d] != 1 for d in moving))):
                return False
            seen += moving
        if len(set(seen)) < len(seen):
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


def ends(slot: Slot, d: int, passes: int) -> list[tuple[int, int]]:
    """Every choice of ends that leave as many passes, from the least to the largest."""
    fixed = slot.fixed[d]
    if fixed is not None:
        return [(fixed, fixed)] if fixed == 1 or passes > 1 else []
    found, end, high = [], slot.least[d], min(slot.most[d], passes)
    while end <= high:
        left = -(-passes // end)
        last = min(high, (passes - 1) // (left - 1)) if left > 1 else high
        found.append((end, last))
        end = last + 1
    return found


class Part(Times):
    """One unrolling under one choice of what is kept, and whether a mapping of it is below a limit [pJ]."""

    def __init__(self, nests: Nests, keep: Keep, unrolling: Unrolling, limit_pj: float) -> None:
        super().__init__(nests.design, keep, unrolling)
        self.nests, self.limit_pj, self.cuts, self.count = nests, limit_pj, 0, 0
        self.better: tuple[Mapping, float] | None = None

    def walk(self) -> None:
        """Walk all ends; `better` is then a mapping below the limit, if there is one."""
        ones = (1,) * len(self.design.bounds)
        self.root_pj = self.computes_pj() + sum(crossing.once_pj for crossing in self.crossings)
        self.follow(0, ones, ones, self.root_pj, [], [])

    def follow(
        self, k: int, extent: Factors, largest: Factors, sure: float, pending: list[Crossing],
        chain: list[Ends],
    ) -> None:  # fmt: skip
        """Go on at a level; all ``chain`` stands inside it, ``extent`` and ``largest`` are its tiles."""
        bounds, factors = self.design.bounds, self.factors
        if k == self.levels:
            if all(e >= b for e, b in zip(extent, bounds, strict=True)):
                self.each(chain)
            return
        left = [-(-b // e) for b, e in zip(bounds, extent, strict=True)]
        for d, factor in enumerate(factors[k]):
            if factor > 1 and (left[d] < 2 or (left[d] < factor) is not self.idle[k][d]):
                return
        passes = tuple(-(-n // f) for n, f in zip(left, factors[k], strict=True))
        pending = [*pending]
        more, entered = self.entered(k, extent, largest, left)
        pending += entered
        sure += more
        if sure + self.ahead(k, passes, None, pending) >= self.limit_pj:
            self.cuts += 1
            return
        choices = [ends(self.slots[k], d, n) for d, n in enumerate(passes)]
        for chosen in itertools.product(*(choice[::-1] for choice in choices)):
            tile = tuple(e * f * c[0] for e, f, c in zip(extent, factors[k], chosen, strict=True))
            most = tuple(e * f * c[1] for e, f, c in zip(largest, factors[k], chosen, strict=True))
            if not self.fits_any(k, tile, most):
                continue
            looping = [d for d, c in enumerate(chosen) if c[0] > 1]
            now = sure + (self.ahead(k, passes, chosen, pending) if looping else 0.0)
            if now >= self.limit_pj:
                self.cuts += 1
                continue
            waits = [one for one in pending if not any(self.moves[one.space][d] for d in looping)]
            self.follow(k + 1, tile, most, now, waits, [*chain, chosen])

    def fits_any(self, k: int, tile: Factors, most: Factors) -> bool:
        """Whether some tile between two fits its level."""
        level = self.design.levels[k]
        return (level.capacity is None or self.held(k, tile) <= level.capacity) and (
            level.least == 0 or self.held(k, most) >= level.least
        )

    def fits(self, k: int, extent: Factors) -> bool:
        """Whether a tile fits its level."""
        size = tuple(min(e, b) for e, b in zip(extent, self.design.bounds, strict=True))
        held = sum(self.design.words(v, size) for v in range(len(self.moves)) if self.keep[k][v])
        level = self.design.levels[k]
        return held >= level.least and (level.capacity is None or held <= level.capacity)

    def held(self, k: int, extent: Factors) -> int:
        """Words that a level keeps of a tile."""
        size = tuple(min(e, b) for e, b in zip(extent, self.design.bounds, strict=True))
        return sum(self.design.words(v, size) for v in range(len(self.moves)) if self.keep[k][v])

    def each(self, chain: list[Ends]) -> None:
        """Look at every choice of ends, of those that one stands for, level by level."""
        if not self.orders(chain, self.passing(chain), count=False):
            return
        ones = (1,) * len(self.design.bounds)

        def choose(k: int, extent: Factors, sure: float, done: list[Ends]) -> None:
            if k == self.levels:
                self.orders(done, self.passing(done), count=True)
                return
            left = [-(-b // e) for b, e in zip(self.design.bounds, extent, strict=True)]
            more, _ = self.entered(k, extent, extent, left)
            if sure + more >= self.limit_pj:
                self.cuts += 1
                return
            for chosen in itertools.product(*(range(low, high + 1) for low, high in chain[k])):
                tile = tuple(e * f * c for e, f, c in zip(extent, self.factors[k], chosen, strict=True))
                if self.fits(k, tile):
                    choose(k + 1, tile, sure + more, [*done, tuple((c, c) for c in chosen)])

        choose(0, ones, self.root_pj, [])

    def passing(self, chain: list[Ends]) -> tuple[float, list[Factors], list[list[Crossing]]]:
        """Return what is sure [pJ] of complete ends; by level the passes, and the crossings into the level inside."""
        sure, extent, largest = self.root_pj, (1,) * len(self.dims), (1,) * len(self.dims)
        passes, crossings = [], []
        for k, chosen in enumerate(chain):
            left = [-(-b // e) for b, e in zip(self.design.bounds, extent, strict=True)]
            more, entered = self.entered(k, extent, largest, left)
            sure += more
            passes.append(tuple(-(-n // f) for n, f in zip(left, self.factors[k], strict=True)))
            crossings.append(entered)
            extent = tuple(e * f * c[0] for e, f, c in zip(extent, self.factors[k], chosen, strict=True))
            largest = tuple(e * f * c[1] for e, f, c in zip(largest, self.factors[k], chosen, strict=True))
        return sure, passes, crossings

    def orders(
        self,
        chain: list[Ends],
        known: tuple[float, list[Factors], list[list[Crossing]]],
        *,
        count: bool,
    ) -> bool:
        """Try every order of loops that can still win, the outermost level first; return whether there is any."""
        sure_pj, passes, crossings = known

        def choose(k: int, sure: float, placed: list[tuple[int, ...]]) -> bool:
            if k < 0:
                if count:
                    self.count_all(chain, placed)
                return True
            found = False
            looping = [d for d, c in enumerate(chain[k]) if c[0] > 1]
            for order in self.design.levels[k].temporal.orders(looping):
                here = [order, *placed]
                more = 0.0
                for one in crossings[k]:
                    asked, filled = self.ordered(one, k, here, passes, chain)
                    more += max(0.0, self.price(one, asked, filled) - one.once_pj)
                if sure + more >= self.limit_pj:
                    self.cuts += 1
                    continue
                found = choose(k - 1, sure + more, here) or found
                if found and not count:
                    return True
                if k == 0 and all(f == 1 for f in self.factors[0]):
                    # Where nothing is unrolled inside the innermost loops, their order is nobody's matter.
                    break
            return found

        return choose(self.levels - 1, sure_pj, [])

    def count_all(self, chain: list[Ends], placed: list[tuple[int, ...]]) -> None:
        """Let the model count a nest on every arrangement."""
        temporal = tuple(tuple((d, c[d][0]) for d in reversed(order)) for order, c in zip(placed, chain, strict=True))
        for spatial in itertools.product(*(self.design.spatial_orders(k, f) for k, f in enumerate(self.factors))):
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
