"""The tables of a study: energies, timings and the summary of the run, written from the store."""

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import pandas as pd

from jouleloop.columns import append_csv, write_batches, write_csv, write_table
from jouleloop.config.load import Study
from jouleloop.files import read_sealed_json, replacing
from jouleloop.study.compute import Job, energy_unit_of
from jouleloop.study.plan import jobs_of
from jouleloop.study.provenance import provenance
from jouleloop.study.runlog import LOGS, Usage, current_run, usages
from jouleloop.study.store import ResultStore
from jouleloop.study.summary import SLOWEST, RunSummary, Searches, searches_of, summarise, write_summary
from jouleloop.tables.energies import energy_batches, layer_batches, sources_table
from jouleloop.tables.layouts import ENERGIES, ENERGY_SOURCES, LAYERS, NETWORKS, TIMINGS
from jouleloop.tables.network_bound import with_theory
from jouleloop.tables.networks import network_table
from jouleloop.units import energies_in
from jouleloop.workload.sweep import Sweep

LOG = logging.getLogger("jouleloop")


def collect(study: Study, folder: Path, chunks: Iterable[Path]) -> None:
    """Write layers, energies, timings and the summary of the run into ``folder``, where the store is.

    ``chunks`` are the notes of its finished chunks.
    """
    for sweep in study.sweeps:
        write_layers(sweep, folder / f"layers/{sweep.name}.csv")
    store = ResultStore(folder / "store")
    table, timings = write_energies(jobs_of(study), (*study.sweeps, *study.architecture_sweeps), store, folder)
    for damaged in store.damaged:
        LOG.warning("%s: damaged, its points were computed again; the file can be removed", damaged)
    write_summary(folder / "summary.json", study_summary(table, timings, chunks, LOGS))


def write_energies(
    jobs: Mapping[str, Job], sweeps: Sequence[Sweep], store: ResultStore, folder: Path
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Write energies, ``timings.csv`` and ``energy_sources.csv`` into ``folder``, part by part: they may be large.

    Returns
    -------
    tuple
        What a summary is made of: architecture and status of every row, and of each part the slowest searches.
    """
    rows: list[pd.DataFrame] = []
    slowest: list[pd.DataFrame] = []
    with energies_in(energy_unit_of(jobs)), replacing(folder / "timings.csv") as path:

        def parts() -> Iterator[pd.DataFrame]:
            for number, (energies, timings) in enumerate(energy_batches(jobs, sweeps, store)):
                rows.append(energies[["architecture", "status"]])
                slowest.append(timings.nlargest(SLOWEST, "seconds", keep="all") if len(timings) else timings)
                append_csv(path, timings, TIMINGS, first=not number)
                yield energies

        write_batches(folder / ENERGIES.file, parts(), ENERGIES, provenance(jobs, sweeps))
        write_csv(folder / "energy_sources.csv", sources_table(jobs, sweeps), ENERGY_SOURCES)
    return pd.concat(rows, ignore_index=True), pd.concat(slowest, ignore_index=True)


def write_layers(sweep: Sweep, path: Path) -> None:
    """Write the layers of a sweep to the CSV file ``path``, part by part."""
    with replacing(path) as temporary:
        for number, table in enumerate(layer_batches(sweep)):
            append_csv(temporary, table, LAYERS, first=not number)


def write_networks(energies: pd.DataFrame, jobs: Mapping[str, Job], network: Sweep, folder: Path) -> pd.DataFrame:
    """Write the table of one network into ``folder``, theory's bound beside every layer; return it."""
    table = network_table(with_theory(energies, jobs, [network]), [network])
    with energies_in(energy_unit_of(jobs)):
        write_table(folder / NETWORKS.file, table, NETWORKS, provenance(jobs, [network]))
    return table


def summary_of(
    table: pd.DataFrame, timings: pd.DataFrame, searches: Searches, run: str = "", used: Iterable[Usage] = ()
) -> RunSummary:
    """Return the summary of a run that ended in these tables of energies and timings."""
    statuses = zip(table["architecture"], table["status"], strict=True)
    slow = zip(timings["architecture"], timings["layer"], timings["seconds"], strict=True)
    return summarise(statuses, slow, searches, run=run, used=used)


def study_summary(table: pd.DataFrame, timings: pd.DataFrame, chunks: Iterable[Path], logs: Path) -> RunSummary:
    """Return the summary of the run that is noted in ``logs``, from the notes of its finished ``chunks``."""
    run = current_run(logs)["run"]
    return summary_of(table, timings, searches_of(map(read_sealed_json, chunks), run), run, usages(logs, run))
