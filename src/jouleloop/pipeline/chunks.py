"""Points of several sweeps as layers without repetition, cut into chunks of about equal work."""

import heapq
import math
from collections.abc import Iterable, Sequence
from typing import Any

from jouleloop.workload.layer import Layer
from jouleloop.workload.sweep import Sweep


def layer_identity(layer: Layer) -> tuple[Any, ...]:
    """Return what tells a layer from others: its sizes, not its name."""
    sizes = (layer.C, layer.M, layer.R, layer.S, layer.N, layer.P, layer.Q)
    return (*sizes, layer.w_stride, layer.h_stride, layer.groups)


def distinct_layers(sweeps: Iterable[Sweep]) -> list[Layer]:
    """Return every layer of ``sweeps`` once, sorted by its sizes and without its name."""
    found = {layer_identity(point.layer): point.layer.renamed("") for sweep in sweeps for point in sweep.points}
    return [found[key] for key in sorted(found)]


def _factorizations(bound: int, levels: int) -> float:
    """Return in how many ways ``bound`` is an ordered product of ``levels`` factors."""
    count, divisor = 1, 2
    while divisor * divisor <= bound:
        power = 0
        while bound % divisor == 0:
            bound //= divisor
            power += 1
        count *= math.comb(power + levels - 1, levels - 1)
        divisor += 1
    if bound > 1:
        count *= levels
    return float(count)


def estimated_seconds(layer: Layer) -> float:
    """Return a rough estimate of the search time of ``layer`` on one core, in seconds.

    Only the balance of the chunks rests on it, never a result. The search grows with the number of factorizations of
    the dimensions that architectures may tile, to a power found by measurement.
    """
    size = 1.0
    for bound in (layer.C, layer.M, layer.P, layer.Q, layer.N):
        size *= _factorizations(bound, 4)
    if layer.kind == "fc" or layer.P * layer.Q * layer.R * layer.S == 1:
        return 0.002 + 2e-8 * size
    return 0.01 + 1e-4 * math.sqrt(size)


def chunk_count(layers: Sequence[Layer], *, seconds: float, least: int, most: int) -> int:
    """Return into how many chunks ``layers`` are cut so that each is about ``seconds`` of work."""
    wanted = math.ceil(sum(map(estimated_seconds, layers)) / seconds)
    return max(1, min(max(wanted, least), most, len(layers)))


def cut(layers: Sequence[Layer], count: int) -> list[list[Layer]]:
    """Return ``layers`` in ``count`` chunks of about equal estimated work, the same for the same layers."""
    ordered = sorted(layers, key=lambda layer: (-estimated_seconds(layer), layer_identity(layer)))
    chunks: list[list[Layer]] = [[] for _ in range(count)]
    heap = [(0.0, index) for index in range(count)]
    for layer in ordered:
        work, index = heapq.heappop(heap)
        chunks[index].append(layer)
        heapq.heappush(heap, (work + estimated_seconds(layer), index))
    return [sorted(chunk, key=layer_identity) for chunk in chunks]
