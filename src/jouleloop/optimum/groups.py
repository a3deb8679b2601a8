"""Bounds of many unrollings at once: all of those that keep the same, split until few are left or none.

`docs/search.md` states the lemma: *groups of unrollings*. A long search begins anew with what no such bound leaves out.
"""

import itertools
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from jouleloop.model.arrays import (
    BLOCK_WORDS,
    CAPACITY,
    CLUSTERS,
    READ_PJ,
    RESTING,
    REUSE,
    UPDATE_PJ,
    WRITE_PJ,
    Bools,
    Floats,
    Ints,
)
from jouleloop.model.kernel import box_words
from jouleloop.optimum.arrays import COUNT_PARTS, CURRENT, HALO, IDLE, PART_BOUND, SPREAD, TABLED, Case, Parts
from jouleloop.optimum.group_table import (
    AGAIN_PJ,
    ASK_PJ,
    BEYOND,
    CROSSING,
    FILL_FREE,
    FILL_PJ,
    FREE,
    LEAST_WORDS,
    ROUNDED,
    cross_fan_out,
    extents_of,
    fill_level,
    loop_level,
    new_lattice,
)
from jouleloop.optimum.parts import MOST_PARTS, sketch_columns

#: Bounds are sums of doubles in another order than the model's.
_ROUNDING = 1.0 - 1e-9
#: Most bounds of columns that are kept.
_MOST_SKETCHES = 40_000_000
#: Unrollings of which each takes its own tables, and most groups of one choice.
_FEW, _MOST_GROUPS = 16, 400


class _Rows(NamedTuple):
    """What the spatial factors of a level mean, one row each: see `_rows`."""

    shift: Ints
    instances: Floats
    chained: Floats
    linked: Floats
    share: Floats
    parted: Floats
    idle: Floats


class Groups:
    """Bounds on all unrollings of a choice of what is kept.

    Parameters
    ----------
    case, parts
        Of the solver; ``parts`` lists the unrollings.
    """

    def __init__(self, case: Case, parts: Parts) -> None:
        self.case, self.parts = case, parts
        self.layer, self.spec, self.side = case.target.layer, case.target.spec, case.unrolled.side
        self.lattice = new_lattice(self.layer, self.side)
        self.rows = [self._rows(row) for row in parts.row]
        self.macs = float(np.prod(self.layer.bounds.astype(float)))
        self.partition = np.array([float(box_words(coef, self.layer.bounds)) for coef in self.layer.coef])
        plain = (self.layer.coef != 0).any(axis=1) & (self.side[:, :, HALO] < 0)
        #: Words of the dimensions that share no rank: what links leave of the requests of the units.
        self.alone = np.prod(np.where(plain, self.layer.bounds, 1).astype(float), axis=1)
        self._fans: dict[tuple[int, int, bytes], tuple[Ints, Ints, Floats, Floats, Floats]] = {}
        shape = self.lattice.valid.shape
        self._inside, self._out, self._ahead = np.empty(shape), np.empty(shape), np.empty(shape[0])
        self._least, self._found = np.empty(shape[0]), np.empty(shape[0], np.bool_)

    def _rows(self, row: Ints) -> _Rows:
        """Return what the factors of a level mean, shape (rows, …): powers of primes, instances, and by data space.

        By data space: how many instances are asked for one box at most, with links and without; the share of words that
        links leave of the fills, at least; the instances that share a partition; the instances that share a box.
        """
        lattice, side = self.lattice, self.side
        coef = self.layer.coef
        extent = extents_of(lattice.digit, self.layer.bounds)
        number = {tuple(one): n for n, one in enumerate(extent.tolist())}
        shift = np.array(
            [lattice.digit[number[tuple(one)]] if tuple(one) in number else lattice.most + 1 for one in row.tolist()]
        )
        spaces = len(coef)
        used = row.prod(axis=1).astype(float)
        chained, linked, share = (np.ones((len(row), spaces)) for _ in range(3))
        for v in range(spaces):
            boxes, widest, most = np.ones(len(row)), np.ones(len(row)), np.ones(len(row))
            near = np.zeros(len(row), np.bool_)
            for r, own in enumerate(coef[v]):
                offsets = np.where(own != 0, row, 1).max(axis=1)
                boxes *= offsets
                halo = np.where(side[v, :, HALO] == r, row, 1)
                is_near = (halo > 1).any(axis=1)
                near |= is_near
                widest = np.maximum(widest, np.where(is_near, offsets, 1))
                most = np.maximum(most, halo.prod(axis=1))
            chained[:, v] = used / boxes
            linked[:, v] = chained[:, v] * np.where(near, widest, 1.0)
            share[:, v] = np.where(near, 1.0 / most, 1.0)
        plain = (coef != 0).any(axis=1) & (side[:, :, HALO] < 0)
        parted = np.stack([np.where(own, 1, row).prod(axis=1) for own in plain], axis=1).astype(float)
        idle = np.stack([np.where(own == 1, row, 1).prod(axis=1) for own in side[:, :, IDLE]], axis=1).astype(float)
        return _Rows(shift.astype(np.int64), used, chained, linked, share, parted, idle)

    def bound_pj(self, keep: Bools, chosen: Sequence[Ints], limit_pj: float) -> float:
        """Return a lower bound [pJ] on all unrollings of some rows of each level; infinite from a limit on.

        Parameters
        ----------
        keep
            Shape (levels, data spaces).
        chosen
            By level the rows of factors.
        """
        lattice = self.lattice
        certain_pj = self.macs * self.case.target.compute_pj
        room_pj = (limit_pj - certain_pj) / _ROUNDING
        inside, out, ahead = self._inside, self._out, self._ahead
        parents = _parents(keep)
        most = [self.rows[k].instances[chosen[k]].max() for k in range(len(keep) - 1, 0, -1)]
        instances = np.cumprod([1.0, *most])[::-1]
        used = [-1, *np.flatnonzero(keep.any(axis=1)).tolist()]
        prices = [self._prices(keep, chosen, parents, instances, child, top) for child, top in itertools.pairwise(used)]
        after = np.cumsum([0.0, *(_compulsory_pj(price) for price in prices[:0:-1])])[::-1]
        for child, top, price, further_pj in zip(used[:-1], used[1:], prices, after, strict=True):
            fan = self._fan(child + 1, top, chosen)
            left_pj = room_pj - further_pj
            if child < 0:
                self._ask_units(out, price, fan)
            else:
                if not fill_level(lattice, out, ahead, keep[child], price, self.spec[child, CAPACITY], left_pj, inside):
                    return np.inf
                cross_fan_out(lattice, inside, keep[child], price, *fan[:4], left_pj, self._least, out)
            least = loop_level(lattice, out, ahead, self._found)
            if least >= left_pj:
                return np.inf
        return (certain_pj + float(ahead[-1])) * _ROUNDING

    def _prices(
        self, keep: Bools, chosen: Sequence[Ints], parents: Ints, instances: Floats, child: int, top: int
    ) -> Floats:
        """Return what the boundary outside a level costs, see `CROSSING`."""
        spec, layer = self.spec, self.layer
        price = np.zeros((keep.shape[1], CROSSING))
        price[:, BEYOND] = 1.0
        for v in range(keep.shape[1]):
            parent = int(parents[child + 1, v])
            if parent < 0 or (child >= 0 and not keep[child, v]):
                continue
            shared = bool(self.lattice.shared[v])
            for k in range(top + 1, parent + 1):
                price[v, BEYOND] *= self.rows[k].chained[chosen[k], v].max()
            price[v, LEAST_WORDS] = 0.0 if shared else self.lattice.volume[v]
            price[v, ROUNDED] = instances[child] if shared and child >= 0 else 0.0
            word = min(1.0, spec[parent, CLUSTERS] / instances[parent]) / spec[parent, BLOCK_WORDS]
            price[v, ASK_PJ] = spec[parent, UPDATE_PJ if layer.read_write[v] else READ_PJ] * word
            if layer.read_write[v]:
                price[v, AGAIN_PJ] = spec[parent, READ_PJ] * word
                price[v, FREE] = self.partition[v] * self._parted(chosen, parent, v)
            if child >= 0:
                word = min(1.0, spec[child, CLUSTERS] / instances[child]) / spec[child, BLOCK_WORDS]
                price[v, FILL_PJ] = spec[child, WRITE_PJ] * word
                if layer.read_write[v]:
                    price[v, FILL_FREE] = self.partition[v] * self._parted(chosen, child, v)
        return price

    def _parted(self, chosen: Sequence[Ints], level: int, v: int) -> float:
        """Return how many times over the instances of a level hold the whole in their partitions, at most."""
        times = 1.0
        for k in range(level + 1, len(chosen)):
            times *= float(self.rows[k].parted[chosen[k], v].max())
        return times

    def _fan(self, first: int, top: int, chosen: Sequence[Ints]) -> tuple[Ints, Ints, Floats, Floats, Floats]:
        """Return the factors of the fan-outs between two levels together, those in between keeping nothing.

        As `cross_fan_out` takes them; last, by factors and data space, the instances that are asked for one box.
        """
        key = (first, top, b"|".join(chosen[k].tobytes() for k in range(first, top + 1)))
        if key in self._fans:
            return self._fans[key]
        own = self.rows[first]
        rows = chosen[first]
        shift, share = own.shift[rows], own.share[rows]
        asked, idle, chained = own.linked[rows], own.idle[rows], own.chained[rows]
        for k in range(first + 1, top + 1):
            more, rows = self.rows[k], chosen[k]
            shift = (shift[:, None] + more.shift[rows]).reshape(-1, shift.shape[1])
            share = np.repeat(share, len(rows), axis=0)
            asked = (asked[:, None] * more.chained[rows]).reshape(len(shift), -1)
            chained = (chained[:, None] * more.chained[rows]).reshape(len(shift), -1)
            idle = (idle[:, None] * more.idle[rows]).reshape(len(shift), -1)
            fits = (shift <= self.lattice.most).all(axis=1)
            shift, share, asked, idle, chained = shift[fits], share[fits], asked[fits], idle[fits], chained[fits]
        shared = self.lattice.shared
        ratio = idle / asked
        marks = np.concatenate([shift, share * shared, ratio * shared, chained], axis=1)
        _, kept = np.unique(marks, axis=0, return_index=True)
        shift, share, ratio, chained = shift[kept], share[kept], ratio[kept], chained[kept]
        classes, place = np.unique(
            np.concatenate([share * shared, ratio * shared], axis=1), axis=0, return_inverse=True
        )
        order = np.argsort(place.ravel(), kind="stable")
        begin = np.searchsorted(place.ravel()[order], np.arange(len(classes) + 1))
        spaces = len(shared)
        self._fans[key] = (
            np.ascontiguousarray(shift[order]),
            begin.astype(np.int64),
            np.ascontiguousarray(classes[:, :spaces]),
            np.ascontiguousarray(classes[:, spaces:]),
            chained[order],
        )
        return self._fans[key]

    def _ask_units(self, out: Floats, price: Floats, fan: tuple[Ints, Ints, Floats, Floats, Floats]) -> None:
        """Write what the units ask of the innermost levels that keep something: they hold nothing of any step."""
        out[:] = np.inf
        shift, chained = fan[0], fan[4]
        linked = self._linked_units()
        for one, times in zip(shift, chained, strict=True):
            total = 0.0
            for v in range(len(price)):
                words = self.alone[v] if linked[v] else self.macs / times[v] / price[v, BEYOND]
                total += words * price[v, ASK_PJ] + max(0.0, words - price[v, FREE]) * price[v, AGAIN_PJ]
            x = int(one @ self.lattice.weight)
            own = out[x]
            own[self.lattice.valid[x] & (total < own)] = total

    def _linked_units(self) -> list[bool]:
        """Return by data space whether units may hand it on: where two may hold one word, or share a rank."""
        last = int(self.case.unrolled.origin[0])
        moved = [(row.idle > 1).any(axis=0) | (row.share < 1).any(axis=0) for row in self.rows[: last + 1]]
        found: list[bool] = np.any(moved, axis=0).tolist()
        return found


def _compulsory_pj(price: Floats) -> float:
    """Energy [pJ] of the words that a boundary passes whatever the tile is, of data spaces that share no rank."""
    words = price[:, LEAST_WORDS]
    asked = words * price[:, ASK_PJ] + np.maximum(0.0, words - price[:, FREE]) * price[:, AGAIN_PJ]
    return float((asked + np.maximum(0.0, words - price[:, FILL_FREE]) * price[:, FILL_PJ]).sum())


def _parents(keep: Bools) -> Ints:
    """Return by level, the units first, and data space the next level outside that keeps it; -1 where it passes."""
    parents = np.full((len(keep) + 1, keep.shape[1]), -1, np.int64)
    for v in range(keep.shape[1]):
        child = -1
        for level in np.flatnonzero(keep[:, v]).tolist():
            parents[child + 1, v] = level
            child = level
    return parents


def groups_of(case: Case, parts: Parts, *, wired: bool) -> Groups | None:
    """Return the groups of a search, or none where the lemma does not hold or there would be too many."""
    layer, side = case.target.layer, case.unrolled.side
    idle_of_several = (side[:, :, IDLE].sum(axis=0) > 1).any()
    shared = bool((side[:, :, HALO] >= 0).any())
    told = layer.reuse[..., [place for place in range(REUSE) if place != RESTING]].any()
    rests = shared and layer.reuse[..., RESTING].any()
    sketches = len(parts.ids) * parts.columns.size
    choices = np.prod(parts.column_counts.astype(float))
    if idle_of_several or told or rests or wired or sketches > _MOST_SKETCHES or choices < 2 or (layer.coef < 0).any():
        return None
    return Groups(case, parts)


def regrouped(groups: Groups, limit_pj: float) -> Iterator[int | Parts]:
    """Yield the work of each bound; last, the parts that no bound of a group leaves out, unless they are too many.

    Every mapping that costs no more than ``limit_pj`` is in one of them.
    """
    case, parts = groups.case, groups.parts
    count, most = len(parts.ids), parts.columns.shape[1]
    base_pj, column_pj = np.empty(count), np.full((count, len(parts.column_counts), most), np.inf)
    sketch_columns(case, parts, base_pj, column_pj)
    yield count
    limit_pj *= 1.0 + 1e-9
    found: list[tuple[int, Ints, Floats]] = []
    total = 0
    for choice in _choices(base_pj, column_pj, parts.column_counts, limit_pj):
        sketch_pj = base_pj.copy()
        for v, c in enumerate(choice):
            sketch_pj += column_pj[:, v, c]
        yield count
        own = np.flatnonzero(sketch_pj <= limit_pj)
        if len(own) == 0:
            continue
        number = int(sum(parts.columns[v, c] for v, c in enumerate(choice)))
        for left, bound_pj in _split(groups, _kept(parts, number), own, limit_pj):
            if left is None:
                yield groups.lattice.valid.size
            else:
                found.append((number, left, np.maximum(sketch_pj[left], bound_pj)))
                total += len(left)
        if total > MOST_PARTS:
            return
    yield _made(parts, found)


def _choices(base_pj: Floats, column_pj: Floats, counts: Ints, limit_pj: float) -> Iterator[tuple[int, ...]]:
    """Yield the choices of what is kept that the least bounds of their columns do not leave out."""
    least = column_pj.min(axis=0)
    room = limit_pj - base_pj.min()
    rest = np.cumsum(least.min(axis=1)[::-1])[::-1]

    def further(v: int, choice: tuple[int, ...], spent: float) -> Iterator[tuple[int, ...]]:
        if v == len(counts):
            yield choice
            return
        after = rest[v + 1] if v + 1 < len(counts) else 0.0
        for c in range(int(counts[v])):
            if spent + least[v, c] + after <= room:
                yield from further(v + 1, (*choice, c), spent + least[v, c])

    yield from further(0, (), 0.0)


def _kept(parts: Parts, choice: int) -> Bools:
    """Return what a choice keeps, shape (levels, data spaces)."""
    bits = parts.bits
    keep: Bools = np.where(bits < 0, bits == -1, (choice >> np.maximum(bits, 0)) & 1 == 0)
    return keep


def _split(groups: Groups, keep: Bools, own: Ints, limit_pj: float) -> Iterator[tuple[Ints | None, float]]:
    """Yield no unrollings after each bound, and unrollings that are left with their bound [pJ]."""
    ids = groups.parts.ids
    waiting, seen = [(own, 0.0)], 0
    while waiting:
        some, before_pj = waiting.pop()
        if seen >= _MOST_GROUPS or (len(some) <= _FEW and seen > 0):
            yield some, before_pj
            continue
        chosen = [np.unique(ids[some, level]) for level in range(ids.shape[1])]
        bound_pj = max(before_pj, groups.bound_pj(keep, chosen, limit_pj))
        seen += 1
        yield None, bound_pj
        if bound_pj > limit_pj:
            continue
        pieces = _pieces(groups, keep, some, chosen) if len(some) > _FEW else []
        if pieces:
            waiting += [(piece, bound_pj) for piece in pieces]
        else:
            yield some, bound_pj


def _pieces(groups: Groups, keep: Bools, some: Ints, chosen: Sequence[Ints]) -> list[Ints]:
    """Return unrollings split by the factor of a dimension at a level, where what is relaxed differs most."""
    ids, row = groups.parts.ids, groups.parts.row
    best, at = 0.0, (-1, -1)
    for level, rows in enumerate(chosen):
        if len(rows) < 2:
            continue
        passes = ~keep[level - 1] & keep[level - 1].any() if level else np.zeros(keep.shape[1], np.bool_)
        for d in range(row.shape[2]):
            values = row[level, rows, d]
            spread = float(values.max() / values.min())
            helps = 1.0 + 3.0 * (passes & (groups.side[:, d, IDLE] == 1)).any()
            if spread > 1.0 and np.log(spread) * helps > best:
                best, at = float(np.log(spread) * helps), (level, d)
    if at[0] < 0:
        return []
    value = row[at[0], ids[some, at[0]], at[1]]
    return [some[value == one] for one in np.unique(value)]


def _made(parts: Parts, found: list[tuple[int, Ints, Floats]]) -> Parts:
    """Return the parts of a search that begins anew with what was found."""
    stand = parts.stand.copy()
    unrolling = np.concatenate([np.zeros(0, np.int64), *(own for _, own, _ in found)])
    choice = np.concatenate([np.zeros(0, np.int64), *(np.full(len(own), number) for number, own, _ in found)])
    count, spaces = len(unrolling), len(parts.column_counts)
    room = count + spaces
    value = np.empty((room, parts.value.shape[1]))
    value[:count, PART_BOUND] = np.concatenate([np.zeros(0), *(bound for *_, bound in found)])
    stand[[CURRENT, TABLED]] = -1
    stand[COUNT_PARTS] = count
    return parts._replace(
        stand=stand,
        unrolling=np.append(unrolling, np.zeros(spaces, np.int64)),
        choice=np.append(choice, np.zeros(spaces, np.int64)),
        rank=np.zeros((room, spaces), np.int16),
        value=value,
        stage=np.full(room, SPREAD, np.int8),
        heap=np.empty(room, np.int64),
    )
