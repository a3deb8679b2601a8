"""Paper 002's Algorithms 1 and 2 and two more dataflows, written as the reads they make."""

from jouleloop.errors import AssumptionError, Fault, InputError
from jouleloop.theory.fully_connected.formulas import FcLayer
from jouleloop.theory.fully_connected.returned import returned_output
from jouleloop.theory.fully_connected.schedule import Read, Schedule, Vertex, reverse_roles
from jouleloop.theory.fully_connected.upper import Dataflow


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
    least = -(-outputs // (buffer_words - 1))
    if not least <= groups <= outputs:
        raise InputError(
            Fault("no such number of groups", field="groups", value=groups, allowed=f"{least} … {outputs}")
        )
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


def resident(inputs: int, outputs: int, buffer_words: int) -> Schedule:
    """Return the schedule that reads every vertex once, where the smaller side fits Buffer beside one vertex more."""
    if min(inputs, outputs) >= buffer_words:
        text = "assumption min(n, m) < β fails: the smaller side does not fit beside one vertex of the other"
        raise AssumptionError(Fault(text, field="buffer", value=buffer_words))
    sides = [[_x(i) for i in range(1, inputs + 1)], [_y(j) for j in range(1, outputs + 1)]]
    few, many = sides if inputs <= outputs else sides[::-1]
    reads = [Read(v) for v in few] + [Read(v, many[k - 1] if k else None) for k, v in enumerate(many)]
    return Schedule("The smaller side resident", inputs, outputs, buffer_words, tuple(reads))


def schedule_of_dataflow(flow: Dataflow, inputs: int, outputs: int, buffer_words: int) -> Schedule:
    """Return the schedule of a dataflow known by its kind and parameter."""
    sides = (outputs, inputs) if flow.reversed_roles else (inputs, outputs)
    if flow.kind == "resident":
        return resident(inputs, outputs, buffer_words)
    if flow.kind == "returned":
        made = returned_output(*sides, buffer_words)
    else:
        made = _MAKERS[flow.kind](*sides, buffer_words, flow.parameter)
    return reverse_roles(made) if flow.reversed_roles else made


_MAKERS = {"fixed": fixed_inputs, "bounded": bounded_inputs, "balanced": balanced_groups}


def _x(index: int) -> Vertex:
    return Vertex("x", index)


def _y(index: int) -> Vertex:
    return Vertex("y", index)
