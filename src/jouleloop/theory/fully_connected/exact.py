"""The least cost 2μ + ν of a fully-connected layer over all schedules: proven, or undecided between two bounds."""

from dataclasses import dataclass

from jouleloop.theory.fully_connected.algorithms import schedule_of_dataflow
from jouleloop.theory.fully_connected.counting_game import Budget, refute
from jouleloop.theory.fully_connected.divisible import is_proven
from jouleloop.theory.fully_connected.exact_bound import count_bound, recursive_bound
from jouleloop.theory.fully_connected.formulas import FcLayer, pair_count_accesses
from jouleloop.theory.fully_connected.relaxation import relaxations
from jouleloop.theory.fully_connected.schedule import Schedule, schedule_from_moves
from jouleloop.theory.fully_connected.search import search
from jouleloop.theory.fully_connected.upper import Dataflow, best_upper

MOST_STATES = 1_000_000
"""Canonical states that a search may keep before it gives up."""

GAME_STATES = 100_000
"""States that the counting game may keep; where it needs more it is mostly won, and says nothing."""

LARGEST_SIDE = 30


@dataclass(frozen=True)
class ExactMinimum:
    """The least cost of a layer, as far as it is known."""

    layer: FcLayer
    lower: int
    upper: int
    """Proven bounds on the least 2μ + ν; equal where it is decided."""
    method: str
    """``resident`` (each vertex is read once, which is least), ``smaller layers`` (bound by `exact_bound`),
    ``relaxation``, ``search``, or ``undecided``."""
    dataflow: Dataflow | None
    """The dataflow in closed form that costs ``upper``, or None where ``path`` does."""
    path: tuple[tuple[int, int], ...] | None = None
    """A schedule found by search, as (vertex read, vertex overwritten or −1)."""

    def schedule(self) -> Schedule:
        """Return a schedule that costs ``upper``: the one searched for, or the closed-form dataflow executed."""
        n, m, beta = self.layer.inputs, self.layer.outputs, self.layer.buffer_words
        if self.path is not None:
            return schedule_from_moves("Search", n, m, beta, self.path)
        if self.dataflow is None:
            raise ValueError("an exact minimum has a path or a dataflow")
        return schedule_of_dataflow(self.dataflow, n, m, beta)

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
        return ExactMinimum(layer, found.cost, found.cost, "search", None, found.path)
    method = "search" if found.complete else "undecided"
    return ExactMinimum(layer, lower, flow.accesses, method, flow)
