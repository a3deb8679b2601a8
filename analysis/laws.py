"""Write the law behind every point: exact energies in the layer's sizes, and the classes of mappings."""

from pathlib import Path

from jouleloop.columns import read_table, write_table
from jouleloop.config.load import load_study
from jouleloop.study.plan import jobs_of
from jouleloop.study.runlog import logged
from jouleloop.tables.laws import law_tables
from jouleloop.tables.layouts import ENERGIES, LAW_POINTS, LAW_TERMS, LAWS

with logged(snakemake.log[0]):
    study = load_study(snakemake.config)
    energies, provenance = read_table(Path(snakemake.input[0]), ENERGIES)
    tables = law_tables(energies, jobs_of(study), study.tested)
    for layout, table in ((LAWS, tables.laws), (LAW_POINTS, tables.points), (LAW_TERMS, tables.terms)):
        write_table(Path("results") / layout.file, table, layout, provenance)
