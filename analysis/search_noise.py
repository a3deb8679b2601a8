"""Search the sweeps again by Timeloop's 0.1 % rule and put the verdicts beside those on proven optima."""

from pathlib import Path

from jouleloop.columns import read_table, write_table
from jouleloop.config.load import load_study
from jouleloop.study.runlog import logged
from jouleloop.study.store import ResultStore
from jouleloop.tables.layouts import ENERGIES, SEARCH_NOISE, SEARCH_NOISE_ENERGIES
from jouleloop.tables.search_noise import heuristic_energies, search_noise_table
from jouleloop.units import energies_in

with logged(snakemake.log[0]):
    study = load_study(snakemake.config)
    proven, provenance = read_table(Path(snakemake.input[0]), ENERGIES)
    heuristic = heuristic_energies(study, ResultStore(Path(snakemake.params.store)))
    compared = search_noise_table(study, proven, heuristic)
    with energies_in(study.unit):
        for layout, table in ((SEARCH_NOISE_ENERGIES, heuristic), (SEARCH_NOISE, compared)):
            write_table(Path("results") / layout.file, table, layout, provenance)
