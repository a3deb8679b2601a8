"""The arrays that the parts of the search exchange, few and wide; level 0 is the innermost storage level."""

from typing import Any, NamedTuple, TypeVar

import numpy as np

from jouleloop.jit import record
from jouleloop.model.arrays import MAX_LOOPS, Bools, Encoded, Floats, Ints, NestArrays

_Array = TypeVar("_Array", bound=np.typing.NDArray[Any])

#: Most distinct primes of one dimension (any bound up to ten million has fewer).
MAX_PRIMES = 9

#: What is minimised: energy; cycles, then energy, under an energy limit; energy-delay product; or, under limits on
#: energy
#: and product, cycles, keeping the first nest in canonical order.
ENERGY, DELAY, PRODUCT, CANONICAL = 0, 1, 2, 3
#: Relative slack that covers rounding of double-precision sums; results closer than this are ties.
SLACK = 1e-12
#: Places of the incumbent: energy [pJ], cycles, product, energy limit, product limit, and the power of the cycles in
#: the product of energy and cycles.
BEST_PJ, BEST_CYCLES, BEST_PRODUCT, LIMIT_PJ, LIMIT_PRODUCT, DELAY_POWER, BEST = range(7)
#: Places of the counters: nests evaluated; nodes entered; nodes cut by a bound, by a capacity; evaluations and nodes
#: allowed; what ended the search; work done; the work and the evaluations at which a kernel returns to its caller.
VISITED, NODES, CUT_BOUND, CUT_CAPACITY, BUDGET, NODE_LIMIT, STOPPED, TICKS, PAUSE, ENOUGH, COUNTERS = range(11)
#: What ended a search: nothing, too many evaluations, too many nodes, a full log, too many parts.
RUNNING, BY_EVALUATIONS, BY_NODES, BY_LOG, BY_PARTS = range(5)


#: Places of what may matter at the leaves of one unrolling: its first member, the one after its last, and whether the
#: innermost loops need no other order than the first. A first of -1: not known yet.
FIRST, LAST, ORDERED, RUN = range(4)
#: Events of a log: a child is opened; a cut has no tile that fits; a cut (order -1: in every order) has a bound that is
#: no better; a nest is evaluated.
OPENED, NO_TILE, LEFT_OUT, EVALUATED = range(4)
#: Places of a temporal slot, shape (levels, dimensions, SLOT): fixed factor (0: open), limits, rank in the loop order.
FIXED, MOST, LEAST, RANK, SLOT = range(5)
#: Places of a data space and dimension: whether the dimension leaves the data space in place; the rank it shares with
#: another dimension of bound above 1, or -1.
IDLE, HALO, SIDE = range(3)
#: Places of the boundary between a level that keeps a data space and the next such level outside: that level or -1;
#: words asked of it per word into the level without links, per word of steps that links may serve, and per word asked
#: at the fan-out of the level; words that an
#: instance ever sees; shares of linked and of standing words that are counted as fills; whether two instances may hold
#: one box.
PARENT, DISTINCT, DISTINCT_LINKED, BEYOND, PARTITIONED, FILL_LINKED, FILL_STANDING, COINCIDE = range(8)
#: And of the networks below a level: what they charge over all instances [pJ] for a word of the boxes that a plain, a
#: moved and a standing step fetches, at least, where the level inside keeps it, and where not; how many instances of
#: the level inside share what they hold, at most.
FILLED_PJ, BYPASSED_PJ, SHARERS, EDGE = 8, 11, 14, 15
#: Kinds of steps through a boundary: links serve none of the instances; all but the ends of chains; all. Where
#: neighbours are known, words of steps that move are plain; what links serve of them is counted by boxes and instances,
#: and the words of those steps are counted once more.
PLAIN, MOVED, STANDING, SPARED, SERVED, LINKED, STEPS = range(7)
#: Places of what is known of tiles of one shape below a fan-out: whether it is; instances below; distinct boxes.
KNOWN, INSTANCES_BELOW, BOXES, FAN = range(4)
#: Places of how far instances are apart along a rank: the most; what divides all distances (0: not unrolled); its
#: weight in the number of a distance. And of what links serve at most at a distance.
FARTHEST, QUANTUM, WEIGHT, REACH = range(4)
SERVED_BOXES, SERVED_INSTANCES, SERVES = range(3)
#: Places of what is asked about neighbours: whether anybody asks; the level and the tile (lattice index), where that
#: is needed next (level 0: none). And how many shapes of tiles are kept at a time.
ASKED, ASKED_LEVEL, ASKED_POINT, ASK = range(4)
SHAPES = 64
#: Places of the work space: by instance, after the distances to its mesh neighbours, its box; by box the first
#: instance that holds it; by distance, from there on, what links serve in one arrangement.
WAYS, BOX, HOLDER, COUNTED, PAIRS_WORK = 4, 4, 5, 6, 6 + SERVES
#: Most distances that are told apart, and most instances.
MOST_KEYS = 1024
#: Places of what a crossing into a level costs, by level and data space (-1: into the compute units): words per
#: vector of
#: the parent; energy [pJ] over all its instances per vector asked, and per vector asked beyond its partition; that
#: partition; words per vector of the level; energy over all its instances per vector filled beyond the last, the
#: words that
#: are not filled; of the words that pass through levels in between, the first such level plus 1 (0: none). It has a row
#: of its own: there stand the next one, how many words the parent is asked for per word that passes, at most, words per
#: vector, and energy [pJ] over all its instances per vector that passes, at least. Last what networks charge [pJ] for a
#: word of a plain, a moved and a standing step, at least.
ASK_BLOCK, ASK_PJ, AGAIN_PJ, ASK_FREE, FILL_BLOCK, FILL_PJ, FILL_FREE = range(7)
PASS_FIRST, PASS_NEXT, PASS_SHARE, PASS_BLOCK, PASS_PJ, NET_PJ, RATE = 7, 8, 9, 10, 11, 12, 15
#: Places of a dimension in a grid: what temporal loops must cover, number of divisors, weight of a divisor index in the
#: lattice index, number of pairs, and kind: dimensions of one kind share a data space that they leave in place, -1 for
#: those that move all; and whether every run counts as one that started with the whole, which saves states.
REST, COUNT, RADIX, PAIRS, KIND, WHOLE, AXIS_PLACES = range(7)
#: Places of a dimension around a boundary: indices of the tile with and without unrolled ones, iterations outside, and
#: indices of all tiles below one instance of the level outside.
EXTENT, TILE_SIZE, OUTSIDE, ACROSS, PLACES = range(5)
#: Places of a divisor: its value, its number of primes, then the index of the divisor less each prime.
VALUE, PRIMES, DOWN = range(3)
#: Places of a pair of divisors, the second dividing the first: indices of both, then the pair less each
#: prime of the second.
START, NOW, PAIR_DOWN = range(3)
#: Places of a node: number of loops outside a level, lattice index of its tile.
LOOPS, POINT = range(2)
#: Places of a waiting child: its tile and its loop order (four bits a dimension, innermost lowest; -1 for all orders of
#: the tile); what it is sorted by, its bound and, with an order, the energy that is certain [pJ].
CHILD_POINT, CHILD_ORDER, CHILD = range(3)
CHILD_KEY, CHILD_BOUND, CHILD_CERTAIN, CHILD_VALUES = range(4)
#: Places of a level's children on the stack: their first row, the row after their last, how many wait.
BEGIN, END, WAITING, REGION = range(4)
#: Places of where a descent stands: its level; whether it takes the next child, enters a node or lists its children;
#: how many tiles of a node were looked at; how many rows the stack needs before it goes on (0: those it has).
LEVEL, PHASE, LISTED, NEEDED, CURSOR = range(5)
TAKE, ENTER, EXPAND = range(3)
#: What is counted by level: nodes entered; tiles looked at, without room, left out; orders priced, left out; children
#: left out once they were taken.
ENTERED, TILES, ROOMLESS, TILES_OUT, ORDERS, ORDERS_OUT, TAKEN_OUT, PROFILE = range(8)
#: Places of where a pass over all parts stands: parts that wait; the part that is searched and the one whose tables
#: are filled (-1: none), and the lattice points of those; tables filled and quick descents made so far; whether this is
#: one; parts so far; what the kernel wants before it can go on; nests evaluated before the part was begun.
LEFT, CURRENT, TABLED, POINTS, FILLED, DIVES, DIVING, COUNT_PARTS, WANTS, BEGUN, PASS = range(11)
#: What a kernel may want: nothing, room for more parts or children, arrangements or neighbours of the part at hand.
NOTHING, ROOM, ROWS, ARRANGED, NEIGHBOURS = range(5)
#: How far a part is: its bound takes no tables; the parts of its unrolling that keep something else wait as well; its
#: bound is that of its tables.
SKETCHED, SPREAD, FINAL = range(3)
#: Instead of the bit of a level and data space that is kept in every choice, and in none.
KEPT, NOT_KEPT = -1, -2
#: Places of a part: what it is sorted by, and its bound [pJ].
PART_KEY, PART_BOUND, PART_VALUES = range(3)


@record
class Grid(NamedTuple):
    """The lattice of temporal tiles under one unrolling, and on it the states (tile, start of the trailing run).

    Attributes
    ----------
    axis
        Shape (dimensions, AXIS_PLACES).
    divisor
        Divisors in ascending order, shape (dimensions, divisors, DOWN + MAX_PRIMES).
    pair_of
        Index of the pair of two divisors, or -1.
    pair
        Shape (dimensions, pairs, PAIR_DOWN + MAX_PRIMES).
    fixed, sole
        By level and dimension: the factor that all levels inside have together where constraints fix it, else 0; and
        the divisor index of the only tile that may stand there, or -1. Shape (levels, dimensions).
    state
        By level, kind and dimension: weight in the index of the states of that kind at the boundary inside the level;
        the last column is the number of states, the last row is for dimensions of no kind. See `digit_of`.
    same
        By level and kind: whether the boundary further in has the same states.
    base
        By level and row: where the row starts in `Tables.enter`.
    """

    axis: Ints
    divisor: Ints
    pair_of: Ints
    pair: Ints
    fixed: Ints
    sole: Ints
    state: Ints
    same: Bools
    base: Ints


@record
class Unrolled(NamedTuple):
    """What one unrolling fixes before any temporal loop is chosen.

    Attributes
    ----------
    factors
        Spatial factors, shape (levels, dimensions).
    inside
        Unrolled indices inside each level, its own fan-out included, shape (levels, dimensions).
    instances
        Utilized instances of each level.
    origin
        Outermost level whose unrolled dimensions may as well be unrolled at a level, see `Candidates`.
    edge
        Shape (levels + 1, data spaces, EDGE).
    side
        Shape (data spaces, dimensions, SIDE).
    near
        Whether the rank that a dimension shares is unrolled at a level, shape (levels, data spaces, dimensions).
    rate
        Shape (levels + 1, data spaces, RATE); the last row is for the compute units.
    """

    factors: Ints
    inside: Ints
    instances: Floats
    origin: Ints
    edge: Floats
    side: Ints
    near: Ints
    rate: Floats


@record
class Tables(NamedTuple):
    """Lower bounds [pJ] of one unrolling.

    Attributes
    ----------
    enter
        By level a row a dimension and kind, one after another. First by dimension: least energy from the boundary
        below a level inward, given the innermost loop outside it, the tile there and where the trailing run of that
        loop started; infinite where nothing fits. Then by kind: least energy from a level's loops inward where all of
        them go on with the run that trails outside; its states are those of the boundary outside. What comes before
        the rows is work space.
    ahead
        Shape (levels, 1 + points): least energy from a level's loops inward, given its tile, where its innermost run
        starts
        at this level; at place 0 the entry for the whole tile with no loop outside.
    passes
        Shape (levels, points): whether a tile fits the level inside a level's boundary, and one fits in it further in.
    limit
        Shape (1,): energy [pJ] from which on a mapping counts for nothing, as do entries that it leaves no room for.
    """

    enter: Floats
    ahead: Floats
    passes: Bools
    limit: Floats


@record
class Scratch(NamedTuple):
    """Work space of the tables: a function that makes no array counts no references, which would take most of the time.

    Attributes
    ----------
    tile
        Divisor indices of a tile and of where a run started, and the tile's extents, shape (3, dimensions).
    place
        Shape (dimensions, PLACES).
    of_space, pj_of
        Numbers and energies by data space, shapes (4, data spaces).
    slide_pj
        Energy of windows by start of the run, shape (2, divisors).
    nowhere
        Of no dimension: zeros, shape (dimensions,).
    open_tile
        Whether anything fits inside a tile: most are too large for the inner levels, and nothing is priced there.
    roomless
        Whether a tile is too large for the level inside the boundary at hand.
    left
        By dimension: whether anything is left where the innermost loop outside a boundary is over it.
    left_pj
        By level, what is left of the limit for its boundary and all further in: outside, every word comes in once.
    line, places, several
        Digits of the states of a closure, shapes (3, dimensions), (dimensions, digits) and (digits + 1, MAX_PRIMES).
    """

    tile: Ints
    place: Ints
    of_space: Ints
    pj_of: Floats
    slide_pj: Floats
    nowhere: Ints
    open_tile: Bools
    roomless: Bools
    left: Bools
    left_pj: Floats
    line: Ints
    places: Ints
    several: Ints


@record
class Mesh(NamedTuple):
    """What is known of mesh neighbours, by level, data space and shape of the tile: how many have one at a distance.

    The shape is how far one unrolled index of a dimension is, in quanta of its rank (`words.shape_of`).

    Attributes
    ----------
    fan
        Shape (levels, data spaces, SHAPES, FAN).
    unit
        The shape that stands at a place, shape (levels, data spaces, SHAPES, dimensions).
    served
        By distance the distinct boxes and the instances that links serve at most, shape (levels, data spaces, SHAPES,
        distances, SERVES).
    pairs
        Work space by distance and by instance.
    ask
        Shape (ASK,).
    """

    fan: Ints
    unit: Ints
    served: Ints
    pairs: Ints
    ask: Ints


@record
class Case(NamedTuple):
    """One unrolling of one layer, ready to be searched: see the parts; ``keep`` says what is stored where."""

    target: Encoded
    keep: Bools
    slots: Ints
    unrolled: Unrolled
    grid: Grid
    tables: Tables
    scratch: Scratch
    mesh: Mesh


@record
class Path(NamedTuple):
    """The node that the descent stands at.

    Attributes
    ----------
    loops
        Temporal loops chosen so far, outermost first: dimension, bound, index step of one iteration.
    node
        Shape (levels, 2): loops outside a level, its tile.
    certain_pj
        Energy that is certain once the loops outside a level are chosen.
    traffic
        Words read and written per instance that are certain, shape (levels outside which loops are chosen, levels, 2).
    nest
        The same loops as the model reads them.
    shares
        By data space: whether several dimensions move one of its ranks.
    rank, words
        Work space of a crossing: five numbers by rank; words by kind of step, and what links serve of them.
    """

    loops: Ints
    node: Ints
    certain_pj: Floats
    traffic: Floats
    nest: NestArrays
    shares: Ints
    rank: Ints
    words: Floats


@record
class Arrangements(NamedTuple):
    """Spatial loops of one level in every arrangement that was asked for, outermost first.

    ``counts`` has shape (arrangements,), ``loops`` (arrangements, MAX_LOOPS, 3). ``members`` says where those of an
    unrolling are, by member and level, shape (members, levels, 2): the first and the one after the last. All
    combinations over the levels are admissible.
    """

    counts: Ints
    loops: Ints
    members: Ints


@record
class Found(NamedTuple):
    """The best nest so far, with the number of its arrangement (-1: none) and what it keeps."""

    counts: Ints
    loops: Ints
    arrangement: Ints
    keep: Bools


@record
class Stack(NamedTuple):
    """The children that wait in a descent, one heap a level, and where it stands: all that a pause has to keep.

    Attributes
    ----------
    child, value
        Shape (rows, CHILD) and (rows, CHILD_VALUES).
    heap
        Rows by level, those of a level from its first row on, as a binary heap.
    region
        Shape (levels, REGION).
    cursor
        Shape (CURSOR,).
    target
        Divisor indices of the next tile to be listed.
    tiles, tile_counts
        By level, the lattice points of the tiles that pass its boundary, ascending, shape (levels, points).
    node_pj
        Bound of the node that stands at a level.
    profile
        Shape (levels, PROFILE).
    work, chosen
        Work space, shapes (11, dimensions) and (levels,): a part that makes no array counts no references.
    """

    child: Ints
    value: Floats
    heap: Ints
    region: Ints
    cursor: Ints
    target: Ints
    tiles: Ints
    tile_counts: Ints
    node_pj: Floats
    profile: Ints
    work: Ints
    chosen: Ints


@record
class Parts(NamedTuple):
    """The parts of a search so far: unrollings, each under a choice of what is kept.

    At first one part an unrolling waits, that of the least bound. The others follow when its turn comes.

    Attributes
    ----------
    row, ids
        Spatial factors, see `Candidates`.
    steps
        Temporal iterations, by unrolling.
    runs
        What may matter at the leaves, shape (unrollings, RUN).
    bits
        By level and data space the bit that is set in a choice where the level does not keep it, innermost level first
        and highest; `KEPT` or `NOT_KEPT` where there is no choice.
    columns, column_counts
        By data space the choices of levels that keep it. A choice for all data spaces is one number, the sum of those
        of its columns.
    charge
        By data space the words of the whole, at place 0; then, where networks charge, by level and row of factors what
        they do, at places `FILLED_PJ` and on less the first, see `jouleloop.optimum.charges`. Shape (data spaces,
        1 + levels, rows, places).
    unrolling, choice
        By part.
    rank
        By part and data space: the place of its column among those of the data space, sorted by their bounds.
    value
        Shape (parts, PART_VALUES).
    stage
        By part, see `SKETCHED`.
    heap
        The parts that wait, as a binary heap.
    stand
        Shape (PASS,).
    pair_pj, column_pj, order
        Work space for one unrolling: energy between two levels; energy by data space and column, and the columns sorted
        by it.
    """

    row: Ints
    ids: Ints
    steps: Floats
    runs: Ints
    bits: Ints
    columns: Ints
    column_counts: Ints
    charge: Floats
    unrolling: Ints
    choice: Ints
    rank: Ints
    value: Floats
    stage: Ints
    heap: Ints
    stand: Ints
    pair_pj: Floats
    column_pj: Floats
    order: Ints


@record
class Log(NamedTuple):
    """What a descent left out and why, for a certificate.

    Attributes
    ----------
    event
        Shape (events, 4): what, level, lattice index of the tile inside, loop order as one number.
    value
        Energy or lower bound [pJ] by event.
    used
        Number of events so far; -1 where no log is kept.
    """

    event: Ints
    value: Floats
    used: Ints


@record
class Tally(NamedTuple):
    """What a pass minimises, and what it has found, counted and logged so far.

    Attributes
    ----------
    mode
        `ENERGY`, `DELAY`, `PRODUCT` or `CANONICAL`.
    best
        Shape (BEST,).
    counters
        Shape (COUNTERS,).
    """

    mode: int
    best: Floats
    counters: Ints
    found: Found
    log: Log


def new_mesh(levels: int, spaces: int, dims: int, distances: int) -> Mesh:
    """Return room for what may be known of neighbours."""
    return Mesh(
        np.zeros((levels, spaces, SHAPES, FAN), np.int64),
        np.zeros((levels, spaces, SHAPES, dims), np.int64),
        np.zeros((levels, spaces, SHAPES, distances, SERVES), np.int64),
        np.zeros((distances, PAIRS_WORK), np.int64),
        np.zeros(ASK, np.int64),
    )


def new_scratch(grid: Grid, levels: int, spaces: int, points: int) -> Scratch:
    """Return work space for the tables of a search, its lattices of no more than so many points."""
    dims, divisors = grid.divisor.shape[:2]
    digits = max(divisors, grid.pair.shape[1])
    return Scratch(
        np.empty((3, dims), np.int64),
        np.empty((dims, PLACES), np.int64),
        np.empty((4, spaces), np.int64),
        np.empty((4, spaces)),
        np.empty((2, divisors)),
        np.zeros(dims, np.int64),
        np.empty(points, np.bool_),
        np.empty(points, np.bool_),
        np.empty(dims, np.bool_),
        np.empty(levels),
        np.empty((3, dims), np.int64),
        np.empty((dims, digits), np.int64),
        np.empty((digits + 1, MAX_PRIMES), np.int64),
    )


def new_log(events: int = 0) -> Log:
    """Return an empty log with room for some events, or one that keeps nothing."""
    return Log(np.zeros((events, 4), np.int64), np.zeros(events), np.full(1, 0 if events else -1, np.int64))


def new_best(limit_pj: float = np.inf, delay_power: float = 1.0) -> Floats:
    """Return an incumbent that anything improves on, under a limit on energy [pJ]."""
    best = np.empty(BEST)
    best[BEST_PJ] = np.inf
    best[BEST_CYCLES] = np.inf
    best[BEST_PRODUCT] = np.inf
    best[LIMIT_PJ] = limit_pj
    best[LIMIT_PRODUCT] = np.inf
    best[DELAY_POWER] = delay_power
    return best


def new_counters(budget: int | None = None, nodes: int | None = None) -> Ints:
    """Return counters at zero that allow ``budget`` evaluations and so many nodes, without a pause."""
    counters = np.zeros(COUNTERS, np.int64)
    most = np.iinfo(np.int64).max
    counters[BUDGET] = most if budget is None else budget
    counters[NODE_LIMIT] = most if nodes is None else nodes
    counters[PAUSE] = counters[ENOUGH] = most
    return counters


def new_found(levels: int, spaces: int) -> Found:
    """Return the record of a descent that has found nothing yet."""
    loops = np.zeros((levels, 2, MAX_LOOPS, 3), np.int64)
    keep = np.zeros((levels, spaces), np.bool_)
    return Found(np.zeros((levels, 2), np.int64), loops, np.full(1, -1, np.int64), keep)


def new_stack(levels: int, dims: int, points: int, rows: int = 1024) -> Stack:
    """Return an empty stack with room for some children."""
    return Stack(
        np.empty((rows, CHILD), np.int64),
        np.empty((rows, CHILD_VALUES)),
        np.empty(rows, np.int64),
        np.zeros((levels, REGION), np.int64),
        np.zeros(CURSOR, np.int64),
        np.zeros(dims, np.int64),
        np.empty((levels, points), np.int64),
        np.zeros(levels, np.int64),
        np.zeros(levels),
        np.zeros((levels, PROFILE), np.int64),
        np.empty((11, dims), np.int64),
        np.empty(levels, np.int64),
    )


def deepened(stack: Stack, rows: int) -> Stack:
    """Return the stack with room for at least so many children, twice as many as before."""
    more = max(rows, 2 * len(stack.heap)) - len(stack.heap)
    return stack._replace(
        child=longer(stack.child, more), value=longer(stack.value, more), heap=longer(stack.heap, more)
    )


def longer(array: _Array, more: int) -> _Array:
    """Return an array with so many rows more."""
    return np.concatenate([array, np.empty((more, *array.shape[1:]), array.dtype)])  # type: ignore[return-value]
