"""Search the sweeps again by Timeloop's 0.1 % rule and put the verdicts beside those on proven optima."""

from pathlib import Path

from jouleloop.columns import write_table
from jouleloop.config.load import load_study
from jouleloop.study.plan import jobs_of
from jouleloop.study.provenance import provenance
from jouleloop.study.runlog import logged
from jouleloop.study.store import ResultStore
from jouleloop.tables.energies import energies_table
from jouleloop.tables.layouts import SEARCH_NOISE, SEARCH_NOISE_ENERGIES
from jouleloop.tables.search_noise import heuristic_energies, search_noise_table
from jouleloop.units import energies_in

with logged(snakemake.log[0], snakemake.output):
    study, store = load_study(snakemake.config), ResultStore(Path(snakemake.params.store))
    jobs = jobs_of(study)
    made = provenance(jobs, [*study.sweeps, *study.architecture_sweeps])
    proven, _ = energies_table(jobs, study.tested, store)
    heuristic = heuristic_energies(study, store)
    compared = search_noise_table(study, proven, heuristic)
    with energies_in(study.unit):
        for layout, table in ((SEARCH_NOISE_ENERGIES, heuristic), (SEARCH_NOISE, compared)):
            write_table(Path("results") / layout.file, table, layout, made)
