"""What the boundaries of a group of unrollings cost: prices by data space, and fan-outs as classes of factors.

`docs/search.md` states the lemma: *groups of unrollings*.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from jouleloop.model.arrays import Bools, Floats, Ints, Record, Records
from jouleloop.model.kernel import box_words
from jouleloop.optimum.arrays import PLAIN, Case, Parts
from jouleloop.optimum.group_lattice import PRICE, Edge, Fan, begin_of, bits_of, extents_of, guards_of, new_lattice
from jouleloop.optimum.passing import MOST_LAID_OUT, unrolled_ranks, words_passed
from jouleloop.optimum.units import shares_of_steps, sure_shares, words_together
from jouleloop.optimum.windows import windows_of
from jouleloop.optimum.words import boxes_by_row, values_of

#: Unrollings of a group whose factors are not looked at one by one.
_MANY = 10_000
#: Most unrollings of a group that is kept for other choices, and most of these.
_FEW, _KEPT = 4, 10_000


class _Rows(NamedTuple):
    """What the spatial factors of a level mean, one row each: see `Boundaries._rows`."""

    shift: Ints
    instances: Floats
    chained: Floats
    alike: Floats
    linked: Floats
    share: Floats
    parted: Floats
    idle: Floats
    passed: Floats
    served: Floats
    stands: Floats
    sent_pj: Floats


class Unrollings(NamedTuple):
    """A group: by level its rows of factors, and the most of what any of them tell.

    Attributes
    ----------
    ids
        By unrolling and level the number of its row.
    rows
        By level numbers of rows.
    instances
        By level its instances at most.
    parted
        By level and data space, how many times over the instances of the level hold the whole in their partitions.
    leaked_pj
        Energy that leaks, at least.
    loops
        Dimensions that temporal loops may be over, as bits.
    """

    ids: Ints
    rows: list[Ints]
    instances: Floats
    parted: Floats
    leaked_pj: float
    loops: int
    prices: dict[tuple[int, int, int, int], Record]
    """What `Boundaries.price` has found, by data space, level, and those that it reads of."""
    apart: dict[tuple[int, int], float]
    """How many times the values of a rank instances take, by data space and the first fan-out that hands nothing on."""


class Boundaries:
    """Prices and fan-outs of all groups of a search.

    Parameters
    ----------
    case, parts
        Of the solver; ``parts`` lists the unrollings.
    """

    def __init__(self, case: Case, parts: Parts) -> None:
        self.case, self.parts = case, parts
        self.layer, self.hardware, self.side = case.target.layer, case.target.hardware, case.unrolled.side
        self.macs = float(np.prod(self.layer.bounds.astype(float)))
        self.lattice = new_lattice(self.layer, self.side)
        self._extent = extents_of(self.lattice.digit, self.layer.bounds)
        meshes = self.hardware.levels[["fanout_x", "fanout_y"]].tolist()
        self.rows = [self._rows(k, row, mesh) for k, (row, mesh) in enumerate(zip(parts.row, meshes, strict=True))]
        last = int(case.unrolled.origin[0])
        rows = list(parts.row)
        self.windows, self.window = windows_of(self.layer.coef, self.side, self._extent, self.layer.bounds, rows)
        self.rows[: last + 1] = [self._of_units(k, row) for k, row in enumerate(parts.row[: last + 1])]
        #: Of the factors next to the units: entries by row, what their arrangements have for `served` and `stands`.
        self._arranged = self._entries()
        self.partition = np.array([float(box_words(coef, self.layer.bounds)) for coef in self.layer.coef])
        self._fans: dict[tuple[int, int, bytes], Fan] = {}
        ids = parts.ids
        #: Groups of few unrollings, by the bytes of their rows.
        self._few = lru_cache(_KEPT)(lambda own: self._group(np.frombuffer(own, ids.dtype).reshape(-1, ids.shape[1])))
        #: What `_seen_apart` has found.
        self._seen: dict[tuple[int, int, tuple[int, ...]], float] = {}

    def _rows(self, k: int, row: Ints, mesh: tuple[int, int]) -> _Rows:
        """Return what the factors of a level mean, shape (rows, …): powers of primes, instances, and by data space.

        By data space: how many instances are asked for one box at most, with links and without; the share of words that
        links leave of the fills, at least; the instances that share a partition; the instances that share a box; the
        share of the words of all instances together that is asked for where the level keeps nothing, at least; what the
        network charges for a word [pJ].
        """
        lattice, side = self.lattice, self.side
        coef = self.layer.coef
        number = {tuple(one): n for n, one in enumerate(self._extent.tolist())}
        shift = np.array(
            [lattice.digit[number[tuple(one)]] if tuple(one) in number else lattice.most + 1 for one in row.tolist()]
        )
        spaces = len(coef)
        used = row.prod(axis=1).astype(float)
        chained, alike, linked, share, passed = (np.ones((len(row), spaces)) for _ in range(5))
        charge, sent_pj = self.parts.charge[:, k : k + 1, : len(row)], np.zeros((len(row), spaces))
        for v in range(spaces):
            halo = side["halo"][v]
            boxes, widest, _ = boxes_by_row(coef[v], halo, row)
            linked[:, v] = used / boxes * widest
            if charge.size:
                # Links may serve units in steps that stand, so that words go less far.
                near = k == 0 and (halo >= 0).any()
                sent_pj[:, v] = charge[v, 0]["word_pj"] if near else charge[v, 0]["filled_pj"][:, PLAIN] / boxes
            passed[:, v], alike[:, v], chained[:, v] = self._passed(row, v, mesh)
            for r in range(len(coef[v])):
                share[:, v] = np.minimum(share[:, v], 1.0 / row[:, halo == r].prod(axis=1))
        plain = (coef != 0).any(axis=1) & (side["halo"] < 0)
        parted = np.stack([np.where(own, 1, row).prod(axis=1) for own in plain], axis=1).astype(float)
        idle = np.stack([np.where(own, row, 1).prod(axis=1) for own in side["idle"]], axis=1).astype(float)
        last = alike, 1.0 / alike  # of fan-outs next to the units see `_of_units`
        return _Rows(shift.astype(np.int64), used, chained, alike, linked, share, parted, idle, passed, *last, sent_pj)

    def _of_units(self, k: int, row: Ints) -> _Rows:
        """Return the rows of a level whose factors may be those next to the units, with what the units ask for.

        By data space: how many units one word that is asked for serves at most, links too but for steps that stand;
        and how many words a unit asks for in those, at least.
        """
        own, bounds, merged = self.rows[k], self.layer.bounds, bool(self.case.unrolled.origin[0] != 0)
        served, stands = own.served.copy(), np.where(own.idle > 1, 0.0, own.stands)
        for v, coef in enumerate(self.layer.coef if k == 0 else ()):
            halo = self.side["halo"][v]
            for n, factors in enumerate(row):
                if own.idle[n, v] == 1 and not ((halo >= 0) & ((factors > 1) | merged)).any():
                    continue
                sure = sure_shares(coef, self.side[v], factors, bounds, bounds // factors, merged)
                words = sure[0] / own.instances[n]
                served[n, v], stands[n, v] = 1.0 / (words * sure[2]), words * sure[3]
        return own._replace(served=served, stands=stands)

    def _entries(self) -> tuple[list[Ints], Ints, Floats, Floats]:
        """Return numbers of entries by row next to the units; by entry its row, and what `_of_units` says of it."""
        own, links, bounds = self.rows[0], self.case.links, self.layer.bounds
        entries: list[Ints] = []
        rows: list[int] = []
        served: list[Floats] = []
        stands: list[Floats] = []
        for n in range(len(own.served)):
            first, last = links.run[n].tolist() if n < len(links.run) and len(links.stands) else (0, 0)
            entries.append(np.arange(len(rows), len(rows) + max(1, last - first)))
            for a in range(first, last) if first < last else [-1]:
                rows.append(n)
                served.append(own.served[n].copy())
                stands.append(own.stands[n].copy())
                if a < 0:
                    continue
                factors = self.parts.row[0][n]
                for v, coef in enumerate(self.layer.coef):
                    own_stands, new = links.stands[a, v], links.new[a, v]
                    if own.idle[n, v] > 1 or ((self.side["halo"][v] >= 0) & (factors > 1)).any():
                        words = words_together(coef, factors) / own.instances[n]
                        rest = bounds // factors
                        moved = shares_of_steps(coef, self.side[v], factors, bounds, rest, own_stands, new, -1)[1]
                        served[-1][v] = min(served[-1][v], 1.0 / (words * moved))
                        stands[-1][v] = max(stands[-1][v], words * own_stands)
        return entries, np.array(rows, np.int64), np.array(served), np.array(stands)

    def _passed(self, row: Ints, v: int, mesh: tuple[int, int]) -> tuple[Floats, Floats, Floats]:
        """Return by row the share of a data space's words that a level which keeps nothing asks for, at least.

        And how many instances ask for one box there at most, in the mean and of all.
        """
        share, mean, largest = (np.ones(len(row)) for _ in range(3))
        bounds, left = self.layer.bounds.tolist(), MOST_LAID_OUT
        repeats = bool(self.layer.reuse["no_temporal_reuse"][:, v].any())
        # Those of few instances first, which take the least work.
        for n in np.argsort(row.prod(axis=1), kind="stable").tolist():
            factors = row[n].tolist()
            ranks = list(unrolled_ranks(self.layer.coef[v], factors, bounds))
            share[n], mean[n], largest[n], laid_out = words_passed(ranks, factors, mesh, left, repeats=repeats)
            left -= laid_out
        return share, mean, largest

    def group(self, ids: Ints) -> Unrollings:
        """Return a group of some unrollings; ``ids`` has by unrolling and level the number of its row."""
        # Other choices of what is kept ask for the same few.
        return self._few(ids.tobytes()) if len(ids) <= _FEW else self._group(ids)

    def _group(self, ids: Ints) -> Unrollings:
        rows = list(ids.T) if len(ids) == 1 else [np.flatnonzero(np.bincount(own)) for own in ids.T]
        instances, parted = np.ones(len(ids)), np.ones((len(ids), self.partition.size))
        most, whole = [1.0], [parted[0]]
        each_pj = self.hardware.levels["leak_pj"]
        leaks_pj = np.full(len(ids), each_pj[-1])
        for k in range(len(rows) - 1, 0, -1):
            if len(rows[k]) > 1 or self.rows[k].instances[rows[k][0]] > 1.0:
                instances = instances * self.rows[k].instances[ids[:, k]]
                parted = parted * self.rows[k].parted[ids[:, k]]
            most.append(float(instances.max()))
            whole.append(parted.max(axis=0))
            leaks_pj += each_pj[k - 1] * instances
        steps = self.macs / (instances * self.rows[0].instances[ids[:, 0]])
        leaked_pj = float((steps * leaks_pj).min())
        return Unrollings(ids, rows, np.array(most[::-1]), np.stack(whole[::-1]), leaked_pj, self._loops(ids), {}, {})

    def _loops(self, ids: Ints) -> int:
        """Return the dimensions that temporal loops may be over, as bits: of many unrollings all."""
        left = self.layer.bounds > 1
        if len(ids) <= _MANY:
            factors = np.prod([self.parts.row[k][own] for k, own in enumerate(ids.T)], axis=0)
            left = (factors < self.layer.bounds).any(axis=0)
        return int(bits_of(left))

    def multicast(self, ids: Ints, v: int, first: int, last: int, *, mean: bool = False) -> Floats:
        """Return by unrolling how many instances ask for one box of a data space across some fan-outs, the last too.

        At most: of all boxes, or in their mean.
        """
        product = np.ones(len(ids))
        for row, own in zip(self.rows[first : last + 1], ids.T[first : last + 1], strict=True):
            product *= (row.alike if mean else row.chained)[own, v]
        return product

    def least_words(self, group: Unrollings, v: int, first: int, last: int) -> float:
        """Return the words of a data space that level ``last`` is asked for at least, those from ``first`` on passing.

        A level where two dimensions of a rank are unrolled may pass fewer requests on than boxes are different there.
        """
        share = np.ones(len(group.ids) if first <= last else 1)
        for k in range(first, last + 1):
            share *= self.rows[k].passed[group.ids[:, k], v]
        return float(self.lattice.volume[v] * share.min())

    def _apart(self, group: Unrollings, v: int, first: int) -> float:
        """Return how many times the values of a rank instances take that each see a part of it, at least.

        Fan-outs from ``first`` on hand nothing on, so that each instance takes all values of its own indices.
        """
        if len(group.ids) > _MANY:
            return 1.0
        if (v, first) in group.apart:
            return group.apart[v, first]
        whole = np.ones((len(group.ids), len(self.layer.bounds)), np.int64)
        factors = np.prod([whole, *(self.parts.row[k][group.ids[:, k]] for k in range(first, len(self.rows)))], axis=0)
        least = np.inf
        for r, row in enumerate(self.layer.coef[v]):
            if np.count_nonzero(row) > 1:
                own = set(map(tuple, np.where(row != 0, factors, 1).tolist()))
                least = min(least, *(self._seen_apart(v, r, one) for one in own))
        return group.apart.setdefault((v, first), max(1.0, least))

    def _seen_apart(self, v: int, r: int, factors: tuple[int, ...]) -> float:
        """Return how many times the values of a rank so many instances take at least, that each see a part of it."""
        key = v, r, factors
        if key not in self._seen:
            row, bounds, own = self.layer.coef[v, r], self.layer.bounds, np.array(factors)
            values = values_of(row, bounds // own, bounds) * float(own.prod())
            self._seen[key] = values / values_of(row, bounds, bounds)
        return self._seen[key]

    def price(self, group: Unrollings, child: int, kept: Bools, parents: Sequence[int], top: int) -> Records:
        """Return what the boundary outside a level costs, see `PRICE`.

        Parameters
        ----------
        child
            The level, -1 for the units.
        kept
            By data space, whether the level keeps it.
        parents
            By data space the next level that keeps it; the number of levels where none does.
        top
            The next level that keeps any.
        """
        price = np.zeros(len(kept), PRICE)
        price["beyond"] = price["apart"] = 1.0
        for v in np.flatnonzero(kept).tolist():
            key = v, child, parents[v], top
            if parents[v] >= len(self.rows):
                continue
            if key not in group.prices:
                group.prices[key] = self._price(group, *key)
            price[v] = group.prices[key]
        return price

    def _price(self, group: Unrollings, v: int, child: int, parent: int, top: int) -> Record:
        """Return what a data space takes at the boundary outside a level, see `price`."""
        levels, read_write = self.hardware.levels, self.layer.read_write[v]
        shared, price = bool(self.lattice.shared[v]), np.zeros(1, PRICE)[0]
        price["beyond"] = self.multicast(group.ids, v, top + 1, parent, mean=True).max() if top < parent else 1.0
        price["least_words"] = self.least_words(group, v, child + 2, parent)
        price["apart"] = self._apart(group, v, child + 2) if shared and child >= 0 else 1.0
        price["loops"] = group.loops
        price["ask_rounded"] = group.instances[parent] if shared else 0.0
        word = min(1.0, levels[parent]["clusters"] / group.instances[parent]) / levels[parent]["block_words"]
        price["sent_pj"] = self.rows[child + 1].sent_pj[group.rows[child + 1], v].min()
        price["ask_pj"] = levels[parent]["update_pj" if read_write else "read_pj"] * word
        if read_write:
            price["again_pj"] = levels[parent]["read_pj"] * word
            price["free"] = self.partition[v] * group.parted[parent, v]
        if child >= 0:
            price["fill_rounded"] = group.instances[child] if shared else 0.0
            word = min(1.0, levels[child]["clusters"] / group.instances[child]) / levels[child]["block_words"]
            price["fill_pj"] = levels[child]["write_pj"] * word
            if read_write:
                price["fill_free"] = self.partition[v] * group.parted[child, v]
        return price

    def edge(self, group: Unrollings, child: int, kept: Bools, parents: Sequence[int], top: int) -> Edge:
        """Return the boundary outside a level, see `price`."""
        return Edge(kept, self.price(group, child, kept, parents, top), self.fan(group, child + 1, top))

    def fan(self, group: Unrollings, first: int, top: int) -> Fan:
        """Return the factors of the fan-outs between two levels together, those in between keeping nothing."""
        chosen = group.rows
        key = (first, top, b"|".join(chosen[k].tobytes() for k in range(first, top + 1)))
        if key in self._fans:
            return self._fans[key]
        own, rows = self.rows[first], chosen[first]
        served, stands = own.served[rows], own.stands[rows]
        if first == 0:
            # Each arrangement next to the units for itself.
            at = np.concatenate([self._arranged[0][n] for n in rows.tolist()])
            rows, served, stands = self._arranged[1][at], self._arranged[2][at], self._arranged[3][at]
        shift, share, window = own.shift[rows], own.share[rows], self.window[first][rows]
        products: list[Floats] = [*(one[rows] for one in (own.linked, own.idle, own.chained)), served, stands]
        for k in range(first + 1, top + 1):
            more, rows = self.rows[k], chosen[k]
            shift = (shift[:, None] + more.shift[rows]).reshape(-1, shift.shape[1])
            share, window = np.repeat(share, len(rows), axis=0), np.repeat(window, len(rows), axis=0)
            times = more.alike, more.idle, more.chained, more.alike, more.stands
            products = [(a[:, None] * b[rows]).reshape(len(shift), -1) for a, b in zip(products, times, strict=True)]
            left = np.flatnonzero((shift <= self.lattice.most).all(axis=1))
            # Many products are alike; told apart late, those of five levels take gigabytes.
            left = left[_distinct(np.concatenate([one[left] for one in (shift, share, window, *products)], axis=1))]
            shift, window = shift[left], window[left]
            share, *products = (one[left] for one in (share, *products))
        asked, idle, chained, served, stands = products
        shared = self.lattice.shared
        ratio = idle / asked
        marks = np.concatenate([shift, share * shared, ratio * shared, chained, served, stands, window], axis=1)
        kept = _distinct(marks)
        shift, window = shift[kept], window[kept]
        share, ratio, chained, served, stands = (one[kept] for one in (share, ratio, chained, served, stands))
        classes, place = np.unique(
            np.concatenate([share * shared, ratio * shared], axis=1), axis=0, return_inverse=True
        )
        place = place.ravel()
        order = np.argsort(place, kind="stable")
        spaces = len(shared)
        share, ratio = np.ascontiguousarray(classes[:, :spaces]), np.ascontiguousarray(classes[:, spaces:])
        shift, place, window = shift[order], place[order], window[order]
        begin, guards = begin_of(place, len(classes)), guards_of(self.lattice.most, self.lattice.packed)
        step, taken = shift @ self.lattice.weight, shift @ self.lattice.packed
        instances = chained[order], served[order], stands[order]
        self._fans[key] = Fan(begin, place, step, taken, guards, share, ratio, *instances, window, self.windows)
        return self._fans[key]


def _distinct(marks: Floats) -> Ints:
    """Return the numbers of rows, each different one once, or twice where others have the same weighted sum."""
    order = np.argsort((marks * np.sqrt(np.arange(2.0, marks.shape[1] + 2.0))).sum(axis=1), kind="stable")
    own = marks[order]
    new = np.append(True, (own[1:] != own[:-1]).any(axis=1))
    found: Ints = np.sort(order[new])
    return found
