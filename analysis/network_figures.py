"""Draw the layers of one network as stacks, a figure an architecture."""

from pathlib import Path

import pandas as pd

from jouleloop.config.load import load_study
from jouleloop.report.study_figures import draw_network
from jouleloop.study.runlog import logged

with logged(snakemake.log[0]):
    config = load_study(snakemake.config).config
    draw_network(
        pd.read_csv(snakemake.input[0]),
        snakemake.wildcards.network,
        list(config.architectures),
        Path("results/figures"),
        config.outputs.figure_formats,
    )
