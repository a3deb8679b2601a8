"""Test every sweep of the table of energies for the growth that theory expects."""

from pathlib import Path

from jouleloop.config.growth import analyse, write_analysis
from jouleloop.config.load import load_study
from jouleloop.config.study import logged
from jouleloop.pipeline.write import read_parquet

with logged(snakemake.log[0]):
    study = load_study(snakemake.config)
    energies, _ = read_parquet(Path(snakemake.input[0]))
    write_analysis(analyse(energies, study.tested, study.config.statistics), Path(snakemake.output.fits).parent)
