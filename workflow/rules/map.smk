# The search: a job searches the layers of one chunk on one architecture, and leaves results in the store.


rule map_chunk:
    input:
        # What a chunk depends on is in its parameters, by content: no edit that leaves it as it is starts its job.
        lambda wildcards: ancient(PLAN.target_files(wildcards.arch)),
        # No file that a job makes is ancient: Snakemake would start that job without what depends on it.
        "results/specs/{arch}.yaml",
        lambda wildcards: PLAN.searched_by_timeloop(wildcards.arch, wildcards.chunk),
    output:
        "results/map/{arch}-{chunk}.json",
    log:
        "results/logs/map_chunk/{arch}-{chunk}.log",
    benchmark:
        "results/logs/map_chunk/{arch}-{chunk}.benchmark.tsv"
    conda:
        "../envs/jouleloop.yaml"
    threads: 1
    resources:
        mem_mb=1500,
        runtime=240,
    params:
        options=lambda wildcards: PLAN.chunk_options(wildcards.arch, wildcards.chunk),
        layers="results/chunks/{chunk}.txt",
        store="results/store",
    message:
        "Searching chunk {wildcards.chunk} on {wildcards.arch}"
    script:
        "../scripts/map_chunk.py"


rule map_variants:
    input:
        lambda wildcards: PLAN.target_files(wildcards.arch),
        # Which points a chunk has is in its parameters, by content.
        ancient(PLAN.variant_sources.values()),
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
        mem_mb=1500,
        runtime=240,
    params:
        options=lambda wildcards: PLAN.variant_options(wildcards.arch, wildcards.chunk),
        store="results/store",
    message:
        "Searching chunk {wildcards.chunk} of the variants of {wildcards.arch}"
    script:
        "../scripts/map_variants.py"
