"""Schedules of a fully-connected layer: reads, checked against paper 002's conditions at every step, and as text."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from jouleloop.errors import Fault, InputError


@dataclass(frozen=True, order=True)
class Vertex:
    """An input x or an output y of the layer with its index from 1, as in 002 section 2."""

    side: str
    index: int

    def __str__(self) -> str:
        return f"{self.side}{self.index}"


class Read(NamedTuple):
    """One DRAM access that reads ``vertex`` into Buffer, onto ``overwritten`` where that is not None."""

    vertex: Vertex
    overwritten: Vertex | None = None

    def __str__(self) -> str:
        return f"{self.vertex}" if self.overwritten is None else f"{self.vertex}>{self.overwritten}"


@dataclass(frozen=True)
class Schedule:
    """A sequence of reads for n inputs, m outputs and β words of Buffer."""

    title: str
    inputs: int
    outputs: int
    buffer_words: int
    """n, m and β."""
    reads: tuple[Read, ...]


@dataclass(frozen=True)
class Step:
    """What happened at one read: t, the read, the contents B_t after it and the pairs (x, y) that are new."""

    time: int
    read: Read
    contents: frozenset[Vertex]
    new_pairs: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Run:
    """A schedule that was run and found to satisfy conditions 1–4."""

    schedule: Schedule
    steps: tuple[Step, ...]
    output_reads: int
    input_reads: int
    """μ and ν, counted."""
    largest_inputs: int
    largest_outputs: int
    """The most inputs and the most outputs in Buffer at one time."""

    @property
    def reads(self) -> int:
        """The number of reads p = μ + ν, 002 eq. (21)."""
        return self.output_reads + self.input_reads

    @property
    def accesses(self) -> int:
        """2μ + ν: every output read is written back."""
        return 2 * self.output_reads + self.input_reads

    @property
    def weight_reads(self) -> int:
        """The mn weights: each is read when its pair first meets."""
        return self.schedule.inputs * self.schedule.outputs


def run(schedule: Schedule) -> Run:
    """Run a schedule and check conditions 1–4 of 002 section 4 literally.

    Raises `InputError`, naming the condition and the read at which it fails.
    """
    n, m = schedule.inputs, schedule.outputs
    vertices = {Vertex("x", i) for i in range(1, n + 1)} | {Vertex("y", j) for j in range(1, m + 1)}
    steps: list[Step] = []
    counts = {"x": 0, "y": 0}
    largest = {"x": 0, "y": 0}
    met: set[tuple[int, int]] = set()
    before: frozenset[Vertex] = frozenset()  # condition 1
    for time, read in enumerate(schedule.reads, start=1):
        after = (before - {read.overwritten}) | {read.vertex}
        where = f"{schedule.title}: read {time} ({read})"
        if not after <= vertices:
            raise InputError(Fault("no vertex of the layer", where))
        if read.overwritten is not None and read.overwritten not in before:
            raise InputError(Fault("what is overwritten is not in Buffer", where))
        if len(after - before) != 1 or len(before - after) > 1:
            raise InputError(Fault("condition 3 fails: not one vertex added and at most one removed", where))
        if len(after) > schedule.buffer_words:
            raise InputError(Fault("condition 2 fails: Buffer is over capacity", where, value=len(after)))
        xs = sorted(v.index for v in after if v.side == "x")
        ys = sorted(v.index for v in after if v.side == "y")
        pairs = [(x, y) for x in xs for y in ys]
        fresh = tuple(pair for pair in pairs if pair not in met)
        met.update(fresh)
        counts[read.vertex.side] += 1
        largest = {"x": max(largest["x"], len(xs)), "y": max(largest["y"], len(ys))}
        steps.append(Step(time, read, after, fresh))
        before = after
    if len(met) != n * m:
        missing = next((x, y) for x in range(1, n + 1) for y in range(1, m + 1) if (x, y) not in met)
        text = f"condition 4 fails: x{missing[0]} and y{missing[1]} never meet"
        raise InputError(Fault(text, schedule.title, value=f"{len(met)} of {n * m} pairs"))
    return Run(schedule, tuple(steps), counts["y"], counts["x"], largest["x"], largest["y"])


def reverse_roles(schedule: Schedule) -> Schedule:
    """Return the schedule of the layer with inputs and outputs exchanged (002 section 4: the roles can be reversed)."""

    def other(vertex: Vertex) -> Vertex:
        return Vertex("y" if vertex.side == "x" else "x", vertex.index)

    reads = tuple(Read(other(r.vertex), other(r.overwritten) if r.overwritten else None) for r in schedule.reads)
    title = f"{schedule.title}, roles reversed"
    return Schedule(title, schedule.outputs, schedule.inputs, schedule.buffer_words, reads)


def schedule_from_moves(
    title: str, inputs: int, outputs: int, buffer_words: int, moves: Iterable[tuple[int, int]]
) -> Schedule:
    """Return the schedule of (vertex read, vertex overwritten or −1) with inputs 0 … n−1 and outputs n … n+m−1.

    Where a full Buffer meets a move that overwrites nothing, the vertex with the least name among those that have met
    all of the other side is overwritten.
    """

    def vertex(number: int) -> Vertex:
        return Vertex("x", number + 1) if number < inputs else Vertex("y", number - inputs + 1)

    held: set[Vertex] = set()
    met: dict[Vertex, set[Vertex]] = {vertex(v): set() for v in range(inputs + outputs)}
    reads = []
    for number, victim in moves:
        new = vertex(number)
        old = vertex(victim) if victim >= 0 else None
        if old is None and len(held) == buffer_words:
            finished = [v for v in held if len(met[v]) == (outputs if v.side == "x" else inputs)]
            old = min(finished, default=None)
        if old is not None:
            held.discard(old)
        for v in held:
            if v.side != new.side:
                met[v].add(new)
                met[new].add(v)
        held.add(new)
        reads.append(Read(new, old))
    return Schedule(title, inputs, outputs, buffer_words, tuple(reads))


def draw_text(run: Run) -> str:
    """Return the reads and, like 002 Figures 2 and 3, the matrix of pairs with the time t at which each first meets.

    Rows are outputs, columns inputs. A time is marked ``-`` where an input read made the pair (a horizontal arrow in
    the figures) and ``|`` where an output read did (a vertical arrow).
    """
    schedule = run.schedule
    n, m = schedule.inputs, schedule.outputs
    when: dict[tuple[int, int], str] = {}
    for step in run.steps:
        mark = "-" if step.read.vertex.side == "x" else "|"
        for pair in step.new_pairs:
            when[pair] = f"{step.time}{mark}"
    width = max(len(str(len(run.steps))) + 1, len(f"x{n}"))
    label = len(f"y{m}")
    lines = [
        f"{schedule.title}: n = {n}, m = {m}, β = {schedule.buffer_words}",
        f"μ = {run.output_reads}, ν = {run.input_reads}, p = {run.reads}, 2μ + ν = {run.accesses}",
        f"most inputs in Buffer {run.largest_inputs}, most outputs {run.largest_outputs}",
        "",
        " " * label + " " + " ".join(f"x{i}".rjust(width) for i in range(1, n + 1)),
    ]
    lines += [
        f"y{j}".rjust(label) + " " + " ".join(when[i, j].rjust(width) for i in range(1, n + 1)) for j in range(1, m + 1)
    ]
    lines += ["", "t: read (> what it overwrites) = Buffer afterwards"]
    time_width = len(str(len(run.steps)))
    read_width = max(len(str(step.read)) for step in run.steps)
    for step in run.steps:
        contents = " ".join(str(v) for v in sorted(step.contents))
        lines.append(f"{step.time:>{time_width}}: {step.read!s:<{read_width}} = {contents}")
    return "\n".join(lines)
