"""How often words cross a boundary of loops that need not divide, at least; docs/proof.md, "Times through"."""

import math
from collections.abc import Sequence
from functools import cache

import numpy as np

from jouleloop.proof.crossings import Crossing, Crossings, Floats
from jouleloop.proof.design import Factors

#: Ends of a level's loops by dimension, each from the least to the largest that leaves as many passes.
Ends = tuple[tuple[int, int], ...]


def once(passes: int, least: int, largest: int) -> bool:
    """Whether the last run of a loop is a single iteration, for one of the ends between two."""
    return any((passes - 1) % end == 0 for end in range(least, largest + 1)) and -(-passes // least) > 1


@cache
def subsets(number: int) -> Floats:
    """Return all subsets of so many, shape (number, subsets): 1 where one belongs to it."""
    return (np.arange(1 << number) >> np.arange(number)[:, None] & 1).astype(np.float64)


def between(loops: list[int]) -> set[int]:
    """Return the dimensions of which a loop stands between the first, the innermost, and another of its dimension."""
    saving: set[int] = set()
    seen: set[int] = set()
    for d in loops[1:]:
        if d == loops[0]:
            saving |= seen
        else:
            seen.add(d)
    return saving


class Times(Crossings):
    """How often words cross in one unrolling under one choice of what is kept."""

    def ahead(self, k: int, passes: Factors, chosen: Ends | None, pending: Sequence[Crossing]) -> float:
        """Least energy [pJ] that crossings cost beyond once through, whichever loop is the innermost."""
        if not pending:
            return 0.0
        number = [-(-n // b) for n, b in zip(passes, self.beyond[k + 1], strict=True)]
        rank, least = self.design.temporal[k].rank, math.inf
        for j in self.dims:
            if (passes[j] if chosen is None else chosen[j][0]) == 1:
                continue
            if chosen and any(c[0] > 1 and rank[d] < rank[j] for d, c in enumerate(chosen)):
                continue
            others = [d for d in self.dims if d != j and passes[d] > 1]
            saving = subsets(len(others))
            rows = {d: saving[i] for i, d in enumerate(others)}
            total = np.zeros(saving.shape[1])
            for one in pending:
                asked, filled = self.pass_times(k, one, j, rows, passes, chosen, number)
                total += np.maximum(0.0, one.price(asked, filled) - one.once_pj)
            least = min(least, float(total.min()))
        return 0.0 if least == math.inf else least

    def pass_times(
        self, k: int, one: Crossing, j: int, rows: dict[int, Floats], passes: Factors,
        chosen: Ends | None, number: list[int],
    ) -> tuple[Floats | float, Floats | float]:  # fmt: skip
        """How often words are asked for and reach a unit on average, at least, by the dimensions between two of j."""
        moves, mate, used = self.moves[one.space], self.mate[one.space], one.used
        if moves[j]:
            slid = mate[j] >= 0
            within = (j, mate[j]) if slid else ()
            stays, kept = (one.halos[j].box, 1 - one.halos[j].over) if slid else (1 / number[j], 1.0)
            asked, filled = self.again_times(one, within, number, rows, stays)
            return asked * kept, filled * kept
        asked = filled = 1.0
        if chosen and not any(moves[d] and c[0] > 1 for d, c in enumerate(chosen)):
            return 1.0, 1.0
        for d, row in rows.items():
            if moves[d] and mate[d] < 0:
                asked = np.maximum(asked, np.where(row, 2 - 1 / number[d], 1.0))
                filled = np.maximum(filled, np.where(row, 1 + used[j] * (1 - 1 / number[d]), 1.0))
        if chosen:
            rest = [-(-n // (c[0] * b)) for n, c, b in zip(passes, chosen, self.beyond[k + 1], strict=True)]
            outside = math.prod(rest[d] for d in self.dims if not moves[d])
            reached = math.prod(rest[d] - 1 + used[d] for d in self.dims if not moves[d])
            for d in self.dims:
                if moves[d] and mate[d] < 0 and chosen[d][0] > 1:
                    stays = 1 / number[d] if once(passes[d], *chosen[d]) else 0.0
                    asked = np.maximum(asked, 1 + (outside - 1) * (1 - stays))
                    filled = np.maximum(filled, 1 + (reached - 1) * (1 - stays))
        return asked, filled

    def again_times(
        self, one: Crossing, within: tuple[int, ...], number: list[int], rows: dict[int, Floats], stays: float,
        *, rested: bool = False,
    ) -> tuple[Floats | float, Floats | float]:  # fmt: skip
        """How often words are asked for and reach a unit, if every loop outside steps; ``within``: what slides once."""
        moves, mate, used = self.moves[one.space], self.mate[one.space], one.used
        asked: Floats | float = 1.0
        filled: Floats | float = 1.0
        for d in self.dims:
            ask = fill = low = 1.0
            if not moves[d]:
                ask, fill, low = float(number[d]), number[d] - 1 + used[d], used[d]
            elif mate[d] > d and d not in within:
                ask = fill = one.halos[d].rested if rested else one.halos[d].again
            if ask == fill == low == 1.0:
                continue
            row = rows.get(d)
            if mate[d] >= 0 and mate[d] in rows:
                row = rows[mate[d]] if row is None else np.maximum(row, rows[mate[d]])
            share: Floats | float = 0.0 if row is None else row * stays
            asked = asked * (ask * (1 - share) + share)
            filled = filled * (fill * (1 - share) + low * share)
        return asked, filled

    def ordered(
        self, one: Crossing, first: int, placed: list[tuple[int, ...]], passes: list[Factors],
        chain: Sequence[Ends],
    ) -> tuple[float, float]:  # fmt: skip
        """How often words of a crossing are asked for and reach a unit, the order of all loops outside known."""
        moves, mate = self.moves[one.space], self.mate[one.space]
        loops = [(first + i, d) for i, order in enumerate(placed) for d in order]
        asked = filled = 0.0
        share, plain, last = 1.0, False, set()
        rest = list(passes[first])
        at = first
        for place, (k, d) in enumerate(loops):
            while at < k:
                at += 1
                rest = list(passes[at])
            single = once(rest[d], *chain[k][d])
            after = -(-rest[d] // chain[k][d][0])
            if not moves[d]:
                plain = plain or (one.linkless and not single)
                rest[d] = after
                continue
            number = [-(-n // b) for n, b in zip(rest, self.beyond[k + 1], strict=True)]
            if mate[d] >= 0 and not plain:
                saving = {e: np.ones(1) for e in between([x for _, x in loops[place:]])}
                ask, fill = self.again_times(one, (d, mate[d]), number, saving, one.halos[d].box)
                kept = share * (1 - one.halos[d].over)
                return asked + kept * float(np.max(ask)), filled + kept * float(np.max(fill))
            ask, fill = self.again_times(one, (), number, {}, 0.0, rested=mate[d] >= 0)
            stays = 0.0
            if single:
                stays = 1.0 if d in last else 1 / -(-passes[first][d] // self.beyond[first + 1][d])
            last.add(d)
            asked += share * (1 - stays) * float(ask)
            filled += share * (1 - stays) * float(fill)
            share *= stays
            if share == 0:
                return asked, filled
            rest[d] = after
        return asked + share, filled + share * math.prod(one.used[d] for d in self.dims if not moves[d])
