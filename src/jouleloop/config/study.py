"""A study run step by step: the jobs, chunks and tables that a configuration asks for."""

import contextlib
import logging
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd

from jouleloop.config.engines import engine_of
from jouleloop.config.load import Study
from jouleloop.config.model import ArchitectureEntry, Config
from jouleloop.errors import JouleloopError
from jouleloop.files import write_json
from jouleloop.pipeline.chunks import chunk_count, cut, distinct_layers
from jouleloop.pipeline.compute import ChunkReport, Job, run_chunk
from jouleloop.pipeline.keys import code_digest, engine_identity
from jouleloop.pipeline.provenance import provenance
from jouleloop.pipeline.store import ResultStore
from jouleloop.pipeline.table import energies_table, sources_table
from jouleloop.pipeline.targets import TargetFiles, load_targets
from jouleloop.pipeline.variants import distinct_points, run_points
from jouleloop.pipeline.write import write_csv, write_parquet

LOG = logging.getLogger("jouleloop")


def files_of(name: str, entry: ArchitectureEntry, root: Path) -> TargetFiles:
    """Return the files that a configuration entry names."""
    return TargetFiles(name, root / entry.arch, entry.sources(root), root / entry.constraints, entry.set)


def jobs_of(config: Config, root: Path = Path(), *, only: str | None = None) -> dict[str, Job]:
    """Return how the layers are searched on each architecture (or on ``only`` one of them)."""
    names = [only] if only else list(config.architectures)
    targets = load_targets({n: files_of(n, config.architectures[n], root) for n in names}, config.semantics)
    engine = engine_of(config)
    objective = tuple(config.objective)
    return {name: Job(target, engine, objective, config.seed, config.budget) for name, target in targets.items()}


def count_chunks(study: Study) -> int:
    """Return into how many chunks the layers of a study are cut for each architecture."""
    options = study.config.chunks
    layers = distinct_layers(study.sweeps)
    return chunk_count(layers, seconds=options.seconds, least=options.least, most=options.most)


def search_chunk(
    study: Study,
    architecture: str,
    chunk: int,
    store: ResultStore,
    *,
    root: Path = Path(),
    progress: Callable[[int], None] | None = None,
) -> ChunkReport:
    """Search the layers of one chunk on one architecture."""
    job = jobs_of(study.config, root, only=architecture)[architecture]
    layers = cut(distinct_layers(study.sweeps), count_chunks(study))[chunk]
    return run_chunk(job, layers, store, progress)


def count_variant_chunks(study: Study) -> int:
    """Return into how many chunks the points of sweeps that vary an architecture are cut; 0 without such sweeps."""
    options = study.config.chunks
    layers = [layer for _, layer in distinct_points(study.architecture_sweeps)]
    return chunk_count(layers, seconds=options.seconds, least=options.least, most=options.most) if layers else 0


def search_variants(
    study: Study,
    architecture: str,
    chunk: int,
    store: ResultStore,
    *,
    root: Path = Path(),
    progress: Callable[[int], None] | None = None,
) -> ChunkReport:
    """Search one chunk of the points of sweeps that vary an architecture."""
    job = jobs_of(study.config, root, only=architecture)[architecture]
    sweeps = [sweep for sweep in study.architecture_sweeps if sweep.runs_on(architecture)]
    return run_points(job, distinct_points(sweeps)[chunk :: count_variant_chunks(study)], store, progress)


def write_chunk(path: Path, report: ChunkReport) -> None:
    """Write which results a finished chunk has put into the store."""
    write_json(path, {"keys": sorted(set(report.keys))})


def write_energies(study: Study, store: ResultStore, folder: Path, *, root: Path = Path()) -> pd.DataFrame:
    """Write energies, ``timings.csv`` and ``energy_sources.csv`` into ``folder``; return the energies."""
    jobs = jobs_of(study.config, root)
    sweeps = (*study.sweeps, *study.architecture_sweeps)
    table, timings = energies_table(jobs, sweeps, store)
    write_parquet(folder / "energies.parquet", table, provenance(jobs, sweeps))
    write_csv(folder / "energies.csv", table)
    write_csv(folder / "timings.csv", timings)
    write_csv(folder / "energy_sources.csv", sources_table(jobs, sweeps))
    for path in store.damaged:
        LOG.warning("%s: damaged, its points were computed again; the file can be removed", path)
    return table


@contextlib.contextmanager
def logged(path: str | Path | None) -> Iterator[None]:
    """Log to the file ``path``; end a user's mistake with a message and exit code instead of a traceback."""
    handlers: list[logging.Handler] = []
    if path:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        handlers.append(logging.FileHandler(path, mode="w", encoding="utf-8"))
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s", handlers=handlers, force=True
    )
    try:
        yield
    except JouleloopError as error:
        for fault in error.faults:
            LOG.error("%s", fault)  # noqa: TRY400 - a user's mistake needs no traceback
            sys.stderr.write(f"error: {fault}\n")
        raise SystemExit(error.exit_code) from None
    except Exception:
        LOG.exception("unexpected error")
        raise
    finally:
        logging.shutdown()


def map_parameters(study: Study, architecture: str, chunks: int) -> dict[str, Any]:
    """Return what a chunk's result depends on besides its files, for Snakemake's rerun trigger."""
    config = study.config
    return {
        "chunks": chunks,
        "set": config.architectures[architecture].set,
        "energy": [repr(entry) for _, entry in config.architectures[architecture].energy_entries()],
        "engine": engine_identity(engine_of(config)),
        "code": code_digest(),
        "semantics": config.semantics,
        "objective": list(config.objective),
        "seed": config.seed,
        "budget": config.budget,
    }
