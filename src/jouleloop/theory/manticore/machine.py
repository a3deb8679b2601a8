"""An executable Manticore chiplet: clusters as processes, memories that fill up, counted transfers; a run as text."""

import random
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from io import StringIO
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from jouleloop.errors import AssumptionError, Fault
from jouleloop.theory.counting import CountingMemory
from jouleloop.theory.manticore.formulas import Traffic
from jouleloop.theory.manticore.layer import MANTICORE, Machine

Volume = NDArray[Any]


@dataclass(frozen=True)
class Wait:
    """What a cluster waits for: `ready` tells when it may go on, `what` says it in words."""

    what: str
    ready: Callable[[], bool]


Process = Generator[Wait, None, None]


@dataclass(frozen=True)
class Event:
    """One action of one cluster."""

    round: int
    """Logical time: in one round every cluster runs up to its next wait."""
    cluster: int
    action: str
    """Who; and what: ``load``, ``receive``, ``compute``, ``store`` or ``reduce``."""
    operand: str
    """Which slice or stack, such as ``I[3]``."""
    words: int
    """Words moved, or MACs done by ``compute``."""
    source: int | None = None
    """The cluster the words come from; None for main memory."""


@dataclass
class Counts(Traffic):
    """What one execution counted."""

    words_by_network: dict[str, int] = field(default_factory=dict)
    """Words exchanged over each network of the tree."""
    padding_macs: int = 0
    """Multiply-accumulates whose input is a padding zero."""
    peak_local_words: int = 0
    tasks: int = 0
    busy_clusters: int = 0
    rounds: int = 0
    """Parallel tasks run, clusters that ran any, and logical time taken."""


@dataclass(frozen=True)
class ManticoreRun:
    """The result of an execution: the computed volume, what was counted, and the events if they were recorded."""

    outputs: Volume
    counts: Counts
    events: tuple[Event, ...] = ()
    result_is_right: bool | None = None
    """Whether the outputs equal the direct computation, where they were compared."""


Variant = Literal["blocked", "printed", "successor"]


@dataclass(frozen=True)
class Options:
    """How an algorithm is run."""

    machine: Machine = MANTICORE
    fetch_ahead: bool = True
    """Whether the next slice and filter are loaded before the current one is used up, as the listings have it."""
    variant: Variant = "blocked"
    """Of Algorithm 3. ``printed``: as in the listing, received from cluster CID - 1. ``successor``: from CID + 1.
    ``blocked``: the ring turns within one block of slices after another, which is what equations (9) and (10) count."""
    lend_slices: int = 1
    """How many input slices Algorithm 3 keeps for its neighbour; the paper plans one buffer (2.3.2)."""
    order_seed: int | None = None
    """Shuffles which cluster goes first in every round; the counts must not depend on it."""
    record: bool = False


AS_LISTED = Options()


class LocalMemory(CountingMemory):
    """The scratchpad of one cluster: named arrays beside what they count."""

    def __init__(self) -> None:
        super().__init__()
        self._arrays: dict[str, Volume] = {}

    def reserve(self, name: str, words: int) -> None:
        """Make room for ``name`` before its transfer starts."""
        self.put(name, np.empty(0), words)

    def put(self, name: str, array: Volume, words: int | None = None) -> None:
        """Hold ``array`` under ``name``, which must be new or reserved."""
        if name not in self._arrays:
            self.hold(array.size if words is None else words)
        self._arrays[name] = array

    def __getitem__(self, name: str) -> Volume:
        return self._arrays[name]

    def __contains__(self, name: str) -> bool:
        return name in self._arrays and self._arrays[name].size > 0

    def free(self, name: str) -> None:
        """Give back the room of ``name``, which must have arrived."""
        self.hold(-self._arrays.pop(name).size)


class Chip:
    """Clusters, counters and the record of events of one execution."""

    def __init__(self, options: Options) -> None:
        self.options, self.machine = options, options.machine
        self.events: list[Event] = []
        self.memories = [LocalMemory() for _ in range(self.machine.clusters)]
        self.counts = Counts(words_by_network={name: 0 for name, _ in self.machine.networks})

    def note(self, cluster: int, action: str, operand: str, words: int, source: int | None = None) -> None:
        """Record an event where events are wanted."""
        if self.options.record:
            self.events.append(Event(self.counts.rounds, cluster, action, operand, words, source))

    def load(self, cluster: int, name: str, array: Volume) -> None:
        """``DmaLoad`` from main memory; ``name`` starts with I or F."""
        self.memories[cluster].put(name, array)
        if name.startswith("I"):
            self.counts.input_words_loaded += array.size
        else:
            self.counts.filter_words_loaded += array.size
        self.note(cluster, "load", name, array.size)

    def receive(self, cluster: int, name: str, source: int) -> None:
        """Complete a ``DmaLoad`` from the local memory of the cluster ``source``."""
        array = self.memories[source][name]
        self.memories[cluster].put(name, array.copy())
        self.exchange(self.network_between(cluster, source), array.size)
        self.note(cluster, "receive", name, array.size, source)

    def exchange(self, network: str, words: int) -> None:
        """Count words that pass from cluster to cluster."""
        self.counts.words_exchanged += words
        self.counts.words_by_network[network] += words

    def compute(self, cluster: int, operand: str, macs: int, padding_macs: int = 0) -> None:
        """Count multiply-accumulates."""
        self.counts.macs += macs
        self.counts.padding_macs += padding_macs
        self.note(cluster, "compute", operand, macs)

    def store(self, cluster: int, name: str, target: Volume) -> None:
        """``DmaStore`` the array ``name`` to ``target`` in main memory and free it."""
        array = self.memories[cluster][name]
        target[...] = array
        self.counts.output_words_stored += array.size
        self.note(cluster, "store", name, array.size)
        self.memories[cluster].free(name)

    def deal(self, tasks: int, body: Callable[[int, int], Process]) -> None:
        """Run tasks on the clusters, dealt in the order of cluster IDs; each is the process ``body(cluster, task)``."""

        def process(cluster: int) -> Process:
            for task in range(cluster, tasks, self.machine.clusters):
                self.counts.tasks += 1
                yield from body(cluster, task)

        busy = range(min(self.machine.clusters, tasks))
        self.counts.busy_clusters = max(self.counts.busy_clusters, len(busy))
        self.run({cluster: process(cluster) for cluster in busy})

    def network_between(self, one: int, other: int) -> str:
        """Name of the lowest network of the tree that joins two clusters."""
        for name, fan_in in self.machine.networks:
            one, other = one // fan_in, other // fan_in
            if one == other:
                return name
        raise IndexError(max(one, other))  # a cluster outside the chiplet

    def run(self, processes: Mapping[int, Process]) -> None:
        """Run one process a cluster until all end.

        Raises `AssumptionError` if no process can go on: the schedule deadlocks. The message names who waits for what.
        """
        order = list(processes)
        seed = self.options.order_seed
        shuffler = None if seed is None else random.Random(seed)  # noqa: S311 - a schedule, not a secret
        waits: dict[int, Wait | None] = dict.fromkeys(order)
        while order:
            if shuffler is not None:
                shuffler.shuffle(order)
            self.counts.rounds += 1
            moved = False
            for cluster in tuple(order):
                wait = waits[cluster]
                if wait is not None and not wait.ready():
                    continue
                moved = True
                try:
                    waits[cluster] = next(processes[cluster])
                except StopIteration:
                    order.remove(cluster)
            if not moved:
                raise AssumptionError(_stuck(waits, order))

    def finish(self, outputs: Volume) -> ManticoreRun:
        """Return the result of the execution."""
        self.counts.peak_local_words = int(max(memory.peak_words for memory in self.memories))
        return ManticoreRun(outputs, self.counts, tuple(self.events))


def _stuck(waits: Mapping[int, Wait | None], order: Sequence[int]) -> Fault:
    told = [f"cluster {cluster} waits for {wait.what}" for cluster in sorted(order) if (wait := waits[cluster])]
    more = "" if len(told) <= 3 else f" and {len(told) - 3} more"
    return Fault("the schedule must not deadlock: " + "; ".join(told[:3]) + more, field="variant")


SYMBOLS = {"load": "M", "receive": "N", "compute": "·", "store": "S", "reduce": "+"}


def schedule_cells(events: Iterable[Event]) -> dict[tuple[int, int], Event]:
    """Return for every (cluster, round) the event that says most: main memory before neighbours before computing."""
    rank = {"reduce": 4, "store": 3, "load": 2, "receive": 1, "compute": 0}
    cells: dict[tuple[int, int], Event] = {}
    for event in events:
        if event.action == "load" and event.operand.startswith("F"):
            continue
        cell = (event.cluster, event.round)
        if cell not in cells or rank[event.action] > rank[cells[cell].action]:
            cells[cell] = event
    return cells


def draw_text(events: Sequence[Event], *, columns: int = 24, rows: int = 32) -> str:
    """Return the schedule as text, a row a cluster and a column a round.

    ``M3`` is input slice 3 from main memory, ``N3`` the same from a neighbour, ``·`` computing, ``S`` storing, and
    ``+5`` adding the private volume of cluster 5.
    """
    cells = schedule_cells(events)
    clusters = sorted({cluster for cluster, _ in cells})
    last = max((round_ for _, round_ in cells), default=0)
    shown = range(1, min(last, columns) + 1)
    text = StringIO()
    text.write("cluster " + "".join(f"{round_:>5}" for round_ in shown) + (" …" if last > columns else "") + "\n")
    for cluster in clusters[:rows]:
        row = "".join(f"{event_label(cells.get((cluster, round_))):>5}" for round_ in shown)
        text.write(f"{cluster:>7} {row}\n")
    if len(clusters) > rows:
        text.write(f"… and {len(clusters) - rows} more clusters\n")
    text.write("M from main memory, N from a neighbour, · compute, S store, + add the volume of that cluster\n")
    return text.getvalue()


def event_label(event: Event | None) -> str:
    """Return an event as up to a few letters, nothing where there is none."""
    if event is None:
        return ""
    if event.action == "reduce":
        return f"+{event.source}"
    if event.operand.startswith("I") and event.action in ("load", "receive"):
        return SYMBOLS[event.action] + event.operand.partition("[")[2].partition("]")[0]
    return SYMBOLS[event.action]
