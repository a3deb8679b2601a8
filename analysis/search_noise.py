"""Search the sweeps again by Timeloop's 0.1 % rule and put the verdicts beside those on proven optima."""

from pathlib import Path

from jouleloop.config.load import load_study
from jouleloop.study.runlog import logged
from jouleloop.study.store import ResultStore
from jouleloop.tables.search_noise import heuristic_energies, search_noise_table
from jouleloop.tables.write import read_parquet, write_csv

with logged(snakemake.log[0]):
    study = load_study(snakemake.config)
    proven, _ = read_parquet(Path(snakemake.input[0]))
    heuristic = heuristic_energies(study, ResultStore(Path(snakemake.params.store)))
    write_csv(Path(snakemake.output.energies), heuristic)
    write_csv(Path(snakemake.output.verdicts), search_noise_table(study, proven, heuristic))
