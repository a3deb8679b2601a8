"""Layers on variants of an architecture: one job a variant, and what becomes of variants that cannot be."""

import logging
from collections.abc import Callable, Iterable, Sequence

from jouleloop.errors import JouleloopError
from jouleloop.study.compute import ChunkReport, Job, run_chunk
from jouleloop.study.keys import digest
from jouleloop.study.store import ResultStore
from jouleloop.workload.layer import Layer
from jouleloop.workload.sweep import Sweep
from jouleloop.workload.variants import Variant, sorted_variants, variant_label

LOG = logging.getLogger("jouleloop.study")


def distinct_points(sweeps: Iterable[Sweep]) -> list[tuple[Variant, Layer]]:
    """Return every layer on every variant once, in an order that depends on nothing but them."""
    found: dict[Variant, dict[object, Layer]] = {}
    for sweep in sweeps:
        for point in sweep.points:
            layer = point.layer.renamed("")
            found.setdefault(point.variant, {})[layer.identity] = layer
    return [
        (variant, layers[identity])
        for variant in sorted_variants(found)
        for layers in [found[variant]]
        for identity in sorted(layers)  # type: ignore[type-var]
    ]


def points_digest(points: Iterable[tuple[Variant, Layer]]) -> str:
    """Return a hash of the points of a chunk: equal for the same variants and layers in the same order."""
    return digest([[list(map(list, variant)), layer.spec()] for variant, layer in points])[:16]


def run_points(
    job: Job,
    points: Sequence[tuple[Variant, Layer]],
    store: ResultStore,
    progress: Callable[[int, int], None] | None = None,
) -> ChunkReport:
    """Search those ``points`` whose result is not stored; points of variants that cannot be are left to the table."""
    by_variant: dict[Variant, list[Layer]] = {}
    for variant, layer in points:
        by_variant.setdefault(variant, []).append(layer)
    keys: list[str] = []
    computed = cached = 0
    seconds = 0.0
    for variant, layers in by_variant.items():
        changed = job.at(variant)
        if isinstance(changed, JouleloopError):
            LOG.warning("%s with %s: %s", job.target.name, variant_label(variant), changed)
            if progress:
                progress(len(layers), 0)
            continue
        report = run_chunk(changed, layers, store, progress)
        keys += report.keys
        computed, cached, seconds = computed + report.computed, cached + report.cached, seconds + report.seconds
    return ChunkReport(tuple(keys), computed, cached, seconds)
