"""Walk the curves of one sweep of a capacity on one architecture; searches go to the store one by one."""

from pathlib import Path

from jouleloop.config.load import load_study
from jouleloop.curves.sweep import capacity_tables, write_capacity
from jouleloop.study.compute import ChunkReport
from jouleloop.study.plan import jobs_of, write_chunk
from jouleloop.study.progress import chunk_progress, long_searches
from jouleloop.study.provenance import provenance
from jouleloop.study.runlog import LOGS, current_run, logged
from jouleloop.tables.layouts import CAPACITY, CAPACITY_SUMMARY

with logged(snakemake.log[0], snakemake.output):
    study = load_study(snakemake.config)
    arch, name = snakemake.wildcards.arch, snakemake.wildcards.capacity
    sweep = next(one for one in study.capacity_sweeps if one.name == name)
    jobs, note = jobs_of(study, only=arch), Path(snakemake.output.note)
    found = capacity_tables(
        jobs[arch],
        sweep,
        Path(snakemake.params.store) / "curves",
        study.config.statistics,
        long_searches(f"curves/{note.stem}"),
        chunk_progress(LOGS, note.parent.parent, f"curves/{note.stem}"),
    )
    tables = dict(zip((CAPACITY, CAPACITY_SUMMARY), found, strict=True))
    write_capacity(Path(snakemake.output[0]).parent, tables, provenance(jobs, [sweep]), study.unit)
    report = ChunkReport(tuple(point.layer.spec() for point in sweep.points), len(sweep.points), 0, 0.0)
    write_chunk(note, report, snakemake.params.options, current_run(LOGS)["run"])
