"""The cross-check of a study: its native optima evaluated again by real Timeloop, chunk by chunk, and the tables."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from jouleloop.config.engines import engine_of
from jouleloop.config.load import Study
from jouleloop.config.study import jobs_of
from jouleloop.engines.protocol import Engine
from jouleloop.engines.registry import installed_version
from jouleloop.errors import Fault, InputError
from jouleloop.pipeline.compute import ChunkReport
from jouleloop.pipeline.confirm import crosscheck_table, run_confirmation
from jouleloop.pipeline.store import ResultStore
from jouleloop.pipeline.write import write_csv
from jouleloop.workload.layer import Layer


def confirming_engine(study: Study) -> Engine:
    """Return the engine that confirms; Timeloop where the configuration names none.

    Raises
    ------
    InputError
        Where the optima are not those of the native engine.
    EngineError
        Where the engine is not installed, or counts by other rules than configured.
    """
    if study.config.engine != "native":
        raise InputError(
            Fault(
                "a cross-check evaluates the optima of the native engine", None, "engine", study.config.engine, "native"
            )
        )
    return engine_of(study.config, study.config.confirm or "timeloop")


def confirm_chunk(
    study: Study, architecture: str, layers: Sequence[Layer], store: ResultStore, *, root: Path = Path()
) -> ChunkReport:
    """Evaluate the optima of the layers of one chunk on one architecture with the engine that confirms."""
    job = jobs_of(study.config, root, only=architecture)[architecture]
    return run_confirmation(job, confirming_engine(study), layers, store)


def write_crosscheck(
    study: Study, store: ResultStore, folder: Path, *, root: Path = Path()
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Write ``crosscheck.csv`` and ``crosscheck_summary.csv`` into ``folder``; return both tables."""
    points, summary = crosscheck_table(jobs_of(study.config, root), confirming_engine(study), study.sweeps, store)
    write_csv(folder / "crosscheck.csv", points)
    write_csv(folder / "crosscheck_summary.csv", summary)
    return points, summary


def confirm_parameters(study: Study) -> dict[str, Any]:
    """Return what the confirmation of a chunk depends on besides what its optima do, for Snakemake's rerun trigger."""
    return {"confirm": installed_version(confirming_engine(study))}
