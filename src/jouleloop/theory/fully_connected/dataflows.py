"""The dataflows of a fully-connected layer for any sizes: what each costs in closed form, and the reads it makes."""

from dataclasses import dataclass
from functools import partial
from typing import Literal

from jouleloop.theory.fully_connected import returned
from jouleloop.theory.fully_connected.formulas import FcLayer, balanced_reads, bounded_reads, ceil_div, fixed_reads
from jouleloop.theory.fully_connected.schedule import Read, Schedule, Vertex, reverse_roles
from jouleloop.theory.layers import useful_sides

_x, _y = partial(Vertex, "x"), partial(Vertex, "y")
Kind = Literal["fixed", "bounded", "balanced", "returned"]


@dataclass(frozen=True)
class Dataflow:
    """A dataflow by its kind, parameter and roles, with what it costs."""

    kind: Kind
    """``fixed`` (002 Algorithm 1), ``bounded`` (Algorithm 2), ``balanced`` (nearly equal groups) or ``returned`` (β − 2
    vertices of the grouped side are read twice)."""
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
    candidates = {beta - size for size in useful_sides(grouped) if size <= beta - 1} | {1}
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
    # A side that fits beside one vertex of the other stays as a whole in Algorithm 1, which reads every vertex once.
    if min(layer.inputs, layer.outputs) >= layer.buffer_words:
        flows += [balanced_dataflow(layer, reversed_roles=roles) for roles in (False, True)]
        for roles in (False, True):
            streamed, grouped = layer.roles(roles)
            if returned.applies(streamed, grouped, layer.buffer_words):
                reads = returned.returned_reads(streamed, grouped, layer.buffer_words)
                counts = (grouped + layer.buffer_words - 2, reads)
                flows.append(Dataflow("returned", 0, roles, *(counts[::-1] if roles else counts)))
    return flows


_READS = {"fixed": fixed_reads, "bounded": bounded_reads, "balanced": balanced_reads}


def _dataflow(layer: FcLayer, kind: Kind, parameter: int, reversed_roles: bool) -> Dataflow:
    streamed, grouped = layer.roles(reversed_roles)
    reads = (grouped, _READS[kind](streamed, grouped, layer.buffer_words, parameter))
    return Dataflow(kind, parameter, reversed_roles, *(reads[::-1] if reversed_roles else reads))


def fixed_inputs(inputs: int, outputs: int, buffer_words: int, kept: int) -> Schedule:
    """Return 002 Algorithm 1: d inputs in Buffer, groups of β − d outputs, inputs swept forwards and backwards.

    For m not divisible by β − d the last group is smaller; d is cut to n where Buffer keeps more inputs than there are.

    Raises `AssumptionError` where d is outside 1 … β − 1.
    """
    FcLayer(inputs, outputs, buffer_words).check_partition(kept)
    size = buffer_words - kept
    d = min(kept, inputs)
    reads = [Read(_x(i)) for i in range(1, d + 1)]
    for k in range(-(-outputs // size)):
        for j in range(k * size + 1, min((k + 1) * size, outputs) + 1):
            reads.append(Read(_y(j), _y(j - size) if k else None))
        if k % 2 == 0:
            reads += [Read(_x(i + d), _x(i)) for i in range(1, inputs - d + 1)]
        else:
            reads += [Read(_x(i), _x(i + d)) for i in range(inputs - d, 0, -1)]
    return Schedule(f"Algorithm 1 with d = {kept}", inputs, outputs, buffer_words, tuple(reads))


def bounded_inputs(inputs: int, outputs: int, buffer_words: int, bound: int) -> Schedule:
    """Return 002 Algorithm 2: at most c inputs in Buffer, groups of β − 1 outputs.

    For m not divisible by β − 1 the last group is smaller; the last inputs of a group are read again only where the
    group overwrote them. c is cut to n.

    Raises `AssumptionError` where c is outside 1 … β − 1.
    """
    FcLayer(inputs, outputs, buffer_words).check_partition(bound, "c")
    n, size = inputs, buffer_words - 1
    c = min(bound, n)
    at_once = buffer_words - c
    groups = -(-outputs // size)
    reads = [Read(_x(i)) for i in range(1, c + 1)]
    for k in range(groups):
        first = k * size
        last = min(first + size, outputs) - first
        for j in range(1, min(at_once, last) + 1):
            reads.append(Read(_y(first + j), _y(first - size + c + j - 1) if k else None))
        for j in range(at_once + 1, last + 1):
            reads.append(Read(_y(first + j), _x((k + buffer_words - j) % n + 1)))
        # The input that the next one overwrites: the group leaves x_{k+1} … x_{k+stay} in Buffer.
        stay = c - max(0, last - at_once)
        held = _x(k % n + 1)
        for i in range(n + k, k + c, -1):
            reads.append(Read(_x((i - 1) % n + 1), held))
            held = _x((i - 1) % n + 1)
        for step, i in enumerate(range(k + c, k + stay, -1), start=1):
            reads.append(Read(_x((i - 1) % n + 1), _y(first + step)))
    return Schedule(f"Algorithm 2 with c = {bound}", inputs, outputs, buffer_words, tuple(reads))


def balanced_groups(inputs: int, outputs: int, buffer_words: int, groups: int) -> Schedule:
    """Return the dataflow with ``groups`` groups of outputs that differ by at most one, the larger ones first.

    A group leaves β minus its size places, in which the last inputs of its sweep stay for the next group. Not in the
    paper: for (β−1) not dividing m it may cost less than Algorithm 1 with any d.
    """
    small, larger = divmod(outputs, groups)
    inside: list[Vertex] = []  # the inputs in Buffer, the one read first in front
    finished: list[Vertex] = []  # outputs of the group before that are still in Buffer
    group: list[Vertex] = []
    reads: list[Read] = []

    def read(new: Vertex) -> None:
        full = len(inside) + len(finished) + len(group) == buffer_words
        overwritten = (finished or inside).pop(0) if full else None
        reads.append(Read(new, overwritten))
        (inside if new.side == "x" else group).append(new)

    end = 0
    for size in [small + 1] * larger + [small] * (groups - larger):
        if end == 0:
            for i in range(1, min(inputs, buffer_words - size) + 1):
                read(_x(i))
        met = set(inside)
        finished, group = group, []
        for j in range(end + 1, end + size + 1):
            read(_y(j))
        end += size
        for i in range(1, inputs + 1):
            if _x(i) not in met:
                read(_x(i))
    return Schedule(f"{groups} nearly equal groups", inputs, outputs, buffer_words, tuple(reads))


def schedule_of_dataflow(flow: Dataflow, inputs: int, outputs: int, buffer_words: int) -> Schedule:
    """Return the schedule of a dataflow known by its kind and parameter."""
    sides = (outputs, inputs) if flow.reversed_roles else (inputs, outputs)
    if flow.kind == "returned":
        made = returned.returned_output(*sides, buffer_words)
    else:
        made = _SCHEDULES[flow.kind](*sides, buffer_words, flow.parameter)
    return reverse_roles(made) if flow.reversed_roles else made


_SCHEDULES = {"fixed": fixed_inputs, "bounded": bounded_inputs, "balanced": balanced_groups}
