"""Put the comparisons of all architectures below each other, and count how many points are equal, below and above."""

from pathlib import Path

import pandas as pd

from jouleloop.study.runlog import LOG, logged
from jouleloop.tables.published import summarise_published
from jouleloop.tables.write import write_csv

with logged(snakemake.log[0]):
    table = pd.concat([pd.read_csv(path) for path in snakemake.input], ignore_index=True)
    summary = summarise_published(table)
    write_csv(Path(snakemake.output.csv), table)
    write_csv(Path(snakemake.output.summary), summary)
    LOG.info("ours against published\n%s", summary.to_string(index=False))
    print(summary.to_string(index=False))
