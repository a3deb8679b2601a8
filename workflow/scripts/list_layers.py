"""Write the table of layers of every sweep, after checking that its variable and growth can be tested."""

from pathlib import Path

from jouleloop.columns import write_csv
from jouleloop.config.load import load_study
from jouleloop.study.runlog import logged
from jouleloop.tables.energies import layer_table
from jouleloop.tables.growth import check_growth
from jouleloop.tables.layouts import LAYERS

with logged(snakemake.log[0]):
    study = load_study(snakemake.config)
    check_growth(study)
    for sweep in study.sweeps:
        write_csv(Path("results/layers") / f"{sweep.name}.csv", layer_table(sweep), LAYERS)
