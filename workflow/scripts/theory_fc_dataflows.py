"""Draw Algorithms 1 and 2 of paper 002 and a schedule that is cheaper than both, each run and checked first."""

from pathlib import Path

from snakemake.script import Snakemake

from jouleloop.bounds.fc import FcLayer
from jouleloop.bounds.fc_exact import exact_minimum
from jouleloop.dataflows.fc import run
from jouleloop.dataflows.fc_algorithms import bounded_inputs, fixed_inputs
from jouleloop.dataflows.fc_best import schedule_of
from jouleloop.report.theory_fc import draw_run

snakemake: Snakemake = globals()["snakemake"]  # put there by Snakemake

draw_run(run(fixed_inputs(12, 8, 6, 2)), Path(snakemake.output.algorithm_1))
draw_run(run(bounded_inputs(10, 10, 6, 3)), Path(snakemake.output.algorithm_2))
draw_run(run(schedule_of(exact_minimum(FcLayer(6, 7, 3)))), Path(snakemake.output.search))
