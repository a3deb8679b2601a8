"""Search the chains of one sweep on one architecture; results go to the store one by one."""

from pathlib import Path

from jouleloop.config.load import load_study
from jouleloop.report.chain_study import write_chains
from jouleloop.study.compute import ChunkReport
from jouleloop.study.plan import jobs_of, write_chunk
from jouleloop.study.progress import chunk_progress, long_searches
from jouleloop.study.runlog import LOGS, current_run, logged

with logged(snakemake.log[0], snakemake.output):
    study = load_study(snakemake.config)
    arch, name = snakemake.wildcards.arch, snakemake.wildcards.chain
    sweep, note = next(one for one in study.chain_sweeps if one.name == name), Path(snakemake.output.note)
    write_chains(
        jobs_of(study, only=arch)[arch],
        sweep,
        Path(snakemake.params.store),
        Path(snakemake.output[0]).with_suffix(""),
        long_searches(f"chains/{note.stem}"),
        chunk_progress(LOGS, note.parent.parent, f"chains/{note.stem}"),
    )
    report = ChunkReport(tuple(point.chain.name for point in sweep.points), len(sweep.points), 0, 0.0)
    write_chunk(note, report, snakemake.params.options, current_run(LOGS)["run"])
