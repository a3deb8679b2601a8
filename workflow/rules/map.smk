rule map_chunk:
    input:
        target_files,
        SOURCES.values(),
        searched_by_timeloop,
        layers=expand("results/layers/{sweep}.csv", sweep=SOURCES),
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
        options=search_options,
        store="results/store",
    message:
        "Searching chunk {wildcards.chunk} on {wildcards.arch}"
    script:
        "../scripts/map_chunk.py"
