"""Test every sweep of the table of energies for the growth that theory expects."""

from pathlib import Path

import pandas as pd

from jouleloop.config.load import load_study
from jouleloop.study.runlog import logged
from jouleloop.tables.growth import analyse, write_analysis
from jouleloop.tables.write import read_parquet

with logged(snakemake.log[0]):
    study = load_study(snakemake.config)
    energies, _ = read_parquet(Path(snakemake.input.energies))
    theory = pd.read_csv(snakemake.input.theory)
    analysis = analyse(energies, study.tested, study.config.statistics, theory)
    write_analysis(analysis, Path(snakemake.output.fits).parent)
