# Published energies beside ours, under the semantics and every set of constraints of the published runs.


rule compare_published:
    input:
        lambda wildcards: PLAN.target_files(wildcards.arch),
        sweeps=PLAN.published_sources,
    output:
        multiext("results/published/{arch}", ".parquet", ".csv"),
    log:
        "results/logs/compare_published/{arch}.log",
    conda:
        "../envs/jouleloop.yaml"
    params:
        semantics="timeloop-2023-04",
        options=lambda wildcards: PLAN.parameters[wildcards.arch],
        store="results/store",
    message:
        "Comparing published energies on {wildcards.arch}"
    script:
        "../scripts/compare_published.py"


rule published:
    input:
        PLAN.published_files,
    output:
        table("published"),
        table("published_summary", "published, counted", "published"),
    log:
        "results/logs/published.log",
    group:
        "analysis"
    conda:
        "../envs/jouleloop.yaml"
    message:
        "Joining the comparisons with published energies"
    script:
        "../../analysis/published.py"
