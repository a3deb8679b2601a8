"""Put the comparisons of all architectures below each other, and count how many points are equal, below and above."""

from pathlib import Path

import pandas as pd

from jouleloop.columns import read_table, write_table
from jouleloop.study.runlog import LOG, logged
from jouleloop.tables.layouts import PUBLISHED, PUBLISHED_PART, PUBLISHED_SUMMARY
from jouleloop.tables.published import summarise_published

with logged(snakemake.log[0], snakemake.output):
    table = pd.concat([read_table(Path(path), PUBLISHED_PART)[0] for path in snakemake.input], ignore_index=True)
    summary = summarise_published(table)
    write_table(Path("results") / PUBLISHED.file, table, PUBLISHED)
    write_table(Path("results") / PUBLISHED_SUMMARY.file, summary, PUBLISHED_SUMMARY)
    LOG.info("ours against published\n%s", summary.to_string(index=False))
    print(summary.to_string(index=False))
