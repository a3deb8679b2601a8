"""Algorithms 1-3 of paper 003: a convolutional layer computed by clusters that share out the output depth slices."""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from jouleloop.errors import AssumptionError, Fault
from jouleloop.theory.convolution.execute_blocking import direct_convolution
from jouleloop.theory.layers import ConvLayer
from jouleloop.theory.manticore.machine import AS_LISTED, Chip, ManticoreRun, Options, Process, Volume, Wait


def run_conv(
    layer: ConvLayer, algorithm: int, inputs: Volume, filters: Volume, *, stack: int = 1, options: Options = AS_LISTED
) -> ManticoreRun:
    """Execute Algorithm 1, 2 or 3 with stacks of Δ_O output slices (1 in Algorithm 1) and count what it moves.

    Inputs have the shape (D_I, W_I, W_I), filters (D_O, D_I, F, F), outputs (D_O, W_O, W_O).

    Raises `AssumptionError` if the schedule deadlocks (the printed variant of Algorithm 3 does).
    """
    chip = Chip(options)
    schedule = _Convolution(chip, layer, algorithm, inputs, filters, stack)
    chip.deal(schedule.tasks, schedule.task)
    return chip.finish(schedule.outputs)


@dataclass(frozen=True)
class _Step:
    """One iteration over an input slice in Algorithm 3: which slice, and the cluster it is received from, if any."""

    depth: int
    source: int | None


@dataclass
class _Convolution:
    """The state that all clusters of one execution share, and the process that each of them runs."""

    chip: Chip
    layer: ConvLayer
    algorithm: int
    inputs: Volume
    filters: Volume
    stack: int
    fetched: set[tuple[int, str]] = field(default_factory=set)
    """Epoch counters of section 2.3.3: (lender, slice) that the borrower has fetched."""
    sources: dict[int, dict[int, int | None]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        layer, width = self.layer, self.layer.out_width
        self.outputs = np.zeros((layer.out_channels, width, width), dtype=np.result_type(self.inputs, self.filters))
        self.tasks = -(-layer.out_channels // self.stack)
        self.padding_macs = padding_macs(layer)
        self.fetch_ahead, self.variant = self.chip.options.fetch_ahead, self.chip.options.variant

    def task(self, cluster: int, task: int) -> Process:
        """Compute one stack of output depth slices (the body of the parallel loop)."""
        chip, layer, memory = self.chip, self.layer, self.chip.memories[cluster]
        begin, end = task * self.stack, min((task + 1) * self.stack, layer.out_channels)
        stack_name = f"O[{begin}:{end}]"
        memory.put(stack_name, np.zeros_like(self.outputs[begin:end]))
        steps = list(self.steps(cluster, task))
        lent: list[str] = []
        coming = iter(steps)
        if self.fetch_ahead:
            yield from self.request(cluster, task, next(coming), lent)
        for step in steps:
            following = next(coming, None)  # the step itself where nothing is fetched ahead
            if following is not None:
                yield from self.request(cluster, task, following, lent)
            if self.algorithm > 1 and self.fetch_ahead:
                self.load_filter(cluster, begin, step.depth)
            name = self.slice_name(task, step.depth)
            yield from self.arrive(cluster, name, step.source)
            for depth_out in range(begin, end):
                self.fetch_filter(cluster, depth_out, step.depth, end)
                filter_name = f"F[{step.depth},{depth_out}]"
                windows = convolution_windows(memory[name], layer)
                memory[stack_name][depth_out - begin] += np.einsum("xyfg,fg->xy", windows, memory[filter_name])
                chip.compute(cluster, filter_name, windows.size, self.padding_macs)
                memory.free(filter_name)
            if self.borrower(cluster, task, step.depth) is None:
                memory.free(name)
            else:
                lent.append(name)
            self.take_back(cluster, lent)
        chip.store(cluster, stack_name, self.outputs[begin:end])
        while lent:
            yield Wait(f"the borrower of {lent[0]}", lambda: (cluster, lent[0]) in self.fetched)
            self.take_back(cluster, lent)

    def load_filter(self, cluster: int, depth_out: int, depth_in: int) -> None:
        """``DmaLoad`` one filter from main memory."""
        self.chip.load(cluster, f"F[{depth_in},{depth_out}]", self.filters[depth_out, depth_in])

    def fetch_filter(self, cluster: int, depth_out: int, depth_in: int, end: int) -> None:
        """Load the filter of this step, or the next one where it is fetched ahead within the stack."""
        if not self.fetch_ahead:
            self.load_filter(cluster, depth_out, depth_in)
        elif self.algorithm > 1 and depth_out + 1 < end:
            self.load_filter(cluster, depth_out + 1, depth_in)

    def request(self, cluster: int, task: int, step: _Step, lent: list[str]) -> Process:
        """``DmaLoad`` an input slice: from main memory at once, from a neighbour as soon as there is room for it.

        Algorithm 1, whose tasks are single output slices, fetches the filter of the slice ahead with it.
        """
        name, memory = self.slice_name(task, step.depth), self.chip.memories[cluster]
        # Beside the current and the next slice only so many may still be lent: the buffer of section 2.3.2.
        while len(lent) > self.chip.options.lend_slices:
            yield Wait(f"the borrower of {lent[0]}", lambda: (cluster, lent[0]) in self.fetched)
            self.take_back(cluster, lent)
        if step.source is None:
            self.chip.load(cluster, name, self.inputs[step.depth])
        else:
            memory.reserve(name, self.layer.in_width**2)
        if self.algorithm == 1 and self.fetch_ahead:
            self.load_filter(cluster, task, step.depth)

    def arrive(self, cluster: int, name: str, source: int | None) -> Process:
        """``DmaWait`` for an input slice."""
        memory = self.chip.memories[cluster]
        if source is None:
            yield Wait(name, lambda: name in memory)
            return
        lender = self.chip.memories[source]
        yield Wait(f"{name} from cluster {source}", lambda: name in lender)
        self.chip.receive(cluster, name, source)
        self.fetched.add((source, name))

    def take_back(self, cluster: int, lent: list[str]) -> None:
        """Free the lent slices that the borrower has fetched."""
        for name in [name for name in lent if (cluster, name) in self.fetched]:
            self.chip.memories[cluster].free(name)
            lent.remove(name)

    def slice_name(self, task: int, depth: int) -> str:
        """Name an input slice, with the wave of tasks it is loaded for."""
        wave = task // self.chip.machine.clusters
        return f"I[{depth}]@{wave}" if wave else f"I[{depth}]"

    def active_in_quadrant(self, task: int) -> int:
        """How many clusters of the task's L2 quadrant have a task in the same wave."""
        group = self.chip.machine.clusters_per_l2
        return min(self.tasks - task // group * group, group)

    def steps(self, cluster: int, task: int) -> Iterator[_Step]:
        """Yield the input slices in the order in which a cluster takes them, with their sources."""
        depths = self.layer.in_channels
        if self.algorithm < 3:
            yield from (_Step(depth, None) for depth in range(depths))
            return
        size = self.chip.machine.clusters_per_l2
        base, place = cluster // size * size, cluster % size
        if self.variant == "blocked":
            yield from self.blocked_steps(base, place, self.active_in_quadrant(task))
            return
        if place >= depths:
            text = "Algorithm 3 as printed needs an input slice for every cluster of an L2 quadrant to start with"
            fault = Fault(f"{text}, D_I > {place}", field="input_depth", value=depths, allowed=f"at least {place + 1}")
            raise AssumptionError(fault)
        source = base + (place + (1 if self.variant == "successor" else -1)) % size
        for index in range(depths):
            depth = (place + index) % depths
            yield _Step(depth, None if index == 0 or depth % size == place else source)

    def blocked_steps(self, base: int, place: int, active: int) -> Iterator[_Step]:
        """Yield the order of the blocked variant: rings over full blocks of slices, then a chain for the rest."""
        depths = self.layer.in_channels
        ring = depths // active * active
        successor = base + (place + 1) % active
        for block in range(0, ring, active):
            for index in range(active):
                yield _Step(block + (place + index) % active, None if index == 0 else successor)
        for depth in range(ring, depths):
            yield _Step(depth, None if place == active - 1 else successor)

    def borrower(self, cluster: int, task: int, depth: int) -> int | None:
        """Return the cluster that will receive this slice from ``cluster``, or None."""
        if self.algorithm < 3:
            return None
        size = self.chip.machine.clusters_per_l2
        base, place = cluster // size * size, cluster % size
        ring = self.active_in_quadrant(task) if self.variant == "blocked" else size
        candidate = base + (place + (1 if self.variant == "printed" else -1)) % ring
        other = task + candidate - cluster
        if other >= self.tasks or candidate == cluster:
            return None
        if other not in self.sources:
            self.sources[other] = {step.depth: step.source for step in self.steps(candidate, other)}
        return candidate if self.sources[other][depth] == cluster else None


def convolution_windows(slice_: Volume, layer: ConvLayer) -> Volume:
    """Return the windows of one zero-padded input slice, shape (W_O, W_O, F, F)."""
    padded = np.pad(slice_, layer.padding)
    windows = np.lib.stride_tricks.sliding_window_view(padded, (layer.filter_width, layer.filter_width))
    return windows[:: layer.stride, :: layer.stride]


def padding_macs(layer: ConvLayer) -> int:
    """Return how many of the W_O² F² products of one ``Conv()`` have a padding zero as input."""
    ones = np.ones((layer.in_width, layer.in_width), dtype=np.int64)
    windows = convolution_windows(ones, layer)
    return int(windows.size - windows.sum())


def direct_conv(layer: ConvLayer, inputs: Volume, filters: Volume) -> Volume:
    """Compute the layer directly: the witness of the executed algorithms, shape (D_O, W_O, W_O)."""
    padded = np.pad(inputs, ((0, 0), *2 * [(layer.padding, layer.padding)]))
    outputs: Volume = direct_convolution(layer, padded[np.newaxis], filters.swapaxes(0, 1))[0]
    return outputs
