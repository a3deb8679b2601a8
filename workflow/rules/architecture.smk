# Sweeps that vary the architecture: their searches, and energy per MAC against the attribute.


rule map_variants:
    input:
        target_files,
        # Which points a chunk has is in its parameters, by content.
        ancient(VARIANT_SOURCES.values()),
    output:
        "results/map/variants/{arch}-{chunk}.json",
    log:
        "results/logs/map_variants/{arch}-{chunk}.log",
    benchmark:
        "results/logs/map_variants/{arch}-{chunk}.benchmark.tsv"
    conda:
        "../envs/jouleloop.yaml"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=240,
    params:
        options=lambda wildcards: variant_options(wildcards.arch, wildcards.chunk),
        store="results/store",
    message:
        "Searching chunk {wildcards.chunk} of the variants of {wildcards.arch}"
    script:
        "../scripts/map_variants.py"


rule architecture_sweep:
    input:
        "results/energies.parquet",
        lambda wildcards: VARIANT_SOURCES[wildcards.variant_sweep],
    output:
        parquet="results/architecture/{variant_sweep}.parquet",
        table=report(
            "results/architecture/{variant_sweep}.csv",
            caption="../report/architecture.rst",
            category="Tables",
            labels={"table": "{variant_sweep}"},
        ),
        figures=report(
            directory("results/figures/{variant_sweep}"),
            patterns=["{name}.png"],
            caption="../report/architecture.rst",
            category="Figures",
            subcategory="{variant_sweep}",
        ),
    log:
        "results/logs/architecture_sweep/{variant_sweep}.log",
    wildcard_constraints:
        variant_sweep="|".join(VARIANT_SOURCES) or "none",
    conda:
        "../envs/jouleloop.yaml"
    message:
        "Comparing the variants of {wildcards.variant_sweep}"
    script:
        "../../analysis/architecture_sweep.py"
