"""Points of several sweeps as layers without repetition, cut into chunks of about equal work."""

import hashlib
import heapq
import math
from collections.abc import Iterable, Sequence
from operator import attrgetter
from pathlib import Path

from jouleloop.division import factorised
from jouleloop.errors import InputError
from jouleloop.files import read_text, write_text
from jouleloop.workload.layer import Layer
from jouleloop.workload.sizes import parse_layer
from jouleloop.workload.sweep import Sweep

#: Up to so many chunks are balanced exactly; more are filled by hash, if each gets about so many layers or more.
_BALANCED, _FULL = 4, 256


def distinct_layers(sweeps: Iterable[Sweep]) -> list[Layer]:
    """Return every layer of ``sweeps`` once, sorted by its sizes and without its name."""
    found = {point.layer.identity: point.layer.renamed("") for sweep in sweeps for point in sweep.points}
    return [found[key] for key in sorted(found)]


def estimated_seconds(layer: Layer) -> float:
    """Return a rough estimate of the search time of ``layer`` on one core, in seconds.

    Only the balance of the chunks rests on it, never a result. The search grows with the number of factorizations of
    the dimensions that architectures may tile over four levels, to a power found by measurement.
    """
    size = 1.0
    kind = layer.kind
    windows = {name for window in kind.base_windows for name in (window.output, window.filter)}
    filters = {window.filter for window in kind.base_windows}
    for position in kind.bound_positions:
        if kind.fields[position][0] not in filters:
            size *= math.prod(math.comb(power + 3, 3) for _, power in factorised(layer.values[position]))
    own = layer.sizes if windows else {}
    if kind.base_windows and all(own[name] == 1 for name in windows):
        return 0.003 + 1.2e-8 * size
    return 0.004 + 3e-5 * math.sqrt(size)


def chunk_count(layers: Sequence[Layer], *, seconds: float, least: int, most: int) -> int:
    """Return into how many chunks ``layers`` are cut so that each is about ``seconds`` of work.

    Many chunks come in powers of two: a sweep that grows keeps its chunks, until every one is split in two.
    """
    wanted = math.ceil(sum(map(estimated_seconds, layers)) / seconds)
    count = max(1, min(max(wanted, least), most, len(layers)))
    return min(2 ** round(math.log2(count)), 2 ** int(math.log2(most))) if _by_hash(len(layers), count) else count


def cut(layers: Sequence[Layer], count: int) -> list[list[Layer]]:
    """Return ``layers`` in ``count`` chunks of about equal estimated work, the same for the same layers.

    Few chunks are balanced exactly. Where there are many, a hash of each layer tells its chunk: numbers balance them,
    and an added layer changes one chunk and no other.
    """
    chunks: list[list[Layer]] = [[] for _ in range(count)]
    if _by_hash(len(layers), count):
        for layer in layers:
            chunks[int(_digest([layer]), 16) % count].append(layer)
        return [sorted(chunk, key=attrgetter("identity")) for chunk in chunks]
    seconds = {layer.identity: estimated_seconds(layer) for layer in layers}
    ordered = sorted(layers, key=lambda layer: (-seconds[layer.identity], layer.identity))
    heap = [(0.0, index) for index in range(count)]
    for layer in ordered:
        work, index = heapq.heappop(heap)
        chunks[index].append(layer)
        heapq.heappush(heap, (work + seconds[layer.identity], index))
    return [sorted(chunk, key=attrgetter("identity")) for chunk in chunks]


def chunk_digest(layers: Iterable[Layer]) -> str:
    """Return a hash of the layers of a chunk: equal for the same layers in the same order."""
    return _digest(layers)[:16]


def write_layers(path: Path, layers: Iterable[Layer]) -> None:
    """Write the layers of a chunk to ``path``, one a line."""
    write_text(path, "".join(f"{layer.spec()}\n" for layer in layers))


def read_layers(path: Path) -> list[Layer]:
    """Return the layers that `write_layers` wrote; raise `InputError` where the file holds anything else."""
    try:
        return [parse_layer(line) for line in read_text(path).splitlines()]
    except InputError as error:
        raise error.at(path) from error


def _by_hash(layers: int, count: int) -> bool:
    return count > _BALANCED and layers >= count * _FULL


def _digest(layers: Iterable[Layer]) -> str:
    return hashlib.sha256("".join(f"{layer.spec()}\n" for layer in layers).encode()).hexdigest()
