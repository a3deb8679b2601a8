"""A study run step by step: the jobs and chunks that a configuration asks for."""

import contextlib
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from jouleloop.config.load import Study, load_study, typed
from jouleloop.config.model import ArchitectureEntry, Config
from jouleloop.engines.protocol import SearchOptions
from jouleloop.errors import InputError
from jouleloop.files import write_sealed_json
from jouleloop.study.chunks import chunk_count, chunk_digest, cut, distinct_layers, read_layers
from jouleloop.study.compute import ChunkReport, Job, run_chunk
from jouleloop.study.engines import engine_of
from jouleloop.study.keys import code_digest, digest, engine_identity
from jouleloop.study.progress import chunk_progress, long_searches
from jouleloop.study.runlog import LOGS, current_run
from jouleloop.study.store import ResultStore
from jouleloop.study.targets import TargetFiles, TargetSet, load_targets
from jouleloop.study.variants import distinct_points
from jouleloop.validation import validate
from jouleloop.workload.layer import CONV, Layer
from jouleloop.workload.problem import ProblemShape
from jouleloop.workload.variants import Variant

Chunks = dict[str, list[Layer]]
VariantChunks = dict[str, list[tuple[Variant, Layer]]]


def files_of(name: str, entry: ArchitectureEntry, root: Path) -> TargetFiles:
    """Return the files that a configuration entry names."""
    where, energy, beside = root / entry.arch, entry.sources(root), root / entry.constraints
    chosen = {key: getattr(entry, key) for key in ("factors", "space", "axes")}
    return TargetFiles(name, where, energy, beside, entry.set, **chosen)


def targets_of(
    study: Study | Config, root: Path = Path(), *, only: str | None = None, shapes: Iterable[ProblemShape] = (CONV,)
) -> dict[str, TargetSet]:
    """Return the architectures of ``study`` (or ``only`` one) read; raise `InputError` with the faults of all.

    Their constraints are read for every shape of its layers, or of a configuration alone for ``shapes``.
    """
    config, shapes = (study.config, study.shapes) if isinstance(study, Study) else (study, shapes)
    names = [only] if only else list(config.architectures)
    return load_targets({n: files_of(n, config.architectures[n], root) for n in names}, config.semantics, shapes)


def jobs_of(
    study: Study | Config, root: Path = Path(), *, only: str | None = None, shapes: Iterable[ProblemShape] = (CONV,)
) -> dict[str, Job]:
    """Return how the layers are searched on each architecture (or on ``only`` one of them); see `targets_of`."""
    config = study.config if isinstance(study, Study) else study
    targets = targets_of(study, root, only=only, shapes=shapes)
    engine = engine_of(config)
    options = SearchOptions(tuple(config.objective), config.seed, config.budget, config.search.seconds)
    return {name: Job(target, engine, options) for name, target in targets.items()}


def plan(study: Study) -> Chunks:
    """Return the layers of a study cut into chunks, by the name of the chunk; the same ones for each architecture."""
    layers = distinct_layers(study.sweeps)
    if not layers:
        return {}
    count = _chunk_count(study, layers)
    return {f"{index:04d}": chunk for index, chunk in enumerate(cut(layers, count))}


def _chunk_count(study: Study, layers: Sequence[Layer]) -> int:
    """Return into how many chunks layers are cut, the same for each architecture."""
    options = study.config.chunks
    least = math.ceil(options.least / max(1, len(study.config.architectures)))
    return chunk_count(layers, seconds=options.seconds, least=least, most=options.most)


def chunk_layers(config: Config, name: str, expected: str, path: Path, root: Path = Path()) -> list[Layer]:
    """Return the layers of a chunk from ``path``, or by cutting the study again where that is not what is ``expected``.

    Raises `InputError` where the sweeps no longer hold this chunk.
    """
    with contextlib.suppress(InputError):
        layers = read_layers(path)
        if chunk_digest(layers) == expected:
            return layers
    layers = plan(load_study(config, root)).get(name, [])
    if chunk_digest(layers) != expected:
        raise InputError(f"chunk {name}: the sweeps were changed while the run was under way; start it again")
    return layers


def plan_variants(study: Study, architecture: str) -> VariantChunks:
    """Return the points of sweeps that vary an architecture cut into chunks; as many for each architecture."""
    every = distinct_points(study.architecture_sweeps)
    if not every:
        return {}
    count = _chunk_count(study, [layer for _, layer in every])
    points = distinct_points(sweep for sweep in study.architecture_sweeps if sweep.runs_on(architecture))
    return {f"{index:04d}": points[index::count] for index in range(count)}


def write_chunk(path: Path, report: ChunkReport, options: Mapping[str, Any] | None = None, run: str = "") -> None:
    """Write what a finished chunk has put into the store, how much of it anew, in which run and by which options."""
    note = {
        "keys": sorted(set(report.keys)),
        "layers": len(report.keys),
        "searched": report.computed,
        "seconds": round(report.seconds, 3),
        "options": digest(options or {})[:16],
        "run": run,
    }
    write_sealed_json(path, note)


def expected_chunks(options: Mapping[str, Mapping[str, Any]], layers: Mapping[str, int]) -> dict[str, dict[str, Any]]:
    """Return what `start_run` notes of the chunks: by name, their layers and the options they are searched with."""
    return {name: {"layers": layers[name], "options": digest(options[name])[:16]} for name in options}


def map_parameters(config: Config, target: TargetSet) -> dict[str, Any]:
    """Return what the results on an architecture depend on besides the layers, for Snakemake's rerun trigger.

    It holds the target as the model reads it: a comment in one of its files starts no job.
    """
    files = config.architectures[target.name]
    parts = [
        [found.arch.as_dict(), found.costs.as_dict(), found.constraints.as_dict()]
        for found in map(target.for_shape, target.shapes)
    ]
    return {
        "target": digest(parts)[:16],
        "energy": [repr(entry) for _, entry in files.energy_entries()],
        "engine": engine_identity(engine_of(config)),
        "code": code_digest(),
        "semantics": config.semantics,
        "objective": list(config.objective),
        "seed": config.seed,
        "budget": config.budget,
        "seconds": config.search.seconds,
    }


def search_into(
    output: Path,
    configuration: Mapping[str, Any],
    architecture: str,
    chunk: str,
    options: Mapping[str, Any],
    *,
    layers: Path,
    store: Path,
) -> None:
    """Search the layers of a chunk, results into ``store``, and write what was done to ``output``.

    Raises `InputError` as `jouleloop.study.plan.chunk_layers`.

    Parameters
    ----------
    configuration
        As Snakemake holds it.
    options
        What the results depend on, the digest of the layers among it.
    layers
        The file of the chunk's layers.
    """
    config = validate(Config, typed(configuration), "config")
    found = chunk_layers(config, chunk, options["layers"], layers)
    shapes = dict.fromkeys(layer.kind.shape_of(layer.values) for layer in found)
    job = jobs_of(config, only=architecture, shapes=shapes)[architecture]
    job.watched(long_searches(output.stem))
    report = run_chunk(job, found, ResultStore(store), chunk_progress(LOGS, output.parent, output.stem))
    write_chunk(output, report, options, current_run(LOGS)["run"])
