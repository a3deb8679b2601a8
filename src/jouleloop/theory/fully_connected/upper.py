"""Upper bounds of a fully-connected layer for any sizes: closed forms with ceilings, and the best known dataflow."""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from jouleloop.theory.fully_connected import returned
from jouleloop.theory.fully_connected.formulas import FcLayer, balanced_reads, bounded_reads, ceil_div, fixed_reads

Kind = Literal["fixed", "bounded", "balanced", "resident", "returned"]


@dataclass(frozen=True)
class Dataflow:
    """A dataflow by its kind, parameter and roles, with what it costs."""

    kind: Kind
    """``fixed`` (002 Algorithm 1), ``bounded`` (Algorithm 2), ``balanced`` (nearly equal groups), ``resident`` (the
    smaller side stays in Buffer as a whole) or ``returned`` (β − 2 vertices of the grouped side are read twice)."""
    parameter: int
    """How many of the streamed side are kept (``fixed``, ``bounded``), how many groups (``balanced``), or 0."""
    reversed_roles: bool
    """False where inputs are streamed past groups of outputs, True where outputs are streamed past groups of inputs."""
    output_reads: int
    input_reads: int
    """μ and ν."""

    @property
    def accesses(self) -> int:
        """2μ + ν."""
        return 2 * self.output_reads + self.input_reads

    @property
    def title(self) -> str:
        """What a reader calls it."""
        roles = " with roles reversed" if self.reversed_roles else ""
        return {
            "fixed": f"Algorithm 1, {self.parameter} kept{roles}",
            "bounded": f"Algorithm 2, at most {self.parameter} kept{roles}",
            "balanced": f"{self.parameter} nearly equal groups{roles}",
            "resident": f"the smaller side resident{roles}",
            "returned": f"outputs read twice{roles}",
        }[self.kind]


def fixed_dataflow(layer: FcLayer, kept: int, *, reversed_roles: bool = False) -> Dataflow:
    """Return Algorithm 1 that keeps ``kept`` of the streamed side, with ceilings where groups do not divide."""
    layer.check_partition(kept)
    return _dataflow(layer, "fixed", kept, reversed_roles)


def bounded_dataflow(layer: FcLayer, bound: int, *, reversed_roles: bool = False) -> Dataflow:
    """Return Algorithm 2 that keeps at most ``bound`` of the streamed side, with ceilings."""
    layer.check_partition(bound, "c")
    return _dataflow(layer, "bounded", bound, reversed_roles)


def balanced_dataflow(layer: FcLayer, *, reversed_roles: bool = False) -> Dataflow:
    """Return the dataflow with the fewest possible groups of nearly equal sizes."""
    _, grouped = layer.roles(reversed_roles)
    return _dataflow(layer, "balanced", ceil_div(grouped, layer.buffer_words - 1), reversed_roles)


def best_fixed(layer: FcLayer, *, reversed_roles: bool = False) -> Dataflow:
    """Return Algorithm 1 with the best partition, found among all 1 <= d <= β − 1 without visiting all.

    For a given number of groups K the cost d + K(s − d) falls with d, so only the largest d with ⌈g/(β−d)⌉ = K counts:
    β − d = ⌈g/K⌉, of which there are at most 2√g different ones. Ties go to the smallest d.
    """
    streamed, grouped = layer.roles(reversed_roles)
    beta = layer.buffer_words
    candidates = {beta - size for size in _distinct_ceilings(grouped) if size <= beta - 1} | {1}
    # A partition that holds all of the streamed side is as good with a smaller d; the smallest such d is that size.
    candidates |= {min(streamed, beta - 1)}
    kept = min(sorted(candidates), key=lambda kept: fixed_reads(streamed, grouped, beta, kept))
    return fixed_dataflow(layer, kept, reversed_roles=reversed_roles)


def best_upper(layer: FcLayer) -> Dataflow:
    """Return the cheapest dataflow known in closed form."""
    return min(known_dataflows(layer), key=lambda flow: flow.accesses)


def known_dataflows(layer: FcLayer) -> list[Dataflow]:
    """Return the best dataflow of each kind and role, the paper's own first."""
    flows = [best_fixed(layer, reversed_roles=roles) for roles in (False, True)]
    if min(layer.inputs, layer.outputs) < layer.buffer_words:
        roles = layer.outputs > layer.inputs  # the smaller side is the group
        flows.append(Dataflow("resident", 0, roles, layer.outputs, layer.inputs))
    else:
        flows += [balanced_dataflow(layer, reversed_roles=roles) for roles in (False, True)]
        for roles in (False, True):
            streamed, grouped = layer.roles(roles)
            if returned.applies(streamed, grouped, layer.buffer_words):
                reads = returned.returned_reads(streamed, grouped, layer.buffer_words)
                counts = (grouped + layer.buffer_words - 2, reads)
                flows.append(Dataflow("returned", 0, roles, *(counts[::-1] if roles else counts)))
    return flows


def compare_roles(layer: FcLayer) -> Fraction:
    """Return the right-hand side of 002 eq. (27), (β−1) times the gain of d = 1 over its reversed counterpart.

    Not negative where eq. (24) at d = 1 is at most eq. (25) at d = β − 1, that is, where eq. (26) holds.
    """
    n, m, beta = layer.inputs, layer.outputs, layer.buffer_words
    return Fraction(m * (n - 2 * beta + 3) + n * (beta - 3) + beta - 1)


_READS = {"fixed": fixed_reads, "bounded": bounded_reads, "balanced": balanced_reads}


def _dataflow(layer: FcLayer, kind: Kind, parameter: int, reversed_roles: bool) -> Dataflow:
    streamed, grouped = layer.roles(reversed_roles)
    reads = (grouped, _READS[kind](streamed, grouped, layer.buffer_words, parameter))
    return Dataflow(kind, parameter, reversed_roles, *(reads[::-1] if reversed_roles else reads))


def _distinct_ceilings(grouped: int) -> Iterator[int]:
    groups = 1
    while True:
        size = ceil_div(grouped, groups)
        yield size
        if size == 1:
            return
        groups = ceil_div(grouped, size - 1)
