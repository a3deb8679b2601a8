# Figures beyond the default run: `snakemake figures` makes them, and those of the default run.


localrules:
    figures,


rule figures:
    input:
        FIGURES,
        FURTHER_FIGURES,


rule residual_figures:
    input:
        "results/energies.parquet",
        lambda wildcards: SOURCES[wildcards.sweep],
    output:
        shown("residuals", "results/figures/{{sweep}}/{figure}_{arch}.{format}"),
    log:
        "results/logs/residual_figures/{sweep}.log",
    conda:
        "../envs/jouleloop.yaml"
    params:
        statistics=STUDY.config.statistics.model_dump(),
        kind="residuals",
        layers=layers_of,
    message:
        "Drawing the residuals of {wildcards.sweep}"
    script:
        "../../analysis/further_figures.py"


rule architecture_figure:
    input:
        "results/energies.parquet",
        lambda wildcards: SOURCES[wildcards.sweep],
    output:
        shown(
            "architectures",
            "results/figures/{{sweep}}/{figure}.{format}",
            architectures=["all"],
        ),
    log:
        "results/logs/architecture_figure/{sweep}.log",
    conda:
        "../envs/jouleloop.yaml"
    params:
        statistics=STUDY.config.statistics.model_dump(),
        kind="architectures",
        layers=layers_of,
    message:
        "Drawing the architectures side by side on {wildcards.sweep}"
    script:
        "../../analysis/further_figures.py"


rule heat_maps:
    input:
        "results/energies.parquet",
        lambda wildcards: SOURCES[wildcards.sweep],
    output:
        shown("heat_map", "results/figures/{{sweep}}/{figure}_{arch}.{format}"),
    log:
        "results/logs/heat_maps/{sweep}.log",
    conda:
        "../envs/jouleloop.yaml"
    params:
        statistics=STUDY.config.statistics.model_dump(),
        kind="heat_map",
        layers=layers_of,
    message:
        "Drawing the energy per operation of {wildcards.sweep} over (n, m)"
    script:
        "../../analysis/further_figures.py"
