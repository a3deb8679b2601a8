"""Write the law behind every point: exact energies in the layer's sizes, and the classes of mappings."""

from pathlib import Path

from jouleloop.config.load import load_study
from jouleloop.study.plan import jobs_of
from jouleloop.study.runlog import logged
from jouleloop.tables.laws import law_tables
from jouleloop.tables.write import read_parquet, write_csv

with logged(snakemake.log[0]):
    study = load_study(snakemake.config)
    energies, _ = read_parquet(Path(snakemake.input[0]))
    tables = law_tables(energies, jobs_of(study.config), study.tested)
    write_csv(Path(snakemake.output.laws), tables.laws)
    write_csv(Path(snakemake.output.points), tables.points)
    write_csv(Path(snakemake.output.terms), tables.terms)
