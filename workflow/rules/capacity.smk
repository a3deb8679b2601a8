# Sweeps of a capacity: a job walks the curves of one sweep on one architecture, and leaves searches in the store.


rule capacity_curves:
    input:
        lambda wildcards: ancient(PLAN.target_files(wildcards.arch)),
        # What they say is in the parameters, by content.
        lambda wildcards: ancient(PLAN.capacity_sources[wildcards.capacity]),
    output:
        multiext("results/capacity/{capacity}/{arch}/capacity", ".parquet", ".csv"),
        multiext(
            "results/capacity/{capacity}/{arch}/capacity_summary", ".parquet", ".csv"
        ),
        note="results/map/curves/{arch}-{capacity}.json",
    log:
        "results/logs/capacity_curves/{arch}-{capacity}.log",
    benchmark:
        "results/logs/capacity_curves/{arch}-{capacity}.benchmark.tsv"
    conda:
        "../envs/jouleloop.yaml"
    threads: 1
    resources:
        mem_mb=1500,
        runtime=1440,
    params:
        options=lambda wildcards: PLAN.capacity_options(
            wildcards.capacity, wildcards.arch
        ),
        store="results/store",
    message:
        "Walking the curves of {wildcards.capacity} on {wildcards.arch}"
    script:
        "../scripts/capacity_curves.py"


rule capacity:
    input:
        PLAN.capacity_files,
    output:
        tables(CAPACITY, CAPACITY_SUMMARY),
    log:
        "results/logs/capacity.log",
    group:
        "analysis"
    conda:
        "../envs/jouleloop.yaml"
    message:
        "Joining the curves of all sweeps of a capacity"
    script:
        "../../analysis/capacity.py"
