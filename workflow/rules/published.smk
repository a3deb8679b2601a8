# Published energies beside our optima under the semantics and constraints of the published runs.


rule compare_published:
    input:
        target_files,
        sweeps=PUBLISHED,
    output:
        "results/published/{arch}.parquet",
    log:
        "results/logs/compare_published/{arch}.log",
    conda:
        "../envs/jouleloop.yaml"
    params:
        semantics="timeloop-2023-04",
        options=search_options,
        store="results/store",
    message:
        "Comparing published energies on {wildcards.arch}"
    script:
        "../scripts/published.py"


rule published:
    input:
        expand("results/published/{arch}.parquet", arch=PUBLISHED_ARCHITECTURES),
    output:
        table("published"),
        table("published_summary", title="published, counted", caption="published"),
    log:
        "results/logs/published.log",
    conda:
        "../envs/jouleloop.yaml"
    message:
        "Joining the comparisons with published energies"
    script:
        "../scripts/join_published.py"


rule published_figures:
    input:
        "results/published.parquet",
        lambda wildcards: SOURCES[wildcards.sweep],
    output:
        report(
            expand("results/figures/{{sweep}}/published.{format}", format=FORMATS),
            caption="../report/published_figure.rst",
            category="Figures",
            subcategory="{sweep}",
        ),
    log:
        "results/logs/published_figures/{sweep}.log",
    conda:
        "../envs/jouleloop.yaml"
    message:
        "Drawing published and own energies of {wildcards.sweep}"
    script:
        "../../analysis/published_figure.py"
