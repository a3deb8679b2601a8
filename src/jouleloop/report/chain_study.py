"""What the workflow makes of sweeps of chains: a table an architecture, and tests, figures and a page of all."""

from collections.abc import Callable
from pathlib import Path

import pandas as pd

from jouleloop.columns import read_table, write_table
from jouleloop.config.load import Study
from jouleloop.files import read_sealed_json, write_sealed_json, write_text
from jouleloop.fusion.sweep import ChainSweep
from jouleloop.optimum.limit import Tell, Watch
from jouleloop.report.figures_chains import chains_figure
from jouleloop.report.fused_page import fused_page
from jouleloop.report.style import save_figure
from jouleloop.study.chains import chain_records
from jouleloop.study.compute import Job
from jouleloop.study.plan import jobs_of
from jouleloop.study.provenance import provenance
from jouleloop.study.store import ResultStore
from jouleloop.tables.chains import chain_growth, chain_rows
from jouleloop.tables.layouts import CHAIN_GROWTH, CHAINS
from jouleloop.units import energies_in


def write_chains(
    job: Job, sweep: ChainSweep, store: Path, stem: Path, tell: Tell, progress: Callable[[int, int], None]
) -> None:
    """Write the table of a sweep on an architecture, and beside it the results that the page draws, as JSON."""
    records = list(chain_records(job, sweep, ResultStore(store), Watch(tell=tell), progress))
    made = provenance({job.target.name: job}, [sweep])
    with energies_in(job.target.costs.unit):
        write_table(stem, chain_rows(sweep, job.target.name, records), CHAINS, made)
    # The page draws the chains at both ends of the range.
    values = [dict(point.sizes)[sweep.variable] for point in sweep.points]
    ends, head = {min(values), max(values)}, f"{sweep.name} on {job.target.name}"
    drawn = [
        [f"{head}: {', '.join([point.chain.name, *(f'{key} = {value}' for key, value in point.variant)])}", record]
        for point, record in records
        if dict(point.sizes)[sweep.variable] in ends
    ]
    write_sealed_json(stem.with_name(f"{stem.name}.json"), {"chains": drawn})


def write_chain_report(study: Study, results: Path) -> None:
    """Write the tables of all sweeps of chains, a figure a sweep, and the page."""
    stems = [
        results / "chains" / sweep.name / name
        for sweep in study.chain_sweeps
        for name in study.config.architectures
        if sweep.runs_on(name)
    ]
    with energies_in(study.unit):
        parts = [read_table(stem.with_name(f"{stem.name}.parquet"), CHAINS)[0] for stem in stems]
        table = pd.concat(parts, ignore_index=True)
        growth = chain_growth(table, study.chain_sweeps, study.config.statistics)
        made = provenance(jobs_of(study), study.chain_sweeps)
        write_table(results / CHAINS.file, table, CHAINS, made)
        write_table(results / CHAIN_GROWTH.file, growth, CHAIN_GROWTH, made)
        pictures = []
        for sweep in study.chain_sweeps:
            own, tests = (frame[frame["sweep"] == sweep.name] for frame in (table, growth))
            folder = results / "figures" / sweep.name
            drawn = chains_figure(own, tests, sweep.variable, sweep.name)
            save_figure(drawn, folder, study.config.outputs.figure_formats)
            picture = folder / f"chains_{sweep.name}.svg"
            if "svg" in study.config.outputs.figure_formats:
                pictures.append(picture.read_text(encoding="utf-8"))
        chains = [
            tuple(one) for stem in stems for one in read_sealed_json(stem.with_name(f"{stem.name}.json"))["chains"]
        ]
        write_text(results / "chains.html", fused_page(chains, growth, pictures))
