"""The places of a group of unrollings, and what is known of them.

`docs/search.md` states the lemma: *groups of unrollings*. A place is a tile, unrolled indices included, so a divisor of
the whole layer, and the run of loops that trails outside it.
"""

from typing import NamedTuple

import numpy as np

from jouleloop.division import factorised
from jouleloop.jit import njit, record
from jouleloop.model.arrays import Bools, Floats, Ints, LayerArrays, Record, Records
from jouleloop.optimum.windows import Windows, shared_ranks
from jouleloop.optimum.words import values_of

#: What a crossing costs by data space.
PRICE = np.dtype(
    [
        # Energy [pJ] of a word asked, and of one asked beyond so many words.
        ("ask_pj", np.float64),
        ("again_pj", np.float64),
        ("free", np.float64),
        # Energy [pJ] that the next network charges for a word.
        ("sent_pj", np.float64),
        # How many times fewer words are asked than the tile tells; words asked at least.
        ("beyond", np.float64),
        ("least_words", np.float64),
        # Energy [pJ] of a word filled beyond so many words.
        ("fill_pj", np.float64),
        ("fill_free", np.float64),
        # Words that rounding may take off those asked and filled.
        ("ask_rounded", np.float64),
        ("fill_rounded", np.float64),
        # How many times the words that come in at least instances take that each see a part of a rank alone.
        ("apart", np.float64),
        # Dimensions of which an unrolling leaves loops, as bits.
        ("loops", np.int64),
    ],
    align=True,
)


@record
class Lattice(NamedTuple):
    """All tiles of a layer, and all runs of loops that leave one data space in place.

    Attributes
    ----------
    digit, most, weight
        Powers of the primes of a tile, one axis a dimension and prime, shape (tiles, axes); the largest; the weight of
        an axis in a tile's number.
    packed, spare
        By axis the value of one power in a packed number; by tile the powers that are left, packed, a bit above each.
    size, rest
        By data space and tile: words of the box; iterations outside of the dimensions that leave it in place.
    volume, boxes
        By data space, words that have to come in at least; and, by tile, those of all boxes.
    ranks, seen, moves
        By data space and rank that dimensions share: these dimensions as bits, 0 where there is none; and by tile,
        where the innermost loop that moves the data space moves that rank: words that come in at least; the share of
        steps that surely move it, where loops may cancel.
    loops
        By tile, the dimensions that loops may be over outside, as bits.
    shared
        By data space, whether several dimensions move a rank.
    saved
        By run and data space, how many iterations of `rest` the run holds.
    first
        Of the runs of each kind the one without a loop.
    longer
        By axis and run the run of one prime more, or -1.
    valid
        By tile and run, whether the run has room outside the tile.
    apart
        By run, whether it leaves a data space in place that shares a rank.
    unlinked
        By run, data space and ranks along which instances differ, as bits: the share of steps that loops of the run
        over another rank take, at least.
    """

    digit: Ints
    most: Ints
    weight: Ints
    packed: Ints
    spare: Ints
    size: Floats
    rest: Floats
    volume: Floats
    boxes: Floats
    ranks: Ints
    seen: Floats
    moves: Floats
    loops: Ints
    shared: Bools
    saved: Floats
    first: Ints
    longer: Ints
    valid: Bools
    apart: Bools
    unlinked: Floats


def new_lattice(layer: LayerArrays, side: Records) -> Lattice:
    """Return the lattice of a layer of which each dimension leaves at most one data space in place."""
    axes = axes_of(layer.bounds)
    most = np.array([power for *_, power in axes], np.int64)
    weight = np.concatenate([[1], np.cumprod(most[:-1] + 1)]).astype(np.int64)
    tiles = int((most + 1).prod())
    digit = np.ascontiguousarray(np.arange(tiles)[:, None] // weight % (most + 1))
    extent = extents_of(digit, layer.bounds).astype(float)
    idle = side["idle"]
    whole = layer.bounds.astype(float)
    runs: list[Ints] = []
    first: list[int] = []
    for own in idle if idle.any() else idle[:1]:
        held = np.array([own[d] for d, *_ in axes])
        if not held.any() and idle.any():
            continue
        first.append(sum(map(len, runs)))
        runs.append(np.unique(digit * held, axis=0))
    run = np.concatenate(runs)
    longer = [one for own, begin in zip(runs, first, strict=True) for one in _longer(own, begin)]
    value = np.array([float(p) for _, p, _ in axes]) ** run
    saved = np.ones((len(run), len(idle)))
    for v, own in enumerate(idle):
        saved[:, v] = np.prod(np.where([own[d] for d, *_ in axes], value, 1.0), axis=1)
    shared = np.array((side["halo"] >= 0).any(axis=1), np.bool_)
    boxes = [_plain(coef, extent, layer.bounds) for coef in layer.coef]
    # A bit above each power stays set while no more is taken than is left. Fewer than 2^31 tiles take 62 bits at most.
    wide = np.array([0, *(int(power).bit_length() + 1 for power in most)])
    packed = 1 << np.cumsum(wide)[:-1]
    return Lattice(
        digit,
        most,
        weight,
        packed,
        (most - digit) @ packed + guards_of(most, packed),
        np.stack([_box(coef, extent) for coef in layer.coef]),
        np.stack([np.prod(np.where(own, whole / extent, 1.0), axis=1) for own in idle]),
        np.array([_values(coef, layer.bounds).prod() for coef in layer.coef]),
        np.stack([own.prod(axis=0) for own in boxes]),
        *_along_ranks(layer, side, extent, boxes),
        bits_of(layer.bounds > extent),
        shared,
        saved,
        np.array(first, np.int64),
        np.array(longer, np.int64).T.copy(),
        np.ascontiguousarray((digit[:, None, :] + run <= most).all(axis=2)),
        np.ascontiguousarray((saved[:, shared] > 1.0).any(axis=1)),
        unlinked_shares(side, run, axes),
    )


def unlinked_shares(side: Records, run: Ints, axes: list[tuple[int, int, int]]) -> Floats:
    """Return `Lattice.unlinked`; ``run``: powers by run and axis."""
    ranks, held = shared_ranks(side["halo"]), np.ones((len(run), side.shape[1]))
    for a, (d, prime, _) in enumerate(axes):
        held[:, d] *= float(prime) ** run[:, a]
    found = np.zeros((len(run), len(ranks), 2 ** max(map(len, ranks))))
    for v, own in enumerate(ranks):
        for near in range(found.shape[2]):
            others, counts = ~side["idle"][v], np.ones(len(run), np.bool_)
            for a, r in enumerate(own):
                mine = side["halo"][v] == r
                others &= ~(mine & bool(near >> a & 1))
                # Two dimensions of a rank may cancel out.
                counts &= (held[:, mine] > 1).sum(axis=1) < 2
            share = (1.0 - 1.0 / held[:, others].prod(axis=1)) / held[:, ~others].prod(axis=1)
            found[:, v, near] = np.where(counts, share, 0.0)
    return found


def guards_of(most: Ints, packed: Ints) -> int:
    """Return the bits above all powers of a packed number."""
    return sum(one << int(power).bit_length() for one, power in zip(packed.tolist(), most.tolist(), strict=True))


def axes_of(bounds: Ints) -> list[tuple[int, int, int]]:
    """Return dimension, prime and power of every axis; there is one at least."""
    return [(d, *one) for d, bound in enumerate(bounds.tolist()) for one in factorised(bound)] or [(0, 1, 0)]


def extents_of(digit: Ints, bounds: Ints) -> Ints:
    """Return the indices of every tile by dimension, unrolled ones included."""
    extent = np.ones((len(digit), len(bounds)), np.int64)
    for a, (d, p, _) in enumerate(axes_of(bounds)):
        extent[:, d] *= p ** digit[:, a]
    return extent


def _longer(runs: Ints, begin: int) -> list[list[int]]:
    """Return, by run of one kind and axis, the run with one prime more, or -1; their numbers begin there."""
    number = {tuple(run): begin + n for n, run in enumerate(runs.tolist())}
    return [[number.get((*run[:a], run[a] + 1, *run[a + 1 :]), -1) for a in range(len(run))] for run in number]


def _box(coef: Ints, extent: Floats) -> Floats:
    """Words of the boxes of tiles, gaps included."""
    words: Floats = np.prod([1.0 + ((extent - 1.0) * row).sum(axis=1) for row in coef], axis=0)
    return words


def _values(coef: Ints, bounds: Ints) -> Floats:
    """Words that all of a layer takes along each rank, at least."""
    return np.array([values_of(row, bounds, bounds) for row in coef], float)


def _plain(coef: Ints, extent: Floats, bounds: Ints) -> Floats:
    """Lengths of all tiles by rank and tile, none sliding."""
    moved = [np.prod(np.where(row != 0, bounds / extent, 1.0), axis=1) for row in coef]
    return np.stack([own * (1.0 + ((extent - 1.0) * row).sum(axis=1)) for own, row in zip(moved, coef, strict=True)])


def bits_of(dims: Bools) -> Ints:
    """Return dimensions as bits, shape (…, dimensions)."""
    found: Ints = dims @ (1 << np.arange(dims.shape[-1]))
    return found


def _along_ranks(layer: LayerArrays, side: Records, extent: Floats, boxes: list[Floats]) -> tuple[Ints, Floats, Floats]:
    """Return `Lattice.ranks`, ``seen`` and ``moves``; ``boxes`` as `_plain` returns it."""
    ranks = shared_ranks(side["halo"])
    shape = len(ranks), max(map(len, ranks))
    dims, (seen, moves) = np.zeros(shape, np.int64), np.ones((2, *shape, len(extent)))
    left, place = np.unique(layer.bounds // extent, return_inverse=True)
    primes = np.array([factorised(int(n))[0][0] if n > 1 else np.inf for n in left])
    least = primes[place].reshape(extent.shape)
    for v, own in enumerate(ranks):
        values = _values(layer.coef[v], layer.bounds)
        for a, r in enumerate(own):
            mine = layer.coef[v, r] > 0
            dims[v, a] = bits_of(mine)
            seen[v, a] = np.minimum(values[r] / boxes[v][r], 1.0) * boxes[v].prod(axis=0)
            # Of the innermost loop's steps none stands.
            moves[v, a] = 1.0 - 1.0 / least[:, mine].min(axis=1)
    return dims, seen, moves


@njit(inline="always")
def seen_in(lattice: Lattice, price: Record, v: int, x: int) -> float:
    """Words of a data space that shares a rank that come into tiles at least while no loop leaves it in place."""
    words = lattice.boxes[v, x]
    for a in range(lattice.ranks.shape[1]):
        if lattice.ranks[v, a] != 0:
            words = min(words, lattice.seen[v, a, x] * price.apart)
    return float(words)


@record
class Fan(NamedTuple):
    """The factors of the fan-outs between two levels together, those in between keeping nothing.

    Attributes
    ----------
    begin
        Where the factors of each class begin.
    kind, step, taken
        By factors, their class; how much further on the tile outside is; their powers of primes, packed.
    guards
        The bits above all powers of a packed number.
    share, ratio
        By class and data space that shares a rank: the share of the words that is counted as fills, and the words asked
        for over those that the tile outside tells, at least.
    chained, served
        By factors and data space, the instances that ask for one box, of all, at most, without links; and the units
        that one word serves, in the mean over steps that do not stand.
    stands
        By factors and data space, words that a unit asks for where a step stands, at least in the mean.
    window, windows
        By factors and data space, the number of those next to the level inside, and what its windows leave.
    """

    begin: Ints
    kind: Ints
    step: Ints
    taken: Ints
    guards: int
    share: Floats
    ratio: Floats
    chained: Floats
    served: Floats
    stands: Floats
    window: Ints
    windows: Windows


def some_of(fan: Fan, own: Bools) -> Fan:
    """Return some of the factors of a fan-out."""
    left = {
        name: getattr(fan, name)[own] for name in ("kind", "step", "taken", "chained", "served", "stands", "window")
    }
    return fan._replace(begin=begin_of(left["kind"], len(fan.share)), **left)


def begin_of(kind: Ints, classes: int) -> Ints:
    """Return where the factors of each class begin, in the order of their classes."""
    return np.searchsorted(kind, np.arange(classes + 1)).astype(np.int64)


@record
class Edge(NamedTuple):
    """The boundary outside a level.

    Attributes
    ----------
    kept, price
        By data space, whether the level keeps it, and prices, see `PRICE`.
    fan
        Of the levels outside, up to the next that keeps anything.
    """

    kept: Bools
    price: Records
    fan: Fan


@record
class Table(NamedTuple):
    """Least energy [pJ] of the loops of a level and all inside.

    Attributes
    ----------
    out
        Of those that go on with a run, shape (tiles, runs).
    ahead
        Of all, by tile.
    found
        By tile, whether any run may go on. Where none may, its row of ``out`` says nothing.
    """

    out: Floats
    ahead: Floats
    found: Bools


@record
class Rows(NamedTuple):
    """The places that are left of a table: tiles in ascending order, the runs of each, and energies [pJ].

    Attributes
    ----------
    tile, begin
        Tiles, and where the places of each begin; one more.
    run, cost
        By place.
    """

    tile: Ints
    begin: Ints
    run: Ints
    cost: Floats


def new_table(lattice: Lattice) -> Table:
    """Return room for a table."""
    shape = lattice.valid.shape
    return Table(np.empty(shape), np.empty(shape[0]), np.zeros(shape[0], np.bool_))


def new_rows(lattice: Lattice) -> Rows:
    """Return room for the places of a whole table."""
    tiles, places = len(lattice.digit), int(lattice.valid.sum())
    return Rows(np.empty(tiles, np.int64), np.zeros(tiles + 1, np.int64), np.empty(places, np.int32), np.empty(places))


@njit
def unpack(rows: Rows, i: int, line: Floats) -> float:
    """Write the energies of a tile by run, infinite where there is no place; return the least."""
    line[:] = np.inf
    least = np.inf
    for e in range(rows.begin[i], rows.begin[i + 1]):
        line[rows.run[e]] = rows.cost[e]
        least = min(least, rows.cost[e])
    return least


def first_rows(rows: Rows, count: int) -> Rows:
    """Return the first tiles of some rows, in the same memory."""
    end = rows.begin[count]
    return Rows(rows.tile[:count], rows.begin[: count + 1], rows.run[:end], rows.cost[:end])


def least_of(rows: Rows) -> Floats:
    """Return the least energy [pJ] of each tile; each has a place."""
    least: Floats = np.minimum.reduceat(rows.cost, rows.begin[:-1]) if len(rows.tile) else rows.cost[:0]
    return least
