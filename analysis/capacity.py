"""Put the curves of all sweeps of a capacity below each other."""

from pathlib import Path

import pandas as pd

from jouleloop.columns import read_table
from jouleloop.config.load import load_study
from jouleloop.curves.sweep import write_capacity
from jouleloop.study.plan import jobs_of
from jouleloop.study.provenance import provenance
from jouleloop.study.runlog import logged
from jouleloop.tables.layouts import CAPACITY, CAPACITY_SUMMARY
from jouleloop.units import energies_in

with logged(snakemake.log[0], snakemake.output):
    study = load_study(snakemake.config)
    paths = [Path(path) for path in snakemake.input]
    with energies_in(study.unit):
        tables = {
            layout: pd.concat(
                [read_table(path, layout)[0] for path in paths if path.stem == layout.file], ignore_index=True
            )
            for layout in (CAPACITY, CAPACITY_SUMMARY)
        }
    made = provenance(jobs_of(study), study.capacity_sweeps)
    write_capacity(Path("results"), tables, made, study.unit)
