"""Search one chunk of the points of sweeps that vary an architecture; results go to the store batch by batch."""

from pathlib import Path

from jouleloop.config.load import load_study
from jouleloop.study.plan import search_variants, write_chunk
from jouleloop.study.progress import chunk_progress, long_searches
from jouleloop.study.runlog import LOGS, current_run, logged
from jouleloop.study.store import ResultStore

with logged(snakemake.log[0], snakemake.output):
    study = load_study(snakemake.config)
    arch, chunk = snakemake.wildcards.arch, snakemake.wildcards.chunk
    output = Path(snakemake.output[0])
    progress = chunk_progress(LOGS, output.parent.parent, f"variants/{output.stem}")
    tell = long_searches(f"variants/{output.stem}")
    store = ResultStore(Path(snakemake.params.store))
    report = search_variants(study, arch, chunk, store, progress=progress, tell=tell)
    write_chunk(output, report, snakemake.params.options, current_run(LOGS)["run"])
