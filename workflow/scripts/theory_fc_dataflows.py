"""Draw Algorithms 1 and 2 of paper 002 and a schedule that is cheaper than both, each run and checked first."""

from pathlib import Path

from snakemake.script import Snakemake

from jouleloop.theory.fully_connected.algorithms import bounded_inputs, fixed_inputs
from jouleloop.theory.fully_connected.best_schedule import schedule_of
from jouleloop.theory.fully_connected.exact import exact_minimum
from jouleloop.theory.fully_connected.figures import draw_run
from jouleloop.theory.fully_connected.formulas import FcLayer
from jouleloop.theory.fully_connected.schedule import run

snakemake: Snakemake = globals()["snakemake"]  # put there by Snakemake

draw_run(run(fixed_inputs(12, 8, 6, 2)), Path(snakemake.output.algorithm_1))
draw_run(run(bounded_inputs(10, 10, 6, 3)), Path(snakemake.output.algorithm_2))
draw_run(run(schedule_of(exact_minimum(FcLayer(6, 7, 3)))), Path(snakemake.output.search))
