"""Draw the layers of one network as stacks, a figure an architecture."""

from pathlib import Path

from jouleloop.columns import read_table
from jouleloop.config.load import load_study
from jouleloop.report.study_figures import draw_network
from jouleloop.study.runlog import logged
from jouleloop.tables.layouts import NETWORKS

with logged(snakemake.log[0]):
    config = load_study(snakemake.config).config
    networks, _ = read_table(Path(snakemake.input[0]), NETWORKS)
    draw_network(
        networks,
        snakemake.wildcards.network,
        list(config.architectures),
        Path("results/figures"),
        config.outputs.figure_formats,
    )
