"""The least cost 2μ + ν of a fully-connected layer over all schedules: proven, or undecided between two bounds.

The lower bounds, for layers of any size, join the counting relaxations of `relaxation` with three facts; C is the least
cost and (n, m, β) the layer:

- the first β reads bring at most β vertices, so at most ⌊β²/4⌋ pairs, and each later read does at most β − 1 new ones:
  ⌊β²/4⌋ + (β−1)(μ+ν−β) >= mn, and μ >= m, ν >= n;
- full reads, those of β − 1 new pairs, come in phases, between which pairs are lost (below);
- taking an input that is read at least ⌈ν/n⌉ times out of a schedule leaves one for n − 1 inputs (what its reads would
  have overwritten stays in its place), so 2μ + ν >= C(n−1, m, β) + ⌈ν/n⌉;
- in the same way 2μ + ν >= C(n, m−1, β) + 2⌈μ/m⌉.

Phases. After a full read of an input, Buffer holds β − 1 outputs Z and that input alone. Full reads with the same Z
form a phase; there are at most n for any one output. The next phase has another Z, or full reads of outputs past β −
1 inputs, and comes after reads that are not full. Buffer stays full, so with i inputs in it an input read loses at
least i − 1 of the β − 1 pairs and an output read at least β − 1 − i, and a read changes i by at most one.

(a) From one Z to another with k outputs more, over a greatest height i = h: the ways up and down lose (h−1)(β−1), k +
1 − h other output reads at least β − 1 − h each; the least of this over k is the loss of a change, per member that
enters.

(b) From i = 1 up to i = β − 1, where outputs are read in full, or back: a turn, which loses (β−1)(β−2)/2.

All F full reads of inputs need ⌈(β−1)F/n⌉ entries into a Z, all G full reads of outputs ⌈(β−1)G/m⌉; the first phase
brings β − 1 of its kind for nothing, a turn at most β − 1 of the kind it leads to, and a change pays for each. With s
pairs to lose at least μ + ν − β − s reads are full.

A cost is ruled out when no μ and ν meet all of them. For β = 2 the first alone gives mn + m + 1, which
Algorithm 1 meets.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from jouleloop.theory.fully_connected.counting_game import Budget, refute
from jouleloop.theory.fully_connected.dataflows import Dataflow, best_upper, schedule_of_dataflow
from jouleloop.theory.fully_connected.divisible import is_proven
from jouleloop.theory.fully_connected.formulas import FcLayer, ceil_div, pair_count_accesses
from jouleloop.theory.fully_connected.relaxation import relaxations
from jouleloop.theory.fully_connected.schedule import Schedule, schedule_from_moves
from jouleloop.theory.fully_connected.search import search

MOST_STATES = 1_000_000
"""Canonical states that a search may keep before it gives up."""

GAME_STATES = 100_000
"""States that the counting game may keep; where it needs more it is mostly won, and says nothing."""

LARGEST_SIDE = 30

SMALL_STATES = 3_000_000
"""Relaxations of at most this many states (by `CountRelaxation.most_states`) are solved for every smaller layer."""


@dataclass(frozen=True)
class ExactMinimum:
    """The least cost of a layer, as far as it is known."""

    layer: FcLayer
    lower: int
    upper: int
    """Proven bounds on the least 2μ + ν; equal where it is decided."""
    method: str
    """``resident`` (each vertex is read once, which is least), ``smaller layers`` (`recursive_bound`),
    ``relaxation``, ``search``, or ``undecided``."""
    dataflow: Dataflow
    """The cheapest dataflow in closed form; it costs ``upper`` where no ``path`` does."""
    path: tuple[tuple[int, int], ...] | None = None
    """A schedule found by search, as (vertex read, vertex overwritten or −1)."""

    def schedule(self) -> Schedule:
        """Return a schedule that costs ``upper``: the one searched for, or the closed-form dataflow executed."""
        sizes = self.layer.inputs, self.layer.outputs, self.layer.buffer_words
        if self.path is not None:
            return schedule_from_moves("Search", *sizes, self.path)
        return schedule_of_dataflow(self.dataflow, *sizes)

    @property
    def decided(self) -> bool:
        """Whether the least cost is proven."""
        return self.lower == self.upper


def exact_minimum(layer: FcLayer, *, most_states: int = MOST_STATES, largest_table_bits: int = 23) -> ExactMinimum:
    """Return the least 2μ + ν over all schedules that satisfy conditions 1–4 of 002 section 4.

    Where a side is above 30 only closed forms and `divisible` are asked. The search may keep ``most_states`` canonical
    states, a relaxation use a table of 2**largest_table_bits places of 20 bytes.
    """
    n, m, beta = layer.inputs, layer.outputs, layer.buffer_words
    flow = best_upper(layer)
    if flow.accesses == 2 * m + n:
        return ExactMinimum(layer, flow.accesses, flow.accesses, "resident", flow)
    if max(n, m) > LARGEST_SIDE:
        if is_proven(n, m, beta):
            return ExactMinimum(layer, flow.accesses, flow.accesses, "induction", flow)
        lower = pair_count_accesses(layer)
        method = "smaller layers" if lower == flow.accesses else "undecided"
        return ExactMinimum(layer, lower, flow.accesses, method, flow)
    lower = count_bound(n, m, beta) if beta == 2 else recursive_bound(n, m, beta)
    if lower == flow.accesses:
        return ExactMinimum(layer, lower, lower, "smaller layers", flow)
    if is_proven(n, m, beta):
        return ExactMinimum(layer, flow.accesses, flow.accesses, "induction", flow)
    if refute(Budget(n, m, beta, flow.accesses - 1, flow.accesses - 1 - 2 * m), min(most_states, GAME_STATES)):
        return ExactMinimum(layer, flow.accesses, flow.accesses, "relaxation", flow)
    both = relaxations(n, m, beta)
    searchable = True
    for relaxation in both:
        bound = relaxation.bound(largest_table_bits)
        searchable = searchable and bound is not None
        lower = max(lower, bound or 0)
        if lower == flow.accesses:
            return ExactMinimum(layer, lower, lower, "relaxation", flow)
    if not searchable:
        return ExactMinimum(layer, lower, flow.accesses, "undecided", flow)
    # The dataflow is a witness for its own cost: only a cheaper schedule is of interest.
    found = search(n, m, beta, flow.accesses - 1, most_states=most_states, both=both)
    lower = max(lower, found.lower)
    if found.cost is not None:
        return ExactMinimum(layer, found.cost, found.cost, "search", flow, found.path)
    method = "search" if found.complete else "undecided"
    return ExactMinimum(layer, lower, flow.accesses, method, flow)


def possible(inputs: int, outputs: int, buffer_words: int, output_reads: int, input_reads: int) -> bool:
    """Whether μ and ν are not ruled out by what the first reads and the phases of full reads can do."""
    n, m, beta, mu, nu = inputs, outputs, buffer_words, output_reads, input_reads
    first = min(mu + nu, beta)
    slack = first * first // 4 + (beta - 1) * (mu + nu - first) - n * m
    full = mu + nu - beta - slack
    if slack < 0 or full <= 0:
        return slack >= 0
    splits = ((full - of_outputs, of_outputs) for of_outputs in range(max(0, full - nu), min(mu, full) + 1))
    return any(2 * slack >= twice_lost_pairs(n, m, beta, *split) for split in splits)


def twice_lost_pairs(inputs: int, outputs: int, buffer_words: int, of_inputs: int, of_outputs: int) -> int:
    """Return twice a lower bound on the pairs lost around so many full reads of inputs and of outputs, rounded down."""
    group = buffer_words - 1
    change = _change_loss(buffer_words)
    turn = group * (buffer_words - 2)  # twice the loss of a turn
    entered = (ceil_div(group * of_inputs, inputs), ceil_div(group * of_outputs, outputs))
    best = -1
    for first in (entered, entered[::-1]):
        rounds = max(first[0] // group, first[1] // group) + 1
        for back in range(rounds + 1):
            for there in (back, back + 1):
                left = max(0, first[0] - group * (1 + back)) + max(0, first[1] - group * there)
                lost = turn * (there + back) + 2 * change * left
                whole = lost.numerator // lost.denominator
                best = whole if best < 0 else min(best, whole)
    return best


@lru_cache(maxsize=1000)
def _change_loss(buffer_words: int) -> Fraction:
    """Return the least loss per member that enters between two phases of one kind."""
    group = buffer_words - 1
    return min(
        Fraction((height - 1) * group + (entering + 1 - height) * (group - height), entering)
        for entering in range(1, group + 1)
        for height in range(1, min(group, entering + 1) + 1)
    )


def count_bound(
    inputs: int, outputs: int, buffer_words: int, below: int = 0, below_x: int = 0, below_y: int = 0
) -> int:
    """Return the least 2μ + ν not ruled out.

    ``below`` is a lower bound that is known already, ``below_x`` and ``below_y`` are those for one input less and for
    one output less, or 0.
    """
    n, m = inputs, outputs
    cost = max(below, 2 * m + n)
    while True:
        for mu in range(m, (cost - n) // 2 + 1):
            nu = cost - 2 * mu
            enough = possible(n, m, buffer_words, mu, nu)
            if enough and cost >= below_x - (-nu // n) and cost >= below_y - 2 * (-mu // m):
                return cost
        cost += 1


@lru_cache(maxsize=100_000)
def recursive_bound(inputs: int, outputs: int, buffer_words: int) -> int:
    """Return the lower bound from all smaller layers, with relaxations where these are small."""
    n, m, beta = inputs, outputs, buffer_words
    if min(n, m) < beta:
        return 2 * m + n
    known = best_upper(FcLayer(n, m, beta)).accesses
    # One input less first: for (β−1) | m it closes every n >= m/(β−1) once one is closed; the others cost far more.
    below_x = recursive_bound(n - 1, m, beta)
    lower = count_bound(n, m, beta, 0, below_x)
    if lower == known:
        return lower
    relaxed = 0
    for relaxation in sorted(relaxations(n, m, beta), key=lambda one: one.most_states):
        if relaxed < known and relaxation.most_states <= SMALL_STATES:
            relaxed = max(relaxed, relaxation.bound() or 0)
    lower = count_bound(n, m, beta, relaxed, below_x)
    if lower == known:
        return lower
    return count_bound(n, m, beta, relaxed, below_x, recursive_bound(n, m - 1, beta))
