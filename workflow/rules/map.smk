rule map_chunk:
    input:
        # What a chunk depends on is in its parameters, by content: no edit that leaves it as it is starts its job.
        lambda wildcards: ancient(target_files(wildcards)),
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
        mem_mb=1000,
        runtime=240,
    params:
        options=lambda wildcards: chunk_options(wildcards.arch, wildcards.chunk),
        layers="results/chunks/{chunk}.txt",
        store="results/store",
    message:
        "Searching chunk {wildcards.chunk} on {wildcards.arch}"
    script:
        "../scripts/map_chunk.py"
