"""Search one chunk of the points of sweeps that vary an architecture; results go to the store batch by batch."""

from pathlib import Path

from jouleloop.config.load import load_study
from jouleloop.study.plan import jobs_of, plan_variants, write_chunk
from jouleloop.study.progress import chunk_progress, long_searches
from jouleloop.study.runlog import LOGS, current_run, logged
from jouleloop.study.store import ResultStore
from jouleloop.study.variants import run_points

with logged(snakemake.log[0], snakemake.output):
    study = load_study(snakemake.config)
    arch, chunk = snakemake.wildcards.arch, snakemake.wildcards.chunk
    output = Path(snakemake.output[0])
    job = jobs_of(study, only=arch)[arch]
    job.watched(long_searches(f"variants/{output.stem}"))
    progress = chunk_progress(LOGS, output.parent.parent, f"variants/{output.stem}")
    report = run_points(job, plan_variants(study, arch)[chunk], ResultStore(Path(snakemake.params.store)), progress)
    write_chunk(output, report, snakemake.params.options, current_run(LOGS)["run"])
