"""The arrays that the parts of the search exchange, few and wide; level 0 is the innermost storage level."""

from typing import Any, NamedTuple, TypeVar

import numpy as np

from jouleloop.jit import record
from jouleloop.model.arrays import LOOP, MAX_LOOPS, Bools, Encoded, Floats, Ints, NestArrays, Records, new_nest
from jouleloop.model.steps import AROUND

_Array = TypeVar("_Array", bound=np.typing.NDArray[Any])

#: Most distinct primes of one dimension (any bound up to ten million has fewer).
MAX_PRIMES = 9

#: What is minimised: energy; cycles, then energy, under an energy limit; energy-delay product; or, under limits on
#: energy and product, cycles, keeping the first nest in canonical order.
ENERGY, DELAY, PRODUCT, CANONICAL = 0, 1, 2, 3
#: Relative slack that covers rounding of double-precision sums; results closer than this are ties.
SLACK = 1e-12
#: The incumbent.
BEST = np.dtype(
    [
        ("energy_pj", np.float64),
        ("cycles", np.float64),
        # Energy times a power of the cycles, and that power.
        ("product", np.float64),
        ("delay_power", np.float64),
        # Limits on energy [pJ], product and cycles.
        ("limit_pj", np.float64),
        ("limit_product", np.float64),
        ("most_cycles", np.float64),
        # Energy [pJ] below which a nest is noted that does not improve on the rest (see `Rounds`), or -inf.
        ("aside_pj", np.float64),
        # Least energy [pJ] of the nests of a part: of those evaluated, and the bounds of those left out.
        ("least_pj", np.float64),
    ],
    align=True,
)
#: What a search counts, and how far it may go.
COUNTERS = np.dtype(
    [
        # Nests evaluated; nodes entered; nodes cut by a bound, by a capacity.
        ("visited", np.int64),
        ("nodes", np.int64),
        ("cut_bound", np.int64),
        ("cut_capacity", np.int64),
        # Evaluations and nodes allowed, and what ended the search.
        ("budget", np.int64),
        ("node_limit", np.int64),
        ("stopped", np.int64),
        # Work done; the work and the evaluations at which a kernel returns to its caller.
        ("ticks", np.int64),
        ("pause", np.int64),
        ("enough", np.int64),
    ],
    align=True,
)
#: What ended a search: nothing, too many evaluations, too many nodes, a full log, too many parts.
RUNNING, BY_EVALUATIONS, BY_NODES, BY_LOG, BY_PARTS = range(5)
#: What was found instead of the number of an arrangement: no nest; one that is no better than the limit of a round.
NONE, ASIDE = -1, -2


#: What may matter at the leaves of one unrolling.
RUN = np.dtype(
    [
        # Its first member (-1: not known yet), and the one after its last.
        ("first", np.int64),
        ("last", np.int64),
        # Whether the innermost loops need no other order than the first.
        ("ordered", np.bool_),
    ],
    align=True,
)
#: Events of a log: a child is opened; a cut has no tile that fits; a cut (order -1: in every order) has a bound that is
#: no better; a nest is evaluated.
OPENED, NO_TILE, LEFT_OUT, EVALUATED = range(4)
EVENT = np.dtype(
    [
        ("what", np.int64),
        ("level", np.int64),
        # Lattice index of the tile inside, and loop order as one number.
        ("point", np.int64),
        ("order", np.int64),
        # Energy or lower bound [pJ].
        ("value", np.float64),
    ],
    align=True,
)
#: A dimension beside a data space.
SIDE = np.dtype(
    [
        # Whether it leaves the data space in place.
        ("idle", np.bool_),
        # The rank that it shares with another dimension of bound above 1, or -1.
        ("halo", np.int64),
    ],
    align=True,
)
#: A data space below a level: the boundary between the level and the next one outside that keeps it, and networks.
EDGE = np.dtype(
    [
        # That next level, -1 where there is none.
        ("parent", np.int64),
        # Words asked of it per word into the level without links, and per word of steps that links may serve.
        ("distinct", np.float64),
        ("distinct_linked", np.float64),
        # And per word asked at the fan-out of the level.
        ("beyond", np.float64),
        # Words that an instance of the level ever sees.
        ("partitioned", np.float64),
        # Shares of linked and of standing words that are counted as fills.
        ("fill_linked", np.float64),
        ("fill_standing", np.float64),
        # Distinct boxes at the fan-out of the level, at least; those that moving links cannot serve; and their share.
        ("boxes", np.float64),
        ("boxes_linked", np.float64),
        ("share_linked", np.float64),
        # Whether two instances may hold one box.
        ("coincide", np.bool_),
        # What the networks below the level charge over all instances [pJ] for a word of the boxes that a plain and a
        # moved step fetch, at least, where the level inside keeps it, and where not.
        ("filled_pj", np.float64, 2),
        ("bypassed_pj", np.float64, 2),
        # How many instances of the level inside share what they hold, at most.
        ("sharers", np.float64),
    ],
    align=True,
)
#: The last three fields of `EDGE`, of one instance of the level.
CHARGE = np.dtype(
    [
        ("filled_pj", np.float64, 2),
        ("bypassed_pj", np.float64, 2),
        # Of a word at least, wherever it goes.
        ("word_pj", np.float64),
        ("sharers", np.float64),
    ],
    align=True,
)
#: What the compute units ask for of a data space, at least.
ASKED = np.dtype(
    [
        # In how many steps any of them asks, negative until that is known; for how many words; in how many all ask.
        ("steps", np.float64),
        ("words", np.float64),
        ("plain", np.float64),
    ],
    align=True,
)
#: Kinds of steps that networks charge for: links serve none of the instances; all but the ends of chains.
PLAIN, MOVED = range(2)
#: Words into one instance by kind of step. Where neighbours are known, words of steps that move are plain.
WORDS = np.dtype(
    [
        ("plain", np.float64),
        ("moved", np.float64),
        ("standing", np.float64),
        # What links serve of them then, counted by boxes and by instances, and the words of those steps once more.
        ("spared", np.float64),
        ("served", np.float64),
        ("linked", np.float64),
    ],
    align=True,
)
#: What is known of tiles of one shape below a fan-out.
FAN = np.dtype(
    [
        # Whether anything is.
        ("known", np.bool_),
        # Instances below, and distinct boxes.
        ("instances", np.int64),
        ("boxes", np.int64),
    ],
    align=True,
)
#: How far instances are apart along a rank.
REACH = np.dtype(
    [
        # The most, and what divides all distances (0: not unrolled).
        ("farthest", np.int64),
        ("quantum", np.int64),
        # The rank's weight in the number of a distance.
        ("weight", np.int64),
    ],
    align=True,
)
#: What links serve at most at a distance: distinct boxes and instances.
SERVED = np.dtype([("boxes", np.int64), ("instances", np.int64)], align=True)
#: What is asked about neighbours.
ASK = np.dtype(
    [
        # Whether anybody asks.
        ("asked", np.bool_),
        # The level and the tile (lattice index), where that is needed next (level 0: none).
        ("level", np.int64),
        ("point", np.int64),
    ],
    align=True,
)
#: How many shapes of tiles are kept at a time.
SHAPES = 64
#: Work space of neighbours, three tables side by side.
NEIGHBOUR = np.dtype(
    [
        # By instance the numbers of the distances to its mesh neighbours, and its box.
        ("ways", np.int64, 4),
        ("box", np.int64),
        # By box the first instance that holds it.
        ("holder", np.int64),
        # By distance what links serve in one arrangement.
        ("served_boxes", np.int64),
        ("served_instances", np.int64),
    ],
    align=True,
)
#: Most distances that are told apart, and most instances.
MOST_KEYS = 16_384
#: What a crossing into a level costs.
RATE = np.dtype(
    [
        # Words per vector of the parent.
        ("ask_block", np.float64),
        # Energy [pJ] over all its instances per vector asked, and per vector asked beyond its partition, in words.
        ("ask_pj", np.float64),
        ("again_pj", np.float64),
        ("ask_free", np.float64),
        # Words per vector of the level, energy [pJ] over all its instances per vector filled, and words not filled.
        ("fill_block", np.float64),
        ("fill_pj", np.float64),
        ("fill_free", np.float64),
        # Of the words that pass through levels in between, the first such level plus 1 (0: none). It has a record of
        # its own: there stand the next one, how many words the parent is asked for per word that passes, at most, words
        # per vector, and energy [pJ] over all its instances per vector that passes, at least.
        ("pass_first", np.int64),
        ("pass_next", np.int64),
        ("pass_share", np.float64),
        ("pass_block", np.float64),
        ("pass_pj", np.float64),
        # What networks charge [pJ] for a word of a plain and a moved step, at least.
        ("net_pj", np.float64, 2),
        # Vectors that the parent is asked for, at least.
        ("sure_vectors", np.float64),
    ],
    align=True,
)
#: A dimension in a grid.
AXIS = np.dtype(
    [
        # What temporal loops must cover.
        ("rest", np.int64),
        # Number of divisors, and of pairs of them.
        ("count", np.int64),
        ("pairs", np.int64),
        # Weight of a divisor index in the lattice index.
        ("radix", np.int64),
        # Dimensions of one kind share a data space that they leave in place, -1 for those that move all.
        ("kind", np.int64),
        # Whether every run counts as one that started with the whole, which saves states.
        ("whole", np.bool_),
    ],
    align=True,
)
#: A dimension around a boundary.
PLACE = np.dtype(
    [
        # Indices of the tile with and without unrolled ones.
        ("extent", np.int64),
        ("tile_size", np.int64),
        # Iterations outside.
        ("outside", np.int64),
        # Indices of all tiles below one instance of the level outside.
        ("across", np.int64),
    ],
    align=True,
)
#: A divisor: its value, its number of primes, and the index of the divisor less each prime.
DIVISOR = np.dtype([("value", np.int64), ("primes", np.int64), ("down", np.int64, MAX_PRIMES)], align=True)
#: A pair of divisors, the second dividing the first: indices of both, and the pair less each prime of the second.
PAIR = np.dtype([("start", np.int64), ("now", np.int64), ("down", np.int64, MAX_PRIMES)], align=True)
#: A node: the number of loops outside a level, the lattice index of its tile.
NODE = np.dtype([("loops", np.int64), ("point", np.int64)], align=True)
#: Words of a level.
TRAFFIC = np.dtype([("read", np.float64), ("written", np.float64)], align=True)
#: A waiting child.
CHILD = np.dtype(
    [
        # Its tile, and its loop order: four bits a dimension, innermost lowest; -1 for all orders of the tile.
        ("point", np.int64),
        ("order", np.int64),
        # What it is sorted by, its bound and, with an order, the energy so far [pJ].
        ("key", np.float64),
        ("bound_pj", np.float64),
        ("certain_pj", np.float64),
    ],
    align=True,
)
#: A level's children on the stack: their first row, the row after their last, how many wait.
REGION = np.dtype([("begin", np.int64), ("end", np.int64), ("waiting", np.int64)], align=True)
#: Where a descent stands.
CURSOR = np.dtype(
    [
        ("level", np.int64),
        # Whether it takes the next child, enters a node or lists its children.
        ("phase", np.int64),
        # How many tiles of a node were looked at.
        ("listed", np.int64),
        # How many rows the stack needs before it goes on (0: those it has).
        ("needed", np.int64),
    ],
    align=True,
)
TAKE, ENTER, EXPAND = range(3)
#: What is counted by level: nodes entered; tiles looked at, without room, left out; orders priced, left out; children
#: left out once they were taken.
PROFILE = np.dtype(
    [
        ("nodes", np.int64),
        ("tiles", np.int64),
        ("roomless", np.int64),
        ("tiles_out", np.int64),
        ("orders", np.int64),
        ("orders_out", np.int64),
        ("taken_out", np.int64),
    ],
    align=True,
)
#: Where a pass over all parts stands.
STAND = np.dtype(
    [
        # Parts that wait, and parts so far.
        ("left", np.int64),
        ("parts", np.int64),
        # The part that is searched and the one whose tables are filled (-1: none), and the lattice points of those.
        ("current", np.int64),
        ("tabled", np.int64),
        ("points", np.int64),
        # Tables filled and quick descents made so far; whether this is one.
        ("filled", np.int64),
        ("dives", np.int64),
        ("diving", np.bool_),
        # What the kernel wants before it can go on.
        ("wants", np.int64),
        # Nests evaluated before the part was begun.
        ("begun", np.int64),
        # Whether levels that keep nothing go without loops where the next one may have theirs.
        ("empties", np.bool_),
    ],
    align=True,
)
#: More nests than any search evaluates.
NEVER = 1 << 62
#: What a kernel may want: nothing, room for more parts or children; arrangements or neighbours of the part at hand.
NOTHING, ROOM, ROWS, ARRANGED, NEIGHBOURS = range(5)
#: How far a part is: its bound takes no tables; the parts of its unrolling that keep something else wait as well; its
#: bound is that of its tables.
SKETCHED, SPREAD, FINAL = range(3)
#: Instead of the bit of a level and data space that is kept in every choice, and in none.
KEPT, NOT_KEPT = -1, -2
#: A part: what it is sorted by, and its bound [pJ].
PART = np.dtype([("key", np.float64), ("bound", np.float64)], align=True)


@record
class Grid(NamedTuple):
    """The lattice of temporal tiles under one unrolling, and on it the states (tile, start of the trailing run).

    Attributes
    ----------
    axis
        Of `AXIS`, shape (dimensions,).
    divisor
        Of `DIVISOR` in ascending order, shape (dimensions, divisors).
    pair_of
        Index of the pair of two divisors, or -1.
    pair
        Of `PAIR`, shape (dimensions, pairs).
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

    axis: Records
    divisor: Records
    pair_of: Ints
    pair: Records
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
        Of `EDGE`, shape (levels + 1, data spaces).
    side
        Of `SIDE`, shape (data spaces, dimensions).
    near
        Whether the rank that a dimension shares is unrolled at a level, shape (levels, data spaces, dimensions).
    rate
        Of `RATE`, by level (-1: the compute units) and data space, shape (levels + 1, data spaces).
    seen_words
        Words that an instance of a level ever needs, at least, shape (levels, data spaces); negative until asked for.
    asked
        Of `ASKED`, by data space.
    """

    factors: Ints
    inside: Ints
    instances: Floats
    origin: Ints
    edge: Records
    side: Records
    near: Ints
    rate: Records
    seen_words: Floats
    asked: Records


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
    tile, start, extent
        By dimension: divisor indices of a tile and of where a run started, and the tile's indices.
    place
        Of `PLACE`, shape (dimensions,).
    idle, slid
        Data spaces that the innermost loop outside a boundary leaves in place, and those that it slides.
    crossed, shares
        By data space: whether it crosses the boundary, and whether dimensions share one of its ranks.
    full_words, sure_words
        By data space: words of the tile, and those that come in if all loops outside move it.
    distinct
        By data space: words asked per word that comes in without links.
    moving_pj
        By data space: what it costs [pJ] if all loops outside move it.
    slide_pj, resumed_pj
        Energy [pJ] of windows by start of the run: those that the innermost loop slides, and after a run.
    nowhere
        Of no dimension: zeros, shape (dimensions,).
    open_tile
        Whether anything fits inside a tile: most are too large for the inner levels, and nothing is priced there.
    left
        By dimension: whether anything is left where the innermost loop outside a boundary is over it.
    left_pj
        By level, what is left of the limit for its boundary and all further in: outside, every word comes in once.
    line, places, several
        Digits of the states of a closure, shapes (3, dimensions), (dimensions, digits) and (digits + 1, MAX_PRIMES).
    """

    tile: Ints
    start: Ints
    extent: Ints
    place: Records
    idle: Ints
    slid: Ints
    crossed: Bools
    shares: Bools
    full_words: Floats
    sure_words: Floats
    distinct: Floats
    moving_pj: Floats
    slide_pj: Floats
    resumed_pj: Floats
    nowhere: Ints
    open_tile: Bools
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
        Of `FAN`, shape (levels, data spaces, SHAPES).
    unit
        The shape that stands at a place, shape (levels, data spaces, SHAPES, dimensions).
    served
        By distance what links serve at most, of `SERVED`, shape (levels, data spaces, SHAPES, distances).
    pairs
        Work space, of `NEIGHBOUR`.
    ask
        One record of `ASK`.
    """

    fan: Records
    unit: Ints
    served: Records
    pairs: Records
    ask: Records


@record
class UnitLinks(NamedTuple):
    """What links between compute units leave to be asked for, by arrangement of the spatial loops next to the units.

    Attributes
    ----------
    run
        First entry, and the one after the last, by row of factors next to the units, shape (rows, 2). Without entries
        arrangements are not told apart.
    row
        Shape (1,): the row of the unrolling at hand.
    stands
        Share of the boxes that a step which stands asks for, at least, shape (entries, data spaces).
    new
        The same of a step that moves a rank, by how far, shape (entries, data spaces, ranks, moves).
    entry
        By arrangement of `Arrangements` the entry that leaves no more, -1 where there is none; empty where what data
        spaces ask for is bounded one by one.
    more_pj
        Energy [pJ] that the units of the unrolling at hand take beyond what is certain of all, shape (entries,).
    """

    run: Ints
    row: Ints
    stands: Floats
    new: Floats
    entry: Ints
    more_pj: Floats


@record
class Case(NamedTuple):
    """One unrolling of one layer, ready to be searched: see the parts; ``keep`` says what is stored where.

    ``slots`` are the temporal ones of the part at hand, ``all_slots`` those of the mapspace (`mapspace.space.SLOT`).
    """

    target: Encoded
    keep: Bools
    slots: Records
    all_slots: Records
    unrolled: Unrolled
    grid: Grid
    tables: Tables
    scratch: Scratch
    mesh: Mesh
    links: UnitLinks


@record
class Path(NamedTuple):
    """The node that the descent stands at.

    Attributes
    ----------
    loops
        Temporal loops chosen so far, of `AROUND`, outermost first.
    node
        Of `NODE`, by level.
    certain_pj
        Energy that is certain once the loops outside a level are chosen.
    traffic
        Words per instance that are certain, of `TRAFFIC`, shape (levels outside which loops are chosen, levels).
    nest
        The same loops as the model reads them.
    shares
        By data space: whether several dimensions move one of its ranks.
    reach
        Work space of a crossing: how far instances are apart, of `REACH`, shape (ranks,).
    at, move, shift
        And by rank: what all loops further in fall back by; the moves of the innermost step and of another.
    words
        And its words, one record of `WORDS`.
    gain
        By level and data space that passes its boundary: see `classes.known_gain`.
    """

    loops: Records
    node: Records
    certain_pj: Floats
    traffic: Records
    nest: NestArrays
    shares: Ints
    reach: Records
    at: Ints
    move: Ints
    shift: Ints
    words: Records
    gain: Floats


@record
class Arrangements(NamedTuple):
    """Spatial loops of one level in every arrangement that was asked for, outermost first.

    ``counts`` has shape (arrangements,), ``loops`` of `LOOP` (arrangements, MAX_LOOPS). ``members`` says where those of
    an unrolling are, by member and level, shape (members, levels, 2): the first and the one after the last. All
    combinations over the levels are admissible.
    """

    counts: Ints
    loops: Records
    members: Ints


@record
class Found(NamedTuple):
    """The best nest so far, with the number of its arrangement (or `NONE`, `ASIDE`) and what it keeps."""

    counts: Ints
    loops: Records
    arrangement: Ints
    keep: Bools


@record
class Stack(NamedTuple):
    """The children that wait in a descent, one heap a level, and where it stands: all that a pause has to keep.

    Attributes
    ----------
    child
        Of `CHILD`, by row.
    heap
        Rows by level, those of a level from its first row on, as a binary heap.
    region
        Of `REGION`, by level.
    cursor
        One record of `CURSOR`.
    target
        Divisor indices of the next tile to be listed.
    tiles, tile_counts
        By level, the lattice points of the tiles that pass its boundary, ascending, shape (levels, points).
    node_pj
        Bound of the node that stands at a level.
    profile
        Of `PROFILE`, by level.
    work, chosen
        Work space, shapes (8, dimensions) and (levels,): a part that makes no array counts no references.
    """

    child: Records
    heap: Ints
    region: Records
    cursor: Records
    target: Ints
    tiles: Ints
    tile_counts: Ints
    node_pj: Floats
    profile: Records
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
        What may matter at the leaves, of `RUN`, by unrolling.
    bits
        By level and data space the bit that is set in a choice where the level does not keep it, innermost level first
        and highest; `KEPT` or `NOT_KEPT` where there is no choice.
    columns, column_counts
        By data space the choices of levels that keep it. A choice for all data spaces is one number, the sum of those
        of its columns.
    charge
        Where networks charge, what they do, of `CHARGE`, shape (data spaces, levels, rows of factors); else no level.
    unrolling, choice
        By part.
    rank
        By part and data space: the place of its column among those of the data space, sorted by their bounds.
    value
        Of `PART`.
    stage
        By part, see `SKETCHED`.
    heap
        The parts that wait, as a binary heap.
    stand
        One record of `STAND`.
    base_pj, sketch_pj
        By unrolling what its operations cost [pJ], NaN before it was sketched, and by data space and column its bounds
        that take no tables; empty where they are too many.
    pair_pj, column_pj, order
        Work space for one unrolling: energy between two levels; energy by data space and column, and the columns sorted
        by it.
    """

    row: Ints
    ids: Ints
    steps: Floats
    runs: Records
    bits: Ints
    columns: Ints
    column_counts: Ints
    charge: Records
    unrolling: Ints
    choice: Ints
    rank: Ints
    value: Records
    stage: Ints
    heap: Ints
    stand: Records
    base_pj: Floats
    sketch_pj: Floats
    pair_pj: Floats
    column_pj: Floats
    order: Ints


@record
class Log(NamedTuple):
    """What a descent left out and why, for a certificate.

    Attributes
    ----------
    event
        Of `EVENT`.
    used
        Number of events so far; -1 where no log is kept.
    """

    event: Records
    used: Ints


@record
class Tally(NamedTuple):
    """What a pass minimises, and what it has found, counted and logged so far.

    Attributes
    ----------
    mode
        `ENERGY`, `DELAY`, `PRODUCT` or `CANONICAL`.
    best
        One record of `BEST`.
    counters
        One record of `COUNTERS`.
    """

    mode: int
    best: Records
    counters: Records
    found: Found
    log: Log


def new_mesh(levels: int, spaces: int, dims: int, distances: int) -> Mesh:
    """Return room for what may be known of neighbours."""
    return Mesh(
        np.zeros((levels, spaces, SHAPES), FAN),
        np.zeros((levels, spaces, SHAPES, dims), np.int64),
        np.zeros((levels, spaces, SHAPES, distances), SERVED),
        np.zeros(distances, NEIGHBOUR),
        np.zeros(1, ASK),
    )


def new_scratch(grid: Grid, levels: int, spaces: int, points: int) -> Scratch:
    """Return work space for the tables of a search, its lattices of no more than so many points."""
    dims, divisors = grid.divisor.shape[:2]
    digits = max(divisors, grid.pair.shape[1])
    return Scratch(
        np.empty(dims, np.int64),
        np.empty(dims, np.int64),
        np.empty(dims, np.int64),
        np.empty(dims, PLACE),
        np.empty(spaces, np.int64),
        np.empty(spaces, np.int64),
        np.empty(spaces, np.bool_),
        np.empty(spaces, np.bool_),
        np.empty(spaces),
        np.empty(spaces),
        np.empty(spaces),
        np.empty(spaces),
        np.empty(divisors),
        np.empty(divisors),
        np.zeros(dims, np.int64),
        np.empty(points, np.bool_),
        np.empty(dims, np.bool_),
        np.empty(levels),
        np.empty((3, dims), np.int64),
        np.empty((dims, digits), np.int64),
        np.empty((digits + 1, MAX_PRIMES), np.int64),
    )


def new_unrolled(origin: Ints, side: Records) -> Unrolled:
    """Return room for what an unrolling fixes; ``origin`` and ``side`` are the same for all."""
    levels, (spaces, dims) = len(origin), side.shape
    edge = np.zeros((levels + 1, spaces), EDGE)
    edge["sharers"] = 1.0
    return Unrolled(
        np.ones((levels, dims), np.int64),
        np.empty((levels, dims), np.int64),
        np.empty(levels),
        origin,
        edge,
        side,
        np.zeros((levels, spaces, dims), np.int64),
        np.zeros((levels + 1, spaces), RATE),
        np.empty((levels, spaces)),
        np.empty(spaces, ASKED),
    )


def new_path(keep: Bools, side: Records, ranks: int) -> Path:
    """Return a path without loops, for data spaces of so many ranks at most."""
    levels = len(keep)
    return Path(
        np.empty(levels * MAX_LOOPS, AROUND),
        np.zeros(levels, NODE),
        np.zeros(levels),
        np.zeros((levels, levels), TRAFFIC),
        new_nest(keep.copy()),
        np.array((side["halo"] >= 0).any(axis=1), np.int64),
        np.zeros(ranks, REACH),
        np.zeros(ranks, np.int64),
        np.zeros(ranks, np.int64),
        np.zeros(ranks, np.int64),
        np.zeros(1, WORDS),
        np.ones(keep.shape),
    )


def new_log(events: int = 0) -> Log:
    """Return an empty log with room for some events, or one that keeps nothing."""
    return Log(np.zeros(events, EVENT), np.full(1, 0 if events else -1, np.int64))


def new_best(limit_pj: float = np.inf, delay_power: float = 1.0, most_cycles: float = np.inf) -> Records:
    """Return an incumbent that anything improves on, under limits on energy [pJ] and on cycles."""
    best = np.full(1, np.inf, BEST)
    best["limit_pj"], best["delay_power"], best["most_cycles"] = limit_pj, delay_power, most_cycles
    best["aside_pj"] = -np.inf
    return best


def new_counters(budget: int | None = None, nodes: int | None = None) -> Records:
    """Return counters at zero that allow ``budget`` evaluations and so many nodes, without a pause."""
    counters = np.zeros(1, COUNTERS)
    most = np.iinfo(np.int64).max
    counters[0]["budget"] = most if budget is None else budget
    counters[0]["node_limit"] = most if nodes is None else nodes
    counters[0]["pause"] = counters[0]["enough"] = most
    return counters


def new_found(levels: int, spaces: int) -> Found:
    """Return the record of a descent that has found nothing yet."""
    loops = np.zeros((levels, 2, MAX_LOOPS), LOOP)
    keep = np.zeros((levels, spaces), np.bool_)
    return Found(np.zeros((levels, 2), np.int64), loops, np.full(1, NONE, np.int64), keep)


def new_stack(levels: int, dims: int, points: int, rows: int = 1024) -> Stack:
    """Return an empty stack with room for some children."""
    return Stack(
        np.empty(rows, CHILD),
        np.empty(rows, np.int64),
        np.zeros(levels, REGION),
        np.zeros(1, CURSOR),
        np.zeros(dims, np.int64),
        np.empty((levels, points), np.int64),
        np.zeros(levels, np.int64),
        np.zeros(levels),
        np.zeros(levels, PROFILE),
        np.empty((8, dims), np.int64),
        np.empty(levels, np.int64),
    )


def deepened(stack: Stack, rows: int) -> Stack:
    """Return the stack with room for at least so many children, twice as many as before."""
    more = max(rows, 2 * len(stack.heap)) - len(stack.heap)
    return stack._replace(child=longer(stack.child, more), heap=longer(stack.heap, more))


def longer(array: _Array, more: int) -> _Array:
    """Return an array with so many rows more."""
    return np.concatenate([array, np.empty((more, *array.shape[1:]), array.dtype)])  # type: ignore[return-value]
