"""Put the comparisons of all architectures below each other."""

from pathlib import Path

import pandas as pd

from jouleloop.config.study import logged
from jouleloop.pipeline.write import write_csv

with logged(snakemake.log[0]):
    write_csv(Path(snakemake.output[0]), pd.concat([pd.read_csv(path) for path in snakemake.input], ignore_index=True))
