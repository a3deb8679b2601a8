rule figure4:
    input:
        "results/energies.parquet",
    output:
        shown(
            "figure4",
            "results/figures/{figure}.{format}",
            architectures=["all"],
            category="Figures",
            subcategory="paper 002",
        ),
        expand(
            "results/figures/figure4/{sweep}_{arch}.{format}",
            sweep=FIGURE4_SWEEPS if FIGURE4 else [],
            arch=ARCHITECTURES,
            format=FORMATS,
        ),
    log:
        "results/logs/figure4.log",
    conda:
        "../envs/jouleloop.yaml"
    params:
        statistics=STUDY.config.statistics.model_dump(),
    message:
        "Drawing Figure 4"
    script:
        "../../analysis/figure4.py"


rule sweep_figures:
    input:
        "results/energies.parquet",
        lambda wildcards: SOURCES[wildcards.sweep],
    output:
        shown("growth", "results/figures/{{sweep}}/{figure}_{arch}.{format}"),
        shown("breakdown", "results/figures/{{sweep}}/{figure}_{arch}.{format}"),
    log:
        "results/logs/sweep_figures/{sweep}.log",
    conda:
        "../envs/jouleloop.yaml"
    params:
        statistics=STUDY.config.statistics.model_dump(),
        layers=layers_of,
    message:
        "Drawing the figures of {wildcards.sweep}"
    script:
        "../../analysis/sweep_figures.py"


rule law_figures:
    input:
        laws="results/laws.parquet",
        points="results/law_points.parquet",
    output:
        [
            file
            for sweep in SWEEPS
            for file in shown(
                "laws",
                f"results/figures/{sweep}/{{figure}}_{sweep}.{{format}}",
                architectures=["all"],
                caption="law_figures",
                category="Figures",
                subcategory=sweep,
            )
        ],
    log:
        "results/logs/law_figures.log",
    conda:
        "../envs/jouleloop.yaml"
    params:
        layers=LAYER_COUNTS,
    message:
        "Drawing the laws of all sweeps"
    script:
        "../../analysis/law_figures.py"


rule dram_bound_figures:
    input:
        "results/theory_ratio.parquet",
    output:
        [
            file
            for sweep in FC_SWEEPS
            for file in shown(
                "dram_bound",
                f"results/figures/{sweep}/{{figure}}_{sweep}.{{format}}",
                architectures=["all"],
                category="Figures",
                subcategory=sweep,
            )
        ],
    log:
        "results/logs/dram_bound_figures.log",
    conda:
        "../envs/jouleloop.yaml"
    params:
        sweeps=FC_SWEEPS,
        layers=LAYER_COUNTS,
    message:
        "Drawing DRAM words against the lower bound"
    script:
        "../../analysis/dram_bound_figures.py"
